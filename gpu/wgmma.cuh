// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Hopper's instructions by name (PTX ISA: wgmma, mbarrier, cp.async.bulk.tensor, setmaxnreg,
// griddepcontrol), one function each, no arithmetic of its own. Compiled for sm_90a alone.
//
// Operands lie in shared memory as panels: rows of 128 bytes (64 for bytes with d = 64), the
// 16-byte pieces of a row exchanged by the copy engine's swizzle of that width, panels 1024-byte
// aligned. An accumulator is acc[i][0..3]: columns 8 i + 2 (t mod 4) and the next, of rows t / 4
// and t / 4 + 8 of the warp's 16 rows, as 32-bit words.
#ifndef MXV_GPU_WGMMA_CUH
#define MXV_GPU_WGMMA_CUH

#include "mma.cuh"

#include <cuda.h>

static __device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

static __device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

// Waits for the end of the phase of this parity, unless `ended` says that it has (barrier_test).
// The branch is hidden from the compiler, which would take what follows for divergent and compute
// operand descriptors thread by thread.
static __device__ __forceinline__ void barrier_wait_unless(uint32_t ended, uint32_t barrier,
                                                           uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "setp.ne.u32 done, %0, 0;\n"
                 "@done bra over;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "@!done bra again;\n"
                 "over:\n"
                 "}" ::"r"(ended),
                 "r"(barrier), "r"(parity)
                 : "memory");
}

static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// Whether the phase of this parity has ended; does not wait.
static __device__ __forceinline__ uint32_t barrier_test(uint32_t barrier, uint32_t parity)
{
    uint32_t done;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return done;
}

// A box of the tensor from element (channel, token, head) on.
static __device__ __forceinline__ void copy_box(uint32_t dst, const CUtensorMap *map, int channel,
                                                int token, int head, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(dst),
                 "l"(map), "r"(channel), "r"(token), "r"(head), "r"(barrier)
                 : "memory");
}

// `bytes` bytes, a multiple of 16, that lie together.
static __device__ __forceinline__ void copy_bytes(uint32_t dst, const void *src, uint32_t bytes,
                                                  uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(dst),
                 "l"(src), "r"(bytes), "r"(barrier)
                 : "memory");
}

// Barrier `id` of `threads` threads.
static __device__ __forceinline__ void group_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// What this thread wrote to shared memory is seen by the matrix unit and the copy engine.
static __device__ __forceinline__ void fence_async(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Between what this thread wrote or saw written, to any memory, and the copy engine's accesses.
static __device__ __forceinline__ void fence_async_all(void)
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

// Until all launches before this one in its stream have ended and what they wrote can be read.
static __device__ __forceinline__ void wait_for_launch_before(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

template <int REGISTERS> static __device__ __forceinline__ void fewer_registers(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS> static __device__ __forceinline__ void more_registers(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

static __device__ __forceinline__ void wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Keeps the compiler from moving uses of the registers across this point.
template <int N, int M> static __device__ __forceinline__ void pin(uint32_t (&x)[N][M])
{
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int k = 0; k < M; k++)
            asm volatile("" : "+r"(x[i][k])::"memory");
}

// Operands in shared memory are described by two words: the low one holds the address in units of
// 16 bytes, to which offsets are added, the high one the layout. rows_layout: panels whose rows are
// chains (K-major). columns_layout: panels of 64 16-bit columns whose columns are chains
// (MN-major); `panel` is the distance in bytes between panels, which the low word holds as well.
static __host__ __device__ constexpr uint32_t rows_layout(int row_bytes)
{
    return (uint32_t)(row_bytes * 8 / 16) | (row_bytes == 128 ? 1u : 2u) << 30;
}

static __host__ __device__ constexpr uint32_t columns_layout(void)
{
    return 1024 / 16 | 1u << 30;
}

static __device__ __forceinline__ uint32_t operand_at(uint32_t address, uint32_t panel)
{
    return address >> 4 | panel >> 4 << 16;
}

static __device__ __forceinline__ uint64_t operand(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

#define MXV_ACC4(c, i) "+r"(c[i][0]), "+r"(c[i][1]), "+r"(c[i][2]), "+r"(c[i][3])
#define MXV_ACC32(c, i)                                                                            \
    MXV_ACC4(c, i), MXV_ACC4(c, i + 1), MXV_ACC4(c, i + 2), MXV_ACC4(c, i + 3),                    \
        MXV_ACC4(c, i + 4), MXV_ACC4(c, i + 5), MXV_ACC4(c, i + 6), MXV_ACC4(c, i + 7)
#define MXV_WORDS32                                                                                \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"   \
    "%25,%26,%27,%28,%29,%30,%31"
#define MXV_WORDS64                                                                                \
    MXV_WORDS32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,"    \
                "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"

// c = a b + (accumulate ? c : 0): a 64 rows, b N rows, K channels of each, both by rows.
#define MXV_WGMMA_ROWS(SHAPE, TYPES, TAIL)                                                         \
    if constexpr (N == 64)                                                                         \
        asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0;\n"                                     \
                     "wgmma.mma_async.sync.aligned.m64n64" SHAPE "." TYPES " {" MXV_WORDS32        \
                     "}, %32, %33, p" TAIL ";}"                                                    \
                     : MXV_ACC32(c, 0)                                                             \
                     : "l"(a), "l"(b), "r"(accumulate));                                           \
    else                                                                                           \
        asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0;\n"                                     \
                     "wgmma.mma_async.sync.aligned.m64n128" SHAPE "." TYPES " {" MXV_WORDS64       \
                     "}, %64, %65, p" TAIL ";}"                                                    \
                     : MXV_ACC32(c, 0), MXV_ACC32(c, 8)                                            \
                     : "l"(a), "l"(b), "r"(accumulate))

template <int UNIT, int N>
static __device__ __forceinline__ void wgmma_rows(uint32_t (&c)[N / 8][4], uint64_t a, uint64_t b,
                                                  int accumulate)
{
    static_assert(N == 64 || N == 128, "columns of one instruction");
    if constexpr (UNIT == MXV_UNIT_F16) {
        MXV_WGMMA_ROWS("k16", "f32.f16.f16", ",1,1,0,0");
    } else if constexpr (UNIT == MXV_UNIT_BF16) {
        MXV_WGMMA_ROWS("k16", "f32.bf16.bf16", ",1,1,0,0");
    } else if constexpr (UNIT == MXV_UNIT_E5M2) {
        MXV_WGMMA_ROWS("k32", "f32.e5m2.e5m2", ",1,1");
    } else {
        MXV_WGMMA_ROWS("k32", "s32.s8.s8", "");
    }
}

// c += a b: a 64 rows of 16 keys in registers (a fragment of mma.sync), b 16 keys of N columns.
#define MXV_WGMMA_COLUMNS(TYPES)                                                                   \
    if constexpr (N == 64)                                                                         \
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k16." TYPES " {" MXV_WORDS32              \
                     "}, {%32,%33,%34,%35}, %36, 1,1,1,1;"                                         \
                     : MXV_ACC32(c, 0)                                                             \
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));                                \
    else                                                                                           \
        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16." TYPES " {" MXV_WORDS64             \
                     "}, {%64,%65,%66,%67}, %68, 1,1,1,1;"                                         \
                     : MXV_ACC32(c, 0), MXV_ACC32(c, 8)                                            \
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b))

template <int UNIT, int N>
static __device__ __forceinline__ void wgmma_columns(uint32_t (&c)[N / 8][4], uint32_t a0,
                                                     uint32_t a1, uint32_t a2, uint32_t a3,
                                                     uint64_t b)
{
    static_assert(N == 64 || N == 128, "columns of one instruction");
    if constexpr (UNIT == MXV_UNIT_F16) {
        MXV_WGMMA_COLUMNS("f32.f16.f16");
    } else {
        MXV_WGMMA_COLUMNS("f32.bf16.bf16");
    }
}

// The same for E4M3: a 64 rows of 32 keys in registers (a fragment of mma.m16n8k32), b N rows of 32
// keys, by rows.
template <int N>
static __device__ __forceinline__ void wgmma_values_e4m3(uint32_t (&c)[N / 8][4], uint32_t a0,
                                                         uint32_t a1, uint32_t a2, uint32_t a3,
                                                         uint64_t b)
{
    static_assert(N == 64 || N == 128, "columns of one instruction");
    if constexpr (N == 64)
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {" MXV_WORDS32
                     "}, {%32,%33,%34,%35}, %36, 1,1,1;"
                     : MXV_ACC32(c, 0)
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
    else
        asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {" MXV_WORDS64
                     "}, {%64,%65,%66,%67}, %68, 1,1,1;"
                     : MXV_ACC32(c, 0), MXV_ACC32(c, 8)
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
}

#endif
