// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of a head: casts, K smoothing, pre-scale, second level, and the copies that the routes
// multiply (docs/kernels/contract.md 5 and 7, dma.md 1, tilemix.md 1, flash.md). Every step is one
// binary32 operation or one rounding of an exact number to a code; blocks follow OCP MX v1.0 6.3.
// Faults D8 to D11 and D13 act here. INT8 is in engine_int8.c. Compared tap by tap with ref/plain/.
#include "engine_faults.h"
#include "engine_rows.h"
#include <math.h>
#include <mxverify/special.h>
#include <stdlib.h>

// Rounding of the 16-bit operands: the PV type for flash and tilemix, binary16 for dma.
static enum mxv_element operand_type(const struct mxv_attention *a)
{
    bool dma = a->kernel == MXV_KERNEL_DMA || a->kernel == MXV_KERNEL_DMA_RELEASED;
    return dma ? MXV_F16 : a->vt;
}

static void smooth_keys(float *k, size_t rows, size_t d, enum mxv_element type)
{
    for (size_t c = 0; c < d; c++) {
        float total = 0;
        for (size_t first = 0; first < rows; first += 128) {
            float partial = 0;
            for (size_t n = first; n < rows && n < first + 128; n++)
                partial += k[n * d + c];
            total = first == 0 ? partial : total + partial;
        }
        float mean = round_to(type, total / (float)rows);
        for (size_t n = 0; n < rows; n++)
            k[n * d + c] = round_to(type, k[n * d + c] - mean);
    }
}

static float second_level_divisor(const struct mxv_attention *a)
{
    if (a->mode == MXV_MODE_MIXED)
        return 128;
    return a->mode == MXV_MODE_LOW && a->low == MXV_LOW_MXFP4 ? 6 : 8;
}

static float sigma_of(const struct mxv_attention *a, float amax)
{
    float sigma = amax / second_level_divisor(a);
    return sigma == 0 ? 1 : sigma;
}

// |max(x)| of the signed maximum: defect D9.
static float signed_max(const float *x, size_t n)
{
    float m = -INFINITY;
    for (size_t i = 0; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return n ? fabsf(m) : 0;
}

// Rows that share one second-level scale, starting at `row`.
static size_t sigma_rows(const struct mxv_attention *a, size_t rows, size_t row, size_t tile)
{
    size_t n = a->dual == MXV_DUAL_TOKEN ? 1 : a->dual == MXV_DUAL_BLOCK ? tile : rows;
    return row + n > rows ? rows - row : n;
}

static void second_level_rows(const struct head *h, struct operand_side *side, size_t tile)
{
    const struct mxv_attention *a = h->a;
    size_t d = a->d;
    for (size_t row = 0; row < side->rows;) {
        size_t n = sigma_rows(a, side->rows, row, tile);
        float *x = side->x + row * d, amax = amax_of(x, n * d);
        if (a->dual == MXV_DUAL_TENSOR && mxv_fault_on(a, MXV_FAULT_SIGNED_MAX))
            amax = signed_max(x, n * d);
        if (a->dual == MXV_DUAL_BLOCK && n < tile && mxv_fault_on(a, MXV_FAULT_RAGGED_NOFILL))
            amax = amax > 32768 ? amax : 32768; // what an unfilled load happens to hold
        float sigma = sigma_of(a, amax);
        for (size_t r = 0; r < n; r++)
            side->sigma[row + r] = sigma;
        for (size_t i = 0; i < n * d; i++)
            x[i] = x[i] / sigma;
        row += n;
    }
}

// dual=channel: the scale of each channel of K is folded into Q.
static void second_level_channels(const struct head *h, struct operand_side *q,
                                  struct operand_side *k)
{
    size_t d = h->a->d;
    for (size_t c = 0; c < d; c++) {
        float amax = 0;
        for (size_t n = 0; n < k->rows; n++)
            amax = fabsf(k->x[n * d + c]) > amax ? fabsf(k->x[n * d + c]) : amax;
        float sigma = sigma_of(h->a, amax);
        k->sigma[c] = sigma;
        for (size_t n = 0; n < k->rows; n++)
            k->x[n * d + c] = k->x[n * d + c] / sigma;
        if (mxv_fault_on(h->a, MXV_FAULT_CHANNEL_ON_KEYS))
            continue;
        for (size_t r = 0; r < q->rows; r++)
            q->x[r * d + c] = q->x[r * d + c] * sigma;
    }
}

static int second_level(struct head *h)
{
    const struct mxv_attention *a = h->a;
    bool channel = a->dual == MXV_DUAL_CHANNEL;
    if (a->dual == MXV_DUAL_NONE)
        return 0;
    h->k.sigma = calloc(channel ? a->d : h->lk + 1, sizeof *h->k.sigma);
    h->q.sigma = channel ? NULL : calloc(h->lq + 1, sizeof *h->q.sigma);
    if (!h->k.sigma || (!channel && !h->q.sigma))
        return head_no_memory(h, "second-level scales");
    if (channel) {
        second_level_channels(h, &h->q, &h->k);
        return 0;
    }
    second_level_rows(h, &h->q, a->tile_m);
    second_level_rows(h, &h->k, a->tile_n);
    return 0;
}

static uint32_t encode_scaled(const struct mxv_attention *a, enum mxv_element e, float x,
                              int scale_exp, const struct mxv_encode *p)
{
    struct mxv_value v = mxv_element_decode(MXV_F32, word_of(x));
    v.exp -= scale_exp;
    return fault_code(a, e, v, (uint32_t)mxv_element_encode(e, v, p));
}

static void quantise_mx(const struct head *h, const float *x, enum mxv_element e, uint32_t *codes,
                        uint8_t *scale)
{
    const struct mxv_attention *a = h->a;
    struct block_rules rules = {.rule = a->rule, .scale = {.inf = MXV_SCALE_INF_MAX}};
    fault_block_rules(a, e, &rules);
    for (size_t i = 0; i < 32; i++) {
        codes[i] = 0;
        if (x[i] != x[i]) {
            memset(codes, 0, 32 * sizeof *codes);
            *scale = 0xFF;
            return;
        }
    }
    float amax = amax_of(x, 32);
    *scale = fault_scale_byte(a, amax, mxv_scale_e8m0(rules.rule, e, word_of(amax), &rules.scale));
    for (size_t i = 0; i < 32; i++)
        codes[i] = encode_scaled(a, e, x[i], (int)*scale - 127, &rules.encode);
}

static void quantise_nvfp4(const struct head *h, const float *x, uint32_t *codes, uint8_t *scale)
{
    struct block_rules rules = {.rule = MXV_SCALE_FLOOR};
    fault_block_rules(h->a, MXV_E2M1, &rules);
    for (size_t i = 0; i < 16; i++) {
        codes[i] = 0;
        if (x[i] != x[i]) {
            memset(codes, 0, 16 * sizeof *codes);
            *scale = 0x7F;
            return;
        }
    }
    float raw = amax_of(x, 16) / 6;
    *scale = (uint8_t)mxv_element_from_f32(MXV_E4M3, word_of(raw), NULL);
    float divisor = value_of(mxv_element_to_f32(MXV_E4M3, *scale));
    if (mxv_fault_on(h->a, MXV_FAULT_UNROUNDED_DIVISOR))
        divisor = raw;
    for (size_t i = 0; i < 16; i++) {
        float y = divisor == 0 ? copysignf(0, x[i]) : x[i] / divisor;
        codes[i] = encode_scaled(h->a, MXV_E2M1, y, 0, &rules.encode);
    }
    if (mxv_fault_on(h->a, MXV_FAULT_SCALE_TWICE)) // third part of D11: the scale as E8M0
        *scale = mxv_scale_e8m0(MXV_SCALE_FLOOR, MXV_E2M1, word_of(raw * 4), NULL);
}

static void quantise_core(const float *x, uint32_t *codes, float *scale)
{
    float s = amax_of(x, 32) / 448;
    *scale = s == 0 ? 1 : s;
    for (size_t i = 0; i < 32; i++)
        codes[i] = (uint32_t)mxv_element_from_f32(MXV_E4M3, word_of(x[i] / *scale), NULL);
}

// True when the route's operands are decoded to bfloat16 because the unit has no block scaling.
static bool decoded_to_bf16(const struct head *h, enum mxv_route route)
{
    return (route == MXV_ROUTE_HIGH || route == MXV_ROUTE_LOW) &&
           h->recipe.score[route]->a == MXV_BF16;
}

enum mxv_element copy_element(const struct mxv_attention *a, enum mxv_route route)
{
    switch (route) {
    case MXV_ROUTE_HIGH:
        return a->high == MXV_HIGH_MXFP8_E4M3 ? MXV_E4M3 : MXV_E5M2;
    case MXV_ROUTE_LOW:
        return MXV_E2M1;
    case MXV_ROUTE_CORE:
        return MXV_E4M3;
    case MXV_ROUTE_INT8:
        return MXV_S8;
    default:
        return operand_type(a);
    }
}

float copy_byte_scale(const struct mxv_attention *a, enum mxv_route route, uint8_t byte)
{
    bool nvfp4 = route == MXV_ROUTE_LOW && a->low == MXV_LOW_NVFP4;
    return value_of(mxv_element_to_f32(nvfp4 ? MXV_E4M3 : MXV_E8M0, byte));
}

void copy_decode_row(const struct head *h, enum mxv_route route, struct operand_copy *copy,
                     size_t row, bool side_b)
{
    enum mxv_element element = copy_element(h->a, route);
    const struct mxv_mma_model *model = h->recipe.score[route];
    size_t d = h->a->d;
    uint32_t words[256];
    const uint32_t *codes = copy->codes + row * d;
    if (route == MXV_ROUTE_LOW && h->a->rebase && !copy->factor)
        return; // decoded once rebased
    if (side_b && route == MXV_ROUTE_HIGH && h->a->mask == MXV_MASK_FULL &&
        mxv_fault_on(h->a, MXV_FAULT_K_AS_E2M1)) {
        for (size_t c = 0; c < d; c++)
            words[c] = code_of(element, value_of(mxv_element_to_f32(MXV_E2M1, codes[c] & 15)));
        codes = words;
    }
    if (decoded_to_bf16(h, route)) {
        size_t block = d / copy->blocks;
        for (size_t c = 0; c < d; c++) {
            float s =
                copy_byte_scale(h->a, route, copy->scale_bytes[row * copy->blocks + c / block]);
            words[c] = to_bf16(value_of(mxv_element_to_f32(element, codes[c])) * s);
        }
        codes = words;
    }
    if (side_b)
        mxv_mma_decode_b(model, codes, d, copy->operand + row * d);
    else
        mxv_mma_decode_a(model, codes, d, copy->operand + row * d);
}

int copy_allocate(struct head *h, struct operand_copy *copy, size_t rows, size_t blocks,
                  bool byte_scales)
{
    size_t n = rows * h->a->d, s = rows * blocks + 1;
    copy->present = true;
    copy->rows = rows;
    copy->blocks = blocks;
    copy->codes = arrays_take(&h->arrays, n, sizeof *copy->codes);
    copy->operand = arrays_take(&h->arrays, n, sizeof *copy->operand);
    copy->scale_bytes = byte_scales ? calloc(s, 1) : NULL;
    copy->scales = blocks && !byte_scales ? calloc(s, sizeof *copy->scales) : NULL;
    if (!copy->codes || !copy->operand || (byte_scales && !copy->scale_bytes) ||
        (blocks && !byte_scales && !copy->scales))
        return head_no_memory(h, "operand copies");
    return 0;
}

void copy_quantise_row(const struct head *h, enum mxv_route route, const float *x,
                       struct operand_copy *copy, size_t row)
{
    size_t d = h->a->d, block = copy->blocks ? d / copy->blocks : d;
    uint32_t *codes = copy->codes + row * d;
    enum mxv_element element = copy_element(h->a, route);
    for (size_t b = 0; b < copy->blocks; b++) {
        size_t at = row * copy->blocks + b;
        if (route == MXV_ROUTE_CORE)
            quantise_core(x + b * block, codes + b * block, &copy->scales[at]);
        else if (block == 16)
            quantise_nvfp4(h, x + b * block, codes + b * block, &copy->scale_bytes[at]);
        else
            quantise_mx(h, x + b * block, element, codes + b * block, &copy->scale_bytes[at]);
    }
    if (copy->blocks == 0)
        h->rows->codes(element, x, d, codes);
}

int block_copy(struct head *h, struct operand_side *side, enum mxv_route route, bool side_b)
{
    struct operand_copy *copy = &side->copy[route];
    size_t size = route == MXV_ROUTE_F16                                 ? 0
                  : route == MXV_ROUTE_LOW && h->a->low == MXV_LOW_NVFP4 ? 16
                                                                         : 32;
    bool bytes = route == MXV_ROUTE_HIGH || route == MXV_ROUTE_LOW;
    if (copy_allocate(h, copy, side->rows, size ? h->a->d / size : 0, bytes))
        return -1;
    bool whole = copy_quantise(h, route, side->x, copy);
#pragma omp parallel for if (!h->sink)
    for (size_t row = 0; row < side->rows; row++) {
        if (!whole)
            copy_quantise_row(h, route, side->x + row * h->a->d, copy, row);
        copy_decode_row(h, route, copy, row, side_b);
    }
    return 0;
}

static int dma_copies(struct head *h)
{
    const struct mxv_attention *a = h->a;
    bool zones = a->plan == MXV_PLAN_ZONES;
    const struct {
        enum mxv_route route;
        bool used;
    } want[] = {{MXV_ROUTE_HIGH, a->mode != MXV_MODE_LOW},
                {MXV_ROUTE_LOW, a->mode != MXV_MODE_HIGH},
                {MXV_ROUTE_CORE, zones}};
    for (size_t i = 0; i < 3; i++)
        if (want[i].used && (block_copy(h, &h->q, want[i].route, false) ||
                             block_copy(h, &h->k, want[i].route, true)))
            return -1;
    return 0;
}

void load_rows(const struct head *h, float *x, const float *source, size_t rows)
{
    const size_t d = h->a->d;
#pragma omp parallel for if (!h->sink)
    for (size_t r = 0; r < rows; r++)
        h->rows->round(operand_type(h->a), source + r * d, d, x + r * d);
}

const float *key_source(const struct head *h)
{
    const struct mxv_attention *a = h->a;
    size_t tk = a->cu_k[a->sequences];
    return a->k + (h->kv_index * tk + fault_first_key(a, h->sequence)) * a->d;
}

static void prescale_queries(const struct head *h)
{
    bool twice = mxv_fault_on(h->a, MXV_FAULT_SCALE_TWICE);
#pragma omp parallel for if (!h->sink)
    for (size_t i = 0; i < h->lq * h->a->d; i++) {
        h->q.x[i] = h->q.x[i] * h->c;
        if (twice)
            h->q.x[i] = fabsf(h->q.x[i] * h->c);
    }
}

int operands_prepare(struct head *h)
{
    const struct mxv_attention *a = h->a;
    const size_t d = a->d, tq = a->cu_q[a->sequences];
    h->q.rows = h->lq;
    h->k.rows = h->lk;
    h->q.x = arrays_take(&h->arrays, h->lq * d, sizeof *h->q.x);
    h->k.x = arrays_take(&h->arrays, h->lk * d, sizeof *h->k.x);
    if (!h->q.x || !h->k.x)
        return head_no_memory(h, "operands");
    load_rows(h, h->q.x, a->q + (h->index * tq + a->cu_q[h->sequence]) * d, h->lq);
    load_rows(h, h->k.x, key_source(h), h->lk);
    if (a->smooth_k && h->lk)
        smooth_keys(h->k.x, h->lk, d, operand_type(a));
    if (a->kernel == MXV_KERNEL_DMA_RELEASED)
        return released_operands(h);
    if (a->kernel == MXV_KERNEL_TILEMIX)
        return tilemix_operands(h);
    if (a->kernel == MXV_KERNEL_FLASH)
        return block_copy(h, &h->q, MXV_ROUTE_F16, false) ||
               block_copy(h, &h->k, MXV_ROUTE_F16, true);
    prescale_queries(h);
    return second_level(h) || dma_copies(h);
}
