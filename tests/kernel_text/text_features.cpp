// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
#include "text_case.h"

struct feature {
    const char *name;
    bool (*holds)(const struct text_case &c);
};

static bool is_of(const struct text_case &c, enum mxv_low_format low, size_t d)
{
    return c.a.low == low && c.a.d == d;
}

static bool has_empty(const std::vector<size_t> &firsts)
{
    for (size_t i = 0; i + 1 < firsts.size(); i++)
        if (firsts[i] == firsts[i + 1])
            return true;
    return false;
}

// Of a query tile that two blocks share.
static bool has_pieces(const struct text_case &c)
{
    for (size_t i = 0; i < c.a.sequences; i++)
        if (c.a.tile_m > MXV_GPU_ROWS && c.cu_q[i + 1] - c.cu_q[i] > MXV_GPU_ROWS)
            return true;
    return false;
}

static const struct feature features[] = {
    {"mxfp4 d=64", [](const text_case &c) { return is_of(c, MXV_LOW_MXFP4, 64); }},
    {"mxfp4 d=128", [](const text_case &c) { return is_of(c, MXV_LOW_MXFP4, 128); }},
    {"nvfp4 d=64", [](const text_case &c) { return is_of(c, MXV_LOW_NVFP4, 64); }},
    {"nvfp4 d=128", [](const text_case &c) { return is_of(c, MXV_LOW_NVFP4, 128); }},
    {"mode=high", [](const text_case &c) { return c.a.mode == MXV_MODE_HIGH; }},
    {"mode=low", [](const text_case &c) { return c.a.mode == MXV_MODE_LOW; }},
    {"mode=mixed", [](const text_case &c) { return c.a.mode == MXV_MODE_MIXED; }},
    {"exp=poly", [](const text_case &c) { return c.a.exp == MXV_EXP_POLY; }},
    {"exp=hw", [](const text_case &c) { return c.a.exp == MXV_EXP_HW; }},
    {"mask=causal", [](const text_case &c) { return c.a.mask == MXV_MASK_CAUSAL; }},
    {"window", [](const text_case &c) { return c.a.left >= 0 || c.a.right >= 0; }},
    {"no queries", [](const text_case &c) { return has_empty(c.cu_q); }},
    {"no keys", [](const text_case &c) { return has_empty(c.cu_k); }},
    {"several sequences", [](const text_case &c) { return c.a.sequences > 1; }},
    {"grouped heads", [](const text_case &c) { return c.a.heads_q > c.a.heads_kv; }},
    {"pieces of a query tile", has_pieces},
    {"dual=token", [](const text_case &c) { return c.a.dual == MXV_DUAL_TOKEN; }},
    {"tau", [](const text_case &c) { return c.a.tau > 0; }},
    {"order=desc", [](const text_case &c) { return c.a.order == MXV_ORDER_DESC; }},
    {"masked=finite", [](const text_case &c) { return c.a.masked == MXV_MASKED_FINITE; }},
    {"plan=entropy", [](const text_case &c) { return c.a.plan == MXV_PLAN_ENTROPY; }},
    {"lse", [](const text_case &c) { return c.a.lse != MXV_LSE_NONE; }},
};
enum { FEATURES = sizeof features / sizeof features[0] };

uint32_t case_features(const struct text_case &c)
{
    uint32_t bits = 0;
    for (int i = 0; i < FEATURES; i++)
        bits |= (uint32_t)features[i].holds(c) << i;
    return bits;
}

std::string case_features_missing(uint32_t seen)
{
    std::string text;
    for (int i = 0; i < FEATURES; i++)
        if (!(seen >> i & 1))
            text += std::string(text.empty() ? "" : ", ") + features[i].name;
    return text;
}
