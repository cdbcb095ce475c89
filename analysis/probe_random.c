// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: random questions in families, as the captures of data/golden/h200-mma have them: moderate,
// wide, full range, cancelling neighbours, specials, large accumulators, sparse, tiny. Question
// `index` is a pure function of the face and the index (SplitMix64), so a probe can be repeated.
#include "probe_internal.h"

struct stream {
    uint64_t state;
};

static uint64_t next(struct stream *s)
{
    uint64_t z = s->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int between(struct stream *s, int low, int high)
{
    return low + (int)(next(s) % (uint64_t)(high - low + 1));
}

// A float code with its exponent in [low, high] as far as the format reaches.
static uint32_t float_code(struct stream *s, enum mxv_element f, int low, int high)
{
    const struct mxv_element_info *info = mxv_element_get(f);
    unsigned drop = info->pad_bits, frac = info->frac_bits;
    int most = (1 << info->exp_bits) - (info->special == MXV_SPECIAL_IEEE ? 2 : 1);
    int field = between(s, low, high) + info->bias;
    field = field < 0 ? 0 : field > most ? most : field;
    uint32_t code = (uint32_t)field << frac | (uint32_t)(next(s) & ((1u << frac) - 1));
    if (code << drop > info->max_code)
        code = (uint32_t)(info->max_code >> drop);
    return (code | (uint32_t)(next(s) & 1) << (info->bits - drop - 1)) << drop;
}

static uint32_t any_code(struct stream *s, enum mxv_element f)
{
    unsigned bits = mxv_element_get(f)->bits;
    return (uint32_t)next(s) & (bits < 32 ? (1u << bits) - 1 : ~0u);
}

enum family { MODERATE, WIDE, FULL, CANCEL, SPECIALS, LARGE_C, SPARSE, TINY, FAMILIES };

// Exponents of operands and of c, by family; those of a format's whole range are cut to it.
static const struct {
    int low, high, c_low, c_high;
} span[FAMILIES] = {
    [MODERATE] = {-3, 1, -6, 6},       [WIDE] = {-12, 12, -40, 30},
    [FULL] = {-200, 200, -150, 130},   [CANCEL] = {-2, 2, -20, 0},
    [SPECIALS] = {-200, 200, -30, 30}, [LARGE_C] = {-6, 0, 0, 9},
    [SPARSE] = {-200, 200, 0, 0},      [TINY] = {-200, -60, -160, -100},
};

static uint32_t operand(struct stream *s, enum mxv_element f, enum family family)
{
    int low = span[family].low, high = span[family].high, bias = mxv_element_get(f)->bias;
    bool wide = mxv_element_get(f)->exp_bits == 8;
    if (family == FULL || (family == SPECIALS && next(s) % 20 == 0))
        return any_code(s, f);
    if (family == SPARSE && next(s) % 4 != 0)
        return 0;
    if (family == TINY) // products around the smallest results
        return float_code(s, f, wide ? -81 : -bias, wide ? -66 : next(s) % 4 ? -bias + 2 : 0);
    return float_code(s, f, low < -bias ? -bias : low, high > bias + 1 ? bias + 1 : high);
}

static uint32_t accumulator(struct stream *s, enum mxv_mma_result result, enum family family)
{
    enum mxv_element f = result == MXV_MMA_F16 ? MXV_F16 : MXV_F32;
    if (family == SPARSE || (family == TINY && next(s) % 4 != 0))
        return 0;
    if (family == FULL || (family == SPECIALS && next(s) % 10 == 0))
        return any_code(s, f);
    return float_code(s, f, span[family].c_low, span[family].c_high);
}

static void scales(struct stream *s, const struct mxv_mma_model *face, enum family family,
                   uint8_t *out)
{
    static const int reach[FAMILIES] = {2, 12, 127, 2, 30, 4, 60, 4};
    for (unsigned i = 0; i < MXV_PROBE_SCALES; i++) {
        int r = reach[family];
        if (family == FULL)
            out[i] = (uint8_t)next(s);
        else if (face->scale == MXV_E8M0)
            out[i] = (uint8_t)(127 + between(s, -r, r) - (family == TINY ? 75 : 0));
        else
            out[i] = (uint8_t)float_code(s, MXV_E4M3, family == TINY ? -9 : -r, r) & 0x7f;
    }
}

static void integers(struct stream *s, struct mxv_probe_question *q)
{
    uint64_t kind = next(s) % 3;
    for (unsigned i = 0; i < q->k; i++) {
        q->a[i] = kind ? (uint32_t)next(s) & 0xff : 0x7f + (uint32_t)(next(s) & 1);
        q->b[i] = kind ? (uint32_t)next(s) & 0xff : 0x7f + (uint32_t)(next(s) & 1);
    }
    q->c = kind == 2 ? (uint32_t)next(s) : 0x7fffffff + (uint32_t)between(s, -2000000, 2000000);
}

void probe_random(const struct mxv_mma_model *face, unsigned k, uint64_t index, bool tiny,
                  struct mxv_probe_question *q)
{
    struct stream s = {index * UINT64_C(0xd1342543de82ef95) + (uint64_t)face->a * 64 +
                       (uint64_t)face->b};
    enum family family = tiny ? TINY : (enum family)(index % FAMILIES);
    if (face->result == MXV_MMA_S32) {
        integers(&s, q);
        return;
    }
    for (unsigned i = 0; i < k; i++) {
        q->a[i] = operand(&s, face->a, family);
        q->b[i] = operand(&s, face->b, family);
        if (family == CANCEL && i % 2 && next(&s) % 8 != 0) {
            uint32_t sign = 1u << (mxv_element_get(face->a)->bits - 1);
            q->a[i] = q->a[i - 1] ^ sign;
            q->b[i] = q->b[i - 1];
        }
    }
    q->c = accumulator(&s, face->result, family);
    if (face->scale == MXV_MMA_NO_SCALE)
        return;
    scales(&s, face, family, q->scale_a);
    scales(&s, face, family, q->scale_b);
}
