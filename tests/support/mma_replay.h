// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Replays a matrix-unit capture through a model, by mxv_mma_dot and by mxv_mma_tile, and counts the
// words that differ from the recorded ones.
#ifndef MXV_TESTS_MMA_REPLAY_H
#define MXV_TESTS_MMA_REPLAY_H

#include "vector_file.h"

#include <mxverify/matrix_unit.h>

static const char *const h200_captures[] = {
    "mma_f16_f32",  "mma_f16_f16", "mma_bf16_f32", "mma_tf32_f32", "mma_e4m3_f32", "mma_e4m3_f16",
    "mma_e5m2_f32", "mma_s8_s32",  "wg_f16_f32",   "wg_f16_f16",   "wg_bf16_f32",  "wg_tf32_f32",
    "wg_e4m3_f32",  "wg_e4m3_f16", "wg_e5m2_f32",  "wg_s8_s32",
};

enum { H200_CAPTURES = sizeof h200_captures / sizeof h200_captures[0] };

// mma_e4m3_f32 is model sm_90.mma.e4m3.f32, wg_... is sm_90.wgmma....
static inline const struct mxv_mma_model *mma_capture_model(const char *capture)
{
    char name[64], *dot;
    const char *formats = strchr(capture, '_') + 1;
    snprintf(name, sizeof name, "sm_90.%s.%s", capture[0] == 'w' ? "wgmma" : "mma", formats);
    for (dot = name + 6; (dot = strchr(dot, '_')) != NULL;)
        *dot = '.';
    return mxv_mma_find(name);
}

static inline size_t mma_replay_dot(const struct mma_capture *t, const struct mxv_mma_model *m)
{
    size_t wrong = 0;
    for (size_t i = 0; i < t->tiles * t->rows * t->cols; i++) {
        size_t tile = i / (t->rows * t->cols), r = i / t->cols, c = tile * t->cols + i % t->cols;
        wrong +=
            mxv_mma_dot(m, t->k, t->a + r * t->k, t->b + c * t->k, t->c[i], NULL, NULL) != t->d[i];
    }
    return wrong;
}

static inline size_t mma_replay_tile(const struct mma_capture *t, const struct mxv_mma_model *m)
{
    size_t a_count = t->rows * t->k, b_count = t->cols * t->k, n = t->rows * t->cols, wrong = 0;
    struct mxv_operand *a = malloc(a_count * sizeof *a), *b = malloc(b_count * sizeof *b);
    for (size_t i = 0; a && b && i < t->tiles; i++) {
        uint32_t cd[64 * 8];
        mxv_mma_decode_a(m, t->a + i * a_count, a_count, a);
        mxv_mma_decode_b(m, t->b + i * b_count, b_count, b);
        memcpy(cd, t->c + i * n, n * sizeof *cd);
        mxv_mma_tile(m, t->rows, t->cols, t->k, a, b, NULL, NULL, cd, t->cols);
        for (size_t j = 0; j < n; j++)
            wrong += cd[j] != t->d[i * n + j];
    }
    free(a);
    free(b);
    return wrong;
}

#endif
