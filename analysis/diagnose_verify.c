// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From a verified case to its diagnosis: the heads that differ, as sheets, and the known fault that
// gives the same words (diagnose_fault.c). Heads without a
// difference take part, so that "only head 3" can be said. When memory is short that is what it
// says: the verdict stands without it.
#include "verify.h"
#include <mxverify/diagnose.h>
#include <stdio.h>
#include <stdlib.h>

void verify_diagnose(struct verification *v, struct mxv_verify_result *out)
{
    struct mxv_diagnosis d;
    struct mxv_diagnose_head *heads = calloc(v->heads + 1, sizeof *heads);
    for (size_t i = 0; heads && i < v->heads; i++) {
        const struct head_result *h = &v->results[i];
        heads[i] = (struct mxv_diagnose_head){.sequence = h->sequence,
                                              .head = h->head,
                                              .lq = h->lq,
                                              .lk = h->lk,
                                              .expected_scores = h->emulated_scores.scores,
                                              .got_scores = h->subject_scores.scores,
                                              .routes = h->emulated_scores.routes,
                                              .expected_out = h->emulated,
                                              .got_out = h->subject};
        if (v->data.a.lse != MXV_LSE_NONE) {
            heads[i].expected_lse = h->emulated_lse;
            heads[i].got_lse = h->subject_lse;
        }
    }
    char fault[400] = "";
    if (v->options->name_fault)
        verify_name_fault(v, fault, sizeof fault);
    bool known = heads && mxv_diagnose(&v->data.a, heads, v->heads, &d) == 0;
    snprintf(out->diagnosis, sizeof out->diagnosis, "%s%s", fault,
             known ? d.sentence : "no diagnosis: out of memory");
    free(heads);
}
