// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Broken kernels must be caught: every defect D1 to D13 of the public DMA release, switched on
// alone on a healthy kernel, is reported at the stage where its description says it acts; switched
// off, the same case passes. The stages come from the defects' descriptions (mxverify list faults),
// not from what the program reports. test_faults_all.c has the other faults.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <mxverify/faults.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <string.h>

struct fault_case {
    const char *fault, *line;
    enum mxv_stage stage;
    enum mxv_verdict verdict;
};

static const struct fault_case fault_cases[] = {
    // E2M1 rule: codes of the low copy
    {"D1", "dma lq=160 lk=160 d=64 gen=ties seed=1", MXV_STAGE_Q_CODE, MXV_VERDICT_FAIL},
    {"D1", "dma low=nvfp4 mode=low lq=40 lk=40 d=64 seed=2", MXV_STAGE_Q_CODE, MXV_VERDICT_FAIL},
    // MXFP4 exponent 3: scale bytes of the low copy
    {"D2", "dma lq=64 lk=64 d=64 seed=3", MXV_STAGE_Q_SCALE, MXV_VERDICT_FAIL},
    {"D2", "dma mode=low lq=33 lk=70 d=128 arch=sm_90 seed=3", MXV_STAGE_Q_SCALE, MXV_VERDICT_FAIL},
    // sink tiles without causal mask: the score tile
    {"D3", "dma lq=160 lk=160 d=64 D=1 s=1 mask=causal seed=4", MXV_STAGE_SCORE, MXV_VERDICT_FAIL},
    {"D3", "dma lq=300 lk=300 d=64 D=1 s=2 mask=causal seed=4", MXV_STAGE_SCORE, MXV_VERDICT_FAIL},
    // sigma of the wrong row from the second query tile on
    {"D4", "dma lq=200 lk=200 d=64 dual=token gen=row_scale seed=5", MXV_STAGE_SCORE,
     MXV_VERDICT_FAIL},
    // natural exponential without causal mask
    {"D5", "dma lq=40 lk=60 d=64 mask=full seed=6", MXV_STAGE_WEIGHT, MXV_VERDICT_FAIL},
    // FP8 keys read as E2M1 without causal mask
    {"D6", "dma lq=40 lk=60 d=64 mask=full seed=7", MXV_STAGE_SCORE, MXV_VERDICT_FAIL},
    // second-level scales not multiplied back
    {"D7", "dma lq=40 lk=60 d=64 dual=token seed=8", MXV_STAGE_SCORE, MXV_VERDICT_FAIL},
    {"D7", "dma lq=40 lk=60 d=64 dual=block mode=high seed=8", MXV_STAGE_SCORE, MXV_VERDICT_FAIL},
    // channel scale on score columns: Q is not multiplied by it any more
    {"D8", "dma lq=40 lk=60 d=64 dual=channel gen=outlier seed=9", MXV_STAGE_Q_SCALE,
     MXV_VERDICT_FAIL},
    // |max(x)| of the signed maximum
    {"D9", "dma lq=40 lk=60 d=64 dual=tensor gen=signed_extreme seed=10", MXV_STAGE_Q_SIGMA,
     MXV_VERDICT_FAIL},
    // NVFP4 codes from the unrounded divisor
    {"D10", "dma low=nvfp4 lq=64 lk=64 d=64 gen=gaussian seed=11", MXV_STAGE_Q_CODE,
     MXV_VERDICT_FAIL},
    // unfused baseline: scale twice and signs dropped; E8M0 bytes for NVFP4
    {"D11", "dma lq=40 lk=60 d=64 seed=12", MXV_STAGE_Q_SCALE, MXV_VERDICT_FAIL},
    {"D11", "dma low=nvfp4 mode=low lq=40 lk=60 d=64 seed=12", MXV_STAGE_Q_SCALE, MXV_VERDICT_FAIL},
    // the reference ignores the mask: the oracle is accused, not the kernel
    {"D12", "dma lq=150 lk=150 d=64 mask=causal gen=gaussian seed=13", MXV_STAGE_OUT,
     MXV_VERDICT_ORACLE_ERROR},
    {"D12", "flash lq=150 lk=150 d=64 mask=causal seed=13", MXV_STAGE_OUT,
     MXV_VERDICT_ORACLE_ERROR},
    {"D12", "tilemix lq=150 lk=150 d=64 mask=causal seed=13", MXV_STAGE_OUT,
     MXV_VERDICT_ORACLE_ERROR},
    // unfilled rows of a ragged tile enter the block scale
    {"D13", "dma lq=127 lk=129 d=64 dual=block seed=14", MXV_STAGE_Q_SIGMA, MXV_VERDICT_FAIL},
    {"D13", "dma lq=128 lk=129 d=64 dual=block seed=14", MXV_STAGE_K_SIGMA, MXV_VERDICT_FAIL},
};

static struct mxv_verify_result verify(const char *line)
{
    const struct mxv_verify_options options = {.impl = MXV_IMPL_EMULATION, .truth = true};
    struct mxv_case c;
    struct mxv_verify_result result;
    char message[512] = "";
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    if (mxv_verify_case(&c, &options, &result, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
    return result;
}

static void test_every_defect_is_caught_at_its_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fault_cases / sizeof fault_cases[0]; i++) {
        const struct fault_case *f = &fault_cases[i];
        char line[512];
        snprintf(line, sizeof line, "%s fault=%s", f->line, f->fault);
        struct mxv_verify_result on = verify(line), off = verify(f->line);
        if (off.verdict != MXV_VERDICT_PASS)
            fail_msg("%s: without the fault %s: %s", line, mxv_verdict_name(off.verdict),
                     off.reason);
        if (on.verdict != f->verdict)
            fail_msg("%s: verdict %s, expected %s", line, mxv_verdict_name(on.verdict),
                     mxv_verdict_name(f->verdict));
        if (on.first.key.stage != f->stage)
            fail_msg("%s: blamed on %s, expected %s (%s)", line,
                     mxv_choice_name(MXV_CHOICE_STAGE, on.first.key.stage),
                     mxv_choice_name(MXV_CHOICE_STAGE, f->stage), on.reason);
        if (f->verdict == MXV_VERDICT_FAIL && !strstr(on.reason, "expected"))
            fail_msg("%s: no element named: %s", line, on.reason);
        mxv_verify_free(&on);
        mxv_verify_free(&off);
    }
    printf("%zu fault cases caught at their stage\n", sizeof fault_cases / sizeof fault_cases[0]);
}

static void test_every_defect_has_a_case(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= MXV_FAULT_RAGGED_NOFILL; f++) {
        bool found = false;
        for (size_t i = 0; i < sizeof fault_cases / sizeof fault_cases[0]; i++)
            found =
                found || strcmp(fault_cases[i].fault, mxv_fault_get((enum mxv_fault)f)->name) == 0;
        if (!found)
            fail_msg("fault %s has no case here", mxv_fault_get((enum mxv_fault)f)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_defect_is_caught_at_its_stage),
        cmocka_unit_test(test_every_defect_has_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
