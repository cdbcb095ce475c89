// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See cuda_run.h. The order of work of a kernel page: cast and smooth, scale, quantise, attend. The
// inputs are first brought into their declared type, as a caller would hold them.
// gpu/cuda_verify compares every operand, tap and output of this file with the emulation's.
#include "cuda_state.h"
#include "launch_sm90.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(char *message, size_t size, const char *text)
{
    if (size)
        snprintf(message, size, "%s", text);
    return -1;
}

// The architecture whose matrix units the device has; -1: none that is modelled.
static int device_arch(void)
{
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) != cudaSuccess)
        return -1;
    return major == 8 && minor == 0   ? MXV_ARCH_SM_80
           : major == 9 && minor == 0 ? MXV_ARCH_SM_90
                                      : -1;
}

int mxv_cuda_supports(const struct mxv_attention *a, char *message, size_t size)
{
    if (mxv_attention_check(a, message, size))
        return -1;
    if (a->kernel == MXV_KERNEL_DMA_RELEASED)
        return refuse(message, size, "cuda offers flash, dma and tilemix");
    const int arch = device_arch();
    if (arch < 0)
        return refuse(message, size, "no CUDA device of compute capability 8.0 or 9.0");
    if ((int)a->arch != arch)
        return refuse(message, size,
                      arch == MXV_ARCH_SM_90 ? "this device computes what arch=sm_90 models"
                                             : "this device computes what arch=sm_80 models");
    return a->faults ? refuse(message, size, "cuda has no faults") : 0;
}

static enum mxv_gpu_type gpu_type(enum mxv_element e)
{
    return e == MXV_F32    ? MXV_GPU_F32
           : e == MXV_F16  ? MXV_GPU_F16
           : e == MXV_E4M3 ? MXV_GPU_E4M3
                           : MXV_GPU_BF16;
}

static const int32_t *send_starts(struct state *s, const size_t *cu)
{
    int32_t starts[4097];
    const size_t n = s->a->sequences;
    if (n > 4096) {
        cuda_refuse(&s->run, "more than 4096 sequences");
        return NULL;
    }
    for (size_t i = 0; i <= n; i++)
        starts[i] = (int32_t)cu[i];
    return cuda_send(&s->run, starts, (n + 1) * sizeof starts[0]);
}

static const int32_t *send_sequences(struct state *s, const size_t *cu)
{
    const size_t tokens = cu[s->a->sequences];
    int32_t *of = cuda_host_memory(&s->run, tokens * sizeof *of);
    for (size_t i = 0; of && i < s->a->sequences; i++)
        for (size_t t = cu[i]; t < cu[i + 1]; t++)
            of[t] = (int32_t)i;
    const int32_t *p = cuda_send(&s->run, of, tokens * sizeof *of);
    free(of);
    return p;
}

// Brings a tensor of exact values into the type it is declared in.
static const void *send_tensor(struct state *s, struct mxv_gpu_rows rows, const float *x)
{
    const size_t n = (size_t)rows.heads * (size_t)rows.tokens * (size_t)rows.d;
    rows.data = cuda_send(&s->run, x, n * sizeof *x);
    if (rows.type == MXV_GPU_F32 || s->run.failed)
        return rows.data;
    void *narrow = cuda_allocate(&s->run, n * 2);
    rows.cast = rows.type;
    rows.type = MXV_GPU_F32;
    if (!s->run.failed)
        cuda_launched(s, mxv_gpu_cast(&rows, narrow), "input cast");
    return narrow;
}

static struct mxv_gpu_rows rows_of(struct state *s, const float *x, const size_t *cu, size_t heads,
                                   const int32_t *starts, const int32_t *of, enum mxv_gpu_type cast)
{
    struct mxv_gpu_rows rows = {
        .type = gpu_type(s->a->in),
        .cast = cast,
        .heads = (int32_t)heads,
        .tokens = (int32_t)cu[s->a->sequences],
        .d = (int32_t)s->a->d,
        .sequences = (int32_t)s->a->sequences,
        .cu = starts,
        .sequence_of = of,
        .channel_group = 1,
    };
    rows.data = send_tensor(s, rows, x);
    return rows;
}

static void run_flash(struct state *s)
{
    struct mxv_gpu_flash p = {.call = s->call};
    p.q = cuda_cast_side(s, &s->q, MXV_STAGE_Q_CODE);
    p.k = cuda_cast_side(s, &s->k, MXV_STAGE_K_CODE);
    if (!s->run.failed)
        cuda_launched(s, mxv_gpu_flash(&p, s->taps), "flash");
}

static void run_dma(struct state *s)
{
    const struct mxv_attention *a = s->a;
    struct mxv_gpu_dma p = {.call = s->call,
                            .all_high = a->mode == MXV_MODE_HIGH,
                            .all_low = a->mode == MXV_MODE_LOW,
                            .diag = (int32_t)(a->diag < INT32_MAX ? a->diag : INT32_MAX),
                            .sink = (int32_t)(a->sink < INT32_MAX ? a->sink : INT32_MAX),
                            .query_tiles = s->query_tiles};
    s->q.rows.scaled = true;
    s->q.rows.factor = s->call.c;
    cuda_second_level(s);
    if (a->plan == MXV_PLAN_ENTROPY)
        p.diag_tiles = cuda_send(&s->run, a->diag_tiles,
                                 a->heads_q * (size_t)s->query_tiles * sizeof *p.diag_tiles);
    if (cuda_run_fused(s, &p))
        return;
    if (a->mode != MXV_MODE_LOW) {
        p.q_high = cuda_quantise(s, &s->q, MXV_ROUTE_HIGH);
        p.k_high = cuda_quantise(s, &s->k, MXV_ROUTE_HIGH);
    }
    if (a->mode != MXV_MODE_HIGH && a->rebase) {
        p.q_low = cuda_rebase(s, &s->q, &p.q_factor);
        p.k_low = cuda_rebase(s, &s->k, &p.k_factor);
    } else if (a->mode != MXV_MODE_HIGH) {
        p.q_low = cuda_quantise(s, &s->q, MXV_ROUTE_LOW);
        p.k_low = cuda_quantise(s, &s->k, MXV_ROUTE_LOW);
    }
    if (a->plan == MXV_PLAN_ZONES) {
        p.zones = cuda_zones(s);
        p.q_core = cuda_core(s, &s->q, &p.q_core_scale);
        p.k_core = cuda_core(s, &s->k, &p.k_core_scale);
    }
    p.q_sigma = s->q.rows.row_divisor;
    p.k_sigma = s->k.rows.row_divisor;
    if (!s->run.failed)
        cuda_launched(s, mxv_gpu_dma(&p, s->taps), "dma");
}

static const void *send_words(struct state *s)
{
    const struct mxv_attention *a = s->a;
    const size_t n = a->heads_kv * (size_t)s->query_tiles * a->words_per_row;
    if (a->word_bits != 32)
        return cuda_send(&s->run, a->route_words, n * sizeof *a->route_words);
    uint32_t *narrow = cuda_host_memory(&s->run, n * sizeof *narrow);
    for (size_t i = 0; narrow && i < n; i++)
        narrow[i] = (uint32_t)a->route_words[i];
    const void *words = cuda_send(&s->run, narrow, n * sizeof *narrow);
    free(narrow);
    return words;
}

static void run_tilemix(struct state *s)
{
    const struct mxv_attention *a = s->a;
    struct mxv_gpu_tilemix p = {.call = s->call,
                                .words_per_row = (int32_t)a->words_per_row,
                                .word_bits = (int32_t)a->word_bits,
                                .query_tiles = s->query_tiles,
                                .group = (int32_t)a->group,
                                .msb_first = a->msb_first,
                                .one_is_int8 = a->one_is_int8,
                                .fold = a->fold,
                                .k_scale_per_tile = !a->kv_cache && (a->k_gran == MXV_GRAN_BLOCK ||
                                                                     a->k_gran == MXV_GRAN_WARP)};
    p.words = send_words(s);
    p.q = cuda_cast_side(s, &s->q, MXV_STAGE_Q_CODE);
    p.q_scale = cuda_granular_scales(s, &s->q, a->q_gran, a->tile_m);
    p.k_scale = cuda_granular_scales(s, &s->k, a->kv_cache ? MXV_GRAN_TOKEN : a->k_gran, a->tile_n);
    p.q_int8 = cuda_int8_codes(s, &s->q, p.q_scale, MXV_STAGE_Q_SCALE, MXV_STAGE_Q_CODE);
    p.k_int8 = cuda_int8_codes(s, &s->k, p.k_scale, MXV_STAGE_K_SCALE, MXV_STAGE_K_CODE);
    p.k = a->kv_cache ? cuda_cached(s, &s->k, p.k_scale, p.k_int8, MXV_STAGE_K_CODE)
                      : cuda_cast_side(s, &s->k, MXV_STAGE_K_CODE);
    if (!s->run.failed)
        cuda_launched(s, mxv_gpu_tilemix(&p, s->taps), "tilemix");
}

// The work list: each query tile in pieces of MXV_GPU_ROWS rows.
static void send_blocks(struct state *s)
{
    const struct mxv_attention *a = s->a;
    size_t n = 0, tiles = 0;
    for (size_t i = 0; i < a->sequences; i++)
        n += (a->cu_q[i + 1] - a->cu_q[i]) / 16 + 1;
    struct mxv_gpu_block *blocks = cuda_host_memory(&s->run, n * sizeof *blocks);
    n = 0;
    for (size_t i = 0; blocks && i < a->sequences; i++) {
        const size_t lq = a->cu_q[i + 1] - a->cu_q[i];
        for (size_t tile = 0; tile * a->tile_m < lq; tile++, tiles++)
            for (size_t row = tile * a->tile_m; row < (tile + 1) * a->tile_m && row < lq;
                 row += MXV_GPU_ROWS)
                blocks[n++] =
                    (struct mxv_gpu_block){(int32_t)i, (int32_t)tile, (int32_t)tiles, (int32_t)row};
    }
    s->call.blocks = cuda_send(&s->run, blocks, n * sizeof *blocks);
    s->call.block_count = (int32_t)n;
    s->query_tiles = (int32_t)tiles;
    free(blocks);
}

static void allocate_trace(struct state *s)
{
    const struct mxv_attention *a = s->a;
    size_t lk = 0;
    for (size_t i = 0; i < a->sequences; i++)
        lk = a->cu_k[i + 1] - a->cu_k[i] > lk ? a->cu_k[i + 1] - a->cu_k[i] : lk;
    const size_t key_tiles = (lk + a->tile_n - 1) / a->tile_n;
    const size_t rows = a->heads_q * (size_t)s->query_tiles * key_tiles * a->tile_m;
    struct mxv_gpu_trace *t = &s->call.trace;
    t->query_tiles = s->query_tiles;
    t->key_tiles = (int32_t)key_tiles;
    t->score = cuda_allocate(&s->run, rows * a->tile_n * sizeof *t->score);
    t->weight = cuda_allocate(&s->run, rows * a->tile_n * sizeof *t->weight);
    t->max = cuda_allocate(&s->run, rows * sizeof *t->max);
    t->sum = cuda_allocate(&s->run, rows * sizeof *t->sum);
    t->acc = cuda_allocate(&s->run, rows * a->d * sizeof *t->acc);
    s->result->key_tiles = key_tiles;
}

static void keep_trace(struct state *s)
{
    const struct mxv_attention *a = s->a;
    const struct mxv_gpu_trace *t = &s->call.trace;
    const size_t rows = a->heads_q * (size_t)s->query_tiles * (size_t)t->key_tiles * a->tile_m;
    cuda_keep(s, MXV_STAGE_SCORE, 0, t->score, rows * a->tile_n, 4);
    cuda_keep(s, MXV_STAGE_WEIGHT, 0, t->weight, rows * a->tile_n, 4);
    cuda_keep(s, MXV_STAGE_MAX, 0, t->max, rows, 4);
    cuda_keep(s, MXV_STAGE_SUM, 0, t->sum, rows, 4);
    cuda_keep(s, MXV_STAGE_ACC, 0, t->acc, rows * a->d, 4);
}

static void fill_call(struct state *s, size_t tokens_q)
{
    const struct mxv_attention *a = s->a;
    struct mxv_gpu_call *c = &s->call;
    c->heads_q = (int32_t)a->heads_q;
    c->heads_kv = (int32_t)a->heads_kv;
    c->d = (int32_t)a->d;
    c->tokens_q = (int32_t)tokens_q;
    c->tokens_k = (int32_t)a->cu_k[a->sequences];
    c->tile_m = (int32_t)a->tile_m;
    c->tile_n = (int32_t)a->tile_n;
    c->left = (int32_t)a->left;
    c->right = a->mask == MXV_MASK_CAUSAL ? 0 : (int32_t)a->right;
    c->top_left = a->align == MXV_ALIGN_TOP_LEFT;
    c->descending = a->order == MXV_ORDER_DESC;
    c->poly = a->exp == MXV_EXP_POLY;
    c->cr = a->exp == MXV_EXP_CR;
    c->finite = a->masked == MXV_MASKED_FINITE;
    c->empty_nan = a->empty == MXV_EMPTY_NAN;
    c->lse_natural = a->lse == MXV_LSE_E;
    c->c = (float)(a->scale * 1.4426950408889634);
    c->tau = a->tau;
    c->offset = a->p_offset;
    c->v_type = gpu_type(a->vt);
    c->out_type = gpu_type(a->out);
}

static void attend(struct state *s)
{
    const struct mxv_attention *a = s->a;
    const size_t tokens = a->cu_q[a->sequences], n = a->heads_q * tokens * a->d;
    const unsigned bytes = a->out == MXV_F32 ? 4 : 2;
    s->call.v = a->kernel == MXV_KERNEL_TILEMIX ? cuda_tilemix_values(s)
                : a->vt == MXV_E4M3             ? cuda_values_e4m3(s)
                                                : cuda_cast_side(s, &s->v, MXV_STAGE_V_CODE);
    s->call.out = cuda_allocate(&s->run, n * bytes);
    if (a->lse != MXV_LSE_NONE)
        s->call.lse = cuda_allocate(&s->run, a->heads_q * tokens * sizeof *s->call.lse);
    if (s->taps)
        allocate_trace(s);
    if (a->smooth_k)
        cuda_smooth(s, &s->k);
    if (s->run.failed)
        return;
    if (a->kernel == MXV_KERNEL_FLASH)
        run_flash(s);
    else if (a->kernel == MXV_KERNEL_DMA)
        run_dma(s);
    else
        run_tilemix(s);
    cuda_failed(&s->run, (int)cudaDeviceSynchronize(), "kernel");
    if (s->run.failed)
        return;
    s->result->out = cuda_fetch_words(&s->run, s->call.out, n, bytes);
    if (s->call.lse)
        s->result->lse = cuda_fetch_words(&s->run, s->call.lse, a->heads_q * tokens, 4);
    if (s->taps)
        keep_trace(s);
}

int mxv_cuda_run(const struct mxv_attention *a, enum mxv_cuda_build build,
                 struct mxv_cuda_result *out, char *message, size_t size)
{
    struct state s = {.run = {.a = a, .message = message, .size = size},
                      .a = a,
                      .result = out,
                      .taps = build == MXV_CUDA_TRACING,
                      .one_by_one = build != MXV_CUDA_PRODUCTION};
    mxv_cuda_result_free(out);
    if (mxv_cuda_supports(a, message, size))
        return -1;
    cuda_memory_reset();
    const enum mxv_gpu_type cast = a->kernel == MXV_KERNEL_DMA ? MXV_GPU_F16 : gpu_type(a->vt);
    const int32_t *cu_q = send_starts(&s, a->cu_q), *cu_k = send_starts(&s, a->cu_k);
    const int32_t *of_q = send_sequences(&s, a->cu_q), *of_k = send_sequences(&s, a->cu_k);
    s.q.rows = rows_of(&s, a->q, a->cu_q, a->heads_q, cu_q, of_q, cast);
    s.k.rows = rows_of(&s, a->k, a->cu_k, a->heads_kv, cu_k, of_k, cast);
    s.v.rows = rows_of(&s, a->v, a->cu_k, a->heads_kv, cu_k, of_k,
                       a->vt == MXV_E4M3 ? MXV_GPU_F32 : gpu_type(a->vt)); // rounded once
    s.k.key = true;
    s.call.cu_q = cu_q;
    s.call.cu_k = cu_k;
    fill_call(&s, a->cu_q[a->sequences]);
    send_blocks(&s);
    out->wgmma =
        mxv_gpu_takes_wgmma(&s.call) && !(a->kernel == MXV_KERNEL_DMA && a->plan == MXV_PLAN_ZONES);
    if (!s.run.failed)
        attend(&s);
    return cuda_status(&s.run);
}

void mxv_cuda_result_free(struct mxv_cuda_result *r)
{
    free(r->out);
    free(r->lse);
    for (unsigned stage = 0; stage < MXV_STAGE_COUNT; stage++)
        for (unsigned route = 0; route < MXV_ROUTE_COUNT; route++)
            free(r->taps[stage][route]);
    *r = (struct mxv_cuda_result){0};
}

int mxv_cuda_device(char *text, size_t size)
{
    struct cudaDeviceProp p;
    int driver = 0, runtime = 0;
    cudaError_t error = cudaGetDeviceProperties(&p, 0);
    if (error != cudaSuccess) {
        snprintf(text, size, "no CUDA device: %s", cudaGetErrorString(error));
        return -1;
    }
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    snprintf(text, size, "%s, compute capability %d.%d, driver API %d.%d, CUDA runtime %d.%d",
             p.name, p.major, p.minor, driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10);
    return 0;
}
