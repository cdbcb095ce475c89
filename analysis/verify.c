// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the emulation and the implementation on every head of a case, compares their taps, and turns
// the findings into a verdict. tests/gate/test_faults.c fails if a difference is not found or
// blamed on the wrong stage; tests/gate/test_same_bits.c if equal emulations are told apart.
#define XXH_STATIC_LINKING_ONLY // a state on the stack cannot lack memory
#include "verify.h"
#include "head_status.h"
#include "verify_adapter.h"
#include "verify_recorded.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#define X(id, name, text) name,
static const char *const impl_names[] = {MXV_IMPLS(X)};
#undef X
#define X(id, name, text) text,
static const char *const impl_texts[] = {MXV_IMPLS(X)};
#undef X

const char *mxv_impl_name(unsigned impl)
{
    return impl < MXV_IMPL_COUNT ? impl_names[impl] : NULL;
}

const char *mxv_impl_text(unsigned impl)
{
    return impl < MXV_IMPL_COUNT ? impl_texts[impl] : NULL;
}

static enum mxv_status run_subject(struct verification *v, struct head_result *h,
                                   const struct mxv_tap_sink *sink)
{
    if (v->options->adapter)
        return verify_adapter_head(v, h, sink);
    if (v->options->impl == MXV_IMPL_RECORDED)
        return verify_recorded_head(h, v->data.a.d);
    int (*const run[MXV_IMPL_COUNT])(const struct mxv_attention *, size_t, size_t, uint32_t *,
                                     uint32_t *, const struct mxv_tap_sink *, char *, size_t) = {
        [MXV_IMPL_PLAIN] = mxv_plain_head, [MXV_IMPL_EMULATION] = mxv_engine_head};
    return status_of_head(run[v->options->impl](&v->subject_call, h->sequence, h->head, h->subject,
                                                h->subject_lse, sink, h->message,
                                                sizeof h->message));
}

// The emulation of a head, into its outputs, taps and sheets.
static enum mxv_status run_emulation(struct verification *v, struct head_result *h,
                                     struct collector *c)
{
    const struct mxv_attention *a = &v->data.a;
    struct mxv_tap_sink sink = {verify_collect, c};
    struct mxv_events_reader reader = {.a = NULL};
    if (v->options->events) {
        mxv_events_begin(&reader, a, h->sequence, &h->events, &sink);
        sink = mxv_events_sink(&reader);
    }
    enum mxv_status status =
        status_of_head(mxv_engine_head(a, h->sequence, h->head, h->emulated, h->emulated_lse, &sink,
                                       h->message, sizeof h->message));
    bool lacking = c->out_of_memory || reader.out_of_memory || h->emulated_taps.out_of_memory;
    mxv_events_end(&reader);
    return status == MXV_OK && lacking ? verify_no_memory(h, "taps of the emulation") : status;
}

static enum mxv_status compare_taps(struct verification *v, struct head_result *h)
{
    int difference = mxv_taps_first_difference(&h->emulated_taps, &h->subject_taps, &h->where);
    if (difference < 0)
        return verify_no_memory(h, "comparing taps");
    h->differs = difference > 0;
    // the outputs themselves, whether or not an implementation taps them
    if (!h->differs &&
        memcmp(h->emulated, h->subject, h->lq * v->data.a.d * sizeof *h->subject) != 0) {
        h->differs = true;
        h->where.kind = MXV_TAPS_WORDS;
        h->where.key =
            (struct mxv_tap_key){MXV_STAGE_OUT, MXV_ROUTE_F16, h->sequence, h->head, 0, 0};
    }
    return MXV_OK;
}

static enum mxv_status head_verify(struct verification *v, struct head_result *h)
{
    if (head_allocate(v, h))
        return MXV_ERR_MEMORY;
    struct collector ce = {.a = &v->data.a,
                           .lq = h->lq,
                           .lk = h->lk,
                           .digest = mxv_taps_record(&h->emulated_taps),
                           .sheet = &h->emulated_scores,
                           .state = &h->state};
    struct collector cs = ce;
    cs.digest = mxv_taps_record(&h->subject_taps);
    cs.sheet = &h->subject_scores;
    cs.state = NULL;
    struct mxv_tap_sink sink = {verify_collect, &cs};
    enum mxv_status status = run_emulation(v, h, &ce);
    if (status == MXV_OK)
        status = run_subject(v, h, &sink);
    if (status == MXV_OK && h->subject_taps.out_of_memory)
        status = verify_no_memory(h, "taps of the implementation");
    if (status == MXV_OK && verify_has_taps(v))
        status = compare_taps(v, h);
    else if (status == MXV_OK)
        h->differs = verify_claims_bits(v) && verify_output_difference(v, h);
    return status == MXV_OK && v->options->truth ? verify_truth(v, h) : status;
}

// Only lack of memory is an error: where the implementation does not give its taps again, the
// difference has no element.
static enum mxv_status locate_element(struct verification *v, const struct head_result *h,
                                      struct mxv_verify_result *out)
{
    struct mxv_tap_capture ca, cb;
    if (!verify_has_taps(v)) {
        verify_locate_output(v, h, out);
        return MXV_OK;
    }
    mxv_tap_capture_init(&ca, &h->where.key);
    mxv_tap_capture_init(&cb, &h->where.key);
    struct mxv_tap_sink sa = mxv_taps_capture(&ca), sb = mxv_taps_capture(&cb);
    uint32_t *scratch = calloc(h->lq * v->data.a.d + h->lq + 1, sizeof *scratch);
    struct head_result again = *h;
    enum mxv_status status = MXV_ERR_MEMORY;
    if (scratch)
        status = status_of_head(mxv_engine_head(&v->data.a, h->sequence, h->head, scratch,
                                                scratch + h->lq * v->data.a.d, &sa, again.message,
                                                sizeof again.message));
    if (status == MXV_OK)
        status = run_subject(v, &again, &sb);
    if (ca.out_of_memory || cb.out_of_memory)
        status = MXV_ERR_MEMORY;
    if (status == MXV_OK) {
        out->element_format = mxv_tap_format(&v->data.a, h->where.key.stage, h->where.key.route);
        if (mxv_taps_first_element(&ca, &cb, out->element_format, &out->element) != 1)
            out->element.rows = 0;
    }
    free(scratch);
    mxv_tap_capture_free(&ca);
    mxv_tap_capture_free(&cb);
    return status == MXV_ERR_MEMORY ? status : MXV_OK;
}

static void describe_failure(const struct mxv_verify_result *r, char *text, size_t size)
{
    char key[160];
    mxv_tap_key_print(&r->first.key, key, sizeof key);
    int n = snprintf(text, size, "%s: first difference at %s",
                     mxv_tap_difference_name(r->first.kind), key);
    if (r->element.rows && n > 0 && (size_t)n < size)
        snprintf(
            text + n, size - (size_t)n,
            " element (%zu, %zu): expected %08X (%.9g), got %08X (%.9g); %zu of %zu words differ",
            r->element.row, r->element.col, r->element.word_a, r->element.value_a,
            r->element.word_b, r->element.value_b, r->element.differing,
            r->element.rows * r->element.cols);
}

static void add_metrics(struct verification *v, const struct head_result *h,
                        struct mxv_verify_result *out)
{
    size_t d = v->data.a.d;
    for (size_t i = 0; i < h->row_count; i++) {
        if (!verify_row_is_measured(v, h, i)) {
            out->unmeasured_rows++;
            continue;
        }
        for (size_t c = 0; c < d; c++) {
            uint32_t word = h->subject[h->rows[i] * d + c];
            mxv_metrics_add_exact(&out->against_inputs, word, h->from_inputs[i * d + c]);
            mxv_metrics_add_exact(&out->against_operands, word, h->from_operands[i * d + c]);
        }
    }
    out->truth_rows += h->row_count;
    out->undefined_rows += h->undefined_rows;
    for (size_t kind = 0; kind < 2; kind++) {
        out->truth_certified += h->enclosures[kind].certified_rows;
        for (size_t i = 0; i < MXV_TRUTH_LEFT_COUNT; i++)
            out->truth_left[i] += h->enclosures[kind].left[i];
    }
}

static void count_head(struct verification *v, const struct head_result *h,
                       struct mxv_verify_result *out, XXH3_state_t *hash)
{
    const struct mxv_attention *a = &v->data.a;
    const bool taps = verify_has_taps(v);
    for (size_t i = 0; i < h->emulated_taps.count; i++) {
        const struct mxv_tap_digest *t = &h->emulated_taps.taps[i];
        out->words += taps ? t->rows * t->cols : 0;
        if (t->key.stage == MXV_STAGE_SCORE) {
            out->tiles[t->key.route]++;
            out->routes |= 1u << t->key.route;
        }
    }
    if (taps)
        out->taps += h->emulated_taps.count;
    else
        out->words += h->lq * (a->d + (a->lse != MXV_LSE_NONE));
    out->truth_rows_total += h->lq;
    XXH3_64bits_update(hash, h->subject, h->lq * a->d * sizeof *h->subject);
    if (a->lse != MXV_LSE_NONE)
        XXH3_64bits_update(hash, h->subject_lse, h->lq * sizeof *h->subject_lse);
}

static enum mxv_status conclude(struct verification *v, struct mxv_verify_result *out)
{
    XXH3_state_t state, *hash = &state;
    enum mxv_status status = MXV_OK;
    XXH3_64bits_reset(hash);
    for (size_t i = 0; i < v->heads; i++) {
        struct head_result *h = &v->results[i];
        count_head(v, h, out, hash);
        mxv_events_merge(&out->events, &h->events);
        if (v->options->truth)
            add_metrics(v, h, out);
        if (h->failure)
            verify_adapter_failure(h, out);
        else if (h->differs && out->verdict == MXV_VERDICT_PASS) {
            out->verdict = MXV_VERDICT_FAIL;
            out->first = h->where;
            status = locate_element(v, h, out);
            describe_failure(out, out->reason, sizeof out->reason);
        }
    }
    out->same_bits = out->verdict == MXV_VERDICT_PASS;
    if (v->options->truth)
        judge_bounds(v, out);
    if (!verify_claims_bits(v))
        verify_judge_model(out);
    if (out->verdict == MXV_VERDICT_FAIL && v->options->impl != MXV_IMPL_RECORDED)
        verify_diagnose(v, out);
    out->output_hash = XXH3_64bits_digest(hash);
    return status;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void name_heads(struct verification *v)
{
    const struct mxv_attention *a = &v->data.a;
    for (size_t i = 0; i < v->heads; i++) {
        struct head_result *h = &v->results[i];
        h->sequence = i / a->heads_q;
        h->head = i % a->heads_q;
        h->lq = a->cu_q[h->sequence + 1] - a->cu_q[h->sequence];
        h->lk = a->cu_k[h->sequence + 1] - a->cu_k[h->sequence];
    }
}

// Of the first head that could not be evaluated; one that lacked memory before others.
static enum mxv_status first_failure(const struct verification *v, char *message, size_t size)
{
    const struct head_result *failed = NULL;
    for (size_t i = 0; i < v->heads; i++) {
        const struct head_result *h = &v->results[i];
        if (h->status != MXV_OK && (!failed || (h->status == (int)MXV_ERR_MEMORY &&
                                                failed->status != (int)MXV_ERR_MEMORY)))
            failed = h;
    }
    if (!failed)
        return MXV_OK;
    if (failed->status == (int)MXV_ERR_MEMORY)
        snprintf(message, size, "sequence %zu head %zu: %s", failed->sequence, failed->head,
                 failed->message);
    else
        snprintf(message, size, "%s", failed->message);
    return (enum mxv_status)failed->status;
}

static enum mxv_status verify_heads(struct verification *v, struct mxv_verify_result *out,
                                    char *message, size_t size)
{
    v->heads = v->data.a.sequences * v->data.a.heads_q;
    v->results = calloc(v->heads, sizeof *v->results);
    if (!v->results) {
        snprintf(message, size, "out of memory for %zu heads", v->heads);
        return MXV_ERR_MEMORY;
    }
    name_heads(v);
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < v->heads; i++)
        v->results[i].status = (int)head_verify(v, &v->results[i]);
    enum mxv_status status = first_failure(v, message, size);
    if (status != MXV_OK)
        return status;
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < v->heads; i++)
        v->results[i].status = (int)gate_head(v, &v->results[i]);
    status = first_failure(v, message, size);
    if (status == MXV_OK)
        status = verify_recorded_end(v, out, message, size);
    if (status != MXV_OK)
        return status;
    status = conclude(v, out);
    bool maps =
        v->options->map_folder && (v->options->maps_on_pass || out->verdict != MXV_VERDICT_PASS);
    if (status != MXV_OK)
        snprintf(message, size, "out of memory for the taps at the first difference");
    else if (maps && (status = verify_maps(v, out)) != MXV_OK)
        snprintf(message, size, "%s", out->reason);
    return status;
}

enum mxv_status mxv_verify_case(const struct mxv_case *c, const struct mxv_verify_options *options,
                                struct mxv_verify_result *out, char *message, size_t size)
{
    struct verification v = {.c = c, .options = options};
    double start = now();
    memset(out, 0, sizeof *out);
    enum mxv_status status = verify_fits_memory(c, message, size);
    if (status == MXV_OK)
        status = mxv_case_build(c, &v.data, message, size);
    if (status == MXV_OK && v.data.a.faults &&
        (options->impl != MXV_IMPL_EMULATION || options->adapter)) {
        snprintf(message, size,
                 "fault=...: faults are switches of implementation `emulation`; use "
                 "--impl emulation");
        status = MXV_ERR_INPUT;
    }
    if (status == MXV_OK) {
        double peak = options->psnr_peak > 0 ? options->psnr_peak : 10;
        v.subject_call = v.data.a;
        v.data.a.faults = 0;
        v.bounded = options->truth && mxv_bound_contract_of(&v.data.a, &v.contract);
        out->has_truth = options->truth;
        mxv_metrics_init(&out->against_inputs, v.data.a.out, peak);
        mxv_metrics_init(&out->against_operands, v.data.a.out, peak);
        status = verify_adapter_begin(&v, out, message, size);
        verify_recorded_begin(&v, out);
    }
    if (status == MXV_OK && out->verdict == MXV_VERDICT_PASS) {
        status = verify_heads(&v, out, message, size);
        verify_adapter_done(&v);
    }
    if (status == MXV_OK && out->verdict == MXV_VERDICT_PASS && v.subject_call.faults)
        snprintf(
            out->reason, sizeof out->reason,
            "the fault changed nothing in this case (mxverify list faults says where it acts)");
    for (size_t i = 0; v.results && i < v.heads; i++)
        head_free(&v.results[i]);
    free(v.results);
    mxv_case_free(&v.data);
    out->seconds = now() - start;
    return status;
}

void mxv_verify_free(struct mxv_verify_result *result)
{
    free(result->drawing);
    result->drawing = NULL;
}
