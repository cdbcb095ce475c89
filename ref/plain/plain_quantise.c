// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers of the plain emulation: docs/kernels/dma.md section 1.4, and the INT8 code of
// docs/kernels/tilemix.md section 1.3.
//
// Computed per block: the scale from the largest magnitude, then one code per element. MX (OCP MX
// v1.0, section 6.3): x / X is exact, since X is a power of two; below 2^-126 the quotient may lose
// bits, but every such quotient has the code of its zero. NVFP4, core and INT8: the quotient is
// rounded to binary32 first, as the pages say. What the OCP document leaves open (NaN, infinity,
// zero blocks, rule) is fixed by the page or by `rule`. tests/unit/test_plain_quantise.c fails if
// this is wrong.
#include "plain.h"
#include <math.h>

static bool any_nan(const float *x, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (isnan(x[n]))
            return true;
    return false;
}

static void all_zero(uint32_t *code, size_t count)
{
    for (size_t n = 0; n < count; n++)
        code[n] = 0;
}

void plain_quantise_mx(enum mxv_scale_rule rule, enum mxv_element f, const float *x,
                       uint32_t *scale, uint32_t *code)
{
    const float a = plain_amax(x, 32);
    if (any_nan(x, 32)) {
        *scale = 0xFF;
        all_zero(code, 32);
        return;
    }
    if (a == 0.0f)
        *scale = 0x00;
    else if (isinf(a))
        *scale = 0xFE;
    else
        *scale = plain_scale_byte(rule, f, a);
    for (size_t n = 0; n < 32; n++)
        code[n] = plain_round_saturate(f, ldexpf(x[n], 127 - (int)*scale));
}

void plain_quantise_nvfp4(const float *x, uint32_t *scale, uint32_t *code)
{
    if (any_nan(x, 16)) {
        *scale = 0x7F;
        all_zero(code, 16);
        return;
    }
    *scale = plain_round_saturate(MXV_E4M3, plain_amax(x, 16) / 6.0f);
    const float divisor = plain_decode(MXV_E4M3, *scale);
    for (size_t n = 0; n < 16; n++) {
        if (divisor == 0.0f)
            code[n] = signbit(x[n]) ? 8 : 0;
        else
            code[n] = plain_round_saturate(MXV_E2M1, x[n] / divisor);
    }
}

void plain_quantise_core(const float *x, uint32_t *scale, uint32_t *code)
{
    float s = plain_amax(x, 32) / 448.0f;
    if (s == 0.0f)
        s = 1.0f;
    *scale = plain_word(s);
    for (size_t n = 0; n < 32; n++)
        code[n] = plain_round_saturate(MXV_E4M3, x[n] / s);
}

int plain_int8_code(enum mxv_round round, float x, float delta)
{
    if (delta == 0.0f)
        return 0;
    const float quotient = x / delta;
    if (isnan(quotient))
        return 0;
    // roundf rounds halves away from zero, rintf to even (the default rounding mode).
    const float rounded = round == MXV_RNA ? roundf(quotient) : rintf(quotient);
    if (rounded > 127.0f)
        return 127;
    if (rounded < -127.0f)
        return -127;
    return (int)rounded;
}
