// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Families that aim at block quantisers: rounding ties, scale boundaries, zero and constant blocks.
// They are exact for what is quantised as it is given: K (and V where it is E4M3 or 16-bit). Q
// meets its quantiser after the product with scale * log2 e; it is exact there too when that
// product is a power of two, as with scale=0.0866433975699931636771540434 (1/8 / log2 e).
// tests/unit/test_generators.c fails if this is wrong: it decodes neighbours and asks for
// midpoints.
#include "generators_internal.h"
#include <math.h>

static int significand_bits(enum mxv_element type)
{
    return mxv_element_get(type)->frac_bits + 1;
}

// x moved by `steps` (-1, 0, 1) units in the last place of a `bits`-bit significand.
static double off_by(double x, int steps, int bits)
{
    int e;
    double m = frexp(fabs(x), &e);
    double unit = power_of_two(e - bits);
    if (x == 0 || steps == 0)
        return x;
    if (m == 0.5 && steps < 0)
        unit /= 2;
    return x < 0 ? x - steps * unit : x + steps * unit;
}

// Mostly 0, else -1 or 1.
static int small_step(uint32_t word)
{
    uint32_t i = mxv_random_below(word, 4);
    return i == 0 ? -1 : i == 1 ? 1 : 0;
}

// Binary32 inputs are rounded to 16 bits first: half of their steps are those of binary16.
static int step_bits(const struct place *p, uint32_t word)
{
    if (p->s->call->in == MXV_F32)
        return word & 1 ? significand_bits(MXV_F16) : significand_bits(MXV_F32);
    return significand_bits(p->s->call->in);
}

static double finite_value(enum mxv_element format, uint64_t code)
{
    struct mxv_value v = mxv_element_decode(format, code);
    return (double)v.sig * power_of_two(v.exp);
}

// Midpoint of a drawn pair of neighbouring non-negative codes.
static double midpoint(enum mxv_element format, uint32_t word)
{
    uint64_t last = mxv_element_get(format)->max_code;
    uint64_t code = mxv_random_below(word, (uint32_t)last);
    return (finite_value(format, code) + finite_value(format, code + 1)) / 2;
}

// E2M1 and E4M3: each 16-block holds the format's largest value times 2^k, so that k is the block's
// scale; the other elements are midpoints times 2^k, some a step off.
static double block_tie(const struct place *p, enum mxv_element format, int power)
{
    struct words e = draw_element(p, STREAM_ELEMENT);
    double largest = finite_value(format, mxv_element_get(format)->max_code);
    if (mxv_random_below(draw_half(p).w[0], 16) == p->channel % 16)
        return signed_by(e.w[0], largest * power_of_two(power));
    double x = midpoint(format, e.w[1]) * power_of_two(power);
    return signed_by(e.w[0], off_by(x, small_step(e.w[2]), step_bits(p, e.w[3])));
}

// INT8: one element of each row is 127 * 2^k, the others lie halfway between integers.
static double int8_tie(const struct place *p)
{
    struct words e = draw_element(p, STREAM_ELEMENT);
    double unit = power_of_two(-6 + (int)mxv_random_below(draw_head(p).w[0], 5));
    if (mxv_random_below(draw_row(p).w[0], (uint32_t)p->s->call->d) == p->channel)
        return signed_by(e.w[0], 127 * unit);
    double x = ((double)mxv_random_below(e.w[1], 127) + 0.5) * unit;
    return signed_by(e.w[0], off_by(x, small_step(e.w[2]), step_bits(p, e.w[3])));
}

// Halfway between neighbours of `type`, for inputs of a wider significand.
static double float_tie(const struct place *p, enum mxv_element type)
{
    struct words e = draw_element(p, STREAM_ELEMENT);
    int frac = significand_bits(type) - 1;
    double m = (double)mxv_random_below(e.w[0], UINT32_C(1) << frac) + 0.5;
    double x = (1 + m * power_of_two(-frac)) * power_of_two(-3 + (int)mxv_random_below(e.w[1], 5));
    return signed_by(e.w[3], off_by(x, small_step(e.w[2]), significand_bits(p->s->call->in)));
}

static bool rounds_to(const struct place *p, enum mxv_element type)
{
    return significand_bits(p->s->call->in) > significand_bits(type);
}

// Which tie a block gets: that of the type it is rounded to first, where the input is wider (a
// third of the blocks), else that of the quantiser.
double generate_ties(const struct place *p)
{
    const struct mxv_attention *a = p->s->call;
    struct words b = draw_block(p);
    bool mxfp = a->kernel == MXV_KERNEL_DMA || a->kernel == MXV_KERNEL_DMA_RELEASED;
    enum mxv_element first = p->role == MXV_ROLE_V || !mxfp ? a->vt : MXV_F16;
    int power = (int)mxv_random_below(b.w[1], 7) - 3;
    if (p->role == MXV_ROLE_V && a->vt == MXV_E4M3) // one scale for the head
        return block_tie(p, MXV_E4M3, -8);
    if (rounds_to(p, first) && (a->kernel != MXV_KERNEL_TILEMIX ? b.w[2] % 3 == 0 : false))
        return float_tie(p, first);
    if (p->role == MXV_ROLE_V || a->kernel == MXV_KERNEL_FLASH)
        return rounds_to(p, first) ? float_tie(p, first) : block_tie(p, MXV_E4M3, power - 8);
    if (a->kernel == MXV_KERNEL_TILEMIX)
        return int8_tie(p);
    return b.w[0] & 1 ? block_tie(p, MXV_E2M1, power) : block_tie(p, MXV_E4M3, power - 8);
}

// The block maximum, at a drawn channel, stands at, one step below or one step above a cut of some
// scale rule: 2^k; 6, 7 (=1.75), 448, 464 times 2^k; 1.5 and sqrt 2 times 6 and 448.
double generate_scale_edges(const struct place *p)
{
    static const double cuts[] = {1,
                                  1.5,
                                  1.75,
                                  1.8125,
                                  1.25,
                                  1.125,
                                  1.3125,
                                  0x1p-9,
                                  1.06066017177982129,
                                  1.23743686707645817};
    struct words b = draw_block(p);
    double largest = cuts[mxv_random_below(b.w[0], sizeof cuts / sizeof cuts[0])] *
                     power_of_two((int)mxv_random_below(b.w[1], 13) - 6);
    if (mxv_random_below(b.w[2], 32) == p->channel % 32) {
        struct words e = draw_element(p, STREAM_ELEMENT);
        int step = (int)mxv_random_below(e.w[0], 3) - 1;
        return signed_by(e.w[1], off_by(largest, step, step_bits(p, e.w[2])));
    }
    double x = draw_normal(p) / 4;
    return largest * (x > 0.75 ? 0.75 : x < -0.75 ? -0.75 : x);
}

static bool is_zero_place(const struct place *p)
{
    if (mxv_random_below(draw_row(p).w[0], 8) == 0 ||
        mxv_random_below(draw_block(p).w[0], 4) == 0 || mxv_random_below(draw_half(p).w[0], 4) == 0)
        return true;
    return p->role == MXV_ROLE_V && (mxv_random_below(draw_channel(p).w[0], 8) == 0 ||
                                     draw_head(p).w[0] < UINT32_C(1) << 29);
}

double generate_zero_blocks(const struct place *p)
{
    struct words e = draw_element(p, STREAM_ELEMENT);
    if (is_zero_place(p) || mxv_random_below(e.w[0], 4) == 0)
        return signed_by(e.w[1], 0.0);
    return draw_normal(p);
}

// Magnitude n / 128 * 2^k with n in 128..255 and no multiple of 3: a sixth of it is never an E4M3
// value. Signs are the block's in half of the blocks, drawn in the others.
double generate_constant(const struct place *p)
{
    struct words b = draw_block(p);
    uint32_t n = 128 + mxv_random_below(b.w[0], 127);
    double x = (n % 3 == 0 ? n + 1 : n) * power_of_two(-10 + (int)mxv_random_below(b.w[1], 6));
    return signed_by(b.w[2] & 1 ? b.w[3] : draw_element(p, STREAM_ELEMENT).w[0], x);
}
