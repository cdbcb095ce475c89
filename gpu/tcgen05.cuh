// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The fifth-generation tensor core's instructions by name (PTX ISA 9.2, 9.7.16), one function each,
// no arithmetic of its own; their descriptors are tcgen05_layout.h, barriers and copies those of
// wgmma.cuh. Compiled for sm_100a alone, never run: no such device was at hand.
//
// Order between them (9.7.16.6): instructions of one thread are in order only as copy to product,
// product to product of one accumulator, and all of these to commit. Everything else goes through
// an mbarrier with a fence on either side: before_thread_sync ahead of the arrival (a commit is one
// by itself), after_thread_sync behind the wait.
#ifndef MXV_GPU_TCGEN05_CUH
#define MXV_GPU_TCGEN05_CUH

#include "tcgen05_layout.h"
#include "wgmma.cuh"

// Bytes to come beside those expected so far, without an arrival.
static __device__ __forceinline__ void barrier_expect_more(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void store_shared(uint32_t address, const uint32_t (&w)[4])
{
    asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(w[0]), "r"(w[1]),
                 "r"(w[2]), "r"(w[3])
                 : "memory");
}

static __device__ __forceinline__ uint32_t load_shared(uint32_t address)
{
    uint32_t word;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}

// 9.7.16.7: by a whole warp; the address of the first column arrives in shared memory. What was
// allocated must be given back before the block ends, by the warp that allocated it.
template <int COLUMNS> static __device__ __forceinline__ void tensor_allocate(uint32_t result)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(result),
                 "n"(COLUMNS)
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}

template <int COLUMNS> static __device__ __forceinline__ void tensor_give_back(uint32_t columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(columns),
                 "n"(COLUMNS)
                 : "memory");
}

static __device__ __forceinline__ void fence_before_sync(void)
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

static __device__ __forceinline__ void fence_after_sync(void)
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// The barrier gets one arrival when all copies and products of this thread so far are complete.
static __device__ __forceinline__ void tensor_commit(uint32_t barrier)
{
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
        : "memory");
}

// A tile of scales from shared memory to four columns, for all four groups of 32 lanes.
static __device__ __forceinline__ void copy_scale_tile(uint32_t columns, uint64_t source)
{
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(columns), "l"(source)
                 : "memory");
}

#define MXV_TENSOR_BLOCKS(KIND, VECTOR)                                                            \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.u32 p, %6, 0;\n"                                                         \
                 "tcgen05.mma.cta_group::1.kind::" KIND ".block_scale.scale_vec::" VECTOR          \
                 " [%0], %1, %2, %3, [%4], [%5], p;\n"                                             \
                 "}" ::"r"(c),                                                                     \
                 "l"(a), "l"(b), "r"(instruction), "r"(scale_a), "r"(scale_b),                     \
                 "r"((uint32_t)accumulate)                                                         \
                 : "memory")

// Tensor memory at c = a b + (accumulate ? c : 0), 128 rows, one instruction: 32 bytes of each row
// of both operands in shared memory, scales in tensor memory (9.7.16.10.7, tables 54 and 55).
template <int UNIT>
static __device__ __forceinline__ void tensor_blocks(uint32_t c, uint64_t a, uint64_t b,
                                                     uint32_t instruction, uint32_t scale_a,
                                                     uint32_t scale_b, bool accumulate)
{
    if constexpr (UNIT == MXV_UNIT_MXF8)
        MXV_TENSOR_BLOCKS("mxf8f6f4", "1X"); // E4M3, a UE8M0 scale for its 32 channels
    else if constexpr (UNIT == MXV_UNIT_MXF4)
        MXV_TENSOR_BLOCKS("mxf4", "2X"); // E2M1, one for 32 of 64 channels
    else
        MXV_TENSOR_BLOCKS("mxf4nvf4", "4X"); // E2M1, a UE4M3 scale for 16 of 64 channels
}

// The same of f16 operands, K = 16; a in tensor memory: row r in lane r, two f16 a column, lower
// key in the lower half.
static __device__ __forceinline__ void tensor_f16(uint32_t c, uint32_t a, uint64_t b,
                                                  uint32_t instruction, bool accumulate)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %4, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n"
                 "}" ::"r"(c),
                 "r"(a), "l"(b), "r"(instruction), "r"((uint32_t)accumulate)
                 : "memory");
}

#define MXV_EACH8(C, w, i)                                                                         \
    C(w[i]), C(w[i + 1]), C(w[i + 2]), C(w[i + 3]), C(w[i + 4]), C(w[i + 5]), C(w[i + 6]),         \
        C(w[i + 7])
#define MXV_EACH32(C, w)                                                                           \
    MXV_EACH8(C, w, 0), MXV_EACH8(C, w, 8), MXV_EACH8(C, w, 16), MXV_EACH8(C, w, 24)

// 32 columns of a warp's 32 lanes, thread t those of lane t (9.7.16.2.3.1, shape .32x32b). Warp i
// of a block reaches lanes 32 (i mod 4) and on alone, which the upper half of the address names
// (9.7.16.8.1). Words of a load may be used at once, as a register dependency counts
// (9.7.16.6.4.5); that the columns have been read is known after tensor_wait_loads.
static __device__ __forceinline__ void tensor_load(uint32_t *w, uint32_t columns)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {" MXV_WORDS32 "}, [%32];"
                 : MXV_EACH32("=r", w)
                 : "r"(columns)
                 : "memory");
}

static __device__ __forceinline__ void tensor_store(uint32_t columns, const uint32_t *w)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], {" MXV_WORDS32
                 "};" ::MXV_EACH32("r", w),
                 "r"(columns)
                 : "memory");
}

static __device__ __forceinline__ void tensor_wait_loads(void)
{
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void tensor_wait_stores(void)
{
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

#endif
