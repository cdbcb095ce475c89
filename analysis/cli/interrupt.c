// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// tests/cli/test_interrupt.sh fails if this file is wrong.
#include "interrupt.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static volatile sig_atomic_t interrupted;
static const char *note;
static size_t note_length;
static pid_t owner; // who prints the note

static void set_all(void (*handler)(int))
{
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    for (int i = 0; i < SIGNALS; i++) {
        bool kept =
            signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        if (!kept)
            sigaction(signals[i], &action, NULL);
    }
}

// Calls functions that are safe in a handler only: sigaction, getpid, write.
static void on_first(int signal)
{
    int error = errno;
    (void)signal;
    interrupted = 1;
    set_all(SIG_DFL);
    if (getpid() == owner && write(STDERR_FILENO, note, note_length) < 0)
        interrupted = 1; // nobody reads it
    errno = error;
}

static void on_any(int signal)
{
    (void)signal;
    interrupted = 1;
}

void cli_take_interrupts(const char *text)
{
    note = text;
    note_length = strlen(text);
    owner = getpid();
    set_all(on_first);
}

void cli_take_interrupts_as_child(void)
{
    set_all(on_any);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}
