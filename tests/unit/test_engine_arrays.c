// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The large arrays of a head: zeros, apart from each other, aligned, with and without a mapping of
// huge pages, beyond the room that was made, and again after a close.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../../ref/engine_arrays.h"

enum { KIB = 1024, MIB = 1024 * KIB, SEVERAL = 12 };

static bool only(const unsigned char *p, size_t n, unsigned char value)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != value)
            return false;
    return true;
}

/// Arrays of `size` bytes: each is zeros when taken and keeps what is written to it.
static void take_several(struct arrays *a, size_t size)
{
    unsigned char *taken[SEVERAL];
    for (unsigned i = 0; i < SEVERAL; i++) {
        taken[i] = arrays_take(a, size + i, 1);
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i] % _Alignof(max_align_t), 0);
        assert_true(only(taken[i], size + i, 0));
        memset(taken[i], (int)i + 1, size + i);
    }
    for (unsigned i = 0; i < SEVERAL; i++)
        assert_true(only(taken[i], size + i, (unsigned char)(i + 1)));
}

static void test_room(void **state)
{
    static const size_t rooms[] = {0, 1, MIB, 7 * MIB, 9 * MIB, 32 * MIB};
    (void)state;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        for (int parallel = 0; parallel < 2; parallel++) {
            struct arrays a;
            arrays_open(&a, rooms[i], parallel != 0);
            take_several(&a, MIB); // the smaller rooms do not hold them
            take_several(&a, 1);
            arrays_close(&a);
            assert_null(a.mapping);
            assert_int_equal(a.others, 0);
        }
}

/// A large room is one mapping, and what fits lies in it.
static void test_mapping(void **state)
{
    struct arrays a;
    (void)state;
    arrays_open(&a, 16 * MIB, true);
#if defined(__linux__)
    assert_non_null(a.mapping);
    take_several(&a, MIB);
    assert_int_equal(a.others, 0);
    take_several(&a, MIB);
    assert_true(a.others > 0);
#endif
    arrays_close(&a);
}

static void test_nothing(void **state)
{
    struct arrays a = {0};
    (void)state;
    arrays_close(&a);
    assert_non_null(arrays_take(&a, 0, 4));
    assert_null(arrays_take(&a, SIZE_MAX / 2, 4));
    arrays_close(&a);
    arrays_open(&a, 32 * MIB, true);
    assert_non_null(arrays_take(&a, 0, 4));
    arrays_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_room), cmocka_unit_test(test_mapping),
                                       cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
