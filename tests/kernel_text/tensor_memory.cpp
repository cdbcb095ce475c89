// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
#include "block.h"
#include "sabotage.h"
#include "tensor_core.h"

#include <cstring>
#include <tcgen05_layout.h>

uint32_t tensor_memory[TENSOR_MEMORY_COLUMNS][TENSOR_MEMORY_LANES];
static uint32_t allocated;
static int owner; // warp

enum { POISON = 0x7fc0dead, ACCESS_COLUMNS = 32 };
// What the lanes of a warp must agree on: instruction, and its operand in the lower half.
enum { TAKE, RETURN, READ, WRITE, AWAIT_LOADS, AWAIT_STORES };

void tensor_memory_start()
{
    allocated = 0;
    for (auto &column : tensor_memory)
        for (uint32_t &word : column)
            word = POISON;
}

void tensor_memory_end()
{
    if (allocated)
        rule_break("the block ended with %u columns allocated", (unsigned)allocated);
}

uint32_t tensor_placed(uint32_t column)
{
    if (sabotaged(SABOTAGE_SCALES_SHARED) && column >= TENSOR_K_SCALES + 8 && column < TENSOR_END)
        return column - 8;
    if (sabotaged(SABOTAGE_SCORES_SHARED) && column >= 128 && column < 256)
        return column - 128;
    return column;
}

static void aligned(uint64_t instruction, uint32_t operand)
{
    if (thread_now().diverged)
        rule_break("thread %d: aligned instruction before its warp is together", block.current);
    warp_meet(true, instruction << 32 | operand);
}

void tensor_operation_begins()
{
    if (thread_now().sync_unfenced)
        rule_break("thread %d: no fence::after_thread_sync before a tensor operation",
                   block.current);
}

void tensor_take_columns(uint32_t columns, uint32_t result)
{
    aligned(TAKE, columns);
    if (block.current % 32)
        return;
    if (allocated || columns > TENSOR_MEMORY_COLUMNS || columns < 32 || (columns & (columns - 1)))
        rule_break("allocation of %u columns", (unsigned)columns);
    const uint32_t first = 0;
    allocated = columns;
    owner = block.current / 32;
    memcpy(shared_at(result, sizeof first), &first, sizeof first);
}

void tensor_return_columns(uint32_t columns, uint32_t first)
{
    tensor_operation_begins();
    aligned(RETURN, columns);
    if (block.current % 32 || sabotaged(SABOTAGE_KEPT_COLUMNS))
        return;
    if (allocated != columns || first != 0 || owner != block.current / 32)
        rule_break("what is given back was not allocated by this warp");
    allocated = 0;
}

// Lane of the running thread in the 32 columns at an address; 9.7.16.8.1: those of its warp alone.
static uint32_t lane_reached(uint32_t address)
{
    if (sabotaged(SABOTAGE_LANES_OF_WARP_0))
        address &= 0xffff;
    if (address >> 16 != (uint32_t)(block.current / 32 % 4 * 32) ||
        (address & 0xffff) + ACCESS_COLUMNS > allocated)
        rule_break("thread %d cannot reach tensor memory at %x", block.current, (unsigned)address);
    return (address >> 16) + (uint32_t)block.current % 32;
}

void tensor_read(uint32_t *words, uint32_t address)
{
    tensor_operation_begins();
    aligned(READ, address);
    struct tensor_access access = {tensor_placed(address & 0xffff), lane_reached(address), {}};
    for (uint32_t i = 0; i < ACCESS_COLUMNS; i++)
        words[i] = access.words[i] = tensor_memory[access.column + i][access.lane];
    thread_now().loads.push_back(access);
    thread_now().tensor_unfenced = true;
    block_pause();
}

static void store_now(const struct tensor_access &access)
{
    for (uint32_t i = 0; i < ACCESS_COLUMNS; i++)
        tensor_memory[access.column + i][access.lane] = access.words[i];
}

void tensor_write(uint32_t address, const uint32_t *words)
{
    tensor_operation_begins();
    aligned(WRITE, address);
    struct tensor_access access = {tensor_placed(address & 0xffff), lane_reached(address), {}};
    memcpy(access.words.data(), words, sizeof access.words);
    if (block_random(2))
        store_now(access);
    thread_now().stores.push_back(access);
    thread_now().tensor_unfenced = true;
    block_pause();
}

void tensor_await_loads()
{
    aligned(AWAIT_LOADS, 0);
    if (sabotaged(SABOTAGE_NO_LOAD_WAIT))
        return;
    for (const struct tensor_access &access : thread_now().loads)
        for (uint32_t i = 0; i < ACCESS_COLUMNS; i++)
            if (tensor_memory[access.column + i][access.lane] != access.words[i])
                rule_break("column %u was written while thread %d loaded it",
                           (unsigned)(access.column + i), block.current);
    thread_now().loads.clear();
}

void tensor_await_stores()
{
    aligned(AWAIT_STORES, 0);
    if (sabotaged(SABOTAGE_NO_STORE_WAIT))
        return;
    for (const struct tensor_access &access : thread_now().stores)
        store_now(access);
    thread_now().stores.clear();
}

void tensor_fence_before()
{
    if (sabotaged(SABOTAGE_NO_FENCE_BEFORE))
        return;
    thread_now().tensor_unfenced = false;
}

void tensor_fence_after()
{
    const bool rows = block.current < 128;
    if (sabotaged(!thread_now().waited ? SABOTAGE_NO_START_FENCE_AFTER
                  : rows               ? SABOTAGE_NO_ROW_FENCE_AFTER
                                       : SABOTAGE_NO_ISSUER_FENCE_AFTER))
        return;
    thread_now().sync_unfenced = false;
}
