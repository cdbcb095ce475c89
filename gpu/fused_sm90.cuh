// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// dma with rebase=1 as one kernel: the wgmma engine (attention_sm90.cuh) with three more warps that
// make its operands while the consumers attend. The bits are those of prepare.cu followed by
// dma_sm90.cu: the same code makes each chunk.
//
// A part is 128 rows of Q or a key tile of one head. Blocks take parts by number; part_of numbers
// them in the order in which the engine's pieces of work need them. A part's rows come to shared
// memory as they are; the first pass makes the high copy and leaves MXFP4 codes and their scale
// bytes in the place of the values, the second knows the common power of two and makes the low
// copy. Both go to global memory, since other blocks read them: a part that is done says so in a
// word of its own, which copying threads wait for. Nothing is waited for while a part is made, and
// only blocks that run take parts, so a block that does not run yet keeps nobody waiting. The first
// parts, without which no block can begin, are made by all twelve warps.
//
// Memory order: writer: all stores, fence of the copy engine's proxy, barrier of the making warps,
// release of the word; reader: acquire of the word, the same fence, copies; consumers read row
// factors after the mbarrier that the copying thread arrived at thereafter.
#ifndef MXV_GPU_FUSED_SM90_CUH
#define MXV_GPU_FUSED_SM90_CUH

#include "attention_sm90.cuh"
#include "dma.cuh"
#include "prepare.cuh"

enum { MAKER_BARRIER = OWN_BARRIER + 2, CHUNK_BYTES = 16 };

// mxv_gpu_dma_fused as the engine takes it.
struct fused_call : mxv_gpu_dma {
    struct mxv_gpu_dma_side side[2]; // Q, K
    enum mxv_gpu_scale_rule rule;
    uint32_t *state;
};

template <int PV_UNIT> struct dma_fused : dma<PV_UNIT, true> {
    typedef struct fused_call params;
};

// Words of the state: parts taken, launches before this one; for each key head its key tiles done
// in all launches; for each 128 rows of a head the launch that made them last.
// Parts begin at multiples of 128 in their sequence, so each has a word of its own.
enum { PARTS_TAKEN, LAUNCHES, HEAD_WORDS = MXV_GPU_FUSED_COUNTERS };

static __device__ __forceinline__ uint32_t *part_word(const struct fused_call &p, bool key,
                                                      int head, int sequence, int token)
{
    const struct mxv_gpu_rows &q = p.side[0].rows, &k = p.side[1].rows;
    const size_t q_words = MXV_GPU_PART_WORDS(q.tokens, q.sequences);
    const size_t words = key ? MXV_GPU_PART_WORDS(k.tokens, k.sequences) : q_words;
    return p.state + HEAD_WORDS + k.heads + (key ? q.heads * q_words : 0) + head * words +
           token / PIECE_ROWS + sequence;
}

static __device__ __forceinline__ uint32_t load_acquire(const uint32_t *word)
{
    uint32_t x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(word) : "memory");
    return x;
}

static __device__ __forceinline__ void store_release(uint32_t *word, uint32_t x)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(x) : "memory");
}

static __device__ __forceinline__ uint32_t add_one(uint32_t *word)
{
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(word)
                 : "memory");
    return before;
}

struct part {
    bool key;
    int head, index; // of its side, and of the side's pieces
};

// Parts of Q that come before all keys in a group of `wide` heads of which `turns` take turns: as
// many as blocks run.
static __device__ __forceinline__ int first_rows(const struct fused_call &p, int wide, int turns)
{
    return min(p.side[0].piece_count * wide, ((int)gridDim.x + turns - 1) / turns * turns);
}

// Heads of keys in groups as item_place has them: heads_at_once of them, the first group may be
// smaller.
static __device__ __forceinline__ int heads_at_once(const struct fused_call &p, int heads)
{
    return max(1, heads / (p.call.heads_q / p.call.heads_kv));
}

// Of a group first the rows that the first pieces of work read, then the keys, then other rows;
// rows in the order of item_place: heads in turn, or one after the other where heads is 1.
static __device__ __forceinline__ struct part part_of(const struct fused_call &p, int heads,
                                                      int number)
{
    const int share = p.call.heads_q / p.call.heads_kv, most = heads_at_once(p, heads);
    const int keys = p.side[1].piece_count, rest = p.call.heads_kv % most;
    const int of_head = keys + share * p.side[0].piece_count;
    int base = 0, size = rest;
    if (number >= rest * of_head) {
        number -= rest * of_head;
        size = most;
        base = rest + number / (most * of_head) * most;
        number %= most * of_head;
    }
    const int wide = size * share, turns = min(heads, wide),
              of_turns = turns * p.side[0].piece_count;
    const int first = first_rows(p, wide, turns);
    if (number >= first && number < first + keys * size)
        return {true, base + (number - first) % size, (number - first) / size};
    number -= number < first ? 0 : keys * size;
    return {false, base * share + number / of_turns * turns + number % turns,
            number % of_turns / turns};
}

// Parts that all warps make: for each block rows and keys to begin with.
static __device__ __forceinline__ int parts_first(const struct fused_call &p, int heads)
{
    const int most = heads_at_once(p, heads), rest = p.call.heads_kv % most;
    const int wide = (rest ? rest : most) * (p.call.heads_q / p.call.heads_kv);
    return first_rows(p, wide, min(heads, wide)) + (int)gridDim.x;
}

static __device__ __forceinline__ uint4 load_shared(uint32_t address)
{
    uint4 x;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(address)
                 : "memory");
    return x;
}

static __device__ __forceinline__ void store_shared(uint32_t address, uint4 x)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y),
                 "r"(x.z), "r"(x.w)
                 : "memory");
}

// The warps that make a part together: THREADS threads from FIRST on.
template <int FIRST, int THREADS> struct makers {
    static __device__ __forceinline__ bool leads(void)
    {
        return threadIdx.x == FIRST;
    }
    static __device__ __forceinline__ int first_chunk(void) // of the warp
    {
        return threadIdx.x / 32 * 32 - FIRST;
    }
    static __device__ __forceinline__ void sync(void)
    {
        group_sync(MAKER_BARRIER, THREADS);
    }

    // First pass over the chunks of a part in shared memory. Largest scale byte.
    template <bool SCALED, bool FLOOR>
    static __device__ __forceinline__ uint32_t encode_part(uint32_t raw, int chunks, float factor,
                                                           enum mxv_gpu_scale_rule rule,
                                                           uint4 *high)
    {
        uint32_t base = 0;
#pragma unroll 1
        for (int first = first_chunk(); first < chunks; first += THREADS) {
            const int i = first + threadIdx.x % 32;
            const uint4 words =
                i < chunks ? load_shared(raw + i * CHUNK_BYTES) : make_uint4(0, 0, 0, 0);
            const struct prepared x = encode<SOURCE_F16, SCALED, FLOOR>(words, factor, rule);
            if (i < chunks) {
                if (high)
                    high[i] = x.high;
                store_shared(raw + i * CHUNK_BYTES, make_uint4(x.low.x, x.low.y, x.scale, 0));
                base = max(base, x.scale == NAN_SCALE ? 0 : x.scale);
            }
        }
        return base;
    }

    // Second pass. base: of a key tile; rows of Q have their own.
    template <int D>
    static __device__ __forceinline__ void rebase_part(uint32_t raw, int chunks, bool key,
                                                       uint32_t base, uint2 *low, float *factor)
    {
        constexpr int LANES = D / CHUNK;
#pragma unroll 1
        for (int first = first_chunk(); first < chunks; first += THREADS) {
            const int i = first + threadIdx.x % 32;
            const uint4 x =
                i < chunks ? load_shared(raw + i * CHUNK_BYTES) : make_uint4(0, 0, 0, 0);
            if (!key)
                base = largest_of_row<LANES>(x.z == NAN_SCALE ? 0 : x.z);
            if (i < chunks) {
                low[i] = rebased(make_uint2(x.x, x.y), x.z, base);
                if (i % LANES == 0)
                    factor[i / LANES] = factor_of(base);
            }
        }
    }

    // Largest of all these warps; words: one each in shared memory.
    static __device__ __forceinline__ uint32_t largest(uint32_t base, uint32_t words)
    {
        const int lane = threadIdx.x % 32;
        base = __reduce_max_sync(~0u, base);
        if (lane == 0)
            asm volatile("st.shared.b32 [%0], %1;" ::"r"(words + first_chunk() / 32 * 4), "r"(base)
                         : "memory");
        sync();
        asm volatile("ld.shared.b32 %0, [%1];"
                     : "=r"(base)
                     : "r"(words + lane % (THREADS / 32) * 4)
                     : "memory");
        return __reduce_max_sync(~0u, base);
    }
};

template <int PV_UNIT> struct feed<dma_fused<PV_UNIT>> {
    enum { MAKES = 1, REGISTERS = 56, CONSUMER_REGISTERS = 224 };
    uint32_t launch;    // number of this launch
    int number;         // of the part that this block makes next
    uint32_t round;     // parts that it has made
    bool keys_are_done; // all keys of the head of this piece of work

    // Shared memory: mbarrier of a part's values, the next part's number (in turn), a largest scale
    // byte for each warp, the values.
    enum { NUMBER_AT = 8, LARGEST_AT = 16, VALUES_AT = 64 };
    static __host__ __device__ constexpr int bytes(int d)
    {
        return VALUES_AT + PIECE_ROWS * d * 2;
    }

    // Before a __syncthreads: the last to find no part left counts the launch.
    static __device__ __forceinline__ feed start(const struct fused_call &p)
    {
        return {load_acquire(p.state + LAUNCHES) + 1, 0, 0, false};
    }

    __device__ __forceinline__ void wait(const uint32_t *word) const
    {
        while (load_acquire(word) != launch)
            __nanosleep(64);
        fence_async_all();
    }
    __device__ __forceinline__ void wait_query(const struct fused_call &p, const struct place &w)
    {
        keys_are_done = load_acquire(p.state + HEAD_WORDS + w.kv_head) ==
                        launch * (uint32_t)p.side[1].piece_count;
        wait(part_word(p, false, w.head, w.sequence, w.q_first + w.first));
    }
    __device__ __forceinline__ void wait_keys(const struct fused_call &p, const struct place &w,
                                              int j)
    {
        if (!keys_are_done)
            wait(part_word(p, true, w.kv_head, w.sequence, w.k_first + j * PIECE_ROWS));
    }

    // The number of the next part, to the others by way of shared memory.
    __device__ __forceinline__ void take(const struct fused_call &p, uint32_t place) const
    {
        const int parts = part_count(p);
        const uint32_t taken = add_one(p.state + PARTS_TAKEN); // after all loads of LAUNCHES
        if (taken == parts - 1 + gridDim.x) {                  // the last of all
            p.state[PARTS_TAKEN] = 0;
            p.state[LAUNCHES] = launch;
        }
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(place), "r"(taken) : "memory");
    }
    static __device__ __forceinline__ int taken(uint32_t place)
    {
        int n;
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(n) : "r"(place) : "memory");
        return __shfl_sync(~0u, n, 0);
    }
    static __host__ __device__ __forceinline__ int part_count(const struct fused_call &p)
    {
        return p.side[0].piece_count * p.call.heads_q + p.side[1].piece_count * p.call.heads_kv;
    }

    template <class M>
    static __device__ __forceinline__ uint32_t encode_side(const struct fused_call &p, bool key,
                                                           uint32_t raw, int chunks, uint4 *high)
    {
        const struct mxv_gpu_rows &rows = p.side[key].rows;
        if (p.rule == MXV_GPU_RULE_FLOOR)
            return rows.scaled
                       ? M::template encode_part<true, true>(raw, chunks, rows.factor, p.rule, high)
                       : M::template encode_part<false, true>(raw, chunks, 1, p.rule, high);
        return rows.scaled
                   ? M::template encode_part<true, false>(raw, chunks, rows.factor, p.rule, high)
                   : M::template encode_part<false, false>(raw, chunks, 1, p.rule, high);
    }

    template <class M, int D>
    __device__ __forceinline__ void make_part(const struct fused_call &p, struct part part,
                                              uint32_t memory) const
    {
        const struct mxv_gpu_dma_side &side = p.side[part.key];
        const struct mxv_gpu_block piece = side.pieces[part.index];
        const int token = side.rows.cu[piece.sequence] + piece.row;
        const int rows = min((int)PIECE_ROWS, side.rows.cu[piece.sequence + 1] - token);
        const size_t row = (size_t)part.head * side.rows.tokens + token, at = row * (D / CHUNK);
        const uint32_t raw = memory + VALUES_AT;
        const int chunks = rows * (D / CHUNK);
        if (M::leads()) {
            barrier_expect(memory, chunks * CHUNK_BYTES);
            copy_bytes(raw, (const uint4 *)side.rows.data + at, chunks * CHUNK_BYTES, memory);
            take(p, memory + NUMBER_AT + (round + 1) % 2 * 4);
        }
        barrier_wait(memory, round & 1);
        uint32_t base =
            encode_side<M>(p, part.key, raw, chunks, side.high ? (uint4 *)side.high + at : nullptr);
        if (part.key)
            base = M::largest(base, memory + LARGEST_AT);
        else
            __syncwarp();
        M::template rebase_part<D>(raw, chunks, part.key, base, (uint2 *)side.low + at,
                                   side.factor + row);
        fence_async_all();
        M::sync();
        if (M::leads()) {
            store_release(part_word(p, part.key, part.head, piece.sequence, token), launch);
            if (part.key)
                add_one(p.state + HEAD_WORDS + part.head);
        }
    }

    // Makes the parts before number `end` that this block gets.
    template <class M, int D>
    __device__ __forceinline__ void make_until(const struct fused_call &p, int heads, int end,
                                               uint32_t memory)
    {
        while (number < end) {
            make_part<M, D>(p, part_of(p, heads, number), memory);
            round++;
            number = taken(memory + NUMBER_AT + round % 2 * 4);
        }
    }

    // By all threads. memory: bytes(D) of shared memory, 16-byte aligned.
    template <int D>
    __device__ __forceinline__ void make_first(const struct fused_call &p, int heads,
                                               uint32_t memory)
    {
        typedef makers<0, SM90_THREADS> M;
        if (M::leads()) {
            barrier_init(memory, 1);
            fence_async();
            take(p, memory + NUMBER_AT);
        }
        M::sync();
        number = taken(memory + NUMBER_AT);
        make_until<M, D>(p, heads, min(parts_first(p, heads), part_count(p)), memory);
    }

    // By the warps of the copying thread's warpgroup.
    template <int D>
    __device__ __forceinline__ void make(const struct fused_call &p, int heads, uint32_t memory)
    {
        if (threadIdx.x >= 32)
            make_until<makers<32, 96>, D>(p, heads, part_count(p), memory);
    }
};

#endif
