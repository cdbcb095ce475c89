// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Which combinations of options a kernel offers (docs/kernels/*.md). Everything else is refused
// with one line that names the option, its value and what is allowed. Shared by all emulations,
// since a refusal is part of the interface and not of the arithmetic.
#include <mxverify/attention.h>
#include <stdarg.h>
#include <stdio.h>

static int refuse(char *message, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (message && size)
        vsnprintf(message, size, format, args);
    va_end(args);
    return -1;
}

#define NAME(kind, value) mxv_choice_name(MXV_CHOICE_##kind, (unsigned)(value))

static int check_shape(const struct mxv_attention *a, char *msg, size_t size)
{
    if (a->d != 32 && a->d != 64 && a->d != 96 && a->d != 128 && a->d != 256)
        return refuse(msg, size, "d=%zu: head dimensions are 32, 64, 96, 128 and 256", a->d);
    if (a->sequences == 0 || a->heads_q == 0 || a->heads_kv == 0 || a->heads_q % a->heads_kv)
        return refuse(msg, size,
                      "hq=%zu hk=%zu: query heads must be a positive multiple of KV heads",
                      a->heads_q, a->heads_kv);
    if (a->tile_m == 0 || a->tile_m % 16 || a->tile_m > 256 || a->tile_n == 0 || a->tile_n % 32 ||
        a->tile_n > 256)
        return refuse(
            msg, size,
            "tile=%zux%zu: query rows must be a multiple of 16 and keys a multiple of 32, "
            "both at most 256",
            a->tile_m, a->tile_n);
    if (!(a->scale >= 1e-30 && a->scale <= 1e30)) // log2 e times it is no binary32 zero
        return refuse(msg, size, "scale=%g: the softmax scale lies in 1e-30..1e30", a->scale);
    return 0;
}

static int check_common(const struct mxv_attention *a, char *msg, size_t size)
{
    if (a->in != MXV_F16 && a->in != MXV_BF16 && a->in != MXV_F32)
        return refuse(msg, size, "in: input types are f16, bf16 and f32");
    if (a->out != MXV_F16 && a->out != MXV_BF16 && a->out != MXV_F32)
        return refuse(msg, size, "out: output types are f32, f16 and bf16");
    if (a->vt != MXV_F16 && a->vt != MXV_BF16 && a->vt != MXV_E4M3)
        return refuse(msg, size, "v: PV types are f16, bf16 and e4m3");
    if (a->vt == MXV_E4M3 && a->kernel != MXV_KERNEL_DMA)
        return refuse(msg, size, "v=e4m3: only kernel dma offers an FP8 PV product");
    if (a->vt == MXV_E4M3 && a->arch == MXV_ARCH_SM_80)
        return refuse(msg, size, "v=e4m3: sm_80 has no FP8 matrix unit");
    if (a->left < -1 || a->right < -1)
        return refuse(msg, size, "left=%ld right=%ld: window distances are -1 (unlimited) or more",
                      a->left, a->right);
    if (a->mask == MXV_MASK_CAUSAL && a->right > 0)
        return refuse(msg, size, "right=%ld: with mask=causal the right distance is 0", a->right);
    if (!(a->tau >= 0 && a->tau <= 64))
        return refuse(msg, size, "tau=%g: the rescale threshold lies in 0..64", (double)a->tau);
    if (!(a->p_offset >= -64 && a->p_offset <= 64))
        return refuse(msg, size, "poff=%g: the offset of P lies in -64..64", (double)a->p_offset);
    return 0;
}

static int check_rebase(const struct mxv_attention *a, char *msg, size_t size)
{
    if (!a->rebase)
        return 0;
    if (a->kernel != MXV_KERNEL_DMA)
        return refuse(msg, size, "rebase=1: only kernel dma offers it");
    if (a->arch != MXV_ARCH_SM_90)
        return refuse(msg, size, "rebase=1: needs arch=sm_90, got %s", NAME(ARCH, a->arch));
    if (a->mode == MXV_MODE_HIGH)
        return refuse(msg, size, "rebase=1: mode=high has no low route; needs mixed or low");
    if (a->low != MXV_LOW_MXFP4)
        return refuse(msg, size, "rebase=1: needs low=mxfp4, got %s", NAME(LOW, a->low));
    return 0;
}

static int check_dma(const struct mxv_attention *a, char *msg, size_t size)
{
    if (a->plan == MXV_PLAN_WORDS)
        return refuse(msg, size, "plan=words: dma offers diag, zones and entropy");
    if (a->plan == MXV_PLAN_ZONES && a->mode != MXV_MODE_MIXED)
        return refuse(msg, size, "plan=zones: needs mode=mixed, got %s", NAME(MODE, a->mode));
    if (a->plan == MXV_PLAN_ZONES && a->arch == MXV_ARCH_SM_80)
        return refuse(msg, size, "plan=zones: sm_80 has no FP8 matrix unit for the core zone");
    if (a->plan == MXV_PLAN_ZONES &&
        !(a->core_share >= 0 && a->core_share <= 1 && a->buffer_share >= 0 && a->buffer_share <= 1))
        return refuse(msg, size, "core=%g buffer=%g: zone shares lie in 0..1", a->core_share,
                      a->buffer_share);
    return 0;
}

static int check_released(const struct mxv_attention *a, char *msg, size_t size)
{
    if (a->arch != MXV_ARCH_SM_90)
        return refuse(msg, size, "arch=%s: dma-released is the program as compiled for sm_90",
                      NAME(ARCH, a->arch));
    if (a->d != 128 || a->tile_m != 128 || a->tile_n != 128)
        return refuse(msg, size, "d=%zu tile=%zux%zu: dma-released has d=128 and tile=128x128",
                      a->d, a->tile_m, a->tile_n);
    for (size_t s = 0; s < a->sequences; s++)
        if (a->cu_q[s + 1] - a->cu_q[s] != a->cu_k[s + 1] - a->cu_k[s])
            return refuse(msg, size, "sequence %zu: dma-released needs lq = lk", s);
    if (a->vt != MXV_F16 || a->lse != MXV_LSE_NONE || a->order != MXV_ORDER_ASC ||
        a->exp != MXV_EXP_HW || a->left != -1 || a->right != -1 || a->tau != 0 ||
        a->p_offset != 0 || a->masked != MXV_MASKED_INF || a->empty != MXV_EMPTY_ZERO)
        return refuse(
            msg, size,
            "dma-released has v=f16, lse=none, order=asc, exp=hw, no window, tau or poff");
    if (a->plan != MXV_PLAN_DIAG || a->rule != MXV_SCALE_FLOOR)
        return refuse(msg, size, "dma-released has plan=diag and its own scale rule (rule=floor)");
    if (a->dual != MXV_DUAL_NONE && a->dual != MXV_DUAL_TOKEN && a->dual != MXV_DUAL_BLOCK)
        return refuse(msg, size, "dual=%s: dma-released offers none, token and block",
                      NAME(DUAL, a->dual));
    if (a->mode == MXV_MODE_MIXED && a->low != MXV_LOW_NVFP4)
        return refuse(msg, size, "low=%s: mode=mixed of dma-released is MXFP8 and nvfp4",
                      NAME(LOW, a->low));
    if (a->mode == MXV_MODE_MIXED && a->mask != MXV_MASK_CAUSAL)
        return refuse(msg, size, "mask=full: the released mixed kernel is causal only (defect D6)");
    if (a->mode == MXV_MODE_HIGH && a->high == MXV_HIGH_MXFP8_E5M2 && a->mask != MXV_MASK_CAUSAL)
        return refuse(msg, size,
                      "mask=full high=mxfp8_e5m2: the released kernel declares these operands as "
                      "e4m3 (defect D6)");
    if (a->dual != MXV_DUAL_NONE && a->mask != MXV_MASK_CAUSAL)
        return refuse(msg, size,
                      "mask=full dual=%s: undefined names in the released kernel (defect D7)",
                      NAME(DUAL, a->dual));
    return 0;
}

static int check_tilemix(const struct mxv_attention *a, char *msg, size_t size)
{
    if (a->word_bits != 32 && a->word_bits != 64)
        return refuse(msg, size, "W=%u: route words have 32 or 64 bits", a->word_bits);
    if (a->group == 0 || (a->group & (a->group - 1)))
        return refuse(msg, size, "g=%zu: the group factor is a power of two", a->group);
    if (a->kv_cache && a->k_gran != MXV_GRAN_TOKEN)
        return refuse(msg, size, "kgran=%s: the INT8 cache has one scale per token (kgran=token)",
                      NAME(GRAN, a->k_gran));
    if (a->int8_round != MXV_RNE && a->int8_round != MXV_RNA)
        return refuse(msg, size, "int8: rounding is rne or rna");
    return 0;
}

int mxv_attention_check(const struct mxv_attention *a, char *message, size_t size)
{
    if (check_shape(a, message, size) || check_common(a, message, size) ||
        check_rebase(a, message, size))
        return -1;
    if (a->fold && a->kernel != MXV_KERNEL_TILEMIX)
        return refuse(message, size, "fold=1: only kernel tilemix offers it");
    switch (a->kernel) {
    case MXV_KERNEL_DMA:
        return check_dma(a, message, size);
    case MXV_KERNEL_DMA_RELEASED:
        return check_released(a, message, size);
    case MXV_KERNEL_TILEMIX:
        return check_tilemix(a, message, size);
    default:
        return 0;
    }
}
