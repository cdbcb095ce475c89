// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to verification: what is kept of one head while a case is judged.
#ifndef MXV_VERIFY_PRIVATE_H
#define MXV_VERIFY_PRIVATE_H

#include <mxverify/verify.h>

// Score tiles of one emulation of a head, collected from its taps.
struct score_sheet {
    float *scores;   // [lq][lk], NaN where no tile was processed
    uint8_t *routes; // [query tiles][key tiles], MXV_ROUTE_SKIP where none
};

struct head_result {
    size_t sequence, head, lq, lk;
    uint32_t *emulated, *subject;         // [lq][d]
    uint32_t *emulated_lse, *subject_lse; // [lq]
    struct score_sheet emulated_scores, subject_scores;
    struct mxv_tap_record emulated_taps, subject_taps;
    struct mxv_taps_where where;
    bool differs;
    // truth
    size_t *rows, row_count;
    bool *undefined; // [lq] rows in reach of a NaN or infinity: arithmetic by IEEE rules only
    struct mxv_truth_ball *from_inputs, *from_operands; // [row_count][d]
    double bound_ratio;
    size_t bound_row, undefined_rows;
    double *score_error; // [query tiles][key tiles] largest |score - exact score of the inputs|
    char message[256];
    int status; // enum mxv_status
};

struct verification {
    const struct mxv_case *c;
    const struct mxv_verify_options *options;
    struct mxv_case_data data;
    struct mxv_attention subject_call; // with the faults of the case
    size_t heads;                      // sequences * heads_q
    struct head_result *results;
};

// Exact attention of both kinds, score errors and the bound of one head.
int verify_truth(struct verification *v, struct head_result *h);
// Maps of the worst head into the folder of the options.
int verify_maps(struct verification *v, struct mxv_verify_result *out);

#endif
