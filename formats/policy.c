// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Name tables of the policies, expanded from policies.def. See mxverify/policy.h.
#include <mxverify/policy.h>

#define MXV_POLICY(name, count, doc) MXV_TABLE struct mxv_policy_value name##_values[] = {
#define MXV_VALUE(id, name, doc)     {name, doc},
#define MXV_POLICY_END(name, count)                                                                \
    }                                                                                              \
    ;
#include <mxverify/policies.def>

MXV_TABLE struct mxv_policy policies[] = {
#define MXV_POLICY(name, count, doc) {#name, doc, name##_values, (size_t)count},
#define MXV_VALUE(id, name, doc)
#define MXV_POLICY_END(name, count)
#include <mxverify/policies.def>
};

MXV_FN bool mxv_name_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return false;
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

MXV_FN const struct mxv_policy *mxv_policy_get(size_t index)
{
    return index < sizeof policies / sizeof policies[0] ? &policies[index] : NULL;
}

static MXV_FN const char *value_name(const struct mxv_policy_value *values, size_t count,
                                     size_t value)
{
    return value < count ? values[value].name : "?";
}

static MXV_FN bool value_find(const struct mxv_policy_value *values, size_t count, const char *text,
                              size_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (mxv_name_equal(values[i].name, text)) {
            *out = i;
            return true;
        }
    }
    return false;
}

#define MXV_POLICY(name, count, doc)                                                               \
    MXV_FN const char *mxv_##name##_name(enum mxv_##name value)                                    \
    {                                                                                              \
        return value_name(name##_values, (size_t)count, (size_t)value);                            \
    }                                                                                              \
    MXV_FN bool mxv_##name##_find(const char *text, enum mxv_##name *out)                          \
    {                                                                                              \
        size_t value = 0;                                                                          \
        if (!value_find(name##_values, (size_t)count, text, &value))                               \
            return false;                                                                          \
        *out = (enum mxv_##name)value;                                                             \
        return true;                                                                               \
    }
#define MXV_VALUE(id, name, doc)
#define MXV_POLICY_END(name, count)
#include <mxverify/policies.def>
