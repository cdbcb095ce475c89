// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of an emulated call: which matrix unit each route and the PV product have
// (docs/kernels/contract.md 3, dma.md 3), and the codes that it multiplies, made by the quantisers
// of the production kernels. On sm_80 and sm_90 block formats are decoded to bf16, on sm_100 and
// sm_120 the unit takes codes and scales. gpu/emulate_verify compares every operand tap.
#include "emulate_state.h"

#include <mxverify/matrix_unit.h>
#include <stdio.h>
#include <stdlib.h>

static const char *sixteen_bit(enum mxv_element type)
{
    return type == MXV_BF16 ? "bf16" : "f16";
}

static bool native_scaling(const struct mxv_attention *a)
{
    return a->arch == MXV_ARCH_SM_100 || a->arch == MXV_ARCH_SM_120;
}

struct mxv_emulate_model emulate_model(struct cuda_run *run, const char *name)
{
    const struct mxv_mma_model *m = mxv_mma_find(name);
    struct mxv_emulate_model out = {0};
    if (!m || m->rule > MXV_MMA_INT || m->rule == MXV_MMA_HMMA_FP8 || m->result == MXV_MMA_F16 ||
        m->a != m->b) {
        cuda_refuse(run, "gpu-emulation has no kernel for a matrix unit of this call");
        return out;
    }
    out = (struct mxv_emulate_model){.frac = (int32_t)m->frac_bits,
                                     .keep = (int32_t)m->keep_bits,
                                     .zero_exp = m->zero_exp,
                                     .element = m->a,
                                     .scaled = m->rule == MXV_MMA_ST};
    if (m->rule == MXV_MMA_GST)
        out.unit = m->scale == MXV_UE4M3 ? MXV_EMULATE_NVFP4 : MXV_EMULATE_MXFP4;
    else if (m->rule == MXV_MMA_INT)
        out.unit = MXV_EMULATE_INT8;
    else
        out.unit = m->step == 8    ? MXV_EMULATE_T8
                   : m->step == 16 ? MXV_EMULATE_T16
                                   : MXV_EMULATE_T32;
    return out;
}

// The row of `format` with `type` on the call's arch.
static struct mxv_emulate_model model_of(struct emulation *e, const char *format, const char *type)
{
    char name[96];
    const int arch = snprintf(name, sizeof name, "%s.",
                              mxv_choice_name(MXV_CHOICE_ARCH, (unsigned)e->s.a->arch));
    snprintf(name + arch, sizeof name - (size_t)arch, format, type);
    return emulate_model(&e->s.run, name);
}

// Unscaled 16-bit or FP8 products.
static struct mxv_emulate_model plain_model(struct emulation *e, const char *type)
{
    static const char *const formats[MXV_ARCH_COUNT] = {
        [MXV_ARCH_SM_80] = "mma.%s.f32",
        [MXV_ARCH_SM_90] = "wgmma.%s.f32",
        [MXV_ARCH_SM_100] = "tcgen05.%s.f32",
        [MXV_ARCH_SM_120] = "mma.%s.f32",
    };
    return model_of(e, formats[e->s.a->arch], type);
}

static struct mxv_emulate_model block_model(struct emulation *e, enum mxv_route route)
{
    const struct mxv_attention *a = e->s.a;
    const bool tcgen05 = a->arch == MXV_ARCH_SM_100;
    if (route == MXV_ROUTE_LOW && a->rebase)
        return plain_model(e, "e5m2");
    if (!native_scaling(a))
        return plain_model(e, "bf16");
    if (route == MXV_ROUTE_HIGH)
        return model_of(e, tcgen05 ? "tcgen05.mxf8f6f4.%s.f32" : "mma.mxf8f6f4.%s.f32",
                        a->high == MXV_HIGH_MXFP8_E4M3 ? "e4m3" : "e5m2");
    return model_of(e, tcgen05 ? "tcgen05.%s.f32" : "mma.%s.f32",
                    a->low == MXV_LOW_MXFP4 ? "mxf4.ue8m0" : "mxf4nvf4.ue4m3");
}

static enum mxv_gpu_type gpu_type(enum mxv_element e)
{
    return e == MXV_BF16 ? MXV_GPU_BF16 : e == MXV_F16 ? MXV_GPU_F16 : MXV_GPU_F32;
}

// A tensor of the call with first tokens and sequence of each token. The values are exact in
// binary32; `cast` is the first rounding.
static struct mxv_gpu_rows send_rows(struct emulation *e, const float *x, const size_t *cu,
                                     size_t heads, enum mxv_gpu_type cast)
{
    const size_t sequences = e->s.a->sequences, tokens = cu[sequences], d = e->s.a->d;
    int32_t *starts = cuda_host_memory(&e->s.run, (sequences + 1) * sizeof *starts);
    int32_t *of = cuda_host_memory(&e->s.run, tokens * sizeof *of);
    struct mxv_gpu_rows rows = {.type = MXV_GPU_F32,
                                .cast = cast,
                                .heads = (int32_t)heads,
                                .tokens = (int32_t)tokens,
                                .d = (int32_t)d,
                                .sequences = (int32_t)sequences,
                                .channel_group = 1};
    for (size_t i = 0; starts && of && i <= sequences; i++) {
        starts[i] = (int32_t)cu[i];
        for (size_t t = cu[i]; i < sequences && t < cu[i + 1]; t++)
            of[t] = (int32_t)i;
    }
    if (starts && of) {
        rows.cu = cuda_send(&e->s.run, starts, (sequences + 1) * sizeof *starts);
        rows.sequence_of = cuda_send(&e->s.run, of, tokens * sizeof *of);
        rows.data = cuda_send(&e->s.run, x, heads * tokens * d * sizeof *x);
    }
    free(starts);
    free(of);
    return rows;
}

// Keys that a cache returns are there already.
static void sixteen_bit_route(struct emulation *e)
{
    struct mxv_emulate_scores *r = &e->route[MXV_ROUTE_F16];
    r->model = plain_model(e, sixteen_bit(e->s.a->vt));
    r->q = cuda_cast_side(&e->s, &e->s.q, MXV_STAGE_Q_CODE);
    if (!r->k)
        r->k = cuda_cast_side(&e->s, &e->s.k, MXV_STAGE_K_CODE);
}

static void tilemix_routes(struct emulation *e)
{
    const struct mxv_attention *a = e->s.a;
    struct mxv_emulate_scores *r = &e->route[MXV_ROUTE_INT8];
    const enum mxv_granularity gran = a->kv_cache ? MXV_GRAN_TOKEN : a->k_gran;
    r->model = model_of(e, "mma.%s.s32", "s8");
    r->scaling = MXV_EMULATE_FACTORS;
    r->q_factor = cuda_granular_scales(&e->s, &e->s.q, a->q_gran, a->tile_m);
    r->k_factor = cuda_granular_scales(&e->s, &e->s.k, gran, a->tile_n);
    r->q = cuda_int8_codes(&e->s, &e->s.q, r->q_factor, MXV_STAGE_Q_SCALE, MXV_STAGE_Q_CODE);
    r->k = cuda_int8_codes(&e->s, &e->s.k, r->k_factor, MXV_STAGE_K_SCALE, MXV_STAGE_K_CODE);
    if (a->kv_cache)
        e->route[MXV_ROUTE_F16].k =
            cuda_cached(&e->s, &e->s.k, r->k_factor, r->k, MXV_STAGE_K_CODE);
    sixteen_bit_route(e);
}

// Block codes and scales of one side; decoded to bf16 for a unit without block scaling.
static const void *block_side(struct emulation *e, struct side *side, enum mxv_route route,
                              const uint8_t **scale_bytes)
{
    struct state *s = &e->s;
    const struct mxv_attention *a = s->a;
    const bool high = route == MXV_ROUTE_HIGH;
    const enum mxv_gpu_block_format format =
        high ? (a->high == MXV_HIGH_MXFP8_E4M3 ? MXV_GPU_MXFP8_E4M3 : MXV_GPU_MXFP8_E5M2)
             : (a->low == MXV_LOW_MXFP4 ? MXV_GPU_MXFP4 : MXV_GPU_NVFP4);
    const size_t n = cuda_element_count(side), blocks = n / (size_t)mxv_gpu_block_size(format);
    uint8_t *codes = cuda_allocate(&s->run, high ? n : n / 2);
    uint8_t *scales = cuda_allocate(&s->run, blocks);
    uint16_t *values = native_scaling(a) ? NULL : cuda_allocate(&s->run, n * sizeof *values);
    if (s->run.failed)
        return NULL;
    cuda_launched(s, mxv_gpu_quantise(&side->rows, format, cuda_scale_rule(a->rule), codes, scales),
                  "quantise");
    cuda_keep(s, side->key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE, route, scales, blocks, 1);
    cuda_keep(s, side->key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, route, codes, n, high ? 1 : 0);
    *scale_bytes = scales;
    if (!values)
        return codes;
    cuda_launched(s, mxv_gpu_decode(format, codes, scales, n, values), "decode");
    return values;
}

// Option rebase: E5M2 codes and factors of the low route.
static const void *rebased_side(struct emulation *e, struct side *side, const float **factors)
{
    struct state *s = &e->s;
    const size_t n = cuda_element_count(side), rows = cuda_row_count(side);
    uint8_t *e2m1 = cuda_allocate(&s->run, n / 2), *scales = cuda_allocate(&s->run, n / 32);
    uint8_t *bases = cuda_allocate(&s->run, rows), *codes = cuda_allocate(&s->run, n);
    float *factor = cuda_allocate(&s->run, rows * sizeof *factor);
    if (s->run.failed)
        return NULL;
    cuda_launched(
        s, mxv_gpu_quantise(&side->rows, MXV_GPU_MXFP4, cuda_scale_rule(s->a->rule), e2m1, scales),
        "quantise");
    cuda_launched(s,
                  mxv_emulate_rebase(&side->rows, side->key ? (int)s->a->tile_n : 1, e2m1, scales,
                                     bases, codes, factor),
                  "rebase");
    cuda_keep(s, side->key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE, MXV_ROUTE_LOW, scales, n / 32,
              1);
    cuda_keep(s, side->key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, MXV_ROUTE_LOW, codes, n, 1);
    *factors = factor;
    return codes;
}

static void dma_routes(struct emulation *e)
{
    const struct mxv_attention *a = e->s.a;
    e->s.q.rows.scaled = true;
    e->s.q.rows.factor = e->call.c;
    cuda_second_level(&e->s);
    for (enum mxv_route route = MXV_ROUTE_HIGH; route <= MXV_ROUTE_CORE; route++) {
        struct mxv_emulate_scores *r = &e->route[route];
        const bool used = route == MXV_ROUTE_HIGH  ? a->mode != MXV_MODE_LOW
                          : route == MXV_ROUTE_LOW ? a->mode != MXV_MODE_HIGH
                                                   : a->plan == MXV_PLAN_ZONES;
        if (!used)
            continue;
        if (route == MXV_ROUTE_CORE) {
            r->model = plain_model(e, "e4m3");
            r->scaling = MXV_EMULATE_CORE;
            r->q = cuda_core(&e->s, &e->s.q, &r->q_factor);
            r->k = cuda_core(&e->s, &e->s.k, &r->k_factor);
        } else if (route == MXV_ROUTE_LOW && a->rebase) {
            r->model = block_model(e, route);
            r->scaling = MXV_EMULATE_REBASED;
            r->q = rebased_side(e, &e->s.q, &r->q_factor);
            r->k = rebased_side(e, &e->s.k, &r->k_factor);
        } else {
            r->model = block_model(e, route);
            r->q = block_side(e, &e->s.q, route, &r->q_scale);
            r->k = block_side(e, &e->s.k, route, &r->k_scale);
        }
        r->q_sigma = e->s.q.rows.row_divisor;
        r->k_sigma = e->s.k.rows.row_divisor;
    }
}

// Contract 5, v=e4m3.
static const void *fp8_values(struct emulation *e)
{
    struct state *s = &e->s;
    const size_t rows = cuda_row_count(&s->v), n = cuda_element_count(&s->v);
    const size_t scales = s->a->heads_kv * s->a->sequences;
    uint8_t *codes = cuda_allocate(&s->run, n);
    float *row_scale = cuda_allocate(&s->run, rows * sizeof *row_scale);
    uint32_t *work = cuda_allocate(&s->run, rows * sizeof *work);
    float *scale = cuda_allocate(&s->run, scales * sizeof *scale);
    if (s->run.failed)
        return NULL;
    cuda_launched(s,
                  mxv_gpu_row_scales(&s->v.rows, MXV_GPU_PER_SEQUENCE, 1, 448, 1, work, row_scale),
                  "scales of V");
    cuda_launched(s, mxv_emulate_quantise_v(&s->v.rows, row_scale, codes, scale), "quantise V");
    cuda_keep(s, MXV_STAGE_V_SCALE, MXV_ROUTE_F16, scale, scales, 4);
    cuda_keep(s, MXV_STAGE_V_CODE, MXV_ROUTE_F16, codes, n, 1);
    e->call.v_scale = scale;
    return codes;
}

void emulate_prepare(struct emulation *e)
{
    const struct mxv_attention *a = e->s.a;
    const enum mxv_gpu_type cast = a->kernel == MXV_KERNEL_DMA ? MXV_GPU_F16 : gpu_type(a->vt);
    e->s.q.rows = send_rows(e, a->q, a->cu_q, a->heads_q, cast);
    e->s.k.rows = send_rows(e, a->k, a->cu_k, a->heads_kv, cast);
    e->s.v.rows = send_rows(e, a->v, a->cu_k, a->heads_kv, gpu_type(a->vt));
    e->s.k.key = true;
    e->call.pv = plain_model(e, a->vt == MXV_E4M3 ? "e4m3" : sixteen_bit(a->vt));
    if (e->s.run.failed)
        return;
    e->call.v = a->kernel == MXV_KERNEL_TILEMIX ? cuda_tilemix_values(&e->s)
                : a->vt == MXV_E4M3             ? fp8_values(e)
                                                : cuda_cast_side(&e->s, &e->s.v, MXV_STAGE_V_CODE);
    if (a->smooth_k)
        cuda_smooth(&e->s, &e->s.k);
    if (a->kernel == MXV_KERNEL_FLASH)
        sixteen_bit_route(e);
    else if (a->kernel == MXV_KERNEL_TILEMIX)
        tilemix_routes(e);
    else
        dma_routes(e);
}
