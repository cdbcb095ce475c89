// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See launch_sm90.h. The driver's function is asked for by name, so that nothing links libcuda.
#include "launch_sm90.h"

#include <cuda_runtime_api.h>

static int attribute(enum cudaDeviceAttr which)
{
    int device = 0, value = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&value, which, device) != cudaSuccess)
        return 0;
    return value;
}

int mxv_gpu_multiprocessors(void)
{
    return attribute(cudaDevAttrMultiProcessorCount);
}

int mxv_gpu_heads_at_once(const struct mxv_gpu_call *call, int key_bytes)
{
    const int64_t head = (int64_t)call->tokens_k * key_bytes;
    const int64_t fit = head > 0 ? attribute(cudaDevAttrL2CacheSize) / 2 / head : 1;
    if (call->left < 0 && call->right < 0)
        return 1;
    return (int)(fit < 1                ? 1
                 : fit < call->heads_kv ? fit
                                        : call->heads_kv) *
           (call->heads_q / call->heads_kv);
}

bool mxv_gpu_takes_wgmma(const struct mxv_gpu_call *call)
{
#ifdef MXV_GPU_SM90
    return (call->d == 64 || call->d == 128) && (call->tile_n == 64 || call->tile_n == 128) &&
           !call->cr && call->tokens_k > 0 && attribute(cudaDevAttrComputeCapabilityMajor) == 9 &&
           attribute(cudaDevAttrComputeCapabilityMinor) == 0;
#else
    (void)call;
    return false;
#endif
}

#ifdef MXV_GPU_SM90
static bool plain_f16(const struct mxv_gpu_dma_side *s, int heads, int tokens, int d)
{
    const struct mxv_gpu_rows *r = &s->rows;
    return r->type == MXV_GPU_F16 && r->cast == MXV_GPU_F16 && r->heads == heads &&
           r->tokens == tokens && r->d == d && !r->mean && !r->channel_factor &&
           !r->channel_divisor && !r->row_divisor && s->low && s->factor &&
           (uintptr_t)r->data % 16 == 0;
}

bool mxv_gpu_takes_fused(const struct mxv_gpu_dma_fused *p)
{
    const struct mxv_gpu_call *c = &p->dma.call;
    return mxv_gpu_takes_wgmma(c) && c->tile_n == MXV_GPU_ROWS && c->tile_m % MXV_GPU_ROWS == 0 &&
           !c->poly && !p->dma.all_high && !p->dma.q_sigma && !p->dma.zones &&
           plain_f16(&p->q, c->heads_q, c->tokens_q, c->d) &&
           plain_f16(&p->k, c->heads_kv, c->tokens_k, c->d) && p->q.pieces == c->blocks &&
           p->q.piece_count == c->block_count && p->k.tile == MXV_GPU_ROWS &&
           p->q.rows.cu == c->cu_q && p->k.rows.cu == c->cu_k && // no tile that nobody makes
           p->k.piece_count >= (c->tokens_k + MXV_GPU_ROWS - 1) / MXV_GPU_ROWS &&
           p->k.piece_count <= c->tokens_k / MXV_GPU_ROWS + p->k.rows.sequences &&
           p->q.rows.sequences == p->k.rows.sequences && (p->dma.all_low || p->q.high) &&
           !p->q.high == !p->k.high;
}

int mxv_gpu_dma_fused(const struct mxv_gpu_dma_fused *p)
{
    if (!mxv_gpu_takes_fused(p))
        return (int)cudaErrorInvalidValue;
    return p->dma.call.block_count ? mxv_gpu_dma_fused_sm90(p)
                                   : mxv_gpu_prepare_dma(&p->q, &p->k, p->rule); // keys alone
}
#else
bool mxv_gpu_takes_fused(const struct mxv_gpu_dma_fused *p)
{
    (void)p;
    return false;
}

int mxv_gpu_dma_fused(const struct mxv_gpu_dma_fused *p)
{
    (void)p;
    return (int)cudaErrorInvalidValue;
}
#endif

typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                 const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                 const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_function *find_encode(void)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                               12000, cudaEnableDefault, &found);
    union {
        void *pointer;
        encode_function *function;
    } either = {error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : NULL};
    return either.function;
}

int mxv_gpu_map_box(CUtensorMap *map, const void *tensor, bool bytes, int columns, int rows,
                    int heads, int box_columns, int box_rows)
{
    encode_function *encode = find_encode();
    const cuuint64_t size = bytes ? 1 : 2, row = (cuuint64_t)columns * size;
    const cuuint64_t sizes[3] = {(cuuint64_t)columns, (cuuint64_t)rows, (cuuint64_t)heads};
    const cuuint64_t strides[2] = {row, row * (cuuint64_t)rows};
    const cuuint32_t box[3] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows, 1};
    const cuuint32_t steps[3] = {1, 1, 1};
    if (!tensor)
        return (int)cudaSuccess;
    if (!encode)
        return (int)cudaErrorNotSupported;
    const CUresult result =
        encode(map, bytes ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16, 3,
               (void *)tensor, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               box[0] * size == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
               : box[0] * size == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : CU_TENSOR_MAP_SWIZZLE_32B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? (int)cudaSuccess : (int)cudaErrorInvalidValue;
}

int mxv_gpu_map_tensor(CUtensorMap *map, const void *tensor, bool bytes, int d, int tokens,
                       int heads, int box_rows)
{
    return mxv_gpu_map_box(map, tensor, bytes, d, tokens, heads, bytes ? d : 64, box_rows);
}
