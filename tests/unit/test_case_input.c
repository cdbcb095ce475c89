// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Cases whose tensors come from files: shapes, ranges of heads and tokens, types, and every
// refusal.
#include "cases.h"
#include <math.h>
#include <mxverify/tensor_file.h>
#include <unistd.h>

static char folder[64];

// Element value by coordinates: small integers, exact in every type.
static float value(unsigned tensor, size_t head, size_t token, size_t channel)
{
    return (float)((tensor * 7 + head * 5 + token * 3 + channel) % 31) - 15;
}

static void write_f32(const char *name, unsigned tensor, unsigned rank, const size_t *shape)
{
    char path[128], message[300];
    size_t d = shape[rank - 1], tokens = shape[rank - 2], n = 1;
    for (unsigned i = 0; i < rank; i++)
        n *= shape[i];
    float *data = malloc(n * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        data[i] = value(tensor, i / d / tokens, i / d % tokens, i % d);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mxv_npy_write(path, "<f4", rank, shape, data, message, sizeof message),
                     MXV_OK);
    free(data);
}

static void write_half(const char *name, unsigned tensor, const size_t *shape)
{
    char path[128], message[300];
    size_t n = shape[0] * shape[1] * shape[2];
    uint16_t *data = malloc(n * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        data[i] = (uint16_t)mxv_element_from_f32(
            MXV_F16,
            word_of(value(tensor, i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2])),
            NULL);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mxv_npy_write(path, "<f2", 3, shape, data, message, sizeof message), MXV_OK);
    free(data);
}

static int make_folder(void **state)
{
    const size_t q[] = {6, 40, 32}, k[] = {2, 50, 32}, flat[] = {40, 32}, deep[] = {1, 2, 50, 32};
    const size_t two[] = {2, 2, 50, 32}, wide[] = {2, 50, 64}, more[] = {4, 50, 32};
    (void)state;
    strcpy(folder, "/tmp/mxv-input-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    write_half("a_q.npy", 0, q);
    write_half("a_k.npy", 1, k);
    write_half("a_v.npy", 2, k);
    write_f32("q32.npy", 0, 3, q);
    write_f32("flat.npy", 1, 2, flat);
    write_f32("deep.npy", 1, 4, deep);
    write_f32("two.npy", 1, 4, two);
    write_f32("wide.npy", 1, 3, wide);
    write_f32("more.npy", 1, 3, more);
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"a_q.npy",  "a_k.npy",  "a_v.npy",        "q32.npy",
                                        "flat.npy", "deep.npy", "two.npy",        "wide.npy",
                                        "more.npy", "bad.npy",  "all.safetensors"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

// `@` in a line stands for the folder.
static void expand(const char *pattern, char *line, size_t size)
{
    size_t n = 0;
    for (; *pattern && n + 100 < size; pattern++)
        n += (size_t)snprintf(line + n, size - n, *pattern == '@' ? "%s" : "%.1s",
                              *pattern == '@' ? folder : pattern);
    line[n] = '\0';
}

static void build_pattern(const char *pattern, struct mxv_case_data *d)
{
    char line[1000];
    expand(pattern, line, sizeof line);
    build(line, d);
}

static void whole_files(void **state)
{
    struct mxv_case_data d;
    (void)state;
    build_pattern("dma input=@/a", &d);
    assert_true(d.a.heads_q == 6 && d.a.heads_kv == 2 && d.a.d == 32 && d.a.sequences == 1 &&
                d.a.cu_q[1] == 40 && d.a.cu_k[1] == 50 && d.a.scale == 1 / sqrt(32.0));
    for (size_t i = 0; i < 6 * 40 * 32; i++)
        assert_true(d.q[i] == value(0, i / 32 / 40, i / 32 % 40, i % 32));
    for (size_t i = 0; i < 2 * 50 * 32; i++) {
        assert_true(d.k[i] == value(1, i / 32 / 50, i / 32 % 50, i % 32));
        assert_true(d.v[i] == value(2, i / 32 / 50, i / 32 % 50, i % 32));
    }
    mxv_case_free(&d);
}

static void ranges(void **state)
{
    struct mxv_case_data d;
    (void)state;
    build_pattern(
        "flash input=@/q32.npy,@/a_k.npy,@/a_v.npy heads=1:2 qtok=8:20 ktok=5:50 hq=3 hk=1 "
        "lq=12 lk=45 d=32",
        &d);
    assert_true(d.a.heads_q == 3 && d.a.heads_kv == 1 && d.a.cu_q[1] == 12 && d.a.cu_k[1] == 45);
    for (size_t h = 0; h < 3; h++)
        for (size_t n = 0; n < 12; n++)
            for (size_t c = 0; c < 32; c++)
                assert_true(d.q[(h * 12 + n) * 32 + c] == value(0, 3 + h, 8 + n, c));
    for (size_t n = 0; n < 45; n++)
        for (size_t c = 0; c < 32; c++)
            assert_true(d.k[n * 32 + c] == value(1, 1, 5 + n, c) &&
                        d.v[n * 32 + c] == value(2, 1, 5 + n, c));
    mxv_case_free(&d);
    build_pattern("flash input=@/flat.npy,@/flat.npy,@/flat.npy seqs=30:10,10:30", &d);
    assert_true(d.a.heads_q == 1 && d.a.sequences == 2 && d.a.cu_q[1] == 30 && d.a.cu_k[2] == 40);
    mxv_case_free(&d);
    build_pattern("flash input=@/a_q.npy,@/deep.npy,@/deep.npy", &d);
    assert_true(d.a.heads_kv == 2 && d.k[0] == value(1, 0, 0, 0));
    mxv_case_free(&d);
    build_pattern("dma input=@/a plan=entropy tile=32x32", &d);
    assert_non_null(d.a.diag_tiles);
    mxv_case_free(&d);
}

// One .safetensors file with tensors q, k and v (bfloat16), written byte by byte.
static void safetensors(void **state)
{
    static const char header[] =
        "{\"q\":{\"dtype\":\"BF16\",\"shape\":[1,2,32],\"data_offsets\":[0,128]},"
        "\"k\":{\"dtype\":\"BF16\",\"shape\":[1,1,32],\"data_offsets\":[128,192]},"
        "\"v\":{\"dtype\":\"BF16\",\"shape\":[1,1,32],\"data_offsets\":[192,256]}}";
    struct mxv_case_data d;
    char path[128];
    uint64_t length = sizeof header - 1;
    (void)state;
    snprintf(path, sizeof path, "%s/all.safetensors", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 255), f);
    fputs(header, f);
    for (int i = 0; i < 128; i++) { // q: 1.0, k: 2.0, v: -1.0
        unsigned code = i < 64 ? 0x3f80 : i < 96 ? 0x4000 : 0xbf80;
        fputc((int)(code & 255), f);
        fputc((int)(code >> 8), f);
    }
    fclose(f);
    build_pattern("flash in=bf16 input=@/all.safetensors", &d);
    assert_true(d.a.cu_q[1] == 2 && d.a.cu_k[1] == 1);
    for (size_t i = 0; i < 32; i++)
        assert_true(d.q[i] == 1 && d.q[32 + i] == 1 && d.k[i] == 2 && d.v[i] == -1);
    mxv_case_free(&d);
    build_pattern("flash in=bf16 input=@/all.safetensors:q,@/all.safetensors:k,@/all.safetensors:v",
                  &d);
    assert_true(d.v[31] == -1);
    mxv_case_free(&d);
}

static void refusals(void **state)
{
    static const struct {
        const char *pattern;
        enum mxv_status status;
        const char *words[2];
    } rows[] = {
        {"flash input=@/none", MXV_ERR_IO, {"input q", "none_q.npy"}},
        {"flash input=@/a_q.npy", MXV_ERR_INPUT, {"three paths"}},
        {"flash input=@/a_q.npy,@/a_k.npy", MXV_ERR_INPUT, {"three paths"}},
        {"flash input=@/a,@/a,@/a,@/a", MXV_ERR_INPUT, {"three paths"}},
        {"flash input=@/a_q.npy,@/two.npy,@/two.npy", MXV_ERR_INPUT, {"the first not 1"}},
        {"flash input=@/a_q.npy,@/wide.npy,@/wide.npy",
         MXV_ERR_INPUT,
         {"do not fit", "[2][50][64]"}},
        {"flash input=@/a_q.npy,@/more.npy,@/more.npy", MXV_ERR_INPUT, {"do not fit"}},
        {"flash input=@/a_q.npy,@/a_k.npy,@/flat.npy", MXV_ERR_INPUT, {"do not fit"}},
        {"flash input=@/a hk=3 hq=6", MXV_ERR_INPUT, {"hk=3: the files give 2"}},
        {"flash input=@/a hk=2 hq=4", MXV_ERR_INPUT, {"hq=4: the files give 6"}},
        {"flash input=@/a d=64", MXV_ERR_INPUT, {"d=64: the files give 32"}},
        {"flash input=@/a lq=41", MXV_ERR_INPUT, {"lq=41: the files give 40"}},
        {"flash input=@/a ktok=0:51", MXV_ERR_INPUT, {"ktok=0:51: the files hold 50"}},
        {"flash input=@/a heads=1:3", MXV_ERR_INPUT, {"heads=1:3: the files hold 2"}},
        {"flash input=@/a seqs=40:49", MXV_ERR_INPUT, {"40 query and 49 key tokens"}},
        {"dma-released input=@/a", MXV_ERR_UNSUPPORTED, {"d=32", "d=128"}},
    };
    char line[1000], message[1000];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_case c;
        struct mxv_case_data d;
        expand(rows[i].pattern, line, sizeof line);
        parse(line, &c);
        enum mxv_status status = mxv_case_build(&c, &d, message, sizeof message);
        bool good = status == rows[i].status;
        for (size_t w = 0; w < 2 && rows[i].words[w]; w++)
            good = good && strstr(message, rows[i].words[w]);
        if (!good)
            print_error("%s: status %d: %s\n", line, (int)status, message);
        assert_true(good);
        assert_null(d.q);
    }
}

// NaN, infinite and unrepresentable elements are named by their place.
static void bad_elements(void **state)
{
    static const struct {
        float bad;
        const char *line, *said; // said NULL: accepted
    } rows[] = {
        {NAN, "flash in=f32", "head 0, token 1, channel 3 is NaN; nonfinite=allow"},
        {INFINITY, "flash in=f32", "channel 3 is infinite"},
        {-INFINITY, "flash in=f32", "channel 3 is infinite"},
        {NAN, "flash in=f32 nonfinite=allow", NULL},
        {INFINITY, "flash in=f16 nonfinite=allow", NULL},
        {1.0001f, "flash in=f16", "no f16 value; say in=f32"},
        {70000, "flash in=f16", "is 70000, no f16 value"},
        {1.0001f, "flash in=f32", NULL},
        {1 + 0x1p-10f, "flash in=bf16", "no bf16 value"},
        {1 + 0x1p-10f, "flash in=f16", NULL},
    };
    char path[128], line[400], message[1000];
    const size_t shape[] = {4, 32};
    (void)state;
    snprintf(path, sizeof path, "%s/bad.npy", folder);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float data[4 * 32] = {0};
        struct mxv_case c;
        struct mxv_case_data d;
        data[35] = rows[i].bad;
        assert_int_equal(mxv_npy_write(path, "<f4", 2, shape, data, message, sizeof message),
                         MXV_OK);
        snprintf(line, sizeof line, "%s input=%s,%s,%s", rows[i].line, path, path, path);
        parse(line, &c);
        enum mxv_status status = mxv_case_build(&c, &d, message, sizeof message);
        assert_int_equal(status, rows[i].said ? MXV_ERR_INPUT : MXV_OK);
        if (rows[i].said)
            assert_non_null(strstr(message, rows[i].said));
        else
            assert_true(word_of(d.q[35]) == word_of(rows[i].bad) || isnan(d.q[35]));
        mxv_case_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files),  cmocka_unit_test(ranges),
        cmocka_unit_test(safetensors),  cmocka_unit_test(refusals),
        cmocka_unit_test(bad_elements),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
