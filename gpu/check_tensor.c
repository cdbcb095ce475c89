// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See check_tensor.h. What is expected comes from mxv_block_quantize block by block, then
// mxv_nibble_pack, mxv_sixbit_pack and mxv_scale_layout_write; bytes are compared, padding too. A
// device buffer is poisoned before each launch.
#include "check_tensor.h"
#include "check_blocks.h"

#include <cuda_runtime_api.h>
#include <mxverify/block.h>
#include <mxverify/f32.h>
#include <mxverify/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const enum mxv_element check_elements[] = {MXV_F32, MXV_F16, MXV_BF16};
const char *const check_type_names[] = {"f32", "f16", "bf16"};
static char failure[512];
struct cuda_run check_run = {.message = failure, .size = sizeof failure};

void check_stop_if(bool failed, const char *what)
{
    if (failed || check_run.failed) {
        fprintf(stderr, "device_check: %s: %s\n", what, failure);
        exit(3);
    }
}

void check_call(int error, const char *what)
{
    check_stop_if(cuda_failed(&check_run, error, what), what);
}

void *check_memory(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    check_stop_if(!p, "out of memory");
    return p;
}

uint64_t check_mix(uint64_t z)
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
    const struct mxv_element_info *f = mxv_element_get(check_elements[type]);
    const unsigned frac = f->frac_bits, kept = 1 + (unsigned)(check_mix(seed ^ block) % frac);
    const uint64_t b = check_mix(seed + block * 64), r = check_mix(b + i + 1);
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

void check_send_amax(struct check_tensor *t, uint32_t word)
{
    t->amax_word = word;
    t->amax = cuda_send(&check_run, &word, sizeof word);
    check_stop_if(false, "tensor maximum");
}

void check_send(struct check_tensor *t)
{
    const size_t n = t->rows * t->d, bytes = t->type == MXV_GPU_F32 ? 4 : 2;
    uint8_t *packed = check_memory(n * bytes);
    uint32_t most = UINT32_C(0x35800000);
    for (size_t i = 0; i < n; i++) {
        memcpy(packed + i * bytes, &t->words[i], bytes); // little-endian
        t->words[i] = mxv_element_to_f32(check_elements[t->type], t->words[i]);
        const uint32_t magnitude = t->words[i] & 0x7fffffffu;
        most = magnitude < 0x7f800000u && magnitude > most ? magnitude : most;
    }
    t->device = cuda_send(&check_run, packed, n * bytes);
    check_send_amax(t, most);
    uint32_t *ones = check_memory(t->rows * sizeof *ones);
    for (size_t r = 0; r < t->rows; r++)
        ones[r] = UINT32_C(0x3F800000);
    t->ones = cuda_send(&check_run, ones, t->rows * sizeof *ones);
    free(ones);
    if (t->heads == 0)
        t->heads = t->rows % 2 ? 1 : 2;
    free(packed);
    check_stop_if(false, "input");
}

static struct mxv_block_policy policy_of(const struct mxv_gpu_quantiser *q,
                                         const struct check_tensor *t)
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

const char *const check_step_names[CHECK_STEPS_COUNT] = {
    "", " factor", " large factor", " mean", " mean and factor", " rows"};
static const uint32_t factor_words[CHECK_STEPS_COUNT] = {0x3F800000, 0x3E0293F3, 0x5300ABCD,
                                                         0x3F800000, 0x3E0293F3, 0x3F800000};

static bool has_mean(enum check_steps steps)
{
    return steps == CHECK_STEPS_MEAN || steps == CHECK_STEPS_MEAN_FACTOR;
}

static size_t mean_vector(const struct check_tensor *t, size_t row)
{
    const size_t tokens = t->rows / (size_t)t->heads;
    return row / tokens * 2 + row % tokens % 2;
}

void check_send_means(struct check_tensor *t)
{
    const size_t n = (size_t)t->heads * 2 * t->d;
    int32_t *sequences = check_memory(t->rows * sizeof *sequences);
    t->mean_words = check_memory(n * sizeof *t->mean_words);
    for (size_t i = 0; i < n; i++) { // numbers of the tensor
        const uint32_t word = t->words[check_mix(i) % (t->rows * t->d)];
        t->mean_words[i] = (word & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000) ? 0 : word;
    }
    for (size_t i = 0; i < t->rows; i++)
        sequences[i] = (int32_t)(i % 2);
    t->means = cuda_send(&check_run, t->mean_words, n * sizeof *t->mean_words);
    t->sequence_of = cuda_send(&check_run, sequences, t->rows * sizeof *sequences);
    check_stop_if(false, "means");
    free(sequences);
}

uint32_t check_stepped(const struct check_tensor *t, enum check_steps steps, size_t row,
                       size_t channel)
{
    static const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
    uint32_t x = t->words[row * t->d + channel];
    if (has_mean(steps)) {
        x = mxv_f32_sub(x, t->mean_words[mean_vector(t, row) * t->d + channel]);
        const uint64_t rounded = mxv_element_from_f32(check_elements[t->type], x, &ieee);
        x = mxv_element_to_f32(check_elements[t->type], rounded);
    }
    return mxv_f32_mul(x, factor_words[steps]);
}

struct mxv_gpu_rows check_rows(const struct check_tensor *t, enum check_steps steps)
{
    struct mxv_gpu_rows rows = {.data = t->device,
                                .type = t->type,
                                .cast = t->type,
                                .heads = t->heads,
                                .tokens = (int32_t)t->rows / t->heads,
                                .d = (int32_t)t->d,
                                .sequences = 2,
                                .sequence_of = t->sequence_of,
                                .channel_group = 1,
                                .mean = has_mean(steps) ? t->means : NULL,
                                .scaled = factor_words[steps] != factor_words[CHECK_STEPS_NONE],
                                .row_divisor = steps == CHECK_STEPS_ROWS ? t->ones : NULL};
    memcpy(&rows.factor, &factor_words[steps], sizeof rows.factor);
    return rows;
}

static struct expected expect(const struct mxv_gpu_quantiser *q, const struct check_tensor *t,
                              enum check_steps steps)
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
    uint8_t *scales = check_memory(t->rows * columns);
    e.codes = check_memory(e.code_bytes);
    e.scales = check_memory(e.scale_bytes);
#pragma omp parallel for
    for (size_t r = 0; r < t->rows; r++) {
        uint8_t codes[1024];
        uint32_t words[1024];
        for (size_t i = 0; i < t->d; i++)
            words[i] = check_stepped(t, steps, r, i);
        for (size_t c = 0; c < columns; c++) {
            const uint32_t *x = words + c * f->size;
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

uint64_t check_differing(const char *what, const char *part, const uint8_t *want,
                         const uint8_t *device, size_t n)
{
    uint64_t bad = 0;
    uint8_t *got = cuda_fetch(&check_run, device, n);
    check_stop_if(!got, what);
    for (size_t i = 0; i < n; i++) {
        if (got[i] != want[i] && bad++ < 3)
            printf("  %s: %s byte %zu: device %02x, formats %02x\n", what, part, i, got[i],
                   want[i]);
    }
    free(got);
    return bad;
}

uint64_t check_quantiser(const char *what, const struct mxv_gpu_quantiser *q,
                         const struct check_tensor *t, enum check_steps steps, uint64_t *compared)
{
    const struct mxv_gpu_rows rows = check_rows(t, steps);
    struct expected e = expect(q, t, steps);
    uint64_t bad = (e.code_bytes != mxv_gpu_code_bytes(q, t->rows, t->d)) +
                   (e.scale_bytes != mxv_gpu_scale_bytes(q, t->rows, t->d));
    uint8_t *codes = cuda_allocate(&check_run, e.code_bytes),
            *scales = cuda_allocate(&check_run, e.scale_bytes);
    check_stop_if(false, what);
    check_call((int)cudaMemset(codes, 0xA5, e.code_bytes), what);
    check_call((int)cudaMemset(scales, 0xA5, e.scale_bytes), what);
    check_call(mxv_gpu_quantise_blocks(&rows, q, codes, scales), what);
    check_call((int)cudaDeviceSynchronize(), what);
    bad += check_differing(what, "code", e.codes, codes, e.code_bytes);
    bad += check_differing(what, "scale", e.scales, scales, e.scale_bytes);
    *compared += e.code_bytes + e.scale_bytes;
    free(e.codes);
    free(e.scales);
    return bad;
}
