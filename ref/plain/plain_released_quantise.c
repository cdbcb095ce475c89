// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantisers of kernel dma-released in the plain emulation: docs/kernels/dma-released.md section 2
// (yifu-ding/MP-Sparse-Attn@3d554ec, which accompanies arXiv 2604.03950).
//
// Defects D1, D2, D10 are part of what is computed. Divisions are div.full.f32; FLOOR2 is taken
// from its definition, the binary32 log2 (plain_scale_rule.c). Nothing is left open. Not handled:
// second-level scales other than token and block. tests/unit/test_plain_released.c fails if this is
// wrong.
#include "plain.h"
#include <math.h>

// FLOOR2 as a float: -inf for 0, +inf for inf; of a subnormal the exponent itself.
static float floor2(float a)
{
    if (a == 0.0f)
        return -INFINITY;
    if (a < 0x1p-126f || isinf(a))
        return logbf(a);
    return (float)plain_floor_log2_binary32(a);
}

static float power_of_two(float e)
{
    if (isinf(e))
        return e < 0.0f ? 0.0f : e;
    return ldexpf(1.0f, (int)e);
}

static float clamp(float y, float limit)
{
    if (isnan(y) || y > limit)
        return limit;
    return y < -limit ? -limit : y;
}

// The E2M1 rule (D1): |y| <= 6, never NaN.
static uint32_t e2m1_code(float y)
{
    const float a = fabsf(y);
    uint32_t e = 0;
    if (a >= 1.0f)
        e = 1;
    if (a >= 2.0f)
        e = 2;
    if (a >= 4.0f)
        e = 3;
    const float n = ldexpf(a, 1 - (int)e);
    const uint32_t mantissa = n > (e == 0 ? 0.25f : 1.25f) ? 1 : 0;
    const uint32_t sign = y >= 0.0f ? 0 : 1;
    return sign * 8 + e * 2 + mantissa;
}

static uint32_t scale_byte(float s)
{
    const float biased = floor2(s) + 127.0f;
    if (!(biased > 0.0f))
        return 0;
    return biased > 254.0f ? 254 : (uint32_t)biased;
}

static void mx_block(enum mxv_element f, float exponent, float limit, const float *x,
                     uint32_t *scale, uint32_t *code)
{
    const float s = power_of_two(floor2(plain_amax(x, 32)) - exponent);
    *scale = scale_byte(s);
    for (size_t n = 0; n < 32; n++) {
        const float y = clamp(plain_div_full(x[n], s), limit);
        code[n] = f == MXV_E2M1 ? e2m1_code(y) : plain_round_saturate(f, y);
    }
}

static void nvfp4_block(const float *x, uint32_t *scale, uint32_t *code)
{
    const float s = plain_div_full(plain_amax(x, 16), 6.0f);
    *scale = plain_round_saturate(MXV_E4M3, s);
    for (size_t n = 0; n < 16; n++)
        code[n] = e2m1_code(clamp(plain_div_full(x[n], s), 6.0f));
}

void plain_released_block(const struct mxv_attention *a, enum mxv_route route, const float *x,
                          uint32_t *scale, uint32_t *code)
{
    if (route == MXV_ROUTE_HIGH && a->high == MXV_HIGH_MXFP8_E4M3)
        mx_block(MXV_E4M3, 7.0f, 448.0f, x, scale, code);
    else if (route == MXV_ROUTE_HIGH)
        mx_block(MXV_E5M2, 15.0f, 57344.0f, x, scale, code);
    else if (a->low == MXV_LOW_MXFP4)
        mx_block(MXV_E2M1, 3.0f, 6.0f, x, scale, code);
    else
        nvfp4_block(x, scale, code);
}

bool plain_released_uniform(const struct mxv_attention *a)
{
    return a->mode != MXV_MODE_MIXED || (a->diag == 0 && a->sink == 0);
}

static float divisor_of(const struct mxv_attention *a)
{
    if (a->mode == MXV_MODE_MIXED && !plain_released_uniform(a))
        return 128.0f;
    if (a->mode == MXV_MODE_HIGH)
        return 8.0f;
    return a->low == MXV_LOW_MXFP4 ? 6.0f : 8.0f;
}

static void scale_side(const struct mxv_attention *a, struct plain_side *side)
{
    const size_t d = a->d, together = a->dual == MXV_DUAL_BLOCK ? 128 : 1;
    for (size_t first = 0; first < side->rows; first += together) {
        const size_t left = side->rows - first, count = left < together ? left : together;
        const float largest = plain_amax(side->x + first * d, count * d);
        const float sigma = plain_div_full_add(largest, divisor_of(a), plain_float(0x33D6BF95u));
        for (size_t r = first; r < first + count; r++)
            side->sigma[r] = sigma;
        for (size_t e = first * d; e < (first + count) * d; e++)
            side->x[e] = plain_div_full(side->x[e], sigma);
    }
}

void plain_released_scale(struct plain_head *h)
{
    for (size_t e = 0; e < h->lq * h->a->d; e++)
        h->q.x[e] = h->q.x[e] * plain_float(0x3E0293EEu);
    if (h->a->dual == MXV_DUAL_NONE)
        return;
    scale_side(h->a, &h->q);
    scale_side(h->a, &h->k);
}
