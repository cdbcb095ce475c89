// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See check_blocks.h. Launches and what they are compared with: check_tensor.h. INT8:
// mxv_int8_code.
#include "check_blocks.h"
#include "check_tensor.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>
#include <mxverify/block.h>
#include <mxverify/case.h>
#include <mxverify/f32.h>
#include <mxverify/int8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// All rules of a format, or orders of NVFP4 without and with tensor scale, over one tensor; layout,
// packing, policies and the kernel for rows with steps take turns.
static uint64_t compare_choices(unsigned format, const struct check_tensor *t, unsigned turn,
                                uint64_t *compared)
{
    const bool nvfp4 = format == MXV_GPU_NVFP4;
    const unsigned count = nvfp4 ? 2 * MXV_GPU_NVFP4_SAGE3 + 1 : MXV_GPU_RULE_CEIL_LIBM + 1;
    uint64_t bad = 0;
    for (unsigned i = 0; i < count; i++) {
        struct mxv_gpu_quantiser q = {.format = (enum mxv_gpu_block_format)format};
        char what[160];
        if (nvfp4)
            q.order = (enum mxv_gpu_nvfp4_order)(i % (MXV_GPU_NVFP4_SAGE3 + 1));
        else
            q.rule = (enum mxv_gpu_scale_rule)i;
        q.tensor_amax = nvfp4 && i > MXV_GPU_NVFP4_SAGE3 ? t->amax : NULL;
        q.layout = (enum mxv_gpu_scale_layout)((turn + i) % 4);
        q.unpacked = (turn + i) / 4 % 2;
        q.inf_is_nan = (turn + i) / 8 % 2;
        q.nan_is_zero = (turn + i) % 3 == 0;
        const enum check_steps steps = (turn + i) % 2
                                           ? CHECK_STEPS_NONE
                                           : (enum check_steps)((turn + i) / 2 % CHECK_STEPS_COUNT);
        snprintf(what, sizeof what, "%s %s %s%s %zux%zu layout %s%s%s%s%s",
                 mxv_block_get((enum mxv_block)format)->name, check_type_names[t->type],
                 nvfp4 ? mxv_nvfp4_order_name((enum mxv_nvfp4_order)q.order)
                       : mxv_scale_rule_name((enum mxv_scale_rule)q.rule),
                 q.tensor_amax ? " tensor" : "", t->rows, t->d,
                 mxv_scale_layout_name((enum mxv_scale_layout)q.layout),
                 q.unpacked ? " unpacked" : "", q.inf_is_nan ? " inf=nan" : "",
                 q.nan_is_zero ? " nan=0" : "", check_step_names[steps]);
        bad += check_quantiser(what, &q, t, steps, compared);
    }
    return bad;
}

static void check_drawn(unsigned format, enum mxv_gpu_type type, uint64_t seed,
                        check_report *report)
{
    static const size_t shapes[][2] = {{4096, 128}, {515, 96}, {130, 32},
                                       {77, 256},   {1, 64},   {300, 1024}};
    uint64_t bad = 0, compared = 0;
    char text[96];
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct check_tensor t = {.rows = shapes[s][0], .d = shapes[s][1], .type = type};
        const size_t n = t.rows * t.d, size = format == MXV_GPU_NVFP4 ? 16 : 32;
        cuda_memory_reset();
        t.words = check_memory(n * sizeof *t.words);
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            t.words[i] = check_drawn_word(type, i / size, i % size, seed + 977 * s + format);
        check_send(&t);
        check_send_means(&t);
        for (unsigned turn = 0; turn < (s == 1 ? 16 : 2); turn++)
            bad += compare_choices(format, &t, turn + (unsigned)s, &compared);
        free(t.words);
        free(t.mean_words);
    }
    snprintf(text, sizeof text, "%s %s, drawn words", mxv_block_get((enum mxv_block)format)->name,
             check_type_names[type]);
    report(text, compared, bad);
}

// K of a case of every generator; half of the cases are dma's, half tilemix's.
static void check_generated(enum mxv_gpu_type type, uint64_t seed, check_report *report)
{
    uint64_t bad[MXV_GPU_NVFP4 + 1] = {0}, compared[MXV_GPU_NVFP4 + 1] = {0};
    for (unsigned g = 0; g < 2 * MXV_GEN_COUNT; g++) {
        char line[160], message[512];
        struct mxv_case c;
        struct mxv_case_data data;
        snprintf(line, sizeof line, "%s in=%s lq=1 lk=160 d=64 gen=%s seed=%" PRIx64,
                 g % 2 ? "tilemix" : "dma", check_type_names[type], mxv_generator_name(g / 2),
                 seed + g);
        if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
            mxv_case_build(&c, &data, message, sizeof message) != MXV_OK) {
            fprintf(stderr, "device_check: %s: %s\n", line, message);
            exit(3);
        }
        struct check_tensor t = {.rows = 160, .d = 64, .type = type};
        t.words = check_memory(t.rows * t.d * sizeof *t.words);
        for (size_t i = 0; i < t.rows * t.d; i++) {
            uint32_t word;
            memcpy(&word, &data.k[i], sizeof word);
            t.words[i] = (uint32_t)mxv_element_from_f32(check_elements[type], word, NULL);
        }
        cuda_memory_reset();
        check_send(&t);
        check_send_means(&t);
        for (unsigned format = 0; format <= MXV_GPU_NVFP4; format++)
            bad[format] += compare_choices(format, &t, g, &compared[format]);
        mxv_case_free(&data);
        free(t.words);
        free(t.mean_words);
    }
    for (unsigned format = 0; format <= MXV_GPU_NVFP4; format++) {
        char text[96];
        snprintf(text, sizeof text, "%s %s, all generators",
                 mxv_block_get((enum mxv_block)format)->name, check_type_names[type]);
        report(text, compared[format], bad[format]);
    }
}

static void check_amax(enum mxv_gpu_type type, uint64_t seed, check_report *report)
{
    uint64_t bad = 0, n = 0;
    for (size_t d = 1; d < 4000; d += 97 + d % 5) {
        struct check_tensor t = {.rows = 1, .d = d, .type = type};
        cuda_memory_reset();
        t.words = check_memory(d * sizeof *t.words);
        for (size_t i = 0; i < d; i++)
            t.words[i] = check_drawn_word(type, i / 32, i % 32, seed + d % 3);
        check_send(&t);
        uint32_t *out = cuda_allocate(&check_run, sizeof *out), *got;
        check_call(mxv_gpu_tensor_amax(t.device, type, d, (float *)out), "tensor amax");
        got = cuda_fetch(&check_run, out, sizeof *out);
        check_stop_if(!got, "tensor amax");
        const uint32_t want = mxv_block_amax(t.words, d, MXV_BLOCK_NAN_PROPAGATE);
        bad += *got != want && !(mxv_f32_is_nan(*got) && mxv_f32_is_nan(want));
        n++;
        free(got);
        free(t.words);
    }
    report(type == MXV_GPU_F32   ? "tensor maximum f32"
           : type == MXV_GPU_F16 ? "tensor maximum f16"
                                 : "tensor maximum bf16",
           n, bad);
}

// INT8 codes under given row scales: what the row's maximum gives, and now and then any word.
static void check_int8(enum mxv_gpu_type type, uint64_t seed, check_report *report)
{
    struct check_tensor t = {.rows = 4096, .d = 96, .type = type};
    const size_t n = t.rows * t.d;
    uint32_t *scale = check_memory(t.rows * sizeof *scale);
    uint64_t bad = 0;
    cuda_memory_reset();
    t.words = check_memory(n * sizeof *t.words);
    for (size_t i = 0; i < n; i++)
        t.words[i] = check_drawn_word(type, i / t.d, i % t.d, seed + 5);
    check_send(&t);
    check_send_means(&t);
    for (size_t r = 0; r < t.rows; r++) {
        const uint64_t draw = check_mix(seed + r);
        const uint32_t amax = mxv_block_amax(t.words + r * t.d, t.d, MXV_BLOCK_NAN_IGNORE);
        scale[r] = draw % 16 == 0 ? (uint32_t)(draw >> 33) : mxv_int8_scale(NULL, amax);
        if (draw % 8 == 1) // few significand bits: ties
            scale[r] &= 0x7f800000u;
    }
    const float *device_scale = cuda_send(&check_run, scale, t.rows * sizeof *scale);
    int8_t *codes = cuda_allocate(&check_run, n), *want = check_memory(n);
    check_stop_if(false, "int8");
    for (unsigned i = 0; i < 2 * CHECK_STEPS_COUNT; i++) {
        const enum check_steps steps = (enum check_steps)(i / 2);
        const bool away = i % 2;
        const struct mxv_int8_policy p = {.round = away ? MXV_RNA : MXV_RNE, .symmetric = true};
        const struct mxv_gpu_rows rows = check_rows(&t, steps);
#pragma omp parallel for
        for (size_t k = 0; k < n; k++)
            want[k] =
                mxv_int8_code(&p, check_stepped(&t, steps, k / t.d, k % t.d), scale[k / t.d], 0);
        check_call(mxv_gpu_quantise_int8(&rows, device_scale, away, codes), "int8");
        bad += check_differing(away ? "int8 rna" : "int8 rne", check_step_names[steps],
                               (const uint8_t *)want, (const uint8_t *)codes, n);
    }
    char text[64];
    snprintf(text, sizeof text, "int8 %s, scales given", check_type_names[type]);
    report(text, 2 * CHECK_STEPS_COUNT * n, bad);
    free(t.words);
    free(t.mean_words);
    free(scale);
    free(want);
}

static uint32_t word_of(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

// Tensor maxima: of 24 bits, of 16-bit numbers, multiples of 21 (2688 = 21 * 2^7: exact ties), and
// of any exponent.
static float drawn_maximum(enum mxv_gpu_type type, uint64_t r)
{
    const int e = (int)(r >> 40 & 15) - 4;
    const float sig = 1 + (float)(r & 0x7fffff) * 0x1p-23f;
    if (r >> 62 == 0)
        return ldexpf(sig, e);
    if (r >> 62 == 1)
        return ldexpf(1 + (float)(r & 0x7f) * 0x1p-7f, e);
    if (r >> 62 == 2)
        return ldexpf(21 * (float)(1 + (r & 0x7f)), e - 8);
    return ldexpf(sig, type == MXV_GPU_F16 ? (int)(r >> 40 & 31) - 14 : (int)(r >> 40 & 255) - 127);
}

// A block for scale byte `byte`: first a maximum that has it, then numbers of the type at and
// beside what separates two codes, midpoint * scale * g / 2688.
static void draw_step_block(enum mxv_gpu_type type, double g, unsigned byte, unsigned turn,
                            uint32_t out[16])
{
    static const double middle[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
    const enum mxv_element e = check_elements[type];
    const struct mxv_encode cut = {.round = MXV_RTZ};
    float value;
    const uint32_t value_word = mxv_element_to_f32(MXV_UE4M3, byte);
    memcpy(&value, &value_word, sizeof value);
    out[0] = (uint32_t)mxv_element_from_f32(e, word_of((float)((double)value * g / 448)), NULL);
    for (unsigned i = 1; i < 16; i++) { // 35 numbers in three turns, some twice
        const unsigned n = (turn * 15 + i) % 35;
        const float at = (float)(middle[n % 7] * (double)value * g / 2688);
        const uint32_t word = (uint32_t)mxv_element_from_f32(e, word_of(at), &cut);
        out[i] = word + n / 7 < 2 ? 0 : word + n / 7 - 2;
        if (check_mix(byte * 64 + n) & 1)
            out[i] |= UINT32_C(1) << (mxv_element_get(e)->bits - 1);
    }
}

// NVFP4 with tensor scale: for every scale byte the numbers at which a code changes.
static void check_steps_of_codes(enum mxv_gpu_type type, uint64_t seed, check_report *report)
{
    enum { BYTES = 126, TURNS = 3, ROWS = BYTES * TURNS / 6 };
    uint64_t bad = 0, compared = 0;
    char text[96];
    for (unsigned i = 0; i < 96; i++) {
        struct check_tensor t = {.rows = ROWS, .d = 96, .type = type};
        const float g = drawn_maximum(type, check_mix(seed + i));
        cuda_memory_reset();
        t.words = check_memory(t.rows * t.d * sizeof *t.words);
        for (unsigned block = 0; block < BYTES * TURNS; block++)
            draw_step_block(type, (double)g, 1 + block / TURNS, block % TURNS,
                            t.words + block * 16);
        check_send(&t);
        check_send_amax(&t, word_of(g));
        for (unsigned order = 0; order < MXV_GPU_NVFP4_SAGE3; order++) {
            const struct mxv_gpu_quantiser q = {.format = MXV_GPU_NVFP4,
                                                .order = (enum mxv_gpu_nvfp4_order)order,
                                                .tensor_amax = t.amax};
            snprintf(text, sizeof text, "nvfp4 %s %s, steps of codes, maximum %a",
                     check_type_names[type], mxv_nvfp4_order_name((enum mxv_nvfp4_order)order),
                     (double)g);
            bad += check_quantiser(text, &q, &t, i % 8 == 7 ? CHECK_STEPS_ROWS : CHECK_STEPS_NONE,
                                   &compared);
        }
        free(t.words);
    }
    snprintf(text, sizeof text, "nvfp4 %s, steps of codes", check_type_names[type]);
    report(text, compared, bad);
}

void check_block_quantisers(uint64_t seed, check_report *report)
{
    for (unsigned type = MXV_GPU_F32; type <= MXV_GPU_BF16; type++) {
        for (unsigned format = 0; format <= MXV_GPU_NVFP4; format++)
            check_drawn(format, (enum mxv_gpu_type)type, seed, report);
        check_generated((enum mxv_gpu_type)type, seed, report);
        check_amax((enum mxv_gpu_type)type, seed, report);
        check_int8((enum mxv_gpu_type)type, seed, report);
        check_steps_of_codes((enum mxv_gpu_type)type, seed, report);
    }
}
