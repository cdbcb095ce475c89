// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The plain emulation end to end on cases whose result is exact and known without it: equal scores
// give the mean of V, one dominant score gives that V, weights 1, 1/2, 1/2 give a closed form, rows
// without keys follow the policy; heads and sequences read their own data; same input, same bits.
#include "test_plain_case.h"

#include <math.h>

static const enum mxv_kernel tiled_kernels[] = {MXV_KERNEL_FLASH, MXV_KERNEL_DMA,
                                                MXV_KERNEL_TILEMIX};
static const uint64_t words_mixed[16] = {0xA, 0x5, 0xA, 0x5, 0xA, 0x5, 0xA, 0x5};

// Runs check over kernels flash, dma, tilemix and all architectures.
static void everywhere(size_t lq, size_t lk, void (*check)(struct plain_case *t))
{
    for (size_t n = 0; n < sizeof tiled_kernels / sizeof *tiled_kernels; n++)
        for (enum mxv_arch arch = MXV_ARCH_SM_80; arch < MXV_ARCH_COUNT; arch++) {
            struct plain_case t;
            case_defaults(&t, tiled_kernels[n], arch, lq, lk);
            t.a.route_words = words_mixed;
            case_tensors(&t);
            check(&t);
            case_free(&t);
        }
}

static void fill_v(struct plain_case *t)
{
    for (size_t n = 0; n < t->cu_k[t->a.sequences] * t->a.heads_kv; n++)
        for (size_t c = 0; c < t->a.d; c++)
            t->v[n * t->a.d + c] = (float)((n * 5 + c) % 8) - 3.0f;
}

static float mean_of_v(const struct plain_case *t, size_t first, size_t count, size_t c)
{
    float sum = 0.0f;
    for (size_t n = first; n < first + count; n++)
        sum += t->v[n * t->a.d + c];
    return sum / (float)count;
}

static void check_uniform(struct plain_case *t)
{
    fill_v(t);
    case_run(t, 0, 0);
    for (size_t r = 0; r < 20; r++) {
        for (size_t c = 0; c < t->a.d; c++)
            assert_float_equal(case_out(t, r, c), mean_of_v(t, 0, 64, c), 0.0f);
        assert_int_equal(t->lse[r], case_word(6.0f));
    }
    t->a.lse = MXV_LSE_E;
    case_run(t, 0, 0);
    assert_int_equal(t->lse[19], case_word(6.0f * case_float(0x3F317218u)));
}

static void uniform_scores_give_the_mean(void **state)
{
    (void)state;
    everywhere(20, 64, check_uniform);
}

static void check_one_hot(struct plain_case *t)
{
    const size_t edges[] = {0, 31, 32, 33, 63, 64, 69};
    fill_v(t);
    for (size_t r = 0; r < 17; r++)
        t->q[r * t->a.d] = 16.0f;
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++)
        for (enum mxv_order order = MXV_ORDER_ASC; order < MXV_ORDER_COUNT; order++) {
            t->a.order = order;
            t->k[edges[e] * t->a.d] = 16.0f; // score 256: all others weigh 2^-256
            case_run(t, 0, 0);
            for (size_t c = 0; c < t->a.d; c++)
                assert_float_equal(case_out(t, 16, c), t->v[edges[e] * t->a.d + c], 0.0f);
            t->k[edges[e] * t->a.d] = 0.0f;
        }
}

static void one_hot_gives_that_value(void **state)
{
    (void)state;
    everywhere(17, 70, check_one_hot);
}

// Scores 1, 0, 0: weights 1, 1/2, 1/2, sum 2, LSE 2. Padding keys weigh nothing.
static void check_three_keys(struct plain_case *t)
{
    const float v[3] = {4.0f, 8.0f, -16.0f};
    t->q[0] = 1.0f;
    t->k[0] = 1.0f;
    for (size_t n = 0; n < 3; n++)
        t->v[n * t->a.d + 7] = v[n];
    // An INT8 score of 1 needs delta = 1/127, which is inexact: keep tilemix on its FP16 route.
    static const uint64_t all_f16[4] = {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)};
    t->a.route_words = all_f16;
    for (size_t step = 0; step < 3; step++) {
        t->a.p_offset = step == 0 ? 0.0f : 4.0f; // 2^4 cancels in O and in LSE
        t->a.empty = step == 2 ? MXV_EMPTY_NAN : MXV_EMPTY_ZERO;
        case_run(t, 0, 0);
        assert_float_equal(case_out(t, 0, 7), (4.0f + 4.0f - 8.0f) / 2.0f, 0.0f);
        assert_int_equal(t->lse[0], case_word(2.0f));
        const struct mxv_tap *weight = case_tap(t, MXV_STAGE_WEIGHT, 0);
        assert_int_equal(weight->words[0], step == 0 ? 0x3C00 : 0x4C00);
        assert_int_equal(weight->words[2], step == 0 ? 0x3800 : 0x4800);
        assert_int_equal(weight->words[3], 0);
    }
}

static void three_keys_in_closed_form(void **state)
{
    (void)state;
    everywhere(1, 3, check_three_keys);
}

// lq = 40, lk = 8, causal, bottom right: rows 0..31 see nothing, row 32 key 0, ... tile rows 16.
static void check_empty_rows(struct plain_case *t)
{
    t->a.mask = MXV_MASK_CAUSAL;
    fill_v(t);
    for (enum mxv_empty empty = MXV_EMPTY_ZERO; empty < MXV_EMPTY_COUNT; empty++) {
        t->a.empty = empty;
        case_run(t, 0, 0);
        for (size_t r = 0; r < 32; r++)
            for (size_t c = 0; c < t->a.d; c++)
                assert_int_equal(t->out[r * t->a.d + c],
                                 empty == MXV_EMPTY_ZERO ? 0 : MXV_NAN_WORD);
        assert_int_equal(t->lse[31], empty == MXV_EMPTY_ZERO ? case_word(-INFINITY) : MXV_NAN_WORD);
        assert_float_equal(case_out(t, 32, 1), t->v[1], 0.0f);
        assert_float_equal(case_out(t, 33, 1), mean_of_v(t, 0, 2, 1), 0.0f);
        assert_float_equal(case_out(t, 39, 1), mean_of_v(t, 0, 8, 1), 0.0f);
    }
    t->a.align = MXV_ALIGN_TOP_LEFT; // now row 0 sees key 0, and rows from 7 on all eight
    case_run(t, 0, 0);
    assert_float_equal(case_out(t, 0, 1), t->v[1], 0.0f);
    assert_float_equal(case_out(t, 39, 1), mean_of_v(t, 0, 8, 1), 0.0f);
}

static void rows_without_keys_follow_the_policy(void **state)
{
    (void)state;
    everywhere(40, 8, check_empty_rows);
}

// masked=finite: in a processed tile a row without visible keys weighs the tile's keys alike.
static void check_finite_mask(struct plain_case *t)
{
    t->a.mask = MXV_MASK_CAUSAL;
    t->a.masked = MXV_MASKED_FINITE;
    fill_v(t);
    case_run(t, 0, 0); // off = -8: rows 0..7 see nothing, rows 8.. share their tile
    for (size_t c = 0; c < t->a.d; c++)
        assert_float_equal(case_out(t, 0, c), mean_of_v(t, 0, 8, c), 0.0f);
    assert_float_equal(case_out(t, 8, 3), t->v[3], 0.0f);
    assert_int_equal(case_tap(t, MXV_STAGE_SCORE, 0)->words[7], 0xCA989680u);
    assert_int_equal(case_tap(t, MXV_STAGE_SCORE, 0)->words[8], case_word(-INFINITY));
}

static void finite_masks_leave_a_uniform_row(void **state)
{
    (void)state;
    everywhere(16, 8, check_finite_mask);
}

// Two sequences, four query heads on two KV heads: V is a constant per KV head and sequence.
static void check_heads_and_sequences(struct plain_case *t)
{
    struct plain_case u;
    case_defaults(&u, t->a.kernel, t->a.arch, 0, 0);
    u.a.route_words = words_mixed;
    u.a.sequences = 3;
    u.a.heads_q = 4;
    u.a.heads_kv = 2;
    const size_t cu_q[4] = {0, 3, 3, 24}, cu_k[4] = {0, 5, 12, 12};
    memcpy(u.cu_q, cu_q, sizeof cu_q);
    memcpy(u.cu_k, cu_k, sizeof cu_k);
    case_tensors(&u);
    for (size_t head = 0; head < 2; head++)
        for (size_t n = 0; n < 12; n++)
            for (size_t c = 0; c < u.a.d; c++)
                u.v[(head * 12 + n) * u.a.d + c] = (float)(10 * head + (n < 5 ? 1 : 2));
    for (size_t head = 0; head < 4; head++) {
        case_run(&u, 0, head);
        assert_float_equal(case_out(&u, 2, 5), head < 2 ? 1.0f : 11.0f, 1e-5f);
        case_run(&u, 1, head); // no queries
        assert_int_equal(case_tap(&u, MXV_STAGE_OUT, 0)->rows, 0);
        case_run(&u, 2, head); // no keys
        assert_int_equal(u.out[20 * u.a.d], 0);
    }
    case_free(&u);
}

static void heads_and_sequences_read_their_own(void **state)
{
    (void)state;
    everywhere(1, 1, check_heads_and_sequences);
}

static uint64_t hash_of(struct plain_case *t)
{
    uint64_t hash = 14695981039346656037u;
    case_run(t, 0, 0);
    for (size_t n = 0; n < t->taps; n++)
        for (size_t e = 0; e < t->tap[n].rows * t->tap[n].cols; e++)
            hash = (hash ^ t->tap[n].words[e]) * 1099511628211u;
    return hash;
}

static void check_determinism(struct plain_case *t)
{
    uint64_t state = 7;
    for (size_t e = 0; e < 40 * t->a.d; e++) {
        t->q[e] = (float)case_random(&state) / 8388608.0f - 1.0f;
        t->k[e] = (float)case_random(&state) / 8388608.0f - 1.0f;
        t->v[e] = (float)case_random(&state) / 8388608.0f - 1.0f;
    }
    const uint64_t first = hash_of(t);
    assert_true(first == hash_of(t));
    t->q[3] = -t->q[3];
    assert_true(first != hash_of(t));
}

static void same_input_same_bits(void **state)
{
    (void)state;
    everywhere(40, 40, check_determinism);
}

static void refusals_say_why(void **state)
{
    (void)state;
    struct plain_case t;
    char message[100] = "";
    case_defaults(&t, MXV_KERNEL_DMA, MXV_ARCH_SM_100, 4, 4);
    case_tensors(&t);
    t.a.faults = 1;
    assert_int_equal(mxv_plain_head(&t.a, 0, 0, t.out, t.lse, NULL, message, sizeof message), -1);
    assert_non_null(strstr(message, "fault"));
    t.a.faults = 0;
    t.a.d = 48;
    assert_int_equal(mxv_plain_head(&t.a, 0, 0, t.out, t.lse, NULL, message, sizeof message), -1);
    assert_non_null(strstr(message, "48"));
    case_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_scores_give_the_mean),
        cmocka_unit_test(one_hot_gives_that_value),
        cmocka_unit_test(three_keys_in_closed_form),
        cmocka_unit_test(rows_without_keys_follow_the_policy),
        cmocka_unit_test(finite_masks_leave_a_uniform_row),
        cmocka_unit_test(heads_and_sequences_read_their_own),
        cmocka_unit_test(same_input_same_bits),
        cmocka_unit_test(refusals_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
