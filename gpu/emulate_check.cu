// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See emulate_check.h.
#include "emulate_check.h"
#include "emulate_dot.h"
#include "emulate_special.h"

static __global__ void evaluate(const __grid_constant__ struct mxv_mma_model m,
                                const struct draw_dot *dots, const uint32_t *k, size_t count,
                                uint32_t *out)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        out[i] =
            unit_dot(&m, k[i], dots[i].a, dots[i].b, dots[i].c, dots[i].scale_a, dots[i].scale_b);
}

extern "C" int mxv_emulate_dots(const struct mxv_mma_model *m, const struct draw_dot *dots,
                                const uint32_t *k, size_t count, uint32_t *out)
{
    evaluate<<<(unsigned)((count + 127) / 128), 128>>>(*m, dots, k, count, out);
    return (int)cudaGetLastError();
}

static __device__ __forceinline__ unsigned differ(uint32_t model, float instruction)
{
    const uint32_t word = __float_as_uint(instruction);
    return special_is_nan(word) ? !special_is_nan(model) : word != model;
}

static __global__ void sweep(unsigned long long *counters)
{
    unsigned n[MXV_EMULATE_COUNTERS] = {};
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i >> 32 == 0;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t x = (uint32_t)i;
        float y;
        bool undecided;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(__uint_as_float(x)));
        n[MXV_EMULATE_EX2] += differ(special_ex2(x), y);
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(__uint_as_float(x)));
        n[MXV_EMULATE_RCP] += differ(special_rcp(x), y);
        asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(__uint_as_float(x)));
        n[MXV_EMULATE_LG2] += differ(special_lg2(x), y);
        special_ex2_cr(x, &undecided);
        n[MXV_EMULATE_UNDECIDED] += undecided;
    }
    for (int c = 0; c < MXV_EMULATE_COUNTERS; c++)
        atomicAdd(&counters[c], (unsigned long long)n[c]);
}

extern "C" int mxv_emulate_words(unsigned long long counters[MXV_EMULATE_COUNTERS])
{
    const size_t bytes = MXV_EMULATE_COUNTERS * sizeof *counters;
    unsigned long long *device;
    cudaError_t error = cudaMalloc((void **)&device, bytes);
    if (error == cudaSuccess)
        error = cudaMemset(device, 0, bytes);
    if (error != cudaSuccess)
        return (int)error;
    sweep<<<4096, 256>>>(device);
    error = cudaMemcpy(counters, device, bytes, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return (int)error;
}
