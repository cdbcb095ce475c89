// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans for the vector form of NVFP4 "four over six" (four_six.c). See block_plan.c.
//
// The scale codes e4m3(b * 256 / g) and e4m3(b * 384 / g) are monotone in the block maximum b <= g.
// The thresholds of both, in order, part the maxima into pairs of codes. An element over a scale,
// x * 1536 / (g * scale), is |x| in units of 2^(t - 174), t the field of top_word, below 2^32,
// times a factor. unit.block_array fails if this file is wrong.
#include "block_array_internal.h"

#define WORD_1536 UINT32_C(0x44C00000)

static const uint32_t scale_words[2] = {UINT32_C(0x43800000), UINT32_C(0x43C00000)}; // 256, 384

static struct mxv_value tensor(const struct mxv_block_plan *plan)
{
    return mxv_value_from_f32(plan->amax_most);
}

/// Scale code of a maximum under candidate `which`.
static unsigned scale_code(const struct mxv_block_plan *plan, uint32_t word, unsigned which)
{
    const struct mxv_value v =
        mxv_value_mul(mxv_value_from_f32(word), mxv_value_from_f32(scale_words[which]));
    return (unsigned)mxv_element_encode(MXV_UE4M3, mxv_value_div(v, tensor(plan)), NULL);
}

static bool scale_reached(const struct mxv_block_plan *plan, uint32_t word, unsigned code,
                          unsigned which)
{
    return scale_code(plan, word, which) >= code;
}

static bool element_reached(const struct mxv_block_plan *plan, uint32_t word, unsigned code,
                            unsigned scale)
{
    const struct mxv_value v =
        mxv_value_mul(mxv_value_from_f32(word), mxv_value_from_f32(WORD_1536));
    const struct mxv_value s = mxv_value_mul(mxv_element_decode(MXV_UE4M3, scale), tensor(plan));
    return mxv_element_encode(MXV_E2M1, mxv_value_div(v, s), &plan->policy.encode) >= code;
}

/// factor[which]; false where an element would not fit the vector form's sixteen bits, or where a
/// maximum `top` mapped to 4 would reach 5.
static bool set_factor(const struct mxv_block_plan *plan, struct mxv_four_six_pair *pair,
                       unsigned which, uint32_t top)
{
    const struct mxv_value scale = mxv_element_decode(MXV_UE4M3, pair->scales >> 8 * which & 0xFF);
    const uint32_t g = plan->amax_most;
    const uint64_t divisor = ((g & 0x7FFFFF) | 0x800000) * scale.sig;
    const int top_shift = (int)(pair->top_word >> 23);
    const int shift = 18 - top_shift + (int)(g >> 23) + scale.exp;
    if (scale.sig == 0 || shift < 1 || shift > 40)
        return false;
    const uint64_t q = (UINT64_C(1536) << 48) / divisor;
    const uint64_t factor = (q + (UINT64_C(1) << (shift - 1))) >> shift;
    const int top_drop = top_shift - 16 - (int)(top >> 23);
    const uint64_t largest =
        (((top & 0x7FFFFF) | 0x800000) * UINT64_C(256) >> top_drop) * factor >> 32;
    pair->factor[which] = (uint32_t)factor;
    pair->coarse[which] = (uint32_t)((factor + 512) >> 10) * 0x10001;
    return factor >> 10 < 0xFFFF && largest < (UINT64_C(which ? 5 : 8) << 22) - (1 << 14);
}

/// Weights of the first trial: whole multiples of the ratio or its square, the sum of both near a
/// fixed bound. Those of sums and of largest errors are signed, and take 16 bits: sums in both
/// halves, largest errors with the other candidate's beside them.
static void set_lean(const struct mxv_block_plan *plan, struct mxv_four_six_pair *pair)
{
    const enum mxv_four_six_err err = plan->policy.nvfp4.err;
    const uint32_t bound = err == MXV_FOUR_SIX_MSE ? MXV_FOUR_SIX_LEAN_SQUARES : MXV_FOUR_SIX_LEAN;
    const uint32_t times = bound / (pair->weight[0] + pair->weight[1]);
    const uint32_t six = pair->weight[0] * times, four = pair->weight[1] * times;
    const uint32_t less_six = 0x10000 - six;
    pair->lean[0] = six;
    pair->lean[1] = four;
    if (err == MXV_FOUR_SIX_MAE) {
        pair->lean[0] = less_six * 0x10001;
        pair->lean[1] = four * 0x10001;
    } else if (err == MXV_FOUR_SIX_ABS_MAX) {
        pair->lean[0] = four << 16 | less_six;
    }
}

static bool set_weights(const struct mxv_block_plan *plan, struct mxv_four_six_pair *pair)
{
    uint32_t c[2];
    for (unsigned i = 0; i < 2; i++) { // in units of 2^-9
        const struct mxv_value v = mxv_element_decode(MXV_UE4M3, pair->scales >> 8 * i & 0xFF);
        c[i] = (uint32_t)(v.sig << (v.exp + 9));
    }
    while (((c[0] | c[1]) & 1) == 0 && (c[0] | c[1]) != 0) {
        c[0] /= 2;
        c[1] /= 2;
    }
    for (unsigned i = 0; i < 2; i++) {
        pair->ratio[i] = (uint8_t)c[i];
        pair->weight[i] = plan->policy.nvfp4.err == MXV_FOUR_SIX_MSE ? c[i] * c[i] : c[i];
    }
    set_lean(plan, pair);
    return c[0] < 64 && c[1] < 64;
}

/// False if a pair is out of the vector form's range.
static bool set_pair(const struct mxv_block_plan *plan, struct mxv_four_six_pair *pair,
                     const unsigned code[2], uint32_t next)
{
    pair->scales = code[0] | code[1] << 8;
    // one unit of 2^-16 is left for the vector form's rounding
    const uint32_t top = (next - 1 + 0x100) >> 23;
    pair->top_word = ((top + 16) << 23) | 0x7FFFFF;
    pair->top_half = ((top - 112 + 32 - 15) & 0xFFFF) * 0x10001;
    return set_factor(plan, pair, 0, next - 1) && set_factor(plan, pair, 1, next - 1) &&
           set_weights(plan, pair);
}

/// Least maximum, above `low`, of the code after `code`; amax_most + 1 if there is none.
static uint32_t next_threshold(const struct mxv_block_plan *plan, unsigned code, unsigned which,
                               uint32_t low)
{
    if (scale_code(plan, plan->amax_most, which) <= code)
        return plan->amax_most + 1;
    return mxv_plan_least_word(plan, scale_reached, code + 1, which, low, plan->amax_most,
                               low + (1u << 20));
}

/// The pairs in order, and the first pair of each cell of b >> 16. Thresholds of the two codes are
/// 1.1 % and more apart, a cell spans at most 0.8 %: none holds two, which is checked.
static void set_pairs(struct mxv_block_plan *plan)
{
    const uint32_t end = plan->amax_most + 1;
    uint32_t low = plan->amax_least - 1, next[2], cell = plan->amax_least >> 16;
    unsigned code[2];
    plan->first_cell = cell;
    for (unsigned i = 0; i < 2; i++) {
        code[i] = scale_code(plan, plan->amax_least, i);
        next[i] = next_threshold(plan, code[i], i, low);
    }
    for (unsigned n = 0; low < end && plan->vector; n++) {
        const uint32_t first = next[0] < next[1] ? next[0] : next[1];
        plan->next_pair[n] = first;
        plan->vector = set_pair(plan, &plan->pairs[n], code, first) &&
                       (n == 0 || first == end || low >> 16 != first >> 16);
        for (; cell <= first >> 16 && cell <= plan->amax_most >> 16; cell++)
            plan->cell[cell - plan->first_cell] = (uint8_t)n;
        for (unsigned i = 0; i < 2 && first < end; i++) {
            if (next[i] == first)
                next[i] = next_threshold(plan, ++code[i], i, first);
        }
        low = first;
    }
}

/// Maxima up to the tensor's, from where both scale codes are at least 3: a maximum mapped to 4
/// then stays below 5.
void mxv_plan_four_six(struct mxv_block_plan *plan, uint32_t g)
{
    const enum mxv_round round = plan->policy.encode.round;
    plan->vector = round != MXV_RTZ && !plan->policy.encode.flush_out;
    if (!plan->vector)
        return;
    plan->amax_most = g;
    plan->amax_least =
        mxv_plan_least_word(plan, scale_reached, 3, 0, g - (40u << 23), g, g - (17u << 23));
    set_pairs(plan);
    mxv_plan_nvfp4_rows(plan, element_reached);
}
