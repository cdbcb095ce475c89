// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_ex2 over arrays: the vector form of the bare unit where the processor has one, else the
// scalar model word by word. Without ftz, arguments below -126 need the scaling of special.c; they
// are done again by mxv_ex2. exhaustive.special_array compares all 2^32 words at each level.
#include <mxverify/simd.h>
#include <mxverify/special.h>

#include "special_array.h"
#include "special_unit.h"

enum { CHUNK = 256 };

static void bare_unit(const uint32_t *x, size_t n, uint32_t *out)
{
#if defined(__x86_64__)
    const enum mxv_simd level = mxv_simd_level();
    if (level >= MXV_SIMD_AVX512) {
        mxv_unit_ex2_avx512(x, n, out);
        return;
    }
    if (level >= MXV_SIMD_AVX2) {
        mxv_unit_ex2_avx2(x, n, out);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++)
        out[i] = mxv_unit_ex2(x[i]);
}

// Whether ex2 without ftz scales its argument: x < -126, NaN excluded.
static bool scaled(uint32_t x)
{
    return x > 0xC2FC0000 && x <= 0xFF800000;
}

void mxv_ex2_array(const uint32_t *x, size_t n, bool ftz, uint32_t *out)
{
    if (ftz) {
        bare_unit(x, n, out);
        return;
    }
    for (size_t from = 0; from < n; from += CHUNK) {
        uint32_t words[CHUNK];
        const size_t count = n - from < CHUNK ? n - from : CHUNK;
        bare_unit(x + from, count, words);
        for (size_t i = 0; i < count; i++)
            out[from + i] = scaled(x[from + i]) ? mxv_ex2(x[from + i], false) : words[i];
    }
}
