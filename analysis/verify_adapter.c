// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Verification of an implementation behind the adapter interface: its calls, what it reports, and
// the comparison of whole outputs where it sends no taps. tests/cli/test_runner_adapter.sh fails if
// this file is wrong.
#include "verify_adapter.h"
#include <mxverify/impl.h>
#include <stdio.h>
#include <string.h>

// What leaves a case without a judgement; MXV_OK: not this.
static enum mxv_status ends_the_case(enum mxv_impl_status status)
{
    return status == MXV_IMPL_UNSUPPORTED ? MXV_ERR_UNSUPPORTED
           : status == MXV_IMPL_NO_MEMORY ? MXV_ERR_MEMORY
                                          : MXV_OK;
}

static enum mxv_verdict verdict_of(enum mxv_impl_status status)
{
    return status == MXV_IMPL_LOST ? MXV_VERDICT_DEVICE_LOST : MXV_VERDICT_FAIL;
}

enum mxv_status verify_adapter_begin(struct verification *v, struct mxv_verify_result *out,
                                     char *message, size_t size)
{
    const struct mxv_adapter *adapter = v->options->adapter;
    if (!adapter)
        return MXV_OK;
    char line[MXV_CASE_LINE_SIZE];
    mxv_case_print(v->c, line, sizeof line);
    mxv_adapter_case(adapter, line);
    enum mxv_impl_status status =
        mxv_adapter_begin(adapter, &v->subject_call, &v->adapter_state, message, size);
    if (ends_the_case(status))
        return ends_the_case(status);
    if (status != MXV_IMPL_OK) {
        out->verdict = verdict_of(status);
        snprintf(out->reason, sizeof out->reason, "%s", message);
    }
    return MXV_OK;
}

enum mxv_status verify_adapter_head(struct verification *v, struct head_result *h,
                                    const struct mxv_tap_sink *sink)
{
    enum mxv_impl_status status =
        mxv_adapter_head(v->options->adapter, v->adapter_state, &v->subject_call, h->sequence,
                         h->head, h->subject, h->subject_lse, sink, h->message, sizeof h->message);
    if (ends_the_case(status))
        return ends_the_case(status);
    if (status != MXV_IMPL_OK)
        h->failure = (int)verdict_of(status);
    return MXV_OK;
}

void verify_adapter_done(struct verification *v)
{
    if (v->options->adapter)
        mxv_adapter_done(v->options->adapter, v->adapter_state);
}

bool verify_claims_bits(const struct verification *v)
{
    return !v->options->adapter || mxv_adapter_has(v->options->adapter, MXV_IMPL_SAME_BITS);
}

bool verify_has_taps(const struct verification *v)
{
    return v->options->adapter ? mxv_adapter_has(v->options->adapter, MXV_IMPL_TAPS)
                               : v->options->impl != MXV_IMPL_RECORDED;
}

bool verify_judges_lse(const struct verification *v)
{
    return v->data.a.lse != MXV_LSE_NONE &&
           (!v->options->adapter || mxv_adapter_has(v->options->adapter, MXV_IMPL_LSE));
}

bool verify_output_difference(const struct verification *v, struct head_result *h)
{
    const struct mxv_attention *a = &v->data.a;
    size_t count = h->lq * a->d, i = 0;
    enum mxv_stage stage = MXV_STAGE_OUT;
    while (i < count && h->emulated[i] == h->subject[i])
        i++;
    size_t row = count ? i / a->d : 0;
    if (i == count) {
        if (!verify_judges_lse(v))
            return false;
        for (row = 0; row < h->lq && h->emulated_lse[row] == h->subject_lse[row]; row++)
            ;
        if (row == h->lq)
            return false;
        stage = MXV_STAGE_LSE;
    }
    h->where.kind = MXV_TAPS_WORDS;
    h->where.key =
        (struct mxv_tap_key){stage, MXV_ROUTE_F16, h->sequence, h->head, row / a->tile_m, 0};
    h->where.taps[stage] = h->where.differing[stage] = 1;
    h->where.rows = h->lq;
    h->where.cols = stage == MXV_STAGE_OUT ? a->d : 1;
    return true;
}

// Rows are those of the whole head here: without taps there are no tiles.
void verify_locate_output(const struct verification *v, const struct head_result *h,
                          struct mxv_verify_result *out)
{
    bool lse = h->where.key.stage == MXV_STAGE_LSE;
    size_t cols = lse ? 1 : v->data.a.d, count = h->lq * cols;
    const uint32_t *a = lse ? h->emulated_lse : h->emulated, *b = lse ? h->subject_lse : h->subject;
    struct mxv_tap_element *e = &out->element;
    out->element_format = lse ? MXV_F32 : v->data.a.out;
    memset(e, 0, sizeof *e);
    for (size_t i = 0; i < count; i++) {
        if (a[i] == b[i])
            continue;
        if (e->differing++ == 0) {
            e->row = i / cols;
            e->col = i % cols;
            e->word_a = a[i];
            e->word_b = b[i];
            e->value_a = mxv_code_value(out->element_format, a[i]);
            e->value_b = mxv_code_value(out->element_format, b[i]);
            e->ulp = mxv_ulp_distance(out->element_format, a[i], b[i]);
        }
    }
    e->rows = h->lq;
    e->cols = cols;
}

void verify_adapter_failure(const struct head_result *h, struct mxv_verify_result *out)
{
    if (out->verdict == MXV_VERDICT_DEVICE_LOST ||
        (out->verdict == MXV_VERDICT_FAIL && h->failure == MXV_VERDICT_FAIL))
        return;
    out->verdict = (enum mxv_verdict)h->failure;
    snprintf(out->reason, sizeof out->reason, "sequence %zu head %zu: %s", h->sequence, h->head,
             h->message);
}

void verify_count_undecided(struct mxv_bound_report *b)
{
    struct mxv_bound_lse_report *l = &b->lse;
    b->undecided = b->elements - b->within - b->wrong;
    b->model_undecided = b->elements + b->unbounded - b->model_within - b->model_wrong;
    l->undecided = l->elements - l->within - l->wrong;
    l->model_undecided = l->elements - l->model_within - l->model_wrong;
}

void verify_judge_model(struct mxv_verify_result *out)
{
    struct mxv_bound_report *b = &out->bound;
    verify_count_undecided(b);
    out->bound_verdict = !b->available                                  ? MXV_VERDICT_SKIP
                         : b->model_wrong || b->lse.model_wrong         ? MXV_VERDICT_FAIL
                         : b->model_undecided || b->lse.model_undecided ? MXV_VERDICT_UNDECIDED
                                                                        : MXV_VERDICT_PASS;
    if (out->verdict != MXV_VERDICT_PASS || out->bound_verdict == MXV_VERDICT_PASS)
        return;
    if (!b->available) {
        out->verdict = MXV_VERDICT_UNDECIDED;
        snprintf(out->reason, sizeof out->reason,
                 "the implementation does not claim the emulation's bits, and no bound was judged");
        return;
    }
    out->verdict = out->bound_verdict;
    if (b->model_wrong || b->model_undecided)
        snprintf(out->reason, sizeof out->reason,
                 "of %llu output elements %llu are proved wrong and %llu undecided by the model "
                 "bound; largest error %.3g, bound there %.3g",
                 (unsigned long long)b->elements, (unsigned long long)b->model_wrong,
                 (unsigned long long)b->model_undecided, b->error_max, b->model_at_max);
    else
        snprintf(out->reason, sizeof out->reason,
                 "of %llu LSE words %llu are proved wrong and %llu undecided by the model bound; "
                 "largest error %.3g, bound there %.3g",
                 (unsigned long long)b->lse.elements, (unsigned long long)b->lse.model_wrong,
                 (unsigned long long)b->lse.model_undecided, b->lse.error_max, b->lse.model_at_max);
}
