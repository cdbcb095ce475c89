// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A thread block on the host: its threads as fibres, meetings of a warp and of the block, mbarriers
// (PTX ISA, mbarrier: pending arrivals, transaction count, phase), shared memory, and the work
// that goes on beside the threads: pieces of bulk copies, operations of the tensor core. One thing
// happens at a time, in an order drawn from a seed among all that could happen next.
//
// Modelled: everything that waits, and what it waits for; that asynchronous work is done at any
// time after its issue that its own ordering rules allow; that stores to shared memory reach the
// asynchronous proxy at fence.proxy.async and not before. A block in which nothing can happen any
// more is a deadlock. Not modelled: time, memory ordering between threads through anything but
// these barriers, cache state, several blocks at once.
#ifndef MXV_TESTS_KERNEL_TEXT_BLOCK_H
#define MXV_TESTS_KERNEL_TEXT_BLOCK_H

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <ucontext.h>
#include <utility>
#include <vector>

enum {
    BLOCK_THREADS = 192,
    BLOCK_WARPS = BLOCK_THREADS / 32,
    COPY_ENGINE = BLOCK_WARPS, // who acts beside the warps
    TENSOR_CORE,
    ACTORS,
    SHARED_BYTES = 227 * 1024, // of a block on compute capability 10.0
    SHARED_FIRST = 0x410       // address of the first: aligned as little as may be
};

// The text did what the rules forbid, or nothing can happen any more.
struct rule_broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};
[[noreturn]] void rule_break(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Where threads stand until *watched is no longer `value`.
struct wait_for {
    const uint32_t *watched;
    uint32_t value;
};

struct pending_store { // to shared memory, not yet seen by the asynchronous proxy
    uint32_t address;
    std::array<uint8_t, 16> bytes;
};

struct tensor_access { // a load not waited for, or a store not done: 32 columns of one lane
    uint32_t column, lane;
    std::array<uint32_t, 32> words;
};

// What a thread has begun and not closed.
struct thread_state {
    std::vector<pending_store> shared_stores;
    std::vector<uint32_t> shared_barriers; // initialised, not yet fenced
    std::vector<tensor_access> loads, stores;
    bool tensor_unfenced; // accessed tensor memory since the last fence::before_thread_sync
    bool sync_unfenced;   // was waiting for others since the last fence::after_thread_sync
    bool uncommitted;     // issued copies or products since the last commit
    bool diverged;        // waited alone since the last meeting of its warp
    bool waited;          // at a barrier, ever
};

struct fibre {
    ucontext_t context;
    std::vector<char> stack;
    struct wait_for wait;
    bool done;
    struct thread_state state;
};

struct barrier {
    int count, pending;   // arrivals of a phase; still to come
    long bytes;           // transaction count
    uint32_t parity;      // of the phase that is going on
    uint32_t ended, seen; // phases; of them those that somebody has waited for
    int group;            // number among the kernel's kinds of barriers
    uint32_t made;        // meetings of the block before it was initialised
    int maker;
    bool fenced;         // initialisation seen by the asynchronous proxy
    unsigned lost_clock; // for sabotage: arrivals so far
};

struct meeting {
    int present;
    uint32_t held; // how many have ended
    bool all, any;
    uint64_t what; // that all must agree on
    bool all_result, any_result;
};

struct block {
    std::array<fibre, BLOCK_THREADS> fibres;
    std::array<meeting, BLOCK_WARPS> warps;
    meeting together;
    std::map<uint32_t, barrier> barriers;
    std::vector<std::function<void()>> copies; // pieces on their way
    uint64_t random;                           // state of SplitMix64
    std::array<unsigned, ACTORS> eagerness;    // 0: acts when nobody else can
    int current;                               // thread, or -1: asynchronous work
};
extern struct block block;
extern uint8_t shared[SHARED_BYTES];

// Runs `body` as every thread of a block, in an order drawn from `seed`. Returns what rule was
// broken, or an empty string.
std::string block_run(uint64_t seed, const std::function<void()> &body);

// The following are called by threads.
struct thread_state &thread_now();
uint32_t block_random(uint32_t below);
void thread_stand(const uint32_t *watched, uint32_t value); // until *watched is not value
void block_pause();                                         // now and then, lets others go on
void thread_arrives();                    // what it did to tensor memory must be done and fenced
bool warp_meet(bool vote, uint64_t what); // whether all lanes vote for it; all come with one `what`
void block_meet();

// Shared memory and barriers (barriers.cpp). Arrivals and bytes also come from asynchronous work.
// An address stands for up to 16 bytes that exist.
uint8_t *shared_at(uint32_t address, uint32_t bytes);
void barrier_make(uint32_t address, uint32_t arrivals, int group);
struct barrier &barrier_at(uint32_t address);
void barrier_take_arrival(uint32_t address);
void barrier_add_bytes(uint32_t address, long bytes);
void barrier_stand(uint32_t address, uint32_t parity); // until the phase of this parity has ended
void barriers_end(); // the block has ended: no phase is left, all were waited for
void shared_fence(); // what the thread has stored and initialised reaches the asynchronous proxy

#endif
