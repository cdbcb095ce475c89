// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Band widths of plan `entropy` (docs/kernels/dma.md 2): the attention entropy of a query tile is
// the mean over its rows that see a key of H = -sum p ln p, p the softmax of the row over its
// visible keys, from the original inputs. Below the threshold, strictly, the band is floor(lk/16)
// tokens, else floor(lk/8), in key tiles rounded up, at least one. Binary64, sums in index order,
// exp and ln by the series below (+ - * / and exact scaling only), so that a width does not depend
// on the machine's libm; relative error of either below 2^-50, of H some 2^-45, so that a width is
// exact unless H lies that near to the threshold. Rows with NaN: H is NaN, not below the threshold.
// tests/unit/test_case_plan.c fails if this is wrong (closed forms; MPFR).
#include "case_internal.h"
#include <math.h>
#include <stdlib.h>

// e^x for x <= 0: x = k ln 2 + r, |r| <= 0.35, Taylor to r^16 (remainder below 2^-70).
static double exp_series(double x)
{
    if (!(x > -745))
        return x == x ? 0 : x;
    double k = (double)(long)(x * 1.4426950408889634 - 0.5);
    double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    double sum = 1;
    for (int n = 16; n > 0; n--)
        sum = 1 + sum * r / n;
    return ldexp(sum, (int)k);
}

// ln x for normal x > 0: x = m 2^k, m in [0.7, 1.41], 2 artanh((m-1)/(m+1)) to the power 25.
static double ln_series(double x)
{
    int k;
    double m = frexp(x, &k);
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    double t = (m - 1) / (m + 1), t2 = t * t, sum = 0;
    for (int n = 25; n > 0; n -= 2)
        sum = sum * t2 + 1.0 / n;
    return (double)k * 0x1.62e42fee00000p-1 + ((double)k * 0x1.a39ef35793c76p-33 + 2 * t * sum);
}

static double dot(const float *q, const float *k, size_t d)
{
    double sum = 0;
    for (size_t c = 0; c < d; c++)
        sum += (double)q[c] * (double)k[c];
    return sum;
}

// H = ln Z - (sum w s) / Z with s the scores less their maximum, w = e^s, Z = sum w.
static double entropy(const double *scores, size_t n)
{
    double max = scores[0], z = 0, weighted = 0;
    for (size_t i = 0; i < n; i++) {
        if (scores[i] != scores[i])
            return scores[i];
        max = scores[i] > max ? scores[i] : max;
    }
    for (size_t i = 0; i < n; i++) {
        double s = scores[i] - max, w = exp_series(s);
        z += w;
        weighted += w == 0 ? 0 : w * s;
    }
    return ln_series(z) - weighted / z;
}

static double tile_entropy(const struct mxv_attention *a, size_t sequence, size_t head, size_t tile,
                           double *scores)
{
    size_t lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    size_t lk = a->cu_k[sequence + 1] - a->cu_k[sequence];
    size_t kv = head / (a->heads_q / a->heads_kv), rows = 0;
    const float *q = a->q + (head * a->cu_q[a->sequences] + a->cu_q[sequence]) * a->d;
    const float *k = a->k + (kv * a->cu_k[a->sequences] + a->cu_k[sequence]) * a->d;
    double sum = 0;
    for (size_t i = tile * a->tile_m; i < (tile + 1) * a->tile_m && i < lq; i++) {
        size_t first, end;
        mxv_attention_visible(a, lq, lk, i, &first, &end);
        if (first >= end)
            continue;
        for (size_t j = first; j < end; j++)
            scores[j - first] = a->scale * dot(q + i * a->d, k + j * a->d, a->d);
        sum += entropy(scores, end - first);
        rows++;
    }
    return rows ? sum / (double)rows : 0;
}

static uint32_t width_of(const struct mxv_case *c, const struct mxv_attention *a, size_t lk,
                         double h)
{
    size_t tokens = h < c->entropy_threshold ? lk / 16 : lk / 8;
    size_t tiles = (tokens + a->tile_n - 1) / a->tile_n;
    return tiles ? (uint32_t)tiles : 1;
}

static void head_widths(const struct mxv_case *c, const struct mxv_attention *a, size_t head,
                        uint32_t *widths, double *scores)
{
    for (size_t s = 0; s < a->sequences; s++) {
        size_t first = mxv_attention_first_tile(a, s), lk = a->cu_k[s + 1] - a->cu_k[s];
        size_t count = mxv_attention_first_tile(a, s + 1) - first;
        for (size_t i = 0; i < count; i++)
            widths[first + i] = width_of(c, a, lk, tile_entropy(a, s, head, i, scores));
    }
}

enum mxv_status case_make_widths(const struct mxv_case *c, struct mxv_case_data *data,
                                 char *message, size_t size)
{
    struct mxv_attention *a = &data->a;
    size_t tiles = mxv_attention_first_tile(a, a->sequences), keys = a->cu_k[a->sequences];
    double *scores = malloc((a->heads_q * keys + 1) * sizeof *scores);
    data->diag_tiles = calloc(a->heads_q * tiles + 1, sizeof *data->diag_tiles);
    a->diag_tiles = data->diag_tiles;
    if (!scores || !data->diag_tiles) {
        free(scores);
        text_message(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
#pragma omp parallel for schedule(dynamic) if (a->heads_q * keys > 1000)
    for (size_t head = 0; head < a->heads_q; head++)
        head_widths(c, a, head, data->diag_tiles + head * tiles, scores + head * keys);
    free(scores);
    return MXV_OK;
}
