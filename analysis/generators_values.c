// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Families that draw each element by itself: distributions, codes, subnormals, extremes, and the
// V tensors of algebraic probes. What each must hold is in docs/case-language.md and is checked
// from the outside by tests/unit/test_generators.c. Amplitudes are choices of this project.
#include "generators_internal.h"
#include <math.h>

double generate_gaussian(const struct place *p)
{
    return draw_normal(p);
}

// K: four channels of a head, drawn with repetition, are 8 times as large. Key 0 is the sink: it
// lies along the direction that all queries share, and its V is small.
double generate_outlier(const struct place *p)
{
    double x = draw_normal(p), along = draw_direction(p);
    if (p->role == MXV_ROLE_Q)
        return x + along / 2;
    if (p->role == MXV_ROLE_V)
        return p->token == 0 ? x / 16 : x;
    if (p->token == 0)
        return 4 * along;
    struct words channels = draw_head(p);
    for (int i = 0; i < 4; i++)
        if (mxv_random_below(channels.w[i], (uint32_t)p->s->call->d) == p->channel)
            return 4 * x;
    return x / 2;
}

// An E2M1, E4M3 or E5M2 code for blocks of 32; INT8 for tilemix. The power of two is the head's for
// INT8, where rows share a scale, and the block's else. NaN and Inf codes are drawn again as 0.
double generate_codes(const struct place *p)
{
    static const struct {
        enum mxv_element format;
        uint32_t codes;
        int least;
    } kinds[] = {{MXV_E2M1, 16, -4}, {MXV_E4M3, 256, -8}, {MXV_E5M2, 256, -8}};
    struct words e = draw_element(p, STREAM_ELEMENT);
    if (p->s->call->kernel == MXV_KERNEL_TILEMIX) {
        int power = -7 + (int)mxv_random_below(draw_head(p).w[0], 4);
        return ((double)mxv_random_below(e.w[0], 255) - 127) * power_of_two(power);
    }
    struct words b = draw_block(p);
    unsigned k = mxv_random_below(b.w[0], 3);
    uint64_t code = mxv_random_below(e.w[0], kinds[k].codes);
    struct mxv_value v = mxv_element_decode(kinds[k].format, code);
    if (v.kind != MXV_FINITE)
        return 0;
    int power = kinds[k].least + (int)mxv_random_below(b.w[1], k == 2 ? 3 : 6);
    return signed_by(v.sign, (double)v.sig * power_of_two(v.exp + power));
}

static double subnormal_of(enum mxv_element type, struct words r)
{
    const struct mxv_element_info *info = mxv_element_get(type);
    int least = 1 - info->bias - info->frac_bits;
    uint32_t m = mxv_random_below(r.w[0], UINT32_C(1) << info->frac_bits);
    double x = (double)m * power_of_two(least);
    if (mxv_random_below(r.w[1], 4) == 0) // the least normal numbers
        x += power_of_two(1 - info->bias + (int)mxv_random_below(r.w[2], 4));
    return signed_by(r.w[3], x);
}

// Half of the elements of Q are large, so that scores with a subnormal K differ from zero. Types
// with the exponent range of binary32 draw from their own subnormals and from those of binary16.
double generate_subnormal(const struct place *p)
{
    struct words r = draw_element(p, STREAM_ELEMENT);
    struct words choice = draw_element(p, STREAM_CHOICE);
    enum mxv_element type = choice.w[0] & 1 ? MXV_F16 : p->s->call->in;
    if (p->role == MXV_ROLE_Q && choice.w[1] & 1)
        return 256 * draw_normal(p);
    return subnormal_of(type, r);
}

// Q, K in -3..3 and V in -8..8.
double generate_integer(const struct place *p)
{
    uint32_t span = p->role == MXV_ROLE_V ? 8 : 3;
    return (double)mxv_random_below(draw_element(p, STREAM_ELEMENT).w[0], 2 * span + 1) - span;
}

double generate_power_of_two(const struct place *p)
{
    struct words r = draw_element(p, STREAM_ELEMENT);
    int span = p->role == MXV_ROLE_V ? 6 : 4;
    return signed_by(r.w[1],
                     power_of_two((int)mxv_random_below(r.w[0], 2 * (uint32_t)span) - span));
}

double generate_row_scale(const struct place *p)
{
    double x = draw_normal(p);
    if (p->role == MXV_ROLE_V)
        return x;
    return x * power_of_two((int)mxv_random_below(draw_row(p).w[0], 13) - 6);
}

// Token and channel drawn for the head, by words `i` and `i + 1`.
static bool is_drawn_element(const struct place *p, int i)
{
    struct words r = draw_head(p);
    return mxv_random_below(r.w[i], (uint32_t)place_tokens(p)) == p->token &&
           mxv_random_below(r.w[i + 1], (uint32_t)p->s->call->d) == p->channel;
}

double generate_signed_extreme(const struct place *p)
{
    return is_drawn_element(p, 0) ? -40 : draw_normal(p) / 8;
}

static double special_value(const struct place *p, uint32_t word)
{
    switch (mxv_random_below(word, p->s->call->in == MXV_F16 ? 3 : 4)) {
    case 0:
        return (double)NAN;
    case 1:
        return (double)INFINITY;
    case 2:
        return -(double)INFINITY;
    default:
        return 1e5; // overflows in binary16
    }
}

// In each head one tensor, drawn by the seed, holds one special value at least; all three hold
// two more on the average.
double generate_nonfinite(const struct place *p)
{
    struct words r = draw_element(p, STREAM_SPECIAL);
    struct place any = *p;
    double count = (double)place_tokens(p) * (double)p->s->call->d;
    any.role = MXV_ROLE_PLAN;
    any.head = 0;
    if (mxv_random_below(draw_head(&any).w[0], 3) == (uint32_t)p->role && is_drawn_element(p, 2))
        return special_value(p, r.w[1]);
    if ((double)r.w[0] * count < 2 * 0x1p32)
        return special_value(p, r.w[1]);
    return draw_normal(p);
}

double generate_v_ones(const struct place *p)
{
    return p->role == MXV_ROLE_V ? 1 : draw_normal(p);
}

double generate_identity_v(const struct place *p)
{
    if (p->role != MXV_ROLE_V)
        return draw_normal(p);
    return p->token % p->s->call->d == p->channel ? 1 : 0;
}
