// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma as one kernel with its quantisers (operands.h, mxv_gpu_dma_fused): the calls that it takes
// and what it needs besides the call.
#include "cuda_state.h"
#include "launch_sm90.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

// MXFP8 E4M3 and MXFP4 by one rule, nothing done to values on their way but the factor of Q.
static bool plain_operands(const struct mxv_attention *a)
{
    return a->rebase && a->in == MXV_F16 && a->high == MXV_HIGH_MXFP8_E4M3 && !a->smooth_k &&
           a->dual == MXV_DUAL_NONE && a->plan != MXV_PLAN_ZONES;
}

// The key tiles of all sequences.
static const struct mxv_gpu_block *send_key_tiles(struct state *s, int32_t *count)
{
    const struct mxv_attention *a = s->a;
    const size_t most = a->cu_k[a->sequences] / a->tile_n + a->sequences + 1;
    struct mxv_gpu_block *tiles = cuda_host_memory(&s->run, most * sizeof *tiles);
    int32_t n = 0;
    for (size_t i = 0; tiles && i < a->sequences; i++)
        for (size_t row = 0; row < a->cu_k[i + 1] - a->cu_k[i]; row += a->tile_n, n++)
            tiles[n] =
                (struct mxv_gpu_block){(int32_t)i, (int32_t)(row / a->tile_n), n, (int32_t)row};
    const struct mxv_gpu_block *sent =
        tiles ? cuda_send(&s->run, tiles, (size_t)n * sizeof *tiles) : NULL;
    free(tiles);
    *count = n;
    return sent;
}

static void give_copies(struct state *s, const struct side *from, struct mxv_gpu_dma_side *to)
{
    const size_t n = cuda_element_count(from);
    to->rows = from->rows;
    to->high = s->a->mode == MXV_MODE_MIXED ? cuda_allocate(&s->run, n * sizeof *to->high) : NULL;
    to->low = cuda_allocate(&s->run, n);
    to->factor = cuda_allocate(&s->run, cuda_row_count(from) * sizeof *to->factor);
}

bool cuda_run_fused(struct state *s, const struct mxv_gpu_dma *p)
{
    struct mxv_gpu_dma_fused f = {.dma = *p, .rule = cuda_scale_rule(s->a->rule)};
    const size_t bytes = mxv_gpu_fused_words(&p->call, (int32_t)s->a->sequences) * sizeof *f.state;
    if (s->one_by_one || s->run.failed || !plain_operands(s->a) || !mxv_gpu_takes_wgmma(&p->call) ||
        p->call.tile_n != MXV_GPU_ROWS)
        return false;
    give_copies(s, &s->q, &f.q);
    give_copies(s, &s->k, &f.k);
    f.q.pieces = p->call.blocks;
    f.q.piece_count = p->call.block_count;
    f.k.pieces = send_key_tiles(s, &f.k.piece_count);
    f.k.tile = (int32_t)s->a->tile_n;
    f.state = cuda_allocate(&s->run, bytes);
    if (s->run.failed || !mxv_gpu_takes_fused(&f))
        return false;
    cuda_launched(s, (int)cudaMemsetAsync(f.state, 0, bytes, 0), "memset");
    cuda_launched(s, mxv_gpu_dma_fused(&f), "dma as one kernel");
    s->result->fused = true;
    return true;
}
