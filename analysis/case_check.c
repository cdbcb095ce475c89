// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a case can be run: shapes, and combinations of fields that contradict each other or of
// which one would have no effect. What a kernel offers at all is decided by mxv_attention_check,
// asked last. A field without effect is refused rather than passed over: nobody shall believe that
// a run tested it. tests/unit/test_case_errors.c fails if a bad case gets through;
// tests/unit/test_tiers.c if a good one is refused.
#include "case_internal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct check {
    const struct mxv_case *c;
    struct mxv_case base;
    enum mxv_case_field *blame;
    char *message;
    size_t size;
};

__attribute__((format(printf, 3, 4))) static enum mxv_status
refuse(struct check *k, enum mxv_case_field field, const char *format, ...)
{
    char value[CASE_VALUE_SIZE], reason[512];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    mxv_case_field_print(k->c, field, value, sizeof value);
    text_message(k->message, k->size, "%s=%.80s: %s", mxv_case_field_get(field)->key, value,
                 reason);
    *k->blame = field;
    return MXV_ERR_INPUT;
}

// A combination that no kernel offers.
static enum mxv_status unsupported(struct check *k, enum mxv_case_field field, const char *why)
{
    refuse(k, field, "%s", why);
    return MXV_ERR_UNSUPPORTED;
}

static bool is_default(const struct check *k, enum mxv_case_field field)
{
    return case_field_same(k->c, &k->base, field);
}

// Fields that have no effect here must stand at their defaults.
static enum mxv_status idle(struct check *k, const enum mxv_case_field *fields, size_t count,
                            const char *because)
{
    for (size_t i = 0; i < count; i++)
        if (mxv_case_field_get(fields[i])->kernels >> k->c->kernel & 1 && !is_default(k, fields[i]))
            return refuse(k, fields[i], "has no effect %s", because);
    return MXV_OK;
}

#define IDLE(k, because, ...)                                                                      \
    idle((k), (const enum mxv_case_field[]){__VA_ARGS__},                                          \
         sizeof((const enum mxv_case_field[]){__VA_ARGS__}) / sizeof(enum mxv_case_field),         \
         (because))
#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum mxv_status status_ = (call);                                                          \
        if (status_ != MXV_OK)                                                                     \
            return status_;                                                                        \
    } while (0)

static enum mxv_status check_values(struct check *k)
{
    const struct mxv_case *c = k->c;
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        const struct mxv_case_field_info *info = mxv_case_field_get((enum mxv_case_field)f);
        bool has = (info->kernels >> c->kernel & 1) != 0;
        bool choice = info->kind == MXV_KIND_CHOICE || info->kind == MXV_KIND_FLAG;
        if (!has && !is_default(k, (enum mxv_case_field)f))
            return refuse(k, (enum mxv_case_field)f, "does not apply to kernel %s",
                          mxv_choice_name(MXV_CHOICE_KERNEL, c->kernel));
        unsigned value = choice ? case_load_choice(c, (enum mxv_case_field)f) : 0;
        if (has && choice && !mxv_case_value_allowed(c->kernel, (enum mxv_case_field)f, value))
            return refuse(k, (enum mxv_case_field)f, "not offered by kernel %s",
                          mxv_choice_name(MXV_CHOICE_KERNEL, c->kernel));
    }
    return MXV_OK;
}

static enum mxv_status check_seqs(struct check *k)
{
    const struct mxv_case *c = k->c;
    size_t queries = 0;
    if (c->seqs.count == 0)
        return c->lq || c->input[0] ? MXV_OK : refuse(k, MXV_FIELD_LQ, "no query: at least 1");
    if (c->batch || c->lq || c->lk)
        return refuse(k, MXV_FIELD_SEQS, "not together with b, lq and lk");
    for (size_t i = 0; i < c->seqs.count; i++)
        queries += c->seqs.at[i].lq;
    return queries ? MXV_OK : refuse(k, MXV_FIELD_SEQS, "no sequence has a query");
}

static enum mxv_status check_shape(struct check *k)
{
    const struct mxv_case *c = k->c;
    struct mxv_case_extent extent;
    bool open = c->input[0] != '\0';
    if ((c->heads_kv && c->heads_q % c->heads_kv) || (!open && (!c->heads_q || !c->heads_kv)) ||
        (c->heads_q && c->heads_q < c->heads_kv))
        return refuse(k, MXV_FIELD_HEADS_Q, "must be a multiple of hk=%zu", c->heads_kv);
    if (c->d != 32 && c->d != 64 && c->d != 96 && c->d != 128 && c->d != 256 && !(open && !c->d))
        return refuse(k, MXV_FIELD_D, "head dimensions are 32, 64, 96, 128 and 256");
    if (c->tile.m == 0 || c->tile.m % 16 || c->tile.m > 256 || c->tile.n == 0 || c->tile.n % 32 ||
        c->tile.n > 256)
        return refuse(k, MXV_FIELD_TILE, "M a multiple of 16, N of 32, both at most 256");
    TRY(check_seqs(k));
    mxv_case_extent(c, &extent);
    if (extent.elements > UINT64_C(1) << 36)
        return refuse(k, c->seqs.count ? MXV_FIELD_SEQS : MXV_FIELD_LQ,
                      "the tensors would hold %llu elements; at most 2^36",
                      (unsigned long long)extent.elements);
    return MXV_OK;
}

static enum mxv_status check_input(struct check *k)
{
    const struct mxv_case *c = k->c;
    if (!c->input[0])
        return IDLE(k, "without input", MXV_FIELD_HEADS, MXV_FIELD_QTOK, MXV_FIELD_KTOK,
                    MXV_FIELD_NONFINITE);
    if (!c->seqs.count && c->batch != 1)
        return refuse(k, MXV_FIELD_BATCH, "files hold one batch; split it with seqs");
    return IDLE(k, "with input", MXV_FIELD_GENERATOR, MXV_FIELD_GAIN, MXV_FIELD_AT);
}

static enum mxv_status check_common(struct check *k)
{
    const struct mxv_case *c = k->c;
    if (c->mask == MXV_MASK_CAUSAL && c->right != -1)
        return refuse(k, MXV_FIELD_RIGHT, "mask=causal hides all keys after the diagonal");
    if (c->scale != MXV_CASE_AUTO && !(c->scale > 0))
        return refuse(k, MXV_FIELD_SCALE, "must be positive");
    if (!c->input[0] && c->generator != MXV_GEN_ONE_HOT)
        TRY(IDLE(k, "without gen=one_hot", MXV_FIELD_AT));
    if (c->diag_tokens)
        TRY(IDLE(k, "with diag_tokens", MXV_FIELD_DIAG));
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
        if (c->faults >> f & 1 && !(mxv_fault_get((enum mxv_fault)f)->kernels >> c->kernel & 1))
            return refuse(k, MXV_FIELD_FAULT, "%s does not apply to kernel %s",
                          mxv_fault_get((enum mxv_fault)f)->name,
                          mxv_choice_name(MXV_CHOICE_KERNEL, c->kernel));
    return MXV_OK;
}

static enum mxv_status check_routes(struct check *k)
{
    const struct mxv_case *c = k->c;
    if (c->mode == MXV_MODE_HIGH)
        TRY(IDLE(k, "with mode=high", MXV_FIELD_LOW));
    if (c->mode == MXV_MODE_LOW)
        TRY(IDLE(k, "with mode=low", MXV_FIELD_HIGH));
    if (c->mode != MXV_MODE_MIXED)
        return IDLE(k, "without mode=mixed", MXV_FIELD_PLAN, MXV_FIELD_DIAG, MXV_FIELD_DIAG_TOKENS,
                    MXV_FIELD_SINK, MXV_FIELD_CORE, MXV_FIELD_BUFFER, MXV_FIELD_ENTROPY);
    if (c->plan != MXV_PLAN_DIAG)
        TRY(IDLE(k, "without plan=diag", MXV_FIELD_DIAG, MXV_FIELD_DIAG_TOKENS));
    if (c->plan != MXV_PLAN_ZONES)
        TRY(IDLE(k, "without plan=zones", MXV_FIELD_CORE, MXV_FIELD_BUFFER));
    if (c->plan != MXV_PLAN_ENTROPY)
        TRY(IDLE(k, "without plan=entropy", MXV_FIELD_ENTROPY));
    return MXV_OK;
}

static enum mxv_status check_released(struct check *k)
{
    const struct mxv_case *c = k->c;
    if (c->d && c->d != 128)
        return refuse(k, MXV_FIELD_D, "dma-released has d=128");
    if (c->tile.m != 128 || c->tile.n != 128)
        return refuse(k, MXV_FIELD_TILE, "dma-released has tile=128x128");
    if (c->seqs.count == 0 && c->lq != c->lk)
        return refuse(k, MXV_FIELD_LK, "dma-released needs lk = lq");
    for (size_t i = 0; i < c->seqs.count; i++)
        if (c->seqs.at[i].lq != c->seqs.at[i].lk)
            return refuse(k, MXV_FIELD_SEQS, "dma-released needs lq = lk in each sequence");
    if (c->mask == MXV_MASK_FULL && c->mode == MXV_MODE_MIXED)
        return refuse(k, MXV_FIELD_MASK, "the released mixed kernel is causal only");
    if (c->mask == MXV_MASK_FULL && c->mode == MXV_MODE_HIGH && c->high == MXV_HIGH_MXFP8_E5M2)
        return refuse(k, MXV_FIELD_HIGH, "read as e4m3 by the released kernel with mask=full");
    if (c->mask == MXV_MASK_FULL && c->dual != MXV_DUAL_NONE)
        return refuse(k, MXV_FIELD_DUAL, "refers to undefined names with mask=full");
    if (c->mode == MXV_MODE_MIXED && c->low != MXV_LOW_NVFP4)
        return refuse(k, MXV_FIELD_LOW, "mode=mixed of dma-released is MXFP8 and nvfp4");
    return MXV_OK;
}

static enum mxv_status check_dma(struct check *k)
{
    const struct mxv_case *c = k->c;
    if (c->v == MXV_E4M3 && c->arch == MXV_ARCH_SM_80)
        return refuse(k, MXV_FIELD_V, "sm_80 has no FP8 matrix unit");
    if (c->plan == MXV_PLAN_ZONES && c->arch == MXV_ARCH_SM_80)
        return refuse(k, MXV_FIELD_PLAN, "sm_80 has no FP8 matrix unit for the core zone");
    if (c->rebase &&
        (c->arch != MXV_ARCH_SM_90 || c->low != MXV_LOW_MXFP4 || c->mode == MXV_MODE_HIGH))
        return unsupported(k, MXV_FIELD_REBASE,
                           "needs arch=sm_90, low=mxfp4 and mode=mixed or mode=low");
    if (c->rule != MXV_SCALE_FLOOR && c->mode == MXV_MODE_LOW && c->low == MXV_LOW_NVFP4)
        return refuse(k, MXV_FIELD_RULE, "has no effect with nvfp4 alone");
    return MXV_OK;
}

static enum mxv_status check_tilemix(struct check *k)
{
    const struct mxv_case *c = k->c;
    if (c->group == 0 || (c->group & (c->group - 1)))
        return refuse(k, MXV_FIELD_GROUP, "a power of two");
    if (c->word_bits != 32 && c->word_bits != 64)
        return refuse(k, MXV_FIELD_WORD_BITS, "32 or 64");
    if (c->kv_cache && c->k_gran != MXV_GRAN_TOKEN)
        return refuse(k, MXV_FIELD_KVCACHE, "the cache has one scale per token: needs kgran=token");
    if (c->mix == MXV_MIX_ALL_F16 && c->fold)
        return unsupported(k, MXV_FIELD_FOLD, "plan=all_f16 has no INT8 tile");
    if (c->mix != MXV_MIX_BAND)
        TRY(IDLE(k, "without plan=band", MXV_FIELD_DIAG, MXV_FIELD_DIAG_TOKENS, MXV_FIELD_SINK));
    if (c->mix != MXV_MIX_RANDOM && c->mix != MXV_MIX_RATIO)
        TRY(IDLE(k, "without plan=random or ratio", MXV_FIELD_SHARE));
    if (c->mix == MXV_MIX_FILE && !c->planfile[0])
        return refuse(k, MXV_FIELD_MIX, "needs planfile=PATH");
    if (c->mix != MXV_MIX_FILE)
        TRY(IDLE(k, "without plan=file", MXV_FIELD_PLANFILE));
    return MXV_OK;
}

static enum mxv_status check_kernel(struct check *k)
{
    switch (k->c->kernel) {
    case MXV_KERNEL_DMA:
        TRY(check_routes(k));
        return check_dma(k);
    case MXV_KERNEL_DMA_RELEASED:
        TRY(check_routes(k));
        return check_released(k);
    case MXV_KERNEL_TILEMIX:
        return check_tilemix(k);
    default:
        return MXV_OK;
    }
}

enum mxv_status case_check_call(const struct mxv_attention *a, char *message, size_t size)
{
    return mxv_attention_check(a, message, size) ? MXV_ERR_UNSUPPORTED : MXV_OK;
}

static enum mxv_status check_call(const struct mxv_case *c, char *message, size_t size)
{
    struct mxv_case_data data = {.route_words = NULL};
    if (c->input[0])
        return MXV_OK; // the shape is known when the files are read
    case_bind(c, &data.a);
    enum mxv_status status = case_starts(c, &data, message, size);
    if (status == MXV_OK)
        status = case_check_call(&data.a, message, size);
    mxv_case_free(&data);
    return status;
}

enum mxv_status case_check_fields(const struct mxv_case *c, enum mxv_case_field *blame,
                                  char *message, size_t size)
{
    struct check k = {.c = c, .blame = blame, .message = message, .size = size};
    *blame = MXV_FIELD_COUNT;
    case_base(c, &k.base);
    TRY(check_values(&k));
    TRY(check_shape(&k));
    TRY(check_input(&k));
    TRY(check_common(&k));
    TRY(check_kernel(&k));
    return check_call(c, message, size);
}

enum mxv_status mxv_case_check(const struct mxv_case *c, char *message, size_t size)
{
    enum mxv_case_field blame;
    return case_check_fields(c, &blame, message, size);
}
