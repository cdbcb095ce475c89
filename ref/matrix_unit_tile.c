// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxv_mma_tile: the instructions of matrix_unit.c over a tile, LANES columns side by side. Each
// lane runs its own chain; lanes never mix, so no order of summation changes. Per step and lane: a
// pass for the largest exponent, a pass that shifts and adds, one conversion.
//
// Why it equals mxv_mma_dot although zeros are skipped in the maximum: a zero product takes part
// with z, and z is below the exponent of any nonzero accumulator (asserted where the row is read);
// with c = 0 the accumulator itself takes part with z. So the maximum over nonzero products and the
// accumulator is the same number. Specials: an accumulator that is NaN or infinite stays what it is
// while operands are finite; a chunk with a special operand or NaN scale goes through
// mxv_mma_dot_operands. Aligned products are below 2^(F+2) <= 2^27, sixteen of them below 2^31
// (largest product 3.996 * 2^F), hence int32 partial sums. unit.matrix_unit_tile compares every
// model with mxv_mma_dot, specials included.
#include "matrix_unit_internal.h"

#include <string.h>

enum { LANES = 16, CHUNK = 256, MAX_BLOCKS = CHUNK / MXV_MMA_GST_GROUP, PARTIAL = 16 };

// CHUNK products of LANES columns; position i of an HMMA_FP8 instruction is hmma_order(i).
struct columns {
    int16_t sig[CHUNK][LANES];
    int16_t exp[CHUNK][LANES];
    struct mxv_mma_scale scale[MAX_BLOCKS][LANES];
    bool special[LANES];
};

struct row {
    int16_t sig[CHUNK];
    int16_t exp[CHUNK];
    struct mxv_mma_scale scale[MAX_BLOCKS];
    bool special;
};

// One instruction at product `at` on all lanes, words in c.
typedef void instruction_fn(const struct mxv_mma_model *m, const struct row *r,
                            const struct columns *cols, size_t at, uint32_t c[LANES]);

// A step of m->step finite products at `at`: largest exponent and aligned sum on 2^(top-F).
static void sum_step(const struct mxv_mma_model *m, const struct row *r, const struct columns *cols,
                     size_t at, const int scale_exp[LANES], const struct mxv_mma_acc acc[LANES],
                     int top[LANES], int64_t sum[LANES])
{
    int16_t product_top[LANES];
    int32_t partial[LANES];
    const unsigned up = m->frac_bits - (unsigned)mxv_mma_product_frac(m);
    const int acc_up = (int)m->frac_bits - mxv_mma_acc_frac(m);
    for (int j = 0; j < LANES; j++)
        product_top[j] = 2 * MXV_OPERAND_ZERO;
    for (size_t i = at; i < at + m->step; i++) {
        for (int j = 0; j < LANES; j++) {
            int16_t exp = (int16_t)(r->exp[i] + cols->exp[i][j]);
            product_top[j] = exp > product_top[j] ? exp : product_top[j];
        }
    }
    for (int j = 0; j < LANES; j++) {
        int acc_exp = acc[j].sig ? acc[j].exp : m->zero_exp;
        int exp = product_top[j] + scale_exp[j];
        top[j] = exp > acc_exp ? exp : acc_exp;
        product_top[j] = (int16_t)(top[j] - scale_exp[j]);
        int64_t v = acc[j].sig;
        int64_t t = (int64_t)mxv_mma_shift((uint64_t)(v < 0 ? -v : v), acc_up - (top[j] - acc_exp));
        sum[j] = v < 0 ? -t : t;
    }
    for (size_t from = at; from < at + m->step; from += PARTIAL) {
        size_t end = at + m->step < from + PARTIAL ? at + m->step : from + PARTIAL;
        memset(partial, 0, sizeof partial);
        for (size_t i = from; i < end; i++) {
            for (int j = 0; j < LANES; j++) {
                int32_t p = r->sig[i] * cols->sig[i][j];
                int32_t down = product_top[j] - (r->exp[i] + cols->exp[i][j]);
                int32_t sign = p >> 31;
                uint32_t magnitude = (uint32_t)((p ^ sign) - sign) << up;
                int32_t t = (int32_t)(magnitude >> (down > 31 ? 31 : down));
                partial[j] += (t ^ sign) - sign;
            }
        }
        for (int j = 0; j < LANES; j++)
            sum[j] += partial[j];
    }
}

static void step_lanes(const struct mxv_mma_model *m, const struct row *r,
                       const struct columns *cols, size_t at, const int scale_exp[LANES],
                       uint32_t c[LANES])
{
    struct mxv_mma_acc acc[LANES];
    int top[LANES];
    int64_t sum[LANES];
    for (int j = 0; j < LANES; j++)
        acc[j] = mxv_mma_unpack(m, c[j]);
    sum_step(m, r, cols, at, scale_exp, acc, top, sum);
    for (int j = 0; j < LANES; j++) {
        if (acc[j].class == MXV_MMA_FINITE)
            c[j] = mxv_mma_convert(m, sum[j], top[j] - (int)m->frac_bits);
        else
            c[j] = acc[j].class == MXV_MMA_INFINITE ? mxv_mma_infinity(m, acc[j].negative)
                                                    : mxv_mma_nan(m);
    }
}

static void lanes_t(const struct mxv_mma_model *m, const struct row *r, const struct columns *cols,
                    size_t at, uint32_t c[LANES])
{
    int scale_exp[LANES] = {0};
    if (m->rule == MXV_MMA_ST) {
        for (int j = 0; j < LANES; j++)
            scale_exp[j] = r->scale[at / m->block].exp + cols->scale[at / m->block][j].exp;
    }
    for (size_t i = 0; i < m->k; i += m->step)
        step_lanes(m, r, cols, at + i, scale_exp, c);
}

static void lanes_hmma_fp8(const struct mxv_mma_model *m, const struct row *r,
                           const struct columns *cols, size_t at, uint32_t c[LANES])
{
    const int scale_exp[LANES] = {0};
    uint32_t sum[LANES] = {0};
    for (size_t i = 0; i < m->k; i += m->step)
        step_lanes(m, r, cols, at + i, scale_exp, sum);
    for (int j = 0; j < LANES; j++)
        c[j] = mxv_mma_final_add(m, sum[j], c[j]);
}

// Exact sums of 16 products (|q| <= 2304) and whether any product is nonzero.
static void sum_groups(const struct row *r, const struct columns *cols, size_t at, int16_t q[LANES],
                       int16_t any[LANES])
{
    memset(q, 0, LANES * sizeof *q);
    memset(any, 0, LANES * sizeof *any);
    for (size_t i = at; i < at + MXV_MMA_GST_GROUP; i++) {
        for (int j = 0; j < LANES; j++) {
            int16_t p = (int16_t)(r->sig[i] * cols->sig[i][j]);
            q[j] = (int16_t)(q[j] + p);
            any[j] |= p;
        }
    }
}

static int64_t align(int64_t v, int shift)
{
    int64_t t = (int64_t)mxv_mma_shift((uint64_t)(v < 0 ? -v : v), shift);
    return v < 0 ? -t : t;
}

static void lanes_gst(const struct mxv_mma_model *m, const struct row *r,
                      const struct columns *cols, size_t at, uint32_t c[LANES])
{
    enum { GROUP = MXV_MMA_GST_GROUP, GROUPS = MXV_MMA_MAX_K / GROUP };
    int16_t q[GROUPS][LANES], any[GROUPS][LANES];
    const int frac = (int)m->frac_bits, sub = m->scale == MXV_UE4M3 ? 8 : 2;
    for (size_t g = 0; g < GROUPS; g++)
        sum_groups(r, cols, at + g * GROUP, q[g], any[g]);
    for (int j = 0; j < LANES; j++) {
        struct mxv_mma_acc acc = mxv_mma_unpack_f32(c[j]);
        int exp[GROUPS], acc_exp = acc.sig ? acc.exp : m->zero_exp, top = acc_exp;
        int64_t w[GROUPS];
        for (size_t g = 0; g < GROUPS; g++) {
            const struct mxv_mma_scale *sa = &r->scale[(at + g * GROUP) / m->block];
            const struct mxv_mma_scale *sb = &cols->scale[(at + g * GROUP) / m->block][j];
            int sig = sa->sig * sb->sig;
            w[g] = (int64_t)q[g][j] * sig;
            exp[g] = any[g][j] && sig ? sa->exp + sb->exp : m->zero_exp;
            top = exp[g] > top ? exp[g] : top;
        }
        int64_t sum = align(acc.sig, frac - 23 - (top - acc_exp));
        for (size_t g = 0; g < GROUPS; g++)
            sum += align(w[g], frac - sub - (top - exp[g]));
        if (acc.class == MXV_MMA_FINITE)
            c[j] = mxv_mma_convert_f32_rz(sum, top - frac, (int)m->keep_bits);
        else
            c[j] =
                acc.class == MXV_MMA_INFINITE ? mxv_mma_infinity(m, acc.negative) : MXV_MMA_NAN_F32;
    }
}

static void lanes_int(const struct mxv_mma_model *m, const struct row *r,
                      const struct columns *cols, size_t at, uint32_t c[LANES])
{
    int32_t sum[LANES] = {0};
    for (size_t i = at; i < at + m->k; i++) {
        for (int j = 0; j < LANES; j++)
            sum[j] += r->sig[i] * cols->sig[i][j];
    }
    for (int j = 0; j < LANES; j++) {
        int64_t s = (int64_t)(int32_t)c[j] + sum[j];
        if (m->saturate)
            s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
        c[j] = (uint32_t)(uint64_t)s;
    }
}

// Where product i of a chunk is stored.
static size_t position(const struct mxv_mma_model *m, size_t i)
{
    return m->rule == MXV_MMA_HMMA_FP8 ? i / m->k * m->k + mxv_mma_hmma_order(i % m->k) : i;
}

static struct mxv_mma_scale load_scale(const struct mxv_mma_model *m, const uint8_t *scale,
                                       size_t i, size_t count)
{
    return mxv_mma_unpack_scale(m, i < count ? scale[i] : mxv_mma_scale_one(m));
}

// Reads n products (padded to `padded`) of one row.
static void load_row(const struct mxv_mma_model *m, const struct mxv_operand *a, size_t n,
                     size_t padded, const uint8_t *scale, struct row *out)
{
    size_t blocks = mxv_mma_scale_count(m, padded), count = mxv_mma_scale_count(m, n);
    out->special = false;
    for (size_t i = 0; i < padded; i++) {
        size_t from = position(m, i);
        out->sig[i] = from < n ? a[from].sig : 0;
        out->exp[i] = from < n ? a[from].exp : MXV_OPERAND_ZERO;
        out->special |= out->exp[i] >= MXV_OPERAND_INF;
    }
    for (size_t i = 0; i < blocks; i++) {
        out->scale[i] = load_scale(m, scale, i, count);
        out->special |= out->scale[i].nan;
    }
}

static void load_column(const struct mxv_mma_model *m, const struct mxv_operand *b, size_t n,
                        size_t padded, const uint8_t *scale, size_t lane, struct columns *out)
{
    size_t blocks = mxv_mma_scale_count(m, padded), count = mxv_mma_scale_count(m, n);
    out->special[lane] = false;
    for (size_t i = 0; i < padded; i++) {
        size_t from = position(m, i);
        out->sig[i][lane] = from < n ? b[from].sig : 0;
        out->exp[i][lane] = from < n ? b[from].exp : MXV_OPERAND_ZERO;
        out->special[lane] |= out->exp[i][lane] >= MXV_OPERAND_INF;
    }
    for (size_t i = 0; i < blocks; i++) {
        out->scale[i][lane] = load_scale(m, scale, i, count);
        out->special[lane] |= out->scale[i][lane].nan;
    }
}

static instruction_fn *choose(const struct mxv_mma_model *m)
{
    assert(m->rule != MXV_MMA_T || m->zero_exp < (m->result == MXV_MMA_F16 ? -14 : -126));
    switch (m->rule) {
    case MXV_MMA_T:
    case MXV_MMA_ST:
        return lanes_t;
    case MXV_MMA_HMMA_FP8:
        return lanes_hmma_fp8;
    case MXV_MMA_GST:
        return lanes_gst;
    case MXV_MMA_INT:
        return lanes_int;
    default:
        return NULL;
    }
}

// A tile and how it is cut: products [at, at + n) of columns [first, first + lanes).
struct tile {
    const struct mxv_mma_model *m;
    size_t rows, k, ld, scales;
    const struct mxv_operand *a, *b;
    const uint8_t *scale_a, *scale_b;
    uint32_t *cd;
};

static const uint8_t *scales_at(const struct tile *t, const uint8_t *scale, size_t line, size_t at)
{
    return scale && t->m->block ? scale + line * t->scales + at / t->m->block : NULL;
}

static uint32_t run_slowly(const struct tile *t, size_t row, size_t col, size_t at, size_t n,
                           uint32_t c)
{
    return mxv_mma_dot_operands(t->m, n, t->a + row * t->k + at, t->b + col * t->k + at, c,
                                scales_at(t, t->scale_a, row, at),
                                scales_at(t, t->scale_b, col, at));
}

static void run_row(const struct tile *t, instruction_fn *run, size_t row, size_t first,
                    size_t lanes, size_t at, size_t n, size_t padded, const struct columns *cols)
{
    struct row r;
    uint32_t before[LANES] = {0}, c[LANES];
    uint32_t *out = t->cd + row * t->ld + first;
    memcpy(before, out, lanes * sizeof *out);
    memcpy(c, before, sizeof c);
    load_row(t->m, t->a + row * t->k + at, n, padded, scales_at(t, t->scale_a, row, at), &r);
    for (size_t i = 0; i < padded && !r.special; i += t->m->k)
        run(t->m, &r, cols, i, c);
    for (size_t j = 0; j < lanes; j++)
        out[j] =
            r.special || cols->special[j] ? run_slowly(t, row, first + j, at, n, before[j]) : c[j];
}

static void run_columns(const struct tile *t, instruction_fn *run, size_t first, size_t lanes)
{
    static const struct columns empty;
    struct columns cols = empty;
    for (size_t at = 0; at < t->k; at += CHUNK) {
        size_t n = t->k - at < CHUNK ? t->k - at : CHUNK;
        size_t padded = (n + t->m->k - 1) / t->m->k * t->m->k;
        for (size_t j = 0; j < lanes; j++)
            load_column(t->m, t->b + (first + j) * t->k + at, n, padded,
                        scales_at(t, t->scale_b, first + j, at), j, &cols);
        for (size_t row = 0; row < t->rows; row++)
            run_row(t, run, row, first, lanes, at, n, padded, &cols);
    }
}

void mxv_mma_tile(const struct mxv_mma_model *m, size_t rows, size_t cols, size_t k,
                  const struct mxv_operand *a, const struct mxv_operand *b, const uint8_t *scale_a,
                  const uint8_t *scale_b, uint32_t *cd, size_t ld)
{
    const struct tile t = {m, rows, k, ld, mxv_mma_scale_count(m, k), a, b, scale_a, scale_b, cd};
    instruction_fn *run = choose(m);
    for (size_t c = 0; c < cols; c += LANES) {
        size_t lanes = cols - c < LANES ? cols - c : LANES;
        if (run) {
            run_columns(&t, run, c, lanes);
            continue;
        }
        for (size_t i = 0; i < rows * lanes; i++) {
            uint32_t *out = &cd[i / lanes * ld + c + i % lanes];
            *out = run_slowly(&t, i / lanes, c + i % lanes, 0, k, *out);
        }
    }
}
