// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The engine's side of a case, and the kernel's call made of its operand taps.
#include "text_case.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

static void take_tap(void *context, const struct mxv_tap *tap)
{
    struct head_record &record = *(struct head_record *)context;
    const int route = tap->stage < MXV_STAGE_SCORE ? (int)tap->route : 0;
    record.taps[{(int)tap->stage, route, tap->tile_q, tap->tile_k}].assign(
        tap->words, tap->words + tap->rows * tap->cols);
}

static void run_engine(struct text_case &c)
{
    const struct mxv_attention &a = c.a;
    char message[200] = "";
    c.heads.assign(a.sequences * a.heads_q, {});
    for (size_t i = 0; i < c.heads.size(); i++) {
        struct head_record &record = c.heads[i];
        const size_t sequence = i / a.heads_q, rows = c.cu_q[sequence + 1] - c.cu_q[sequence];
        const struct mxv_tap_sink sink = {take_tap, &record};
        record.out.resize(rows * a.d + 1); // never without an address
        record.lse.resize(rows + 1);
        if (mxv_engine_head(&a, sequence, i % a.heads_q, record.out.data(),
                            a.lse == MXV_LSE_NONE ? NULL : record.lse.data(), &sink, message,
                            sizeof message))
            throw std::runtime_error(message);
    }
}

static const words &operand_tap(const struct head_record &record, enum mxv_stage stage,
                                enum mxv_route route, size_t count)
{
    static const words none;
    const auto found = record.taps.find({(int)stage, (int)route, 0, 0});
    const words &tap = found == record.taps.end() ? none : found->second;
    if (tap.size() != count)
        throw std::runtime_error("an operand tap has another size than the kernel's operand");
    return tap;
}

static void put_bytes(std::vector<uint8_t> &to, size_t at, const words &codes)
{
    for (size_t i = 0; i < codes.size(); i++)
        to[at + i] = (uint8_t)codes[i];
}

// Two 4-bit codes a byte, low half first.
static void put_halves(std::vector<uint8_t> &to, size_t at, const words &codes)
{
    for (size_t i = 0; i < codes.size(); i += 2)
        to[at + i / 2] = (uint8_t)(codes[i] | codes[i + 1] << 4);
}

static void put_floats(std::vector<float> &to, size_t at, const words &values)
{
    if (!values.empty())
        memcpy(&to[at], values.data(), values.size() * sizeof values[0]);
}

static size_t block_of(const struct mxv_attention &a, int route)
{
    return route == 1 && a.low == MXV_LOW_NVFP4 ? 16 : 32;
}

static bool route_used(const struct mxv_attention &a, int route)
{
    return a.mode != (route == 0 ? MXV_MODE_LOW : MXV_MODE_HIGH);
}

static bool has_sigma(const struct mxv_attention &a)
{
    return a.dual != MXV_DUAL_NONE && a.dual != MXV_DUAL_CHANNEL; // the latter is in Q's codes
}

// Rows `first` and on of the operands of one side.
static void put_side(struct text_case &c, const struct head_record &record, bool keys, size_t first,
                     size_t rows)
{
    const size_t d = c.a.d;
    for (int r = 0; r < 2; r++) {
        if (!route_used(c.a, r))
            continue;
        const enum mxv_route route = r == 0 ? MXV_ROUTE_HIGH : MXV_ROUTE_LOW;
        const size_t blocks = d / block_of(c.a, r);
        const words &codes =
            operand_tap(record, keys ? MXV_STAGE_K_CODE : MXV_STAGE_Q_CODE, route, rows * d);
        if (r == 0)
            put_bytes((keys ? c.memory.k_codes : c.memory.q_codes)[0], first * d, codes);
        else
            put_halves((keys ? c.memory.k_codes : c.memory.q_codes)[1], first * d / 2, codes);
        put_bytes((keys ? c.memory.k_scales : c.memory.q_scales)[r], first * blocks,
                  operand_tap(record, keys ? MXV_STAGE_K_SCALE : MXV_STAGE_Q_SCALE, route,
                              rows * blocks));
    }
    if (has_sigma(c.a))
        put_floats(
            keys ? c.memory.k_sigma : c.memory.q_sigma, first,
            operand_tap(record, keys ? MXV_STAGE_K_SIGMA : MXV_STAGE_Q_SIGMA, MXV_ROUTE_F16, rows));
}

static void put_operands(struct text_case &c)
{
    const struct mxv_attention &a = c.a;
    struct call_memory &m = c.memory;
    const size_t queries = a.heads_q * c.cu_q.back(), keys = a.heads_kv * c.cu_k.back();
    for (int r = 0; r < 2; r++) {
        m.q_codes[r].assign(queries * a.d / (1 + (size_t)r), 0);
        m.k_codes[r].assign(keys * a.d / (1 + (size_t)r), 0);
        m.q_scales[r].assign(queries * a.d / block_of(a, r), 0);
        m.k_scales[r].assign(keys * a.d / block_of(a, r), 0);
    }
    m.q_sigma.assign(queries, 0);
    m.k_sigma.assign(keys, 0);
    m.v.assign(keys * a.d, 0);
    for (size_t i = 0; i < c.heads.size(); i++) {
        const size_t sequence = i / a.heads_q, head = i % a.heads_q;
        const size_t kv_head = head / (a.heads_q / a.heads_kv);
        const size_t q_first = head * c.cu_q.back() + c.cu_q[sequence];
        const size_t k_first = kv_head * c.cu_k.back() + c.cu_k[sequence];
        const size_t lk = c.cu_k[sequence + 1] - c.cu_k[sequence];
        put_side(c, c.heads[i], false, q_first, c.cu_q[sequence + 1] - c.cu_q[sequence]);
        put_side(c, c.heads[i], true, k_first, lk);
        const words &v = operand_tap(c.heads[i], MXV_STAGE_V_CODE, MXV_ROUTE_F16, lk * a.d);
        std::copy(v.begin(), v.end(), m.v.begin() + (long)(k_first * a.d));
    }
}

// Pieces of query tiles, as cuda_run.c lists them.
static void list_blocks(struct text_case &c)
{
    const struct mxv_attention &a = c.a;
    size_t tile_index = 0;
    c.memory.blocks.clear();
    for (size_t i = 0; i < a.sequences; i++) {
        const size_t lq = c.cu_q[i + 1] - c.cu_q[i];
        for (size_t tile = 0; tile * a.tile_m < lq; tile++, tile_index++)
            for (size_t row = tile * a.tile_m; row < std::min(lq, (tile + 1) * a.tile_m);
                 row += MXV_GPU_ROWS)
                c.memory.blocks.push_back(
                    {(int32_t)i, (int32_t)tile, (int32_t)tile_index, (int32_t)row});
    }
}

static void set_sizes(struct text_case &c)
{
    const struct mxv_attention &a = c.a;
    struct call_memory &m = c.memory;
    struct mxv_gpu_call &call = c.call.codes.call;
    m.cu_q.assign(c.cu_q.begin(), c.cu_q.end());
    m.cu_k.assign(c.cu_k.begin(), c.cu_k.end());
    call.heads_q = (int32_t)a.heads_q;
    call.heads_kv = (int32_t)a.heads_kv;
    call.d = (int32_t)a.d;
    call.tokens_q = m.cu_q.back();
    call.tokens_k = m.cu_k.back();
    call.cu_q = m.cu_q.data();
    call.cu_k = m.cu_k.data();
    call.blocks = m.blocks.data();
    call.block_count = (int32_t)m.blocks.size();
    call.tile_m = (int32_t)a.tile_m;
    call.tile_n = (int32_t)a.tile_n;
    call.v_type = MXV_GPU_F16;
    call.out_type = a.out == MXV_F32 ? MXV_GPU_F32 : a.out == MXV_F16 ? MXV_GPU_F16 : MXV_GPU_BF16;
    call.v = m.v.data();
}

static void set_options(const struct mxv_attention &a, struct mxv_gpu_call &call)
{
    call.left = (int32_t)a.left;
    call.right = a.mask == MXV_MASK_CAUSAL ? 0 : (int32_t)a.right;
    call.top_left = a.align == MXV_ALIGN_TOP_LEFT;
    call.descending = a.order == MXV_ORDER_DESC;
    call.poly = a.exp == MXV_EXP_POLY;
    call.finite = a.masked == MXV_MASKED_FINITE;
    call.empty_nan = a.empty == MXV_EMPTY_NAN;
    call.lse_natural = a.lse == MXV_LSE_E;
    call.c = (float)(a.scale * 1.4426950408889634);
    call.tau = a.tau;
    call.offset = a.p_offset;
}

static void set_routes(struct text_case &c)
{
    const struct mxv_attention &a = c.a;
    struct call_memory &m = c.memory;
    struct mxv_gpu_dma &codes = c.call.codes;
    codes.q_high = route_used(a, 0) ? m.q_codes[0].data() : NULL;
    codes.k_high = route_used(a, 0) ? m.k_codes[0].data() : NULL;
    codes.q_low = route_used(a, 1) ? m.q_codes[1].data() : NULL;
    codes.k_low = route_used(a, 1) ? m.k_codes[1].data() : NULL;
    codes.q_sigma = has_sigma(a) ? m.q_sigma.data() : NULL;
    codes.k_sigma = has_sigma(a) ? m.k_sigma.data() : NULL;
    codes.all_high = a.mode == MXV_MODE_HIGH;
    codes.all_low = a.mode == MXV_MODE_LOW;
    codes.diag = (int32_t)a.diag;
    codes.sink = (int32_t)a.sink;
    codes.diag_tiles = a.plan == MXV_PLAN_ENTROPY ? c.widths.data() : NULL;
    codes.query_tiles = (int32_t)c.query_tiles;
    c.call.q_high_scales = m.q_scales[0].data();
    c.call.k_high_scales = m.k_scales[0].data();
    c.call.q_low_scales = m.q_scales[1].data();
    c.call.k_low_scales = m.k_scales[1].data();
    c.call.low_is_nvfp4 = a.low == MXV_LOW_NVFP4;
}

void case_expect(struct text_case &c)
{
    run_engine(c);
    put_operands(c);
    list_blocks(c);
    c.call = {};
    set_sizes(c);
    set_options(c.a, c.call.codes.call);
    set_routes(c);
}
