// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// V of a head (docs/kernels/contract.md 5, tilemix.md 1), the operand taps, and the exact operands
// for the truth of kind (b).
#include "engine_faults.h"
#include "engine_rows.h"
#include <math.h>
#include <stdlib.h>

uint32_t to_f16(float x)
{
    static const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
    return (uint32_t)mxv_element_from_f32(MXV_F16, word_of(x), &ieee);
}

uint32_t to_bf16(float x)
{
    static const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
    return (uint32_t)mxv_element_from_f32(MXV_BF16, word_of(x), &ieee);
}

float from_f16(uint32_t code)
{
    return value_of(mxv_element_to_f32(MXV_F16, code));
}

float from_bf16(uint32_t code)
{
    return value_of(mxv_element_to_f32(MXV_BF16, code));
}

uint32_t code_of(enum mxv_element type, float x)
{
    switch (type) {
    case MXV_F32:
        return word_of(x);
    case MXV_F16:
        return to_f16(x);
    case MXV_BF16:
        return to_bf16(x);
    default:
        return (uint32_t)mxv_element_from_f32(type, word_of(x), NULL);
    }
}

float round_to(enum mxv_element type, float x)
{
    return type == MXV_F32 ? x : value_of(mxv_element_to_f32(type, code_of(type, x)));
}

float amax_of(const float *x, size_t n)
{
    float m = 0;
    for (size_t i = 0; i < n; i++)
        m = fabsf(x[i]) > m ? fabsf(x[i]) : m;
    return m;
}

static void cache_values(struct head *h)
{
    const struct mxv_attention *a = h->a;
    struct mxv_encode encode = {.round = a->int8_round, .min_set = true, .min = -127};
    fault_int8_encode(a, &encode);
    for (size_t n = 0; n < h->lk; n++) {
        float *row = h->v + n * a->d, delta = amax_of(row, a->d) / 127;
        h->v_scales[n] = delta;
        for (size_t c = 0; c < a->d; c++) {
            int code = delta == 0
                           ? 0
                           : (int8_t)mxv_element_from_f32(MXV_S8, word_of(row[c] / delta), &encode);
            row[c] = round_to(a->vt, (float)code * delta);
        }
    }
}

static void fp8_values(struct head *h)
{
    size_t n = h->lk * h->a->d;
    float s = amax_of(h->v, n) / 448;
    h->v_scales[0] = s == 0 ? 1 : s;
    for (size_t i = 0; i < n; i++)
        h->v[i] = h->v[i] / h->v_scales[0];
}

// Codes of V, and the operands that the unit reads, column by column.
static void transpose_values(struct head *h)
{
    size_t d = h->a->d, bn = h->a->tile_n;
    bool tf32 = h->recipe.pv_kind == PV_TF32; // the unit then reads binary32 words
#pragma omp parallel for if (!h->sink)
    for (size_t n = 0; n < h->lk; n++) {
        uint32_t words[256];
        struct mxv_operand row[256];
        struct mxv_operand *column = h->vt + n / bn * d * bn + fault_value_slot(h, n % bn);
        h->rows->codes(h->a->vt, h->v + n * d, d, h->v_codes + n * d);
        if (tf32)
            h->rows->codes(MXV_F32, h->v + n * d, d, words);
        mxv_mma_decode_b(h->recipe.pv, tf32 ? words : h->v_codes + n * d, d, row);
        for (size_t c = 0; c < d; c++)
            column[c * bn] = row[c];
    }
}

// Padding must decode as a zero of the unit, whatever its representation. Keys fill all tiles but
// the last, except under a fault.
static void pad_values(struct head *h)
{
    const size_t size = h->a->d * h->a->tile_n;
    uint32_t word = 0;
    struct mxv_operand zero;
    mxv_mma_decode_b(h->recipe.pv, &word, 1, &zero);
#pragma omp parallel for if (!h->sink)
    for (size_t i = h->healthy ? h->lk / h->a->tile_n * size : 0; i < h->key_tiles * size; i++)
        h->vt[i] = zero;
}

static void round_values(const struct head *h, const float *source)
{
    const size_t d = h->a->d;
    const enum mxv_element type = h->a->vt == MXV_E4M3 ? MXV_F32 : h->a->vt;
#pragma omp parallel for if (!h->sink)
    for (size_t n = 0; n < h->lk; n++)
        h->rows->round(type, source + n * d, d, h->v + n * d);
}

int values_prepare(struct head *h)
{
    const struct mxv_attention *a = h->a;
    const size_t d = a->d, tk = a->cu_k[a->sequences], n = h->lk * d;
    bool scaled = a->vt == MXV_E4M3 || (a->kernel == MXV_KERNEL_TILEMIX && a->kv_cache);
    h->v = arrays_take(&h->arrays, n, sizeof *h->v);
    h->v_codes = arrays_take(&h->arrays, n, sizeof *h->v_codes);
    h->v_scales = scaled ? calloc(h->lk + 1, sizeof *h->v_scales) : NULL;
    h->vt = arrays_take(&h->arrays, h->key_tiles * d * a->tile_n, sizeof *h->vt);
    if (!h->v || !h->v_codes || !h->vt || (scaled && !h->v_scales))
        return head_no_memory(h, "V");
    const float *source = a->v + (h->kv_index * tk + fault_first_key(a, h->sequence)) * d;
    round_values(h, source);
    if (a->vt == MXV_E4M3)
        fp8_values(h);
    else if (scaled)
        cache_values(h);
    pad_values(h);
    transpose_values(h);
    return 0;
}

static void tap_words(const struct head *h, enum mxv_stage stage, enum mxv_route route, size_t rows,
                      size_t cols, const uint32_t *words)
{
    struct mxv_tap tap = {stage, route, h->sequence, h->index, 0, 0, rows, cols, words};
    h->sink->take(h->sink->ctx, &tap);
}

static void tap_floats(struct head *h, enum mxv_stage stage, enum mxv_route route, size_t rows,
                       size_t cols, const float *x)
{
    uint32_t *words = malloc((rows * cols + 1) * sizeof *words);
    if (!words) {
        head_no_memory(h, "a tap");
        return;
    }
    for (size_t i = 0; i < rows * cols; i++)
        words[i] = word_of(x[i]);
    tap_words(h, stage, route, rows, cols, words);
    free(words);
}

static void tap_bytes(struct head *h, enum mxv_stage stage, enum mxv_route route, size_t rows,
                      size_t cols, const uint8_t *x)
{
    uint32_t *words = malloc((rows * cols + 1) * sizeof *words);
    if (!words) {
        head_no_memory(h, "a tap");
        return;
    }
    for (size_t i = 0; i < rows * cols; i++)
        words[i] = x[i];
    tap_words(h, stage, route, rows, cols, words);
    free(words);
}

static void tap_side(struct head *h, const struct operand_side *side, enum mxv_stage sigma,
                     enum mxv_stage scale, enum mxv_stage code)
{
    bool channel = side->sigma && side == &h->k && h->a->dual == MXV_DUAL_CHANNEL;
    if (side->sigma)
        tap_floats(h, sigma, MXV_ROUTE_F16, channel ? 1 : side->rows, channel ? h->a->d : 1,
                   side->sigma);
    for (unsigned route = 0; route < MXV_ROUTE_COUNT; route++) {
        const struct operand_copy *copy = &side->copy[route];
        if (!copy->present)
            continue;
        if (copy->scale_bytes)
            tap_bytes(h, scale, (enum mxv_route)route, copy->rows, copy->blocks, copy->scale_bytes);
        if (copy->scales)
            tap_floats(h, scale, (enum mxv_route)route, copy->rows, copy->blocks, copy->scales);
        tap_words(h, code, (enum mxv_route)route, copy->rows, h->a->d, copy->codes);
    }
}

void operands_tap(struct head *h)
{
    if (!h->sink)
        return;
    tap_side(h, &h->q, MXV_STAGE_Q_SIGMA, MXV_STAGE_Q_SCALE, MXV_STAGE_Q_CODE);
    tap_side(h, &h->k, MXV_STAGE_K_SIGMA, MXV_STAGE_K_SCALE, MXV_STAGE_K_CODE);
    if (h->v_scales)
        tap_floats(h, MXV_STAGE_V_SCALE, MXV_ROUTE_F16, h->a->vt == MXV_E4M3 ? 1 : h->lk, 1,
                   h->v_scales);
    tap_words(h, MXV_STAGE_V_CODE, MXV_ROUTE_F16, h->lk, h->a->d, h->v_codes);
}

static double copy_scale(const struct head *h, const struct operand_copy *copy,
                         enum mxv_route route, size_t row, size_t block)
{
    if (copy->factor)
        return copy->factor[row];
    if (copy->scale_bytes)
        return copy_byte_scale(h->a, route, copy->scale_bytes[row * copy->blocks + block]);
    return copy->scales ? copy->scales[row * copy->blocks + block] : 1;
}

void copy_values(const struct head *h, const struct operand_side *side, enum mxv_route route,
                 double *out)
{
    const struct operand_copy *copy = &side->copy[route];
    enum mxv_element e = copy->factor ? MXV_E5M2 : copy_element(h->a, route);
    size_t d = h->a->d, block = copy->blocks ? d / copy->blocks : d;
    bool rows_scaled = side->sigma && h->a->dual != MXV_DUAL_CHANNEL;
    for (size_t r = 0; r < copy->rows; r++)
        for (size_t c = 0; c < d; c++) {
            double x = value_of(mxv_element_to_f32(e, copy->codes[r * d + c]));
            x *= copy_scale(h, copy, route, r, c / block);
            out[r * d + c] = rows_scaled ? x * side->sigma[r] : x;
        }
}
