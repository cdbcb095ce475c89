// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The record of a case: written from a result, and read back as an outcome when a run is resumed or
// shards are merged. tests/cli/test_runner_resume.sh fails if the two do not fit.
#include "cli.h"
#include "run.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const number_names[RUN_NUMBER_COUNT] = {
#define X(id, name, value) name,
    RUN_NUMBERS(X)
#undef X
#define X(id, name, text) "tiles." name,
        MXV_ROUTES(X)
#undef X
#define X(id, name, text) "truth.left." name,
            MXV_TRUTH_LEFTS(X)
#undef X
};

void run_outcome_of(const struct run_slot *s, struct run_outcome *out)
{
    const struct mxv_verify_result *r = &s->result;
    *out = (struct run_outcome){
        .index = s->index,
        .kernel = s->c.kernel,
        .verdict = r->verdict,
        .has_truth = r->has_truth,
        .output_hash = r->output_hash,
        .map_count = r->map_count,
        .events = r->events,
    };
    if (r->has_truth) {
        out->rel_l2_inputs = mxv_metric_value(&r->against_inputs, MXV_METRIC_REL_L2);
        out->rel_l2_operands = mxv_metric_value(&r->against_operands, MXV_METRIC_REL_L2);
    }
#define X(id, name, value) out->numbers[RUN_##id] = (double)(value);
    RUN_NUMBERS(X)
#undef X
    for (unsigned i = 0; i < MXV_ROUTE_COUNT; i++)
        out->numbers[RUN_TILES_F16 + i] = (double)r->tiles[i];
    for (unsigned i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
        out->numbers[RUN_LEFT_ASKED + i] = (double)r->truth_left[i];
}

enum { TEXTS_MAX = 9, EVENTS_SIZE = 2048, TILES_SIZE = 1200 };

// passed: mutants that the bound let through. events, tiles: empty where there are none.
static size_t collect_texts(const struct run_slot *s, const char *hash, const char *passed,
                            const char *events, const char *tiles, struct mxv_log_text *texts)
{
    size_t n = 0;
    texts[n++] = (struct mxv_log_text){"output_hash", hash};
    if (events[0])
        texts[n++] = (struct mxv_log_text){"events", events};
    if (s->refused)
        texts[n++] = (struct mxv_log_text){"settings", s->message};
    if (s->result.diagnosis[0])
        texts[n++] = (struct mxv_log_text){"diagnosis", s->result.diagnosis};
    if (passed[0])
        texts[n++] = (struct mxv_log_text){"gate.passed", passed};
    if (tiles[0])
        texts[n++] = (struct mxv_log_text){"split.worst", tiles};
    if (s->entry) {
        texts[n++] = (struct mxv_log_text){"found", mxv_verdict_name(s->found)};
        texts[n++] = (struct mxv_log_text){"url", s->entry->url};
        texts[n++] = (struct mxv_log_text){"owner", s->entry->owner};
    }
    return n;
}

// Index first, then what is not zero or always wanted.
static size_t collect_numbers(const struct run_outcome *o, struct mxv_log_number *numbers)
{
    size_t n = 0;
    numbers[n++] = (struct mxv_log_number){"index", (double)o->index};
    for (unsigned i = 0; i < RUN_NUMBER_COUNT; i++)
        if (o->numbers[i] != 0 || (i < RUN_TILES_F16 && strncmp(number_names[i], "split.", 6) != 0))
            numbers[n++] = (struct mxv_log_number){number_names[i], o->numbers[i]};
    return n;
}

int run_log_failed(const char *message)
{
    static bool said;
    if (!said)
        cli_usage("%s", message);
    said = true;
    return 3;
}

int run_write_record(struct run *run, const struct run_slot *s, const char *id, const char *line)
{
    const struct mxv_verify_result *r = &s->result;
    struct run_outcome outcome;
    char message[MXV_VERIFY_TEXT], hash[20];
    const char *maps[MXV_VERIFY_MAPS];
    struct mxv_log_number numbers[RUN_NUMBER_COUNT + 1];
    struct mxv_log_text texts[TEXTS_MAX];
    if (!run->log)
        return 0;
    run_outcome_of(s, &outcome);
    for (size_t i = 0; i < r->map_count; i++)
        maps[i] = r->maps[i];
    char passed[512] = "";
    uint64_t alive = r->gate.applicable & ~r->gate.bound;
    if (r->bound.available && alive)
        mxv_mutants_print(alive, passed, sizeof passed);
    char events[EVENTS_SIZE] = "";
    if (run->config->verify.events)
        mxv_events_write(&r->events, events, sizeof events);
    char tiles[TILES_SIZE];
    run_worst_tiles(&r->causes, tiles, sizeof tiles);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)r->output_hash);
    const struct mxv_log_metrics metrics[] = {{"out.inputs", &r->against_inputs},
                                              {"out.operands", &r->against_operands}};
    bool failed = r->verdict == MXV_VERDICT_FAIL || (s->entry && s->found == MXV_VERDICT_FAIL);
    struct mxv_log_case record = {
        .id = id,
        .line = line,
        .verdict = r->verdict,
        .reason = r->reason[0] ? r->reason : NULL,
        .seconds = r->seconds,
        .first = failed ? &r->first : NULL,
        .element = r->element.rows ? &r->element : NULL,
        .element_format = r->element_format,
        .metrics_count = r->has_truth ? 2 : 0,
        .metrics = metrics,
        .numbers_count = collect_numbers(&outcome, numbers),
        .numbers = numbers,
        .texts_count = collect_texts(s, hash, passed, events, tiles, texts),
        .texts = texts,
        .maps_count = r->map_count,
        .maps = maps,
    };
    if (mxv_log_write_case(run->log, &record, message, sizeof message) == MXV_OK)
        return 0;
    return run_log_failed(message);
}

// A number as the log writes it: exactly, as a hexadecimal constant, or as a word. Absent: 0.
static double number_in(const json_t *object, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "%s_hex", name);
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strtod(text, NULL) : json_number_value(json_object_get(object, name));
}

// A metric without a meaning is not in the log.
static double rel_l2_in(const json_t *metrics)
{
    return json_object_get(metrics, "rel_l2") ? number_in(metrics, "rel_l2") : NAN;
}

static bool read_hash(const json_t *record, uint64_t *out)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(record, "texts"), "output_hash"));
    char *end;
    if (!text)
        return false;
    errno = 0;
    *out = strtoull(text, &end, 16);
    return errno == 0 && end == text + 16 && *end == 0;
}

bool run_read_record(const json_t *record, struct run_outcome *out, struct mxv_case *c)
{
    const json_t *numbers = json_object_get(record, "numbers");
    const json_t *metrics = json_object_get(record, "metrics");
    const char *line = json_string_value(json_object_get(record, "case"));
    const char *verdict = json_string_value(json_object_get(record, "verdict"));
    memset(out, 0, sizeof *out);
    if (!line || !verdict || !json_object_get(numbers, "index") ||
        !read_hash(record, &out->output_hash) || !mxv_verdict_find(verdict, &out->verdict) ||
        mxv_case_parse(line, c, NULL, 0) != MXV_OK)
        return false;
    const char *events =
        json_string_value(json_object_get(json_object_get(record, "texts"), "events"));
    if (events && !mxv_events_read(events, &out->events))
        return false;
    out->has_events = events && number_in(numbers, "words") > 0;
    out->index = (uint64_t)number_in(numbers, "index");
    out->kernel = c->kernel;
    out->map_count = json_array_size(json_object_get(record, "maps"));
    out->has_truth = json_object_size(metrics) > 0;
    out->rel_l2_inputs = rel_l2_in(json_object_get(metrics, "out.inputs"));
    out->rel_l2_operands = rel_l2_in(json_object_get(metrics, "out.operands"));
    for (unsigned i = 0; i < RUN_NUMBER_COUNT; i++)
        out->numbers[i] = number_in(numbers, number_names[i]);
    return true;
}
