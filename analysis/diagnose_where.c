// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Places of the diagnosis (hypotheses.def, kind WHERE). A place that leaves a damaged cell out, or
// no compared cell out, scores 0; else half the part of its cells that is damaged plus half the
// part of all cells that it leaves out. tests/gate/test_diagnose.c fails if a place is misread.
#include "diagnose_internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double place_score(const struct sheets *s, place_test *in, const void *ctx)
{
    size_t inside = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        for (size_t n = 0; n < t->rows * t->cols; n++) {
            if (t->state[n] == CELL_IGNORED)
                continue;
            bool here = in(s, t, n / t->cols, n % t->cols, ctx);
            if (!here && t->state[n] == CELL_DAMAGED)
                return 0;
            inside += here;
        }
    }
    if (inside == 0 || inside == s->compared)
        return 0;
    return 0.5 * (double)s->damaged / (double)inside +
           0.5 * (double)(s->compared - inside) / (double)s->compared;
}

// First damaged cell in order of heads and rows.
static const struct sheet *first_damage(const struct sheets *s, size_t *row, size_t *col)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t n = 0; n < s->at[i].rows * s->at[i].cols; n++)
            if (s->at[i].state[n] == CELL_DAMAGED) {
                *row = n / s->at[i].cols;
                *col = n % s->at[i].cols;
                return &s->at[i];
            }
    return NULL;
}

static bool in_sequence(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                        const void *ctx)
{
    (void)s, (void)row, (void)col;
    return t->h->sequence == *(const size_t *)ctx;
}

void hypothesis_ONE_SEQUENCE(const struct sheets *s, struct finding *f)
{
    size_t row, col, sequence = first_damage(s, &row, &col)->h->sequence;
    f->score = place_score(s, in_sequence, &sequence);
    snprintf(f->text, sizeof f->text, "sit only in sequence %zu", sequence);
}

static bool in_head(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                    const void *ctx)
{
    (void)s, (void)row, (void)col;
    return t->h->head == *(const size_t *)ctx;
}

void hypothesis_ONE_HEAD(const struct sheets *s, struct finding *f)
{
    size_t row, col, head = first_damage(s, &row, &col)->h->head;
    f->score = place_score(s, in_head, &head);
    snprintf(f->text, sizeof f->text, "sit only in query head %zu", head);
}

static bool in_later_heads(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                           const void *ctx)
{
    (void)s, (void)row, (void)col;
    return t->h->head >= *(const size_t *)ctx;
}

void hypothesis_LATER_HEADS(const struct sheets *s, struct finding *f)
{
    size_t head = SIZE_MAX;
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].damaged && s->at[i].h->head < head)
            head = s->at[i].h->head;
    f->score = place_score(s, in_later_heads, &head);
    snprintf(f->text, sizeof f->text, "sit only in the query heads from %zu on", head);
}

static bool in_ragged_keys(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                           const void *ctx)
{
    (void)s, (void)row, (void)ctx;
    return t->cols % t->tile_cols != 0 && col / t->tile_cols == (t->cols - 1) / t->tile_cols;
}

void hypothesis_RAGGED_KEYS(const struct sheets *s, struct finding *f)
{
    f->score = s->scores ? place_score(s, in_ragged_keys, NULL) : 0;
    snprintf(f->text, sizeof f->text, "sit only in the last key tile, which is not full");
}

static bool in_ragged_queries(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                              const void *ctx)
{
    (void)s, (void)col, (void)ctx;
    return t->rows % t->tile_rows != 0 && row / t->tile_rows == (t->rows - 1) / t->tile_rows;
}

void hypothesis_RAGGED_QUERIES(const struct sheets *s, struct finding *f)
{
    f->score = place_score(s, in_ragged_queries, NULL);
    snprintf(f->text, sizeof f->text, "sit only in the last query tile, which is not full");
}

static unsigned route_at(const struct sheet *t, size_t row, size_t col)
{
    size_t across = (t->h->lk + t->tile_cols - 1) / t->tile_cols;
    return t->h->routes[row / t->tile_rows * across + col / t->tile_cols];
}

static bool in_route(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                     const void *ctx)
{
    (void)s;
    return route_at(t, row, col) == *(const unsigned *)ctx;
}

void hypothesis_ONE_ROUTE(const struct sheets *s, struct finding *f)
{
    size_t row, col;
    if (!s->scores)
        return;
    const struct sheet *t = first_damage(s, &row, &col);
    unsigned route = route_at(t, row, col);
    f->score = place_score(s, in_route, &route);
    snprintf(f->text, sizeof f->text, "sit only in tiles of route %s",
             mxv_choice_name(MXV_CHOICE_ROUTE, route));
}

// The end of the keys that a row sees lies in or beside the tile.
static bool in_diagonal(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                        const void *ctx)
{
    (void)ctx;
    size_t tile = col / t->tile_cols * t->tile_cols, first, end;
    size_t top = row / t->tile_rows * t->tile_rows, last = top + t->tile_rows - 1;
    mxv_attention_visible(s->a, t->rows, t->cols, top, &first, &end);
    size_t low = end;
    mxv_attention_visible(s->a, t->rows, t->cols, last < t->rows ? last : t->rows - 1, &first,
                          &end);
    return low < tile + t->tile_cols && end > tile;
}

void hypothesis_DIAGONAL_TILES(const struct sheets *s, struct finding *f)
{
    bool bounded = s->a->mask == MXV_MASK_CAUSAL || s->a->right >= 0;
    f->score = s->scores && bounded ? place_score(s, in_diagonal, NULL) : 0;
    snprintf(f->text, sizeof f->text, "sit only in tiles that the diagonal cuts");
}

// Least and greatest tile with damage, by columns or by rows.
static void tile_span(const struct sheets *s, bool down, size_t *least, size_t *most)
{
    *least = SIZE_MAX;
    *most = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        for (size_t n = 0; n < t->rows * t->cols; n++) {
            if (t->state[n] != CELL_DAMAGED)
                continue;
            size_t tile = down ? n / t->cols / t->tile_rows : n % t->cols / t->tile_cols;
            *least = tile < *least ? tile : *least;
            *most = tile > *most ? tile : *most;
        }
    }
}

static bool from_key_tile(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                          const void *ctx)
{
    (void)s, (void)row;
    return col / t->tile_cols >= *(const size_t *)ctx;
}

void hypothesis_KEY_TILES_FROM(const struct sheets *s, struct finding *f)
{
    size_t least, most;
    tile_span(s, false, &least, &most);
    f->score = s->scores ? place_score(s, from_key_tile, &least) : 0;
    snprintf(f->text, sizeof f->text, "sit only in key tiles from %zu on", least);
}

static bool up_to_key_tile(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                           const void *ctx)
{
    (void)s, (void)row;
    return col / t->tile_cols <= *(const size_t *)ctx;
}

void hypothesis_FIRST_KEY_TILES(const struct sheets *s, struct finding *f)
{
    size_t least, most;
    tile_span(s, false, &least, &most);
    f->score = s->scores ? place_score(s, up_to_key_tile, &most) : 0;
    if (most)
        snprintf(f->text, sizeof f->text, "sit only in the key tiles 0 to %zu", most);
    else
        snprintf(f->text, sizeof f->text, "sit only in the first key tile");
}

static bool from_query_tile(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                            const void *ctx)
{
    (void)s, (void)col;
    return row / t->tile_rows >= *(const size_t *)ctx;
}

void hypothesis_QUERY_TILES_FROM(const struct sheets *s, struct finding *f)
{
    size_t least, most;
    tile_span(s, true, &least, &most);
    f->score = place_score(s, from_query_tile, &least);
    snprintf(f->text, sizeof f->text, "sit only in query tiles from %zu on", least);
}

static bool masked_position(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                            const void *ctx)
{
    size_t first, end;
    (void)ctx;
    mxv_attention_visible(s->a, t->rows, t->cols, row, &first, &end);
    return col < first || col >= end;
}

void hypothesis_MASKED_POSITIONS(const struct sheets *s, struct finding *f)
{
    f->score = s->scores ? place_score(s, masked_position, NULL) : 0;
    snprintf(f->text, sizeof f->text, "sit only at keys that their row must not see");
}

struct comb {
    size_t period;
    bool rows;
    bool tooth[128];
};

static bool in_comb(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                    const void *ctx)
{
    const struct comb *c = ctx;
    (void)s, (void)t;
    return c->tooth[(c->rows ? row : col) % c->period];
}

// Marks the residues with damage; returns how many, and in *periods how many periods have any.
static size_t comb_make(const struct sheets *s, struct comb *c, size_t *periods)
{
    size_t teeth = 0, low = SIZE_MAX, high = 0;
    memset(c->tooth, 0, sizeof c->tooth);
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        for (size_t n = 0; n < t->rows * t->cols; n++) {
            if (t->state[n] != CELL_DAMAGED)
                continue;
            size_t x = c->rows ? n / t->cols : n % t->cols;
            c->tooth[x % c->period] = true;
            low = x / c->period < low ? x / c->period : low;
            high = x / c->period > high ? x / c->period : high;
        }
    }
    for (size_t i = 0; i < c->period; i++)
        teeth += c->tooth[i];
    *periods = high - low + 1;
    return teeth;
}

// At most half of the residues, in two periods at least; the smallest period counts.
static void periodic(const struct sheets *s, bool by_rows, struct finding *f)
{
    static const size_t periods[] = {16, 32, 64, 128};
    for (size_t i = 0; i < 4; i++) {
        struct comb c = {.period = periods[i], .rows = by_rows};
        size_t spans, teeth = comb_make(s, &c, &spans), first = 0;
        if (teeth > c.period / 2 || spans < 2)
            continue;
        double score = place_score(s, in_comb, &c);
        if (score <= f->score)
            continue;
        while (!c.tooth[first])
            first++;
        f->score = score;
        snprintf(f->text, sizeof f->text,
                 "sit only in %s of a pattern that repeats every %zu (%zu of %zu, the first is "
                 "%zu)",
                 by_rows     ? "rows"
                 : s->scores ? "keys"
                             : "channels",
                 c.period, teeth, c.period, first);
    }
}

void hypothesis_COLUMNS_PERIODIC(const struct sheets *s, struct finding *f)
{
    periodic(s, false, f);
}

void hypothesis_ROWS_PERIODIC(const struct sheets *s, struct finding *f)
{
    periodic(s, true, f);
}

struct box {
    size_t top, bottom, left, right; // inclusive
};

static bool in_box(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                   const void *ctx)
{
    const struct box *b = ctx;
    (void)s, (void)t;
    return row >= b->top && row <= b->bottom && col >= b->left && col <= b->right;
}

void hypothesis_BOX(const struct sheets *s, struct finding *f)
{
    struct box b = {SIZE_MAX, 0, SIZE_MAX, 0};
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        for (size_t n = 0; n < t->rows * t->cols; n++) {
            size_t row = n / t->cols, col = n % t->cols;
            if (t->state[n] != CELL_DAMAGED)
                continue;
            b.top = row < b.top ? row : b.top;
            b.bottom = row > b.bottom ? row : b.bottom;
            b.left = col < b.left ? col : b.left;
            b.right = col > b.right ? col : b.right;
        }
    }
    f->score = place_score(s, in_box, &b);
    if (f->score < 0.55) // it leaves next to nothing out, or next to nothing in it is damaged
        f->score = 0;
    snprintf(f->text, sizeof f->text, "sit only in rows %zu to %zu, %s %zu to %zu", b.top, b.bottom,
             s->scores ? "keys" : "channels", b.left, b.right);
}

void hypothesis_EVERYWHERE(const struct sheets *s, struct finding *f)
{
    f->score = 1;
    snprintf(f->text, sizeof f->text, "%s",
             s->damaged == s->compared ? "are everywhere" : "are spread over all parts");
}
