// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared memory, and the barriers in it.
#include "block.h"
#include "sabotage.h"

#include <cstring>

uint8_t shared[SHARED_BYTES];

uint8_t *shared_at(uint32_t address, uint32_t bytes)
{
    if (address < SHARED_FIRST || address + bytes > SHARED_FIRST + SHARED_BYTES)
        rule_break("shared memory at %x does not exist", (unsigned)address);
    return shared + (address - SHARED_FIRST);
}

void barrier_make(uint32_t address, uint32_t arrivals, int group)
{
    if (address % 8)
        rule_break("barrier at %x", (unsigned)address);
    shared_at(address, 8);
    const int n = (int)arrivals;
    block.barriers[address] = {n,     n, 0, 0, 0, 0, group, block.together.held, block.current,
                               false, 0};
    thread_now().shared_barriers.push_back(address);
}

struct barrier &barrier_at(uint32_t address)
{
    const auto found = block.barriers.find(address);
    if (found == block.barriers.end())
        rule_break("no barrier at %x", (unsigned)address);
    struct barrier &b = found->second;
    if (block.current < 0 && !b.fenced)
        rule_break("asynchronous arrival at a barrier whose initialisation was not fenced");
    if (block.current >= 0 && block.current != b.maker && b.made == block.together.held)
        rule_break("thread %d uses a barrier before all know of it", block.current);
    return b;
}

static void settle(struct barrier &b)
{
    if (b.pending < 0)
        rule_break("more arrivals than barrier group %d has", b.group);
    if (b.bytes >= 1 << 20 || b.bytes <= -(1 << 20))
        rule_break("transaction count of barrier group %d out of range", b.group);
    if (b.pending == 0 && b.bytes == 0) {
        b.parity ^= 1;
        b.ended++;
        b.pending = b.count;
    }
}

void barrier_take_arrival(uint32_t address)
{
    struct barrier &b = barrier_at(address);
    if (sabotaged_barrier(SABOTAGE_ARRIVAL_LOST, b.group) && ++b.lost_clock % 8 == 1)
        return;
    b.pending--;
    settle(b);
}

void barrier_add_bytes(uint32_t address, long bytes)
{
    struct barrier &b = barrier_at(address);
    b.bytes += bytes;
    if (bytes < 0) // an expectation ends no phase
        settle(b);
}

void barrier_stand(uint32_t address, uint32_t parity)
{
    struct barrier &b = barrier_at(address);
    struct thread_state &s = thread_now();
    if (sabotaged_barrier(SABOTAGE_WAIT_SKIPPED, b.group)) {
        b.seen = UINT32_MAX; // to be noticed by something else
        return;
    }
    parity ^= sabotaged_barrier(SABOTAGE_PARITY_FLIPPED, b.group);
    if (b.parity == parity)
        thread_stand(&b.parity, parity);
    b.seen = b.ended;
    s.sync_unfenced = s.diverged = s.waited = true;
}

void barriers_end()
{
    for (const auto &entry : block.barriers) {
        const struct barrier &b = entry.second;
        if (b.seen < b.ended)
            rule_break("barrier group %d: an arrival that may come after the end of the block",
                       b.group);
        if (b.bytes != 0 || b.pending != b.count)
            rule_break("barrier group %d: the block ended within a phase", b.group);
    }
}

void shared_fence()
{
    struct thread_state &s = thread_now();
    const bool rows = block.current < 128;
    if (!sabotaged(rows ? SABOTAGE_NO_ZERO_PROXY_FENCE : SABOTAGE_NO_SCALE_PROXY_FENCE))
        for (const struct pending_store &store : s.shared_stores)
            memcpy(shared_at(store.address, 16), store.bytes.data(), 16);
    s.shared_stores.clear();
    if (sabotaged(SABOTAGE_NO_START_PROXY_FENCE))
        return;
    for (const uint32_t address : s.shared_barriers)
        block.barriers[address].fenced = true;
    s.shared_barriers.clear();
}
