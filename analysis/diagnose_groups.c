// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules of the diagnosis over groups of cells: one gain for all, for a row, for a column, for a
// tile; the right values in another order. A gain holds for a group when all its damaged cells have
// the ratio of the largest one, to within `slack`; cells below 1/64 of it prove nothing, a group of
// one cell neither. tests/gate/test_diagnose.c fails if damage is misread.
#include "diagnose_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A block of cells: rows top..bottom-1, columns left..right-1.
struct block {
    size_t top, bottom, left, right;
};

struct gains {
    size_t explained, told; // damaged cells of groups with a gain; of all groups that can tell
    double least, most;     // gain
    size_t groups;
};

// Gain of the damaged cell with the largest expected value; 0 when there is none.
static double gain_of(const struct sheet *t, const struct block *b, double *size)
{
    double gain = 0;
    *size = 0;
    for (size_t r = b->top; r < b->bottom; r++)
        for (size_t c = b->left; c < b->right; c++) {
            size_t i = r * t->cols + c;
            double e = fabs((double)t->expected[i]);
            if (t->state[i] == CELL_DAMAGED && isfinite(e) && isfinite(t->got[i]) && e > *size) {
                *size = e;
                gain = (double)t->got[i] / t->expected[i];
            }
        }
    return gain;
}

static void group_add(const struct sheets *s, const struct sheet *t, const struct block *b,
                      struct gains *g)
{
    double slack = s->scores ? 0x1p-11 : 0x1p-7, size, gain = gain_of(t, b, &size);
    size_t told = 0, held = 0;
    for (size_t r = b->top; r < b->bottom; r++)
        for (size_t c = b->left; c < b->right; c++) {
            size_t i = r * t->cols + c;
            double e = t->expected[i];
            if (t->state[i] != CELL_DAMAGED || fabs(e) < size / 64)
                continue;
            told++;
            held += fabs(t->got[i] - gain * e) <= slack * fabs(gain * e);
        }
    if (told < 2)
        return;
    g->told += told;
    if (fabs(gain - 1) <= 4 * slack || held * 10 < told * 9)
        return;
    g->explained += held;
    g->least = g->groups ? fmin(g->least, gain) : gain;
    g->most = g->groups ? fmax(g->most, gain) : gain;
    g->groups++;
}

static struct gains gains_of(const struct sheets *s, size_t rows, size_t cols)
{
    struct gains g = {0};
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        size_t down = rows ? rows : t->rows + 1, across = cols ? cols : t->cols + 1;
        for (size_t top = 0; top < t->rows; top += down)
            for (size_t left = 0; left < t->cols; left += across) {
                struct block b = {top, top + down, left, left + across};
                b.bottom = b.bottom < t->rows ? b.bottom : t->rows;
                b.right = b.right < t->cols ? b.right : t->cols;
                group_add(s, t, &b, &g);
            }
    }
    return g;
}

static void set_score(struct finding *f, const struct gains *g)
{
    double p = g->told ? (double)g->explained / (double)g->told : 0;
    f->score = p >= 0.9 ? p : 0;
}

void hypothesis_GAIN_ALL(const struct sheets *s, struct finding *f)
{
    struct gains g = gains_of(s, 0, 0);
    set_score(f, &g);
    if (g.most - g.least > 0x1p-7 * fabs(g.most))
        f->score = 0; // other heads, other gains
    snprintf(f->text, sizeof f->text, "each is %.5g times the right one", g.most);
}

void hypothesis_GAIN_ROW(const struct sheets *s, struct finding *f)
{
    struct gains g = gains_of(s, 1, 0);
    set_score(f, &g);
    snprintf(f->text, sizeof f->text, "each row has one gain (%.5g to %.5g in %zu rows)", g.least,
             g.most, g.groups);
}

void hypothesis_GAIN_COLUMN(const struct sheets *s, struct finding *f)
{
    struct gains g = gains_of(s, 0, 1);
    set_score(f, &g);
    snprintf(f->text, sizeof f->text, "each %s has one gain (%.5g to %.5g in %zu of them)",
             s->scores ? "key" : "channel", g.least, g.most, g.groups);
}

void hypothesis_GAIN_TILE(const struct sheets *s, struct finding *f)
{
    struct gains g =
        s->scores ? gains_of(s, s->a->tile_m, s->a->tile_n) : gains_of(s, s->a->tile_m, 0);
    set_score(f, &g);
    snprintf(f->text, sizeof f->text, "each tile has one gain (%.5g to %.5g in %zu tiles)", g.least,
             g.most, g.groups);
}

// gain(r, c) * gain(r0, c0) = gain(r, c0) * gain(r0, c) around the largest damaged cell of a head.
static void product_add(const struct sheets *s, const struct sheet *t, struct gains *g)
{
    double slack = s->scores ? 0x1p-9 : 0x1p-5, size;
    struct block all = {0, t->rows, 0, t->cols};
    gain_of(t, &all, &size);
    size_t at = 0;
    while (at < t->rows * t->cols && fabs((double)t->expected[at]) != size)
        at++;
    if (size == 0 || at == t->rows * t->cols)
        return;
    const float *e0 = t->expected + at / t->cols * t->cols, *g0 = t->got + at / t->cols * t->cols;
    for (size_t n = 0; n < t->rows * t->cols; n++) {
        size_t corner = n / t->cols * t->cols + at % t->cols, c = n % t->cols;
        double left = (double)t->got[n] * t->got[at] * t->expected[corner] * e0[c];
        double right = (double)t->expected[n] * t->expected[at] * t->got[corner] * g0[c];
        if (t->state[n] != CELL_DAMAGED || n / t->cols == at / t->cols || c == at % t->cols ||
            !isfinite(left) || !isfinite(right) || fabs((double)t->expected[n]) < size / 64)
            continue;
        g->told++;
        g->explained += fabs(left - right) <= slack * fabs(right);
    }
}

void hypothesis_GAIN_PRODUCT(const struct sheets *s, struct finding *f)
{
    struct gains g = {0};
    for (size_t i = 0; i < s->count; i++)
        product_add(s, &s->at[i], &g);
    set_score(f, &g);
    if (g.told < 8 || f->score == 0 || differences_are_small(s))
        f->score = 0;
    snprintf(f->text, sizeof f->text, "each is right times a gain of its row and one of its %s",
             s->scores ? "key" : "channel");
}

static int by_bits(const void *a, const void *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

// Damaged cells of a row of a tile whose value stands elsewhere in that row.
static size_t permuted_cells(const struct sheet *t, size_t row, size_t left, size_t right)
{
    float expected[256];
    size_t n = right - left, held = 0, at = row * t->cols + left;
    memcpy(expected, t->expected + at, n * sizeof *expected);
    qsort(expected, n, sizeof *expected, by_bits);
    for (size_t c = 0; c < n; c++)
        held += t->state[at + c] == CELL_DAMAGED && isfinite(t->got[at + c]) &&
                t->got[at + c] != 0 &&
                bsearch(&t->got[at + c], expected, n, sizeof *expected, by_bits) != NULL;
    return held;
}

void hypothesis_PERMUTED(const struct sheets *s, struct finding *f)
{
    size_t held = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        for (size_t r = 0; r < t->rows; r++)
            for (size_t left = 0; left < t->cols; left += t->tile_cols) {
                size_t right = left + t->tile_cols < t->cols ? left + t->tile_cols : t->cols;
                held += permuted_cells(t, r, left, right);
            }
    }
    // where a part is masked or padding, the source of some values is not seen
    double p = (double)held / (double)s->damaged;
    f->score = p >= 0.5 ? 0.5 + p / 2 : 0;
    snprintf(f->text, sizeof f->text,
             "%s values stand elsewhere in their row of the tile: another order of the columns",
             p >= 0.9 ? "the" : "most");
}
