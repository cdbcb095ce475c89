// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The first element at which two captures of a tap part, and how a tap's words are read.
//
// Which format the words of a stage have follows from the contracts (docs/kernels/*.md): 16-bit
// operands have the type of V (binary16 when V is E4M3), scale codes that of their block format,
// and everything between is binary32. tests/unit/test_taps.c fails if this file is wrong.
#include <mxverify/compare.h>
#include <mxverify/taps.h>

int mxv_taps_first_element(const struct mxv_tap_capture *a, const struct mxv_tap_capture *b,
                           enum mxv_element format, struct mxv_tap_element *element)
{
    if (!a->found || !b->found || a->rows != b->rows || a->cols != b->cols)
        return -1;
    struct mxv_tap_element first = {0};
    first.rows = a->rows;
    first.cols = a->cols;
    for (size_t i = 0; i < a->rows * a->cols; i++) {
        if (a->words[i] == b->words[i])
            continue;
        if (first.differing++ > 0)
            continue;
        first.row = i / a->cols;
        first.col = i % a->cols;
        first.word_a = a->words[i];
        first.word_b = b->words[i];
        first.value_a = mxv_code_value(format, first.word_a);
        first.value_b = mxv_code_value(format, first.word_b);
        first.ulp = mxv_ulp_distance(format, first.word_a, first.word_b);
    }
    *element = first;
    return first.differing > 0;
}

static enum mxv_element sixteen_bits(const struct mxv_attention *a)
{
    return a->vt == MXV_BF16 ? MXV_BF16 : MXV_F16;
}

static enum mxv_element code_format(const struct mxv_attention *a, enum mxv_route route)
{
    switch (route) {
    case MXV_ROUTE_HIGH:
        return a->high == MXV_HIGH_MXFP8_E5M2 ? MXV_E5M2 : MXV_E4M3;
    case MXV_ROUTE_LOW:
        return a->rebase ? MXV_E5M2 : MXV_E2M1;
    case MXV_ROUTE_CORE:
        return MXV_E4M3;
    case MXV_ROUTE_INT8:
        return MXV_S8;
    default:
        return sixteen_bits(a);
    }
}

static enum mxv_element scale_format(const struct mxv_attention *a, enum mxv_route route)
{
    if (route == MXV_ROUTE_HIGH)
        return MXV_E8M0;
    if (route == MXV_ROUTE_LOW)
        return a->low == MXV_LOW_NVFP4 ? MXV_UE4M3 : MXV_E8M0;
    return MXV_F32;
}

// The public DMA release multiplies P and V of its unmasked kernel as TF32, from binary32 words.
static enum mxv_element weight_format(const struct mxv_attention *a)
{
    bool as_binary32 = a->kernel == MXV_KERNEL_DMA_RELEASED && a->mask == MXV_MASK_FULL;
    return as_binary32 ? MXV_F32 : a->vt;
}

enum mxv_element mxv_tap_format(const struct mxv_attention *a, enum mxv_stage stage,
                                enum mxv_route route)
{
    switch (stage) {
    case MXV_STAGE_Q_CODE:
    case MXV_STAGE_K_CODE:
        return code_format(a, route);
    case MXV_STAGE_Q_SCALE:
    case MXV_STAGE_K_SCALE:
        return scale_format(a, route);
    case MXV_STAGE_V_CODE:
        return a->vt;
    case MXV_STAGE_WEIGHT:
        return weight_format(a);
    case MXV_STAGE_OUT:
        return a->out;
    default:
        return MXV_F32;
    }
}
