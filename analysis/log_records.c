// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The three kinds of record of a run log: header, case, totals. docs/reports.md lists their fields;
// tests/unit/test_log.c fails if this file is wrong.
#include "log_internal.h"

#include <math.h>
#include <string.h>

enum { LOG_FORMAT = 1 }; // raised when a field changes its meaning

#ifdef MXV_GIT_DESCRIBE
#define REVISION MXV_GIT_DESCRIBE
#else
#define REVISION NULL
#endif

static void put_judging(struct mxv_json *json, const struct mxv_log_judging *j)
{
    mxv_json_open(json, "judging", '{');
    mxv_json_boolean(json, "truth", j->truth);
    if (j->truth)
        mxv_json_integer(json, "truth_scores", j->truth_scores);
    mxv_json_boolean(json, "events", j->events);
    mxv_json_boolean(json, "wide_p", j->wide_p);
    mxv_json_number(json, "psnr_peak", j->psnr_peak);
    mxv_json_close(json, '}');
}

enum mxv_status mxv_log_write_header(struct mxv_log *log, const struct mxv_log_header *header,
                                     char *message, size_t message_size)
{
    struct mxv_json *json = &log->json;
    mxv_json_open(json, NULL, '{');
    mxv_json_text(json, "record", "header");
    mxv_json_integer(json, "format", LOG_FORMAT);
    mxv_json_text(json, "program", header->program);
    mxv_json_text(json, "version", header->version);
    mxv_json_text(json, "revision", REVISION);
    mxv_json_open(json, "command", '[');
    for (int i = 0; i < header->argc; i++)
        mxv_json_text(json, NULL, header->argv[i]);
    mxv_json_close(json, ']');
    if (header->has_seed)
        mxv_json_hex(json, "seed", header->seed, 16);
    else
        mxv_json_text(json, "seed", NULL);
    mxv_json_text(json, "implementation", header->implementation);
    mxv_json_text(json, "reference", header->reference);
    mxv_json_text(json, "device", header->device);
    if (header->judging)
        put_judging(json, header->judging);
    mxv_log_put_machine(json);
    mxv_log_put_date(json);
    mxv_json_close(json, '}');
    return mxv_log_finish_record(log, true, message, message_size);
}

static void put_place(struct mxv_json *json, const struct mxv_taps_where *where)
{
    mxv_json_text(json, "kind", mxv_tap_difference_name(where->kind));
    mxv_json_text(json, "stage", mxv_choice_name(MXV_CHOICE_STAGE, where->key.stage));
    mxv_json_text(json, "route", mxv_choice_name(MXV_CHOICE_ROUTE, where->key.route));
    mxv_json_integer(json, "sequence", where->key.sequence);
    mxv_json_integer(json, "head", where->key.head);
    mxv_json_integer(json, "tile_q", where->key.tile_q);
    mxv_json_integer(json, "tile_k", where->key.tile_k);
}

// Stages with their number of taps that are not alike, those without left out.
static void put_stage_counts(struct mxv_json *json, const struct mxv_taps_where *where)
{
    mxv_json_open(json, "differing_taps", '{');
    for (unsigned i = 0; i < MXV_STAGE_COUNT; i++) {
        size_t count = where->differing[i] + where->missing[i] + where->extra[i];
        if (count > 0)
            mxv_json_integer(json, mxv_choice_name(MXV_CHOICE_STAGE, i), count);
    }
    mxv_json_close(json, '}');
}

static void put_element(struct mxv_json *json, const struct mxv_tap_element *e,
                        enum mxv_element format)
{
    const struct mxv_element_info *info = mxv_element_get(format);
    unsigned digits = (info->bits + 3u) / 4u;
    mxv_json_integer(json, "row", e->row);
    mxv_json_integer(json, "col", e->col);
    mxv_json_text(json, "format", info->name);
    mxv_json_hex(json, "word_a", e->word_a, digits);
    mxv_json_hex(json, "word_b", e->word_b, digits);
    mxv_json_number(json, "value_a", e->value_a);
    mxv_json_number(json, "value_b", e->value_b);
    if (e->ulp == MXV_ULP_DISTANCE_NAN)
        mxv_json_text(json, "ulp", "nan");
    else
        mxv_json_integer(json, "ulp", e->ulp);
    mxv_json_integer(json, "differing", e->differing);
    mxv_json_integer(json, "elements", (uint64_t)e->rows * e->cols);
}

static void put_first(struct mxv_json *json, const struct mxv_log_case *c)
{
    if (!c->first || c->first->kind == MXV_TAPS_EQUAL) {
        mxv_json_text(json, "first", NULL);
        return;
    }
    mxv_json_open(json, "first", '{');
    put_place(json, c->first);
    put_stage_counts(json, c->first);
    if (c->element)
        put_element(json, c->element, c->element_format);
    mxv_json_close(json, '}');
}

// Counts are integers; measured numbers are written twice. Metrics without meaning are left out.
static void put_metrics(struct mxv_json *json, const struct mxv_log_metrics *set)
{
    const struct mxv_metrics *m = set->metrics;
    mxv_json_open(json, set->name, '{');
    mxv_json_text(json, "format", mxv_element_get(m->format)->name);
    mxv_json_integer(json, "elements", m->elements);
    mxv_json_integer(json, "numbers", m->numbers);
    mxv_json_number(json, "peak", m->peak);
    mxv_json_integer(json, "ulp_max_at", m->ulp_max_at);
    for (unsigned i = 0; i < MXV_METRIC_COUNT; i++) {
        const char *name = mxv_metric_get(i)->name;
        double value = mxv_metric_value(m, (enum mxv_metric)i);
        bool is_count = i == MXV_METRIC_WORDS || i == MXV_METRIC_NAN || i == MXV_METRIC_INF;
        if (isnan(value))
            continue;
        if (is_count)
            mxv_json_integer(json, name, (uint64_t)value);
        else
            mxv_json_number_twice(json, name, value);
    }
    mxv_json_close(json, '}');
}

static void put_numbers(struct mxv_json *json, const struct mxv_log_number *numbers, size_t count)
{
    mxv_json_open(json, "numbers", '{');
    for (size_t i = 0; i < count; i++)
        mxv_json_number_twice(json, numbers[i].name, numbers[i].value);
    mxv_json_close(json, '}');
}

enum mxv_status mxv_log_write_case(struct mxv_log *log, const struct mxv_log_case *c, char *message,
                                   size_t message_size)
{
    struct mxv_json *json = &log->json;
    mxv_json_open(json, NULL, '{');
    mxv_json_text(json, "record", "case");
    mxv_json_text(json, "id", c->id);
    mxv_json_text(json, "case", c->line);
    mxv_json_text(json, "verdict", mxv_verdict_name(c->verdict));
    mxv_json_text(json, "reason", c->reason);
    mxv_json_number(json, "seconds", c->seconds);
    put_first(json, c);
    mxv_json_open(json, "metrics", '{');
    for (size_t i = 0; i < c->metrics_count; i++)
        put_metrics(json, &c->metrics[i]);
    mxv_json_close(json, '}');
    put_numbers(json, c->numbers, c->numbers_count);
    mxv_json_open(json, "texts", '{');
    for (size_t i = 0; i < c->texts_count; i++)
        mxv_json_text(json, c->texts[i].name, c->texts[i].value);
    mxv_json_close(json, '}');
    mxv_json_open(json, "maps", '[');
    for (size_t i = 0; i < c->maps_count; i++)
        mxv_json_text(json, NULL, c->maps[i]);
    mxv_json_close(json, ']');
    mxv_json_close(json, '}');
    return mxv_log_finish_record(log, false, message, message_size);
}

// Of one shard of several: it may lie beyond the last case.
static bool is_shard(const struct mxv_log_totals *totals)
{
    for (size_t i = 0; i < totals->numbers_count; i++)
        if (strcmp(totals->numbers[i].name, "shards") == 0)
            return totals->numbers[i].value > 1;
    return false;
}

enum mxv_status mxv_log_write_totals(struct mxv_log *log, const struct mxv_log_totals *totals,
                                     char *message, size_t message_size)
{
    struct mxv_json *json = &log->json;
    size_t cases = 0;
    int status = mxv_exit_status(totals->counts, totals->stopped_early);
    if (status == 3 && is_shard(totals))
        status = 77;
    for (unsigned i = 0; i < MXV_VERDICT_COUNT; i++)
        cases += totals->counts[i];
    mxv_json_open(json, NULL, '{');
    mxv_json_text(json, "record", "totals");
    mxv_json_integer(json, "cases", cases);
    mxv_json_open(json, "verdicts", '{');
    for (unsigned i = 0; i < MXV_VERDICT_COUNT; i++)
        mxv_json_integer(json, mxv_verdict_name(i), totals->counts[i]);
    mxv_json_close(json, '}');
    mxv_json_boolean(json, "stopped_early", totals->stopped_early);
    mxv_json_integer(json, "exit_status", (uint64_t)(status == 0 && totals->lacking ? 1 : status));
    mxv_json_number(json, "seconds", totals->seconds);
    mxv_json_text(json, "hash", totals->hash);
    put_numbers(json, totals->numbers, totals->numbers_count);
    mxv_json_close(json, '}');
    return mxv_log_finish_record(log, true, message, message_size);
}
