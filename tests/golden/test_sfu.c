// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Complete mantissa tables of the special-function unit against SHA-256 digests of the tables an
// NVIDIA H200 produced: inputs first + i, i = 0..2^23-1, results as little-endian words.
// The digests of sha256.h itself are those of FIPS 180-4 (examples).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "sha256.h"

#include <mxverify/special.h>

typedef uint32_t function(uint32_t x, bool ftz);

static void assert_table(const char *name, function *f, uint32_t first, const char *expected)
{
    enum { COUNT = 1 << 23, BATCH = 4096 };
    static uint8_t bytes[4 * BATCH];
    struct sha256 s;
    char digest[65];
    sha256_init(&s);
    for (uint32_t i = 0; i < COUNT; i += BATCH) {
        for (uint32_t j = 0; j < BATCH; j++) {
            uint32_t w = f(first + i + j, true);
            for (int k = 0; k < 4; k++)
                bytes[4 * j + (uint32_t)k] = (uint8_t)(w >> 8 * k);
        }
        sha256_add(&s, bytes, sizeof bytes);
    }
    sha256_finish(&s, digest);
    printf("%s from %08x: %d words, sha256 %s\n", name, first, COUNT, digest);
    assert_string_equal(digest, expected);
}

static void test_sha256(void **state)
{
    struct sha256 s;
    char digest[65];
    (void)state;
    sha256_init(&s);
    sha256_add(&s, "abc", 3);
    sha256_finish(&s, digest);
    assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_init(&s);
    sha256_add(&s, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    sha256_finish(&s, digest);
    assert_string_equal(digest, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_ex2(void **state)
{
    (void)state;
    assert_table("ex2", mxv_ex2, 0x3f800000,
                 "cce5df10202dbfcde720ca547d147edb3e2a406a5fed189323f419177a72a1a5");
    assert_table("ex2", mxv_ex2, 0xbf800000,
                 "503d2238b9f4c00e8686f80a703dd13d365554f2887c7279a7b438f642aceab3");
}

static void test_rcp(void **state)
{
    (void)state;
    assert_table("rcp", mxv_rcp, 0x3f800000,
                 "c408381446132e07fa5581e930dc33fb790bea7ec4276ef3621e322df2492a55");
}

static void test_lg2(void **state)
{
    (void)state;
    assert_table("lg2", mxv_lg2, 0x3f800000,
                 "7fd9be9a924e40a0ee18ba20e7f5158135112947597c8dd86131d3d4d8f9dbfa");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sha256), cmocka_unit_test(test_ex2),
                                       cmocka_unit_test(test_rcp), cmocka_unit_test(test_lg2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
