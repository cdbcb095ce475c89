// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From a call to a launch of the wgmma engine. A kernel's file names the key tiles that it is
// compiled for.
#ifndef MXV_GPU_LAUNCH_SM90_CUH
#define MXV_GPU_LAUNCH_SM90_CUH

#include "attention_sm90.cuh"

// Bytes of the copies of a key and its value.
template <class K> static int key_bytes(const typename K::params &p)
{
    int bytes = unit_row_bytes(K::UNIT, p.call.d);
    for (int r = 0; r < K::ROUTES; r++)
        bytes += K::keys(p, r) ? unit_row_bytes(K::unit(r), p.call.d) : 0;
    return bytes;
}

template <class K, int D, int BN, bool OPTIONS>
static int launch_sm90_as(const typename K::params &p, const struct tensor_maps &maps)
{
    constexpr int bytes = memory<K, D, BN>::BYTES;
    const int items = p.call.block_count * p.call.heads_q;
    const cudaError_t error = cudaFuncSetAttribute(
        attention_sm90<K, D, BN, OPTIONS>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return (int)error;
    // Blocks without a piece of work still make operands (feed).
    const int parts = feed<K>::part_count(p), most = parts > items ? parts : items;
    const int blocks = mxv_gpu_multiprocessors();
    cudaLaunchAttribute early;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(most < blocks ? most : blocks));
    config.blockDim = dim3(SM90_THREADS);
    config.dynamicSmemBytes = bytes;
    config.attrs = &early;
    config.numAttrs = 1;
    const int heads = mxv_gpu_heads_at_once(&p.call, key_bytes<K>(p));
    return (int)cudaLaunchKernelEx(&config, attention_sm90<K, D, BN, OPTIONS>, p, maps, heads);
}

template <class K> static int make_maps(const typename K::params &p, struct tensor_maps &maps)
{
    const struct mxv_gpu_call &call = p.call;
    int error = (int)K::UNIT == (int)MXV_UNIT_E4M3
                    ? mxv_gpu_map_box(&maps.v, call.v, true, call.v_places, call.d, call.heads_kv,
                                      call.tile_n, call.d)
                    : mxv_gpu_map_tensor(&maps.v, call.v, false, call.d, call.tokens_k,
                                         call.heads_kv, call.tile_n);
    for (int r = 0; r < K::ROUTES && error == (int)cudaSuccess; r++) {
        const bool bytes = unit_row_bytes(K::unit(r), p.call.d) == p.call.d;
        error = mxv_gpu_map_tensor(&maps.q[r], K::query(p, r), bytes, call.d, call.tokens_q,
                                   call.heads_q, MXV_GPU_ROWS);
        if (error == (int)cudaSuccess)
            error = mxv_gpu_map_tensor(&maps.k[r], K::keys(p, r), bytes, call.d, call.tokens_k,
                                       call.heads_kv, call.tile_n);
    }
    return error;
}

template <class K, int D, int BN>
static int launch_sm90_tile(const typename K::params &p, const struct tensor_maps &maps, bool trace)
{
    const bool options = trace || p.call.poly || K::needs_options(p);
    return options ? launch_sm90_as<K, D, BN, true>(p, maps)
                   : launch_sm90_as<K, D, BN, false>(p, maps);
}

template <class K> static int launch_sm90(typename K::params p, bool trace)
{
    struct tensor_maps maps;
    if (p.call.block_count == 0)
        return (int)cudaSuccess;
    if (!trace)
        p.call.trace.score = NULL;
    const int error = make_maps<K>(p, maps);
    if (error != (int)cudaSuccess)
        return error;
    if (p.call.tile_n == 128)
        return p.call.d == 128 ? launch_sm90_tile<K, 128, 128>(p, maps, trace)
                               : launch_sm90_tile<K, 64, 128>(p, maps, trace);
    return p.call.d == 128 ? launch_sm90_tile<K, 128, 64>(p, maps, trace)
                           : launch_sm90_tile<K, 64, 64>(p, maps, trace);
}

#endif
