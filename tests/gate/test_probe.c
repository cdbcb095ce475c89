// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The probe on trial: each model of ref/models.def, driven as a black box, must come back as its
// row, and a unit outside the space must be told so. Which parameters are visible is stated here
// from docs/numerics.md ("Zeros"), so that `unobservable` cannot be an excuse.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka after these
#include <cmocka.h>

#include <mxverify/probe.h>
#include <stdio.h>
#include <string.h>

static bool has(struct mxv_probe_range r, int value)
{
    return r.values && r.low <= value && value <= r.high;
}

static bool only(struct mxv_probe_range r, int value)
{
    return r.values == 1 && r.low == value;
}

// docs/numerics.md: z shows with f32 accumulation of bf16, tf32 and MX, with f16 accumulation of
// f16 (where no product lies below it: the smallest has exponent -28), and in 4-bit block scaling
// with E8M0 scales.
static bool zero_shows(const struct mxv_mma_model *m)
{
    if (m->rule == MXV_MMA_HMMA_FP8)
        return false;
    if (m->scale != MXV_MMA_NO_SCALE)
        return m->scale == MXV_E8M0;
    return m->a == MXV_BF16 || m->a == MXV_TF32 ||
           (m->a == MXV_F16 && m->result == MXV_MMA_F16 && m->zero_exp > -28);
}

static size_t wrong(const struct mxv_mma_model *m, const char *what, struct mxv_probe_range r)
{
    print_error("%s: %s %d..%d (%u values)\n", m->name, what, r.low, r.high, r.values);
    return 1;
}

static size_t check_row(const struct mxv_mma_model *m, const struct mxv_probe_result *r)
{
    size_t bad = 0;
    bool amd = m->rule >= MXV_MMA_CDNA3, step_rule = m->rule == MXV_MMA_T;
    if (r->rules != 1u << m->rule)
        bad += wrong(m, "rules", (struct mxv_probe_range){(int)r->rules, (int)r->rules, 1});
    if ((step_rule || amd) && !only(r->step, (int)m->step))
        bad += wrong(m, "L", r->step);
    if (!amd && m->rule != MXV_MMA_INT && !only(r->frac_bits, (int)m->frac_bits))
        bad += wrong(m, "F", r->frac_bits);
    if (!amd && m->rule != MXV_MMA_INT && m->result == MXV_MMA_F32 &&
        !only(r->keep_bits, (int)m->keep_bits))
        bad += wrong(m, "keep", r->keep_bits);
    if (!amd && m->rule != MXV_MMA_INT &&
        (zero_shows(m) ? !only(r->zero_exp, m->zero_exp) : !has(r->zero_exp, m->zero_exp)))
        bad += wrong(m, "z", r->zero_exp);
    if (m->rule == MXV_MMA_INT && !only(r->saturate, m->saturate))
        bad += wrong(m, "saturate", r->saturate);
    // sums of unsigned products only grow: where they are clamped does not show
    bool grows = m->a == MXV_U8 && m->b == MXV_U8;
    if (m->saturate && (grows ? !has(r->k, (int)m->k) : !only(r->k, (int)m->k)))
        bad += wrong(m, "K", r->k);
    for (size_t i = 0; i < r->named_count; i++)
        if (r->named[i].model == m && r->named[i].differing == 0)
            return bad;
    print_error("%s: not named\n", m->name);
    return bad + 1;
}

static void rows_come_back(void **state)
{
    (void)state;
    size_t bad = 0;
    char message[256];
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        struct mxv_mma_model m = *mxv_mma_at(i);
        struct mxv_probe_unit unit = {.face = m, .ask = mxv_probe_ask_model, .ctx = &m};
        struct mxv_probe_result r;
        assert_int_equal(mxv_probe_unit_run(&unit, &r, message, sizeof message), MXV_OK);
        m = *mxv_mma_at(i);
        bad += check_row(mxv_mma_at(i), &r);
    }
    print_message("%zu models probed\n", mxv_mma_count());
    assert_int_equal(bad, 0);
}

// Rows with one number changed: the probe finds the number, and names no known model.
static void neighbours_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"sm_90.wgmma.bf16.f32", "sm_90.wgmma.e4m3.f32",
                                        "sm_80.mma.f16.f32", "sm_100.tcgen05.mxf4.ue8m0.f32"};
    char message[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct mxv_mma_model m = *mxv_mma_find(names[i]);
        m.frac_bits += 2;
        if (m.keep_bits == 13)
            m.keep_bits = 15;
        if (m.rule == MXV_MMA_T)
            m.zero_exp -= 5;
        struct mxv_probe_unit unit = {.face = m, .ask = mxv_probe_ask_model, .ctx = &m};
        struct mxv_probe_result r;
        assert_int_equal(mxv_probe_unit_run(&unit, &r, message, sizeof message), MXV_OK);
        assert_true(only(r.frac_bits, (int)m.frac_bits));
        assert_true(only(r.keep_bits, (int)m.keep_bits));
        assert_true(has(r.zero_exp, m.zero_exp));
        assert_true(r.named_count > 0 && r.named[0].differing > 0);
    }
}

// A unit outside the space: sums in binary32, one product after the other.
static enum mxv_status ask_serial(void *ctx, const struct mxv_mma_model *face,
                                  const struct mxv_probe_question *q, size_t count,
                                  uint32_t *answers, char *message, size_t size)
{
    (void)ctx, (void)message, (void)size;
    for (size_t i = 0; i < count; i++) {
        float sum;
        memcpy(&sum, &q[i].c, sizeof sum);
        for (unsigned j = 0; j < q[i].k; j++) {
            uint32_t x = mxv_element_to_f32(face->a, q[i].a[j]);
            uint32_t y = mxv_element_to_f32(face->b, q[i].b[j]);
            float a, b;
            memcpy(&a, &x, sizeof a);
            memcpy(&b, &y, sizeof b);
            sum += a * b;
        }
        memcpy(&answers[i], &sum, sizeof sum);
    }
    return MXV_OK;
}

static void strangers_are_told(void **state)
{
    (void)state;
    char message[256];
    struct mxv_probe_unit unit = {.face = *mxv_mma_find("sm_90.wgmma.bf16.f32"), .ask = ask_serial};
    struct mxv_probe_result r;
    assert_int_equal(mxv_probe_unit_run(&unit, &r, message, sizeof message), MXV_OK);
    assert_int_equal(r.remaining, 0);
    assert_true(r.named_count > 0 && r.named[0].differing > 0);
}

// Recorded words of an H200: every file names its instruction's row, and only sm_90 is in all.
static void recordings_name_their_device(void **state)
{
    (void)state;
    static const struct {
        const char *file, *model;
    } files[] = {{"wg_e4m3_f32", "sm_90.wgmma.e4m3.f32"}, {"wg_bf16_f32", "sm_90.wgmma.bf16.f32"},
                 {"wg_f16_f16", "sm_90.wgmma.f16.f16"},   {"wg_e4m3_f16", "sm_90.wgmma.e4m3.f16"},
                 {"mma_e4m3_f32", "sm_90.mma.e4m3.f32"},  {"mma_tf32_f32", "sm_90.mma.tf32.f32"},
                 {"mma_s8_s32", "sm_90.mma.s8.s32"}};
    char path[512], message[512];
    bool others = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct mxv_probe_record record;
        struct mxv_probe_result r;
        bool named = false;
        snprintf(path, sizeof path, "%s/data/golden/h200-mma/%s.bin.zst", MXV_SOURCE_DIR,
                 files[i].file);
        assert_int_equal(mxv_probe_read(path, NULL, &record, message, sizeof message), MXV_OK);
        struct mxv_probe_unit unit = {.face = record.face,
                                      .recorded = record.questions,
                                      .recorded_answers = record.answers,
                                      .recorded_count = record.count};
        assert_int_equal(mxv_probe_unit_run(&unit, &r, message, sizeof message), MXV_OK);
        for (size_t j = 0; j < r.named_count && r.named[j].differing == 0; j++)
            named |= strcmp(r.named[j].model->name, files[i].model) == 0;
        assert_true(named);
        const struct mxv_mma_model *m = mxv_mma_find(files[i].model);
        assert_int_equal(r.rules, 1u << m->rule);
        if (m->rule == MXV_MMA_T) {
            assert_int_equal(r.step.low, m->step); // no question is longer than a step
            if (m->result == MXV_MMA_F32)
                assert_true(only(r.frac_bits, (int)m->frac_bits));
            assert_true(has(r.frac_bits, (int)m->frac_bits));
            assert_true(has(r.zero_exp, m->zero_exp));
        }
        if (strcmp(files[i].file, "wg_e4m3_f32") == 0)
            for (size_t j = 0; j < r.named_count && r.named[j].differing == 0; j++)
                others |= strcmp(r.named[j].model->arch, "sm_90") != 0;
        mxv_probe_record_free(&record);
    }
    assert_false(others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(neighbours_come_back),
        cmocka_unit_test(strangers_are_told),
        cmocka_unit_test(recordings_name_their_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
