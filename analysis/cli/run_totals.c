// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The totals of a run. They depend on the set of outcomes only, not on their order, so that they
// are the same for one run, a resumed one, and merged shards.
#define XXH_STATIC_LINKING_ONLY // a state on the stack cannot lack memory
#include "cli.h"
#include "run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

static void keep_hash(struct run_totals *t, const struct run_outcome *o)
{
    if (t->done == t->hash_room) {
        t->hash_room = t->hash_room ? 2 * t->hash_room : 256;
        t->hashes = cli_realloc(t->hashes, t->hash_room * sizeof *t->hashes);
    }
    double error = o->numbers[RUN_BOUND_ELEMENTS] > 0 ? o->numbers[RUN_ERROR_MAX] : 0;
    t->hashes[t->done] = (struct run_hash){
        .index = o->index,
        .hash = o->output_hash,
        .kernel = o->kernel,
        .tightness = error > 0 ? o->numbers[RUN_BOUND_AT_MAX] / error : NAN,
        .model_tightness = error > 0 ? o->numbers[RUN_MODEL_AT_MAX] / error : NAN,
        .rel_l2_inputs = o->has_truth ? o->rel_l2_inputs : NAN,
        .rel_l2_operands = o->has_truth ? o->rel_l2_operands : NAN,
    };
}

static void add_power(struct run_power *p, const struct run_outcome *o)
{
    const double *n = o->numbers;
    if (n[RUN_BOUND_ELEMENTS] == 0 || n[RUN_GATE_APPLICABLE] == 0)
        return;
    double gain = n[RUN_GATE_GAIN_UP], model = n[RUN_GATE_MODEL_UP];
    if (gain >= 0) {
        p->gain = !p->has_gain || gain < p->gain ? gain : p->gain;
        p->model_gain = !p->has_gain || model < p->model_gain ? model : p->model_gain;
        p->has_gain = true;
    }
    p->cases++;
    p->model_weak += n[RUN_GATE_MODEL_WEAK] > 0;
    p->applicable += n[RUN_GATE_APPLICABLE];
    p->bound += n[RUN_GATE_BOUND];
    p->model += n[RUN_GATE_MODEL];
}

void run_totals_add(struct run_totals *t, const struct run_outcome *o, const struct mxv_case *c)
{
    enum mxv_kernel k = o->kernel;
    unsigned routes = 0;
    keep_hash(t, o);
    t->counts[o->verdict]++;
    t->by_kernel[k][o->verdict]++;
    t->done++;
    t->maps += o->map_count;
    t->words[k] += (uint64_t)o->numbers[RUN_WORDS];
    t->truth_rows[k] += (uint64_t)o->numbers[RUN_TRUTH_ROWS];
    t->truth_rows_total[k] += o->has_truth ? (uint64_t)o->numbers[RUN_ROWS] : 0;
    t->certified += (uint64_t)o->numbers[RUN_CERTIFIED];
    for (unsigned i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
        t->left[i] += (uint64_t)o->numbers[RUN_LEFT_ASKED + i];
    for (unsigned route = 0; route < MXV_ROUTE_COUNT; route++) {
        uint64_t tiles = (uint64_t)o->numbers[RUN_TILES_F16 + route];
        t->tiles[k][route] += tiles;
        routes |= tiles ? 1u << route : 0;
    }
    t->unmeasured_rows[k] += (uint64_t)o->numbers[RUN_UNMEASURED_ROWS];
    add_power(&t->power[k], o);
    if (o->numbers[RUN_BOUND_ELEMENTS] > 0 || o->numbers[RUN_BOUND_RATIO] > 0) {
        t->bounded[k]++;
        t->bound_ratio[k] = fmax(t->bound_ratio[k], o->numbers[RUN_BOUND_RATIO]);
    }
    if (mxv_verdict_class_of(o->verdict) != MXV_VERDICT_SKIPPED)
        mxv_coverage_add(&t->coverage, c, routes);
    mxv_events_merge(&t->events[k], &o->events);
    t->without_events += !o->has_events;
}

static int by_index(const void *a, const void *b)
{
    const struct run_hash *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

uint64_t run_totals_hash(struct run_totals *t)
{
    XXH3_state_t hash_state, *state = &hash_state;
    XXH3_64bits_reset(state);
    if (t->done)
        qsort(t->hashes, t->done, sizeof *t->hashes, by_index);
    for (size_t i = 0; i < t->done; i++)
        XXH3_64bits_update(state, &t->hashes[i].hash, sizeof t->hashes[i].hash);
    return XXH3_64bits_digest(state);
}

void run_totals_free(struct run_totals *t)
{
    free(t->hashes);
    t->hashes = NULL;
    t->hash_room = 0;
}

int run_write_totals(struct mxv_log *log, const struct run_totals *t, uint64_t hash,
                     const struct mxv_shard *shard)
{
    char text[20], message[MXV_VERIFY_TEXT];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    bool part = shard && shard->count > 1;
    const struct mxv_log_number numbers[] = {{"shard", part ? (double)shard->index + 1 : 1},
                                             {"shards", part ? (double)shard->count : 1},
                                             {"events.tier", t->events_tier},
                                             {"events.missing", (double)t->events_missing}};
    struct mxv_log_totals totals = {.stopped_early = t->stopped_early,
                                    .lacking = t->events_missing > 0,
                                    .seconds = t->seconds,
                                    .hash = text,
                                    .numbers_count = sizeof numbers / sizeof numbers[0],
                                    .numbers = numbers};
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        totals.counts[v] = t->counts[v];
    if (mxv_log_write_totals(log, &totals, message, sizeof message) == MXV_OK)
        return 0;
    return run_log_failed(message);
}
