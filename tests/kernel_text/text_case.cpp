// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
#include "text_case.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <splitmix.h>
#include <stdexcept>

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(splitmix_next(&random_state) >> 32) % below;
}

static bool one_in(uint32_t n)
{
    return draw(n) == 0;
}

template <size_t N> static int one_of(const int (&choices)[N])
{
    return choices[draw((uint32_t)N)];
}

enum values_kind { PLAIN, WIDE, OUTLIERS, SPECIAL, VALUES_KINDS };

// Roughly normal, as f16 holds it.
static float draw_value(enum values_kind kind)
{
    float x = -6;
    for (int i = 0; i < 12; i++)
        x += (float)draw(1 << 16) / (1 << 16);
    if (kind == WIDE)
        x = ldexpf(x, (int)draw(24) - 16);
    if (kind == OUTLIERS && one_in(50))
        x *= 60;
    if (kind == SPECIAL && one_in(3000))
        x = one_in(2) ? INFINITY : NAN;
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    word = mxv_element_to_f32(MXV_F16, mxv_element_from_f32(MXV_F16, word, NULL));
    memcpy(&x, &word, sizeof x);
    return x;
}

static void add_sequence(struct text_case &c, uint32_t lq, uint32_t lk)
{
    c.cu_q.push_back(c.cu_q.back() + lq);
    c.cu_k.push_back(c.cu_k.back() + lk);
    c.a.sequences++;
}

static void draw_lengths(struct text_case &c, bool staged)
{
    static const int query_lengths[] = {1, 40, 200, 350}, key_lengths[] = {2, 100, 300, 700};
    c.cu_q.assign(1, 0);
    c.cu_k.assign(1, 0);
    if (staged) {
        add_sequence(c, 70 + draw(59), 700 + draw(68));
        add_sequence(c, 3, 9);
    } else {
        for (uint32_t i = 1 + draw(3); i > 0; i--) {
            const uint32_t lq = draw((uint32_t)one_of(query_lengths));
            add_sequence(c, lq, draw((uint32_t)one_of(key_lengths)));
        }
    }
    // no call without a query or without a key: an empty sequence lies beside others
    c.cu_q.back() += c.cu_q.back() == 0 ? 5 : 0;
    c.cu_k.back() += c.cu_k.back() == 0 ? 7 : 0;
    c.a.cu_q = c.cu_q.data();
    c.a.cu_k = c.cu_k.data();
    c.a.heads_kv = staged ? 1 : 1 + draw(2);
    c.a.heads_q = staged ? 1 : c.a.heads_kv * (1 + draw(2));
}

static void draw_masks(struct mxv_attention &a, bool staged)
{
    static const int tiles[] = {128, 128, 64, 16, 256, 192};
    a.tile_m = staged ? 128 : (size_t)one_of(tiles);
    a.tile_n = 128;
    a.mask = one_in(2) && !staged ? MXV_MASK_CAUSAL : MXV_MASK_FULL;
    a.align = one_in(2) ? MXV_ALIGN_BOTTOM_RIGHT : MXV_ALIGN_TOP_LEFT;
    a.left = one_in(3) && !staged ? (long)draw(300) : -1;
    a.right = a.mask == MXV_MASK_FULL && one_in(3) && !staged ? (long)draw(200) : -1;
    a.order = one_in(2) ? MXV_ORDER_DESC : MXV_ORDER_ASC;
    a.empty = one_in(2) ? MXV_EMPTY_NAN : MXV_EMPTY_ZERO;
    a.masked = one_in(3) ? MXV_MASKED_FINITE : MXV_MASKED_INF;
}

static void draw_options(struct mxv_attention &a, unsigned number)
{
    static const int outputs[] = {MXV_F32, MXV_F16, MXV_BF16};
    static const int modes[] = {MXV_MODE_MIXED, MXV_MODE_MIXED, MXV_MODE_MIXED, MXV_MODE_HIGH,
                                MXV_MODE_LOW};
    a.kernel = MXV_KERNEL_DMA;
    a.arch = MXV_ARCH_SM_100;
    a.low = number % 2 ? MXV_LOW_NVFP4 : MXV_LOW_MXFP4;
    a.d = number / 2 % 2 ? 64 : 128;
    a.exp = number / 4 % 2 ? MXV_EXP_POLY : MXV_EXP_HW;
    a.in = a.vt = MXV_F16;
    a.out = (enum mxv_element)one_of(outputs);
    a.scale = 1 / sqrt((double)a.d);
    a.tau = one_in(2) ? 0 : (float)draw(12);
    a.p_offset = one_in(2) ? 0 : (float)draw(9);
    a.lse = (enum mxv_lse)draw(MXV_LSE_COUNT);
    a.smooth_k = one_in(4);
    a.mode = (enum mxv_mode)one_of(modes);
    a.high = MXV_HIGH_MXFP8_E4M3;
    a.rule = MXV_SCALE_FLOOR;
    a.dual = (enum mxv_dual)draw(MXV_DUAL_COUNT);
    a.plan = MXV_PLAN_DIAG;
    a.diag = draw(3);
    a.sink = draw(3);
}

static size_t tiles_of(const struct mxv_attention &a, size_t sequence)
{
    return (a.cu_q[sequence + 1] - a.cu_q[sequence] + a.tile_m - 1) / a.tile_m;
}

static void draw_plan(struct text_case &c)
{
    struct mxv_attention &a = c.a;
    c.query_tiles = 0;
    for (size_t i = 0; i < a.sequences; i++)
        c.query_tiles += tiles_of(a, i);
    c.widths.clear();
    if (!one_in(4))
        return;
    a.plan = MXV_PLAN_ENTROPY;
    for (size_t i = 0; i < a.heads_q * c.query_tiles; i++)
        c.widths.push_back(draw(4));
    a.diag_tiles = c.widths.data();
}

static void fill(std::vector<float> &values, size_t count, enum values_kind kind)
{
    values.resize(count);
    for (float &x : values)
        x = draw_value(kind);
}

static void draw_tensors(struct text_case &c, enum values_kind kind)
{
    fill(c.q, c.a.heads_q * c.cu_q.back() * c.a.d, kind);
    fill(c.k, c.a.heads_kv * c.cu_k.back() * c.a.d, kind);
    fill(c.v, c.a.heads_kv * c.cu_k.back() * c.a.d, kind);
    c.a.q = c.q.data();
    c.a.k = c.k.data();
    c.a.v = c.v.data();
}

static void describe(struct text_case &c, uint64_t seed, enum values_kind kind)
{
    const struct mxv_attention &a = c.a;
    char text[300];
    snprintf(
        text, sizeof text,
        "seed=%llu d=%zu low=%s exp=%s mode=%s dual=%s plan=%s mask=%s window=%ld,%ld order=%s "
        "masked=%s tile_m=%zu tau=%g sequences=%zu heads=%zu/%zu tokens=%zu/%zu values=%d",
        (unsigned long long)seed, a.d, mxv_choice_name(MXV_CHOICE_LOW, a.low),
        mxv_choice_name(MXV_CHOICE_EXP, a.exp), mxv_choice_name(MXV_CHOICE_MODE, a.mode),
        mxv_choice_name(MXV_CHOICE_DUAL, a.dual), mxv_choice_name(MXV_CHOICE_PLAN, a.plan),
        mxv_choice_name(MXV_CHOICE_MASK, a.mask), a.left, a.right,
        mxv_choice_name(MXV_CHOICE_ORDER, a.order), mxv_choice_name(MXV_CHOICE_MASKED, a.masked),
        a.tile_m, (double)a.tau, a.sequences, a.heads_q, a.heads_kv, c.cu_q.back(), c.cu_k.back(),
        kind);
    c.line = text;
}

void case_draw(struct text_case &c, uint64_t seed, unsigned number, bool staged)
{
    char message[200] = "";
    random_state = seed;
    for (int attempt = 0; attempt < 100; attempt++) {
        c.a = {};
        draw_options(c.a, number);
        draw_lengths(c, staged);
        draw_masks(c.a, staged);
        draw_plan(c);
        if (staged) { // both routes, and a maximum that moves
            c.a.mode = MXV_MODE_MIXED;
            c.a.sink = 1;
            c.a.tau = 0;
        }
        const enum values_kind kind =
            staged ? (one_in(2) ? PLAIN : OUTLIERS) : (enum values_kind)draw(VALUES_KINDS);
        draw_tensors(c, kind);
        if (staged)
            c.v[c.cu_k[1] * c.a.d] = NAN;
        describe(c, seed, kind);
        if (mxv_attention_check(&c.a, message, sizeof message) == 0)
            return;
    }
    throw std::runtime_error(message);
}
