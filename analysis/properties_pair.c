// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Two calls side by side, for the properties that relate calls. tests/gate/test_properties.c fails
// if this is wrong.
#include "properties_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pair_free(struct pair *p)
{
    outputs_free(&p->oa);
    outputs_free(&p->ob);
    mxv_case_free(&p->a);
    mxv_case_free(&p->b);
    free(p);
}

struct pair *pair_make(struct trial *t, size_t lq, size_t lk)
{
    struct pair *p = calloc(1, sizeof *p);
    if (!p) {
        trial_no_memory(t);
        return NULL;
    }
    p->first = t->c;
    p->first.seqs.count = 0;
    p->first.batch = 1;
    p->first.lq = lq;
    p->first.lk = lk;
    p->second = p->first;
    return p;
}

int pair_build(struct trial *t, struct pair *p)
{
    int status = trial_build(t, &p->first, &p->a);
    return status == TRIAL_DONE ? trial_build(t, &p->second, &p->b) : status;
}

int pair_run(struct trial *t, struct pair *p)
{
    int status = trial_run(t, &p->a.a, &p->oa);
    return status == TRIAL_DONE ? trial_run(t, &p->b.a, &p->ob) : status;
}

void copy_tokens(const float *source, size_t source_tokens, size_t from, float *target,
                 size_t target_tokens, size_t to, size_t count, size_t heads, size_t d)
{
    for (size_t h = 0; h < heads; h++)
        memcpy(target + (h * target_tokens + to) * d, source + (h * source_tokens + from) * d,
               count * d * sizeof *target);
}

bool trial_released(const struct trial *t)
{
    return t->c.kernel == MXV_KERNEL_DMA_RELEASED;
}

bool sees_whole_sequence(const struct mxv_case *c)
{
    return c->smooth_k || c->dual == MXV_DUAL_TENSOR || c->dual == MXV_DUAL_CHANNEL ||
           c->v == MXV_E4M3;
}

double largest_value(const struct mxv_attention *a)
{
    double most = 0;
    for (size_t i = 0; i < a->heads_kv * a->cu_k[a->sequences] * a->d; i++)
        most = fmax(most, fabs((double)a->v[i]));
    return most;
}
