// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Option fold of kernel tilemix (docs/kernels/tilemix.md 3): on INT8 tiles the exponent of P of a
// visible key is one fma of the integer sum. What every other key has is an fma of its score with
// c, so a row is told by two numbers a key. A score that a fault has replaced enters as a score.
// tests/unit/test_fold.c holds hand-computed values; tests/gate compares every tap with ref/plain/.
#include "engine_faults.h"

void fold_take(const struct head *h, size_t first, size_t rows, size_t key, size_t cols,
               const uint32_t *s, struct folded *f)
{
    const float *dq = h->q.copy[MXV_ROUTE_INT8].scales + first;
    const float *dk = h->k.copy[MXV_ROUTE_INT8].scales + key;
    const size_t bn = h->a->tile_n;
    for (size_t r = 0; r < rows; r++)
        for (size_t n = 0; n < cols; n++) {
            f->x[r * bn + n] = word_of((float)(int32_t)s[r * bn + n]);
            f->factor[r * bn + n] = dq[r] * dk[n];
        }
}

void fold_finish(const struct head *h, size_t i, size_t j, size_t rows, const uint32_t *s,
                 struct folded *f)
{
    const size_t bn = h->a->tile_n;
    const float c = h->recipe.softmax.c;
    for (size_t r = 0; r < rows; r++) {
        size_t first, end;
        mxv_attention_visible(h->a, h->lq, h->lk, i * h->a->tile_m + r, &first, &end);
        end = fault_visible_end(h, end);
        for (size_t n = 0; n < bn; n++) {
            const size_t at = r * bn + n, key = j * bn + n;
            const float scales = f->factor[at];
            const bool visible = key >= first && key < end && key < h->lk;
            const bool own = visible && word_of(value_of(f->x[at]) * scales) == s[at];
            f->factor[at] = own ? scales * c : c;
            if (!own)
                f->x[at] = s[at];
        }
    }
}
