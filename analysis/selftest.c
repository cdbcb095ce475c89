// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Faults against the quick tier (selftest.h). Cases are taken one by one; each is built and
// emulated once, then by every fault that no earlier case has caught. A fault that changes nothing
// on a case is not caught by it. Fault D12 has no switch in the engine: mxv_verify_case judges it
// with the exact attention of the wrong mask, on cases with a mask alone.
// tests/gate/test_faults_selftest.c fails if a healthy emulation counts as caught or a fault is
// missed.
#include "head_status.h"
#include <mxverify/selftest.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct subject {
    struct mxv_case c;
    struct mxv_case_data data;
    struct mxv_tap_record *healthy; // [heads]
    size_t heads, smoke;            // smoke: cases of the tier that are of tier smoke
};

static enum mxv_status run_head(const struct mxv_attention *a, size_t i,
                                struct mxv_tap_record *record, char *message, size_t size)
{
    size_t sequence = i / a->heads_q, head = i % a->heads_q;
    size_t lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    uint32_t *words = calloc(lq * (a->d + 1) + 1, sizeof *words);
    mxv_tap_record_init(record);
    if (!words) {
        snprintf(message, size, "out of memory for a head of %zu rows", lq);
        return MXV_ERR_MEMORY;
    }
    struct mxv_tap_sink sink = mxv_taps_record(record);
    enum mxv_status status = status_of_head(
        mxv_engine_head(a, sequence, head, words, words + lq * a->d, &sink, message, size));
    free(words);
    return status;
}

int mxv_selftest_compare(const struct mxv_attention *call, const struct mxv_tap_record *healthy,
                         struct mxv_taps_where *where, char *message, size_t size)
{
    size_t heads = call->sequences * call->heads_q;
    for (size_t i = 0; i < heads; i++) {
        struct mxv_tap_record broken;
        enum mxv_status status = run_head(call, i, &broken, message, size);
        int different =
            status != MXV_OK ? -1 : mxv_taps_first_difference(&healthy[i], &broken, where);
        mxv_tap_record_free(&broken);
        if (status == MXV_OK && different < 0)
            snprintf(message, size, "out of memory while comparing taps");
        if (different)
            return different;
    }
    return 0;
}

static void subject_close(struct subject *s)
{
    for (size_t i = 0; s->healthy && i < s->heads; i++)
        mxv_tap_record_free(&s->healthy[i]);
    free(s->healthy);
    mxv_case_free(&s->data);
    s->healthy = NULL;
}

static enum mxv_status subject_open(struct subject *s, char *message, size_t size)
{
    enum mxv_status status = mxv_case_build(&s->c, &s->data, message, size);
    if (status != MXV_OK)
        return status;
    s->heads = s->data.a.sequences * s->data.a.heads_q;
    s->healthy = calloc(s->heads, sizeof *s->healthy);
    if (!s->healthy) {
        snprintf(message, size, "out of memory for %zu heads", s->heads);
        return MXV_ERR_MEMORY;
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < s->heads; i++) {
        char said[256];
        enum mxv_status one = run_head(&s->data.a, i, &s->healthy[i], said, sizeof said);
#pragma omp critical(selftest_message)
        if (one != MXV_OK && status != MXV_ERR_MEMORY) {
            snprintf(message, size, "%s", said);
            status = one;
        }
    }
    return status;
}

static void caught(const struct subject *s, enum mxv_fault f, enum mxv_stage stage,
                   struct mxv_selftest_cell *cell)
{
    cell->caught = true;
    cell->stage = stage;
    cell->right_stage = mxv_fault_get(f)->stages >> stage & 1;
    cell->tier = cell->cases <= s->smoke ? "smoke" : "quick";
    mxv_case_id(&s->c, cell->id);
}

// D12: the exact attention ignores the mask, so the emulation seems to be wrong.
static int try_reference(const struct subject *s, struct mxv_taps_where *where, char *message,
                         size_t size)
{
    enum { SCORES = 30000 };
    const struct mxv_verify_options options = {
        .impl = MXV_IMPL_EMULATION, .truth = true, .truth_scores = SCORES};
    struct mxv_verify_result result;
    struct mxv_case c = s->c;
    if (c.mask != MXV_MASK_CAUSAL)
        return 0;
    c.faults = UINT64_C(1) << MXV_FAULT_NONCAUSAL_REFERENCE;
    enum mxv_status status = mxv_verify_case(&c, &options, &result, message, size);
    int found = status != MXV_OK ? -1 : result.verdict == MXV_VERDICT_ORACLE_ERROR;
    where->key = result.first.key;
    mxv_verify_free(&result);
    return found;
}

static int try_fault(const struct subject *s, enum mxv_fault f, struct mxv_selftest_cell *cell,
                     char *message, size_t size)
{
    struct mxv_taps_where where = {0};
    struct mxv_attention call = s->data.a;
    int found;
    cell->cases++;
    call.faults = UINT64_C(1) << f;
    if (f == MXV_FAULT_NONCAUSAL_REFERENCE)
        found = try_reference(s, &where, message, size);
    else
        found = mxv_selftest_compare(&call, s->healthy, &where, message, size);
    if (found > 0)
        caught(s, f, where.key.stage, cell);
    return found < 0 ? -1 : 0;
}

static size_t pending(const struct mxv_selftest_cell *cells, enum mxv_fault *list)
{
    size_t n = 0;
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
        if (cells[f].applies && !cells[f].caught)
            list[n++] = (enum mxv_fault)f;
    return n;
}

static enum mxv_status try_case(struct subject *s, struct mxv_selftest_cell *cells, char *message,
                                size_t size)
{
    enum mxv_fault list[MXV_FAULT_COUNT];
    size_t n = pending(cells, list);
    int bad = 0;
    enum mxv_status status = n ? subject_open(s, message, size) : MXV_OK;
    if (status == MXV_OK) {
#pragma omp parallel for schedule(dynamic)
        for (size_t i = 0; i < n; i++) {
            char said[512];
            if (try_fault(s, list[i], &cells[list[i]], said, sizeof said)) {
#pragma omp critical(selftest_message)
                snprintf(message, size, "fault %s: %s", mxv_fault_get(list[i])->name, said);
#pragma omp atomic write
                bad = 1;
            }
        }
    }
    if (n)
        subject_close(s);
    return status != MXV_OK ? status : bad ? MXV_ERR_INPUT : MXV_OK;
}

static enum mxv_status open_tier(const char *name, enum mxv_kernel kernel,
                                 const struct mxv_selftest_options *options, struct mxv_tier **tier,
                                 char *message, size_t size)
{
    const struct mxv_tier_options o = {.tier = name,
                                       .kernel = mxv_choice_name(MXV_CHOICE_KERNEL, kernel),
                                       .count = options->count};
    return mxv_tier_open(&o, tier, message, size);
}

static enum mxv_status try_kernel(enum mxv_kernel kernel,
                                  const struct mxv_selftest_options *options,
                                  struct mxv_selftest_cell *cells, char *message, size_t size)
{
    struct mxv_tier *tier, *smoke;
    struct subject s = {0};
    enum mxv_fault list[MXV_FAULT_COUNT];
    enum mxv_status status = open_tier("smoke", kernel, options, &smoke, message, size);
    if (status != MXV_OK)
        return status;
    s.smoke = mxv_tier_count(smoke);
    mxv_tier_close(smoke);
    status = open_tier("quick", kernel, options, &tier, message, size);
    for (size_t i = 0; status == MXV_OK && i < mxv_tier_count(tier) && pending(cells, list); i++) {
        mxv_tier_case(tier, i, &s.c);
        status = try_case(&s, cells, message, size);
    }
    if (tier)
        mxv_tier_close(tier);
    return status;
}

static enum mxv_status choose(const struct mxv_selftest_options *o, struct mxv_selftest_faults *out,
                              char *message, size_t size)
{
    unsigned kernel = 0;
    enum mxv_fault fault = MXV_FAULT_COUNT;
    bool all = !o->kernel || strcmp(o->kernel, "all") == 0;
    if (!all && !mxv_choice_find(MXV_CHOICE_KERNEL, o->kernel, &kernel)) {
        snprintf(message, size, "no kernel named `%s`; see mxverify list kernels", o->kernel);
        return MXV_ERR_INPUT;
    }
    if (o->fault && !mxv_fault_find(o->fault, &fault)) {
        snprintf(message, size, "no fault named `%s`; see mxverify list faults", o->fault);
        return MXV_ERR_INPUT;
    }
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
            bool wanted = (all || k == kernel) && (!o->fault || f == (unsigned)fault);
            bool applies = wanted && mxv_fault_get((enum mxv_fault)f)->kernels >> k & 1;
            out->cells[k][f].applies = applies;
            out->applicable += applies;
        }
    return MXV_OK;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum mxv_status mxv_selftest_faults(const struct mxv_selftest_options *options,
                                    struct mxv_selftest_faults *out, char *message, size_t size)
{
    enum mxv_fault list[MXV_FAULT_COUNT];
    double start = now();
    memset(out, 0, sizeof *out);
    enum mxv_status status = choose(options, out, message, size);
    for (unsigned k = 0; status == MXV_OK && k < MXV_KERNEL_COUNT; k++)
        if (pending(out->cells[k], list))
            status = try_kernel((enum mxv_kernel)k, options, out->cells[k], message, size);
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++)
        for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
            out->caught += out->cells[k][f].caught;
            out->right_stage += out->cells[k][f].right_stage;
        }
    out->seconds = now() - start;
    return status;
}
