// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Diagnosis of a failing case: sheets of equal and damaged cells, the best place and the best rule
// of hypotheses.def, the sentence (diagnose.h). A cell is ignored where both sides hold no number
// (tile not processed, NaN on both sides, masked on both sides). tests/gate/test_diagnose.c fails
// if damage of a known kind is read as another.
#include "diagnose_internal.h"
#include <math.h>
#include <mxverify/element.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hypothesis_kind { WHERE, WHAT };

static const struct {
    const char *name, *text;
    enum hypothesis_kind kind;
    double weight;
    void (*test)(const struct sheets *s, struct finding *f);
} rows[] = {
#define X(id, name, kind, weight, text) {name, text, kind, weight, hypothesis_##id},
#include <mxverify/hypotheses.def>
#undef X
};

const char *mxv_hypothesis_name(unsigned hypothesis)
{
    return hypothesis < MXV_HYPOTHESIS_COUNT ? rows[hypothesis].name : NULL;
}

const char *mxv_hypothesis_text(unsigned hypothesis)
{
    return hypothesis < MXV_HYPOTHESIS_COUNT ? rows[hypothesis].text : NULL;
}

bool same_word(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static bool blank(float x)
{
    return x != x || x == -INFINITY;
}

static bool processed(const struct sheet *t, size_t i)
{
    size_t across = (t->cols + t->tile_cols - 1) / t->tile_cols;
    return t->h->routes[i / t->cols / t->tile_rows * across + i % t->cols / t->tile_cols] !=
           MXV_ROUTE_SKIP;
}

static int sheet_states(struct sheets *s, struct sheet *t)
{
    size_t n = t->rows * t->cols;
    t->state = calloc(n + 1, 1);
    if (!t->state)
        return -1;
    for (size_t i = 0; i < n; i++) {
        float e = t->expected[i], g = t->got[i];
        bool same = same_word(e, g);
        bool skipped = s->scores && e != e && g == -INFINITY && !processed(t, i);
        bool ignored = skipped || (same && (e != e || (s->scores && blank(e))));
        t->state[i] = ignored ? CELL_IGNORED : same ? CELL_EQUAL : CELL_DAMAGED;
        t->compared += !ignored;
        t->damaged += !same && !ignored;
    }
    s->compared += t->compared;
    s->damaged += t->damaged;
    return 0;
}

static int sheet_of_scores(struct sheets *s, struct sheet *t, const struct mxv_diagnose_head *h)
{
    *t = (struct sheet){.h = h,
                        .rows = h->lq,
                        .cols = h->lk,
                        .tile_rows = s->a->tile_m,
                        .tile_cols = s->a->tile_n,
                        .expected = h->expected_scores,
                        .got = h->got_scores};
    return sheet_states(s, t);
}

static float decoded(enum mxv_element format, uint32_t code)
{
    uint32_t word = format == MXV_F32 ? code : mxv_element_to_f32(format, code);
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static int sheet_of_output(struct sheets *s, struct sheet *t, const struct mxv_diagnose_head *h)
{
    size_t n = h->lq * s->a->d;
    *t = (struct sheet){.h = h,
                        .rows = h->lq,
                        .cols = s->a->d,
                        .tile_rows = s->a->tile_m,
                        .tile_cols = s->a->d,
                        .owned = malloc((2 * n + 1) * sizeof(float))};
    if (!t->owned)
        return -1;
    for (size_t i = 0; i < n; i++) {
        t->owned[i] = decoded(s->a->out, h->expected_out[i]);
        t->owned[n + i] = decoded(s->a->out, h->got_out[i]);
    }
    t->expected = t->owned;
    t->got = t->owned + n;
    return sheet_states(s, t);
}

static void sheets_free(struct sheets *s)
{
    for (size_t i = 0; s->at && i < s->count; i++) {
        free(s->at[i].state);
        free(s->at[i].owned);
    }
    free(s->at);
    s->at = NULL;
}

static int sheets_make(struct sheets *s, const struct mxv_attention *a,
                       const struct mxv_diagnose_head *heads, size_t count, bool scores)
{
    *s = (struct sheets){.a = a, .scores = scores, .count = count};
    s->at = calloc(count + 1, sizeof *s->at);
    int status = s->at ? 0 : -1;
    for (size_t i = 0; i < count && status == 0; i++)
        status = scores ? sheet_of_scores(s, &s->at[i], &heads[i])
                        : sheet_of_output(s, &s->at[i], &heads[i]);
    if (status)
        sheets_free(s);
    return status;
}

// An implementation that taps no score has nothing but NaN there.
static bool scores_known(const struct mxv_diagnose_head *heads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; heads[i].got_scores && n < heads[i].lq * heads[i].lk; n++)
            if (heads[i].got_scores[n] == heads[i].got_scores[n])
                return true;
    return false;
}

static void best(const struct sheets *s, enum hypothesis_kind kind, enum mxv_hypothesis *which,
                 double *score, struct finding *found)
{
    *score = -1;
    for (unsigned i = 0; i < MXV_HYPOTHESIS_COUNT; i++) {
        struct finding f = {.score = 0};
        if (rows[i].kind != kind)
            continue;
        rows[i].test(s, &f);
        if (f.score * rows[i].weight > *score) {
            *score = f.score * rows[i].weight;
            *which = (enum mxv_hypothesis)i;
            *found = f;
        }
    }
}

static void judge(const struct sheets *s, bool known, struct mxv_diagnosis *out)
{
    struct finding where, what;
    best(s, WHERE, &out->where, &out->where_score, &where);
    best(s, WHAT, &out->what, &out->what_score, &what);
    out->compared = s->compared;
    out->damaged = s->damaged;
    const char *sheet = s->scores ? "the score errors" : "the output errors";
    snprintf(out->sentence, sizeof out->sentence, "%s%s (%zu of %zu) %s; %s%s%s",
             !s->scores && known ? "the scores are right; " : "", sheet, s->damaged, s->compared,
             where.text, what.text, rows[out->what].text[0] ? ": looks like " : "",
             rows[out->what].text);
}

// LSE: one shift or one factor for all rows, or neither.
static bool judge_lse(const struct mxv_diagnose_head *heads, size_t count,
                      struct mxv_diagnosis *out)
{
    double low = INFINITY, high = -INFINITY, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; heads[i].expected_lse && r < heads[i].lq; r++) {
            float e = decoded(MXV_F32, heads[i].expected_lse[r]);
            float g = decoded(MXV_F32, heads[i].got_lse[r]);
            bool same = same_word(e, g);
            out->compared++;
            out->damaged += !same;
            if (same || !isfinite(e) || !isfinite(g))
                continue;
            low = fmin(low, (double)g - e);
            high = fmax(high, (double)g - e);
            least = fmin(least, (double)g / e);
            most = fmax(most, (double)g / e);
        }
    if (out->damaged == 0)
        return false;
    out->sheet = MXV_SHEET_LSE;
    char rule[160] = "by no one shift or factor";
    if (most - least <= 1e-5 * fabs(most))
        snprintf(rule, sizeof rule, "by the factor %.6g: looks like the other base", most);
    else if (high - low <= 1e-4)
        snprintf(rule, sizeof rule, "by the shift %.6g: looks like an offset left in", high);
    snprintf(out->sentence, sizeof out->sentence,
             "scores and output are right; the LSE is wrong in %zu of %zu rows %s", out->damaged,
             out->compared, rule);
    return true;
}

int mxv_diagnose(const struct mxv_attention *a, const struct mxv_diagnose_head *heads, size_t count,
                 struct mxv_diagnosis *out)
{
    struct sheets s;
    bool known = scores_known(heads, count);
    memset(out, 0, sizeof *out);
    out->where = MXV_HYPOTHESIS_EVERYWHERE;
    out->what = MXV_HYPOTHESIS_NO_RULE;
    for (int scores = known; scores >= 0; scores--) {
        if (sheets_make(&s, a, heads, count, scores))
            return -1;
        bool found = s.damaged > 0;
        out->sheet = scores ? MXV_SHEET_SCORES : MXV_SHEET_OUTPUT;
        if (found)
            judge(&s, known, out);
        sheets_free(&s);
        if (found)
            return 0;
    }
    if (judge_lse(heads, count, out))
        return 0;
    out->sheet = MXV_SHEET_NONE;
    snprintf(out->sentence, sizeof out->sentence,
             "scores, output and LSE are right; only inner stages differ");
    return 0;
}
