// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See check_blocks.h. What is expected comes from mxv_block_quantize block by block, then
// mxv_nibble_pack, mxv_sixbit_pack and mxv_scale_layout_write; bytes are compared, padding too. A
// device buffer is poisoned before each launch. INT8: mxv_int8_code.
#include "check_blocks.h"
#include "cuda_memory.h"
#include "operands.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <mxverify/block.h>
#include <mxverify/case.h>
#include <mxverify/int8.h>
#include <mxverify/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensor {
    size_t rows, d;
    enum mxv_gpu_type type;
    uint32_t *words;    // binary32 words of the values
    const void *device; // the same as `type`
    const float *amax;  // device: of all values that are numbers, at least 2^-20
    uint32_t amax_word;
};

static const enum mxv_element element_of_type[] = {MXV_F32, MXV_F16, MXV_BF16};
static const char *const type_names[] = {"f32", "f16", "bf16"};
static char failure[512];
static struct cuda_run run = {.message = failure, .size = sizeof failure};

static void stop_if(bool failed, const char *what)
{
    if (failed || run.failed) {
        fprintf(stderr, "device_check: %s: %s\n", what, failure);
        exit(3);
    }
}

static void checked(int error, const char *what)
{
    stop_if(cuda_failed(&run, error, what), what);
}

static void *memory(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    stop_if(!p, "out of memory");
    return p;
}

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

// A word of `type` in a block with one exponent range: zeros, subnormals, few significand bits
// (ties) or all, Inf and NaN in some blocks; one block in 64 takes any word.
uint32_t check_drawn_word(enum mxv_gpu_type type, uint64_t block, uint64_t i, uint64_t seed)
{
    const struct mxv_element_info *f = mxv_element_get(element_of_type[type]);
    const unsigned frac = f->frac_bits, kept = 1 + (unsigned)(mix(seed ^ block) % frac);
    const uint64_t b = mix(seed + block * 64), r = mix(b + i + 1);
    const uint32_t top = (1u << f->exp_bits) - 1, base = (uint32_t)(b >> 8) % top;
    const uint32_t spread = 1 + (uint32_t)(b >> 20) % 20, down = (uint32_t)(r >> 40) % spread;
    const uint32_t sign = (uint32_t)(r >> 60 & 1) << (f->bits - 1);
    if (b % 64 == 5)
        return (uint32_t)(r >> 16) & (uint32_t)((UINT64_C(1) << f->bits) - 1);
    if (b >> 56 < 6 && r % 23 == 0)
        return sign | top << frac | (b >> 56 < 3 ? 0 : 1u << (r >> 50) % frac);
    if (r % 37 == 0 || b >> 56 == 9)
        return sign;
    const uint32_t fraction = (uint32_t)r & ((1u << frac) - 1);
    return sign | (base > down ? base - down : 0) << frac |
           (r >> 33 & 1 ? fraction : fraction >> (frac - kept) << (frac - kept));
}

// Puts the values of a tensor, words of its type in t->words, on the device and widens the words.
static void send(struct tensor *t)
{
    const size_t n = t->rows * t->d, bytes = t->type == MXV_GPU_F32 ? 4 : 2;
    uint8_t *packed = memory(n * bytes);
    uint32_t most = UINT32_C(0x35800000);
    for (size_t i = 0; i < n; i++) {
        memcpy(packed + i * bytes, &t->words[i], bytes); // little-endian
        t->words[i] = mxv_element_to_f32(element_of_type[t->type], t->words[i]);
        const uint32_t magnitude = t->words[i] & 0x7fffffffu;
        most = magnitude < 0x7f800000u && magnitude > most ? magnitude : most;
    }
    t->amax_word = most;
    t->device = cuda_send(&run, packed, n * bytes);
    t->amax = cuda_send(&run, &most, sizeof most);
    free(packed);
    stop_if(false, "input");
}

static struct mxv_block_policy policy_of(const struct mxv_gpu_quantiser *q, const struct tensor *t)
{
    struct mxv_block_policy p = {.rule = (enum mxv_scale_rule)q->rule};
    p.scale.inf = q->inf_is_nan ? MXV_SCALE_INF_NAN : MXV_SCALE_INF_MAX;
    p.nvfp4.order = (enum mxv_nvfp4_order)q->order;
    p.nvfp4.tensor_scaled = q->tensor_amax != NULL;
    p.nvfp4.tensor_amax = t->amax_word;
    return p;
}

struct expected {
    uint8_t *codes, *scales;
    size_t code_bytes, scale_bytes;
};

static void pack_row(const struct mxv_gpu_quantiser *q, const uint8_t *codes, size_t d,
                     uint8_t *out)
{
    const unsigned bits = mxv_element_get(mxv_block_get((enum mxv_block)q->format)->element)->bits;
    if (bits == 8 || q->unpacked)
        memcpy(out, codes, d);
    else if (bits == 6)
        mxv_sixbit_pack(codes, d, out);
    else
        mxv_nibble_pack(MXV_NIBBLE_LOW_FIRST, codes, d, out);
}

static struct expected expect(const struct mxv_gpu_quantiser *q, const struct tensor *t)
{
    const enum mxv_block format = (enum mxv_block)q->format;
    const struct mxv_block_info *f = mxv_block_get(format);
    const struct mxv_block_policy p = policy_of(q, t);
    const size_t columns = t->d / f->size;
    const unsigned bits = q->unpacked ? 8 : mxv_element_get(f->element)->bits;
    const size_t row_bytes = t->d * bits / 8;
    const enum mxv_scale_layout layout = (enum mxv_scale_layout)q->layout;
    struct expected e = {.code_bytes = t->rows * row_bytes,
                         .scale_bytes = mxv_scale_layout_size(layout, t->rows, columns)};
    uint8_t *scales = memory(t->rows * columns);
    e.codes = memory(e.code_bytes);
    e.scales = memory(e.scale_bytes);
#pragma omp parallel for
    for (size_t r = 0; r < t->rows; r++) {
        uint8_t codes[1024];
        for (size_t c = 0; c < columns; c++) {
            const uint32_t *x = t->words + r * t->d + c * f->size;
            uint8_t *scale = &scales[r * columns + c];
            mxv_block_quantize(format, &p, x, scale, codes + c * f->size);
            const uint8_t nan = f->scale == MXV_E8M0 ? 0xFF : 0x7F;
            if (q->nan_is_zero && *scale == nan)
                memset(codes + c * f->size, 0, f->size);
        }
        pack_row(q, codes, t->d, e.codes + r * row_bytes);
    }
    mxv_scale_layout_write(layout, scales, t->rows, columns, 0, e.scales);
    free(scales);
    return e;
}

static uint64_t differing(const char *what, const char *part, const uint8_t *want,
                          const uint8_t *device, size_t n)
{
    uint64_t bad = 0;
    uint8_t *got = cuda_fetch(&run, device, n);
    stop_if(!got, what);
    for (size_t i = 0; i < n; i++) {
        if (got[i] != want[i] && bad++ < 3)
            printf("  %s: %s byte %zu: device %02x, formats %02x\n", what, part, i, got[i],
                   want[i]);
    }
    free(got);
    return bad;
}

// One launch against formats/. `steps`: through the kernel of rows with steps on their way, with a
// factor of 1.
static uint64_t compare(const char *what, const struct mxv_gpu_quantiser *q, const struct tensor *t,
                        bool steps, uint64_t *compared)
{
    const struct mxv_gpu_rows rows = {.data = t->device,
                                      .type = t->type,
                                      .cast = t->type,
                                      .heads = 1,
                                      .tokens = (int32_t)t->rows,
                                      .d = (int32_t)t->d,
                                      .sequences = 1,
                                      .channel_group = 1,
                                      .scaled = steps,
                                      .factor = 1};
    struct expected e = expect(q, t);
    uint64_t bad = (e.code_bytes != mxv_gpu_code_bytes(q, t->rows, t->d)) +
                   (e.scale_bytes != mxv_gpu_scale_bytes(q, t->rows, t->d));
    uint8_t *codes = cuda_allocate(&run, e.code_bytes),
            *scales = cuda_allocate(&run, e.scale_bytes);
    stop_if(false, what);
    checked((int)cudaMemset(codes, 0xA5, e.code_bytes), what);
    checked((int)cudaMemset(scales, 0xA5, e.scale_bytes), what);
    checked(mxv_gpu_quantise_blocks(&rows, q, codes, scales), what);
    checked((int)cudaDeviceSynchronize(), what);
    bad += differing(what, "code", e.codes, codes, e.code_bytes);
    bad += differing(what, "scale", e.scales, scales, e.scale_bytes);
    *compared += e.code_bytes + e.scale_bytes;
    free(e.codes);
    free(e.scales);
    return bad;
}

// All rules of a format, or orders of NVFP4 without and with tensor scale, over one tensor; layout,
// packing, policies and the kernel for rows with steps take turns.
static uint64_t compare_choices(unsigned format, const struct tensor *t, unsigned turn,
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
        const bool steps = (turn + i) % 5 == 0;
        snprintf(what, sizeof what, "%s %s %s%s %zux%zu layout %s%s%s%s%s",
                 mxv_block_get((enum mxv_block)format)->name, type_names[t->type],
                 nvfp4 ? mxv_nvfp4_order_name((enum mxv_nvfp4_order)q.order)
                       : mxv_scale_rule_name((enum mxv_scale_rule)q.rule),
                 q.tensor_amax ? " tensor" : "", t->rows, t->d,
                 mxv_scale_layout_name((enum mxv_scale_layout)q.layout),
                 q.unpacked ? " unpacked" : "", q.inf_is_nan ? " inf=nan" : "",
                 q.nan_is_zero ? " nan=0" : "", steps ? " rows" : "");
        bad += compare(what, &q, t, steps, compared);
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
        struct tensor t = {.rows = shapes[s][0], .d = shapes[s][1], .type = type};
        const size_t n = t.rows * t.d, size = format == MXV_GPU_NVFP4 ? 16 : 32;
        cuda_memory_reset();
        t.words = memory(n * sizeof *t.words);
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            t.words[i] = check_drawn_word(type, i / size, i % size, seed + 977 * s + format);
        send(&t);
        for (unsigned turn = 0; turn < (s == 1 ? 16 : 2); turn++)
            bad += compare_choices(format, &t, turn + (unsigned)s, &compared);
        free(t.words);
    }
    snprintf(text, sizeof text, "%s %s, drawn words", mxv_block_get((enum mxv_block)format)->name,
             type_names[type]);
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
                 g % 2 ? "tilemix" : "dma", type_names[type], mxv_generator_name(g / 2), seed + g);
        if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
            mxv_case_build(&c, &data, message, sizeof message) != MXV_OK) {
            fprintf(stderr, "device_check: %s: %s\n", line, message);
            exit(3);
        }
        struct tensor t = {.rows = 160, .d = 64, .type = type};
        t.words = memory(t.rows * t.d * sizeof *t.words);
        for (size_t i = 0; i < t.rows * t.d; i++) {
            uint32_t word;
            memcpy(&word, &data.k[i], sizeof word);
            t.words[i] = (uint32_t)mxv_element_from_f32(element_of_type[type], word, NULL);
        }
        cuda_memory_reset();
        send(&t);
        for (unsigned format = 0; format <= MXV_GPU_NVFP4; format++)
            bad[format] += compare_choices(format, &t, g, &compared[format]);
        mxv_case_free(&data);
        free(t.words);
    }
    for (unsigned format = 0; format <= MXV_GPU_NVFP4; format++) {
        char text[96];
        snprintf(text, sizeof text, "%s %s, all generators",
                 mxv_block_get((enum mxv_block)format)->name, type_names[type]);
        report(text, compared[format], bad[format]);
    }
}

static void check_amax(enum mxv_gpu_type type, uint64_t seed, check_report *report)
{
    uint64_t bad = 0, n = 0;
    for (size_t d = 1; d < 4000; d += 97 + d % 5) {
        struct tensor t = {.rows = 1, .d = d, .type = type};
        cuda_memory_reset();
        t.words = memory(d * sizeof *t.words);
        for (size_t i = 0; i < d; i++)
            t.words[i] = check_drawn_word(type, i / 32, i % 32, seed + d % 3);
        send(&t);
        uint32_t *out = cuda_allocate(&run, sizeof *out), *got;
        checked(mxv_gpu_tensor_amax(t.device, type, d, (float *)out), "tensor amax");
        got = cuda_fetch(&run, out, sizeof *out);
        stop_if(!got, "tensor amax");
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
    struct tensor t = {.rows = 4096, .d = 96, .type = type};
    const size_t n = t.rows * t.d;
    uint32_t *scale = memory(t.rows * sizeof *scale);
    uint64_t bad = 0;
    cuda_memory_reset();
    t.words = memory(n * sizeof *t.words);
    for (size_t i = 0; i < n; i++)
        t.words[i] = check_drawn_word(type, i / t.d, i % t.d, seed + 5);
    send(&t);
    for (size_t r = 0; r < t.rows; r++) {
        const uint64_t draw = mix(seed + r);
        const uint32_t amax = mxv_block_amax(t.words + r * t.d, t.d, MXV_BLOCK_NAN_IGNORE);
        scale[r] = draw % 16 == 0 ? (uint32_t)(draw >> 33) : mxv_int8_scale(NULL, amax);
        if (draw % 8 == 1) // few significand bits: ties
            scale[r] &= 0x7f800000u;
    }
    const float *device_scale = cuda_send(&run, scale, t.rows * sizeof *scale);
    int8_t *codes = cuda_allocate(&run, n), *want = memory(n);
    stop_if(false, "int8");
    const struct mxv_gpu_rows rows = {.data = t.device,
                                      .type = type,
                                      .cast = type,
                                      .heads = 1,
                                      .tokens = (int32_t)t.rows,
                                      .d = (int32_t)t.d,
                                      .sequences = 1};
    for (unsigned away = 0; away < 2; away++) {
        const struct mxv_int8_policy p = {.round = away ? MXV_RNA : MXV_RNE, .symmetric = true};
        for (size_t i = 0; i < n; i++)
            want[i] = mxv_int8_code(&p, t.words[i], scale[i / t.d], 0);
        checked(mxv_gpu_quantise_int8(&rows, device_scale, away, codes), "int8");
        bad += differing(away ? "int8 rna" : "int8 rne", "code", (const uint8_t *)want,
                         (const uint8_t *)codes, n);
    }
    char text[64];
    snprintf(text, sizeof text, "int8 %s, scales given", type_names[type]);
    report(text, 2 * n, bad);
    free(t.words);
    free(scale);
    free(want);
}

void check_block_quantisers(uint64_t seed, check_report *report)
{
    for (unsigned type = MXV_GPU_F32; type <= MXV_GPU_BF16; type++) {
        for (unsigned format = 0; format <= MXV_GPU_NVFP4; format++)
            check_drawn(format, (enum mxv_gpu_type)type, seed, report);
        check_generated((enum mxv_gpu_type)type, seed, report);
        check_amax((enum mxv_gpu_type)type, seed, report);
        check_int8((enum mxv_gpu_type)type, seed, report);
    }
}
