// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The instructions that the kernel's text names (gpu/wgmma.cuh, gpu/tcgen05.cuh), on the models of
// block.h and tensor_core.h instead of in assembly. One function of the same name and type each;
// the text's own files are left out by their guards. Rules that an instruction checks are those of
// the PTX ISA's page of it.
#ifndef MXV_TESTS_KERNEL_TEXT_INSTRUCTIONS_H
#define MXV_TESTS_KERNEL_TEXT_INSTRUCTIONS_H

#define MXV_GPU_WGMMA_CUH
#define MXV_GPU_TCGEN05_CUH
#define MXV_GPU_LAUNCH_SM90_H

#include "block.h"
#include "sabotage.h"

#include "cuda_words.h"
#include "tensor_core.h"

#include <tcgen05_layout.h>

static int barrier_group(int number); // of the kernel's barriers, in the order of their addresses

struct CUtensorMap { // [heads][tokens][row_bytes], boxes of 128 tokens
    const uint8_t *base;
    int row_bytes, tokens, heads, box_bytes;
    uint32_t swizzle; // width
};
enum { cudaSuccess, cudaErrorInvalidValue, BOX_TOKENS = 128 };

uint32_t swizzled(uint32_t address, uint32_t width); // tensor_core.cpp

static inline int mxv_gpu_map_box(struct CUtensorMap *map, const void *tensor, bool bytes,
                                  int columns, int rows, int heads, int box_columns, int box_rows)
{
    const int size = bytes ? 1 : 2, width = box_columns * size;
    if (box_rows != BOX_TOKENS || (width != 128 && width != 64 && width != 32) ||
        columns * size % 16)
        return cudaErrorInvalidValue;
    *map = {(const uint8_t *)tensor,
            columns * size,
            rows,
            heads,
            width,
            sabotaged(SABOTAGE_UNSWIZZLED) ? 16 : (uint32_t)width};
    return cudaSuccess;
}

static inline void barrier_init(uint32_t barrier, uint32_t arrivals)
{
    barrier_make(barrier, arrivals, barrier_group((int)block.barriers.size()));
}

static inline void barrier_arrive(uint32_t barrier)
{
    thread_arrives();
    barrier_take_arrival(barrier);
}

static inline void barrier_expect_more(uint32_t barrier, uint32_t bytes)
{
    barrier_add_bytes(barrier, sabotaged(SABOTAGE_EXPECT_NOTHING) ? 0
                               : sabotaged(SABOTAGE_EXPECT_SHORT) ? (long)bytes - 16
                                                                  : (long)bytes);
    block_pause();
}

static inline void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    thread_arrives();
    barrier_expect_more(barrier, bytes);
    barrier_take_arrival(barrier);
}

static inline void barrier_wait(uint32_t barrier, uint32_t parity)
{
    block_pause();
    barrier_stand(barrier, parity);
}

// 16-byte pieces of `tokens` rows of a box; what lies outside the tensor is zero.
static inline void copy_rows(uint32_t dst, const struct CUtensorMap &map, int channel, int token,
                             int head, int first, int tokens)
{
    for (int r = first; r < first + tokens; r++)
        for (int b = 0; b < map.box_bytes; b += 16) {
            uint8_t *to =
                shared_at(swizzled(dst + (uint32_t)(r * map.box_bytes + b), map.swizzle), 16);
            const size_t row = (size_t)head * (size_t)map.tokens + (size_t)(token + r);
            if (token + r < map.tokens)
                memcpy(to, map.base + row * (size_t)map.row_bytes + channel + b, 16);
            else
                memset(to, 0, 16);
        }
}

// In pieces of 32 rows, each of which counts its bytes at the barrier (complete_tx).
static inline void copy_box(uint32_t dst, const struct CUtensorMap *map, int channel, int token,
                            int head, uint32_t barrier)
{
    const struct CUtensorMap m = *map;
    if (!m.base || dst % (m.swizzle * 8) || channel % 16 || head >= m.heads || token < 0)
        rule_break("a box that the copy engine cannot take");
    for (int first = 0; first < BOX_TOKENS; first += 32)
        block.copies.push_back([=] {
            copy_rows(dst, m, channel, token, head, first, 32);
            barrier_add_bytes(barrier, -32L * m.box_bytes);
        });
    block_pause();
}

static inline void fence_async()
{
    shared_fence();
}

static inline void store_shared(uint32_t address, const uint32_t (&w)[4])
{
    struct pending_store store = {address, {}};
    if (address % 16)
        rule_break("unaligned store to shared memory");
    if (sabotaged(SABOTAGE_VALUES_NOT_CLEARED) && !(w[0] | w[1] | w[2] | w[3]))
        return;
    memcpy(store.bytes.data(), w, 16);
    thread_now().shared_stores.push_back(store);
}

static inline uint32_t load_shared(uint32_t address)
{
    uint32_t word;
    memcpy(&word, shared_at(address, sizeof word), sizeof word);
    return word;
}

template <int COLUMNS> static inline void tensor_allocate(uint32_t result)
{
    tensor_take_columns(COLUMNS, result);
}

template <int COLUMNS> static inline void tensor_give_back(uint32_t columns)
{
    tensor_return_columns(COLUMNS, columns);
}

static inline void fence_before_sync()
{
    tensor_fence_before();
}

static inline void fence_after_sync()
{
    tensor_fence_after();
}

static inline void tensor_commit(uint32_t barrier)
{
    tensor_issue_commit(barrier);
}

static inline void copy_scale_tile(uint32_t columns, uint64_t source)
{
    tensor_issue_scales(columns, source);
}

template <int UNIT>
static inline void tensor_blocks(uint32_t c, uint64_t a, uint64_t b, uint32_t instruction,
                                 uint32_t scale_a, uint32_t scale_b, bool accumulate)
{
    constexpr enum scaled_kind KIND = UNIT == MXV_UNIT_MXF8   ? KIND_MXF8F6F4
                                      : UNIT == MXV_UNIT_MXF4 ? KIND_MXF4
                                                              : KIND_MXF4NVF4;
    tensor_issue(scaled_product{KIND, c, a, b, instruction, scale_a, scale_b, accumulate});
}

static inline void tensor_f16(uint32_t c, uint32_t a, uint64_t b, uint32_t instruction,
                              bool accumulate)
{
    tensor_issue(f16_product{c, a, b, instruction, accumulate});
}

static inline void tensor_load(uint32_t *w, uint32_t columns)
{
    tensor_read(w, columns);
}

static inline void tensor_store(uint32_t columns, const uint32_t *w)
{
    tensor_write(columns, w);
}

static inline void tensor_wait_loads()
{
    tensor_await_loads();
}

static inline void tensor_wait_stores()
{
    tensor_await_stores();
}

#endif
