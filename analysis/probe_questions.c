// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: directed questions, each made so that one parameter decides the answer.
//
//   facts     words to NaN, zeros, underflow, overflow, a full accumulator
//   cancel    M - M + s 2^-k below M, s a product or the accumulator: s survives while k <= F
//   borrow    2^e - 2^(e-k): one below 2^e if the small term is seen, 2^e if it is lost
//   tie       2^e + half an ulp + 2^(e-k), for results that are rounded to nearest
//   pair      2^e + two half ulps at positions i and j: they meet only inside one step (L)
//   window    M at i, -M at i+1, s at j: s survives if it enters in a later step (L, order)
//   keep      2^e + 2^(e-k): the last k that is seen
//   floor     2^g - 2^-t (f16: 2^-25 + 2^-t) with g the smallest result: z is the grid there
//             (docs/numerics.md, "Zeros"); single products of every size
// Every value is a signed power of two, built from codes that hold it exactly; a question that the
// formats cannot express is left out. tests/gate/test_probe.c fails if a kind is missing that a
// parameter needs.
#include "probe_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mxv_probe_question *probe_list_add(struct probe_list *list, const struct mxv_mma_model *face,
                                          unsigned k)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 1024;
        struct mxv_probe_question *q = realloc(list->questions, room * sizeof *q);
        list->questions = q ? q : list->questions;
        uint32_t *a = q ? realloc(list->answers, room * sizeof *a) : NULL;
        list->answers = a ? a : list->answers;
        if (!q || !a) {
            list->failed = true;
            return NULL;
        }
        list->room = room;
    }
    struct mxv_probe_question *q = &list->questions[list->count++];
    memset(q, 0, sizeof *q);
    q->k = k;
    memset(q->scale_a, face->scale == MXV_UE4M3 ? 0x38 : 0x7f, sizeof q->scale_a);
    memset(q->scale_b, q->scale_a[0], sizeof q->scale_b);
    return q;
}

void probe_list_free(struct probe_list *list)
{
    free(list->questions);
    free(list->answers);
    memset(list, 0, sizeof *list);
}

struct builder {
    const struct mxv_mma_model *face;
    struct probe_list *list;
    unsigned k;
    struct mxv_probe_question *q;
    bool good; // every value so far could be expressed
    int top;   // exponent of the largest power of two that is a product
};

static bool code_of_power(enum mxv_element f, int sign, int e, uint32_t *code)
{
    struct mxv_value v = {.kind = MXV_FINITE, .sign = sign < 0, .exp = e, .sig = 1};
    uint64_t c = mxv_element_encode(f, v, NULL);
    struct mxv_value back = mxv_element_decode(f, c);
    *code = (uint32_t)c;
    return back.kind == MXV_FINITE && back.sig != 0 && back.sign == v.sign &&
           ldexp((double)back.sig, back.exp) == ldexp(1, e);
}

// Largest exponent of a power of two in the format.
static int power_top(enum mxv_element f)
{
    uint32_t code;
    int e = mxv_element_get(f)->emax;
    while (!code_of_power(f, 1, e, &code))
        e--;
    return e;
}

static void begin(struct builder *b)
{
    b->good = true;
    b->q = probe_list_add(b->list, b->face, b->k);
}

static void end(struct builder *b)
{
    if (b->q && !b->good)
        b->list->count--;
}

static void scale(struct builder *b, unsigned block, int e)
{
    uint32_t sa = 0, sb = 0;
    enum mxv_element f = (enum mxv_element)b->face->scale;
    if (!b->q || !b->good)
        return;
    b->good = block < MXV_PROBE_SCALES && code_of_power(f, 1, e / 2, &sa) &&
              code_of_power(f, 1, e - e / 2, &sb);
    if (b->good) {
        b->q->scale_a[block] = (uint8_t)sa;
        b->q->scale_b[block] = (uint8_t)sb;
    }
}

static int least_normal(enum mxv_element f)
{
    return 1 - mxv_element_get(f)->bias;
}

// Product at `position` = sign 2^e before scales, with both operands normal where that is possible.
static void product(struct builder *b, unsigned position, int sign, int e)
{
    enum mxv_element fa = b->face->a, fb = b->face->b;
    int reach = power_top(fa) - least_normal(fa) + mxv_element_get(fa)->frac_bits + abs(e);
    uint32_t x = 0, y = 0;
    if (!b->q || !b->good)
        return;
    b->good = false;
    for (int step = 0; position < b->k && step < 4 * (reach + 1); step++) {
        bool normal = step < 2 * (reach + 1);
        int d = step % (2 * (reach + 1)) / 2, ea = e / 2 + (step & 1 ? -d : d);
        if (normal && (ea < least_normal(fa) || e - ea < least_normal(fb)))
            continue;
        if (!code_of_power(fa, sign, ea, &x) || !code_of_power(fb, 1, e - ea, &y))
            continue;
        b->q->a[position] = x;
        b->q->b[position] = y;
        b->good = true;
        return;
    }
}

static void accumulator(struct builder *b, double v)
{
    uint64_t bits;
    enum mxv_element f = b->face->result == MXV_MMA_F16 ? MXV_F16 : MXV_F32;
    memcpy(&bits, &v, sizeof bits);
    uint64_t code = mxv_element_encode(f, mxv_element_decode(MXV_F64, bits),
                                       &(struct mxv_encode){.overflow = MXV_OVERFLOW_IEEE});
    struct mxv_value back = mxv_element_decode(f, code);
    if (!b->q)
        return;
    b->q->c = (uint32_t)code;
    if (isfinite(v) && ldexp((double)back.sig, back.exp) != fabs(v))
        b->good = false;
}

static void accumulator_word(struct builder *b, uint32_t f32, uint32_t f16)
{
    if (b->q)
        b->q->c = b->face->result == MXV_MMA_F16 ? f16 : f32;
}

static bool fact(struct builder *b, enum mxv_probe_fact f)
{
    begin(b);
    switch (f) {
    case MXV_PROBE_NAN_WORD:
        accumulator_word(b, 0x7fc01234, 0x7e01);
        break;
    case MXV_PROBE_ZERO_SIGN:
        accumulator_word(b, 0x80000000, 0x8000);
        break;
    case MXV_PROBE_UNDERFLOW:
        if (b->face->scale == MXV_E8M0)
            scale(b, 0, -150);
        product(b, 0, -1,
                b->face->result == MXV_MMA_F16       ? -26
                : b->face->scale == MXV_MMA_NO_SCALE ? -150
                                                     : 0);
        break;
    case MXV_PROBE_OVERFLOW:
        accumulator_word(b, 0x7f7fffff, 0x7bff);
        for (unsigned i = 0; i < b->k; i++)
            product(b, i, 1, b->top);
        break;
    case MXV_PROBE_C_CUT:
        accumulator_word(b, 0x3fffffff, 0x3fff);
        break;
    default:
        accumulator_word(b, 1, 1);
        break;
    }
    return b->good;
}

static void cancel(struct builder *b)
{
    for (int k = 4; k <= 48; k++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            begin(b);
            product(b, 0, 1, b->top);
            product(b, 1, -1, b->top);
            accumulator(b, sign * ldexp(1, b->top - k));
            end(b);
            begin(b);
            product(b, 0, 1, b->top);
            product(b, 1, -1, b->top);
            product(b, 2, sign, b->top - k);
            end(b);
        }
}

static void borrow(struct builder *b)
{
    for (int k = 1; k <= 45; k++)
        for (int style = 0; style < 4; style++) {
            static const int half_ulp[] = {0, 24, 14, 11};
            begin(b);
            product(b, 0, style ? 1 : -1, -2);
            accumulator(b, ldexp(1, k - 2));
            if (style)
                product(b, 1, 1, k - 2 - half_ulp[style]);
            end(b);
            begin(b);
            product(b, 0, 1, b->top);
            product(b, 1, style ? 1 : -1, b->top - k);
            if (style)
                product(b, 2, 1, b->top - half_ulp[style]);
            end(b);
        }
}

static void keep(struct builder *b)
{
    for (int k = 1; k <= 26; k++) {
        begin(b);
        accumulator(b, ldexp(1, k));
        product(b, 0, 1, 0);
        end(b);
        begin(b);
        accumulator(b, 1 + ldexp(1, -k));
        end(b);
        begin(b);
        accumulator(b, -1 - ldexp(1, -k));
        product(b, 0, 1, -1);
        end(b);
    }
}

static void pairs(struct builder *b)
{
    static const int half_ulp[] = {24, 14, 11, 8};
    for (unsigned i = 0; i < b->k; i += i < 4 ? 1 : 13)
        for (unsigned j = 0; j < b->k; j++)
            for (size_t h = 0; i != j && h < sizeof half_ulp / sizeof *half_ulp; h++) {
                begin(b);
                accumulator(b, ldexp(1, half_ulp[h] - 2));
                product(b, i, 1, -2);
                product(b, j, 1, -2);
                end(b);
            }
}

static void windows(struct builder *b)
{
    int lost = b->top > 20 ? b->top - 44 : b->top > 8 ? -12 : -2;
    for (unsigned i = 0; i + 1 < b->k; i += i < 4 ? 1 : 5)
        for (unsigned j = 0; j < b->k; j++) {
            if (j == i || j == i + 1)
                continue;
            begin(b);
            product(b, i, 1, b->top);
            product(b, i + 1, -1, b->top);
            product(b, j, 1, lost);
            end(b);
            begin(b);
            product(b, 0, 1, b->top);
            product(b, j, -1, b->top);
            product(b, i, 1, b->top - 26);
            end(b);
        }
}

// First and second term of a floor question, in blocks of their own where there are scales: `many`
// products of 2^e together 2^sum.
static void terms(struct builder *b, unsigned block, unsigned first, int sign, int sum, int many)
{
    int e = sum - (int)log2(many);
    if (b->face->scale != MXV_MMA_NO_SCALE) {
        scale(b, block, e);
        e = 0;
    }
    for (int i = 0; i < many; i++)
        product(b, first + (unsigned)i, sign, e);
}

static void floors(struct builder *b)
{
    bool half = b->face->result == MXV_MMA_F16, scaled = b->face->scale != MXV_MMA_NO_SCALE;
    int least = half ? -25 : -149;
    unsigned second = scaled ? b->face->block : 1;
    for (int t = -least; t <= 200; t++) {
        begin(b);
        terms(b, 0, 0, 1, least, 1);
        terms(b, scaled ? 1 : 0, second, half ? 1 : -1, -t, 1);
        end(b);
        begin(b);
        terms(b, 0, 0, 1, least, scaled ? 16 : 1);
        terms(b, scaled ? 1 : 0, second, half ? 1 : -1, -t, 1);
        end(b);
        for (int many = 1; scaled && many <= 16; many *= 16) { // one block: elements alone differ
            int base = least - (many == 16 ? 8 : 4);
            begin(b);
            scale(b, 0, base);
            for (int i = 0; i < many; i++)
                product(b, (unsigned)i, 1, 4);
            product(b, 16, -1, -t - base);
            end(b);
        }
    }
    for (int e = b->top; e >= -160; e--) {
        begin(b);
        terms(b, 0, 0, e & 1 ? 1 : -1, e, 1);
        end(b);
        begin(b); // the accumulator alone
        accumulator(b, ldexp(e & 1 ? 1 : -1, e));
        end(b);
    }
}

// s8 and u8: sums that pass the range and come back, after 1, 2, 4 ... products.
static void integers(struct builder *b)
{
    for (unsigned run = 1; run <= b->k; run *= 2)
        for (int sign = 1; sign >= -1; sign -= 2) {
            begin(b);
            if (!b->q)
                return;
            b->q->c = sign > 0 ? 0x7fffffff : 0x80000000;
            bool negative_a = b->face->a == MXV_S8, negative_b = b->face->b == MXV_S8;
            for (unsigned i = 0; i < b->k; i++) {
                bool minus = (i / run % 2 == 0) == (sign < 0);
                b->q->a[i] = minus && negative_a ? 0x81 : 0x7f;
                b->q->b[i] = minus && !negative_a && negative_b ? 0x81 : 0x7f;
            }
        }
}

unsigned probe_directed(const struct mxv_mma_model *face, unsigned k, struct probe_list *list)
{
    struct builder b = {.face = face, .list = list, .k = k, .good = true};
    unsigned good = 0;
    if (face->result == MXV_MMA_S32) {
        integers(&b);
        return 0;
    }
    b.top = power_top(face->a) + power_top(face->b);
    for (unsigned f = 0; f < MXV_PROBE_FACT_COUNT; f++)
        good |= (unsigned)fact(&b, (enum mxv_probe_fact)f) << f;
    cancel(&b);
    borrow(&b);
    keep(&b);
    pairs(&b);
    windows(&b);
    floors(&b);
    return good;
}
