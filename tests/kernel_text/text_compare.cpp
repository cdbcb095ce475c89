// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernel's text over a case and compares every word of outputs and, where it traces, taps.
#include "text_case.h"

#include "kernel.h"

#include <algorithm>
#include <cstdio>
#include <splitmix.h>

enum { POISON = 0x0bad0bad }; // a finite number of each type

static size_t key_tiles_of(const struct text_case &c)
{
    size_t most = 0;
    for (size_t i = 0; i < c.a.sequences; i++)
        most = std::max(most, c.cu_k[i + 1] - c.cu_k[i]);
    return (most + c.a.tile_n - 1) / c.a.tile_n;
}

// Poisoned outputs and taps, so that a word that no thread wrote cannot pass.
static void give_outputs(struct text_case &c, bool trace)
{
    const struct mxv_attention &a = c.a;
    struct call_memory &m = c.memory;
    struct mxv_gpu_call &call = c.call.codes.call;
    const size_t tokens = a.heads_q * c.cu_q.back(), key_tiles = key_tiles_of(c);
    const size_t rows = trace ? a.heads_q * c.query_tiles * key_tiles * a.tile_m : 0;
    m.out.assign(tokens * a.d, POISON);
    m.lse.assign(tokens, POISON);
    for (words *tap : {&m.score, &m.weight})
        tap->assign(rows * a.tile_n + 1, POISON);
    for (words *tap : {&m.max, &m.sum})
        tap->assign(rows + 1, POISON);
    m.acc.assign(rows * a.d + 1, POISON);
    call.out = m.out.data();
    call.lse = a.lse == MXV_LSE_NONE ? NULL : (float *)m.lse.data();
    call.trace = {};
    if (trace)
        call.trace = {m.score.data(), m.weight.data(),        m.max.data(),      m.sum.data(),
                      m.acc.data(),   (int32_t)c.query_tiles, (int32_t)key_tiles};
}

static void compare_word(struct comparison &result, enum mxv_element type, uint32_t kernel,
                         uint32_t engine, const char *stage, const char *where)
{
    result.words++;
    if (kernel == engine || (mxv_element_is_nan(type, kernel) && mxv_element_is_nan(type, engine)))
        return;
    if (result.wrong++ == 0) {
        char text[300];
        snprintf(text, sizeof text, "stage %s, %s: kernel %08x, emulation %08x", stage, where,
                 (unsigned)kernel, (unsigned)engine);
        result.first = text;
    }
}

static const char *place_text(size_t sequence, size_t head, size_t row, size_t column)
{
    static char text[120];
    snprintf(text, sizeof text, "sequence %zu, head %zu, row %zu, column %zu", sequence, head, row,
             column);
    return text;
}

static void compare_outputs(const struct text_case &c, size_t sequence, size_t head,
                            struct comparison &result)
{
    const struct mxv_attention &a = c.a;
    const struct head_record &record = c.heads[sequence * a.heads_q + head];
    const uint16_t *halves = (const uint16_t *)c.memory.out.data();
    for (size_t row = 0; row < c.cu_q[sequence + 1] - c.cu_q[sequence]; row++) {
        const size_t token = head * c.cu_q.back() + c.cu_q[sequence] + row;
        for (size_t i = 0; i < a.d; i++) {
            const size_t at = token * a.d + i;
            compare_word(result, a.out, a.out == MXV_F32 ? c.memory.out[at] : halves[at],
                         record.out[row * a.d + i], "out", place_text(sequence, head, row, i));
        }
        if (a.lse != MXV_LSE_NONE)
            compare_word(result, MXV_F32, c.memory.lse[token], record.lse[row], "lse",
                         place_text(sequence, head, row, 0));
    }
}

static const words *tap_memory(const struct call_memory &m, int stage)
{
    switch (stage) {
    case MXV_STAGE_SCORE:
        return &m.score;
    case MXV_STAGE_MAX:
        return &m.max;
    case MXV_STAGE_WEIGHT:
        return &m.weight;
    case MXV_STAGE_SUM:
        return &m.sum;
    case MXV_STAGE_ACC:
        return &m.acc;
    default:
        return NULL;
    }
}

static size_t tap_columns(const struct mxv_attention &a, int stage)
{
    return stage == MXV_STAGE_SCORE || stage == MXV_STAGE_WEIGHT ? a.tile_n
           : stage == MXV_STAGE_ACC                              ? a.d
                                                                 : 1;
}

// Tiles of the sequences before `sequence`.
static size_t tiles_before(const struct text_case &c, size_t sequence)
{
    size_t tiles = 0;
    for (size_t i = 0; i < sequence; i++)
        tiles += (c.cu_q[i + 1] - c.cu_q[i] + c.a.tile_m - 1) / c.a.tile_m;
    return tiles;
}

static void compare_taps(const struct text_case &c, size_t sequence, size_t head,
                         struct comparison &result)
{
    const size_t first_tile = tiles_before(c, sequence), key_tiles = key_tiles_of(c);
    for (const auto &entry : c.heads[sequence * c.a.heads_q + head].taps) {
        const auto [stage, route, tile_q, tile_k] = entry.first;
        const words *memory = tap_memory(c.memory, stage);
        if (!memory)
            continue;
        const size_t columns = tap_columns(c.a, stage);
        const size_t slot = (head * c.query_tiles + first_tile + tile_q) * key_tiles + tile_k;
        for (size_t i = 0; i < entry.second.size(); i++)
            compare_word(result, stage == MXV_STAGE_WEIGHT ? MXV_F16 : MXV_F32,
                         (*memory)[slot * c.a.tile_m * columns + i], entry.second[i],
                         mxv_choice_name(MXV_CHOICE_STAGE, (unsigned)stage),
                         place_text(sequence, head, tile_q * c.a.tile_m + i / columns,
                                    tile_k * c.a.tile_n + i % columns));
    }
}

std::string case_run(struct text_case &c, bool trace, uint64_t seed, struct comparison &result)
{
    give_outputs(c, trace);
    for (unsigned head = 0; head < c.a.heads_q; head++)
        for (unsigned block = 0; block < c.memory.blocks.size(); block++) {
            const std::string broken = kernel_run(c.call, trace, block, head, splitmix_next(&seed));
            if (!broken.empty())
                return broken;
        }
    for (size_t sequence = 0; sequence < c.a.sequences; sequence++)
        for (size_t head = 0; head < c.a.heads_q; head++) {
            compare_outputs(c, sequence, head, result);
            if (trace)
                compare_taps(c, sequence, head, result);
        }
    return "";
}
