// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_ex2_array against the scalar model at each dispatch level of the machine, with and without
// ftz. MXV_EXHAUSTIVE=1 takes all 2^32 words (MXV_SPECIAL_PART=2/5: the second fifth of them);
// without it one run of 4096 words in each 1.5 million, and runs around every place where the model
// changes its form. Lengths and overlap too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mxverify/simd.h>
#include <mxverify/special.h>

enum { RUN = 4096 };

static bool all_words(void)
{
    const char *text = getenv("MXV_EXHAUSTIVE");
    return text != NULL && strcmp(text, "1") == 0;
}

/// Differences in the words first .. first + RUN - 1 at any level, the scalar form computed once.
static uint64_t compare_run(uint32_t first, bool ftz, enum mxv_simd most)
{
    static uint32_t x[RUN], expected[RUN], got[RUN];
    uint64_t bad = 0;
    for (uint32_t i = 0; i < RUN; i++) {
        x[i] = first + i;
        expected[i] = mxv_ex2(x[i], ftz);
    }
    for (int level = 0; level <= (int)most; level++) {
        mxv_simd_limit((enum mxv_simd)level);
        mxv_ex2_array(x, RUN, ftz, got);
        for (uint32_t i = 0; i < RUN; i++) {
            if (got[i] != expected[i] && bad++ < 4)
                printf("%s: ex2(%08x) = %08x, expected %08x\n", mxv_simd_name((enum mxv_simd)level),
                       x[i], got[i], expected[i]);
        }
    }
    return bad;
}

static void every_word(void **state)
{
    (void)state;
    const enum mxv_simd most = mxv_simd_limit((enum mxv_simd)(MXV_SIMD_COUNT - 1));
    const uint64_t step = all_words() ? RUN : UINT64_C(367) * RUN;
    uint64_t bad = 0, words = 0;
    unsigned part = 1, parts = 1;
    const char *text = getenv("MXV_SPECIAL_PART");
    if (text && (sscanf(text, "%u/%u", &part, &parts) != 2 || part < 1 || part > parts))
        fail_msg("MXV_SPECIAL_PART: %s is no part like 2/5", text);
    for (int ftz = 0; ftz < 2; ftz++) {
        for (uint64_t first = (part - 1) * step; first < UINT64_C(1) << 32; first += parts * step) {
            bad += compare_run((uint32_t)first, ftz != 0, most);
            words += RUN;
        }
    }
    printf("%llu words at levels up to %s: %llu differences\n", (unsigned long long)words,
           mxv_simd_name(most), (unsigned long long)bad);
    assert_int_equal(bad, 0);
}

static void around_the_edges(void **state)
{
    (void)state;
    const enum mxv_simd most = mxv_simd_limit((enum mxv_simd)(MXV_SIMD_COUNT - 1));
    static const uint32_t edges[] = {0x33800000, 0x34000000, 0x3F000000, 0x3F800000, 0x40000000,
                                     0x41000000, 0x42800000, 0x42FC0000, 0x42FE0000, 0x43000000,
                                     0x43160000, 0x7F800000, 0x00800000};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            const uint32_t first = (edges[i] | sign << 31) - RUN / 2;
            assert_int_equal(compare_run(first, true, most), 0);
            assert_int_equal(compare_run(first, false, most), 0);
        }
    }
}

static void any_length_and_in_place(void **state)
{
    (void)state;
    const enum mxv_simd most = mxv_simd_limit((enum mxv_simd)(MXV_SIMD_COUNT - 1));
    for (int level = 0; level <= (int)most; level++) {
        mxv_simd_limit((enum mxv_simd)level);
        for (size_t n = 0; n < 70; n++) {
            uint32_t words[72];
            for (size_t i = 0; i < 72; i++)
                words[i] = 0xC0000000 + (uint32_t)i * 77777;
            mxv_ex2_array(words, n, true, words);
            for (size_t i = 0; i < 72; i++) {
                const uint32_t x = 0xC0000000 + (uint32_t)i * 77777;
                assert_int_equal(words[i], i < n ? mxv_ex2(x, true) : x);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(around_the_edges),
        cmocka_unit_test(any_length_and_in_place),
        cmocka_unit_test(every_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
