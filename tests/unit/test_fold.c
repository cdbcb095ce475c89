// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Option fold of kernel tilemix in both emulations. Integer sums and scales come from the operand
// taps; the exponent of every weight is then worked out as docs/kernels/tilemix.md 3 and
// contract.md 5 have it. Scores are so large that the last bit of the exponent's product shows in
// the weight.
#include "test_both_emulations.h"
#include <math.h>
#include <mxverify/special.h>

enum { D = 32, LQ = 20, LK = 100, BM = 16, BN = 32 };

// Key tiles 0 and 2 are FP16, 1 and 3 INT8, in both query tiles.
static const uint64_t words[2] = {5, 5};

static void folded_case(struct plain_case *t, enum mxv_granularity gran)
{
    uint64_t seed = 5;
    case_defaults(t, MXV_KERNEL_TILEMIX, MXV_ARCH_SM_80, LQ, LK);
    t->a.d = D;
    t->a.tile_m = BM;
    t->a.tile_n = BN;
    t->a.scale = 0.7;
    t->a.mask = MXV_MASK_CAUSAL;
    t->a.route_words = words;
    t->a.q_gran = t->a.k_gran = gran;
    t->a.fold = true;
    case_tensors(t);
    for (size_t e = 0; e < LQ * D; e++)
        t->q[e] = (float)case_random(&seed) * 0x1p-12f + 300;
    for (size_t e = 0; e < LK * D; e++)
        t->k[e] = e % D == 0 ? (float)case_random(&seed) * 0x1p-24f : 90;
    for (size_t e = 0; e < LK * D; e++)
        t->v[e] = 1;
}

static const struct mxv_tap *int8_tap(const struct plain_case *t, enum mxv_stage stage)
{
    const struct mxv_tap *tap = case_tap(t, stage, 0);
    for (size_t n = 0; tap->route != MXV_ROUTE_INT8; n++)
        tap = case_tap(t, stage, n);
    return tap;
}

static long integer_sum(const uint32_t *q, const uint32_t *k)
{
    long sum = 0;
    for (size_t c = 0; c < D; c++)
        sum += (long)(int8_t)(uint8_t)q[c] * (int8_t)(uint8_t)k[c];
    return sum;
}

struct counts {
    size_t folded, plain, masked, told; // told: the weight shows that the product was folded
};

static uint32_t weight_of(float exponent)
{
    const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
    const uint32_t p = mxv_ex2(case_word(exponent), true);
    return (uint32_t)mxv_element_from_f32(MXV_F16, p, &ieee);
}

// Weights of one tile against its scores, maxima and the operand taps.
static void check_tile(const struct plain_case *t, const struct mxv_tap *score,
                       const struct mxv_tap *max, const struct mxv_tap *weight, struct counts *n)
{
    const uint32_t *q = int8_tap(t, MXV_STAGE_Q_CODE)->words;
    const uint32_t *k = int8_tap(t, MXV_STAGE_K_CODE)->words;
    const uint32_t *dq = int8_tap(t, MXV_STAGE_Q_SCALE)->words;
    const uint32_t *dk = int8_tap(t, MXV_STAGE_K_SCALE)->words;
    const float c = (float)(t->a.scale * 1.4426950408889634);
    for (size_t e = 0; e < score->rows * BN; e++) {
        const size_t row = score->tile_q * BM + e / BN, key = score->tile_k * BN + e % BN;
        const float s = case_float(score->words[e]);
        const float scaled = case_float(max->words[e / BN]) * c;
        const float shift = scaled - t->a.p_offset;
        const bool visible = key < LK && key <= row + LK - LQ;
        const uint32_t by_score = weight_of(fmaf(s, c, -shift));
        uint32_t wanted = by_score;
        if (visible && score->route == MXV_ROUTE_INT8) {
            const long sum = integer_sum(q + row * D, k + key * D);
            const float scales = case_float(dq[row]) * case_float(dk[key]);
            const float kappa = scales * c;
            assert_true(s == (float)sum * scales);
            wanted = weight_of(fmaf((float)sum, kappa, -shift));
            n->folded++;
            n->told += wanted != by_score;
        } else if (visible) {
            n->plain++;
        } else {
            n->masked++;
            assert_true(s == (key < LK && t->a.masked == MXV_MASKED_FINITE ? -5e6f : -INFINITY));
        }
        assert_int_equal(weight->words[e], wanted);
    }
}

static struct counts check_taps(const struct plain_case *t)
{
    struct counts n = {0, 0, 0, 0};
    for (size_t i = 0; i + 2 < t->taps; i++)
        if (t->tap[i].stage == MXV_STAGE_SCORE) {
            assert_int_equal(t->tap[i + 1].stage, MXV_STAGE_MAX);
            assert_int_equal(t->tap[i + 2].stage, MXV_STAGE_WEIGHT);
            check_tile(t, &t->tap[i], &t->tap[i + 1], &t->tap[i + 2], &n);
        }
    return n;
}

static void exponents_of_int8_tiles(void **state)
{
    (void)state;
    for (enum mxv_granularity gran = MXV_GRAN_BLOCK; gran < MXV_GRAN_COUNT; gran++)
        for (unsigned option = 0; option < 8; option++) {
            struct plain_case t;
            folded_case(&t, gran);
            t.a.masked = option & 1 ? MXV_MASKED_FINITE : MXV_MASKED_INF;
            t.a.p_offset = option & 2 ? 4.5f : 0;
            t.a.kv_cache = gran == MXV_GRAN_TOKEN && (option & 4);
            t.a.tau = option & 4 ? 8 : 0;
            for (size_t e = 0; e < 2; e++) {
                run(&t, emulations[e]);
                struct counts n = check_taps(&t);
                assert_int_equal(n.folded + n.plain, LQ * (LK - LQ + 1) + LQ * (LQ - 1) / 2);
                assert_true(n.folded > 500 && n.plain > 500 && n.masked > 100);
                assert_true(n.told > 100);
            }
            case_free(&t);
        }
}

// Everything but the weights of INT8 tiles and what follows from them is as without the option.
static void scores_and_maxima_stay(void **state)
{
    (void)state;
    static struct plain_case with, without;
    folded_case(&with, MXV_GRAN_BLOCK);
    folded_case(&without, MXV_GRAN_BLOCK);
    without.a.fold = false;
    for (size_t e = 0; e < 2; e++) {
        size_t weights = 0;
        run(&with, emulations[e]);
        run(&without, emulations[e]);
        assert_int_equal(with.taps, without.taps);
        for (size_t i = 0; i < with.taps; i++) {
            const struct mxv_tap *x = &with.tap[i], *y = &without.tap[i];
            const bool same = memcmp(x->words, y->words, x->rows * x->cols * sizeof(uint32_t)) == 0;
            const bool weight = x->stage == MXV_STAGE_WEIGHT;
            if (x->stage <= MXV_STAGE_MAX || (weight && x->route == MXV_ROUTE_F16))
                assert_true(same);
            weights += weight && !same;
        }
        assert_true(weights > 0);
    }
    case_free(&with);
    case_free(&without);
}

static void refusals(void **state)
{
    (void)state;
    static const enum mxv_kernel kernels[] = {MXV_KERNEL_FLASH, MXV_KERNEL_DMA};
    for (size_t i = 0; i < 2; i++) {
        struct plain_case t;
        char message[200] = "";
        case_defaults(&t, kernels[i], MXV_ARCH_SM_90, 4, 4);
        case_tensors(&t);
        assert_int_equal(mxv_attention_check(&t.a, message, sizeof message), 0);
        t.a.fold = true;
        assert_int_equal(mxv_attention_check(&t.a, message, sizeof message), -1);
        assert_non_null(strstr(message, "tilemix"));
        case_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponents_of_int8_tiles),
        cmocka_unit_test(scores_and_maxima_stay),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
