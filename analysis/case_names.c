// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The fields as a table (case_fields.def), the names of their values, and which values a kernel
// takes (docs/kernels/*.md). Look-up only.
// tests/unit/test_case.c fails if this is wrong.
#include "case_internal.h"
#include <mxverify/element.h>
#include <mxverify/policy.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum domain {
    DOMAIN_flag,
    DOMAIN_mxv_arch,
    DOMAIN_mxv_element,
    DOMAIN_mxv_mask,
    DOMAIN_mxv_align,
    DOMAIN_mxv_order,
    DOMAIN_mxv_exp,
    DOMAIN_mxv_empty,
    DOMAIN_mxv_masked,
    DOMAIN_mxv_lse,
    DOMAIN_mxv_mode,
    DOMAIN_mxv_high_format,
    DOMAIN_mxv_low_format,
    DOMAIN_mxv_scale_rule,
    DOMAIN_mxv_dual,
    DOMAIN_mxv_plan,
    DOMAIN_mxv_mix_plan,
    DOMAIN_mxv_bit_order,
    DOMAIN_mxv_bit_route,
    DOMAIN_mxv_granularity,
    DOMAIN_mxv_round,
    DOMAIN_mxv_generator,
    DOMAIN_mxv_nonfinite
};

#define ROW_CHOICE(a, b)  {DOMAIN_##a, (b)},
#define ROW_FLAG(a, b)    {DOMAIN_flag, 3},
#define ROW_NUMBER(a, b)  {DOMAIN_flag, 0},
#define SPAN_CHOICE(a, b) 0, 0
#define SPAN_FLAG(a, b)   0, 1
#define SPAN_NUMBER(a, b) (a), (b)
#define ROW_SIZE          ROW_NUMBER
#define ROW_LONG          ROW_NUMBER
#define ROW_REAL          ROW_NUMBER
#define ROW_AUTO          ROW_NUMBER
#define ROW_SEED          ROW_NUMBER
#define ROW_TILE          ROW_NUMBER
#define ROW_RANGE         ROW_NUMBER
#define ROW_SEQS          ROW_NUMBER
#define ROW_SHARES        ROW_NUMBER
#define ROW_PATH          ROW_NUMBER
#define ROW_FAULTS        ROW_NUMBER
#define SPAN_SIZE         SPAN_NUMBER
#define SPAN_LONG         SPAN_NUMBER
#define SPAN_REAL         SPAN_NUMBER
#define SPAN_AUTO         SPAN_NUMBER
#define SPAN_SEED         SPAN_NUMBER
#define SPAN_TILE         SPAN_NUMBER
#define SPAN_RANGE        SPAN_NUMBER
#define SPAN_SEQS         SPAN_NUMBER
#define SPAN_SHARES       SPAN_NUMBER
#define SPAN_PATH         SPAN_NUMBER
#define SPAN_FAULTS       SPAN_NUMBER

static const struct {
    enum domain domain;
    uint64_t values;
} domains[] = {
#define X(id, key, member, kind, a, b, kernels, text) ROW_##kind(a, b)
#include <mxverify/case_fields.def>
#undef X
};

static const struct mxv_case_field_info infos[] = {
#define X(id, key, member, kind, a, b, kernels, text)                                              \
    {key, text, MXV_KIND_##kind, SPAN_##kind(a, b), kernels},
#include <mxverify/case_fields.def>
#undef X
};

// Values that a kernel takes of a field of which others take more.
static const struct {
    enum mxv_kernel kernel;
    enum mxv_case_field field;
    uint64_t values;
} narrower[] = {
    {MXV_KERNEL_FLASH, MXV_FIELD_V, 1u << MXV_F16 | 1u << MXV_BF16},
    {MXV_KERNEL_TILEMIX, MXV_FIELD_V, 1u << MXV_F16 | 1u << MXV_BF16},
    {MXV_KERNEL_DMA_RELEASED, MXV_FIELD_V, 1u << MXV_F16},
    {MXV_KERNEL_DMA_RELEASED, MXV_FIELD_ARCH, 1u << MXV_ARCH_SM_90},
    {MXV_KERNEL_DMA_RELEASED, MXV_FIELD_DUAL,
     1u << MXV_DUAL_NONE | 1u << MXV_DUAL_TOKEN | 1u << MXV_DUAL_BLOCK},
};

const struct mxv_case_field_info *mxv_case_field_get(enum mxv_case_field field)
{
    return field < MXV_FIELD_COUNT ? &infos[field] : NULL;
}

#define LIST_NAME(list, value)                                                                     \
    do {                                                                                           \
        static const char *const names[] = {list(LIST_ROW)};                                       \
        return (value) < sizeof names / sizeof names[0] ? names[value] : NULL;                     \
    } while (0)
#define LIST_ROW(id, name, text) name,

static const char *own_name(enum domain domain, unsigned value)
{
    switch (domain) {
    case DOMAIN_mxv_mix_plan:
        LIST_NAME(MXV_MIX_PLANS, value);
    case DOMAIN_mxv_bit_order:
        LIST_NAME(MXV_BIT_ORDERS, value);
    case DOMAIN_mxv_bit_route:
        LIST_NAME(MXV_BIT_ROUTES, value);
    case DOMAIN_mxv_nonfinite:
        LIST_NAME(MXV_NONFINITES, value);
    case DOMAIN_mxv_generator:
        return mxv_generator_name(value);
    case DOMAIN_mxv_element:
        return value < MXV_ELEMENT_COUNT ? mxv_element_get((enum mxv_element)value)->name : NULL;
    case DOMAIN_mxv_scale_rule:
        return value < MXV_SCALE_RULE_COUNT ? mxv_scale_rule_name((enum mxv_scale_rule)value)
                                            : NULL;
    case DOMAIN_mxv_round:
        return value < MXV_ROUND_COUNT ? mxv_round_name((enum mxv_round)value) : NULL;
    default:
        return value == 0 ? "0" : value == 1 ? "1" : NULL;
    }
}

static int choice_kind(enum domain domain)
{
    switch (domain) {
    case DOMAIN_mxv_arch:
        return MXV_CHOICE_ARCH;
    case DOMAIN_mxv_mask:
        return MXV_CHOICE_MASK;
    case DOMAIN_mxv_align:
        return MXV_CHOICE_ALIGN;
    case DOMAIN_mxv_order:
        return MXV_CHOICE_ORDER;
    case DOMAIN_mxv_exp:
        return MXV_CHOICE_EXP;
    case DOMAIN_mxv_empty:
        return MXV_CHOICE_EMPTY;
    case DOMAIN_mxv_masked:
        return MXV_CHOICE_MASKED;
    case DOMAIN_mxv_lse:
        return MXV_CHOICE_LSE;
    case DOMAIN_mxv_mode:
        return MXV_CHOICE_MODE;
    case DOMAIN_mxv_high_format:
        return MXV_CHOICE_HIGH;
    case DOMAIN_mxv_low_format:
        return MXV_CHOICE_LOW;
    case DOMAIN_mxv_dual:
        return MXV_CHOICE_DUAL;
    case DOMAIN_mxv_plan:
        return MXV_CHOICE_PLAN;
    case DOMAIN_mxv_granularity:
        return MXV_CHOICE_GRAN;
    default:
        return -1;
    }
}

const char *mxv_case_value_name(enum mxv_case_field field, unsigned value)
{
    int kind = choice_kind(domains[field].domain);
    return kind >= 0 ? mxv_choice_name((enum mxv_choice_kind)kind, value)
                     : own_name(domains[field].domain, value);
}

bool mxv_case_value_allowed(enum mxv_kernel kernel, enum mxv_case_field field, unsigned value)
{
    uint64_t values = domains[field].values;
    if (!(infos[field].kernels >> kernel & 1) || value >= 64 || !mxv_case_value_name(field, value))
        return false;
    for (size_t i = 0; i < sizeof narrower / sizeof narrower[0]; i++)
        if (narrower[i].kernel == kernel && narrower[i].field == field)
            values &= narrower[i].values;
    return (values >> value & 1) != 0;
}

enum mxv_case_field case_field_find(enum mxv_kernel kernel, const char *key)
{
    unsigned f = 0;
    while (f < MXV_FIELD_COUNT &&
           !((infos[f].kernels >> kernel & 1) && strcmp(infos[f].key, key) == 0))
        f++;
    return (enum mxv_case_field)f;
}

void text_add(struct text *t, const char *format, ...)
{
    va_list args;
    size_t used = t->length < t->size ? t->length : t->size;
    va_start(args, format);
    int n = vsnprintf(t->buf ? t->buf + used : NULL, t->size - used, format, args);
    va_end(args);
    t->length += n > 0 ? (size_t)n : 0;
}

void text_message(char *message, size_t size, const char *format, ...)
{
    va_list args;
    if (!message || !size)
        return;
    va_start(args, format);
    vsnprintf(message, size, format, args);
    va_end(args);
}
