// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Defaults of the kernels (docs/kernels/*.md) and typed access to the fields; text of a value.
// Doubles are printed in the fewest digits that read back to the same value, so printing is
// lossless. tests/unit/test_case.c fails if this is wrong (round trip of 100,000 cases).
#include "case_internal.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    size_t offset, size;
} places[] = {
#define X(id, key, member, kind, a, b, kernels, text)                                              \
    {offsetof(struct mxv_case, member), sizeof((struct mxv_case *)0)->member},
#include <mxverify/case_fields.def>
#undef X
};

_Static_assert(MXV_FAULT_COUNT <= 64, "struct mxv_case holds faults in 64 bits");

static const void *field_at(const struct mxv_case *c, enum mxv_case_field field)
{
    return (const char *)c + places[field].offset;
}

#define NOTHING(...)
#define ACCESS_SIZE   NOTHING
#define ACCESS_LONG   NOTHING
#define ACCESS_REAL   NOTHING
#define ACCESS_AUTO   NOTHING
#define ACCESS_SEED   NOTHING
#define ACCESS_TILE   NOTHING
#define ACCESS_RANGE  NOTHING
#define ACCESS_SEQS   NOTHING
#define ACCESS_SHARES NOTHING
#define ACCESS_PATH   NOTHING
#define ACCESS_FAULTS NOTHING

unsigned case_load_choice(const struct mxv_case *c, enum mxv_case_field field)
{
    switch (field) {
#define ACCESS_CHOICE(id, member, a)                                                               \
    case MXV_FIELD_##id:                                                                           \
        return (unsigned)c->member;
#define ACCESS_FLAG                                   ACCESS_CHOICE
#define X(id, key, member, kind, a, b, kernels, text) ACCESS_##kind(id, member, a)
#include <mxverify/case_fields.def>
#undef X
#undef ACCESS_CHOICE
#undef ACCESS_FLAG
    default:
        return 0;
    }
}

void case_store_choice(struct mxv_case *c, enum mxv_case_field field, unsigned value)
{
    switch (field) {
#define ACCESS_CHOICE(id, member, a)                                                               \
    case MXV_FIELD_##id:                                                                           \
        c->member = (enum a)value;                                                                 \
        break;
#define ACCESS_FLAG(id, member, a)                                                                 \
    case MXV_FIELD_##id:                                                                           \
        c->member = value != 0;                                                                    \
        break;
#define X(id, key, member, kind, a, b, kernels, text) ACCESS_##kind(id, member, a)
#include <mxverify/case_fields.def>
#undef X
    default:
        break;
    }
}

unsigned mxv_case_value(const struct mxv_case *c, enum mxv_case_field field)
{
    return case_load_choice(c, field);
}

static void defaults_of_kernel(struct mxv_case *c)
{
    switch (c->kernel) {
    case MXV_KERNEL_DMA:
        c->arch = MXV_ARCH_SM_100;
        break;
    case MXV_KERNEL_DMA_RELEASED:
        c->d = 128;
        c->low = MXV_LOW_NVFP4;
        c->lse = MXV_LSE_NONE;
        break;
    case MXV_KERNEL_TILEMIX:
        c->arch = MXV_ARCH_SM_80;
        c->tile.n = 64;
        break;
    default:
        break;
    }
}

void mxv_case_defaults(enum mxv_kernel kernel, struct mxv_case *out)
{
    memset(out, 0, sizeof *out);
    out->kernel = kernel;
    out->arch = MXV_ARCH_SM_90;
    out->batch = out->heads_q = out->heads_kv = 1;
    out->lq = out->lk = 128;
    out->d = 64;
    out->in = out->v = out->out = MXV_F16;
    out->mask = MXV_MASK_CAUSAL;
    out->left = out->right = out->at = -1;
    out->tile = (struct mxv_case_tile){128, 128};
    out->p_offset = out->scale = MXV_CASE_AUTO;
    out->lse = MXV_LSE_E;
    out->diag = out->sink = 1;
    out->core_share = 0.075;
    out->buffer_share = 0.175;
    out->entropy_threshold = 2;
    out->share.count = 1;
    out->share.at[0] = 0.5;
    out->group = 1;
    out->word_bits = 32;
    out->gain = 1;
    defaults_of_kernel(out);
}

void case_base(const struct mxv_case *c, struct mxv_case *base)
{
    mxv_case_defaults(c->kernel, base);
    if (c->input[0])
        base->heads_q = base->heads_kv = base->lq = base->lk = base->d = 0;
    if (c->seqs.count)
        base->batch = base->lq = base->lk = 0;
}

static void add_real(struct text *t, double x)
{
    char digits[40];
    for (int n = 1; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, x);
        if (strtod(digits, NULL) == x)
            break;
    }
    text_add(t, "%s", digits);
}

static void add_seqs(struct text *t, const struct mxv_case_seqs *seqs)
{
    for (size_t i = 0; i < seqs->count; i++)
        text_add(t, "%s%u:%u", i ? "," : "", seqs->at[i].lq, seqs->at[i].lk);
}

static void add_shares(struct text *t, const struct mxv_case_shares *shares)
{
    for (size_t i = 0; i < shares->count; i++) {
        text_add(t, "%s", i ? "," : "");
        add_real(t, shares->at[i]);
    }
}

static void add_faults(struct text *t, uint64_t faults)
{
    const char *comma = "";
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
        if (faults >> f & 1) {
            text_add(t, "%s%s", comma, mxv_fault_get((enum mxv_fault)f)->name);
            comma = ",";
        }
    }
}

static void add_value(struct text *t, const struct mxv_case *c, enum mxv_case_field field)
{
    const void *at = field_at(c, field);
    const struct mxv_case_range *range = at;
    const struct mxv_case_tile *tile = at;
    switch (mxv_case_field_get(field)->kind) {
    case MXV_KIND_CHOICE:
    case MXV_KIND_FLAG: {
        const char *name = mxv_case_value_name(field, case_load_choice(c, field));
        text_add(t, "%s", name ? name : "?");
        break;
    }
    case MXV_KIND_SIZE:
        text_add(t, "%zu", *(const size_t *)at);
        break;
    case MXV_KIND_LONG:
        text_add(t, "%ld", *(const long *)at);
        break;
    case MXV_KIND_AUTO:
        if (*(const double *)at == MXV_CASE_AUTO) {
            text_add(t, "auto");
            break;
        } // fall through
    case MXV_KIND_REAL:
        add_real(t, *(const double *)at);
        break;
    case MXV_KIND_SEED:
        text_add(t, "%llx", (unsigned long long)*(const uint64_t *)at);
        break;
    case MXV_KIND_TILE:
        text_add(t, "%zux%zu", tile->m, tile->n);
        break;
    case MXV_KIND_RANGE:
        text_add(t, "%zu:%zu", range->first, range->end);
        break;
    case MXV_KIND_SEQS:
        add_seqs(t, at);
        break;
    case MXV_KIND_SHARES:
        add_shares(t, at);
        break;
    case MXV_KIND_PATH:
        text_add(t, "%s", (const char *)at);
        break;
    case MXV_KIND_FAULTS:
        add_faults(t, *(const uint64_t *)at);
        break;
    }
}

size_t mxv_case_field_print(const struct mxv_case *c, enum mxv_case_field field, char *buf,
                            size_t size)
{
    struct text t = {buf, size, 0};
    if (size)
        buf[0] = '\0';
    add_value(&t, c, field);
    return t.length;
}

// The same bytes are the same value; other bytes can be the same value too (unused list entries).
bool case_field_same(const struct mxv_case *a, const struct mxv_case *b, enum mxv_case_field field)
{
    char x[CASE_VALUE_SIZE], y[CASE_VALUE_SIZE];
    if (memcmp(field_at(a, field), field_at(b, field), places[field].size) == 0)
        return true;
    mxv_case_field_print(a, field, x, sizeof x);
    mxv_case_field_print(b, field, y, sizeof y);
    return strcmp(x, y) == 0;
}
