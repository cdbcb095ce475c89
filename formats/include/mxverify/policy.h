// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The named choices of the formats layer: one enum a choice, with its names, expanded from
// policies.def. Enumerator 0 is the default, so that a zero-initialised parameter structure holds
// the defaults throughout. Nothing here is computed; tests/unit/test_element_policy.c checks the
// tables.
#ifndef MXVERIFY_POLICY_H
#define MXVERIFY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <mxverify/platform.h>

MXV_DECLARATIONS_BEGIN

// clang-format off
#define MXV_POLICY(name, count, doc) enum mxv_##name {
#define MXV_VALUE(id, name, doc)     id,
#define MXV_POLICY_END(name, count)  count };
// clang-format on
#include <mxverify/policies.def>

/// mxv_NAME_name: the value's name; "?" for a number that is no value of the enum.
/// mxv_NAME_find: looks a value up by name; false, and *out untouched, if there is none.
#define MXV_POLICY(name, count, doc)                                                               \
    MXV_FN const char *mxv_##name##_name(enum mxv_##name value);                                   \
    MXV_FN bool mxv_##name##_find(const char *text, enum mxv_##name *out);
#define MXV_VALUE(id, name, doc)
#define MXV_POLICY_END(name, count)
#include <mxverify/policies.def>

/// One value of a choice.
struct mxv_policy_value {
    const char *name;
    const char *description;
};

/// One choice: its name, its values in enumerator order, and what it decides.
struct mxv_policy {
    const char *name;
    const char *description;
    const struct mxv_policy_value *values;
    size_t count;
};

/// The choice number `index`, or NULL past the end; static storage.
MXV_FN const struct mxv_policy *mxv_policy_get(size_t index);

/// True iff the two NUL-terminated names are equal; either may be NULL (then false).
MXV_FN bool mxv_name_equal(const char *a, const char *b);

MXV_DECLARATIONS_END
#endif
