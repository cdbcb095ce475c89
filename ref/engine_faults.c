// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Faults of score tiles, softmax state and PV product (faults.def; what is hooked:
// engine_faults.h). Where a report leaves the wrong value open (uninitialised or stale memory), the
// engine takes a fixed one, named at the function, so that a fault is reproducible.
// tests/gate/test_faults_all.c fails if one does nothing or shows at another stage.
#include "engine_faults.h"
#include <math.h>

static bool on(const struct head *h, enum mxv_fault f)
{
    return mxv_fault_on(h->a, f);
}

static size_t tile_before(bool stale, size_t j)
{
    return stale && j > 0 ? j - 1 : j;
}

bool fault_skips_tile(const struct head *h, size_t j)
{
    return on(h, MXV_FAULT_TAIL_DROPPED) && (j + 1) * h->a->tile_n > h->lk;
}

enum mxv_route fault_route(const struct head *h, size_t i, size_t j)
{
    const struct mxv_attention *a = h->a;
    size_t index = h->index, ratio = a->heads_q / a->heads_kv;
    if (on(h, MXV_FAULT_ROUTE_QUERY_HEAD))
        index = index % a->heads_kv * ratio;
    enum mxv_route route = mxv_attention_route(a, h->sequence, index, i, j);
    bool tail = on(h, MXV_FAULT_ROUTE_GROUP_TAIL) && (j / a->group + 1) * a->group > h->key_tiles;
    if (tail && route != MXV_ROUTE_SKIP)
        return a->one_is_int8 ? MXV_ROUTE_F16 : MXV_ROUTE_INT8;
    return route;
}

size_t fault_key_tile(const struct head *h, size_t j)
{
    return tile_before(on(h, MXV_FAULT_STALE_TILE), j);
}

size_t fault_scale_tile(const struct head *h, size_t j)
{
    return tile_before(on(h, MXV_FAULT_NEIGHBOUR_SCALE), fault_key_tile(h, j));
}

size_t fault_value_tile(const struct head *h, size_t j)
{
    return tile_before(on(h, MXV_FAULT_STALE_VALUE), j);
}

uint32_t fault_masked_word(const struct head *h, uint32_t word)
{
    return on(h, MXV_FAULT_FINITE_SENTINEL) ? word_of(MXV_SOFTMAX_SMALL_SENTINEL) : word;
}

uint32_t fault_padding_word(const struct head *h, uint32_t word)
{
    const struct mxv_attention *a = h->a;
    bool bounded = a->mask == MXV_MASK_CAUSAL || a->right >= 0 || a->left >= 0;
    if (on(h, MXV_FAULT_TAIL_UNMASKED) && !bounded)
        return word_of(0);
    return fault_masked_word(h, word);
}

size_t fault_visible_end(const struct head *h, size_t end)
{
    bool leak = on(h, MXV_FAULT_CAUSAL_LEAK) && h->a->mask == MXV_MASK_CAUSAL;
    return leak && end < h->lk ? end + 1 : end;
}

// 13 fraction bits kept, the rest cut.
float fault_promoted(const struct head *h, float acc)
{
    bool kept = on(h, MXV_FAULT_MISSING_PROMOTION) && isfinite(acc);
    return kept ? value_of(word_of(acc) & ~0x3FFu) : acc;
}

void fault_keep_fragment(const struct head *h, size_t tiles_done, const uint32_t *s, size_t rows,
                         size_t cols, struct fragment *f)
{
    size_t bn = h->a->tile_n;
    f->kept = on(h, MXV_FAULT_STALE_SCORE) && tiles_done > 0 && cols >= FRAGMENT;
    for (size_t r = 0; f->kept && r < rows; r++)
        memcpy(f->words + r * FRAGMENT, s + r * bn + cols - FRAGMENT, sizeof(uint32_t) * FRAGMENT);
}

// Order in which the 4-bit unit of sm_120 leaves the columns of its accumulator.
static size_t permuted_column(size_t c)
{
    return (c & ~(size_t)31) | (c & 1) | (c & 24) >> 2 | (c & 6) << 2;
}

static void permute_columns(const struct head *h, size_t rows, size_t cols, uint32_t *s)
{
    size_t bn = h->a->tile_n;
    uint32_t row[256];
    for (size_t r = 0; r < rows; r++) {
        memset(s + r * bn + cols, 0, (bn - cols) * sizeof *s);
        for (size_t c = 0; c < bn; c++)
            row[c] = s[r * bn + permuted_column(c)];
        memcpy(s + r * bn, row, bn * sizeof *s);
    }
}

// Unwritten scales: the byte of a NaN.
static bool padding_is_nan(const struct head *h, enum mxv_route route)
{
    const struct mxv_mma_model *m = h->recipe.score[route];
    return on(h, MXV_FAULT_SWIZZLE_PADDING) && m->scale != MXV_MMA_NO_SCALE && h->a->d % m->k != 0;
}

void fault_scores(const struct head *h, enum mxv_route route, size_t rows, size_t cols,
                  const struct fragment *f, uint32_t *s)
{
    size_t bn = h->a->tile_n;
    bool nan = padding_is_nan(h, route);
    for (size_t r = 0; nan && r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            s[r * bn + c] = MXV_NAN_WORD;
    if (on(h, MXV_FAULT_COLUMNS_PERMUTED))
        permute_columns(h, rows, cols, s);
    for (size_t r = 0; f->kept && r < rows; r++)
        memcpy(s + r * bn + cols - FRAGMENT, f->words + r * FRAGMENT, sizeof(uint32_t) * FRAGMENT);
}

float fault_sum_alpha(const struct head *h, float old, float alpha)
{
    return on(h, MXV_FAULT_SUM_NOT_RESCALED) && old != -INFINITY ? 1 : alpha;
}

float fault_acc_alpha(const struct head *h, float alpha)
{
    return on(h, MXV_FAULT_ACC_NOT_RESCALED) ? 1 : alpha;
}

uint32_t fault_weight_code(const struct head *h, float p, uint32_t code)
{
    enum mxv_element type = h->recipe.p_type;
    struct mxv_encode truncate = {.round = MXV_RTZ};
    if (!on(h, MXV_FAULT_P_TRUNCATED) || type == MXV_F32 || p != p)
        return code;
    return (uint32_t)mxv_element_from_f32(type, word_of(p), &truncate);
}

void fault_weights_summed(const struct head *h, const uint32_t *codes, float *p)
{
    enum mxv_element type = h->recipe.p_type;
    for (size_t n = 0; on(h, MXV_FAULT_SUM_OF_ROUNDED) && n < h->a->tile_n; n++)
        p[n] = value_of(mxv_element_to_f32(type, codes[n]));
}

float fault_total(const struct head *h, float total)
{
    return on(h, MXV_FAULT_SUM_OVER_LANES) ? total + total : total;
}

size_t fault_value_slot(const struct head *h, size_t slot)
{
    return on(h, MXV_FAULT_V_ROWS_PERMUTED) ? permuted_column(slot) : slot;
}

void fault_accumulator(const struct head *h, uint32_t *o, size_t n)
{
    for (size_t i = 0; on(h, MXV_FAULT_ACC_F16) && i < n; i++)
        o[i] = word_of(from_f16(to_f16(value_of(o[i]))));
}

float fault_value_scale(const struct head *h, float scale)
{
    return on(h, MXV_FAULT_V_SCALE_DROPPED) ? 1 : scale;
}
