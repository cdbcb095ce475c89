// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Any NVIDIA row of ref/models.def as device code: a chain of instructions over operand words, one
// output at a time, from the pieces of emulate_units.h; what mxv_mma_dot computes. Rules T, ST,
// GST, HMMA_FP8 and INT; not the AMD rows and f64, which are made of host floating point. The
// parameters are those of the row at run time, so this is the readable path; emulate_tile.cuh and
// emulate_scores.cu are the fast ones for the rows that attention uses.
// unit.emulate_units compares every such row with mxv_mma_dot, gpu/emulate_check does on a device.
#ifndef MXV_EMULATE_DOT_H
#define MXV_EMULATE_DOT_H

#include "emulate_units.h"

#define UNIT_NAN_F16 0x7fffu
#define UNIT_INF_F16 0x7c00u

enum { UNIT_MAX_K = 64 };

UNIT_FN bool unit_offers(const struct mxv_mma_model *m)
{
    return m->rule <= MXV_MMA_INT;
}

// Shift of the significands of side A (B): their sum is F minus a product's fraction bits.
UNIT_FN int unit_up(const struct mxv_mma_model *m, bool side_b)
{
    int bits = m->rule == MXV_MMA_HMMA_FP8
                   ? 20
                   : unit_layout_of(m->a).frac_bits + unit_layout_of(m->b).frac_bits;
    return ((int)m->frac_bits - bits + (side_b ? 0 : 1)) / 2;
}

// FP8 as the f16 operand that the compiler makes of it: normalised unless f16 is subnormal.
UNIT_FN uint32_t unit_decode_widened(struct unit_layout f, uint32_t w, int up)
{
    uint32_t v = unit_decode(f, w, 10 - f.frac_bits);
    int sig = unit_sig(v), exp = unit_exp(v);
    if (sig == 0 || exp >= MXV_OPERAND_INF)
        return v;
    while (exp > -14 && sig > -1024 && sig < 1024) {
        sig *= 2;
        exp--;
    }
    return unit_pack(sig * (1 << up), exp);
}

UNIT_FN uint32_t unit_operand(const struct mxv_mma_model *m, bool side_b, uint32_t w)
{
    enum mxv_element e = side_b ? m->b : m->a;
    if (m->rule == MXV_MMA_INT) {
        int v = (int)(w & 0xff);
        return unit_pack(e == MXV_S8 && v > 127 ? v - 256 : v, 0);
    }
    if (m->rule == MXV_MMA_GST)
        return unit_pack(unit_double_e2m1(w), 0);
    if (m->rule == MXV_MMA_HMMA_FP8)
        return unit_decode_widened(unit_layout_of(e), w, unit_up(m, side_b));
    return unit_decode(unit_layout_of(e), w, unit_up(m, side_b));
}

// sum * 2^lsb_exp as binary16, nearest even; zero is +0.
UNIT_FN uint32_t unit_convert_f16(int64_t sum, int lsb_exp)
{
    uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
    if (sum == 0)
        return 0;
    uint32_t sign = sum < 0 ? 0x8000u : 0;
    int exp = unit_top_bit_64(magnitude) + lsb_exp;
    if (exp > 15)
        return sign | UNIT_INF_F16;
    int down = (exp < -14 ? -14 : exp) - 10 - lsb_exp;
    uint64_t kept;
    if (down <= 0) {
        kept = magnitude << -down;
    } else {
        uint64_t half = down > 63 ? 0 : (uint64_t)1 << (down - 1);
        kept = unit_shift_right_64(magnitude, down);
        uint64_t rest = down > 63 ? 0 : magnitude - (kept << down);
        kept += rest > half || (rest == half && half != 0 && (kept & 1));
    }
    return kept ? sign | (((exp < -14 ? 0 : (uint32_t)(exp + 14)) << 10) + (uint32_t)kept) : 0;
}

// A binary16 accumulator as the binary32 word of the same value, NaN and infinity included.
// Subnormals keep the raw exponent, so they are told apart by `exp`.
struct unit_half {
    int sig, exp;
    bool nan, infinite, negative;
};

UNIT_FN struct unit_half unit_half_of(uint32_t w)
{
    struct unit_half h;
    int field = (int)(w >> 10 & 31), frac = (int)(w & 0x3ff);
    h.negative = (w >> 15 & 1) != 0;
    h.nan = field == 31 && frac != 0;
    h.infinite = field == 31 && frac == 0;
    h.sig = (field ? frac | 0x400 : frac) * (h.negative ? -1 : 1);
    h.exp = field ? field - 15 : -14;
    return h;
}

UNIT_FN uint32_t unit_infinity(bool half, bool negative)
{
    return half ? UNIT_INF_F16 | (negative ? 0x8000u : 0) : UNIT_INF | (negative ? 0x80000000u : 0);
}

// A binary16 step of n products.
UNIT_FN uint32_t unit_step_half(struct unit_step u, int n, const uint32_t *a, const uint32_t *b,
                                uint32_t c)
{
    struct unit_half h = unit_half_of(c);
    struct unit_specials s = unit_specials_of(h.nan, h.infinite, h.negative);
    int acc_exp = h.sig ? h.exp : u.zero_exp, top = acc_exp;
    for (int i = 0; i < n; i++) {
        unit_meet(&s, a[i], b[i]);
        top = unit_top(top, unit_exp(a[i]), unit_exp(b[i]));
    }
    if (s.nan || (s.plus && s.minus))
        return UNIT_NAN_F16;
    if (s.plus || s.minus)
        return unit_infinity(true, s.minus);
    uint32_t magnitude = (uint32_t)(h.sig < 0 ? -h.sig : h.sig) << (u.frac - 10);
    int64_t t = unit_shift_right(magnitude, top - acc_exp), sum = h.sig < 0 ? -t : t;
    for (int i = 0; i < n; i++)
        sum += unit_term(unit_sig(a[i]), unit_sig(b[i]), top - unit_exp(a[i]) - unit_exp(b[i]));
    return unit_convert_f16(sum, top - u.frac);
}

// A binary32 step of n products, scale_exp added to their exponents.
UNIT_FN uint32_t unit_step_single(struct unit_step u, int n, const uint32_t *a, const uint32_t *b,
                                  int scale_exp, uint32_t c)
{
    int acc_exp = unit_acc_exp(c, u.zero_exp), top = UNIT_NO_TOP;
    for (int i = 0; i < n; i++)
        top = unit_top(top, unit_exp(a[i]), unit_exp(b[i]));
    if (unit_special(top))
        return unit_special_step(n, a, b, 1, c);
    top += scale_exp;
    top = top > acc_exp ? top : acc_exp;
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += unit_term(unit_sig(a[i]), unit_sig(b[i]),
                         top - scale_exp - unit_exp(a[i]) - unit_exp(b[i]));
    return unit_finish(u, top, sum, c);
}

UNIT_FN float unit_float(uint32_t w)
{
    union {
        uint32_t w;
        float x;
    } v;
    v.w = w;
    return v.x;
}

// r + c by one addition, nearest even (HMMA_FP8).
UNIT_FN uint32_t unit_final_add(bool half, uint32_t r, uint32_t c)
{
    if (half) {
        struct unit_half x = unit_half_of(r), y = unit_half_of(c);
        if (x.nan || y.nan || (x.infinite && y.infinite && x.negative != y.negative))
            return UNIT_NAN_F16;
        if (x.infinite || y.infinite)
            return unit_infinity(true, x.infinite ? x.negative : y.negative);
        return unit_convert_f16(
            x.sig * ((int64_t)1 << (x.exp + 14)) + y.sig * ((int64_t)1 << (y.exp + 14)), -24);
    }
    union {
        uint32_t w;
        float x;
    } sum;
#ifdef __CUDA_ARCH__
    sum.x = __fadd_rn(unit_float(r), unit_float(c));
#else
    sum.x = unit_float(r) + unit_float(c);
#endif
    return sum.x != sum.x ? UNIT_NAN : sum.w;
}

UNIT_FN uint32_t unit_instruction_gst(const struct mxv_mma_model *m, struct unit_step u,
                                      const uint32_t *a, const uint32_t *b, const uint8_t *scale_a,
                                      const uint8_t *scale_b, uint32_t c)
{
    const bool ue4m3 = m->scale == MXV_UE4M3;
    uint32_t group_a[4], group_b[4];
    int q[4];
    for (unsigned g = 0; g < 4; g++) {
        uint32_t nonzero_a = 0, nonzero_b = 0;
        q[g] = 0;
        for (unsigned i = 0; i < 16; i++) {
            int x = unit_sig(a[16 * g + i]), y = unit_sig(b[16 * g + i]);
            q[g] += x * y;
            nonzero_a |= (uint32_t)(x != 0) << i;
            nonzero_b |= (uint32_t)(y != 0) << i;
        }
        group_a[g] = unit_group(ue4m3, nonzero_a, scale_a[16 * g / m->block]);
        group_b[g] = unit_group(ue4m3, nonzero_b, scale_b[16 * g / m->block]);
    }
    return unit_gst(ue4m3, u, q, group_a, group_b, c);
}

UNIT_FN uint32_t unit_instruction_int(const struct mxv_mma_model *m, const uint32_t *a,
                                      const uint32_t *b, uint32_t c)
{
    int64_t sum = (int32_t)c;
    for (unsigned i = 0; i < m->k; i++)
        sum += unit_sig(a[i]) * unit_sig(b[i]);
    if (m->saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)(uint64_t)sum;
}

// HMMA_FP8: position in the instruction of product i of the two steps.
UNIT_FN unsigned unit_hmma_order(unsigned i)
{
    return i % 16 / 2 * 4 + i / 16 * 2 + i % 2;
}

// One instruction on K decoded operands; scales of all its blocks.
UNIT_FN uint32_t unit_instruction(const struct mxv_mma_model *m, const uint32_t *a,
                                  const uint32_t *b, const uint8_t *scale_a, const uint8_t *scale_b,
                                  uint32_t c)
{
    struct unit_step u = {(int)m->frac_bits, (int)m->keep_bits, m->zero_exp};
    const bool half = m->result == MXV_MMA_F16, compiled = m->rule == MXV_MMA_HMMA_FP8;
    uint32_t x[UNIT_MAX_K], y[UNIT_MAX_K], d = compiled ? 0 : c;
    int scale_exp = 0;
    if (m->rule == MXV_MMA_GST)
        return unit_instruction_gst(m, u, a, b, scale_a, scale_b, c);
    if (m->rule == MXV_MMA_INT)
        return unit_instruction_int(m, a, b, c);
    if (m->rule == MXV_MMA_ST) {
        if (scale_a[0] == 255 || scale_b[0] == 255)
            return UNIT_NAN;
        scale_exp = (int)scale_a[0] + (int)scale_b[0] - 254;
    }
    for (unsigned i = 0; i < m->k; i++) {
        x[i] = a[compiled ? unit_hmma_order(i) : i];
        y[i] = b[compiled ? unit_hmma_order(i) : i];
    }
    for (unsigned at = 0; at < m->k; at += m->step)
        d = half ? unit_step_half(u, (int)m->step, x + at, y + at, d)
                 : unit_step_single(u, (int)m->step, x + at, y + at, scale_exp, d);
    return compiled ? unit_final_add(half, d, c) : d;
}

// c + the products of k words, as mxv_mma_dot.
UNIT_FN uint32_t unit_dot(const struct mxv_mma_model *m, unsigned k, const uint32_t *a,
                          const uint32_t *b, uint32_t c, const uint8_t *scale_a,
                          const uint8_t *scale_b)
{
    const uint8_t one = m->scale == MXV_UE4M3 ? 0x38 : 0x7f;
    const unsigned blocks = m->block ? (k + m->block - 1) / m->block : 0;
    for (unsigned at = 0; at < k; at += m->k) {
        uint32_t x[UNIT_MAX_K], y[UNIT_MAX_K];
        uint8_t sa[4], sb[4];
        for (unsigned i = 0; i < m->k; i++) {
            x[i] = at + i < k ? unit_operand(m, false, a[at + i])
                              : unit_pack(0, m->rule == MXV_MMA_INT ? 0 : MXV_OPERAND_ZERO);
            y[i] = at + i < k ? unit_operand(m, true, b[at + i])
                              : unit_pack(0, m->rule == MXV_MMA_INT ? 0 : MXV_OPERAND_ZERO);
        }
        for (unsigned i = 0; i < 4; i++) {
            unsigned block = m->block ? at / m->block + i : 0;
            sa[i] = block < blocks ? scale_a[block] : one;
            sb[i] = block < blocks ? scale_b[block] : one;
        }
        c = unit_instruction(m, x, y, sa, sb, c);
    }
    return c;
}

#endif
