// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// How two runs differ, case by case (the same case line is the same case, the n-th of equal lines
// the n-th of the other log).
//
// Exact: verdicts, hashes and metrics are compared as they stand in the logs; metrics are binary64
// written with 17 digits, so that equal means equal bits. Times are wall times, hence a factor and
// a floor. Compared as metrics: every number under `metrics.` and `numbers.`, a text in place of a
// number ("nan") included; not the place of a case in its run. tests/unit/test_report_diff.c fails
// if this file is wrong.
#include "report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} changes[] = {
#define X(id, name, text) {name, text},
    MXV_CHANGES(X)
#undef X
};

const char *mxv_change_name(unsigned change)
{
    return change < MXV_CHANGE_COUNT ? changes[change].name : NULL;
}

const char *mxv_change_text(unsigned change)
{
    return change < MXV_CHANGE_COUNT ? changes[change].text : NULL;
}

struct job {
    const struct mxv_report_tolerance *tolerance;
    struct mxv_report_comparison *out;
    size_t room;
    bool no_memory;
};

static void add(struct job *job, struct mxv_report_difference difference)
{
    struct mxv_report_comparison *out = job->out;
    if (out->count == job->room) {
        size_t room = job->room ? 2 * job->room : 64;
        struct mxv_report_difference *grown = realloc(out->at, room * sizeof *grown);
        if (!grown) {
            job->no_memory = true;
            return;
        }
        out->at = grown;
        job->room = room;
    }
    out->at[out->count++] = difference;
    out->counts[difference.kind]++;
}

static bool is_bad(const struct mxv_report_case *c)
{
    return mxv_verdict_class_of(c->verdict) == MXV_VERDICT_BAD;
}

static bool is_good(const struct mxv_report_case *c)
{
    return mxv_verdict_class_of(c->verdict) == MXV_VERDICT_GOOD;
}

static void compare_verdicts(struct job *job, const struct mxv_report_case *a,
                             const struct mxv_report_case *b)
{
    struct mxv_report_difference d = {.a = a, .b = b};
    if (a->verdict == b->verdict)
        return;
    d.kind = !is_bad(a) && is_bad(b)   ? MXV_CHANGE_BROKEN
             : is_bad(a) && is_good(b) ? MXV_CHANGE_FIXED
                                       : MXV_CHANGE_VERDICT;
    add(job, d);
}

static void compare_hashes(struct job *job, const struct mxv_report_case *a,
                           const struct mxv_report_case *b)
{
    const char *hash_a = mxv_report_text(&a->values, "texts.output_hash", NULL);
    const char *hash_b = mxv_report_text(&b->values, "texts.output_hash", NULL);
    if (hash_a && hash_b && strcmp(hash_a, hash_b) != 0)
        add(job, (struct mxv_report_difference){.kind = MXV_CHANGE_HASH, .a = a, .b = b});
}

static bool is_metric(const struct mxv_report_value *value)
{
    return strncmp(value->name, "metrics.", 8) == 0 ||
           (strncmp(value->name, "numbers.", 8) == 0 && strcmp(value->name, "numbers.index") != 0);
}

// Relative change, against the larger of the two; infinite where one side is no number.
static double change_of(const struct mxv_report_value *x, const struct mxv_report_value *y)
{
    if (x->text || y->text)
        return x->text && y->text && strcmp(x->text, y->text) == 0 ? 0 : INFINITY;
    double larger = fmax(fabs(x->number), fabs(y->number));
    return larger > 0 ? fabs(x->number - y->number) / larger : 0;
}

// Members of equal records stand at equal places; where they do not, the name is looked up.
static const struct mxv_report_value *partner_of(const struct mxv_report_values *values, size_t at,
                                                 const char *name)
{
    if (at < values->count && strcmp(values->at[at].name, name) == 0)
        return &values->at[at];
    return mxv_report_find(values, name);
}

static void compare_metrics(struct job *job, const struct mxv_report_case *a,
                            const struct mxv_report_case *b)
{
    struct mxv_report_difference d = {.kind = MXV_CHANGE_METRIC, .a = a, .b = b};
    double worst = job->tolerance->metric;
    for (size_t i = 0; i < b->values.count; i++) {
        const struct mxv_report_value *y = &b->values.at[i];
        const struct mxv_report_value *x = is_metric(y) ? partner_of(&a->values, i, y->name) : NULL;
        double change = x ? change_of(x, y) : 0;
        if (!(change > job->tolerance->metric))
            continue;
        d.metrics_moved++;
        if (change > worst) {
            worst = change;
            d.metric_a = x;
            d.metric_b = y;
        }
    }
    if (d.metrics_moved > 0)
        add(job, d);
}

static void compare_times(struct job *job, const struct mxv_report_case *a,
                          const struct mxv_report_case *b)
{
    const struct mxv_report_tolerance *t = job->tolerance;
    bool slower = b->seconds > a->seconds;
    double small = slower ? a->seconds : b->seconds, large = slower ? b->seconds : a->seconds;
    job->out->seconds_a += a->seconds;
    job->out->seconds_b += b->seconds;
    if (large - small >= t->speed_floor && large > small * t->speed)
        add(job, (struct mxv_report_difference){
                     .kind = slower ? MXV_CHANGE_SLOWER : MXV_CHANGE_QUICKER, .a = a, .b = b});
}

static void compare_case(struct job *job, const struct mxv_report_case *a,
                         const struct mxv_report_case *b)
{
    if (!a) {
        add(job, (struct mxv_report_difference){.kind = MXV_CHANGE_ONLY_B, .b = b});
        if (is_bad(b))
            add(job, (struct mxv_report_difference){.kind = MXV_CHANGE_BROKEN, .b = b});
        return;
    }
    job->out->common++;
    compare_verdicts(job, a, b);
    compare_hashes(job, a, b);
    compare_metrics(job, a, b);
    compare_times(job, a, b);
}

// The cases of one log by key: the case line; for the n-th of equal lines the line with n.
struct side {
    const struct mxv_report *report;
    json_t *places; // key -> place in the report
    json_t *keys;   // of each case
};

static json_t *key_of(const char *line, json_int_t earlier)
{
    return earlier ? json_sprintf("\n%lld\n%s", (long long)earlier, line) : json_string(line);
}

static bool add_case(struct side *side, json_t *seen, size_t place)
{
    const char *line = side->report->cases[place].line;
    json_int_t earlier = json_integer_value(json_object_get(seen, line));
    json_t *key = key_of(line, earlier);
    return json_array_append_new(side->keys, key) == 0 &&
           json_object_set_new(seen, line, json_integer(earlier + 1)) == 0 &&
           json_object_set_new(side->places, json_string_value(key),
                               json_integer((json_int_t)place)) == 0;
}

static bool open_side(const struct mxv_report *report, struct side *side)
{
    json_t *seen = json_object();
    *side = (struct side){report, json_object(), json_array()};
    bool good = seen && side->places && side->keys;
    for (size_t i = 0; good && i < report->case_count; i++)
        good = add_case(side, seen, i);
    json_decref(seen);
    return good;
}

static void close_side(struct side *side)
{
    json_decref(side->places);
    json_decref(side->keys);
}

static const struct mxv_report_case *partner_case(const struct side *side, const struct side *other,
                                                  size_t place)
{
    const char *key = json_string_value(json_array_get(side->keys, place));
    const json_t *at = json_object_get(other->places, key);
    return at ? &other->report->cases[json_integer_value(at)] : NULL;
}

// By kind; stable, as the order within a kind is that of the pointers into one log.
static int by_kind(const void *x, const void *y)
{
    const struct mxv_report_difference *d = x, *e = y;
    if (d->kind != e->kind)
        return d->kind < e->kind ? -1 : 1;
    const struct mxv_report_case *p = d->b ? d->b : d->a, *q = e->b ? e->b : e->a;
    return (p > q) - (p < q);
}

enum mxv_status mxv_report_compare(const struct mxv_report *a, const struct mxv_report *b,
                                   const struct mxv_report_tolerance *tolerance,
                                   struct mxv_report_comparison *out)
{
    static const struct mxv_report_tolerance usual = {0, 1.5, 0.1};
    struct job job = {.tolerance = tolerance ? tolerance : &usual, .out = out};
    *out = (struct mxv_report_comparison){0};
    struct side side_a, side_b;
    job.no_memory = !open_side(a, &side_a);
    job.no_memory = !open_side(b, &side_b) || job.no_memory;
    for (size_t i = 0; !job.no_memory && i < b->case_count; i++)
        compare_case(&job, partner_case(&side_b, &side_a, i), &b->cases[i]);
    for (size_t i = 0; !job.no_memory && i < a->case_count; i++)
        if (!partner_case(&side_a, &side_b, i))
            add(&job, (struct mxv_report_difference){.kind = MXV_CHANGE_ONLY_A, .a = &a->cases[i]});
    close_side(&side_a);
    close_side(&side_b);
    if (job.no_memory) {
        mxv_report_comparison_free(out);
        return MXV_ERR_MEMORY;
    }
    if (out->count)
        qsort(out->at, out->count, sizeof *out->at, by_kind);
    return MXV_OK;
}

void mxv_report_comparison_free(struct mxv_report_comparison *comparison)
{
    if (comparison)
        free(comparison->at);
    if (comparison)
        *comparison = (struct mxv_report_comparison){0};
}
