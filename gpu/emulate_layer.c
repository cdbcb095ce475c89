// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// One layer of 32 heads and 8,192 tokens, d = 128, causal. On the arch of this device, production
// kernels against emulation, every word of out and LSE; on every arch, the seconds from tensors in
// host memory to words in host memory (the second of two runs). The CPU's side of such a case is
// `emulate_verify --tiles`.
#include "emulate_parts.h"
#include "emulate_run.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <mxverify/case.h>
#include <stdio.h>
#include <time.h>

static char message[512];

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "emulate_check: kernels: %s: %s\n", what, message);
    return 3;
}

static uint64_t differing(const uint32_t *x, const uint32_t *y, size_t n)
{
    uint64_t count = 0;
#pragma omp parallel for reduction(+ : count)
    for (size_t i = 0; i < n; i++)
        count += x[i] != y[i];
    return count;
}

// Production kernel against emulation; the outputs hold no NaN, so words are compared.
static int compare(const struct mxv_attention *a)
{
    struct mxv_cuda_result production = {0}, emulation = {0};
    const char *kernel = mxv_choice_name(MXV_CHOICE_KERNEL, a->kernel);
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    int status;
    if (mxv_cuda_run(a, MXV_CUDA_PRODUCTION, &production, message, sizeof message) ||
        mxv_emulate_run(a, MXV_CUDA_PRODUCTION, &emulation, message, sizeof message)) {
        status = fail(kernel);
    } else {
        const uint64_t out = differing(production.out, emulation.out, rows * a->d);
        const uint64_t lse = differing(production.lse, emulation.lse, rows);
        printf("kernels: %-8s %s production (%s) against emulation: of %zu words of out %" PRIu64
               " differ, of %zu of lse %" PRIu64 "\n",
               kernel, mxv_choice_name(MXV_CHOICE_ARCH, a->arch),
               production.wgmma ? "wgmma" : "mma.sync", rows * a->d, out, rows, lse);
        status = out || lse ? 1 : 0;
    }
    mxv_cuda_result_free(&production);
    mxv_cuda_result_free(&emulation);
    return status;
}

static int time_emulation(const struct mxv_attention *a, const char *what)
{
    struct mxv_cuda_result result = {0};
    int status = mxv_emulate_run(a, MXV_CUDA_PRODUCTION, &result, message, sizeof message);
    const double start = seconds();
    status = status || mxv_emulate_run(a, MXV_CUDA_PRODUCTION, &result, message, sizeof message);
    const double taken = seconds() - start;
    if (status == 0)
        printf("kernels: %-8s %-6s %s emulated in %.2f s\n",
               mxv_choice_name(MXV_CHOICE_KERNEL, a->kernel),
               mxv_choice_name(MXV_CHOICE_ARCH, a->arch), what, taken);
    mxv_cuda_result_free(&result);
    return status ? fail(what) : 0;
}

static int time_all(struct mxv_attention a)
{
    int status = 0;
    for (unsigned arch = 0; arch < MXV_ARCH_COUNT && status == 0; arch++) {
        a.arch = (enum mxv_arch)arch;
        a.kernel = MXV_KERNEL_DMA;
        a.low = MXV_LOW_MXFP4;
        status = time_emulation(&a, "mxfp8 + mxfp4");
        a.low = MXV_LOW_NVFP4;
        if (status == 0 && arch >= MXV_ARCH_SM_100)
            status = time_emulation(&a, "mxfp8 + nvfp4");
        a.kernel = MXV_KERNEL_FLASH;
        if (status == 0)
            status = time_emulation(&a, "f16");
    }
    return status;
}

// Builds a case of one kernel and hands its call to both parts.
static int layer(const char *kernel, enum mxv_arch arch, bool dma)
{
    struct mxv_case_data data;
    struct mxv_case c;
    char line[256];
    snprintf(line, sizeof line, "%s arch=%s hq=32 hk=32 lq=8192 lk=8192 d=128 mask=causal lse=e",
             kernel, mxv_choice_name(MXV_CHOICE_ARCH, arch));
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
        mxv_case_build(&c, &data, message, sizeof message) != MXV_OK)
        return fail(line);
    int status = compare(&data.a);
    if (dma && status != 3) {
        struct mxv_attention flash = data.a; // the tensors serve both kernels
        flash.kernel = MXV_KERNEL_FLASH;
        const int one = compare(&flash), timed = time_all(data.a);
        status = one > status ? one : status;
        status = timed > status ? timed : status;
    }
    mxv_case_free(&data);
    return status;
}

int emulate_kernels(void)
{
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    const enum mxv_arch arch = major == 8 ? MXV_ARCH_SM_80 : MXV_ARCH_SM_90;
    const int dma = layer("dma", arch, true);
    const int tilemix = dma == 3 ? 3 : layer("tilemix", arch, false);
    return dma > tilemix ? dma : tilemix;
}
