// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The search for a small case (shrink.h); its steps are in shrink_moves.c. A candidate is refused
// without a run when it is not simpler or mxv_case_check refuses it. When a step that changes
// shapes or data does not fail on the given seed, seeds 1 to 3 are tried (small cases): the
// failure, not the numbers, is what is kept. tests/gate/test_shrink.c fails if the kind of failure
// is lost or cases stay large.
#include "case_internal.h"
#include "shrink_internal.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RESEED_SCORES = 4096 }; // other seeds are tried on cases of so many scores at most

struct search {
    const struct mxv_shrink_options *options;
    struct mxv_verify_options verify;
    struct mxv_failure wanted;
    struct mxv_shrink_result *out;
    double deadline;                 // 0: none
    bool out_of_time, out_of_memory; // the latter: of a candidate
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool mxv_failure_equal(const struct mxv_failure *a, const struct mxv_failure *b)
{
    return a->verdict == b->verdict && a->difference == b->difference && a->stage == b->stage;
}

static struct mxv_failure failure_of(const struct mxv_verify_result *r)
{
    struct mxv_failure f = {r->verdict, r->first.kind, r->first.key.stage};
    return f;
}

static uint64_t tiles_of(const struct mxv_case *c, uint64_t lq, uint64_t lk)
{
    return ((lq + c->tile.m - 1) / c->tile.m) * ((lk + c->tile.n - 1) / c->tile.n);
}

static void size_shape(const struct mxv_case *c, struct mxv_case_size *s)
{
    size_t heads = c->heads_q, kv = c->heads_kv, d = c->d, count = c->seqs.count, lq, lk;
    if (c->input[0] && c->heads.end)
        heads = kv = c->heads.end - c->heads.first;
    for (size_t i = 0; i < (count ? count : c->batch); i++) {
        if (count) {
            lq = c->seqs.at[i].lq;
            lk = c->seqs.at[i].lk;
        } else {
            shrink_lengths(c, &lq, &lk);
        }
        s->tiles += tiles_of(c, lq, lk) * (heads ? heads : 1);
        s->scores += (uint64_t)lq * lk * (heads ? heads : 1);
        s->elements += (lq * heads + 2 * lk * kv) * (d ? d : 1) + lq + lk + 1;
    }
}

void mxv_case_size(const struct mxv_case *c, struct mxv_case_size *s)
{
    struct mxv_case base;
    memset(s, 0, sizeof *s);
    size_shape(c, s);
    case_base(c, &base);
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        bool data = f == MXV_FIELD_SEED || f == MXV_FIELD_GENERATOR || f == MXV_FIELD_INPUT ||
                    f == MXV_FIELD_D || f == MXV_FIELD_LQ || f == MXV_FIELD_LK ||
                    f == MXV_FIELD_HEADS || f == MXV_FIELD_QTOK || f == MXV_FIELD_KTOK;
        s->options += !data && !case_field_same(c, &base, (enum mxv_case_field)f);
    }
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
        s->options += c->faults >> f & 1;
    s->widths = (uint64_t)(c->left + 1) + (uint64_t)(c->right + 1) + c->diag + c->sink +
                c->diag_tokens + c->group;
    s->data = (uint64_t)shrink_generator_rank(c->generator) << 8;
    for (uint64_t seed = c->seed; seed; seed >>= 4)
        s->data++;
}

static int compare_sizes(const struct mxv_case_size *a, const struct mxv_case_size *b)
{
    const uint64_t x[] = {a->tiles, a->scores, a->elements, a->options, a->widths, a->data};
    const uint64_t y[] = {b->tiles, b->scores, b->elements, b->options, b->widths, b->data};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool is_over(struct search *s)
{
    if (s->options->stop && s->options->stop(s->options->ctx))
        s->out->interrupted = true;
    return s->out->interrupted || (s->deadline > 0 && now() > s->deadline);
}

// Verifies a candidate; takes it over if it fails as wanted.
static bool try_one(struct search *s, const struct mxv_case *c)
{
    struct mxv_verify_result r;
    struct mxv_case_size size;
    char message[MXV_VERIFY_TEXT];
    s->out_of_time = s->out_of_time || is_over(s);
    mxv_case_size(c, &size);
    if (s->out_of_time || compare_sizes(&size, &s->out->after) >= 0 ||
        mxv_case_check(c, message, sizeof message) != MXV_OK)
        return false;
    s->out->tries++;
    enum mxv_status status = mxv_verify_case(c, &s->verify, &r, message, sizeof message);
    s->out_of_memory = s->out_of_memory || status == MXV_ERR_MEMORY;
    struct mxv_failure failure = failure_of(&r);
    mxv_verify_free(&r);
    if (status != MXV_OK || !mxv_failure_equal(&failure, &s->wanted))
        return false;
    s->out->c = *c;
    s->out->after = size;
    s->out->verified = r;
    s->out->steps++;
    if (s->options->step)
        s->options->step(s->options->ctx, c, s->out->tries);
    return true;
}

static bool try_seeds(struct search *s, struct mxv_case *c, bool reseeds)
{
    if (try_one(s, c))
        return true;
    struct mxv_case_size size;
    mxv_case_size(c, &size);
    if (!reseeds || c->input[0] || size.scores > RESEED_SCORES)
        return false;
    for (uint64_t seed = 1; seed <= 3 && !s->out_of_time; seed++) {
        c->seed = seed;
        if (seed != s->out->c.seed && try_one(s, c))
            return true;
    }
    return false;
}

// All candidates of one kind of step; after each success from the first again.
static bool run_step(struct search *s, const struct shrink_step *step, struct mxv_case *candidate)
{
    bool any = false;
    for (size_t n = 0; !s->out_of_time; n++) {
        *candidate = s->out->c;
        if (!step->move(&s->out->c, n, candidate))
            break;
        if (try_seeds(s, candidate, step->reseeds)) {
            any = true;
            n = SIZE_MAX; // 0 next
        }
    }
    return any;
}

static void run_search(struct search *s)
{
    struct mxv_case *candidate = malloc(sizeof *candidate);
    bool any = candidate != NULL;
    while (any && !s->out_of_time) {
        any = false;
        for (size_t i = 0; i < shrink_step_count; i++)
            any = run_step(s, &shrink_steps[i], candidate) || any;
    }
    s->out->fixed_point = candidate && !s->out_of_time && !s->out_of_memory;
    free(candidate);
}

// Ranges of the files made explicit, so that they can be cut.
static enum mxv_status open_files(struct mxv_case *c, char *message, size_t size)
{
    struct mxv_case_data data;
    if (!c->input[0] || c->seqs.count)
        return MXV_OK;
    enum mxv_status status = mxv_case_build(c, &data, message, size);
    if (status != MXV_OK)
        return status;
    if (c->heads.end == 0)
        c->heads = (struct mxv_case_range){0, data.a.heads_kv};
    if (c->q_tokens.end == 0)
        c->q_tokens = (struct mxv_case_range){0, data.a.cu_q[1]};
    if (c->k_tokens.end == 0)
        c->k_tokens = (struct mxv_case_range){0, data.a.cu_k[1]};
    c->heads_q = c->heads_kv = c->lq = c->lk = c->d = 0;
    mxv_case_free(&data);
    return mxv_case_check(c, message, size);
}

// Without exact attention if that shows the failure, as it is by far quicker.
static enum mxv_status first_run(struct search *s, char *message, size_t size)
{
    for (int truth = 0; truth <= 1; truth++) {
        s->verify.truth = truth;
        s->verify.truth_scores = 30000;
        mxv_verify_free(&s->out->verified);
        enum mxv_status status =
            mxv_verify_case(&s->out->c, &s->verify, &s->out->verified, message, size);
        if (status != MXV_OK)
            return status;
        if (mxv_verdict_class_of(s->out->verified.verdict) == MXV_VERDICT_BAD) {
            s->wanted = s->out->failure = failure_of(&s->out->verified);
            return MXV_OK;
        }
        if (truth == 0 && s->options->stop && s->options->stop(s->options->ctx)) {
            s->out->interrupted = true;
            text_message(message, size, "stopped before the case has failed");
            return MXV_ERR_INPUT;
        }
    }
    text_message(message, size, "the case passes (%s): there is nothing to shrink",
                 mxv_verdict_name(s->out->verified.verdict));
    return MXV_ERR_INPUT;
}

enum mxv_status mxv_shrink_case(const struct mxv_case *c, const struct mxv_shrink_options *options,
                                struct mxv_shrink_result *out, char *message, size_t size)
{
    struct search s = {.options = options, .verify = options->verify, .out = out};
    memset(out, 0, sizeof *out);
    out->c = *c;
    s.verify.map_folder = NULL;
    if (options->seconds > 0)
        s.deadline = now() + options->seconds;
    if (c->faults)
        s.verify.impl = MXV_IMPL_EMULATION;
    enum mxv_status status = open_files(&out->c, message, size);
    if (status == MXV_OK)
        status = first_run(&s, message, size);
    if (status != MXV_OK)
        return status;
    mxv_case_size(&out->c, &out->before);
    out->after = out->before;
    run_search(&s);
    return MXV_OK;
}
