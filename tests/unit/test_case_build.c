// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From a case to a call: options, shapes, resolved `auto` values, extents, refusals.
#include "cases.h"
#include <math.h>

static void shapes(void **state)
{
    struct mxv_case_data d;
    (void)state;
    build("dma b=3 hq=4 hk=2 lq=5 lk=7 d=32", &d);
    assert_true(d.a.sequences == 3 && d.a.heads_q == 4 && d.a.heads_kv == 2 && d.a.d == 32);
    for (size_t s = 0; s <= 3; s++)
        assert_true(d.a.cu_q[s] == 5 * s && d.a.cu_k[s] == 7 * s);
    assert_true(d.a.q == d.q && d.a.k == d.k && d.a.v == d.v && d.q && d.k && d.v);
    mxv_case_free(&d);
    assert_null(d.a.q);
    build("flash seqs=17:33,0:5,40:0", &d);
    static const size_t cu_q[] = {0, 17, 17, 57}, cu_k[] = {0, 33, 38, 38};
    assert_memory_equal(d.a.cu_q, cu_q, sizeof cu_q);
    assert_memory_equal(d.a.cu_k, cu_k, sizeof cu_k);
    mxv_case_free(&d);
    mxv_case_free(&d); // twice is fine
}

// docs/kernels/contract.md 5: scale 1/sqrt(d) in binary64, poff 8 for V in E4M3 and 0 else.
static void automatic_values(void **state)
{
    struct mxv_case_data d;
    (void)state;
    build("dma v=e4m3 d=64", &d);
    assert_true(d.a.p_offset == 8 && d.a.scale == 0.125);
    mxv_case_free(&d);
    build("dma d=128", &d);
    assert_true(d.a.p_offset == 0 && d.a.scale == 0x1.6a09e667f3bccp-4); // IEEE 1 / sqrt(128)
    mxv_case_free(&d);
    build("dma v=e4m3 poff=0 scale=2", &d);
    assert_true(d.a.p_offset == 0 && d.a.scale == 2);
    mxv_case_free(&d);
    build("dma-released", &d);
    assert_true(d.a.scale == 0x1.6a09e667f3bccp-4);
    mxv_case_free(&d);
}

static void options_reach_the_call(void **state)
{
    struct mxv_case_data d;
    (void)state;
    build("dma arch=sm_120 in=bf16 v=bf16 out=f32 mask=full align=tl left=3 right=4 tile=64x32 "
          "order=desc exp=poly tau=4 poff=2 empty=nan masked=finite lse=2 smooth=1 high=mxfp8_e5m2 "
          "low=nvfp4 rule=even dual=block D=3 s=2 fault=D3",
          &d);
    const struct mxv_attention *a = &d.a;
    assert_true(a->kernel == MXV_KERNEL_DMA && a->arch == MXV_ARCH_SM_120 && a->in == MXV_BF16 &&
                a->vt == MXV_BF16 && a->out == MXV_F32 && a->mask == MXV_MASK_FULL &&
                a->align == MXV_ALIGN_TOP_LEFT && a->left == 3 && a->right == 4);
    assert_true(a->tile_m == 64 && a->tile_n == 32 && a->order == MXV_ORDER_DESC &&
                a->exp == MXV_EXP_POLY && a->tau == 4 && a->p_offset == 2 &&
                a->empty == MXV_EMPTY_NAN && a->masked == MXV_MASKED_FINITE &&
                a->lse == MXV_LSE_TWO && a->smooth_k);
    assert_true(a->mode == MXV_MODE_MIXED && a->high == MXV_HIGH_MXFP8_E5M2 &&
                a->low == MXV_LOW_NVFP4 && a->rule == MXV_SCALE_EVEN && a->dual == MXV_DUAL_BLOCK &&
                a->plan == MXV_PLAN_DIAG && a->diag == 3 && a->sink == 2 &&
                a->faults == UINT64_C(1) << MXV_FAULT_SINK_NOMASK);
    mxv_case_free(&d);
    build("tilemix g=4 W=64 bits=msb one=int8 qgran=warp kgran=token int8=rna kvcache=1", &d);
    assert_true(a->plan == MXV_PLAN_WORDS && a->group == 4 && a->word_bits == 64 && a->msb_first &&
                a->one_is_int8 && a->q_gran == MXV_GRAN_WARP && a->k_gran == MXV_GRAN_TOKEN &&
                a->int8_round == MXV_RNA && a->kv_cache && a->route_words);
    mxv_case_free(&d);
    build("dma plan=zones core=0.25 buffer=0.5", &d);
    assert_true(a->plan == MXV_PLAN_ZONES && a->core_share == 0.25 && a->buffer_share == 0.5);
    mxv_case_free(&d);
}

static void band_in_tokens(void **state)
{
    static const struct {
        unsigned tokens, tile, tiles;
    } rows[] = {{1, 128, 1}, {128, 128, 1}, {129, 128, 2}, {256, 128, 2}, {100, 32, 4}};
    char line[100];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_case_data d;
        snprintf(line, sizeof line, "dma tile=128x%u diag_tokens=%u", rows[i].tile, rows[i].tokens);
        build(line, &d);
        assert_int_equal(d.a.diag, rows[i].tiles);
        mxv_case_free(&d);
    }
}

static void extents(void **state)
{
    struct mxv_case c;
    struct mxv_case_extent e;
    (void)state;
    parse("flash b=2 hq=4 hk=2 lq=3 lk=5 d=32", &c);
    mxv_case_extent(&c, &e);
    assert_true(e.tokens_q == 6 && e.tokens_k == 10 && e.scores == 120);
    assert_true(e.elements == (6 * 4 + 10 * 2 * 2) * 32);
    parse("flash hq=2 seqs=3:5,0:7,2:0,1:1", &c);
    mxv_case_extent(&c, &e);
    assert_true(e.tokens_q == 6 && e.tokens_k == 13 && e.scores == 32);
}

// A tensor beyond the machine's memory is refused before anything is allocated.
static void too_large_for_memory(void **state)
{
    struct mxv_case c;
    struct mxv_case_data d;
    char message[300];
    (void)state;
    parse("flash b=250 lq=1048576 lk=1 d=256", &c); // 250 GiB
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_OK);
    enum mxv_status status = mxv_case_build(&c, &d, message, sizeof message);
    if (status == MXV_OK) // a machine of more than 256 GiB
        mxv_case_free(&d);
    else
        assert_int_equal(status, MXV_ERR_INPUT);
}

// Building a bad case fails as checking does and leaves nothing behind.
static void bad_case(void **state)
{
    struct mxv_case c;
    struct mxv_case_data d;
    char message[300] = "";
    (void)state;
    mxv_case_defaults(MXV_KERNEL_DMA, &c);
    c.heads_q = 3;
    c.heads_kv = 2;
    memset(&d, 0x5a, sizeof d);
    assert_int_equal(mxv_case_build(&c, &d, message, sizeof message), MXV_ERR_INPUT);
    assert_non_null(strstr(message, "hq=3"));
    mxv_case_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(automatic_values),
        cmocka_unit_test(options_reach_the_call),
        cmocka_unit_test(band_in_tokens),
        cmocka_unit_test(extents),
        cmocka_unit_test(too_large_for_memory),
        cmocka_unit_test(bad_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
