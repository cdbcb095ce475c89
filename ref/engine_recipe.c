// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Which matrix-unit model each route and the PV product use, and the softmax recipe of a kernel
// (docs/kernels/contract.md 3 and 5, dma.md 3, dma-released.md 4 and 5).
#include "engine_faults.h"
#include <math.h>
#include <stdio.h>

static int fail_with(struct head *h, enum mxv_head_status status, const char *what,
                     const char *text)
{
    if (h->status == MXV_HEAD_OK && h->message && h->message_size)
        snprintf(h->message, h->message_size, "%s%s", what, text);
    return h->status = h->status ? h->status : (int)status;
}

int head_fail(struct head *h, const char *text)
{
    return fail_with(h, MXV_HEAD_UNSUPPORTED, "", text);
}

int head_no_memory(struct head *h, const char *for_what)
{
    return fail_with(h, MXV_HEAD_NO_MEMORY, "emulation: out of memory for ", for_what);
}

static const struct mxv_mma_model *model(struct head *h, const char *format, const char *type)
{
    char name[96];
    snprintf(name, sizeof name, format, mxv_choice_name(MXV_CHOICE_ARCH, h->a->arch), type);
    const struct mxv_mma_model *m = mxv_mma_find(name);
    if (!m && h->message && h->message_size)
        snprintf(h->message, h->message_size, "no matrix-unit model named %s", name);
    return m;
}

// ARCH.UNIT.TYPE.f32: the unit of 16-bit and FP8 products.
static const struct mxv_mma_model *plain_product(struct head *h, const char *type)
{
    static const char *const formats[MXV_ARCH_COUNT] = {
        [MXV_ARCH_SM_80] = "%s.mma.%s.f32",
        [MXV_ARCH_SM_90] = "%s.wgmma.%s.f32",
        [MXV_ARCH_SM_100] = "%s.tcgen05.%s.f32",
        [MXV_ARCH_SM_120] = "%s.mma.%s.f32",
    };
    return model(h, formats[h->a->arch], type);
}

static bool native_scaling(const struct head *h)
{
    return h->a->arch == MXV_ARCH_SM_100 || h->a->arch == MXV_ARCH_SM_120;
}

static const struct mxv_mma_model *block_product(struct head *h, enum mxv_route route)
{
    bool tcgen05 = h->a->arch == MXV_ARCH_SM_100;
    const char *high = h->a->high == MXV_HIGH_MXFP8_E4M3 ? "e4m3" : "e5m2";
    if (!native_scaling(h))
        return plain_product(h, "bf16");
    if (route == MXV_ROUTE_HIGH)
        return model(h, tcgen05 ? "%s.tcgen05.mxf8f6f4.%s.f32" : "%s.mma.mxf8f6f4.%s.f32", high);
    return model(h, tcgen05 ? "%s.tcgen05.%s.f32" : "%s.mma.%s.f32",
                 h->a->low == MXV_LOW_MXFP4 ? "mxf4.ue8m0" : "mxf4nvf4.ue4m3");
}

static const char *sixteen_bit(enum mxv_element type)
{
    return type == MXV_BF16 ? "bf16" : "f16";
}

static int choose_scores(struct head *h)
{
    const struct mxv_attention *a = h->a;
    const struct mxv_mma_model **score = h->recipe.score;
    if (a->kernel == MXV_KERNEL_FLASH || a->kernel == MXV_KERNEL_TILEMIX) {
        score[MXV_ROUTE_F16] = plain_product(h, sixteen_bit(a->vt));
        score[MXV_ROUTE_INT8] = model(h, "%s.mma.%s.s32", "s8.s8");
        if (!score[MXV_ROUTE_INT8])
            score[MXV_ROUTE_INT8] = model(h, "%s.mma.%s.s32", "s8");
        return score[MXV_ROUTE_F16] && score[MXV_ROUTE_INT8] ? 0 : -1;
    }
    score[MXV_ROUTE_HIGH] = block_product(h, MXV_ROUTE_HIGH);
    score[MXV_ROUTE_LOW] = a->rebase ? plain_product(h, "e5m2") : block_product(h, MXV_ROUTE_LOW);
    if (a->plan == MXV_PLAN_ZONES)
        score[MXV_ROUTE_CORE] = plain_product(h, "e4m3");
    return score[MXV_ROUTE_HIGH] && score[MXV_ROUTE_LOW] &&
                   (a->plan != MXV_PLAN_ZONES || score[MXV_ROUTE_CORE])
               ? 0
               : -1;
}

static int choose_released(struct head *h)
{
    const struct mxv_attention *a = h->a;
    struct recipe *r = &h->recipe;
    bool causal = a->mask == MXV_MASK_CAUSAL;
    bool f16_tile = causal && !(a->mode == MXV_MODE_MIXED && a->diag > 0);
    r->softmax.sum = MXV_SUM_TILE;
    r->softmax.unguarded = true;
    r->softmax.natural = !causal || mxv_fault_on(a, MXV_FAULT_EXP_BASE);
    r->additive_mask = true;
    r->divide = true;
    r->pv_kind = !causal ? PV_TF32 : f16_tile ? PV_F16_TILE : PV_INTO_ACC;
    r->p_type = causal ? MXV_F16 : MXV_F32;
    r->pv = mxv_mma_find(!causal    ? "sm_90.mma.tf32.f32"
                         : f16_tile ? "sm_90.mma.f16.f16"
                                    : "sm_90.wgmma.f16.f32");
    return r->pv ? 0 : head_fail(h, "no matrix-unit model for the released PV product");
}

int recipe_choose(struct head *h)
{
    const struct mxv_attention *a = h->a;
    struct recipe *r = &h->recipe;
    bool dma = a->kernel == MXV_KERNEL_DMA || a->kernel == MXV_KERNEL_DMA_RELEASED;
    r->softmax = (struct mxv_softmax){
        .log2_scores = dma,
        .c = h->c,
        .tau = a->tau,
        .offset = a->p_offset,
        .exp = a->exp,
        .sum = a->arch == MXV_ARCH_SM_100 ? MXV_SUM_PAIR : MXV_SUM_QUAD,
        .empty = a->empty,
        .finite = a->masked == MXV_MASKED_FINITE,
        .natural = mxv_fault_on(a, MXV_FAULT_EXP_BASE) ||
                   (a->kernel == MXV_KERNEL_DMA && a->mask == MXV_MASK_FULL &&
                    mxv_fault_on(a, MXV_FAULT_NATURAL_EXP)),
        .faults = fault_softmax(a),
    };
    if (choose_scores(h))
        return -1;
    if (a->kernel == MXV_KERNEL_DMA_RELEASED)
        return choose_released(h);
    r->pv_kind = PV_INTO_ACC;
    r->p_type = a->vt;
    r->pv = plain_product(h, a->vt == MXV_E4M3 ? "e4m3" : sixteen_bit(a->vt));
    return r->pv ? 0 : -1;
}
