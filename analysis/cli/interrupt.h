// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Interrupts (SIGINT, SIGTERM, SIGHUP) of verbs that end in order: the first asks, the second ends
// the program at once.
#ifndef MXV_CLI_INTERRUPT_H
#define MXV_CLI_INTERRUPT_H

#include <stdbool.h>

// From now on the first signal prints `note`, a line with its line end, to standard error and is
// remembered; signals then have their default action again. In processes forked later it is
// remembered without a line. A SIGHUP that is ignored (nohup) stays so.
void cli_take_interrupts(const char *note);
// In a forked child of such a program, which its parent ends: signals are remembered, however many.
void cli_take_interrupts_as_child(void);
bool cli_interrupted(void);

#endif
