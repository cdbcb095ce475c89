// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The canonical line, equality and identity of cases, and the descriptions made from the field
// list. Two cases are equal when their canonical lines are: values print losslessly, one text each.
// tests/unit/test_case.c and tests/unit/test_case_docs.c fail if this is wrong.
#include "case_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

size_t mxv_case_print(const struct mxv_case *c, char *buf, size_t size)
{
    struct text t = {buf, size, 0};
    struct mxv_case base;
    char value[CASE_VALUE_SIZE];
    case_base(c, &base);
    text_add(&t, "%s", mxv_choice_name(MXV_CHOICE_KERNEL, c->kernel));
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        const struct mxv_case_field_info *info = mxv_case_field_get((enum mxv_case_field)f);
        if (!(info->kernels >> c->kernel & 1) || case_field_same(c, &base, (enum mxv_case_field)f))
            continue;
        mxv_case_field_print(c, (enum mxv_case_field)f, value, sizeof value);
        text_add(&t, " %s=%s", info->key, value);
    }
    return t.length;
}

bool mxv_case_equal(const struct mxv_case *a, const struct mxv_case *b)
{
    char x[MXV_CASE_LINE_SIZE], y[MXV_CASE_LINE_SIZE];
    mxv_case_print(a, x, sizeof x);
    mxv_case_print(b, y, sizeof y);
    return strcmp(x, y) == 0;
}

uint64_t mxv_case_hash(const struct mxv_case *c)
{
    char line[MXV_CASE_LINE_SIZE];
    size_t n = mxv_case_print(c, line, sizeof line);
    return XXH3_64bits(line, n);
}

void mxv_case_id(const struct mxv_case *c, char id[MXV_CASE_ID_SIZE])
{
    snprintf(id, MXV_CASE_ID_SIZE, "%010llx", (unsigned long long)(mxv_case_hash(c) >> 24));
}

static void add_names(struct text *t, enum mxv_kernel kernel, enum mxv_case_field field)
{
    const char *bar = "";
    for (unsigned v = 0; mxv_case_value_name(field, v); v++) {
        if (!mxv_case_value_allowed(kernel, field, v))
            continue;
        text_add(t, "%s%s", bar, mxv_case_value_name(field, v));
        bar = "|";
    }
}

static void add_faults(struct text *t, enum mxv_kernel kernel)
{
    const char *comma = "list of ";
    for (unsigned f = 0; f < MXV_FAULT_COUNT; f++) {
        if (!(mxv_fault_get((enum mxv_fault)f)->kernels >> kernel & 1))
            continue;
        text_add(t, "%s%s", comma, mxv_fault_get((enum mxv_fault)f)->name);
        comma = ",";
    }
}

size_t mxv_case_field_allowed(enum mxv_kernel kernel, enum mxv_case_field field, char *buf,
                              size_t size)
{
    const struct mxv_case_field_info *info = mxv_case_field_get(field);
    struct text t = {buf, size, 0};
    switch (info->kind) {
    case MXV_KIND_CHOICE:
    case MXV_KIND_FLAG:
        add_names(&t, kernel, field);
        break;
    case MXV_KIND_SIZE:
    case MXV_KIND_LONG:
        text_add(&t, "whole number, %.0f..%.0f", info->least, info->greatest);
        break;
    case MXV_KIND_REAL:
        text_add(&t, "number, %g..%g", info->least, info->greatest);
        break;
    case MXV_KIND_AUTO:
        text_add(&t, "auto or number, %g..%g", info->least, info->greatest);
        break;
    case MXV_KIND_SEED:
        text_add(&t, "1 to 16 hexadecimal digits");
        break;
    case MXV_KIND_TILE:
        text_add(&t, "MxN, M a multiple of 16 and N of 32, both at most 256");
        break;
    case MXV_KIND_RANGE:
        text_add(&t, "FIRST:END with FIRST < END");
        break;
    case MXV_KIND_SEQS:
        text_add(&t, "LQ:LK,... with 1..%d sequences of 0..1048576 tokens", MXV_CASE_SEQS_MAX);
        break;
    case MXV_KIND_SHARES:
        text_add(&t, "1..%d numbers of 0..1, separated by commas", MXV_CASE_SHARES_MAX);
        break;
    case MXV_KIND_PATH:
        text_add(&t, "path of 1..%d characters, space, # and %% as %%XX", MXV_CASE_PATH_SIZE - 1);
        break;
    case MXV_KIND_FAULTS:
        add_faults(&t, kernel);
        break;
    }
    return t.length;
}

static void add_kernels(struct text *t, unsigned kernels)
{
    const char *comma = "";
    if (kernels == (1u << MXV_KERNEL_COUNT) - 1) {
        text_add(t, "all");
        return;
    }
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        if (kernels >> k & 1) {
            text_add(t, "%s%s", comma, mxv_choice_name(MXV_CHOICE_KERNEL, k));
            comma = ", ";
        }
    }
}

// Default of each kernel that has the field, one text if they agree.
static void add_defaults(struct text *t, enum mxv_case_field field, unsigned kernels)
{
    char first[CASE_VALUE_SIZE] = "", value[CASE_VALUE_SIZE];
    struct mxv_case c;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        if (!(kernels >> k & 1))
            continue;
        mxv_case_defaults((enum mxv_kernel)k, &c);
        mxv_case_field_print(&c, field, value, sizeof value);
        if (!first[0] && value[0]) {
            snprintf(first, sizeof first, "%s", value);
            text_add(t, "`%s`", value);
        } else if (strcmp(first, value) != 0) {
            text_add(t, ", %s `%s`", mxv_choice_name(MXV_CHOICE_KERNEL, k), value);
        }
    }
    if (!first[0])
        text_add(t, "none");
}

// Vertical bars end a cell, so those between names are escaped.
static void add_allowed(struct text *t, enum mxv_case_field field, unsigned kernels)
{
    char allowed[CASE_VALUE_SIZE];
    unsigned widest = 0;
    size_t longest = 0;
    if (mxv_case_field_get(field)->kind == MXV_KIND_FAULTS) { // they differ by kernel
        text_add(t, "names of `mxverify list faults`, separated by commas");
        return;
    }
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        size_t n = kernels >> k & 1
                       ? mxv_case_field_allowed((enum mxv_kernel)k, field, allowed, sizeof allowed)
                       : 0;
        if (n > longest) {
            longest = n;
            widest = k;
        }
    }
    mxv_case_field_allowed((enum mxv_kernel)widest, field, allowed, sizeof allowed);
    for (const char *s = allowed; *s; s++)
        text_add(t, *s == '|' ? "%s" : "%.1s", *s == '|' ? ", " : s);
}

size_t mxv_case_fields_markdown(char *buf, size_t size)
{
    struct text t = {buf, size, 0};
    text_add(&t, "| key | kernels | values | default | meaning |\n|---|---|---|---|---|\n");
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        const struct mxv_case_field_info *info = mxv_case_field_get((enum mxv_case_field)f);
        text_add(&t, "| `%s` | ", info->key);
        add_kernels(&t, info->kernels);
        text_add(&t, " | ");
        add_allowed(&t, (enum mxv_case_field)f, info->kernels);
        text_add(&t, " | ");
        add_defaults(&t, (enum mxv_case_field)f, info->kernels);
        text_add(&t, " | %s |\n", info->text);
    }
    return t.length;
}
