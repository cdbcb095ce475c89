// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// device_check [--all] [--blocks] [--seed HEX]: compares single instructions and the block
// quantisers of the device with the models: special functions and conversions over every 256th
// binary32 word (--all: over all 2^32), mma.sync over seeded tiles of several exponent families,
// block quantisers over all formats, rules, orders, input types and layouts (check_blocks.c; alone
// with --blocks). A NaN equals any NaN of its type. docs/gpu.md is the manual.
//
// Exit status: 0 nothing differs, 1 something does, 3 usage or no device.
#include "check_blocks.h"
#include "check_units.h"
#include "cuda_run.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/special.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 24, TILES = 1 << 13 };

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

static void conclude(const char *what, uint64_t n, uint64_t bad) // a check_report
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

static void check_instructions(uint32_t stride, uint64_t seed)
{
#define X(id, name) check_words(MXV_CHECK_##id, name, stride);
    MXV_CHECK_WORD_OPS(X)
#undef X
#define X(id, model, k, bytes, name) check_mma(MXV_CHECK_MMA_##id, model, k, bytes, seed);
    MXV_CHECK_MMA_OPS(X)
#undef X
}

int main(int argc, char **argv)
{
    uint32_t stride = 256;
    uint64_t seed = 1;
    bool blocks_alone = false;
    char text[256];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            stride = 1;
        else if (strcmp(argv[i], "--blocks") == 0)
            blocks_alone = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 16);
        else
            stop("usage: device_check [--all] [--blocks] [--seed HEX]");
    }
    if (mxv_cuda_device(text, sizeof text))
        stop(text);
    printf("device: %s\n", text);
    if (!blocks_alone)
        check_instructions(stride, seed);
    check_block_quantisers(seed, conclude);
    check_prepare(seed, conclude);
    check_fused(seed, conclude);
    printf("%" PRIu64 " differ\n", total_bad);
    return total_bad ? 1 : 0;
}
