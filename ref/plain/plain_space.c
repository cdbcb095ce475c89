// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Work space and matrix-unit models of one head of the plain emulation: docs/kernels/contract.md
// section 3, dma.md section 3.
//
// Nothing is computed. All memory is taken here or through plain_alloc and released by plain_close,
// which may be called at any time after plain_open. tests/unit/test_plain_models.c fails if a
// model is wrong.
#include "plain.h"
#include <stdio.h>
#include <stdlib.h>

void *plain_alloc(struct plain_head *h, size_t count, size_t size)
{
    void *p = h->owned_count < PLAIN_OWNED_MAX ? calloc(count ? count : 1, size) : NULL;
    if (p)
        h->owned[h->owned_count++] = p;
    else
        h->out_of_memory = true;
    return p;
}

void plain_close(struct plain_head *h)
{
    while (h->owned_count > 0)
        free(h->owned[--h->owned_count]);
}

static size_t tiles(size_t rows, size_t tile)
{
    return (rows + tile - 1) / tile;
}

static void set_shape(struct plain_head *h)
{
    const struct mxv_attention *a = h->a;
    h->kv_head = h->head / (a->heads_q / a->heads_kv);
    h->lq = a->cu_q[h->sequence + 1] - a->cu_q[h->sequence];
    h->lk = a->cu_k[h->sequence + 1] - a->cu_k[h->sequence];
    h->tiles_q = tiles(h->lq, a->tile_m);
    h->tiles_k = tiles(h->lk, a->tile_n);
    for (size_t s = 0; s < a->sequences; s++) {
        if (s == h->sequence)
            h->first_tile = h->all_tiles;
        h->all_tiles += tiles(a->cu_q[s + 1] - a->cu_q[s], a->tile_m);
    }
    const bool dma = a->kernel == MXV_KERNEL_DMA || a->kernel == MXV_KERNEL_DMA_RELEASED;
    h->t16 = dma || a->vt == MXV_F16 ? MXV_F16 : MXV_BF16;
    h->c = (float)(a->scale * 1.4426950408889634);
}

static size_t scales_per_row(const struct mxv_attention *a, enum mxv_route route)
{
    switch (route) {
    case MXV_ROUTE_HIGH:
    case MXV_ROUTE_CORE:
        return a->d / 32;
    case MXV_ROUTE_LOW:
        return a->low == MXV_LOW_NVFP4 ? a->d / 16 : a->d / 32;
    case MXV_ROUTE_INT8:
        return 1;
    default:
        return 0;
    }
}

static void take_side(struct plain_head *h, struct plain_side *side, size_t rows)
{
    const size_t d = h->a->d;
    side->rows = rows;
    side->x = plain_alloc(h, rows * d, sizeof(float));
    side->sigma = plain_alloc(h, rows > d ? rows : d, sizeof(float));
    for (enum mxv_route r = MXV_ROUTE_F16; r < MXV_ROUTE_SKIP; r++) {
        struct plain_copy *copy = &side->copy[r];
        if (!plain_uses(h->a, r))
            continue;
        copy->scales_per_row = scales_per_row(h->a, r);
        copy->code = plain_alloc(h, rows * d, sizeof(uint32_t));
        copy->scale = plain_alloc(h, rows * copy->scales_per_row, sizeof(uint32_t));
        copy->phi = plain_alloc(h, rows, sizeof(float));
    }
}

static void take_work(struct plain_head *h)
{
    const size_t d = h->a->d, bm = h->a->tile_m, bn = h->a->tile_n;
    const size_t longest = h->lq > h->lk ? h->lq : h->lk;
    h->v = plain_alloc(h, h->lk * d, sizeof(float));
    h->v_code = plain_alloc(h, h->lk * d, sizeof(uint32_t));
    h->v_row_scale = plain_alloc(h, h->lk, sizeof(float));
    h->max = plain_alloc(h, bm, sizeof(float));
    h->lane = plain_alloc(h, bm * PLAIN_LANES_MAX, sizeof(float));
    h->acc = plain_alloc(h, bm * d, sizeof(float));
    h->q_words = plain_alloc(h, bm * d, sizeof(uint32_t));
    h->k_words = plain_alloc(h, bn * d, sizeof(uint32_t));
    h->v_words = plain_alloc(h, bn * d, sizeof(uint32_t));
    h->score = plain_alloc(h, bm * bn, sizeof(float));
    h->integer = plain_alloc(h, bm * bn, sizeof(float));
    h->weight = plain_alloc(h, bm * bn, sizeof(uint32_t));
    h->alpha = plain_alloc(h, bm, sizeof(float));
    h->sum = plain_alloc(h, bm, sizeof(float));
    h->out = plain_alloc(h, h->lq * d, sizeof(uint32_t));
    h->lse = plain_alloc(h, h->lq, sizeof(uint32_t));
    h->words = plain_alloc(h, bm * bn + bm * d + longest, sizeof(uint32_t));
}

static const char *unit_of(enum mxv_arch arch)
{
    static const char *const units[MXV_ARCH_COUNT] = {
        [MXV_ARCH_SM_80] = "sm_80.mma",
        [MXV_ARCH_SM_90] = "sm_90.wgmma",
        [MXV_ARCH_SM_100] = "sm_100.tcgen05",
        [MXV_ARCH_SM_120] = "sm_120.mma",
    };
    return units[arch];
}

static const struct mxv_mma_model *model(enum mxv_arch arch, const char *operands)
{
    char name[80];
    snprintf(name, sizeof name, "%s.%s.f32", unit_of(arch), operands);
    return mxv_mma_find(name);
}

static const char *type_name(enum mxv_element f)
{
    if (f == MXV_E4M3)
        return "e4m3";
    return f == MXV_BF16 ? "bf16" : "f16";
}

// Tiles of kernel dma-released always read bf16, those of dma where the unit has no block scales.
static bool reads_bf16(const struct mxv_attention *a)
{
    return a->kernel == MXV_KERNEL_DMA_RELEASED || a->arch == MXV_ARCH_SM_80 ||
           a->arch == MXV_ARCH_SM_90;
}

static const char *block_operands(const struct mxv_attention *a, enum mxv_route route)
{
    if (route == MXV_ROUTE_LOW && a->rebase)
        return "e5m2";
    if (reads_bf16(a))
        return "bf16";
    if (route == MXV_ROUTE_HIGH)
        return a->high == MXV_HIGH_MXFP8_E4M3 ? "mxf8f6f4.e4m3" : "mxf8f6f4.e5m2";
    return a->low == MXV_LOW_MXFP4 ? "mxf4.ue8m0" : "mxf4nvf4.ue4m3";
}

// False if a model that the call needs is not offered. Route int8 needs none: its sum is exact.
static bool find_models(struct plain_head *h)
{
    const struct mxv_attention *a = h->a;
    bool found = true;
    h->score_model[MXV_ROUTE_F16] = model(a->arch, type_name(h->t16));
    h->score_model[MXV_ROUTE_CORE] = model(a->arch, "e4m3");
    h->score_model[MXV_ROUTE_HIGH] = model(a->arch, block_operands(a, MXV_ROUTE_HIGH));
    h->score_model[MXV_ROUTE_LOW] = model(a->arch, block_operands(a, MXV_ROUTE_LOW));
    h->pv_model = model(a->arch, type_name(a->vt));
    h->pv_tf32_model = mxv_mma_find("sm_90.mma.tf32.f32");
    h->pv_f16_model = mxv_mma_find("sm_90.mma.f16.f16");
    for (enum mxv_route r = MXV_ROUTE_F16; r < MXV_ROUTE_INT8; r++)
        found = found && (!plain_uses(a, r) || h->score_model[r]);
    return found && h->pv_model && h->pv_tf32_model && h->pv_f16_model;
}

int plain_open(struct plain_head *h, char *message, size_t size)
{
    set_shape(h);
    take_side(h, &h->q, h->lq);
    take_side(h, &h->k, h->lk);
    take_work(h);
    const char *problem = NULL;
    int status = MXV_HEAD_OK;
    if (h->out_of_memory) {
        problem = "plain emulation: out of memory";
        status = MXV_HEAD_NO_MEMORY;
    } else if (!find_models(h)) {
        problem = "a matrix-unit model of this architecture is missing";
        status = MXV_HEAD_UNSUPPORTED;
    }
    if (problem && message && size)
        snprintf(message, size, "%s", problem);
    return status;
}
