// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Families that shape the score matrix: which key a query prefers, how the row maximum moves, how
// large and how equal logits are. Keys are sign vectors, so that <k_n, k_n> = d and <k_n, k_m> is
// of the order of sqrt(d): a query g * k_n has its largest score at key n.
// tests/unit/test_generators.c fails if this is wrong: it forms the scores and asks where they
// peak.
#include "generators_internal.h"

// K along the head's direction at about 128; queries along, against or across it. At the default
// scale a logit is about A^2 sqrt(d): beyond 9e4 with A = 128.
double generate_huge_logits(const struct place *p)
{
    static const double size[] = {32, 64, 128, 128};
    struct words r = draw_row(p);
    double x = draw_normal(p);
    if (p->role == MXV_ROLE_V)
        return x;
    if (p->role == MXV_ROLE_K)
        return 128 * (draw_direction(p) + x / 32);
    double a = size[r.w[0] & 3];
    if (mxv_random_below(r.w[1], 4) == 0)
        return a * x;
    return signed_by(r.w[2], a * (draw_direction(p) + x / 32));
}

// The key a query points at: one of the tile edges and of the diagonal that it sees.
static size_t edge_key(const struct place *p)
{
    const struct mxv_attention *a = p->s->call;
    size_t bn = a->tile_n, first, end;
    mxv_attention_visible(a, p->lq, p->lk, p->token, &first, &end);
    size_t edges[] = {0,   1,   bn - 1, bn,  bn + 1, 2 * bn - 1, 2 * bn, 126,
                      127, 128, 129,    255, 256,    257,        first,  end - 1};
    uint32_t seen = 0;
    if (first >= end)
        return p->token % p->lk;
    if (p->s->at >= 0)
        return (size_t)p->s->at < first  ? first
               : (size_t)p->s->at >= end ? end - 1
                                         : (size_t)p->s->at;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        if (edges[i] >= first && edges[i] < end)
            edges[seen++] = edges[i];
    return edges[mxv_random_below(draw_row(p).w[0], seen)];
}

double generate_one_hot(const struct place *p)
{
    if (p->role == MXV_ROLE_V || (p->role == MXV_ROLE_Q && p->lk == 0))
        return draw_normal(p);
    if (p->role == MXV_ROLE_K)
        return draw_key_sign(p, p->token);
    return 4 * draw_key_sign(p, edge_key(p));
}

// The first key after the visible ones, else the last one before them, else the last key of all.
static size_t hidden_key(const struct place *p)
{
    size_t first, end;
    mxv_attention_visible(p->s->call, p->lq, p->lk, p->token, &first, &end);
    if (end < p->lk)
        return end;
    return first > 0 ? first - 1 : p->lk - 1;
}

double generate_masked_edges(const struct place *p)
{
    if (p->role == MXV_ROLE_V || (p->role == MXV_ROLE_Q && p->lk == 0))
        return draw_normal(p);
    if (p->role == MXV_ROLE_K)
        return draw_key_sign(p, p->token);
    return 16 * draw_key_sign(p, hidden_key(p));
}

// Channels 2i and 2i + 1 of Q are opposite, those of K nearly equal; V of tokens 2i and 2i + 1
// likewise opposite up to a small rest.
double generate_cancelling(const struct place *p)
{
    struct place even = *p;
    double rest = draw_normal(p) / 16;
    if (p->role == MXV_ROLE_V)
        even.token &= ~(size_t)1;
    else
        even.channel &= ~(size_t)1;
    even.role = p->role;
    double x = 16 * draw_normal(&even);
    if (p->role == MXV_ROLE_K)
        return p->channel & 1 ? x + rest : x;
    size_t odd = p->role == MXV_ROLE_V ? p->token & 1 : p->channel & 1;
    return odd ? rest - x : x;
}

double generate_equal(const struct place *p)
{
    struct place first = *p;
    if (p->role == MXV_ROLE_K)
        first.token = 0;
    return draw_normal(&first);
}

// Key tile j, counted in visiting order, stands at 8 * (j + u_j) log2 units with u_j in
// [-1/2, 1/2): the maximum rises by 0 to 16, so on both sides of a rescale threshold of 8.
double generate_rising_max(const struct place *p)
{
    const struct mxv_attention *a = p->s->call;
    double noise = draw_normal(p) / 16;
    if (p->role == MXV_ROLE_V)
        return draw_normal(p);
    if (p->role == MXV_ROLE_Q)
        return draw_direction(p) + noise;
    size_t tile = p->token / a->tile_n, tiles = (p->lk + a->tile_n - 1) / a->tile_n;
    if (a->order == MXV_ORDER_DESC)
        tile = tiles - 1 - tile;
    double u = (double)draw_tile(p, tile).w[0] * 0x1p-32 - 0.5;
    double logit = 8 * ((double)tile + u) / 1.4426950408889634;
    return draw_direction(p) * (logit / ((double)a->d * a->scale)) + noise;
}
