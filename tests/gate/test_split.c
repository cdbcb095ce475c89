// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Error by cause and tile: the contributions of all causes and tiles add up to the error of every
// element; and on tensors made so that one cause acts in one tile alone, that tile has it, by a
// number computed here from its definition, and the other tile has exactly 0. The numbers of tiles
// are read from the arrays that --maps writes. MXV_FUZZ_CASES sets the number of sampled cases
// (45).
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <mxverify/tensor_file.h>
#include <mxverify/tiers.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LQ = 16, LK = 128, D = 32, BN = 64 };
static char folder[64];

static struct mxv_verify_result verify(const char *line)
{
    const struct mxv_verify_options options = {
        .impl = MXV_IMPL_EMULATION, .truth = true, .map_folder = folder, .maps_on_pass = true};
    struct mxv_verify_result r = {0};
    struct mxv_case c;
    char message[512] = "";
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
        mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    return r;
}

// Cell (0, tile) of the cause's array; 0 where no array was written, as nothing contributes.
static double tile_rms(const char *line, enum mxv_cause cause, size_t tile)
{
    struct mxv_tensor t;
    struct mxv_case c;
    char path[200], id[MXV_CASE_ID_SIZE], message[256];
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    mxv_case_id(&c, id);
    snprintf(path, sizeof path, "%s/%s_split_%s.npy", folder, id, mxv_cause_name(cause));
    if (access(path, R_OK) != 0)
        return 0;
    if (mxv_tensor_read_npy(path, NULL, &t, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    assert_int_equal(t.rank, 2);
    assert_true(t.type == MXV_F64 && tile < t.shape[1]);
    double rms = ((const double *)t.data)[tile];
    mxv_tensor_free(&t);
    return rms;
}

static void write_tensor(const char *name, size_t tokens, float (*value)(size_t, size_t))
{
    const size_t shape[] = {1, tokens, D};
    float data[LK * D];
    char path[160], message[256];
    for (size_t i = 0; i < tokens * D; i++)
        data[i] = value(i / D, i % D);
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (mxv_npy_write(path, "<f4", 3, shape, data, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
}

// Scores 0 in the first tile, -(1/16 .. 1) natural units in the second: the first key's weight is
// exactly 1 there and P is rounded in the second tile alone.
static float unit_query(size_t row, size_t c)
{
    (void)row;
    return c == 0 ? 1 : 0;
}

static float descending_key(size_t n, size_t c)
{
    return n < BN || c != 0 ? 0 : -(float)(1 + n % 16) / 16;
}

static float some_value(size_t n, size_t c)
{
    return (float)((n * 7 + c * 3) % 17) - 8;
}

// Half-way cases of E4M3 with a scale of 2^-3 in the second tile: 17/16 lies between 1 and 9/8.
static float coarse_key(size_t n, size_t c)
{
    return n < BN ? (float)(1 + c % 3) / 2 : c == 0 ? 1 : (float)(17 + n % 5) / 16;
}

static double rounded_to_f16(double x) // in [2^-14, 2)
{
    double step = ldexp(1, ilogb(x) - 10);
    return rint(x / step) * step;
}

static void assert_near(double got, double expected, double relative)
{
    if (!(fabs(got - expected) <= expected * relative))
        fail_msg("got %.9g, expected %.9g", got, expected);
}

static void test_rounding_of_p_in_one_tile(void **unused)
{
    (void)unused;
    char line[400];
    write_tensor("p_q", LQ, unit_query);
    write_tensor("p_k", LK, descending_key);
    write_tensor("p_v", LK, some_value);
    snprintf(line, sizeof line, "flash input=%s/p in=f16 out=f32 mask=full tile=64x64 scale=1",
             folder);
    struct mxv_verify_result r = verify(line);
    assert_int_equal(r.verdict, MXV_VERDICT_PASS);
    double sum = 0, squares = 0, implied = 0;
    for (size_t n = 0; n < LK; n++)
        sum += exp((double)descending_key(n, 0));
    for (size_t c = 0; c < D; c++) {
        double share = 0;
        for (size_t n = BN; n < LK; n++) {
            double p = exp((double)descending_key(n, 0));
            share += (rounded_to_f16(p) - p) * (double)some_value(n, c) / sum;
        }
        squares += share * share;
    }
    implied = sqrt(squares / D);
    assert_true(tile_rms(line, MXV_CAUSE_WEIGHT, 0) == 0);
    assert_true(tile_rms(line, MXV_CAUSE_EXP2, 0) == 0);
    assert_true(tile_rms(line, MXV_CAUSE_QUANTISATION, 0) == 0);
    assert_true(tile_rms(line, MXV_CAUSE_QUANTISATION, 1) == 0);
    assert_true(tile_rms(line, MXV_CAUSE_IMPLEMENTATION, 1) == 0);
    // P itself is known to 2^-21, its rounding is 2^-12 of it: the sum of 64 signed errors
    assert_near(tile_rms(line, MXV_CAUSE_WEIGHT, 1), implied, 0.05);
    assert_true(r.causes.worst[MXV_CAUSE_WEIGHT].tile_k == 1);
    assert_true(r.causes.worst[MXV_CAUSE_WEIGHT].rms == tile_rms(line, MXV_CAUSE_WEIGHT, 1));
    assert_true(r.causes.residual < 1e-13);
    mxv_verify_free(&r);
}

static void test_quantisation_in_one_tile(void **unused)
{
    (void)unused;
    char line[400];
    write_tensor("k_q", LQ, unit_query);
    write_tensor("k_k", LK, coarse_key);
    write_tensor("k_v", LK, some_value);
    snprintf(line, sizeof line,
             "dma input=%s/k in=f16 out=f32 mask=full tile=64x64 mode=high "
             "scale=0.6931471805599453",
             folder);
    struct mxv_verify_result r = verify(line);
    assert_int_equal(r.verdict, MXV_VERDICT_PASS);
    // q picks channel 0, which is exact in both tiles: no score moves
    for (size_t tile = 0; tile < 2; tile++)
        assert_true(tile_rms(line, MXV_CAUSE_QUANTISATION, tile) == 0);
    mxv_verify_free(&r);
}

static float second_query(size_t row, size_t c)
{
    (void)row;
    return c == 1 ? 1 : 0;
}

// The scale is ln 2, so that Q enters as it is. The same keys, asked for a channel that the block
// format rounds in the second tile.
static void test_quantisation_of_the_asked_channel(void **unused)
{
    (void)unused;
    char line[400];
    double before[LK], after[LK], sum = 0, moved = 0, out[D] = {0}, squares = 0;
    write_tensor("c_q", LQ, second_query);
    write_tensor("c_k", LK, coarse_key);
    write_tensor("c_v", LK, some_value);
    snprintf(line, sizeof line,
             "dma input=%s/c in=f16 out=f32 mask=full tile=64x64 mode=high "
             "scale=0.6931471805599453",
             folder);
    struct mxv_verify_result r = verify(line);
    assert_int_equal(r.verdict, MXV_VERDICT_PASS);
    for (size_t n = 0; n < LK; n++) {
        double k = (double)coarse_key(n, 1), step = n < BN ? 0x1p-10 : 0x1p-3; // E4M3 in [1, 2)
        before[n] = exp2(k);
        after[n] = exp2(rint(k / step) * step);
        sum += before[n];
        moved += after[n];
    }
    for (size_t n = 0; n < LK; n++)
        for (size_t c = 0; c < D; c++)
            out[c] += before[n] / sum * (double)some_value(n, c);
    for (size_t c = 0; c < D; c++) {
        double share = 0;
        for (size_t n = BN; n < LK; n++)
            share += (after[n] - before[n]) * ((double)some_value(n, c) - out[c]) / moved;
        squares += share * share;
    }
    assert_true(tile_rms(line, MXV_CAUSE_QUANTISATION, 0) < 1e-12);
    assert_near(tile_rms(line, MXV_CAUSE_QUANTISATION, 1), sqrt(squares / D), 1e-6);
    mxv_verify_free(&r);
}

static void test_output_rounding_and_a_fault(void **unused)
{
    (void)unused;
    static const char exact[] = "flash lq=40 lk=200 d=64 out=f32 seed=35";
    static const char rounded[] = "flash lq=40 lk=200 d=64 out=bf16 seed=35";
    static const char broken[] = "flash lq=40 lk=200 d=64 out=f32 seed=35 fault=stale-tile";
    struct mxv_verify_result a = verify(exact), b = verify(rounded), c = verify(broken);
    const struct mxv_split_cell *ca = &a.causes.by_route[MXV_ROUTE_F16];
    const struct mxv_split_cell *cb = &b.causes.by_route[MXV_ROUTE_F16];
    const struct mxv_split_cell *cc = &c.causes.by_route[MXV_ROUTE_F16];
    assert_true(ca->largest[MXV_CAUSE_OUTPUT] == 0); // binary32 as it is
    assert_true(cb->largest[MXV_CAUSE_OUTPUT] > 0x1p-12 && cb->largest[MXV_CAUSE_OUTPUT] < 0x1p-7);
    assert_true(ca->squares[MXV_CAUSE_WEIGHT] == cb->squares[MXV_CAUSE_WEIGHT]);
    assert_true(ca->largest[MXV_CAUSE_IMPLEMENTATION] == 0);
    assert_true(cc->largest[MXV_CAUSE_IMPLEMENTATION] > 0.01);
    assert_true(cc->squares[MXV_CAUSE_WEIGHT] == ca->squares[MXV_CAUSE_WEIGHT]);
    mxv_verify_free(&a);
    mxv_verify_free(&b);
    mxv_verify_free(&c);
}

static void test_contributions_add_up(void **unused)
{
    (void)unused;
    static const enum mxv_kernel kernels[] = {MXV_KERNEL_FLASH, MXV_KERNEL_DMA, MXV_KERNEL_TILEMIX};
    const struct mxv_verify_options options = {.impl = MXV_IMPL_EMULATION, .truth = true};
    const char *text = getenv("MXV_FUZZ_CASES");
    size_t wanted = text ? strtoul(text, NULL, 10) : 45, bad = 0;
    uint64_t elements = 0;
    double worst = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : bad, elements) reduction(max : worst)
    for (size_t i = 0; i < wanted; i++) {
        struct mxv_case c;
        struct mxv_verify_result r;
        char message[512] = "", line[MXV_CASE_LINE_SIZE];
        mxv_tier_sample(kernels[i % 3], 0x591, i, 9000, &c);
        mxv_case_print(&c, line, sizeof line);
        bool fine = mxv_verify_case(&c, &options, &r, message, sizeof message) == MXV_OK &&
                    r.causes.residual < 1e-10;
        if (!fine)
            printf("%s\n  %s, residual %g\n", line, message, r.causes.residual);
        bad += !fine;
        worst = fmax(worst, r.causes.residual);
        for (unsigned k = 0; k < MXV_ROUTE_COUNT; k++)
            elements += r.causes.by_route[k].elements;
        mxv_verify_free(&r);
    }
    printf(
        "%zu cases, %llu elements of tiles; largest part unexplained %.3g of the largest value\n",
        wanted, (unsigned long long)elements, worst);
    assert_int_equal(bad, 0);
    assert_true(elements > 10000);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/mxv-split-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding_of_p_in_one_tile),
        cmocka_unit_test(test_quantisation_in_one_tile),
        cmocka_unit_test(test_quantisation_of_the_asked_channel),
        cmocka_unit_test(test_output_rounding_and_a_fault),
        cmocka_unit_test(test_contributions_add_up),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
