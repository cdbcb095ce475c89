// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Counting of options, routes and shape events. A field counts where it has an effect.
// tests/unit/test_coverage.c fails if this is wrong.
#include "case_internal.h"
#include <mxverify/coverage.h>
#include <string.h>

#define BIT(i) (UINT64_C(1) << (i))

void mxv_coverage_clear(struct mxv_coverage *coverage)
{
    memset(coverage, 0, sizeof *coverage);
}

static uint64_t lengths_events(const struct mxv_case *c, size_t lq, size_t lk)
{
    const struct mxv_case_tile t = c->tile;
    uint64_t e = 0;
    e |= lq == 1 ? BIT(MXV_EVENT_ONE_QUERY) : 0;
    e |= lk == 1 ? BIT(MXV_EVENT_ONE_KEY) : 0;
    e |= lq == 0 ? BIT(MXV_EVENT_NO_QUERY) : 0;
    e |= lq > 0 && lk == 0 ? BIT(MXV_EVENT_NO_KEY) : 0;
    e |= lq < lk ? BIT(MXV_EVENT_MORE_KEYS) : 0;
    e |= lq > lk ? BIT(MXV_EVENT_MORE_QUERIES) : 0;
    e |= lq % t.m ? BIT(MXV_EVENT_RAGGED_Q) : 0;
    e |= lk % t.n ? BIT(MXV_EVENT_RAGGED_K) : 0;
    e |= lq && lk && lq % t.m == 0 && lk % t.n == 0 ? BIT(MXV_EVENT_FULL_TILES) : 0;
    e |= lq > 2 * t.m ? BIT(MXV_EVENT_MANY_Q_TILES) : 0;
    e |= lk > 2 * t.n ? BIT(MXV_EVENT_MANY_K_TILES) : 0;
    return e;
}

static bool has_empty_row(const struct mxv_case *c, size_t lq, size_t lk)
{
    struct mxv_attention a;
    size_t first, end;
    case_bind(c, &a);
    for (size_t row = 0; row < lq; row++) {
        mxv_attention_visible(&a, lq, lk, row, &first, &end);
        if (first >= end)
            return true;
    }
    return false;
}

static uint64_t shape_events(const struct mxv_case *c)
{
    size_t n = c->seqs.count ? c->seqs.count : 1;
    uint64_t e = 0;
    if (c->input[0])
        return BIT(MXV_EVENT_REAL_DATA); // the shape is in the files
    for (size_t i = 0; i < n; i++) {
        size_t lq = c->seqs.count ? c->seqs.at[i].lq : c->lq;
        size_t lk = c->seqs.count ? c->seqs.at[i].lk : c->lk;
        e |= lengths_events(c, lq, lk);
        e |= has_empty_row(c, lq, lk) ? BIT(MXV_EVENT_EMPTY_ROW) : 0;
        if (i && (lq != c->seqs.at[0].lq || lk != c->seqs.at[0].lk))
            e |= BIT(MXV_EVENT_VARLEN);
    }
    e |= c->batch > 1 ? BIT(MXV_EVENT_BATCH) : 0;
    e |= c->heads_q > c->heads_kv ? BIT(MXV_EVENT_GROUPED) : 0;
    e |= c->heads_kv > 1 ? BIT(MXV_EVENT_MANY_HEADS) : 0;
    return e;
}

static uint64_t option_events(const struct mxv_case *c)
{
    bool band = c->kernel == MXV_KERNEL_TILEMIX
                    ? c->mix == MXV_MIX_BAND
                    : c->kernel != MXV_KERNEL_FLASH && c->mode == MXV_MODE_MIXED &&
                          c->plan == MXV_PLAN_DIAG;
    uint64_t e = 0;
    e |= c->left >= 0 ? BIT(MXV_EVENT_LEFT) : 0;
    e |= c->right >= 0 ? BIT(MXV_EVENT_RIGHT) : 0;
    e |= c->tau > 0 ? BIT(MXV_EVENT_TAU) : 0;
    e |= c->p_offset != MXV_CASE_AUTO ? BIT(MXV_EVENT_POFF) : 0;
    e |= c->scale != MXV_CASE_AUTO ? BIT(MXV_EVENT_SCALE) : 0;
    if (band) {
        e |= c->diag_tokens ? BIT(MXV_EVENT_BAND_TOKENS) : 0;
        e |= c->diag == 0 ? BIT(MXV_EVENT_NO_BAND) : 0;
        e |= c->diag > 1 ? BIT(MXV_EVENT_WIDE_BAND) : 0;
        e |= c->sink == 0 ? BIT(MXV_EVENT_NO_SINK) : 0;
        e |= c->sink > 1 ? BIT(MXV_EVENT_MANY_SINKS) : 0;
    }
    if (c->kernel == MXV_KERNEL_TILEMIX) {
        e |= c->group > 1 ? BIT(MXV_EVENT_GROUPED_TILES) : 0;
        e |= c->word_bits == 64 ? BIT(MXV_EVENT_WIDE_WORD) : 0;
    }
    return e;
}

// A route's format only where that route exists, a rule where there is an E8M0 scale.
static bool has_effect(const struct mxv_case *c, enum mxv_case_field field)
{
    bool mxfp = c->kernel == MXV_KERNEL_DMA || c->kernel == MXV_KERNEL_DMA_RELEASED;
    switch (field) {
    case MXV_FIELD_HIGH:
        return c->mode != MXV_MODE_LOW;
    case MXV_FIELD_LOW:
        return c->mode != MXV_MODE_HIGH;
    case MXV_FIELD_RULE:
        return c->mode != MXV_MODE_LOW || c->low != MXV_LOW_NVFP4;
    case MXV_FIELD_REBASE:
        return c->arch == MXV_ARCH_SM_90 && c->mode != MXV_MODE_HIGH && c->low == MXV_LOW_MXFP4;
    case MXV_FIELD_FOLD:
        return c->mix != MXV_MIX_ALL_F16;
    case MXV_FIELD_PLAN:
        return !mxfp || c->mode == MXV_MODE_MIXED;
    case MXV_FIELD_GENERATOR:
        return !c->input[0];
    case MXV_FIELD_NONFINITE:
        return c->input[0];
    default:
        return true;
    }
}

static void count_fields(struct mxv_coverage *coverage, const struct mxv_case *c)
{
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        const struct mxv_case_field_info *info = mxv_case_field_get((enum mxv_case_field)f);
        bool choice = info->kind == MXV_KIND_CHOICE || info->kind == MXV_KIND_FLAG;
        if (choice && (info->kernels >> c->kernel & 1) && has_effect(c, (enum mxv_case_field)f))
            coverage->value[c->kernel][f][case_load_choice(c, (enum mxv_case_field)f)]++;
    }
}

void mxv_coverage_add(struct mxv_coverage *coverage, const struct mxv_case *c, unsigned routes)
{
    unsigned k = c->kernel;
    uint64_t events = shape_events(c) | option_events(c);
    coverage->cases[k]++;
    count_fields(coverage, c);
    coverage->tile_rows[k][c->tile.m / 16]++;
    coverage->tile_keys[k][c->tile.n / 32]++;
    coverage->head_dim[k][c->d]++;
    for (unsigned i = 0; i < MXV_ROUTE_COUNT; i++)
        coverage->route[k][i] += routes >> i & 1;
    for (unsigned i = 0; i < MXV_EVENT_COUNT; i++)
        coverage->event[k][i] += events >> i & 1;
    for (unsigned i = 0; i < MXV_FAULT_COUNT; i++)
        coverage->fault[k][i] += c->faults >> i & 1;
}

void mxv_coverage_merge(struct mxv_coverage *sum, const struct mxv_coverage *other)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)other;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

unsigned mxv_coverage_routes(const struct mxv_attention *a)
{
    unsigned routes = 0;
    for (size_t s = 0; s < a->sequences; s++) {
        size_t rows = mxv_attention_first_tile(a, s + 1) - mxv_attention_first_tile(a, s);
        size_t keys = (a->cu_k[s + 1] - a->cu_k[s] + a->tile_n - 1) / a->tile_n;
        for (size_t h = 0; h < a->heads_q; h++)
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < keys; j++)
                    routes |= 1u << mxv_attention_route(a, s, h, i, j);
    }
    return routes & ~(1u << MXV_ROUTE_SKIP);
}
