// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the diagnosis share.
#ifndef MXV_DIAGNOSE_INTERNAL_H
#define MXV_DIAGNOSE_INTERNAL_H

#include <mxverify/diagnose.h>

enum cell_state { CELL_IGNORED, CELL_EQUAL, CELL_DAMAGED };

// Scores (rows x keys) or output (rows x channels) of one head.
struct sheet {
    const struct mxv_diagnose_head *h;
    size_t rows, cols, tile_rows, tile_cols;
    const float *expected, *got; // [rows][cols]
    uint8_t *state;              // [rows][cols] enum cell_state
    size_t compared, damaged;
    float *owned; // decoded outputs
};

struct sheets {
    const struct mxv_attention *a;
    struct sheet *at;
    size_t count;
    bool scores;
    size_t compared, damaged;
};

struct finding {
    double score; // 0..1 before the weight
    char text[256];
};

// Whether a cell lies in a place.
typedef bool place_test(const struct sheets *s, const struct sheet *sheet, size_t row, size_t col,
                        const void *ctx);

#define X(id, name, kind, weight, text)                                                            \
    void hypothesis_##id(const struct sheets *s, struct finding *f);
#include <mxverify/hypotheses.def>
#undef X

bool same_word(float a, float b);
// No difference beyond 2^-5 of the largest value of its row.
bool differences_are_small(const struct sheets *s);

#endif
