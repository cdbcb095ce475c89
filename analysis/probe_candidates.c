// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: the space of candidates for a face, and what a candidate answers.
//
// T and ST: L in 1..64, F in 8..40, kept bits in 7..23, z in the range of probe.h; GST: F and kept
// bits; HMMA-FP8 and the AMD rules: as they stand in ref/models.def, the AMD ones with every step
// length; integers: wrapping, or saturating after K products. Answers are those of mxv_mma_dot.
// Not handled: f64. tests/gate/test_probe.c fails if a known unit is outside the space.
#include "probe_internal.h"
#include <stdlib.h>
#include <string.h>

struct space {
    struct mxv_mma_model *at;
    size_t count, room;
    bool failed;
};

static void add(struct space *s, const struct mxv_mma_model *m)
{
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 256;
        struct mxv_mma_model *more = realloc(s->at, room * sizeof *more);
        if (!more) {
            s->failed = true;
            return;
        }
        s->at = more;
        s->room = room;
    }
    s->at[s->count++] = *m;
}

// F and kept bits: an f16 result keeps its own ten.
static void add_widths(struct space *s, struct mxv_mma_model m)
{
    for (unsigned f = 8; f <= 40; f++)
        for (unsigned keep = m.result == MXV_MMA_F16 ? 23 : 7; keep <= 23; keep++) {
            m.frac_bits = f;
            m.keep_bits = keep;
            add(s, &m);
        }
}

static void add_tensor(struct space *s, struct mxv_mma_model m)
{
    m.rule = MXV_MMA_T;
    m.k = MXV_PROBE_K;
    for (m.step = 1; m.step <= MXV_PROBE_K; m.step *= 2)
        add_widths(s, m);
}

static void add_scaled(struct space *s, struct mxv_mma_model m)
{
    if (m.scale == MXV_E8M0) {
        m.rule = MXV_MMA_ST;
        m.k = m.step = m.block;
        add_widths(s, m);
    }
    if (m.a == MXV_E2M1 && m.b == MXV_E2M1 && m.result == MXV_MMA_F32) {
        m.rule = MXV_MMA_GST;
        m.k = m.step = MXV_PROBE_K;
        add_widths(s, m);
    }
}

static void add_integers(struct space *s, struct mxv_mma_model m)
{
    m.rule = MXV_MMA_INT;
    m.k = m.step = MXV_PROBE_K;
    add(s, &m);
    m.saturate = true;
    for (m.k = 1; m.k <= MXV_PROBE_K; m.k *= 2) {
        m.step = m.k;
        add(s, &m);
    }
}

static bool is_amd(enum mxv_mma_rule rule)
{
    return rule >= MXV_MMA_CDNA3;
}

bool probe_rule_has_zero(enum mxv_mma_rule rule)
{
    return rule == MXV_MMA_T || rule == MXV_MMA_ST || rule == MXV_MMA_GST ||
           rule == MXV_MMA_HMMA_FP8;
}

static bool same_face(const struct mxv_mma_model *a, const struct mxv_mma_model *b)
{
    return a->a == b->a && a->b == b->b && a->result == b->result && a->scale == b->scale &&
           a->block == b->block;
}

// Rules that exist as rows only, once each.
static void add_rows(struct space *s, const struct mxv_mma_model *face)
{
    unsigned done = 0;
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        struct mxv_mma_model m = *mxv_mma_at(i);
        bool row_only = m.rule == MXV_MMA_HMMA_FP8 || is_amd(m.rule);
        if (!row_only || !same_face(&m, face) || done >> m.rule & 1)
            continue;
        done |= 1u << m.rule;
        m.name = m.arch = m.note = NULL;
        if (m.rule == MXV_MMA_HMMA_FP8) {
            add(s, &m);
            continue;
        }
        m.k = MXV_PROBE_K;
        unsigned most = m.rule == MXV_MMA_CDNA1 || m.rule == MXV_MMA_CDNA2 ? 4 : 32;
        for (m.step = 2; m.step <= most; m.step *= 2)
            add(s, &m);
    }
}

struct mxv_mma_model *probe_candidates(const struct mxv_mma_model *face, size_t *count)
{
    struct space s = {0};
    struct mxv_mma_model m = *face;
    m.name = m.arch = m.note = NULL;
    m.zero_exp = PROBE_Z_NONE;
    m.saturate = false;
    if (m.result == MXV_MMA_S32)
        add_integers(&s, m);
    else if (m.scale != MXV_MMA_NO_SCALE)
        add_scaled(&s, m);
    else
        add_tensor(&s, m);
    add_rows(&s, face);
    *count = s.count;
    if (!s.failed)
        return s.at;
    free(s.at);
    return NULL;
}

uint32_t probe_answer(const struct mxv_mma_model *m, const struct mxv_probe_question *q)
{
    bool scaled = m->scale != MXV_MMA_NO_SCALE;
    return mxv_mma_dot(m, q->k, q->a, q->b, q->c, scaled ? q->scale_a : NULL,
                       scaled ? q->scale_b : NULL);
}

static bool is_nan(enum mxv_mma_result result, uint32_t w)
{
    if (result == MXV_MMA_F16)
        return (w & 0x7fff) > 0x7c00;
    return result == MXV_MMA_F32 && (w & 0x7fffffff) > 0x7f800000;
}

bool probe_same(const struct mxv_mma_model *face, uint32_t x, uint32_t y)
{
    return x == y || (is_nan(face->result, x) && is_nan(face->result, y));
}

static int accumulator_exp(const struct mxv_mma_model *m, uint32_t c)
{
    bool half = m->result == MXV_MMA_F16;
    uint32_t magnitude = half ? c & 0x7fff : c & 0x7fffffff;
    int field = (int)(magnitude >> (half ? 10 : 23)), bias = half ? 15 : 127;
    return !magnitude ? PROBE_Z_NONE : (field ? field : 1) - bias;
}

static int scale_exp(const struct mxv_mma_model *m, uint8_t w)
{
    return m->scale == MXV_E8M0 ? w - 127 : (w >> 3 & 15) ? (w >> 3 & 15) - 7 : -6;
}

int probe_top(const struct mxv_mma_model *m, const struct mxv_probe_question *q)
{
    struct mxv_operand a[MXV_PROBE_K], b[MXV_PROBE_K];
    int top = accumulator_exp(m, q->c);
    mxv_mma_decode_a(m, q->a, q->k, a);
    mxv_mma_decode_b(m, q->b, q->k, b);
    for (unsigned i = 0; i < q->k; i++) {
        int exp = a[i].exp + b[i].exp;
        if (a[i].sig == 0 || b[i].sig == 0)
            continue;
        if (m->scale != MXV_MMA_NO_SCALE) {
            uint8_t sa = q->scale_a[i / m->block], sb = q->scale_b[i / m->block];
            if (m->scale == MXV_UE4M3 && (!(sa & 0x7f) || !(sb & 0x7f)))
                continue;
            exp += scale_exp(m, sa) + scale_exp(m, sb);
        }
        top = exp > top ? exp : top;
    }
    return top;
}
