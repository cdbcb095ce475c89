// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a call that its bounds need: matrix units (docs/kernels/contract.md 3, dma.md 3,
// tilemix.md 3), types, exponential, lanes of the row sum; and the bound on one score. Choices that
// the papers leave open arrive through struct mxv_attention. tests/unit/test_bound.c compares the
// score bound with sums of chosen operands.
#include <float.h>
#include <math.h>
#include <mxverify/bound.h>
#include <mxverify/matrix_unit.h>
#include <stdio.h>

#define X(id, name, text) name,
static const char *const term_names[] = {MXV_BOUND_TERMS(X)};
#undef X
#define X(id, name, text) text,
static const char *const term_texts[] = {MXV_BOUND_TERMS(X)};
#undef X

const char *mxv_bound_term_name(unsigned term)
{
    return term < MXV_BOUND_TERM_COUNT ? term_names[term] : NULL;
}

const char *mxv_bound_term_text(unsigned term)
{
    return term < MXV_BOUND_TERM_COUNT ? term_texts[term] : NULL;
}

static bool unit_of(const char *name, struct mxv_bound_unit *u)
{
    const struct mxv_mma_model *m = mxv_mma_find(name);
    if (!m)
        return false;
    const struct mxv_element_info *a = mxv_element_get(m->a), *b = mxv_element_get(m->b);
    *u = (struct mxv_bound_unit){
        .k = m->k,
        .step = m->step,
        .frac_bits = m->frac_bits,
        .keep_bits = m->keep_bits,
        .product_bits = (unsigned)a->frac_bits + b->frac_bits,
        .smallest_a = ldexp(1, 1 - a->bias),
        .smallest_b = ldexp(1, 1 - b->bias),
        .exact = m->rule == MXV_MMA_INT,
    };
    return true;
}

static bool plain_unit(const struct mxv_attention *a, const char *type, struct mxv_bound_unit *u)
{
    static const char *const kinds[MXV_ARCH_COUNT] = {
        [MXV_ARCH_SM_80] = "mma",
        [MXV_ARCH_SM_90] = "wgmma",
        [MXV_ARCH_SM_100] = "tcgen05",
        [MXV_ARCH_SM_120] = "mma",
    };
    char name[96];
    snprintf(name, sizeof name, "%s.%s.%s.f32", mxv_choice_name(MXV_CHOICE_ARCH, a->arch),
             kinds[a->arch], type);
    return unit_of(name, u);
}

static bool block_unit(const struct mxv_attention *a, bool high, struct mxv_bound_unit *u)
{
    char name[96];
    if (!high && a->rebase)
        return plain_unit(a, "e5m2", u);
    if (a->arch == MXV_ARCH_SM_80 || a->arch == MXV_ARCH_SM_90)
        return plain_unit(a, "bf16", u);
    const char *kind = a->arch == MXV_ARCH_SM_100 ? "tcgen05" : "mma";
    const char *type = a->high == MXV_HIGH_MXFP8_E4M3 ? "mxf8f6f4.e4m3" : "mxf8f6f4.e5m2";
    if (!high)
        type = a->low == MXV_LOW_MXFP4 ? "mxf4.ue8m0" : "mxf4nvf4.ue4m3";
    snprintf(name, sizeof name, "%s.%s.%s.f32", mxv_choice_name(MXV_CHOICE_ARCH, a->arch), kind,
             type);
    return unit_of(name, u);
}

static const char *type_name(enum mxv_element t)
{
    return t == MXV_E4M3 ? "e4m3" : t == MXV_BF16 ? "bf16" : "f16";
}

static bool choose_units(const struct mxv_attention *a, struct mxv_bound_contract *c)
{
    if (!plain_unit(a, type_name(a->vt), &c->pv))
        return false;
    if (a->kernel != MXV_KERNEL_DMA) {
        c->score[MXV_ROUTE_INT8].exact = true;
        c->score_products[MXV_ROUTE_INT8] = 2 * 0x1.01p-24;
        c->folded = a->fold ? 2 * 0x1.01p-24 : 0;
        return plain_unit(a, type_name(a->vt), &c->score[MXV_ROUTE_F16]);
    }
    bool second =
        a->dual == MXV_DUAL_TOKEN || a->dual == MXV_DUAL_BLOCK || a->dual == MXV_DUAL_TENSOR;
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
        c->score_products[r] = second ? 2 * 0x1.01p-24 : 0;
    // core: one product of scales, and one fused add for each of d / 32 groups
    c->score_products[MXV_ROUTE_CORE] += (1 + (double)a->d / 32) * 0x1.01p-24;
    c->rebased = a->rebase;
    bool found = block_unit(a, true, &c->score[MXV_ROUTE_HIGH]) &&
                 block_unit(a, false, &c->score[MXV_ROUTE_LOW]) &&
                 (a->plan != MXV_PLAN_ZONES || plain_unit(a, "e4m3", &c->score[MXV_ROUTE_CORE]));
    // the smallest normal element times a block's scale is below the block's largest magnitude
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
        c->score[r].smallest_a = c->score[r].smallest_b = 0;
    return found;
}

bool mxv_bound_contract_of(const struct mxv_attention *a, struct mxv_bound_contract *c)
{
    *c = (struct mxv_bound_contract){0};
    if (a->kernel == MXV_KERNEL_DMA_RELEASED || !choose_units(a, c))
        return false;
    c->softmax = (struct mxv_softmax){
        .log2_scores = a->kernel == MXV_KERNEL_DMA,
        .c = (float)(a->scale * 1.4426950408889634),
        .tau = a->tau,
        .offset = a->p_offset,
        .exp = a->exp,
        .finite = a->masked == MXV_MASKED_FINITE,
    };
    c->exp_relative = a->exp == MXV_EXP_POLY ? 0x1.8p-13 : a->exp == MXV_EXP_HW ? 0x1p-22 : 0x1p-24;
    const struct mxv_element_info *p = mxv_element_get(a->vt);
    c->p_frac_bits = p->frac_bits;
    c->p_emin = 1 - p->bias;
    c->p_largest = ldexp(a->vt == MXV_E4M3 ? 1.75 : 2 - ldexp(1, -p->frac_bits), p->emax);
    c->p_saturates = a->vt == MXV_E4M3;
    c->sum_lanes = a->arch == MXV_ARCH_SM_100 ? 2 : 4;
    c->division = 0x1p-23 + 0x1p-24 * (a->vt == MXV_E4M3 ? 2 : 1) + 0x1p-44;
    c->out = a->out;
    c->tile_n = a->tile_n;
    c->descending = a->order == MXV_ORDER_DESC;
    return true;
}

double mxv_bound_score(const struct mxv_bound_contract *c, enum mxv_route route, size_t d,
                       double magnitude, double q_max, double k_max)
{
    const struct mxv_bound_unit *u = &c->score[route];
    double products = c->score_products[route] * magnitude;
    if (u->exact)
        return products * MXV_BOUND_MARGIN + 0x1p-140;
    size_t instructions = (d + u->k - 1) / u->k, steps = instructions * (u->k / u->step);
    double cut = (u->step + 1) * ldexp(1, -(int)u->frac_bits);
    double keep = ldexp(1, -(int)u->keep_bits);
    bool rebased = c->rebased && route == MXV_ROUTE_LOW;
    if (rebased && (double)d * q_max * 0x1p16 >= 0x1p127)
        return INFINITY; // S * phi_q may overflow, k being up to 6 * 2^13 before phi_k
    // a row of K that is small in its tile: its E5M2 codes are at least a quarter of what they
    // count as in the shared exponent
    double largest = fmax(q_max, u->smallest_a) * fmax(k_max, u->smallest_b) * (rebased ? 4 : 1);
    double top = magnitude + largest;
    double sum = route == MXV_ROUTE_CORE ? (cut + keep) * top * 1.01
                                         : (double)steps * (cut + keep) * top * 1.01;
    double least = rebased ? 0x1p-35 : 0x1p-120; // S * phi_q may be subnormal, phi_k be 2^114
    return (sum + products) * MXV_BOUND_MARGIN + least;
}

void mxv_bound_finish(const struct mxv_bound_contract *c, double largest,
                      struct mxv_bound_terms *terms)
{
    double before = largest * (1 + c->division), half = 0, step = 0;
    const struct mxv_element_info *out = mxv_element_get(c->out);
    if (c->out != MXV_F32 && before > 0 && isfinite(before)) {
        int e = ilogb(before);
        half = ldexp(0.5, (e < 1 - out->bias ? 1 - out->bias : e) - out->frac_bits);
    } else if (before > 0) {
        step = 0x1p-149; // subnormal results of the two products
    }
    terms->term[MXV_BOUND_DIVISION] = largest * c->division + 0x1p-149 + step;
    terms->term[MXV_BOUND_OUTPUT] = isfinite(before) ? half : INFINITY;
}

double mxv_bound_total(const struct mxv_bound_terms *terms, enum mxv_bound_term first)
{
    double sum = 0;
    for (unsigned t = first; t < MXV_BOUND_TERM_COUNT; t++)
        sum += terms->term[t];
    return sum * MXV_BOUND_MARGIN;
}
