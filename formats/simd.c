// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Dispatch level (simd.h). unit.simd fails if it is wrong.
#include <mxverify/simd.h>

#include <stddef.h>
#if defined(__x86_64__)
#include <cpuid.h> // the compiler's own: clang 14 does not know the name f16c
#endif

static enum mxv_simd limit = (enum mxv_simd)(MXV_SIMD_COUNT - 1);

static enum mxv_simd detect(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2") || !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))
        return MXV_SIMD_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return MXV_SIMD_AVX2;
    if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512vbmi"))
        return MXV_SIMD_AVX512;
    return MXV_SIMD_VNNI;
#else
    return MXV_SIMD_PORTABLE;
#endif
}

// Asked once: cpuid takes microseconds in a virtual machine. Threads that ask together find the
// same.
enum mxv_simd mxv_simd_detected(void)
{
    static int known = -1;
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level < 0) {
        level = (int)detect();
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    return (enum mxv_simd)level;
}

enum mxv_simd mxv_simd_level(void)
{
    const enum mxv_simd detected = mxv_simd_detected();
    return detected < limit ? detected : limit;
}

enum mxv_simd mxv_simd_limit(enum mxv_simd most)
{
    limit = most;
    return mxv_simd_level();
}

static const char *const names[MXV_SIMD_COUNT] = {"portable", "avx2", "avx512", "vnni"};

const char *mxv_simd_name(enum mxv_simd level)
{
    return (unsigned)level < MXV_SIMD_COUNT ? names[level] : NULL;
}

bool mxv_simd_find(const char *name, enum mxv_simd *out)
{
    for (int i = 0; i < MXV_SIMD_COUNT; i++) {
        size_t at = 0;
        while (name[at] && name[at] == names[i][at])
            at++;
        if (name[at] == names[i][at]) {
            *out = (enum mxv_simd)i;
            return true;
        }
    }
    return false;
}
