// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Many blocks at once: the vector form where there is one, else block after block. See
// mxverify/block_array.h. unit.block_array fails if this file is wrong.
#include <mxverify/simd.h>

#include "block_array_internal.h"

void mxv_block_scalar(const struct mxv_block_plan *plan, const uint32_t *x, const uint16_t *half,
                      size_t block, uint8_t *scales, uint8_t *codes)
{
    const size_t size = mxv_block_get(plan->block)->size;
    uint32_t words[MXV_BLOCK_SIZE_MAX];
    for (size_t i = 0; i < size; i++)
        words[i] = half != NULL ? mxv_element_to_f32(MXV_F16, half[block * size + i])
                                : x[block * size + i];
    mxv_block_quantize(plan->block, &plan->policy, words, scales + block, codes + block * size);
}

static void quantize(const struct mxv_block_plan *plan, const uint32_t *x, const uint16_t *half,
                     size_t blocks, uint8_t *scales, uint8_t *codes)
{
#if defined(__x86_64__)
    if (plan->vector && mxv_simd_level() >= MXV_SIMD_AVX2) {
        if (plan->block == MXV_NVFP4 && plan->policy.nvfp4.variant == MXV_NVFP4_FOUR_SIX)
            mxv_four_six_quantize_avx2(plan, x, half, blocks, scales, codes);
        else if (plan->block == MXV_NVFP4)
            mxv_nvfp4_quantize_avx2(plan, x, half, blocks, scales, codes);
        else
            mxv_mx_quantize_avx2(plan, x, half, blocks, scales, codes);
        return;
    }
#endif
    for (size_t i = 0; i < blocks; i++)
        mxv_block_scalar(plan, x, half, i, scales, codes);
}

void mxv_block_quantize_array(const struct mxv_block_plan *plan, const uint32_t *x, size_t blocks,
                              uint8_t *scales, uint8_t *codes)
{
    quantize(plan, x, NULL, blocks, scales, codes);
}

void mxv_block_quantize_array_f16(const struct mxv_block_plan *plan, const uint16_t *x,
                                  size_t blocks, uint8_t *scales, uint8_t *codes)
{
    quantize(plan, NULL, x, blocks, scales, codes);
}

void mxv_block_dequantize_array(enum mxv_block b, const uint8_t *scales, const uint8_t *codes,
                                size_t blocks, uint32_t *out)
{
    const size_t size = mxv_block_get(b)->size;
#if defined(__x86_64__)
    if (mxv_simd_level() >= MXV_SIMD_AVX2 &&
        mxv_block_dequantize_avx2(b, scales, codes, blocks, out))
        return;
#endif
    for (size_t i = 0; i < blocks; i++)
        mxv_block_dequantize(b, scales[i], codes + i * size, out + i * size);
}
