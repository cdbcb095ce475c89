// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Diagnosis: what the pattern of wrong scores or outputs of a failing case looks like, in one
// sentence. The scores are looked at where any differ, else the outputs, else the LSE.
//
// Every hypothesis of hypotheses.def is scored on the damaged cells. A place (WHERE) must hold all
// of them; its score grows with the part of it that is damaged and with what it leaves out. A rule
// (WHAT) must explain at least nine damaged cells in ten. The best place and the best rule make the
// sentence. It is a reading of the pattern, not a proof: a verdict never depends on it.
// Threads: independent calls. Deterministic: of equal scores the earlier row wins.
#ifndef MXVERIFY_DIAGNOSE_H
#define MXVERIFY_DIAGNOSE_H

#include <mxverify/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mxv_hypothesis {
#define X(id, name, kind, weight, text) MXV_HYPOTHESIS_##id,
#include <mxverify/hypotheses.def>
#undef X
    MXV_HYPOTHESIS_COUNT
};

// NULL beyond the last one.
const char *mxv_hypothesis_name(unsigned hypothesis);
// The hypothesis's text in hypotheses.def.
const char *mxv_hypothesis_text(unsigned hypothesis);

// One query head of one sequence, as expected and as got. Pointers stay the caller's.
struct mxv_diagnose_head {
    size_t sequence, head, lq, lk;
    const float *expected_scores, *got_scores; // [lq][lk], NaN where no tile was processed
    const uint8_t *routes;                     // [query tiles][key tiles] of the expected scores
    const uint32_t *expected_out, *got_out;    // [lq][d] codes of a->out
    const uint32_t *expected_lse, *got_lse;    // [lq] binary32 words, or NULL
};

enum mxv_diagnosis_sheet { MXV_SHEET_SCORES, MXV_SHEET_OUTPUT, MXV_SHEET_LSE, MXV_SHEET_NONE };

struct mxv_diagnosis {
    enum mxv_diagnosis_sheet sheet; // where the errors were looked at
    enum mxv_hypothesis where, what;
    double where_score, what_score; // 0..1
    size_t compared, damaged;       // cells
    char sentence[640];
};

// 0, or -1 when memory is short. `a` gives tiles, mask, formats; its tensors are not read.
int mxv_diagnose(const struct mxv_attention *a, const struct mxv_diagnose_head *heads, size_t count,
                 struct mxv_diagnosis *out);

#ifdef __cplusplus
}
#endif
#endif
