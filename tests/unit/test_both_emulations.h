// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The second emulation and the engine, for tests that hold both to the same words.
#ifndef MXV_TEST_BOTH_EMULATIONS_H
#define MXV_TEST_BOTH_EMULATIONS_H

#include "test_plain_case.h"

typedef int emulation(const struct mxv_attention *a, size_t sequence, size_t head, uint32_t *out,
                      uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size);
static emulation *const emulations[] = {mxv_plain_head, mxv_engine_head};

static void run(struct plain_case *t, emulation *head)
{
    const struct mxv_tap_sink sink = {case_take, t};
    char message[200] = "";
    case_forget_taps(t);
    if (head(&t->a, 0, 0, t->out, t->lse, &sink, message, sizeof message) != 0)
        fail_msg("refused: %s", message);
}

#endif
