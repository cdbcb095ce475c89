// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention behaviours that public kernels got wrong, on both emulations: large negative logits
// (flashinfer-ai/flashinfer#4267, ohdearquant/lattice#361, tracel-ai/burn#4697), empty rows
// (tracel-ai/burn#4694), variable lengths with empty sequences (Dao-AILab/flash-attention#1537,
// #2562), LSE base (flashinfer-ai/flashinfer#2113), FP8 P that rounds to zero (ROCm/FlyDSL#1020),
// FP8 P under a stale maximum (Dao-AILab/flash-attention#2577), zero V channels (ROCm/aiter#4289),
// the sign of future keys (thu-ml/SageAttention#26). Right values are closed forms, worked out in
// the comments; tolerances are the P rounding of the type (2^-10 relative for f16).
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <mxverify/attention.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 1100, ROWS_MAX = 8, D = 32 };

static float q[ROWS_MAX * D * 9], k[KEYS_MAX * D], v[KEYS_MAX * D];
static uint32_t out[ROWS_MAX * D], lse[ROWS_MAX];
static size_t cu_q[8], cu_k[8];

static struct mxv_attention call(enum mxv_kernel kernel, size_t lq, size_t lk)
{
    memset(q, 0, sizeof q);
    memset(k, 0, sizeof k);
    memset(v, 0, sizeof v);
    cu_q[0] = cu_k[0] = 0;
    cu_q[1] = lq;
    cu_k[1] = lk;
    return (struct mxv_attention){.kernel = kernel,
                                  .arch = MXV_ARCH_SM_90,
                                  .sequences = 1,
                                  .heads_q = 1,
                                  .heads_kv = 1,
                                  .d = D,
                                  .cu_q = cu_q,
                                  .cu_k = cu_k,
                                  .q = q,
                                  .k = k,
                                  .v = v,
                                  .in = MXV_F16,
                                  .vt = MXV_F16,
                                  .out = MXV_F32,
                                  .scale = 1,
                                  .left = -1,
                                  .right = -1,
                                  .tile_m = 16,
                                  .tile_n = 32,
                                  .lse = MXV_LSE_E,
                                  .diag = 1,
                                  .sink = 1};
}

typedef int head_function(const struct mxv_attention *, size_t, size_t, uint32_t *, uint32_t *,
                          const struct mxv_tap_sink *, char *, size_t);
static head_function *const heads[] = {mxv_engine_head, mxv_plain_head};

static float number(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static void run(head_function *head, const struct mxv_attention *a, size_t sequence, size_t index)
{
    char message[256] = "";
    memset(out, 0xA5, sizeof out);
    memset(lse, 0xA5, sizeof lse);
    if (head(a, sequence, index, out, lse, NULL, message, sizeof message))
        fail_msg("%s", message);
}

static void expect(float got, double right, double tolerance)
{
    if (!(fabs(got - right) <= tolerance))
        fail_msg("got %.9g, expected %.9g within %.3g", got, right, tolerance);
}

// Logits -60000 and -60001 are ordinary: (1 + 3/e) / (1 + 1/e), LSE -60000 + ln(1 + 1/e).
static void test_large_negative_logits(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mxv_attention a = call(MXV_KERNEL_FLASH, 1, 2);
        q[0] = 256;
        q[1] = 1;
        k[0] = k[D] = -234.375f;
        k[D + 1] = -1;
        v[0] = 1;
        v[D] = 3;
        run(heads[i], &a, 0, 0);
        expect(number(out[0]), 1.53788284, 2e-3);
        expect(number(lse[0]), -59999.6867, 8e-3);
        k[D + 1] = 0; // two equal logits of -60000: the mean
        run(heads[i], &a, 0, 0);
        expect(number(out[0]), 2, 2e-3); // fl(m*c) is off by up to 2^-8 at this size
    }
}

// A masked key has weight 0 even when the visible logit is -20000 and its own would be 0.
static void test_masked_key_has_no_weight(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mxv_attention a = call(MXV_KERNEL_FLASH, 1, 2);
        a.mask = MXV_MASK_CAUSAL;
        a.align = MXV_ALIGN_TOP_LEFT;
        q[0] = 200;
        k[0] = -100;
        v[0] = 1;
        v[D] = 100;
        run(heads[i], &a, 0, 0);
        expect(number(out[0]), 1, 1e-3);
        expect(number(lse[0]), -20000, 2e-3);
    }
}

// Bottom-right alignment, five queries on two keys: rows 0 to 2 are empty, row 3 sees one key.
static void test_empty_rows(void **state)
{
    (void)state;
    static const enum mxv_kernel kernels[] = {MXV_KERNEL_FLASH, MXV_KERNEL_DMA};
    for (size_t i = 0; i < 8; i++) {
        struct mxv_attention a = call(kernels[i / 2 % 2], 5, 2);
        a.mask = MXV_MASK_CAUSAL;
        a.empty = i / 4 ? MXV_EMPTY_NAN : MXV_EMPTY_ZERO;
        v[0] = 7;
        v[D] = 9;
        run(heads[i % 2], &a, 0, 0);
        for (size_t row = 0; row < 3; row++)
            for (size_t c = 0; c < D; c++) {
                if (a.empty == MXV_EMPTY_NAN) {
                    assert_true(isnan(number(out[row * D + c])) && isnan(number(lse[row])));
                    continue;
                }
                assert_int_equal(out[row * D + c], 0); // +0
                assert_int_equal(lse[row], 0xFF800000u);
            }
        expect(number(out[3 * D]), 7, 0);
        expect(number(out[4 * D]), 8, 0); // both keys, equal weights
    }
}

// cu_q 0 0 1 1 2, cu_k 0 0 3 3 8, nine query heads on three KV heads: row 0 sees keys 0..2, row 1
// keys 3..7; a query without keys gives 0 and LSE -Inf.
static void test_empty_sequences(void **state)
{
    (void)state;
    const size_t lengths_q[] = {0, 0, 1, 1, 2}, lengths_k[] = {0, 0, 3, 3, 8};
    for (size_t i = 0; i < 2; i++) {
        struct mxv_attention a = call(MXV_KERNEL_TILEMIX, 0, 0);
        static uint64_t words[64];
        a.sequences = 4;
        a.heads_q = 9;
        a.heads_kv = 3;
        a.route_words = words;
        a.words_per_row = 1;
        a.word_bits = 32;
        a.group = 1;
        memcpy(cu_q, lengths_q, sizeof lengths_q);
        memcpy(cu_k, lengths_k, sizeof lengths_k);
        for (size_t kv = 0; kv < 3; kv++) // key t of KV head kv holds 10 kv + t
            for (size_t t = 0; t < 8; t++)
                v[(kv * 8 + t) * D] = (float)(10 * kv + t);
        for (size_t head = 0; head < 9; head++) {
            run(heads[i], &a, 1, head);
            expect(number(out[0]), 10 * (double)(head / 3) + 1, 2e-2); // mean of 0 1 2
            assert_int_equal(out[D], 0xA5A5A5A5u);                     // one row, no more
            run(heads[i], &a, 3, head);
            expect(number(out[0]), 10 * (double)(head / 3) + 5, 2e-2); // mean of 3..7
            expect(number(lse[0]), log(5), 1e-6);
            run(heads[i], &a, 0, head); // no query, no key
            assert_int_equal(out[0], 0xA5A5A5A5u);
        }
        struct mxv_attention b = call(MXV_KERNEL_FLASH, 1, 0);
        run(heads[i], &b, 0, 0);
        assert_int_equal(out[0], 0);
        assert_int_equal(lse[0], 0xFF800000u);
    }
}

static void test_lse_base(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mxv_attention a = call(MXV_KERNEL_FLASH, 1, 2);
        run(heads[i], &a, 0, 0);
        assert_int_equal(lse[0], 0x3F317218u); // ln 2
        a.lse = MXV_LSE_TWO;
        run(heads[i], &a, 0, 0);
        assert_int_equal(lse[0], 0x3F800000u); // 1
    }
}

// Scores in log2 units: softmax scale ln 2 makes the factor exactly 1. Key 0 scores 0, the other
// 1023 keys -11: P = 2^-11.
static struct mxv_attention fp8_call(size_t lk)
{
    struct mxv_attention a = call(MXV_KERNEL_DMA, 1, lk);
    a.vt = MXV_E4M3;
    a.mode = MXV_MODE_HIGH;
    a.scale = 0.6931471805599453;
    q[0] = 1;
    return a;
}

static void test_v_of_ones_with_fp8_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mxv_attention a = fp8_call(1024);
        for (size_t n = 0; n < 1024; n++) {
            k[n * D] = n ? -11 : 0;
            v[n * D] = 1;
        }
        run(heads[i], &a, 0, 0); // E4M3(2^-11) = 0, the sum still counts it: 1 / (1 + 1023/2048)
        expect(number(out[0]), 0.66688, 1e-3);
        a.p_offset =
            8; // 2^-3 is an E4M3 number: nothing is lost but by Hopper's 13-bit accumulator
        a.arch = MXV_ARCH_SM_100;
        run(heads[i], &a, 0, 0);
        expect(number(out[0]), 1, 2e-3);
    }
}

// Offset 8 with threshold 4: the second tile's maximum is 4 above the kept one, P = 2^12 clips at
// 448 while the sum keeps it: 448/4352 instead of 16/17. With threshold 0 the value is right.
static void test_stale_maximum_with_fp8_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mxv_attention a = fp8_call(64);
        for (size_t n = 0; n < 64; n++)
            k[n * D] = n == 0 ? 0 : n == 32 ? 4 : -224;
        v[32 * D] = 1;
        a.p_offset = 8;
        a.tau = 4;
        run(heads[i], &a, 0, 0);
        expect(number(out[0]), 448.0 / 4352, 1e-3);
        a.tau = 0;
        run(heads[i], &a, 0, 0);
        expect(number(out[0]), 16.0 / 17, 1e-3);
        a.tau = 0.75f; // 8 + 0.75 < log2 448 = 8.807: safe
        run(heads[i], &a, 0, 0);
        expect(number(out[0]), 16.0 / 17, 1e-3);
    }
}

static void test_zero_channels(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mxv_attention a = fp8_call(40);
        for (size_t n = 0; n < 40; n++)
            for (size_t c = 1; c < D; c++)
                v[n * D + c] = (float)(n % 5) - 2;
        run(heads[i], &a, 0, 0);
        assert_int_equal(out[0], 0); // the zero channel is +0, and no NaN is anywhere
        for (size_t c = 0; c < D; c++)
            assert_false(isnan(number(out[c])));
        memset(v, 0, sizeof v);
        run(heads[i], &a, 0, 0);
        for (size_t c = 0; c < D; c++)
            assert_int_equal(out[c], 0);
    }
}

// Identity V shows the weight of each key: none of a future key's, in every kernel and tile.
static void test_no_future_key_leaks(void **state)
{
    (void)state;
    static const enum mxv_kernel kernels[] = {MXV_KERNEL_FLASH, MXV_KERNEL_DMA};
    for (size_t i = 0; i < 4; i++) {
        struct mxv_attention a = call(kernels[i / 2], 8, 8);
        a.mask = MXV_MASK_CAUSAL;
        for (size_t t = 0; t < 8; t++) {
            q[t * D] = 1;
            k[t * D] = (float)t; // later keys score higher
            v[t * D + t] = 1;
        }
        run(heads[i % 2], &a, 0, 0);
        for (size_t row = 0; row < 8; row++)
            for (size_t c = 0; c < 8; c++)
                assert_true(c > row ? out[row * D + c] == 0 : number(out[row * D + c]) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_negative_logits),
        cmocka_unit_test(test_masked_key_has_no_weight),
        cmocka_unit_test(test_empty_rows),
        cmocka_unit_test(test_empty_sequences),
        cmocka_unit_test(test_lse_base),
        cmocka_unit_test(test_v_of_ones_with_fp8_weights),
        cmocka_unit_test(test_stale_maximum_with_fp8_weights),
        cmocka_unit_test(test_zero_channels),
        cmocka_unit_test(test_no_future_key_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
