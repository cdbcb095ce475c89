// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The list of matrix-unit models and look-up by name. The numbers of a row are facts about one
// instruction (docs/numerics.md, "Parameters"); nothing here computes. Wrong numbers fail
// golden.h200_mma, golden.leeds and golden.b200; a lost name fails unit.matrix_unit_models.
#include <mxverify/matrix_unit.h>

#include <assert.h>
#include <string.h>

enum { MXV_MMA_MAX_NAME = 96 };

// Scale formats as the rows name them.
enum { SCALE_NO_SCALE = MXV_MMA_NO_SCALE, SCALE_E8M0 = MXV_E8M0, SCALE_UE4M3 = MXV_UE4M3 };

static const struct mxv_mma_model models[] = {
#define MXV_MMA(name_, arch_, rule_, a_, b_, result_, k_, step_, frac_, keep_, z_, scale_, block_, \
                saturate_, evidence_, note_)                                                       \
    {.name = name_,                                                                                \
     .arch = arch_,                                                                                \
     .note = note_,                                                                                \
     .evidence = MXV_MMA_##evidence_,                                                              \
     .rule = MXV_MMA_##rule_,                                                                      \
     .a = MXV_##a_,                                                                                \
     .b = MXV_##b_,                                                                                \
     .result = MXV_MMA_##result_,                                                                  \
     .k = k_,                                                                                      \
     .step = step_,                                                                                \
     .frac_bits = frac_,                                                                           \
     .keep_bits = keep_,                                                                           \
     .zero_exp = z_,                                                                               \
     .scale = SCALE_##scale_,                                                                      \
     .block = block_,                                                                              \
     .saturate = saturate_},
#include "models.def"
#undef MXV_MMA
};

size_t mxv_mma_count(void)
{
    return sizeof models / sizeof models[0];
}

const struct mxv_mma_model *mxv_mma_at(size_t i)
{
    assert(i < mxv_mma_count());
    return &models[i];
}

static const struct mxv_mma_model *find_exact(const char *name)
{
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    }
    return NULL;
}

// Removes n characters of s at `at`.
static void cut(char *s, size_t at, size_t n)
{
    memmove(s + at, s + at + n, strlen(s + at + n) + 1);
}

// `.e4m3.e4m3.` becomes `.e4m3.`. False if no component is followed by itself.
static bool drop_repeated_component(char *name)
{
    for (char *p = strchr(name, '.'); p; p = strchr(p + 1, '.')) {
        const char *q = strchr(p + 1, '.');
        size_t n = q ? (size_t)(q - p) : 0;
        if (n && strncmp(p, q, n) == 0 && (q[n] == '.' || q[n] == '\0')) {
            cut(name, (size_t)(p - name), n);
            return true;
        }
    }
    return false;
}

// Drops a block length that is the usual one of the instruction.
static bool drop_usual_block(char *name)
{
    static const char *const usual[] = {"ue8m0x32.", "ue4m3x16."};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        const char *p = strstr(name, usual[i]);
        if (p) {
            cut(name, (size_t)(p - name) + 5, 3);
            return true;
        }
    }
    return false;
}

const struct mxv_mma_model *mxv_mma_find(const char *name)
{
    const struct mxv_mma_model *m = find_exact(name);
    char other[MXV_MMA_MAX_NAME];
    if (m || strlen(name) >= sizeof other)
        return m;
    strcpy(other, name);
    if (!drop_repeated_component(other) && !drop_usual_block(other))
        return NULL;
    return find_exact(other);
}

const char *mxv_mma_rule_name(enum mxv_mma_rule rule)
{
    static const char *const names[] = {
        [MXV_MMA_T] = "T",         [MXV_MMA_ST] = "ST",
        [MXV_MMA_GST] = "GST",     [MXV_MMA_HMMA_FP8] = "HMMA-FP8",
        [MXV_MMA_INT] = "INT",     [MXV_MMA_CDNA3] = "CDNA3",
        [MXV_MMA_CDNA2] = "CDNA2", [MXV_MMA_CDNA3_FP8] = "CDNA3-FP8",
        [MXV_MMA_CDNA1] = "CDNA1",
    };
    assert((size_t)rule < sizeof names / sizeof names[0]);
    return names[rule];
}

const char *mxv_mma_result_name(enum mxv_mma_result result)
{
    static const char *const names[] = {
        [MXV_MMA_F32] = "f32", [MXV_MMA_F16] = "f16", [MXV_MMA_S32] = "s32"};
    assert((size_t)result < sizeof names / sizeof names[0]);
    return names[result];
}

const char *mxv_mma_evidence_name(enum mxv_mma_evidence evidence)
{
    static const char *const names[] = {[MXV_MMA_MEASURED] = "measured",
                                        [MXV_MMA_PUBLISHED] = "published",
                                        [MXV_MMA_MODELLED] = "modelled",
                                        [MXV_MMA_UNVERIFIED] = "unverified"};
    assert((size_t)evidence < sizeof names / sizeof names[0]);
    return names[evidence];
}
