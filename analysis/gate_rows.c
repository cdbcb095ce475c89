// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Mutants that are another attention: other keys, other weights, another normalisation. Each is
// computed in binary64 from the emulation's scores of one row, and its distance from the unmutated
// attention is added to the implementation's words, so that the implementation's own errors stay.
// A mutant that a row cannot show (no later key, no window, one tile) is not applicable there.
#include "verify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mutation {
    const struct bound_walk *w;
    const struct mxv_bound_row *r;
    size_t row, tile_n;
    size_t first, end; // visible keys of the heaviest tile
    double log_sum;    // log2 of the row's sum of 2^score
    double *p;         // [keys] scratch
    double *out;       // [d]
};

static void find_heaviest(struct mutation *m)
{
    double best = -1;
    for (size_t n = m->r->first; n < m->r->end;) {
        size_t end = (n / m->tile_n + 1) * m->tile_n, first = n;
        double mass = 0;
        end = end < m->r->end ? end : m->r->end;
        for (; n < end; n++)
            mass += m->w->own_weights[n];
        if (mass > best) {
            best = mass;
            m->first = first;
            m->end = end;
        }
    }
}

static void find_log_sum(struct mutation *m)
{
    size_t best = m->r->first;
    for (size_t n = m->r->first; n < m->r->end; n++)
        if (m->w->own_weights[n] > m->w->own_weights[best])
            best = n;
    m->log_sum = m->w->scores[best] - log2(m->w->own_weights[best]);
}

// Attention with weights m->p over the values `shift` rows before, normalised by their sum, or by
// `sum` where that is given.
static bool attend(struct mutation *m, double sum)
{
    double own = 0;
    for (size_t c = 0; c < m->r->d; c++)
        m->out[c] = 0;
    for (size_t n = m->r->first; n < m->r->end; n++) {
        own += m->p[n];
        for (size_t c = 0; m->p[n] != 0 && c < m->r->d; c++)
            m->out[c] += m->p[n] * m->r->v[n * m->r->d + c];
    }
    for (size_t c = 0; c < m->r->d; c++)
        m->out[c] /= sum > 0 ? sum : own;
    return own > 0 && isfinite(own);
}

static bool drop(struct mutation *m, size_t first, size_t end)
{
    if (first < m->r->first)
        first = m->r->first;
    if (first >= end || (first == m->r->first && end >= m->r->end))
        return false;
    memcpy(m->p, m->w->own_weights, m->r->keys * sizeof *m->p);
    for (size_t n = first; n < end && n < m->r->end; n++)
        m->p[n] = 0;
    return attend(m, 0);
}

static bool tile_dropped(struct mutation *m)
{
    return drop(m, m->first, m->end);
}

static bool tail_dropped(struct mutation *m)
{
    return m->r->keys % m->tile_n && drop(m, m->r->keys - m->r->keys % m->tile_n, m->r->end);
}

static bool last_key(struct mutation *m)
{
    return drop(m, m->r->end - 1, m->r->end);
}

static bool window_tile(struct mutation *m)
{
    return m->w->v->data.a.left >= 0 && drop(m, m->r->first, m->r->first + m->tile_n);
}

static double dot(const struct mutation *m, size_t n, size_t first, size_t end)
{
    const struct problem *p = m->w->operands;
    unsigned i = problem_route(p, m->row, n);
    const double *q = p->exact.q[i] + m->row * m->r->d, *k = p->exact.k[i] + n * m->r->d;
    double sum = 0;
    for (size_t c = first; c < end; c++)
        sum += q[c] * k[c];
    return sum * p->log2_unit;
}

static bool future_key(struct mutation *m)
{
    size_t n = m->r->end, d = m->r->d;
    if (n >= m->r->keys)
        return false;
    double extra = exp2(dot(m, n, 0, d) - m->log_sum);
    if (!isfinite(extra))
        extra = 0x1p+60;
    for (size_t c = 0; c < d; c++)
        m->out[c] = (m->w->own_out[c] + extra * m->r->v[n * d + c]) / (1 + extra);
    return true;
}

static bool keys_shifted(struct mutation *m)
{
    memcpy(m->p, m->w->own_weights, m->r->keys * sizeof *m->p);
    for (size_t n = m->first; n + 1 < m->end; n++)
        m->p[n] = m->w->own_weights[n + 1];
    return m->first + 1 < m->end && attend(m, 0);
}

static bool tile_stale(struct mutation *m)
{
    if (m->first < m->r->first + m->tile_n)
        return false;
    memcpy(m->p, m->w->own_weights, m->r->keys * sizeof *m->p);
    for (size_t n = m->first; n < m->end; n++)
        m->p[n] = 0;
    for (size_t n = m->first; n < m->end; n++)
        m->p[n - m->tile_n] *= 2;
    return attend(m, 0);
}

static bool sum_other(struct mutation *m)
{
    const float *sums = m->w->h->state.sums;
    size_t other = m->row ? m->row - 1 : m->row + 1;
    if (other >= m->w->h->lq || !(sums[other] > 0) || sums[other] == sums[m->row])
        return false;
    for (size_t c = 0; c < m->r->d; c++)
        m->out[c] = m->w->own_out[c] * ((double)sums[m->row] / (double)sums[other]);
    return true;
}

static bool sum_missing(struct mutation *m)
{
    for (size_t c = 0; c < m->r->d; c++)
        m->out[c] = m->w->own_out[c] * (double)m->w->h->state.sums[m->row];
    return true;
}

static bool rescale_missing(struct mutation *m)
{
    size_t tiles = (m->r->keys + m->tile_n - 1) / m->tile_n;
    const float *maxima = &m->w->h->state.maxima[m->row * tiles];
    bool descending = m->w->v->contract.descending, differs = false;
    double last = -INFINITY;
    for (size_t i = 0; i < tiles; i++) {
        size_t j = descending ? tiles - 1 - i : i;
        last = m->r->routes[j] == MXV_ROUTE_SKIP ? last : (double)maxima[j];
    }
    memcpy(m->p, m->w->own_weights, m->r->keys * sizeof *m->p);
    for (size_t n = m->r->first; n < m->r->end; n++) {
        double behind = (last - (double)maxima[n / m->tile_n]) * m->w->operands->log2_unit;
        if (m->p[n] == 0 || !(behind > 0))
            continue;
        m->p[n] *= exp2(fmin(behind, 200));
        differs = true;
    }
    return differs && attend(m, 1);
}

static double scale_of(const struct mutation *m, enum mxv_route route, size_t at)
{
    const struct mxv_attention *a = &m->w->v->data.a;
    uint32_t code = m->w->h->state.key_scales[route][at];
    if (route == MXV_ROUTE_CORE || route == MXV_ROUTE_INT8)
        return mxv_code_value(MXV_F32, code);
    bool nvfp4 = route == MXV_ROUTE_LOW && a->low == MXV_LOW_NVFP4;
    return mxv_code_value(nvfp4 ? MXV_E4M3 : MXV_E8M0, code);
}

static double score_with_neighbours_scale(const struct mutation *m, enum mxv_route route, size_t n)
{
    size_t blocks = m->w->h->state.key_blocks[route], d = m->r->d;
    if (blocks == 1) { // one scale a row: that of the row one tile on, or of the next row
        bool token = m->w->v->data.a.kv_cache || m->w->v->data.a.k_gran == MXV_GRAN_TOKEN;
        size_t tile = n / m->tile_n;
        size_t other = token ? (n ^ 1) : (tile ^ 1) * m->tile_n + n % m->tile_n;
        double own = scale_of(m, route, n);
        return other >= m->r->keys || own == 0 ? m->w->scores[n]
                                               : m->w->scores[n] * scale_of(m, route, other) / own;
    }
    double sum = m->w->scores[n];
    for (size_t b = 0; b < blocks; b++) {
        double own = scale_of(m, route, n * blocks + b);
        size_t other = (b ^ 1) < blocks ? (b ^ 1) : b, width = d / blocks;
        double ratio = own == 0 ? 1 : scale_of(m, route, n * blocks + other) / own;
        if (ratio != 1)
            sum += (ratio - 1) * dot(m, n, b * width, (b + 1) * width);
    }
    return sum;
}

static bool scales_swapped(struct mutation *m)
{
    bool scaled = false;
    double top = -INFINITY;
    for (size_t n = m->r->first; n < m->r->end; n++) {
        enum mxv_route route = (enum mxv_route)m->r->routes[n / m->tile_n];
        bool has = route < MXV_ROUTE_SKIP && m->w->h->state.key_scales[route];
        m->p[n] = has ? score_with_neighbours_scale(m, route, n) : m->w->scores[n];
        scaled = scaled || has;
        top = fmax(top, m->p[n]);
    }
    for (size_t n = m->r->first; n < m->r->end; n++)
        m->p[n] = exp2(m->p[n] - top);
    return scaled && isfinite(top) && attend(m, 0);
}

// Adds mutant - own attention to the implementation's words of the row and tries the gates on them.
static void try_row(struct mutation *m, size_t place, enum mxv_mutant mutant, uint32_t *words)
{
    struct head_result *h = m->w->h;
    size_t d = m->r->d, at = place * d;
    enum mxv_element out = m->w->v->data.a.out;
    const uint32_t *own = &h->subject[m->row * d];
    for (size_t c = 0; c < d; c++) {
        double x = mxv_code_value(out, own[c]), delta = m->out[c] - m->w->own_out[c];
        words[c] = delta == 0 || !isfinite(delta) ? own[c] : mxv_gate_word(out, x + delta);
    }
    const struct mxv_gate_output o = {
        .format = out,
        .rows = 1,
        .d = d,
        .words = own,
        .judged = &h->judged[place],
        .centre = h->centre + at,
        .noise = h->noise + at,
        .rest = h->rest + at,
        .model_centre = h->model_centre + at,
        .model_noise = h->model_noise + at,
        .model = h->model + at,
    };
    mxv_gate_try(&o, mutant, words, &h->gate);
}

void gate_row(struct bound_walk *w, size_t place, const struct mxv_bound_row *row)
{
    static const struct {
        enum mxv_mutant mutant;
        bool (*make)(struct mutation *);
    } rows[] = {
        {MXV_MUTANT_SCALES_SWAPPED, scales_swapped},
        {MXV_MUTANT_KEYS_SHIFTED, keys_shifted},
        {MXV_MUTANT_TILE_STALE, tile_stale},
        {MXV_MUTANT_TILE_DROPPED, tile_dropped},
        {MXV_MUTANT_TAIL_DROPPED, tail_dropped},
        {MXV_MUTANT_FUTURE_KEY, future_key},
        {MXV_MUTANT_LAST_KEY, last_key},
        {MXV_MUTANT_WINDOW_TILE, window_tile},
        {MXV_MUTANT_SUM_OTHER, sum_other},
        {MXV_MUTANT_SUM_MISSING, sum_missing},
        {MXV_MUTANT_RESCALE_MISSING, rescale_missing},
    };
    double out[256], *p = malloc((row->keys + 1) * sizeof *p);
    uint32_t words[256];
    struct mutation m = {.w = w,
                         .r = row,
                         .row = w->h->rows[place],
                         .tile_n = w->v->contract.tile_n,
                         .p = p,
                         .out = out};
    if (!p) {
        w->out_of_memory = true;
        return;
    }
    find_heaviest(&m);
    find_log_sum(&m);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].make(&m))
            try_row(&m, place, rows[i].mutant, words);
    free(p);
}
