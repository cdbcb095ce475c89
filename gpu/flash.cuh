// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// flash: FP16/BF16 attention (docs/kernels/flash.md) as the engines attention.cuh and
// attention_sm90.cuh take it. One route: q and k in the type of V; scores are raw, the exponent's
// argument is one fma.
#ifndef MXV_GPU_FLASH_CUH
#define MXV_GPU_FLASH_CUH

#include "softmax.cuh"
#include "tile.cuh"

template <int PV_UNIT> struct flash {
    typedef struct mxv_gpu_flash params;
    struct plan {
    };
    struct row {
    };
    struct tile {
    };
    enum { UNIT = PV_UNIT, ROUTES = 1 };
    static constexpr bool LOG2 = false, FOLDS = false, FP8 = false;

    static __host__ __device__ constexpr int unit(int)
    {
        return PV_UNIT;
    }
    static __host__ __device__ __forceinline__ const void *query(const params &p, int)
    {
        return p.q;
    }
    static __host__ __device__ __forceinline__ const void *keys(const params &p, int)
    {
        return p.k;
    }
    static __device__ __forceinline__ struct plan plan_of(const params &, const struct place &)
    {
        return {};
    }
    static __device__ __forceinline__ int route(const params &, const struct plan &, int)
    {
        return 0;
    }
    static __device__ __forceinline__ struct row row_of(const params &, const struct place &, int)
    {
        return {};
    }
    static __device__ __forceinline__ struct tile tile_of(const params &, const struct place &,
                                                          const struct plan &, int)
    {
        return {};
    }
    static __device__ __forceinline__ int route_of(const params &, const struct plan &,
                                                   const struct tile &, int)
    {
        return 0;
    }
    static __device__ __forceinline__ bool folds(const params &, int)
    {
        return false;
    }
    static bool needs_options(const params &)
    {
        return false;
    }
    static __device__ __forceinline__ bool raw_row(const struct row &)
    {
        return true;
    }
    static __device__ __forceinline__ bool raw(const params &, int, bool, const struct tile &)
    {
        return true;
    }
    static __device__ __forceinline__ struct word_use
    use_of(const params &p, int, const struct row &, const struct tile &)
    {
        return {{1, 1}, {p.call.c, p.call.c}};
    }
    template <int TILES>
    static __device__ __forceinline__ void scale(const params &, const struct place &, int, int,
                                                 const struct row &, const struct tile &,
                                                 float (&)[TILES][4], int = 0)
    {
    }
};

#endif
