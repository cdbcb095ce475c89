// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Work of a verb that calls an adapter, in a process of its own: one that dies or hangs ends with a
// message that names the case.
#ifndef MXV_CLI_IN_CHILD_H
#define MXV_CLI_IN_CHILD_H

#include <stdbool.h>
#include <stddef.h>

struct child_work {
    const char *verb;
    double timeout;     // seconds; 0: no limit
    bool ends_in_order; // after cli_take_interrupts: the first signal is handed on to the child
    // Called in the child; returns the exit status. line: for mxv_adapter_watch.
    int (*run)(void *ctx, char *line, size_t size);
    void *ctx;
};

// The exit status of the work; 1 when the child died or was killed after the time limit, 3 when it
// could not be started. The caller must not have started threads.
int cli_in_child(const struct child_work *work);
// The program, not the adapter, is about to end this process: its exit status is the work's.
void cli_child_ends(void);

#endif
