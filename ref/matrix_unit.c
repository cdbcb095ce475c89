// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Instructions and chains of instructions: how steps follow each other (docs/numerics.md,
// "Chaining"). Inside an instruction, ascending runs of L products; between instructions, program
// order through the accumulator word. The FP8 mma.sync of sm_90 and sm_100 is the exception: the
// compiler expands it to two f16 steps over k mod 4 in {0,1} and {2,3} from a zero accumulator and
// adds c with an ordinary IEEE add (disassembly, CUDA 13.0). Exact but for that one binary32 add on
// the host. A wrong order fails golden.leeds (Ada) and golden.h200_mma.
#include "matrix_unit_internal.h"

#include <math.h>
#include <string.h>

size_t mxv_mma_scale_count(const struct mxv_mma_model *m, size_t k)
{
    return m->block ? (k + m->block - 1) / m->block : 0;
}

static uint32_t instruction_t(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                              const struct mxv_operand *b, uint32_t c)
{
    for (size_t at = 0; at < m->k; at += m->step) {
        size_t left = n > at ? n - at : 0;
        size_t from = left ? at : 0;
        c = mxv_mma_step_t(m, left < m->step ? left : m->step, a + from, b + from, 0, c);
    }
    return c;
}

static uint32_t instruction_st(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                               const struct mxv_operand *b, uint32_t c, uint8_t scale_a,
                               uint8_t scale_b)
{
    assert(m->k == m->step && m->block == m->k);
    struct mxv_mma_scale sa = mxv_mma_unpack_scale(m, scale_a);
    struct mxv_mma_scale sb = mxv_mma_unpack_scale(m, scale_b);
    if (sa.nan || sb.nan)
        return mxv_mma_nan(m);
    return mxv_mma_step_t(m, n, a, b, sa.exp + sb.exp, c);
}

static uint32_t final_add_f32(uint32_t r, uint32_t c)
{
    float x, y;
    memcpy(&x, &r, sizeof x);
    memcpy(&y, &c, sizeof y);
    float sum = x + y;
    if (isnan(sum))
        return MXV_MMA_NAN_F32;
    uint32_t word;
    memcpy(&word, &sum, sizeof word);
    return word;
}

// Finite f16 values are integers times 2^-24, so their sum is exact in int64.
static uint32_t final_add_f16(const struct mxv_mma_model *m, uint32_t r, uint32_t c)
{
    struct mxv_mma_acc x = mxv_mma_unpack_f16(r), y = mxv_mma_unpack_f16(c);
    bool x_inf = x.class == MXV_MMA_INFINITE, y_inf = y.class == MXV_MMA_INFINITE;
    if (x.class == MXV_MMA_NOT_A_NUMBER || y.class == MXV_MMA_NOT_A_NUMBER ||
        (x_inf && y_inf && x.negative != y.negative))
        return MXV_MMA_NAN_F16;
    if (x_inf || y_inf)
        return mxv_mma_infinity(m, x_inf ? x.negative : y.negative);
    return mxv_mma_convert_f16_rne(
        x.sig * ((int64_t)1 << (x.exp + 14)) + y.sig * ((int64_t)1 << (y.exp + 14)), -24);
}

uint32_t mxv_mma_final_add(const struct mxv_mma_model *m, uint32_t r, uint32_t c)
{
    return m->result == MXV_MMA_F16 ? final_add_f16(m, r, c) : final_add_f32(r, c);
}

static uint32_t instruction_hmma_fp8(const struct mxv_mma_model *m, size_t n,
                                     const struct mxv_operand *a, const struct mxv_operand *b,
                                     uint32_t c)
{
    struct mxv_operand x[MXV_MMA_MAX_K], y[MXV_MMA_MAX_K];
    const struct mxv_operand zero = {0, MXV_OPERAND_ZERO};
    for (size_t i = 0; i < m->k; i++) {
        size_t from = mxv_mma_hmma_order(i);
        x[i] = from < n ? a[from] : zero;
        y[i] = from < n ? b[from] : zero;
    }
    uint32_t r = 0;
    for (size_t at = 0; at < m->k; at += m->step)
        r = mxv_mma_step_t(m, m->step, x + at, y + at, 0, r);
    return mxv_mma_final_add(m, r, c);
}

static uint32_t instruction_int(const struct mxv_mma_model *m, size_t n,
                                const struct mxv_operand *a, const struct mxv_operand *b,
                                uint32_t c)
{
    int64_t sum = (int32_t)c;
    for (size_t i = 0; i < n; i++)
        sum += (int64_t)a[i].sig * b[i].sig;
    if (m->saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)(uint64_t)sum;
}

static uint32_t instruction_cdna(const struct mxv_mma_model *m, size_t n,
                                 const struct mxv_operand *a, const struct mxv_operand *b,
                                 uint32_t c)
{
    for (size_t at = 0; at < m->k; at += m->step) {
        size_t left = n > at ? n - at : 0;
        size_t from = left ? at : 0;
        c = mxv_mma_step_cdna(m, left < m->step ? left : m->step, a + from, b + from, c);
    }
    return c;
}

uint32_t mxv_mma_instruction(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                             const struct mxv_operand *b, uint32_t c, const uint8_t *scale_a,
                             const uint8_t *scale_b)
{
    switch (m->rule) {
    case MXV_MMA_T:
        return instruction_t(m, n, a, b, c);
    case MXV_MMA_ST:
        return instruction_st(m, n, a, b, c, scale_a[0], scale_b[0]);
    case MXV_MMA_GST:
        return mxv_mma_step_gst(m, n, a, b, scale_a, scale_b, c);
    case MXV_MMA_HMMA_FP8:
        return instruction_hmma_fp8(m, n, a, b, c);
    case MXV_MMA_INT:
        return instruction_int(m, n, a, b, c);
    default:
        return instruction_cdna(m, n, a, b, c);
    }
}

// The scale bytes of the instruction that starts at product `at`, absent blocks standing for 1.
static void take_scales(const struct mxv_mma_model *m, size_t k, size_t at, const uint8_t *scale,
                        uint8_t out[MXV_MMA_MAX_K / MXV_MMA_GST_GROUP])
{
    size_t count = mxv_mma_scale_count(m, k), first = m->block ? at / m->block : 0;
    for (size_t i = 0; i < MXV_MMA_MAX_K / MXV_MMA_GST_GROUP; i++)
        out[i] = first + i < count ? scale[first + i] : mxv_mma_scale_one(m);
}

static size_t instruction_length(const struct mxv_mma_model *m, size_t k, size_t at)
{
    return k - at < m->k ? k - at : m->k;
}

uint32_t mxv_mma_dot_operands(const struct mxv_mma_model *m, size_t k, const struct mxv_operand *a,
                              const struct mxv_operand *b, uint32_t c, const uint8_t *scale_a,
                              const uint8_t *scale_b)
{
    uint8_t sa[MXV_MMA_MAX_K / MXV_MMA_GST_GROUP], sb[MXV_MMA_MAX_K / MXV_MMA_GST_GROUP];
    for (size_t at = 0; at < k; at += m->k) {
        take_scales(m, k, at, scale_a, sa);
        take_scales(m, k, at, scale_b, sb);
        c = mxv_mma_instruction(m, instruction_length(m, k, at), a + at, b + at, c, sa, sb);
    }
    return c;
}

uint32_t mxv_mma_dot(const struct mxv_mma_model *m, size_t k, const uint32_t *a, const uint32_t *b,
                     uint32_t c, const uint8_t *scale_a, const uint8_t *scale_b)
{
    struct mxv_operand x[MXV_MMA_MAX_K], y[MXV_MMA_MAX_K];
    uint8_t sa[MXV_MMA_MAX_K / MXV_MMA_GST_GROUP], sb[MXV_MMA_MAX_K / MXV_MMA_GST_GROUP];
    for (size_t at = 0; at < k; at += m->k) {
        size_t n = instruction_length(m, k, at);
        mxv_mma_decode_a(m, a + at, n, x);
        mxv_mma_decode_b(m, b + at, n, y);
        take_scales(m, k, at, scale_a, sa);
        take_scales(m, k, at, scale_b, sb);
        c = mxv_mma_instruction(m, n, x, y, c, sa, sb);
    }
    return c;
}

uint64_t mxv_mma_dot_f64(size_t k, const uint64_t *a, const uint64_t *b, uint64_t c)
{
    for (size_t i = 0; i < k; i++) {
        double x, y, z;
        memcpy(&x, &a[i], sizeof x);
        memcpy(&y, &b[i], sizeof y);
        memcpy(&z, &c, sizeof z);
        z = fma(x, y, z);
        memcpy(&c, &z, sizeof c);
    }
    return c;
}
