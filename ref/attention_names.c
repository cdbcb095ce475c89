// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Name tables of the choices of one attention call, expanded from the lists of attention.h, and of
// the faults, expanded from faults.def. Exact look-up; nothing is computed here.
// Wrong entries show in tests/unit/test_attention.c (round trip of every name).
#include <mxverify/attention.h>
#include <mxverify/faults.h>
#include <string.h>

struct choice {
    const char *name, *text;
};

#define X(id, name, text) {name, text},
static const struct choice kernels[] = {MXV_KERNELS(X)};
static const struct choice arches[] = {MXV_ARCHES(X)};
static const struct choice masks[] = {MXV_MASKS(X)};
static const struct choice aligns[] = {MXV_ALIGNS(X)};
static const struct choice modes[] = {MXV_MODES(X)};
static const struct choice highs[] = {MXV_HIGH_FORMATS(X)};
static const struct choice lows[] = {MXV_LOW_FORMATS(X)};
static const struct choice duals[] = {MXV_DUALS(X)};
static const struct choice plans[] = {MXV_PLANS(X)};
static const struct choice granularities[] = {MXV_GRANULARITIES(X)};
static const struct choice exps[] = {MXV_EXPS(X)};
static const struct choice empties[] = {MXV_EMPTIES(X)};
static const struct choice maskeds[] = {MXV_MASKEDS(X)};
static const struct choice orders[] = {MXV_ORDERS(X)};
static const struct choice lses[] = {MXV_LSES(X)};
static const struct choice routes[] = {MXV_ROUTES(X)};
static const struct choice stages[] = {MXV_STAGES(X)};
#undef X

#define TABLE(kind, table) [MXV_CHOICE_##kind] = {table, sizeof table / sizeof table[0]}
static const struct {
    const struct choice *rows;
    size_t count;
} tables[MXV_CHOICE_KIND_COUNT] = {
    TABLE(KERNEL, kernels), TABLE(ARCH, arches),        TABLE(MASK, masks), TABLE(ALIGN, aligns),
    TABLE(MODE, modes),     TABLE(HIGH, highs),         TABLE(LOW, lows),   TABLE(DUAL, duals),
    TABLE(PLAN, plans),     TABLE(GRAN, granularities), TABLE(EXP, exps),   TABLE(EMPTY, empties),
    TABLE(MASKED, maskeds), TABLE(ORDER, orders),       TABLE(LSE, lses),   TABLE(ROUTE, routes),
    TABLE(STAGE, stages),
};

const char *mxv_choice_name(enum mxv_choice_kind kind, unsigned value)
{
    return value < tables[kind].count ? tables[kind].rows[value].name : NULL;
}

const char *mxv_choice_text(enum mxv_choice_kind kind, unsigned value)
{
    return value < tables[kind].count ? tables[kind].rows[value].text : NULL;
}

bool mxv_choice_find(enum mxv_choice_kind kind, const char *name, unsigned *value)
{
    for (unsigned i = 0; i < tables[kind].count; i++) {
        if (strcmp(tables[kind].rows[i].name, name) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static const struct mxv_fault_info faults[] = {
#define X(id, name, stage, also, kernels, trigger, source, text)                                   \
    {name, MXV_STAGE_##stage, 1u << MXV_STAGE_##stage | (also), kernels, trigger, source, text},
#include <mxverify/faults.def>
#undef X
};

const struct mxv_fault_info *mxv_fault_get(enum mxv_fault f)
{
    return (unsigned)f < MXV_FAULT_COUNT ? &faults[f] : NULL;
}

bool mxv_fault_find(const char *name, enum mxv_fault *f)
{
    for (unsigned i = 0; i < MXV_FAULT_COUNT; i++) {
        size_t word = strcspn(faults[i].text, ":");
        if (strcmp(faults[i].name, name) == 0 ||
            (strlen(name) == word && strncmp(faults[i].text, name, word) == 0)) {
            *f = (enum mxv_fault)i;
            return true;
        }
    }
    return false;
}
