// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// One thing made wrong on purpose (sabotages.def), asked by the model of the instructions.
#ifndef MXV_TESTS_KERNEL_TEXT_SABOTAGE_H
#define MXV_TESTS_KERNEL_TEXT_SABOTAGE_H

enum sabotage {
    SABOTAGE_NONE,
#define SABOTAGE(id, name, text)         SABOTAGE_##id,
#define BARRIER_SABOTAGE(id, name, text) SABOTAGE_##id,
#include "sabotages.def"
#undef SABOTAGE
#undef BARRIER_SABOTAGE
    SABOTAGE_COUNT
};

// What is wrong now; `barrier_group` is of struct barrier (block.h), for BARRIER_SABOTAGE rows.
struct sabotage_state {
    enum sabotage what;
    int barrier_group;
};
extern struct sabotage_state sabotage_now;

static inline bool sabotaged(enum sabotage what)
{
    return sabotage_now.what == what;
}

static inline bool sabotaged_barrier(enum sabotage what, int group)
{
    return sabotage_now.what == what && sabotage_now.barrier_group == group;
}

#endif
