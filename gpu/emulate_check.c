// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// emulate_check: what the emulation on a GPU rests on, and how fast it is.
//
//   rows     every NVIDIA row of ref/models.def, random dot products, device against mxv_mma_dot
//   words    ex2, rcp, lg2: integer model against the instruction, all 2^32 words (a device whose
//            unit is modelled: sm_90 is); undecided words of the correctly rounded 2^x
//   rates    multiply-adds per second of each model family, and of softmax weights
//   kernels  calls of 32 heads and 8,192 tokens: for this device's own arch, production kernel
//            against emulation, all words; for other GPUs, how long the emulation takes
//
// Without arguments all four. Exit status: 0, 1 if anything differs, 3 usage or no device.
#include "emulate_check.h"
#include "cuda_memory.h"
#include "emulate_dot.h"
#include "emulate_parts.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOTS = 20480 };

static struct cuda_run run;
static char message[512];

static int fail(const char *what)
{
    fprintf(stderr, "emulate_check: %s: %s\n", what, message);
    return 3;
}

// Words of one row that differ; -1 on an error.
static int64_t check_row(const struct mxv_mma_model *m, struct draw_dot *dots, uint32_t *k)
{
    uint64_t state = 11;
    int64_t wrong = 0;
    for (size_t i = 0; i < DOTS; i++) {
        k[i] = i % 3 == 0 ? 1 + draw_below(&state, DRAW_K) : m->k * (1 + i % 2);
        draw_product(&state, m, i % DRAW_FAMILIES, k[i], &dots[i]);
    }
    cuda_memory_reset();
    const struct draw_dot *device_dots = cuda_send(&run, dots, DOTS * sizeof *dots);
    const uint32_t *device_k = cuda_send(&run, k, DOTS * sizeof *k);
    uint32_t *device_out = cuda_allocate(&run, DOTS * sizeof *device_out);
    if (run.failed ||
        cuda_failed(&run, mxv_emulate_dots(m, device_dots, device_k, DOTS, device_out),
                    "dot products"))
        return -1;
    uint32_t *out = cuda_fetch(&run, device_out, DOTS * sizeof *out);
    if (!out)
        return -1;
#pragma omp parallel for reduction(+ : wrong)
    for (size_t i = 0; i < DOTS; i++)
        wrong += out[i] != mxv_mma_dot(m, k[i], dots[i].a, dots[i].b, dots[i].c, dots[i].scale_a,
                                       dots[i].scale_b);
    free(out);
    return wrong;
}

static int check_rows(void)
{
    struct draw_dot *dots = malloc(DOTS * sizeof *dots);
    uint32_t *k = malloc(DOTS * sizeof *k);
    size_t rows = 0;
    int64_t wrong = 0;
    for (size_t i = 0; dots && k && i < mxv_mma_count() && wrong >= 0; i++) {
        const struct mxv_mma_model *m = mxv_mma_at(i);
        if (!unit_offers(m))
            continue;
        const int64_t n = check_row(m, dots, k);
        if (n > 0)
            printf("FAIL  %s: %" PRId64 " of %d words differ\n", m->name, n, DOTS);
        wrong = n < 0 ? -1 : wrong + n;
        rows++;
    }
    free(dots);
    free(k);
    if (wrong < 0 || rows == 0)
        return fail("rows");
    printf("rows: %zu models, %zu dot products, %" PRId64 " differing words\n", rows, rows * DOTS,
           wrong);
    return wrong != 0;
}

static int check_words(void)
{
    unsigned long long n[MXV_EMULATE_COUNTERS];
    if (cuda_failed(&run, mxv_emulate_words(n), "sweep"))
        return fail("words");
    printf("words: of 2^32 differ from the instruction: ex2 %llu, rcp %llu, lg2 %llu; correctly "
           "rounded 2^x undecided %llu\n",
           n[MXV_EMULATE_EX2], n[MXV_EMULATE_RCP], n[MXV_EMULATE_LG2], n[MXV_EMULATE_UNDECIDED]);
    return n[0] || n[1] || n[2] || n[3];
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*check)(void);
    } parts[] = {{"rows", check_rows},
                 {"words", check_words},
                 {"rates", emulate_rates},
                 {"kernels", emulate_kernels}};
    char text[256];
    int status = 0;
    run = (struct cuda_run){.message = message, .size = sizeof message};
    if (mxv_cuda_device(text, sizeof text)) {
        fprintf(stderr, "emulate_check: %s\n", text);
        return 3;
    }
    printf("device: %s\n", text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status != 3; i++)
        for (int arg = argc > 1 ? 1 : 0; arg < argc; arg++)
            if (argc == 1 || strcmp(argv[arg], parts[i].name) == 0) {
                const int one = parts[i].check();
                status = one > status ? one : status;
                fflush(stdout);
            }
    return status;
}
