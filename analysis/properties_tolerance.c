// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tolerances of the properties, from the formats, the matrix unit and the lengths of a call;
// derived in docs/properties.md. A unit that aligns L + 1 terms and keeps F bits below the largest
// errs by at most (L + 1) 2^(1-F) of it in each step, and by the rounding of its result.
#include "properties_internal.h"
#include <math.h>
#include <mxverify/matrix_unit.h>
#include <stdio.h>

static const struct mxv_mma_model *plain_unit(const struct mxv_attention *a, const char *type)
{
    static const char *const units[MXV_ARCH_COUNT] = {[MXV_ARCH_SM_80] = "mma",
                                                      [MXV_ARCH_SM_90] = "wgmma",
                                                      [MXV_ARCH_SM_100] = "tcgen05",
                                                      [MXV_ARCH_SM_120] = "mma"};
    char name[96];
    snprintf(name, sizeof name, "%s.%s.%s.f32", mxv_choice_name(MXV_CHOICE_ARCH, a->arch),
             units[a->arch], type);
    return mxv_mma_find(name);
}

static const char *type_name(enum mxv_element type)
{
    return type == MXV_E4M3 ? "e4m3" : type == MXV_BF16 ? "bf16" : "f16";
}

static const struct mxv_mma_model *pv_unit(const struct mxv_attention *a)
{
    if (a->kernel != MXV_KERNEL_DMA_RELEASED)
        return plain_unit(a, type_name(a->vt));
    if (a->mask != MXV_MASK_CAUSAL)
        return mxv_mma_find("sm_90.mma.tf32.f32");
    return mxv_mma_find(a->mode == MXV_MODE_MIXED ? "sm_90.wgmma.f16.f32" : "sm_90.mma.f16.f16");
}

// Half an ulp, relative.
static double unit_roundoff(enum mxv_element type)
{
    return type == MXV_F32 ? 0x1p-24 : ldexp(1, -1 - mxv_element_get(type)->frac_bits);
}

// Half of the smallest step, absolute.
static double least_step(enum mxv_element type)
{
    const struct mxv_element_info *info = mxv_element_get(type);
    return type == MXV_F32 ? 0 : ldexp(1, -info->bias - info->frac_bits);
}

// Error of a product of n terms, relative to the sum of magnitudes.
static double product_tolerance(const struct mxv_mma_model *m, size_t n)
{
    double steps = (double)((n + m->step - 1) / m->step);
    double kept = m->result == MXV_MMA_F16 ? 0x1p-10 : ldexp(1, -(int)m->keep_bits);
    return steps * ((m->step + 1) * ldexp(1, 1 - (int)m->frac_bits) + kept);
}

double sum_tolerance(const struct mxv_attention *a, size_t keys)
{
    double tiles = (double)((keys + a->tile_n - 1) / a->tile_n);
    return ((double)keys + 3 * tiles + 4) * 0x1p-24;
}

double output_tolerance(const struct mxv_attention *a, size_t keys)
{
    bool tf32 = a->kernel == MXV_KERNEL_DMA_RELEASED && a->mask != MXV_MASK_CAUSAL;
    double tiles = (double)((keys + a->tile_n - 1) / a->tile_n);
    double scaled = ldexp(1, (int)floorf(a->p_offset)); // the row's sum is at least half of it
    double p = tf32 ? 0x1p-10 : unit_roundoff(a->vt);
    double small = tf32 ? 0 : (double)keys * least_step(a->vt) / (scaled / 2);
    double v = a->vt == MXV_E4M3 ? 0x1p-4 + 0x1p-10 / 448 : 0;
    double unit = product_tolerance(pv_unit(a), keys + (a->tile_n - 1) * (size_t)tiles);
    double rescale = 3 * tiles * 0x1p-24, finish = 0x1p-22 + unit_roundoff(a->out);
    return (p + small + v + unit + rescale + sum_tolerance(a, keys) + finish) * 1.1; // cross terms
}

// The scores' unit is at least as exact as the 16-bit one of the architecture, or the 4-bit one; a
// rebased low route has that of E5M2.
double score_tolerance(const struct mxv_attention *a, double sum)
{
    const struct mxv_mma_model *m = plain_unit(a, a->kernel == MXV_KERNEL_DMA_RELEASED ? "bf16"
                                                  : a->rebase                          ? "e5m2"
                                                  : a->vt == MXV_BF16                  ? "bf16"
                                                                                       : "f16");
    double log2_unit = a->scale * 1.4426950408889634;
    return (product_tolerance(m, a->d) + 8 * 0x1p-24) * sum * log2_unit + 0x1p-22;
}
