// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A call that is being emulated: the operand steps of cuda_state.h, and one launch per route.
#ifndef MXV_EMULATE_STATE_H
#define MXV_EMULATE_STATE_H

#include "cuda_state.h"
#include "emulate.h"

struct emulation {
    struct state s;
    struct mxv_emulate_call call;
    struct mxv_emulate_scores route[MXV_ROUTE_COUNT]; // operands and models; no call, no pairs
    size_t query_tiles, key_tiles;                    // of all sequences; of the longest
};

// A row of ref/models.def as the kernels want it; refused in `run` where they have none.
struct mxv_emulate_model emulate_model(struct cuda_run *run, const char *name);

// Matrix units and operands of the call, on the device. Failures are in e->s.run.
void emulate_prepare(struct emulation *e);

#endif
