// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Faults of a call's options, of addressing and of quantisation (faults.def; what is hooked:
// engine_faults.h). Every fault is what its source reports, at the place of this engine where the
// same value is made. tests/gate/test_faults_all.c fails if one does nothing or shows elsewhere.
#include "engine_faults.h"
#include <math.h>
#include <stdlib.h>

static void fault_window(struct mxv_attention *a)
{
    if (mxv_fault_on(a, MXV_FAULT_WINDOW_EXCLUSIVE) && a->left > 0)
        a->left -= 1;
    if (mxv_fault_on(a, MXV_FAULT_WINDOW_TILE) && a->left >= 0)
        a->left += (long)a->tile_n;
}

// Faults of other kernels have no meaning on this one.
static uint64_t faults_of(enum mxv_kernel kernel)
{
    uint64_t bits = 0;
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
        bits |= (uint64_t)(mxv_fault_get((enum mxv_fault)f)->kernels >> kernel & 1) << f;
    return bits;
}

void fault_call(struct mxv_attention *a)
{
    if (a->faults == 0)
        return;
    a->faults &= faults_of(a->kernel);
    fault_window(a);
    if (mxv_fault_on(a, MXV_FAULT_MASK_TOP_LEFT))
        a->align = MXV_ALIGN_TOP_LEFT;
    if (mxv_fault_on(a, MXV_FAULT_SOFTMAX_SCALE_TWICE))
        a->scale *= a->scale;
    if (mxv_fault_on(a, MXV_FAULT_STALE_MAXIMUM) && a->vt == MXV_E4M3) {
        a->tau = 4;
        a->p_offset = 8;
    }
    if (mxv_fault_on(a, MXV_FAULT_LSE_BASE) && a->lse != MXV_LSE_NONE)
        a->lse = a->lse == MXV_LSE_E ? MXV_LSE_TWO : MXV_LSE_E;
    if (mxv_fault_on(a, MXV_FAULT_ROUTE_BIT_ORDER))
        a->msb_first = !a->msb_first;
}

unsigned fault_softmax(const struct mxv_attention *a)
{
    const struct {
        enum mxv_fault fault;
        unsigned bit;
    } map[] = {
        {MXV_FAULT_INF_MINUS_INF, MXV_SOFTMAX_NO_GUARD},
        {MXV_FAULT_FINITE_SENTINEL, MXV_SOFTMAX_SENTINEL},
        {MXV_FAULT_RESCALE_INVERTED, MXV_SOFTMAX_KEEP_INVERTED},
        {MXV_FAULT_LSE_NO_MAX, MXV_SOFTMAX_LSE_NO_MAX},
        {MXV_FAULT_LSE_OFFSET, MXV_SOFTMAX_LSE_OFFSET},
    };
    unsigned bits = 0;
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        bits |= mxv_fault_on(a, map[i].fault) ? map[i].bit : 0;
    return bits;
}

void fault_models(struct head *h)
{
    const struct mxv_mma_model *pv = h->recipe.pv;
    enum { FP8_BITS = 13 };
    if (!mxv_fault_on(h->a, MXV_FAULT_ACC_13_BITS) || pv->rule != MXV_MMA_T ||
        pv->result != MXV_MMA_F32)
        return;
    h->fault_pv = *pv;
    h->fault_pv.keep_bits = FP8_BITS;
    h->recipe.pv = &h->fault_pv;
}

size_t fault_kv_head(const struct mxv_attention *a, size_t index)
{
    return mxv_fault_on(a, MXV_FAULT_GQA_MODULO) ? index % a->heads_kv
                                                 : index / (a->heads_q / a->heads_kv);
}

size_t fault_first_key(const struct mxv_attention *a, size_t sequence)
{
    size_t first = a->cu_k[sequence];
    if (mxv_fault_on(a, MXV_FAULT_BATCH_STRIDE))
        return a->cu_k[0];
    return mxv_fault_on(a, MXV_FAULT_CU_SEQLENS) && first > 0 ? first - 1 : first;
}

void fault_block_rules(const struct mxv_attention *a, enum mxv_element e, struct block_rules *r)
{
    bool fp4 = e == MXV_E2M1;
    enum mxv_scale_rule rule = r->rule;
    if (fp4 && mxv_fault_on(a, MXV_FAULT_E2M1_RULE))
        r->encode.round = MXV_RDMA;
    if (fp4 && mxv_fault_on(a, MXV_FAULT_MXFP4_EMAX3))
        r->scale.emax_offset = 1;
    if (fp4 && mxv_fault_on(a, MXV_FAULT_TIES_AWAY))
        r->encode.round = MXV_RNA;
    if (e == MXV_E4M3 && mxv_fault_on(a, MXV_FAULT_NO_SATURATION))
        r->encode.overflow = MXV_OVERFLOW_IEEE;
    if (rule == MXV_SCALE_RCEIL && mxv_fault_on(a, MXV_FAULT_SCALE_FLOOR_FOR_CEIL))
        r->rule = MXV_SCALE_FLOOR;
    if (rule == MXV_SCALE_FLOOR && mxv_fault_on(a, MXV_FAULT_SCALE_CEIL_FOR_FLOOR))
        r->rule = MXV_SCALE_CEIL;
}

uint8_t fault_scale_byte(const struct mxv_attention *a, float amax, uint8_t byte)
{
    int exponent;
    bool power = amax > 0 && isfinite(amax) && frexpf(amax, &exponent) == 0.5f;
    return mxv_fault_on(a, MXV_FAULT_SCALE_OFF_BY_ONE) && power && byte < 254 ? (uint8_t)(byte + 1)
                                                                              : byte;
}

uint32_t fault_code(const struct mxv_attention *a, enum mxv_element e, struct mxv_value v,
                    uint32_t code)
{
    const struct mxv_encode truncate = {.round = MXV_RTZ};
    uint32_t ones = (1u << mxv_element_get(e)->frac_bits) - 1;
    if (!mxv_fault_on(a, MXV_FAULT_MISSING_CARRY))
        return code;
    uint32_t below = (uint32_t)mxv_element_encode(e, v, &truncate);
    return (below & ones) == ones ? below : code;
}

float fault_int8_range(const struct mxv_attention *a)
{
    return mxv_fault_on(a, MXV_FAULT_INT8_WRAP) ? 127.6f : 127;
}

void fault_int8_encode(const struct mxv_attention *a, struct mxv_encode *encode)
{
    if (mxv_fault_on(a, MXV_FAULT_INT8_TRUNCATION))
        encode->round = MXV_RTZ;
    if (mxv_fault_on(a, MXV_FAULT_INT8_HALF_UP))
        encode->round = MXV_RHU;
}

int fault_int8_code(const struct mxv_attention *a, float y, int code)
{
    if (!mxv_fault_on(a, MXV_FAULT_INT8_WRAP) || !(fabsf(y) < 1e4f))
        return code;
    return (int8_t)(uint8_t)(int)nearbyintf(y);
}

size_t fault_base_blocks(const struct head *h, size_t blocks, size_t rows)
{
    return mxv_fault_on(h->a, MXV_FAULT_REBASE_FIRST_BLOCK) ? 1 : blocks * rows;
}

static void swap_nibbles(uint32_t *codes, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        uint32_t even = codes[i];
        codes[i] = codes[i + 1];
        codes[i + 1] = even;
    }
}

static void zero_blocks_to_nan(const struct head *h, struct operand_copy *copy, uint32_t magnitude,
                               uint8_t nan)
{
    size_t d = h->a->d, block = d / copy->blocks;
    for (size_t b = 0; b < copy->rows * copy->blocks; b++) {
        uint32_t any = 0;
        for (size_t i = 0; i < block; i++)
            any |= copy->codes[b * block + i] & magnitude;
        if (any == 0 && copy->scale_bytes[b] == 0)
            copy->scale_bytes[b] = nan;
    }
}

// Byte offset of row r, scale column c in the 128x4 layout of a matrix of `cols` scale columns.
static size_t swizzled_offset(size_t r, size_t c, size_t cols)
{
    size_t tiles = (cols + 3) / 4;
    return ((r / 128) * tiles + c / 4) * 512 + (r % 32) * 16 + (r % 128 / 32) * 4 + c % 4;
}

static int read_scales_swizzled(struct head *h, struct operand_copy *copy)
{
    size_t n = copy->rows * copy->blocks;
    uint8_t *linear = malloc(n + 1);
    if (!linear)
        return head_no_memory(h, "block scales");
    memcpy(linear, copy->scale_bytes, n);
    for (size_t r = 0; r < copy->rows; r++)
        for (size_t c = 0; c < copy->blocks; c++) {
            size_t at = swizzled_offset(r, c, copy->blocks);
            copy->scale_bytes[r * copy->blocks + c] = at < n ? linear[at] : 0;
        }
    free(linear);
    return 0;
}

static void fault_copy(struct head *h, enum mxv_route route, struct operand_copy *copy, bool side_b)
{
    const struct mxv_attention *a = h->a;
    bool fp4 = copy_element(a, route) == MXV_E2M1;
    bool nvfp4 = fp4 && a->low == MXV_LOW_NVFP4;
    if (!copy->present || !copy->scale_bytes)
        return;
    if (fp4 && mxv_fault_on(a, MXV_FAULT_NIBBLE_ORDER))
        swap_nibbles(copy->codes, copy->rows * a->d);
    if (mxv_fault_on(a, MXV_FAULT_ZERO_BLOCK_NAN))
        zero_blocks_to_nan(h, copy, fp4 ? 7 : 0x7F, nvfp4 ? 0x7F : 0xFF);
    if (mxv_fault_on(a, MXV_FAULT_SCALE_LAYOUT) && read_scales_swizzled(h, copy))
        return;
    for (size_t row = 0; row < copy->rows; row++)
        copy_decode_row(h, route, copy, row, side_b);
}

int fault_copies(struct head *h)
{
    const struct mxv_attention *a = h->a;
    if (!mxv_fault_on(a, MXV_FAULT_NIBBLE_ORDER) && !mxv_fault_on(a, MXV_FAULT_ZERO_BLOCK_NAN) &&
        !mxv_fault_on(a, MXV_FAULT_SCALE_LAYOUT))
        return 0;
    for (unsigned route = 0; route < MXV_ROUTE_COUNT; route++) {
        fault_copy(h, (enum mxv_route)route, &h->q.copy[route], false);
        fault_copy(h, (enum mxv_route)route, &h->k.copy[route], true);
    }
    return h->status;
}
