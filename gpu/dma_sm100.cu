// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches of dma_sm100.cuh. Compiled, never run: no such device was at hand.
#include "dma_sm100.cuh"

#include <cuda_runtime_api.h>

template <int LOW, int D, bool OPTIONS>
static int launch_as(const params &p, const struct maps &maps)
{
    const cudaError_t error = cudaFuncSetAttribute(
        dma_sm100<LOW, D, OPTIONS>, cudaFuncAttributeMaxDynamicSharedMemorySize, memory<D>::BYTES);
    if (error != cudaSuccess)
        return (int)error;
    const dim3 grid((unsigned)p.codes.call.block_count, (unsigned)p.codes.call.heads_q);
    dma_sm100<LOW, D, OPTIONS><<<grid, THREADS, memory<D>::BYTES>>>(p, maps);
    return (int)cudaGetLastError();
}

template <int LOW> static int launch_low(const params &p)
{
    const struct mxv_gpu_call &call = p.codes.call;
    const bool options = call.trace.score || call.poly;
    struct maps maps;
    const int error = call.tokens_k > 0 ? make_maps<LOW>(p, maps) : (int)cudaSuccess;
    if (error != (int)cudaSuccess)
        return error;
    if (call.d == 128)
        return options ? launch_as<LOW, 128, true>(p, maps) : launch_as<LOW, 128, false>(p, maps);
    return options ? launch_as<LOW, 64, true>(p, maps) : launch_as<LOW, 64, false>(p, maps);
}

extern "C" int mxv_gpu_dma_sm100(const struct mxv_gpu_dma_blocks *blocks, bool trace)
{
    params p = *blocks;
    struct mxv_gpu_call &call = p.codes.call;
    if (call.block_count == 0)
        return (int)cudaSuccess;
    if ((call.d != 64 && call.d != 128) || call.tile_n != ROW_KEYS || call.v_type != MXV_GPU_F16 ||
        p.codes.q_factor || p.codes.zones || call.cr)
        return (int)cudaErrorInvalidValue;
    if (!trace)
        call.trace.score = NULL;
    return p.low_is_nvfp4 ? launch_low<MXV_UNIT_NVF4>(p) : launch_low<MXV_UNIT_MXF4>(p);
}
