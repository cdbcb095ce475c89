// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What holds for every generator: published Philox vectors, normal values worked out by a separate
// program, moments, values of the input type, independence of threads, golden hashes of tensors.
#include "cases.h"
#include <math.h>
#include <omp.h>
#include <xxhash.h>

// Random123 distribution, kat_vectors, philox4x32 with 10 rounds.
static void philox_published(void **state)
{
    static const struct {
        uint64_t key;
        uint32_t counter[4], out[4];
    } rows[] = {
        {0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        mxv_random_words(rows[i].key, rows[i].counter, out);
        assert_memory_equal(out, rows[i].out, sizeof out);
    }
}

// Philox, the counter layout and the polynomial worked out by a Python program.
static void normal_values(void **state)
{
    static const struct {
        uint64_t seed;
        enum mxv_tensor_role role;
        size_t sequence, head, token, channel;
        uint32_t f32, f16;
    } rows[] = {
        {1, MXV_ROLE_Q, 0, 0, 0, 0, 0xbf8b3f22, 0xbf8b4000},
        {1, MXV_ROLE_K, 0, 0, 0, 0, 0x3efb358f, 0x3efb4000},
        {1, MXV_ROLE_V, 0, 1, 17, 63, 0x3f34a68b, 0x3f34a000},
        {0x123456789abcdef0, MXV_ROLE_Q, 2, 3, 129, 31, 0xbf90a1dc, 0xbf90a000},
        {UINT64_MAX, MXV_ROLE_K, 1, 0, 1000, 5, 0x3f53d2af, 0x3f53e000},
    };
    struct mxv_case_data data;
    (void)state;
    build("flash seqs=18:18,1001:1001,130:130 hq=4 hk=4", &data);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_generator_source s = {
            .call = &data.a, .generator = MXV_GEN_GAUSSIAN, .seed = rows[i].seed, .gain = 1};
        data.a.in = MXV_F32;
        float x = mxv_generator_value(&s, rows[i].role, rows[i].sequence, rows[i].head,
                                      rows[i].token, rows[i].channel);
        assert_int_equal(word_of(x), rows[i].f32);
        data.a.in = MXV_F16;
        x = mxv_generator_value(&s, rows[i].role, rows[i].sequence, rows[i].head, rows[i].token,
                                rows[i].channel);
        assert_int_equal(word_of(x), rows[i].f16);
    }
    mxv_case_free(&data);
}

// 65,536 values: the mean within 5 standard errors, moments 2 and 4 near 1 and 3, tails present.
static void normal_moments(void **state)
{
    struct mxv_case_data data;
    double sum[5] = {0};
    size_t n = 512 * 128, beyond3 = 0;
    (void)state;
    build("flash in=f32 lq=1 lk=512 d=128 seed=5", &data);
    for (size_t i = 0; i < n; i++) {
        double x = (double)data.k[i], power = 1;
        for (int m = 0; m < 5; m++, power *= x)
            sum[m] += power;
        beyond3 += fabs(x) > 3;
    }
    assert_true(fabs(sum[1] / (double)n) < 5 / sqrt((double)n));
    assert_true(fabs(sum[2] / (double)n - 1) < 0.03);
    assert_true(fabs(sum[3] / (double)n) < 0.08);
    assert_true(fabs(sum[4] / (double)n - 3) < 0.24);
    assert_in_range(beyond3, 110, 245); // 0.0027 of them
    mxv_case_free(&data);
}

// Whatever the generator, the type and the gain: every value is one of the input type's.
static void values_fit_type(void **state)
{
    static const char *const types[] = {"f16", "bf16", "f32"};
    static const char *const kernels[] = {"flash", "dma", "dma-released", "tilemix"};
    char line[160];
    (void)state;
    for (unsigned g = 0; g < MXV_GEN_COUNT; g++) {
        for (size_t t = 0; t < 12; t++) {
            struct mxv_case_data data;
            snprintf(line, sizeof line, "%s lq=33 lk=33 hq=2 d=128 in=%s gen=%s gain=0.3 seed=7",
                     kernels[t / 3], types[t % 3], mxv_generator_name(g));
            build(line, &data);
            enum mxv_element in = data.a.in;
            const struct mxv_encode keep = {.inf = MXV_INF_KEEP};
            for (size_t i = 0; i < 2 * 33 * 128; i++) {
                uint32_t w = word_of(data.q[i]);
                if (!isnan(data.q[i]) && in != MXV_F32)
                    assert_int_equal(mxv_element_to_f32(in, mxv_element_from_f32(in, w, &keep)), w);
                assert_true(isfinite(data.q[i]) || g == MXV_GEN_NONFINITE);
            }
            mxv_case_free(&data);
        }
    }
}

static uint64_t hash_of(const char *line, int threads)
{
    struct mxv_case_data data;
    omp_set_num_threads(threads);
    build(line, &data);
    size_t q = data.cu_q[data.a.sequences] * data.a.heads_q * data.a.d;
    size_t k = data.cu_k[data.a.sequences] * data.a.heads_kv * data.a.d;
    uint64_t h = XXH3_64bits_withSeed(data.q, q * sizeof(float), 0);
    h = XXH3_64bits_withSeed(data.k, k * sizeof(float), h);
    h = XXH3_64bits_withSeed(data.v, k * sizeof(float), h);
    mxv_case_free(&data);
    omp_set_num_threads(1);
    return h;
}

// The same words with 1 and 2 threads; and each element alone is the element of the tensor.
static void threads_do_not_matter(void **state)
{
    const char *line = "dma seqs=700:900,0:3,40:40 hq=2 hk=2 gen=outlier in=bf16 seed=77";
    struct mxv_case_data data;
    (void)state;
    assert_true(hash_of(line, 1) == hash_of(line, 2));
    build(line, &data);
    struct mxv_generator_source s = {
        .call = &data.a, .generator = MXV_GEN_OUTLIER, .seed = 0x77, .gain = 1, .at = -1};
    for (size_t n = 0; n < 40; n++)
        for (size_t c = 0; c < 64; c++)
            assert_true(mxv_generator_value(&s, MXV_ROLE_K, 2, 1, n, c) ==
                        data.k[(943 + 903 + n) * 64 + c]);
    mxv_case_free(&data);
}

// Recorded once: a change of any bit of any tensor is a change of every case id's meaning.
static void golden_hashes(void **state)
{
    static const struct {
        const char *line;
        uint64_t hash;
    } rows[] = {
#include "golden_tensors.h"
    };
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t h = hash_of(rows[i].line, 1);
        if (h != rows[i].hash)
            print_error("    {\"%s\", UINT64_C(0x%016llx)},\n", rows[i].line,
                        (unsigned long long)h);
        wrong += h != rows[i].hash;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(sizeof rows / sizeof rows[0], MXV_GEN_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_published),      cmocka_unit_test(normal_values),
        cmocka_unit_test(normal_moments),        cmocka_unit_test(values_fit_type),
        cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(golden_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
