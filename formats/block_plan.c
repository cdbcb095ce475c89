// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans for the vector forms of block quantisation. See mxverify/block_array.h.
//
// All thresholds are found by asking the scalar functions, so that a rule has one definition:
// - A scale rule of MX rises by one per binade of the maximum, so within a binade it has one step,
//   at a fraction that is the same in every binade. The libm rules have their step a few words off
//   an exact one (scale.c); there the scalar rule is asked each time.
// - An NVFP4 scale code and an E2M1 code are monotone in the magnitude, each order being a chain of
//   monotone roundings (ggml's nearest entry too, below 2^13); 126 and 7 thresholds tell
//   all. Between neighbouring E4M3 steps lies a factor of at least 16/15, a cell of b >> 19 spans
//   at most 17/16: no cell holds two thresholds, which is checked.
// What is not monotone or not symmetric in the sign has no plan and stays scalar: caller's
// operations, unrounded divisors, stochastic and DMA roundings, for NVFP4 the directed ones too,
// and for MX these after a division in binary32. Four over six has a plan of its own, in
// block_plan_four_six.c. unit.block_array fails if this file is wrong.
#include "block_array_internal.h"
#include "nvfp4.h"

#define FRAC_END     (UINT32_C(1) << 23)
#define LIBM_WINDOW  512u
#define EXPONENT_ONE 127
#define WORD_1536    UINT32_C(0x44C00000)
#define WORD_2688    UINT32_C(0x45280000)

uint32_t mxv_plan_least_word(const struct mxv_block_plan *plan, mxv_reached_fn *reached,
                             unsigned code, unsigned scale, uint32_t low, uint32_t high,
                             uint32_t guess)
{
    uint32_t step = 1;
    if (guess <= low || guess >= high)
        guess = low + (high - low) / 2;
    while (high - low > 1 && guess > low && guess < high) {
        if (reached(plan, guess, code, scale)) {
            high = guess;
            guess = guess > step ? guess - step : low;
        } else {
            low = guess;
            guess += step;
        }
        step *= 4;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (reached(plan, middle, code, scale))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/// Roundings that are symmetric in the sign and depend on the exact quotient alone near it.
static bool nearest(enum mxv_round round)
{
    return round == MXV_RNE || round == MXV_RNA || round == MXV_RNZ || round == MXV_RAH ||
           round == MXV_RTZ;
}

static bool element_reached(const struct mxv_block_plan *plan, uint32_t word, unsigned code,
                            unsigned scale)
{
    (void)scale;
    return mxv_element_encode(MXV_E2M1, mxv_value_from_f32(word), &plan->policy.encode) >= code;
}

static void prepare_mx_e2m1(struct mxv_block_plan *plan)
{
    for (unsigned code = 1; code < 8; code++)
        plan->rows[0][code] =
            mxv_plan_least_word(plan, element_reached, code, 0, 0, MXV_F32_ONE + (8u << 23), 0);
}

/// Roundings of which the vector form knows what to add below the cut.
static bool additive(enum mxv_round round)
{
    return nearest(round) || round == MXV_RHU || round == MXV_RTP || round == MXV_RTN ||
           round == MXV_RTO;
}

static void prepare_mx_rounding(struct mxv_block_plan *plan)
{
    const struct mxv_element_info *f = mxv_element_get(mxv_block_get(plan->block)->element);
    const struct mxv_encode *e = &plan->policy.encode;
    const bool directed = e->round == MXV_RTP || e->round == MXV_RTN || e->round == MXV_RTO;
    const bool beyond = e->overflow == MXV_OVERFLOW_IEEE && f->special != MXV_SPECIAL_NONE;
    plan->half_mask = e->round == MXV_RTZ || directed ? 0 : -1;
    plan->constant = e->round == MXV_RNE || e->round == MXV_RNZ ? -1 : 0;
    plan->even_mask = e->round == MXV_RNE ? -1 : 0;
    plan->sign_mask = e->round == MXV_RHU ? -1 : 0;
    plan->odd_mask = e->round == MXV_RTO ? 1 : 0;
    plan->largest = (uint32_t)f->max_code;
    for (int sign = 0; sign < 2; sign++) {
        const bool up = e->round == (sign ? MXV_RTN : MXV_RTP);
        const bool outward = directed ? up : e->round != MXV_RTZ;
        plan->up_mask[sign] = up ? -1 : 0;
        plan->above[sign] = plan->largest + (outward && beyond);
    }
    plan->flushed = e->flush_out ? (1u << f->frac_bits) - 1 : 0;
    plan->least_in = plan->policy.flush_in ? UINT32_C(0x00800000) : 1;
}

static uint8_t scale_at(const struct mxv_block_plan *plan, uint32_t frac)
{
    return mxv_scale_e8m0(plan->policy.rule, mxv_block_get(plan->block)->element,
                          MXV_F32_ONE | frac, &plan->policy.scale);
}

/// The step of the scale rule within a binade, and the window in which it is not the same in all.
static void prepare_scale(struct mxv_block_plan *plan)
{
    uint32_t low = 0, high = FRAC_END;
    const uint8_t first = scale_at(plan, 0);
    plan->scale_base = (int32_t)first - EXPONENT_ONE;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (scale_at(plan, middle) > first)
            high = middle;
        else
            low = middle;
    }
    plan->frac_ask = plan->frac_up = high;
    if (plan->policy.rule == MXV_SCALE_FLOOR_LIBM) {
        plan->frac_ask = FRAC_END - LIBM_WINDOW;
        plan->frac_up = FRAC_END;
    } else if (plan->policy.rule == MXV_SCALE_CEIL_LIBM) {
        plan->frac_ask = high > LIBM_WINDOW ? high - LIBM_WINDOW : 0;
        plan->frac_up = high + LIBM_WINDOW < FRAC_END ? high + LIBM_WINDOW : FRAC_END;
    }
}

/// Scales from 20 to 227 and maxima from 2^-80: quotients, and elements decoded again, are far from
/// the ends of binary32, where arith, fe, overflow and flushing make a difference.
static void prepare_mx(struct mxv_block_plan *plan)
{
    const struct mxv_block_policy *p = &plan->policy;
    const enum mxv_element element = mxv_block_get(plan->block)->element;
    const bool exact = p->arith == MXV_ARITH_EXACT;
    plan->vector = mxv_element_get(element)->shape == MXV_SHAPE_FLOAT && (exact || p->ops == NULL);
    // a quotient that vanishes in binary32 is not rounded away from zero
    plan->vector = plan->vector && additive(p->encode.round) &&
                   (exact || nearest(p->encode.round) || p->encode.round == MXV_RHU);
    if (!plan->vector)
        return;
    prepare_scale(plan);
    const int base = plan->scale_base;
    const int least = base < 20 - 47 ? 20 - base : 47;
    const int most = base > 226 - 250 ? 226 - base : 250;
    plan->vector = base > -100 && base < 100;
    plan->amax_least = (uint32_t)least << 23;
    plan->amax_most = ((uint32_t)most << 23) | (FRAC_END - 1);
    prepare_mx_rounding(plan);
    if (element == MXV_E2M1 && nearest(p->encode.round))
        prepare_mx_e2m1(plan);
}

static bool scale_reached(const struct mxv_block_plan *plan, uint32_t word, unsigned code,
                          unsigned scale)
{
    (void)scale;
    return mxv_nvfp4_scale_by(&plan->policy.nvfp4, word) >= code;
}

static bool nvfp4_reached(const struct mxv_block_plan *plan, uint32_t word, unsigned code,
                          unsigned scale)
{
    uint32_t x[NVFP4_SIZE] = {word};
    uint8_t codes[NVFP4_SIZE];
    mxv_nvfp4_encode(&plan->policy, x, 1, plan->amax_most, (uint8_t)scale, codes);
    return codes[0] >= code;
}

/// Scale codes by maximum: cells, and the thresholds inside them.
static void prepare_nvfp4_scales(struct mxv_block_plan *plan)
{
    uint32_t low = plan->amax_least - 1, guess = 0;
    unsigned code = mxv_nvfp4_scale_by(&plan->policy.nvfp4, plan->amax_least);
    const unsigned last = mxv_nvfp4_scale_by(&plan->policy.nvfp4, plan->amax_most);
    uint32_t cell = plan->amax_least >> 19;
    while (code < last) {
        const uint32_t word =
            mxv_plan_least_word(plan, scale_reached, code + 1, 0, low, plan->amax_most, guess);
        const unsigned next = mxv_nvfp4_scale_by(&plan->policy.nvfp4, word);
        for (; cell <= word >> 19; cell++)
            plan->cell[cell] = (uint8_t)code;
        if (low >= plan->amax_least && low >> 19 == word >> 19)
            plan->vector = false;
        plan->next_word[code] = word;
        plan->next_code[code] = (uint8_t)next;
        guess = word + (code < 16 ? 0 : UINT32_C(1) << 20);
        low = word;
        code = next;
    }
    for (; cell <= plan->amax_most >> 19; cell++)
        plan->cell[cell] = (uint8_t)last;
    plan->next_word[last] = MXV_F32_INF;
}

/// Near t * scale * f, f from the first row.
void mxv_plan_nvfp4_rows(struct mxv_block_plan *plan, mxv_reached_fn *reached)
{
    static const uint32_t middles[8] = {0,          0x3E800000, 0x3F400000, 0x3FA00000,
                                        0x3FE00000, 0x40200000, 0x40600000, 0x40A00000};
    const uint32_t one = 0x38;             // E4M3 code of 1.0
    const uint32_t most = plan->amax_most; // no element exceeds it; reaches 7 at scale 1
    const uint32_t first = mxv_plan_least_word(plan, reached, 7, one, 0, most, 0);
    const uint32_t factor = mxv_f32_div(first, middles[7]);
    for (unsigned scale = 1; scale < 127; scale++) {
        const uint32_t unit = mxv_f32_mul(mxv_element_to_f32(MXV_UE4M3, scale), factor);
        for (unsigned code = 1; code < 8; code++) {
            const uint32_t guess = mxv_f32_mul(middles[code], unit);
            plan->rows[scale][code] =
                reached(plan, most, code, scale)
                    ? mxv_plan_least_word(plan, reached, code, scale, 0, most, guess)
                    : MXV_F32_INF;
        }
    }
}

/// Maxima from 2^-40 of the tensor's: no order's quotient vanishes there.
static void prepare_nvfp4(struct mxv_block_plan *plan)
{
    const struct mxv_block_policy *p = &plan->policy;
    const struct mxv_nvfp4_policy *n = &p->nvfp4;
    const bool four_six = n->variant == MXV_NVFP4_FOUR_SIX;
    const uint32_t neutral = four_six ? WORD_1536 : WORD_2688;
    const uint32_t g = n->tensor_scaled ? mxv_f32_abs(n->tensor_amax) : neutral;
    const int field = (int)(g >> 23);
    plan->vector = nearest(p->encode.round) && field >= 60 && field <= 190 &&
                   (four_six || (n->ops == NULL && n->divisor == MXV_NVFP4_DIVISOR_STORED));
    if (!plan->vector)
        return;
    if (four_six) {
        mxv_plan_four_six(plan, g);
        return;
    }
    plan->amax_least = (uint32_t)(field - 40) << 23;
    plan->amax_most = ((uint32_t)(field + 40) << 23) | (FRAC_END - 1);
    if (n->order == MXV_NVFP4_GGML) // to 2^13 its errors are told apart at every scale
        plan->amax_most = UINT32_C(0x46000000) - 1;
    prepare_nvfp4_scales(plan);
    mxv_plan_nvfp4_rows(plan, nvfp4_reached);
}

void mxv_block_plan_prepare(struct mxv_block_plan *plan, enum mxv_block b,
                            const struct mxv_block_policy *p)
{
    const struct mxv_block_plan empty = MXV_ZERO;
    *plan = empty;
    plan->block = b;
    if (p != NULL)
        plan->policy = *p;
    plan->drop_negzero = plan->policy.encode.negzero == MXV_NEGZERO_DROP ||
                         (b == MXV_NVFP4 && plan->policy.nvfp4.order == MXV_NVFP4_GGML &&
                          plan->policy.nvfp4.variant == MXV_NVFP4_STANDARD);
    if (mxv_block_get(b)->scale == MXV_E8M0)
        prepare_mx(plan);
    else
        prepare_nvfp4(plan);
}
