// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Lines that must be refused, each with the column the message must name and words it must hold:
// the field, its value, what is allowed. A refused line leaves the case untouched.
#include "cases.h"

static const struct {
    const char *line;
    unsigned column;
    const char *words[3];
} rows[] = {
    // Grammar
    {"", 1, {"no kernel", "flash", "tilemix"}},
    {"   ", 4, {"no kernel"}},
    {"flsh lq=3", 1, {"unknown kernel", "`flsh`", "dma-released"}},
    {"  DMA lq=3", 3, {"unknown kernel", "`DMA`"}},
    {"dma lq", 5, {"`lq`", "key=value"}},
    {"dma =3", 5, {"`=3`", "key=value"}},
    {"dma lqq=3", 5, {"unknown key `lqq`", "keys:", " lq "}},
    {"dma lq=3 lq=4", 10, {"lq=4", "set before", "column 5"}},
    {"dma window=3 left=2", 14, {"left=2", "set before"}},
    {"dma lq=3\nflash", 9, {"one line"}},
    {"dma lq=3 \"hq=2\"", 10, {"unknown key"}},
    {"flash high=mxfp8_e4m3", 7, {"`high`", "does not apply to kernel flash", "tile"}},
    {"tilemix dual=token", 9, {"`dual`", "does not apply to kernel tilemix"}},
    {"dma-released tau=8", 14, {"`tau`", "does not apply to kernel dma-released"}},
    {"flash qgran=token", 7, {"`qgran`", "does not apply"}},
    // Values
    {"dma lq=", 5, {"lq=", "whole number, 0..1048576"}},
    {"dma lq=abc", 5, {"lq=abc", "whole number, 0..1048576"}},
    {"dma lq=-1", 5, {"lq=-1", "0..1048576"}},
    {"dma lq=1.5", 5, {"lq=1.5"}},
    {"dma lq=+4", 5, {"lq=+4"}},
    {"dma lq=0x10", 5, {"lq=0x10"}},
    {"dma hq=2 lq=1048577", 10, {"lq=1048577", "0..1048576"}},
    {"dma lq=18446744073709551617", 5, {"lq=18446744073709551617"}},
    {"dma hq=0", 5, {"hq=0", "1..1024"}},
    {"dma b=0", 5, {"b=0", "1..4096"}},
    {"dma arch=sm_70", 5, {"arch=sm_70", "sm_80|sm_90|sm_100|sm_120"}},
    {"dma-released arch=sm_100", 14, {"arch=sm_100", "allowed: sm_90"}},
    {"flash v=e4m3", 7, {"v=e4m3", "allowed: f16|bf16"}},
    {"tilemix v=e4m3", 9, {"v=e4m3", "allowed: f16|bf16"}},
    {"dma v=e5m2", 5, {"v=e5m2", "e4m3|f16|bf16"}},
    {"dma plan=words", 5, {"plan=words", "diag|zones|entropy"}},
    {"dma plan=band", 5, {"plan=band", "diag|zones|entropy"}},
    {"tilemix plan=diag", 9, {"plan=diag", "band|all_f16"}},
    {"dma rule=floor_libm", 5, {"rule=floor_libm", "near_sqrt2|midmax"}},
    {"dma smooth=yes", 5, {"smooth=yes", "0|1"}},
    {"dma tile=128", 5, {"tile=128", "multiple of 16"}},
    {"dma tile=100x128", 5, {"tile=100x128", "multiple of 16"}},
    {"dma tile=128x48", 5, {"tile=128x48", "N of 32"}},
    {"dma tile=512x128", 5, {"tile=512x128", "256"}},
    {"dma tau=nan", 5, {"tau=nan", "number, 0..64"}},
    {"dma tau=65", 5, {"tau=65", "0..64"}},
    {"dma tau=1e", 5, {"tau=1e"}},
    {"dma tau=inf", 5, {"tau=inf"}},
    {"dma poff=automatic", 5, {"poff=automatic", "auto or number"}},
    {"dma scale=0", 5, {"scale=0"}},
    {"dma scale=-1", 5, {"scale=-1"}},
    {"dma seed=0x12", 5, {"seed=0x12", "hexadecimal digits"}},
    {"dma seed=12345678901234567", 5, {"seed=12345678901234567", "1 to 16"}},
    {"dma seed=", 5, {"seed="}},
    {"dma gen=normal", 5, {"gen=normal", "gaussian|outlier"}},
    {"dma seqs=3", 5, {"seqs=3", "LQ:LK"}},
    {"dma seqs=3:4,", 5, {"seqs=3:4,"}},
    {"dma seqs=3:4;5:6", 5, {"seqs=3:4;5:6"}},
    {"dma seqs=3:1048577", 5, {"seqs=3:1048577", "1048576"}},
    {"dma window=0", 5, {"window=0", "1..1048577"}},
    {"dma left=-2", 5, {"left=-2", "-1..1048576"}},
    {"dma fault=D99", 5, {"fault=D99", "D1,D2"}},
    {"dma fault=D3,", 5, {"fault=D3,"}},
    {"flash fault=D3", 7, {"fault=D3", "D12"}},
    {"tilemix share=0.5,1.5 plan=ratio", 9, {"share=0.5,1.5", "0..1"}},
    {"dma input=a%2", 5, {"input=a%2", "%XX"}},
    {"dma input=a%00b", 5, {"input=a%00b"}},
    {"dma input=", 5, {"input="}},
    {"dma input=x qtok=5:5", 13, {"qtok=5:5", "FIRST < END"}},
    // Combinations
    {"dma hq=3 hk=2", 5, {"hq=3", "multiple of hk=2"}},
    {"dma hk=2", 1, {"hq=1", "multiple of hk=2"}},
    {"dma d=80", 5, {"d=80", "32, 64, 96, 128 and 256"}},
    {"dma lq=0", 5, {"lq=0", "at least 1"}},
    {"dma seqs=0:5,0:3", 5, {"seqs=0:5,0:3", "no sequence has a query"}},
    {"dma seqs=3:4 lq=3", 14, {"lq", "not together with seqs"}},
    {"dma b=2 seqs=3:4", 5, {"b", "not together with seqs"}},
    {"dma lq=1048576 lk=1048576 b=4096 d=256", 5, {"lq=1048576", "2^36"}},
    {"dma right=0", 5, {"right=0", "mask=causal"}},
    {"dma at=5", 5, {"at=5", "has no effect without gen=one_hot"}},
    {"dma D=1 diag_tokens=64", 9, {"diag_tokens", "not together with D"}},
    {"dma core=0.5", 5, {"core=0.5", "without plan=zones"}},
    {"dma entropy_threshold=3", 5, {"entropy_threshold=3", "without plan=entropy"}},
    {"dma plan=zones D=2", 16, {"D=2", "without plan=diag"}},
    {"dma plan=zones mode=high", 5, {"plan=zones", "without mode=mixed"}},
    {"dma mode=high D=2", 15, {"D=2", "without mode=mixed"}},
    {"dma mode=high low=nvfp4", 15, {"low=nvfp4", "with mode=high"}},
    {"dma mode=low high=mxfp8_e5m2", 14, {"high=mxfp8_e5m2", "with mode=low"}},
    {"dma mode=low low=nvfp4 rule=even", 24, {"rule=even", "nvfp4"}},
    {"dma arch=sm_80 v=e4m3", 16, {"v=e4m3", "sm_80"}},
    {"dma plan=zones arch=sm_80", 5, {"plan=zones", "sm_80"}},
    {"dma arch=sm_100 rebase=1", 17, {"rebase=1", "arch=sm_90"}},
    {"dma rebase=1 arch=sm_90 low=nvfp4", 5, {"rebase=1", "low=mxfp4"}},
    {"dma arch=sm_90 mode=high rebase=1", 26, {"rebase=1", "mode=low"}},
    {"flash arch=sm_90 rebase=1", 18, {"`rebase`", "does not apply to kernel flash"}},
    {"dma fold=1", 5, {"`fold`", "does not apply to kernel dma"}},
    {"tilemix plan=all_f16 fold=1", 22, {"fold=1", "no INT8 tile"}},
    {"dma heads=0:1", 5, {"heads=0:1", "without input"}},
    {"dma nonfinite=allow", 5, {"nonfinite=allow", "without input"}},
    {"dma input=x gen=ties", 13, {"gen=ties", "with input"}},
    {"dma input=x b=2", 13, {"b=2", "seqs"}},
    {"dma-released d=64", 14, {"d=64", "d=128"}},
    {"dma-released tile=64x64", 14, {"tile=64x64", "128x128"}},
    {"dma-released lq=128 lk=64", 21, {"lk=64", "lk = lq"}},
    {"dma-released seqs=3:4", 14, {"seqs=3:4", "lq = lk"}},
    {"dma-released mask=full", 14, {"mask=full", "causal only"}},
    {"dma-released mode=high dual=token mask=full", 24, {"dual=token", "mask=full"}},
    {"dma-released mode=high high=mxfp8_e5m2 mask=full", 24, {"high=mxfp8_e5m2", "mask=full"}},
    {"dma-released low=mxfp4", 14, {"low=mxfp4", "nvfp4"}},
    {"dma-released dual=channel", 14, {"dual=channel", "none|token|block"}},
    {"tilemix g=3", 9, {"g=3", "power of two"}},
    {"tilemix W=48", 9, {"W=48", "32 or 64"}},
    {"tilemix kvcache=1", 9, {"kvcache=1", "kgran=token"}},
    {"tilemix plan=checker D=2", 22, {"D=2", "without plan=band"}},
    {"tilemix share=0.25", 9, {"share=0.25", "random or ratio"}},
    {"tilemix plan=file", 9, {"plan=file", "planfile=PATH"}},
    {"tilemix planfile=x", 9, {"planfile=x", "without plan=file"}},
};

static void refused_with_place_and_reason(void **state)
{
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_case c, before;
        char message[4000] = "", prefix[32];
        memset(&c, 0x5a, sizeof c);
        before = c;
        enum mxv_status status = mxv_case_parse(rows[i].line, &c, message, sizeof message);
        bool good = status != MXV_OK && memcmp(&c, &before, sizeof c) == 0;
        snprintf(prefix, sizeof prefix, "column %u: ", rows[i].column);
        good = good && strncmp(message, prefix, strlen(prefix)) == 0 && !strchr(message, '\n');
        for (size_t w = 0; w < 3 && rows[i].words[w]; w++)
            good = good && strstr(message, rows[i].words[w]);
        if (!good) {
            print_error("`%s`: status %d, said: %s\n", rows[i].line, (int)status, message);
            wrong++;
        }
    }
    print_message("%zu bad lines\n", sizeof rows / sizeof rows[0]);
    assert_int_equal(wrong, 0);
}

// A message that does not fit is cut and ends in NUL; no message is fine too.
static void short_message_buffers(void **state)
{
    struct mxv_case c;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t size = 0; size < 24; size++) {
            char message[32];
            memset(message, '!', sizeof message);
            assert_int_not_equal(mxv_case_parse(rows[i].line, &c, message, size), MXV_OK);
            assert_int_equal(message[size], '!');
            assert_true(size == 0 || memchr(message, '\0', size) != NULL);
        }
        assert_int_not_equal(mxv_case_parse(rows[i].line, &c, NULL, 0), MXV_OK);
    }
}

static void set_refuses_too(void **state)
{
    static const char *const bad[][2] = {{"lq", "`lq`"},
                                         {"lq=x", "lq=x"},
                                         {"nokey=1", "`nokey`"},
                                         {"=", "`=`"},
                                         {"plan=words", "plan=words"},
                                         {"v=e5m2", "v=e5m2"}};
    struct mxv_case c, before;
    char message[4000];
    (void)state;
    mxv_case_defaults(MXV_KERNEL_DMA, &c);
    before = c;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_not_equal(mxv_case_set(&c, bad[i][0], message, sizeof message), MXV_OK);
        assert_non_null(strstr(message, bad[i][1]));
        assert_memory_equal(&c, &before, sizeof c);
    }
}

// A struct filled by a program is checked as a line is.
static void check_of_structs(void **state)
{
    struct mxv_case c;
    char message[4000];
    (void)state;
    mxv_case_defaults(MXV_KERNEL_FLASH, &c);
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_OK);
    c.dual = MXV_DUAL_TOKEN;
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, "dual=token: does not apply to kernel flash"));
    mxv_case_defaults(MXV_KERNEL_DMA, &c);
    c.tile.m = 40;
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_ERR_INPUT);
    mxv_case_defaults(MXV_KERNEL_DMA, &c);
    c.rule = MXV_SCALE_FLOOR_LIBM;
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_ERR_INPUT);
    mxv_case_defaults(MXV_KERNEL_FLASH, &c);
    c.faults = UINT64_C(1) << MXV_FAULT_SINK_NOMASK;
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_ERR_INPUT);
    mxv_case_defaults(MXV_KERNEL_FLASH, &c);
    c.seqs.count = 1;
    c.seqs.at[0].lq = 5;
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_ERR_INPUT); // b, lq, lk stand
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_with_place_and_reason),
        cmocka_unit_test(short_message_buffers),
        cmocka_unit_test(set_refuses_too),
        cmocka_unit_test(check_of_structs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
