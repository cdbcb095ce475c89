/* SPDX-FileCopyrightText: 2026 The mxverify authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner loops of the certified truth, in binary64. Private to ref/truth_certified*.c. Each exists
 * once for every instruction level, from one text (truth_kernels_body.h), and gives the same bits
 * at each: additions, multiplications and table entries in a stated order, no fused operation.
 */
#ifndef MXV_TRUTH_KERNELS_H
#define MXV_TRUTH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MXV_PANEL = 8,       /* keys of one dot kernel, and columns of v of one sum kernel */
    MXV_STRIP = 4,       /* rows of either */
    MXV_SUM_BLOCK = 16,  /* keys summed plainly before they enter the compensated total */
    MXV_EXP2_STEPS = 128 /* table entries of 2^(i/128) */
};

/* A key that a row does not see: its weight comes out as 0. */
#define MXV_UNSEEN (-0x1p1000)
/* Weights below 2^MXV_EXP2_LEAST are taken as 0. */
#define MXV_EXP2_LEAST (-1000.0)

struct mxv_truth_kernels {
    /*
     * sum[r][c] = (onto ? sum[r][c] : 0) + sum_e q[e][r] * k[e][c], r < MXV_STRIP, c < MXV_PANEL;
     * exact if all partial sums are integers of at most 2^53.
     */
    void (*dots)(const double *q, const double *k, size_t d, bool onto, double *sum);
    /* high + low = hh * f[0] + cross * f[1] + ll * f[2], all times unit[c], c < MXV_PANEL. */
    void (*join)(const double *hh, const double *cross, const double *ll, const double *f,
                 const double *unit, double *high, double *low);
    /* high[j] = 2^(factor * (high[j] + low[j] - high_top - low_top)), j < n, n % MXV_PANEL = 0. */
    void (*weigh)(double *high, const double *low, size_t n, double high_top, double low_top,
                  double factor);
    /*
     * total[r * stride + c] + error[r * stride + c] += sum of w[r * w_stride + j] * v[j * stride +
     * c], j < MXV_SUM_BLOCK, c < stride, r < MXV_STRIP; stride % MXV_PANEL = 0.
     */
    void (*add)(const double *w, size_t w_stride, const double *v, size_t stride, double *total,
                double *error);
};

/* The kernels of the level in use. */
const struct mxv_truth_kernels *mxv_truth_kernels(void);

extern const double mxv_truth_exp2_table[MXV_EXP2_STEPS];
extern const struct mxv_truth_kernels mxv_truth_kernels_avx2; /* x86-64 */

#endif
