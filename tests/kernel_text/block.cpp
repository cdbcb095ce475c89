// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include "sabotage.h"
#include "tensor_core.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <splitmix.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

struct block block;
struct sabotage_state sabotage_now;

static const std::function<void()> *body_now;
static ucontext_t home;
static std::string first_break;

enum { STACK_BYTES = 256 * 1024 };

void rule_break(const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    throw rule_broken(text);
}

uint32_t block_random(uint32_t below)
{
    return (uint32_t)(splitmix_next(&block.random) >> 32) % below;
}

// Changes of stack; AddressSanitizer is told of them.
#ifdef __SANITIZE_ADDRESS__
static void *home_fake_stack;
static const void *home_stack;
static size_t home_stack_bytes;

static void switch_to_fibre(struct fibre &to)
{
    __sanitizer_start_switch_fiber(&home_fake_stack, to.stack.data(), to.stack.size());
    swapcontext(&home, &to.context);
    __sanitizer_finish_switch_fiber(home_fake_stack, NULL, NULL);
}

static void switch_home(struct fibre &from)
{
    void *fake_stack = NULL;
    __sanitizer_start_switch_fiber(from.done ? NULL : &fake_stack, home_stack, home_stack_bytes);
    swapcontext(&from.context, &home);
    __sanitizer_finish_switch_fiber(fake_stack, &home_stack, &home_stack_bytes);
}

static void fibre_arrived()
{
    __sanitizer_finish_switch_fiber(NULL, &home_stack, &home_stack_bytes);
}
#else
static void switch_to_fibre(struct fibre &to)
{
    swapcontext(&home, &to.context);
}

static void switch_home(struct fibre &from)
{
    swapcontext(&from.context, &home);
}

static void fibre_arrived()
{
}
#endif

static void thread_end()
{
    const struct thread_state &s = thread_now();
    if (!s.loads.empty() || !s.stores.empty())
        rule_break("thread %d ends with accesses of tensor memory not waited for", block.current);
    if (s.uncommitted)
        rule_break("thread %d ends with tensor operations that no commit follows", block.current);
}

static void fibre_entry()
{
    fibre_arrived();
    struct fibre &self = block.fibres[block.current];
    try {
        (*body_now)();
        thread_end();
    } catch (const rule_broken &e) {
        first_break = e.what();
    }
    self.done = true;
    switch_home(self);
}

struct thread_state &thread_now()
{
    return block.fibres[block.current].state;
}

void thread_stand(const uint32_t *watched, uint32_t value)
{
    struct fibre &self = block.fibres[block.current];
    self.wait = {watched, value};
    switch_home(self);
}

void block_pause()
{
    static const uint32_t never = 0;
    if (block_random(16) == 0)
        thread_stand(&never, 1);
}

void thread_arrives()
{
    const struct thread_state &s = thread_now();
    if (s.tensor_unfenced)
        rule_break("thread %d: no fence::before_thread_sync before an arrival", block.current);
    if (!s.loads.empty() || !s.stores.empty())
        rule_break("thread %d arrives with accesses of tensor memory not waited for",
                   block.current);
    block_pause();
}

static void meet(struct meeting &m, int of, bool vote, uint64_t what)
{
    if (m.present == 0) {
        m.all = true;
        m.any = false;
        m.what = what;
    }
    if (m.what != what)
        rule_break("thread %d is elsewhere than others of its warp", block.current);
    m.all = m.all && vote;
    m.any = m.any || vote;
    if (++m.present < of) {
        thread_stand(&m.held, m.held);
        return;
    }
    m.present = 0;
    m.all_result = m.all;
    m.any_result = m.any;
    m.held++;
}

bool warp_meet(bool vote, uint64_t what)
{
    struct meeting &m = block.warps[block.current / 32];
    meet(m, 32, vote, what);
    return sabotaged(SABOTAGE_VOTE_OF_ONE) ? m.any_result : m.all_result;
}

void block_meet()
{
    meet(block.together, BLOCK_THREADS, true, 0);
    thread_now().sync_unfenced = true;
}

// Threads that could go on.
static bool ready(const struct fibre &f)
{
    return !f.done && *f.wait.watched != f.wait.value;
}

static bool run_one_of_warp(int warp)
{
    const uint32_t first = block_random(32);
    for (uint32_t i = 0; i < 32; i++) {
        const int thread = warp * 32 + (int)((first + i) % 32);
        if (!ready(block.fibres[thread]))
            continue;
        block.current = thread;
        switch_to_fibre(block.fibres[thread]);
        block.current = -1;
        return true;
    }
    return false;
}

static bool run_one_copy()
{
    if (block.copies.empty())
        return false;
    const size_t i = block_random((uint32_t)block.copies.size());
    const std::function<void()> piece = std::move(block.copies[i]);
    block.copies.erase(block.copies.begin() + (long)i);
    piece();
    return true;
}

// Who goes next: by eagerness; those without any when nobody else can.
static unsigned draw_actor(const std::array<bool, ACTORS> &stuck)
{
    unsigned sum = 0, idle = 0, actor = 0;
    for (unsigned i = 0; i < ACTORS; i++) {
        sum += stuck[i] ? 0 : block.eagerness[i];
        idle += !stuck[i];
    }
    unsigned at = block_random(sum ? sum : idle);
    for (;; actor++) {
        const unsigned weight = stuck[actor] ? 0 : sum ? block.eagerness[actor] : 1;
        if (at < weight)
            return actor;
        at -= weight;
    }
}

// One thing of those that can happen; false: nothing can.
static bool step()
{
    std::array<bool, ACTORS> stuck = {};
    for (unsigned tried = 0; tried < ACTORS; tried++) {
        const unsigned actor = draw_actor(stuck);
        if (actor < BLOCK_WARPS    ? run_one_of_warp((int)actor)
            : actor == COPY_ENGINE ? run_one_copy()
                                   : tensor_run_one())
            return true;
        stuck[actor] = true;
    }
    return false;
}

static void start(uint64_t seed)
{
    static const uint32_t never = 0;
    block.random = seed;
    block.current = -1;
    block.warps = {};
    block.together = {};
    block.barriers.clear();
    block.copies.clear();
    for (unsigned &weight : block.eagerness)
        weight = 1u << 4 * block_random(6);
    // Now and then one acts last: the copy engine, the tensor core, or a warp.
    const uint32_t last = block_random(4);
    if (last < 2)
        block.eagerness[COPY_ENGINE + last] = 0;
    else if (last == 2)
        block.eagerness[block_random(BLOCK_WARPS)] = 0;
    memset(shared, 0xa5, sizeof shared);
    tensor_start();
    for (struct fibre &f : block.fibres) {
        f.stack.resize(STACK_BYTES);
        f.done = false;
        f.wait = {&never, 1};
        f.state = {};
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.data();
        f.context.uc_stack.ss_size = f.stack.size();
        f.context.uc_link = NULL;
        makecontext(&f.context, fibre_entry, 0);
    }
}

[[noreturn]] static void deadlock(int thread)
{
    for (const auto &entry : block.barriers)
        if (&entry.second.parity == block.fibres[thread].wait.watched)
            rule_break("deadlock: thread %d waits at barrier group %d", thread, entry.second.group);
    rule_break("deadlock: thread %d waits for others", thread);
}

static void run_to_end()
{
    while (step()) {
        if (!first_break.empty())
            return;
        bool over = true;
        for (const struct fibre &f : block.fibres)
            over = over && f.done;
        if (over)
            break;
    }
    for (const struct fibre &f : block.fibres)
        if (!f.done)
            deadlock((int)(&f - block.fibres.data()));
    if (!block.copies.empty())
        rule_break("the block ended before its copies");
    tensor_end();
    barriers_end();
}

std::string block_run(uint64_t seed, const std::function<void()> &body)
{
    body_now = &body;
    first_break.clear();
    start(seed);
    try {
        run_to_end();
    } catch (const rule_broken &e) {
        first_break = e.what();
    }
    return first_break;
}
