// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules of the diagnosis (hypotheses.def, kind WHAT) that look at one damaged cell at a time:
// masks, zeros, signs, values of other cells, small differences. A rule's score is the part of the
// damaged cells that it explains, 0 below nine in ten. Rules over groups of cells are in
// diagnose_groups.c. tests/gate/test_diagnose.c fails if damage is misread.
#include "diagnose_internal.h"
#include <math.h>
#include <stdio.h>

static const double least_explained = 0.9;

// Whether the rule makes the got value of cell (row, col).
typedef bool cell_rule(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                       const void *ctx);

static size_t explained(const struct sheets *s, cell_rule *rule, const void *ctx)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        for (size_t c = 0; c < t->rows * t->cols; c++)
            n += t->state[c] == CELL_DAMAGED && rule(s, t, c / t->cols, c % t->cols, ctx);
    }
    return n;
}

static double part(const struct sheets *s, size_t n)
{
    double p = (double)n / (double)s->damaged;
    return p >= least_explained ? p : 0;
}

static bool is_masked(float x)
{
    return x == -INFINITY || x == -5.0e6f || x == -5.0e4f;
}

static bool sees(const struct sheets *s, const struct sheet *t, size_t row, size_t col)
{
    size_t first, end;
    mxv_attention_visible(s->a, t->rows, t->cols, row, &first, &end);
    return col >= first && col < end;
}

static bool leaks(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                  const void *ctx)
{
    size_t i = row * t->cols + col;
    (void)ctx;
    return !sees(s, t, row, col) && !is_masked(t->got[i]) && t->got[i] == t->got[i];
}

static bool after_diagonal(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                           const void *ctx)
{
    size_t first, end;
    mxv_attention_visible(s->a, t->rows, t->cols, row, &first, &end);
    return leaks(s, t, row, col, ctx) && col >= end;
}

void hypothesis_FUTURE_LEAK(const struct sheets *s, struct finding *f)
{
    size_t all = s->scores ? explained(s, leaks, NULL) : 0;
    f->score = part(s, all);
    if (f->score > 0)
        snprintf(f->text, sizeof f->text,
                 "%zu scores of keys that the row must not see take part, %zu of them of later "
                 "keys",
                 all, explained(s, after_diagonal, NULL));
}

static bool other_mask(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                       const void *ctx)
{
    (void)ctx;
    return !sees(s, t, row, col) && is_masked(t->got[row * t->cols + col]);
}

void hypothesis_MASK_VALUE(const struct sheets *s, struct finding *f)
{
    f->score = s->scores ? part(s, explained(s, other_mask, NULL)) : 0;
    snprintf(f->text, sizeof f->text, "masked scores hold another value");
}

static bool hidden(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                   const void *ctx)
{
    size_t i = row * t->cols + col;
    (void)ctx;
    return sees(s, t, row, col) && is_masked(t->got[i]) && !is_masked(t->expected[i]);
}

void hypothesis_KEYS_HIDDEN(const struct sheets *s, struct finding *f)
{
    f->score = s->scores ? part(s, explained(s, hidden, NULL)) : 0;
    snprintf(f->text, sizeof f->text, "keys that the row sees are masked out");
}

// A NaN in the sheet of scores is a tile without scores unless the tile has numbers too.
static bool tile_is_blank(const struct sheet *t, const float *x, size_t row, size_t col)
{
    size_t top = row / t->tile_rows * t->tile_rows, left = col / t->tile_cols * t->tile_cols;
    for (size_t r = top; r < top + t->tile_rows && r < t->rows; r++)
        for (size_t c = left; c < left + t->tile_cols && c < t->cols; c++)
            if (x[r * t->cols + c] == x[r * t->cols + c])
                return false;
    return true;
}

static bool tile_missing(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                         const void *ctx)
{
    size_t i = row * t->cols + col;
    (void)s, (void)ctx;
    bool one = t->expected[i] != t->expected[i] || t->got[i] != t->got[i];
    return one && (tile_is_blank(t, t->got, row, col) || tile_is_blank(t, t->expected, row, col));
}

void hypothesis_TILES_MISSING(const struct sheets *s, struct finding *f)
{
    f->score = s->scores ? part(s, explained(s, tile_missing, NULL)) : 0;
    snprintf(f->text, sizeof f->text, "score tiles are missing, or there are too many");
}

static bool not_number(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                       const void *ctx)
{
    size_t i = row * t->cols + col;
    (void)s, (void)ctx;
    return t->got[i] != t->got[i];
}

void hypothesis_NOT_NUMBERS(const struct sheets *s, struct finding *f)
{
    f->score = part(s, explained(s, not_number, NULL));
    snprintf(f->text, sizeof f->text, "the wrong ones are NaN");
}

static bool is_zero(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                    const void *ctx)
{
    size_t i = row * t->cols + col;
    (void)s, (void)ctx;
    return t->got[i] == 0;
}

void hypothesis_ZEROS(const struct sheets *s, struct finding *f)
{
    f->score = part(s, explained(s, is_zero, NULL));
    snprintf(f->text, sizeof f->text, "the wrong ones are 0");
}

static bool is_negated(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                       const void *ctx)
{
    size_t i = row * t->cols + col;
    (void)s, (void)ctx;
    return t->got[i] == -t->expected[i];
}

void hypothesis_SIGN_FLIP(const struct sheets *s, struct finding *f)
{
    f->score = part(s, explained(s, is_negated, NULL));
    snprintf(f->text, sizeof f->text, "each is the right one with the other sign");
}

struct shift {
    long rows, cols;
};

// The value of another cell; masked and skipped cells beside it prove nothing.
static bool shifted(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                    const void *ctx)
{
    const struct shift *by = ctx;
    long r = (long)row + by->rows, c = (long)col + by->cols;
    (void)s;
    if (r < 0 || c < 0 || r >= (long)t->rows || c >= (long)t->cols)
        return false;
    float there = t->expected[(size_t)r * t->cols + (size_t)c];
    return there == there && same_word(there, t->got[row * t->cols + col]);
}

// The same of a tile: cells whose source is masked or outside cannot tell and count with the rest.
static double shift_score(const struct sheets *s, const struct shift *by)
{
    size_t told = 0, right = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sheet *t = &s->at[i];
        for (size_t n = 0; n < t->rows * t->cols; n++) {
            long r = (long)(n / t->cols) + by->rows, c = (long)(n % t->cols) + by->cols;
            if (t->state[n] != CELL_DAMAGED || r < 0 || c < 0 || r >= (long)t->rows ||
                c >= (long)t->cols)
                continue;
            float there = t->expected[(size_t)r * t->cols + (size_t)c];
            if (there != there || is_masked(there))
                continue;
            told++;
            right += shifted(s, t, n / t->cols, n % t->cols, by);
        }
    }
    double p = told ? (double)right / (double)told : 0;
    return told * 2 >= s->damaged && p >= least_explained ? p : 0;
}

void hypothesis_STALE_TILE(const struct sheets *s, struct finding *f)
{
    long across = (long)s->a->tile_n, down = (long)s->a->tile_m;
    const struct {
        struct shift by;
        const char *text;
    } tries[] = {{{0, -across}, "each is the one of the key tile before"},
                 {{0, across}, "each is the one of the key tile after"},
                 {{-down, 0}, "each is the one of the query tile before"}};
    for (size_t i = 0; i < 3; i++) {
        double score = !s->scores && tries[i].by.cols ? 0 : shift_score(s, &tries[i].by);
        if (score > f->score) {
            f->score = score;
            snprintf(f->text, sizeof f->text, "%s", tries[i].text);
        }
    }
}

void hypothesis_NEIGHBOUR(const struct sheets *s, struct finding *f)
{
    static const struct shift tries[] = {{0, -1}, {0, 1}, {-1, 0}, {1, 0}};
    for (size_t i = 0; i < 4; i++) {
        double score = shift_score(s, &tries[i]);
        if (score > f->score) {
            f->score = score;
            snprintf(f->text, sizeof f->text, "each is the one of the %s %s",
                     tries[i].rows ? "row"
                     : s->scores   ? "key"
                                   : "channel",
                     tries[i].rows + tries[i].cols < 0 ? "before" : "after");
        }
    }
}

static bool mirrored(const struct sheets *s, const struct sheet *t, size_t row, size_t col,
                     const void *ctx)
{
    size_t n = t->tile_rows < t->tile_cols ? t->tile_rows : t->tile_cols;
    size_t r = row / n * n + col % n, c = col / n * n + row % n;
    (void)s, (void)ctx;
    return r < t->rows && c < t->cols &&
           same_word(t->got[row * t->cols + col], t->expected[r * t->cols + c]);
}

void hypothesis_TRANSPOSED(const struct sheets *s, struct finding *f)
{
    f->score = part(s, explained(s, mirrored, NULL));
    snprintf(f->text, sizeof f->text, "each is the one mirrored at the diagonal of its block");
}

// Largest |difference| over the row's largest |expected|; Inf where a side is no number.
static double relative(const struct sheet *t, size_t row)
{
    double most = 0, size = 0;
    for (size_t c = 0; c < t->cols; c++) {
        size_t i = row * t->cols + c;
        if (t->state[i] == CELL_DAMAGED)
            most = fmax(most, isfinite(t->expected[i]) && isfinite(t->got[i])
                                  ? fabs((double)t->got[i] - t->expected[i])
                                  : INFINITY);
        if (isfinite(t->expected[i]) && !is_masked(t->expected[i]))
            size = fmax(size, fabs((double)t->expected[i]));
    }
    return most == 0 ? 0 : size == 0 ? INFINITY : most / size;
}

static double worst_relative(const struct sheets *s)
{
    double worst = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t r = 0; r < s->at[i].rows; r++)
            worst = fmax(worst, relative(&s->at[i], r));
    return worst;
}

bool differences_are_small(const struct sheets *s)
{
    return worst_relative(s) <= 0x1p-5;
}

void hypothesis_SMALL(const struct sheets *s, struct finding *f)
{
    f->score = differences_are_small(s) ? 1 : 0;
    snprintf(f->text, sizeof f->text, "they are small, at most %.2g of the largest of their row",
             worst_relative(s));
}

void hypothesis_NO_RULE(const struct sheets *s, struct finding *f)
{
    f->score = 1;
    snprintf(f->text, sizeof f->text,
             "no simple rule explains them (up to %.2g times the largest of their row)",
             worst_relative(s));
}
