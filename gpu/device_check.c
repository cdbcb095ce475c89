// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// device_check [--all] [--seed HEX]: compares single instructions and the block quantisers of the
// device with the models: special functions and conversions over every 256th binary32 word (--all:
// over all 2^32), mma.sync over seeded tiles of several exponent families, blocks over all formats
// and scale rules. A NaN equals any NaN of its type. docs/gpu.md is the manual.
//
// Exit status: 0 nothing differs, 1 something does, 3 usage or no device.
#include "check_units.h"
#include "cuda_memory.h"
#include "operands.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/special.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 24, TILES = 1 << 13, BLOCK_ROWS = 1 << 14, BLOCK_D = 128 };

static uint64_t total_bad;

static void stop(const char *what)
{
    fprintf(stderr, "device_check: %s\n", what);
    exit(3);
}

static void checked(int error, const char *what)
{
    if (error != (int)cudaSuccess) {
        fprintf(stderr, "%s: ", what);
        stop(cudaGetErrorString((cudaError_t)error));
    }
}

static void *device_memory(size_t bytes)
{
    void *p = NULL;
    checked((int)cudaMalloc(&p, bytes), "cudaMalloc");
    checked((int)cudaMemset(p, 0xA5, bytes), "cudaMemset");
    return p;
}

static void *host_memory(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        stop("out of memory");
    return p;
}

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint32_t expected_word(enum mxv_check_word_op op, uint32_t x)
{
    static const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE};
    switch (op) {
    case MXV_CHECK_EX2_FTZ:
    case MXV_CHECK_EX2:
        return mxv_ex2(x, op == MXV_CHECK_EX2_FTZ);
    case MXV_CHECK_RCP_FTZ:
    case MXV_CHECK_RCP:
        return mxv_rcp(x, op == MXV_CHECK_RCP_FTZ);
    case MXV_CHECK_RSQRT_FTZ:
    case MXV_CHECK_RSQRT:
        return mxv_rsqrt(x, op == MXV_CHECK_RSQRT_FTZ);
    case MXV_CHECK_LG2_FTZ:
    case MXV_CHECK_LG2:
        return mxv_lg2(x, op == MXV_CHECK_LG2_FTZ);
    case MXV_CHECK_EX2_POLY:
        return mxv_ex2_poly(x, 3);
    case MXV_CHECK_TO_F16:
        return (uint32_t)mxv_element_from_f32(MXV_F16, x, &ieee);
    case MXV_CHECK_TO_BF16:
        return (uint32_t)mxv_element_from_f32(MXV_BF16, x, &ieee);
    case MXV_CHECK_TO_E4M3:
        return (uint32_t)mxv_element_from_f32(MXV_E4M3, x, NULL);
    default:
        return (uint32_t)mxv_element_from_f32(MXV_E5M2, x, NULL);
    }
}

static enum mxv_element word_format(enum mxv_check_word_op op)
{
    return op == MXV_CHECK_TO_F16    ? MXV_F16
           : op == MXV_CHECK_TO_BF16 ? MXV_BF16
           : op == MXV_CHECK_TO_E4M3 ? MXV_E4M3
           : op == MXV_CHECK_TO_E5M2 ? MXV_E5M2
                                     : MXV_F32;
}

static bool same(enum mxv_element f, uint32_t x, uint32_t y)
{
    return x == y || (mxv_element_is_nan(f, x) && mxv_element_is_nan(f, y));
}

static void conclude(const char *what, uint64_t n, uint64_t bad)
{
    printf("%-34s %12" PRIu64 " compared, %" PRIu64 " differ\n", what, n, bad);
    fflush(stdout);
    total_bad += bad;
}

static void check_words(enum mxv_check_word_op op, const char *name, uint32_t stride)
{
    uint32_t *device = device_memory(CHUNK * sizeof *device);
    uint32_t *host = host_memory(CHUNK * sizeof *host);
    const uint64_t n = (UINT64_C(1) << 32) / stride;
    uint64_t bad = 0;
    for (uint64_t at = 0; at < n; at += CHUNK) {
        const uint32_t first = (uint32_t)(at * stride);
        checked(mxv_check_words(op, first, stride, CHUNK, device), name);
        checked((int)cudaMemcpy(host, device, CHUNK * sizeof *host, cudaMemcpyDeviceToHost), name);
#pragma omp parallel for reduction(+ : bad)
        for (uint32_t i = 0; i < CHUNK; i++) {
            const uint32_t x = first + i * stride, want = expected_word(op, x);
            if (!same(word_format(op), host[i], want)) {
                if (bad++ == 0)
                    printf("  %s of %08x: device %08x, model %08x\n", name, x, host[i], want);
            }
        }
    }
    checked((int)cudaFree(device), "cudaFree");
    free(host);
    conclude(name, n, bad);
}

// An element word; the family narrows the exponents so that sums cancel, align or underflow.
static uint32_t element_word(const struct mxv_element_info *f, unsigned family, uint64_t r)
{
    const unsigned bits = f->exp_bits + f->frac_bits;
    const uint32_t top = (1u << f->exp_bits) - 1, u = (uint32_t)(r >> 41 & 0xffff);
    uint32_t e = 0;
    if (f->shape != MXV_SHAPE_FLOAT)
        return family % 2 ? (uint32_t)(r & 0xff) : r & 1 ? 0x80 : 0x7f;
    if (family == 0)
        return (uint32_t)r & ((2u << bits) - 1);
    if (family == 3 && u % 4)
        return 0;
    e = family == 1   ? top * 28 / 64 + u % (top * 8 / 64 + 2)
        : family == 2 ? u % (top / 5 + 2)
        : family == 3 ? (u >> 2) % top
                      : top * 16 / 64 + u % (top / 2 + 1);
    return (uint32_t)(r >> 40 & 1) << bits | e << f->frac_bits |
           ((uint32_t)r & ((1u << f->frac_bits) - 1));
}

static void fill_elements(enum mxv_element e, unsigned bytes, size_t n, unsigned family,
                          uint64_t seed, uint8_t *out)
{
    const struct mxv_element_info *f = mxv_element_get(e);
    for (size_t i = 0; i < n; i++) {
        uint32_t w = element_word(f, family, mix(seed + i));
        w = e == MXV_TF32 ? w << 13 : w;
        memcpy(out + i * bytes, &w, bytes); // little-endian
    }
}

static uint64_t compare_tile(const struct mxv_mma_model *m, size_t k, unsigned bytes,
                             const uint8_t *a, const uint8_t *b, const uint32_t *c,
                             const uint32_t *d)
{
    struct mxv_operand oa[16 * 32], ob[8 * 32];
    uint32_t words[16 * 32] = {0}, want[128];
    uint64_t bad = 0;
    for (size_t i = 0; i < 16 * k; i++)
        memcpy(&words[i], a + i * bytes, bytes);
    mxv_mma_decode_a(m, words, 16 * k, oa);
    memset(words, 0, sizeof words);
    for (size_t i = 0; i < 8 * k; i++)
        memcpy(&words[i], b + i * bytes, bytes);
    mxv_mma_decode_b(m, words, 8 * k, ob);
    memcpy(want, c, sizeof want);
    mxv_mma_tile(m, 16, 8, k, oa, ob, NULL, NULL, want, 8);
    for (size_t i = 0; i < 128; i++)
        bad += !(m->result == MXV_MMA_S32 ? d[i] == want[i] : same(MXV_F32, d[i], want[i]));
    return bad;
}

static void check_mma(enum mxv_check_mma_op op, const char *model, size_t k, unsigned bytes,
                      uint64_t seed)
{
    const struct mxv_mma_model *m = mxv_mma_find(model);
    uint8_t *a = host_memory(TILES * 512), *b = host_memory(TILES * 256);
    uint32_t *c = host_memory(TILES * 512), *d = host_memory(TILES * 512);
    uint64_t bad = 0;
    if (!m)
        stop(model);
    for (size_t t = 0; t < TILES; t++) {
        const uint64_t s = mix(seed + op * UINT64_C(1000003) + t);
        fill_elements(m->a, bytes, 16 * k, (unsigned)(t % 5), s, a + t * 512);
        fill_elements(m->b, bytes, 8 * k, (unsigned)(t % 5), s + 1000, b + t * 256);
        for (size_t i = 0; i < 128; i++) {
            const uint64_t r = mix(s + 5000 + i);
            c[t * 128 + i] = r % 5 == 0 ? 0
                             : m->result == MXV_MMA_S32
                                 ? (uint32_t)r
                                 : element_word(mxv_element_get(MXV_F32), (unsigned)(t / 5 % 5), r);
        }
    }
    void *da = device_memory(TILES * 512), *db = device_memory(TILES * 256);
    void *dc = device_memory(TILES * 512), *dd = device_memory(TILES * 512);
    checked((int)cudaMemcpy(da, a, TILES * 512, cudaMemcpyHostToDevice), model);
    checked((int)cudaMemcpy(db, b, TILES * 256, cudaMemcpyHostToDevice), model);
    checked((int)cudaMemcpy(dc, c, TILES * 512, cudaMemcpyHostToDevice), model);
    checked(mxv_check_mma(op, TILES, da, db, dc, dd), model);
    checked((int)cudaMemcpy(d, dd, TILES * 512, cudaMemcpyDeviceToHost), model);
#pragma omp parallel for reduction(+ : bad)
    for (size_t t = 0; t < TILES; t++)
        bad += compare_tile(m, k, bytes, a + t * 512, b + t * 256, c + t * 128, d + t * 128);
    conclude(model, TILES * 128, bad);
    checked((int)cudaFree(da) | (int)cudaFree(db) | (int)cudaFree(dc) | (int)cudaFree(dd), "free");
    free(a);
    free(b);
    free(c);
    free(d);
}

// A binary32 word of a block: one exponent range a block, with zeros, subnormals, Inf and NaN.
static uint32_t block_word(uint64_t block, uint64_t i, uint64_t seed)
{
    const uint64_t b = mix(seed + block * 64), r = mix(b + i + 1);
    const uint32_t base = (uint32_t)(b % 250), spread = 1 + (uint32_t)(b >> 20) % 20;
    const uint32_t sign = (uint32_t)(r >> 60 & 1) << 31;
    if (b >> 56 < 4 && r % 23 == 0)
        return sign | (b >> 56 < 2 ? 0x7f800000u : 0x7fc00000u);
    if (r % 37 == 0)
        return sign;
    const uint32_t fraction = r >> 33 & 1 ? (uint32_t)r & 0x7fffff : (uint32_t)(r & 7) << 20;
    const uint32_t down = (uint32_t)(r >> 40) % spread;
    return sign | (base > down ? base - down : 0) << 23 | fraction;
}

static uint64_t compare_block(enum mxv_gpu_block_format format, enum mxv_scale_rule rule,
                              const uint32_t *x, const uint32_t *codes, uint8_t scale)
{
    static const enum mxv_element elements[] = {MXV_E4M3, MXV_E5M2, MXV_E2M1, MXV_E2M1};
    const struct mxv_scale_policy policy = {.inf = MXV_SCALE_INF_MAX};
    const size_t n = format == MXV_GPU_NVFP4 ? 16 : 32;
    uint32_t amax = 0;
    bool nan = false;
    uint64_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = x[i] & 0x7fffffffu;
        nan = nan || magnitude > 0x7f800000u;
        amax = magnitude > amax ? magnitude : amax;
    }
    uint8_t want = nan ? 0xFF : mxv_scale_e8m0(rule, elements[format], amax, &policy);
    if (format == MXV_GPU_NVFP4)
        want = nan ? 0x7F
                   : (uint8_t)mxv_element_from_quotient(MXV_E4M3, amax, 0x40c00000u, MXV_ARITH_DIV,
                                                        NULL);
    bad += want != scale;
    for (size_t i = 0; i < n; i++) {
        uint32_t code = 0;
        if (!nan && format == MXV_GPU_NVFP4) {
            const uint32_t s = mxv_element_to_f32(MXV_E4M3, want);
            code = s ? (uint32_t)mxv_element_from_quotient(MXV_E2M1, x[i], s, MXV_ARITH_DIV, NULL)
                     : x[i] >> 31 << 3;
        } else if (!nan) {
            struct mxv_value v = mxv_element_decode(MXV_F32, x[i]);
            v.exp -= (int)want - 127;
            code = (uint32_t)mxv_element_encode(elements[format], v, NULL);
        }
        bad += code != codes[i];
    }
    return bad;
}

static void check_blocks(enum mxv_gpu_block_format format, const char *name,
                         enum mxv_scale_rule rule, uint64_t seed)
{
    const size_t n = (size_t)BLOCK_ROWS * BLOCK_D, size = (size_t)mxv_gpu_block_size(format);
    const bool packed = format == MXV_GPU_MXFP4 || format == MXV_GPU_NVFP4;
    char message[256] = "", text[96];
    struct cuda_run run = {.message = message, .size = sizeof message};
    uint32_t *x = host_memory(n * sizeof *x);
    const int32_t starts[2] = {0, BLOCK_ROWS};
    uint64_t bad = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = block_word(i / size, i % size, seed + rule * 977);
    cuda_memory_reset();
    int32_t *sequence_of = cuda_allocate(&run, BLOCK_ROWS * sizeof *sequence_of);
    uint8_t *codes = cuda_allocate(&run, packed ? n / 2 : n),
            *scales = cuda_allocate(&run, n / size);
    struct mxv_gpu_rows rows = {.type = MXV_GPU_F32,
                                .cast = MXV_GPU_F32,
                                .heads = 1,
                                .tokens = BLOCK_ROWS,
                                .d = BLOCK_D,
                                .sequences = 1,
                                .channel_group = 1,
                                .sequence_of = sequence_of};
    rows.data = cuda_send(&run, x, n * sizeof *x);
    rows.cu = cuda_send(&run, starts, sizeof starts);
    if (run.failed)
        stop(message);
    checked((int)cudaMemset(sequence_of, 0, BLOCK_ROWS * sizeof *sequence_of), name);
    checked(mxv_gpu_quantise(&rows, format, (enum mxv_gpu_scale_rule)rule, codes, scales), name);
    uint32_t *got = cuda_fetch_words(&run, codes, n, packed ? 0 : 1);
    uint8_t *got_scales = cuda_fetch(&run, scales, n / size);
    if (run.failed)
        stop(message);
#pragma omp parallel for reduction(+ : bad)
    for (size_t b = 0; b < n / size; b++)
        bad += compare_block(format, rule, x + b * size, got + b * size, got_scales[b]);
    snprintf(text, sizeof text, "%s rule %s", name, mxv_scale_rule_name(rule));
    conclude(text, n + n / size, bad);
    free(x);
    free(got);
    free(got_scales);
}

int main(int argc, char **argv)
{
    uint32_t stride = 256;
    uint64_t seed = 1;
    char text[256];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            stride = 1;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 16);
        else
            stop("usage: device_check [--all] [--seed HEX]");
    }
    if (mxv_cuda_device(text, sizeof text))
        stop(text);
    printf("device: %s\n", text);
#define X(id, name) check_words(MXV_CHECK_##id, name, stride);
    MXV_CHECK_WORD_OPS(X)
#undef X
#define X(id, model, k, bytes, name) check_mma(MXV_CHECK_MMA_##id, model, k, bytes, seed);
    MXV_CHECK_MMA_OPS(X)
#undef X
    for (unsigned rule = 0; rule <= MXV_SCALE_MIDMAX; rule++) {
        check_blocks(MXV_GPU_MXFP8_E4M3, "mxfp8_e4m3", (enum mxv_scale_rule)rule, seed);
        check_blocks(MXV_GPU_MXFP8_E5M2, "mxfp8_e5m2", (enum mxv_scale_rule)rule, seed);
        check_blocks(MXV_GPU_MXFP4, "mxfp4", (enum mxv_scale_rule)rule, seed);
    }
    check_blocks(MXV_GPU_NVFP4, "nvfp4", MXV_SCALE_FLOOR, seed);
    printf("%" PRIu64 " differ\n", total_bad);
    return total_bad ? 1 : 0;
}
