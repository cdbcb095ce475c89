// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of a run: which function of operands.h does which line of docs/kernels/contract.md 7,
// dma.md 1 and tilemix.md 1, and which of its results is which tap.
#include "cuda_state.h"

#include <stdlib.h>

void cuda_launched(struct state *s, int error, const char *what)
{
    cuda_failed(&s->run, error, what);
}

size_t cuda_row_count(const struct side *side)
{
    return (size_t)side->rows.heads * (size_t)side->rows.tokens;
}

size_t cuda_element_count(const struct side *side)
{
    return cuda_row_count(side) * (size_t)side->rows.d;
}

// Fetches a tap's words when taps are wanted. bytes as for cuda_fetch_words.
void cuda_keep(struct state *s, enum mxv_stage stage, enum mxv_route route, const void *device,
               size_t n, unsigned bytes)
{
    if (s->taps && !s->run.failed)
        s->result->taps[stage][route] = cuda_fetch_words(&s->run, device, n, bytes);
}

const void *cuda_cast_side(struct state *s, struct side *side, enum mxv_stage tap)
{
    void *out = cuda_allocate(&s->run, cuda_element_count(side) * 2);
    if (s->run.failed)
        return NULL;
    cuda_launched(s, mxv_gpu_cast(&side->rows, out), "cast");
    cuda_keep(s, tap, MXV_ROUTE_F16, out, cuda_element_count(side), 2);
    return out;
}

void cuda_smooth(struct state *s, struct side *k)
{
    const size_t d = s->a->d, heads = s->a->heads_kv, sequences = s->a->sequences;
    const size_t slots = (size_t)k->rows.tokens / 128 + sequences + 1;
    float *partial = cuda_allocate(&s->run, heads * slots * d * sizeof *partial);
    float *mean = cuda_allocate(&s->run, heads * sequences * d * sizeof *mean);
    if (s->run.failed)
        return;
    cuda_launched(s, mxv_gpu_means(&k->rows, partial, mean), "means");
    k->rows.mean = mean;
}

static const float *row_scales(struct state *s, struct side *side, enum mxv_gpu_group group,
                               size_t tile, float divisor, float zero)
{
    float *scale = cuda_allocate(&s->run, cuda_row_count(side) * sizeof *scale);
    uint32_t *work = cuda_allocate(&s->run, cuda_row_count(side) * sizeof *work);
    if (!s->run.failed)
        cuda_launched(s,
                      mxv_gpu_row_scales(&side->rows, group, (int)tile, divisor, zero, work, scale),
                      "row scales");
    return scale;
}

// dma.md 1.3.
void cuda_second_level(struct state *s)
{
    const struct mxv_attention *a = s->a;
    const float c2 = a->mode == MXV_MODE_MIXED                            ? 128
                     : a->mode == MXV_MODE_LOW && a->low == MXV_LOW_MXFP4 ? 6
                                                                          : 8;
    const enum mxv_gpu_group group = a->dual == MXV_DUAL_TOKEN   ? MXV_GPU_PER_TOKEN
                                     : a->dual == MXV_DUAL_BLOCK ? MXV_GPU_PER_TILE
                                                                 : MXV_GPU_PER_SEQUENCE;
    if (a->dual == MXV_DUAL_NONE)
        return;
    if (a->dual == MXV_DUAL_CHANNEL) {
        const size_t n = a->heads_kv * a->sequences * a->d;
        float *sigma = cuda_allocate(&s->run, n * sizeof *sigma);
        if (s->run.failed)
            return;
        cuda_launched(s, mxv_gpu_channel_scales(&s->k.rows, c2, sigma), "channel scales");
        s->k.rows.channel_divisor = sigma;
        s->q.rows.channel_factor = sigma;
        s->q.rows.channel_group = (int32_t)(a->heads_q / a->heads_kv);
        cuda_keep(s, MXV_STAGE_K_SIGMA, MXV_ROUTE_F16, sigma, n, 4);
        return;
    }
    s->q.rows.row_divisor = row_scales(s, &s->q, group, a->tile_m, c2, 1);
    s->k.rows.row_divisor = row_scales(s, &s->k, group, a->tile_n, c2, 1);
    cuda_keep(s, MXV_STAGE_Q_SIGMA, MXV_ROUTE_F16, s->q.rows.row_divisor, cuda_row_count(&s->q), 4);
    cuda_keep(s, MXV_STAGE_K_SIGMA, MXV_ROUTE_F16, s->k.rows.row_divisor, cuda_row_count(&s->k), 4);
}

enum mxv_gpu_scale_rule cuda_scale_rule(enum mxv_scale_rule rule)
{
    static const enum mxv_gpu_scale_rule rules[] = {
        [MXV_SCALE_FLOOR] = MXV_GPU_RULE_FLOOR,
        [MXV_SCALE_RCEIL] = MXV_GPU_RULE_RCEIL,
        [MXV_SCALE_CEIL] = MXV_GPU_RULE_CEIL,
        [MXV_SCALE_EVEN] = MXV_GPU_RULE_EVEN,
        [MXV_SCALE_RATIO_FLOOR] = MXV_GPU_RULE_RATIO_FLOOR,
        [MXV_SCALE_NEAR15] = MXV_GPU_RULE_NEAR15,
        [MXV_SCALE_NEAR_SQRT2] = MXV_GPU_RULE_NEAR_SQRT2,
        [MXV_SCALE_MIDMAX] = MXV_GPU_RULE_MIDMAX,
        [MXV_SCALE_FLOOR_LIBM] = MXV_GPU_RULE_FLOOR_LIBM,
        [MXV_SCALE_CEIL_LIBM] = MXV_GPU_RULE_CEIL_LIBM,
    };
    return rules[rule];
}

// Block codes and scales of one side and route, and their scale tap.
static bool quantise(struct state *s, struct side *side, enum mxv_route route,
                     enum mxv_gpu_block_format format, uint8_t **codes, uint8_t **scales)
{
    const size_t n = cuda_element_count(side), blocks = n / (size_t)mxv_gpu_block_size(format);
    *codes = cuda_allocate(&s->run, route == MXV_ROUTE_HIGH ? n : n / 2);
    *scales = cuda_allocate(&s->run, blocks);
    if (s->run.failed)
        return false;
    cuda_launched(
        s, mxv_gpu_quantise(&side->rows, format, cuda_scale_rule(s->a->rule), *codes, *scales),
        "quantise");
    cuda_keep(s, side->key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE, route, *scales, blocks, 1);
    return true;
}

const void *cuda_quantise(struct state *s, struct side *side, enum mxv_route route)
{
    const struct mxv_attention *a = s->a;
    const bool high = route == MXV_ROUTE_HIGH;
    const enum mxv_gpu_block_format format =
        high ? (a->high == MXV_HIGH_MXFP8_E4M3 ? MXV_GPU_MXFP8_E4M3 : MXV_GPU_MXFP8_E5M2)
             : (a->low == MXV_LOW_MXFP4 ? MXV_GPU_MXFP4 : MXV_GPU_NVFP4);
    const size_t n = cuda_element_count(side);
    uint8_t *codes, *scales;
    uint16_t *values = cuda_allocate(&s->run, n * sizeof *values);
    if (!quantise(s, side, route, format, &codes, &scales))
        return NULL;
    cuda_launched(s, mxv_gpu_decode(format, codes, scales, n, values), "decode");
    cuda_keep(s, side->key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, route, codes, n, high ? 1 : 0);
    return values;
}

const void *cuda_rebase(struct state *s, struct side *side, const float **factor)
{
    const size_t n = cuda_element_count(side), rows = cuda_row_count(side);
    uint8_t *codes, *scales, *low = cuda_allocate(&s->run, n);
    float *factors = cuda_allocate(&s->run, rows * sizeof *factors);
    uint32_t *work = cuda_allocate(&s->run, rows * sizeof *work);
    if (!quantise(s, side, MXV_ROUTE_LOW, MXV_GPU_MXFP4, &codes, &scales))
        return NULL;
    cuda_launched(s,
                  mxv_gpu_rebase(&side->rows, side->key ? (int)s->a->tile_n : 0, codes, scales,
                                 work, low, factors),
                  "rebase");
    cuda_keep(s, side->key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, MXV_ROUTE_LOW, low, n, 1);
    *factor = factors;
    return low;
}

const uint8_t *cuda_core(struct state *s, struct side *side, const float **scale)
{
    const size_t n = cuda_element_count(side);
    uint8_t *codes = cuda_allocate(&s->run, n);
    float *scales = cuda_allocate(&s->run, n / 32 * sizeof *scales);
    if (s->run.failed)
        return NULL;
    cuda_launched(s, mxv_gpu_quantise_core(&side->rows, codes, scales), "quantise core");
    cuda_keep(s, side->key ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE, MXV_ROUTE_CORE, scales, n / 32,
              4);
    cuda_keep(s, side->key ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, MXV_ROUTE_CORE, codes, n, 1);
    *scale = scales;
    return codes;
}

// dma.md 2: the smallest width from `from` on that holds `share` of the tiles of a causal square of
// `tiles` by `tiles`, those nearer than `past` not counted; binary64, as the page says.
static int32_t zone_width(double tiles, int32_t from, int32_t past, double share)
{
    const double all = tiles * tiles - tiles * (tiles - 1) / 2;
    const double before = past * tiles - past * (past - 1.0) / 2;
    int32_t w = from;
    while (w < tiles && (w * tiles - w * (w - 1.0) / 2 - before) / all < share)
        w++;
    return w;
}

const int32_t *cuda_zones(struct state *s)
{
    const struct mxv_attention *a = s->a;
    int32_t *widths = cuda_host_memory(&s->run, 2 * a->sequences * sizeof *widths);
    for (size_t i = 0; widths && i < a->sequences; i++) {
        const size_t keys = a->cu_k[i + 1] - a->cu_k[i];
        const double tiles = (double)((keys + a->tile_n - 1) / a->tile_n);
        widths[2 * i] = zone_width(tiles, 1, 0, a->core_share);
        widths[2 * i + 1] = zone_width(tiles, widths[2 * i], widths[2 * i], a->buffer_share);
    }
    const int32_t *zones =
        widths ? cuda_send(&s->run, widths, 2 * a->sequences * sizeof *widths) : NULL;
    free(widths);
    return zones;
}

const int8_t *cuda_int8_codes(struct state *s, struct side *side, const float *scale,
                              enum mxv_stage scale_tap, enum mxv_stage code_tap)
{
    int8_t *codes = cuda_allocate(&s->run, cuda_element_count(side));
    if (s->run.failed)
        return NULL;
    cuda_launched(s, mxv_gpu_quantise_int8(&side->rows, scale, s->a->int8_round == MXV_RNA, codes),
                  "quantise_int8");
    if (scale_tap != MXV_STAGE_V_SCALE) {
        cuda_keep(s, scale_tap, MXV_ROUTE_INT8, scale, cuda_row_count(side), 4);
        cuda_keep(s, code_tap, MXV_ROUTE_INT8, codes, cuda_element_count(side), 1);
    }
    return codes;
}

// What the INT8 cache returns, as 16-bit values.
const void *cuda_cached(struct state *s, struct side *side, const float *scale, const int8_t *codes,
                        enum mxv_stage tap)
{
    void *out = cuda_allocate(&s->run, cuda_element_count(side) * 2);
    if (s->run.failed)
        return NULL;
    cuda_launched(s, mxv_gpu_decode_int8(&side->rows, scale, codes, out), "decode_int8");
    cuda_keep(s, tap, MXV_ROUTE_F16, out, cuda_element_count(side), 2);
    return out;
}

// tilemix.md 1: V of an INT8 cache; otherwise the plain cast.
const void *cuda_tilemix_values(struct state *s)
{
    if (!s->a->kv_cache)
        return cuda_cast_side(s, &s->v, MXV_STAGE_V_CODE);
    const float *scale = row_scales(s, &s->v, MXV_GPU_PER_TOKEN, 1, 127, 0);
    const int8_t *codes = cuda_int8_codes(s, &s->v, scale, MXV_STAGE_V_SCALE, MXV_STAGE_V_CODE);
    cuda_keep(s, MXV_STAGE_V_SCALE, MXV_ROUTE_F16, scale, cuda_row_count(&s->v), 4);
    return cuda_cached(s, &s->v, scale, codes, MXV_STAGE_V_CODE);
}

const void *cuda_values_e4m3(struct state *s)
{
    const size_t n = cuda_element_count(&s->v), sequences = s->a->sequences;
    int32_t *first = cuda_host_memory(&s->run, (sequences + 1) * sizeof *first), places = 0;
    for (size_t i = 0; first && i < sequences; i++) {
        first[i] = places;
        places += (int32_t)((s->a->cu_k[i + 1] - s->a->cu_k[i] + 127) / 128 * 128);
    }
    s->call.v_first = first ? cuda_send(&s->run, first, (sequences + 1) * sizeof *first) : NULL;
    s->call.v_places = places;
    free(first);
    s->call.v_scale = row_scales(s, &s->v, MXV_GPU_PER_SEQUENCE, 1, 448, 1);
    uint8_t *codes = cuda_allocate(&s->run, n);
    uint8_t *v = cuda_allocate(&s->run, s->a->heads_kv * s->a->d * (size_t)places);
    if (s->run.failed)
        return NULL;
    cuda_launched(
        s, mxv_gpu_values_e4m3(&s->v.rows, s->call.v_scale, s->call.v_first, places, codes, v),
        "values");
    cuda_keep(s, MXV_STAGE_V_SCALE, MXV_ROUTE_F16, s->call.v_scale, cuda_row_count(&s->v), 4);
    cuda_keep(s, MXV_STAGE_V_CODE, MXV_ROUTE_F16, codes, n, 1);
    return v;
}

const float *cuda_granular_scales(struct state *s, struct side *side, enum mxv_granularity g,
                                  size_t tile)
{
    const bool warp_q = g == MXV_GRAN_WARP && !side->key;
    const enum mxv_gpu_group group = g == MXV_GRAN_TOKEN    ? MXV_GPU_PER_TOKEN
                                     : g != MXV_GRAN_THREAD ? MXV_GPU_PER_TILE
                                     : side->key            ? MXV_GPU_PER_THREAD_K
                                                            : MXV_GPU_PER_THREAD_Q;
    return row_scales(s, side, group, warp_q ? 32 : tile, 127, 0);
}
