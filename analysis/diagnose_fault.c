// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The second half of a diagnosis: which known fault (faults.def) gives the words of a failing case.
// Every fault of the kernel is emulated alone on the smallest head that differs.
//   exact   output, LSE and taps, as far as the implementation has them, are those of the fault
//           and not those of the emulation; several are named when the head cannot tell them apart
//   near    else: the outputs are eight times nearer to the fault's than to the emulation's, summed
//           over the head. An implementation with roundings of its own and a known defect
// A head beyond 2^23 products of Q and K is left out, so that a failure costs seconds at most. What
// is found depends on the case alone. tests/gate/test_diagnose_fault.c fails if a fault is not
// named, or named where there is another defect.
#include "verify_adapter.h"
#include <math.h>
#include <mxverify/faults.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCTS_MAX = 1 << 23, NAMED_MAX = 3 };
static const double near_enough = 0.125;

struct fit {
    bool exact;
    double left; // distance to the fault / distance to the emulation
};

static const struct head_result *smallest_head(const struct verification *v)
{
    const struct head_result *best = NULL;
    for (size_t i = 0; i < v->heads; i++) {
        const struct head_result *h = &v->results[i];
        size_t d = v->data.a.d, n = h->lq * d;
        bool differs = h->differs || memcmp(h->emulated, h->subject, n * sizeof *h->subject) != 0;
        if (differs && !h->failure && n * h->lk <= PRODUCTS_MAX &&
            (!best || h->lq * h->lk < best->lq * best->lk))
            best = h;
    }
    return best;
}

// Sum of |x - y| over numbers; an infinity where one side is none and the other is.
static double distance(enum mxv_element format, const uint32_t *x, const uint32_t *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double a = mxv_code_value(format, x[i]), b = mxv_code_value(format, y[i]);
        bool same = x[i] == y[i] || (isnan(a) && isnan(b)) || a == b;
        sum += same ? 0 : isfinite(a - b) ? fabs(a - b) : INFINITY;
    }
    return sum;
}

static double sum_of(enum mxv_element format, const uint32_t *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double a = fabs(mxv_code_value(format, x[i]));
        sum += isfinite(a) ? a : 0;
    }
    return sum;
}

// What is left of the difference, relative; of the outputs where the emulation has NaNs elsewhere.
static double left_over(enum mxv_element format, const struct head_result *h, const uint32_t *words,
                        size_t n)
{
    double left = distance(format, words, h->subject, n);
    double whole = distance(format, h->emulated, h->subject, n);
    if (isinf(whole))
        whole = sum_of(format, h->subject, n);
    return whole > 0 ? left / whole : INFINITY;
}

// False when memory is short.
static bool fit_one(const struct verification *v, const struct head_result *h, unsigned fault,
                    uint32_t *words, struct fit *fit)
{
    struct mxv_attention call = v->data.a;
    struct mxv_tap_record record;
    struct mxv_taps_where where;
    uint32_t *lse = words + h->lq * call.d;
    char message[256];
    size_t n = h->lq * call.d;
    bool taps = verify_has_taps(v);
    call.faults = UINT64_C(1) << fault;
    mxv_tap_record_init(&record);
    struct mxv_tap_sink sink = mxv_taps_record(&record);
    int status = mxv_engine_head(&call, h->sequence, h->head, words, lse, taps ? &sink : NULL,
                                 message, sizeof message);
    int difference = 0;
    if (status == MXV_HEAD_OK) {
        bool same = distance(call.out, words, h->subject, n) == 0;
        if (call.lse != MXV_LSE_NONE && verify_judges_lse(v))
            same = same && distance(MXV_F32, lse, h->subject_lse, h->lq) == 0;
        if (same && taps)
            difference = mxv_taps_first_difference(&record, &h->subject_taps, &where);
        fit->exact = same && difference == 0;
        fit->left = left_over(call.out, h, words, n);
    }
    mxv_tap_record_free(&record);
    return status != MXV_HEAD_NO_MEMORY && difference >= 0;
}

static bool fit_all(const struct verification *v, const struct head_result *h, struct fit *fits)
{
    bool good = true;
#pragma omp parallel for schedule(dynamic)
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
        fits[f] = (struct fit){false, INFINITY};
        bool applies = f != MXV_FAULT_NONCAUSAL_REFERENCE &&
                       (mxv_fault_get((enum mxv_fault)f)->kernels >> v->data.a.kernel & 1);
        uint32_t *words = applies ? calloc(h->lq * (v->data.a.d + 1) + 1, sizeof *words) : NULL;
        if (applies && (!words || !fit_one(v, h, f, words, &fits[f]))) {
#pragma omp atomic write
            good = false;
        }
        free(words);
    }
    return good;
}

// Of several that the head does not tell apart, the first three by name, and their number.
static size_t name_exact(const struct fit *fits, char *text, size_t size)
{
    unsigned named[NAMED_MAX] = {0}, count = 0;
    char more[32] = "";
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
        if (fits[f].exact && count++ < NAMED_MAX)
            named[count - 1] = f;
    const struct mxv_fault_info *at[NAMED_MAX];
    for (unsigned i = 0; i < NAMED_MAX; i++)
        at[i] = mxv_fault_get((enum mxv_fault)named[i]);
    if (count == 0)
        return 0;
    if (count == 1)
        return (size_t)snprintf(text, size, "the words are those of fault %s: %s; ", at[0]->name,
                                at[0]->text);
    if (count > NAMED_MAX)
        snprintf(more, sizeof more, " and %u more", count - NAMED_MAX);
    return (size_t)snprintf(text, size, "the words are those of faults %s, %s%s%s%s alike; ",
                            at[0]->name, at[1]->name, count > 2 ? ", " : "",
                            count > 2 ? at[2]->name : "", more);
}

static size_t name_near(const struct fit *fits, char *text, size_t size)
{
    unsigned best = 0;
    for (unsigned f = 1; f < MXV_FAULT_COUNT; f++)
        if (fits[f].left < fits[best].left)
            best = f;
    if (!(fits[best].left <= near_enough))
        return 0;
    const struct mxv_fault_info *info = mxv_fault_get((enum mxv_fault)best);
    return (size_t)snprintf(text, size,
                            "the outputs are nearly those of fault %s (%.2g%% of the difference is "
                            "left): %s; ",
                            info->name, 100 * fits[best].left, info->text);
}

size_t verify_name_fault(const struct verification *v, char *text, size_t size)
{
    struct fit fits[MXV_FAULT_COUNT];
    const struct head_result *h = smallest_head(v);
    text[0] = 0;
    if (!h)
        return 0;
    if (!fit_all(v, h, fits))
        return (size_t)snprintf(text, size, "no fault is named, as memory is short; ");
    size_t n = name_exact(fits, text, size);
    return n ? n : name_near(fits, text, size);
}
