// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Models evaluated on the device one output at a time, for gpu/emulate_check. Device pointers;
// results of type cudaError_t.
#ifndef MXV_EMULATE_CHECK_H
#define MXV_EMULATE_CHECK_H

#include "emulate_draw.h"

#ifdef __cplusplus
extern "C" {
#endif

// out[i] = dots[i] of k[i] products under an NVIDIA row (emulate_dot.h).
int mxv_emulate_dots(const struct mxv_mma_model *m, const struct draw_dot *dots, const uint32_t *k,
                     size_t count, uint32_t *out);

enum {
    MXV_EMULATE_EX2,
    MXV_EMULATE_RCP,
    MXV_EMULATE_LG2,
    MXV_EMULATE_UNDECIDED,
    MXV_EMULATE_COUNTERS
};

// Over all 2^32 words: where the integer model differs from the instruction of this device (ex2,
// rcp, lg2, all .approx.ftz.f32; any NaN equals any NaN), and where the correctly rounded 2^x is
// undecided.
int mxv_emulate_words(unsigned long long counters[MXV_EMULATE_COUNTERS]);

#ifdef __cplusplus
}
#endif
#endif
