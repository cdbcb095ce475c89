// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The settings of a run (--set, --arch, --fault) and the files that its cases name, checked before
// anything is written: a run that cannot do what it was asked for leaves the log of the last one
// alone. A setting that no case can take is an error; one that some cases cannot take skips these
// (run_slot.c). tests/cli/test_run_settings.sh fails if this file is wrong.
#include "cli.h"
#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Cases of a tier without end that are tried before it is said that none takes the settings.
enum { TRIED = 4096 };

static const char *remedy(const char *setting)
{
    return strncmp(setting, "fault=", 6) == 0  ? "mxverify list faults"
           : strncmp(setting, "arch=", 5) == 0 ? "mxverify list arches"
                                               : "mxverify list fields";
}

// "--set lq=3", "--arch sm_90": as the user gave it.
static void print_option(const char *setting, char *text, size_t size)
{
    bool own = strncmp(setting, "fault=", 6) == 0 || strncmp(setting, "arch=", 5) == 0;
    size_t key = own ? strcspn(setting, "=") : 0;
    if (own)
        snprintf(text, size, "--%.*s %s", (int)key, setting, setting + key + 1);
    else
        snprintf(text, size, "--set %s", setting);
}

// Key and value, whatever the case: a kernel of the run must know them.
static int check_setting(const struct run_config *config, const char *setting)
{
    char message[MXV_VERIFY_TEXT] = "", option[256];
    unsigned one;
    bool single = mxv_choice_find(MXV_CHOICE_KERNEL, config->kernel, &one);
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        struct mxv_case c;
        if (single && k != one)
            continue;
        mxv_case_defaults((enum mxv_kernel)k, &c);
        if (mxv_case_set(&c, setting, message, sizeof message) == MXV_OK)
            return 0;
    }
    print_option(setting, option, sizeof option);
    size_t said = strlen(setting); // a message may begin with the setting
    bool again = strncmp(message, setting, said) == 0 && strncmp(message + said, ": ", 2) == 0;
    const char *why = again ? message + said + 2 : message;
    return cli_usage("%s: %s (%s)", option, why, remedy(setting));
}

static int none_takes(const struct run_config *config, size_t tried, const char *reason)
{
    char all[1024] = "", option[256];
    size_t n = 0;
    for (size_t i = 0; i < config->setting_count && n < sizeof all; i++) {
        print_option(config->settings[i], option, sizeof option);
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", n ? " " : "", option);
    }
    return cli_usage("%s: none of %zu cases (%s, kernel %s) can take that: %s (%s)", all, tried,
                     config->cases, config->kernel, reason, remedy(config->settings[0]));
}

// What a case reads from files can be read: the tensors, and a plan.
static int try_files(const struct run_slot *s)
{
    struct mxv_case_data data;
    char line[MXV_CASE_LINE_SIZE], message[MXV_VERIFY_TEXT];
    if (!s->c.input[0] && !s->c.planfile[0])
        return 0;
    enum mxv_status status = mxv_case_build(&s->c, &data, message, sizeof message);
    mxv_case_free(&data);
    mxv_case_print(&s->c, line, sizeof line);
    if (status == MXV_ERR_MEMORY)
        return cli_no_memory(line, message);
    return status == MXV_OK || status == MXV_ERR_UNSUPPORTED ? 0
                                                             : cli_usage("%s: %s", line, message);
}

// The first case that takes the settings.
static int find_taker(const struct run *run, struct run_slot *s)
{
    size_t count = run->source->count == SIZE_MAX ? TRIED : run->source->count;
    char reason[MXV_VERIFY_TEXT] = "";
    for (size_t i = 0; i < count; i++) {
        run_slot_make(run, s, i);
        if (!s->refused)
            return s->status == MXV_OK ? try_files(s) : cli_usage("%s", s->message);
        if (!reason[0])
            snprintf(reason, sizeof reason, "%s", s->message);
    }
    return count ? none_takes(run->config, count, reason) : 0;
}

// Lines of a file say themselves what they read.
static int check_lines(const struct run *run, struct run_slot *s)
{
    char line[MXV_CASE_LINE_SIZE], message[MXV_VERIFY_TEXT];
    for (size_t i = 0; i < run->source->count; i++) {
        run_slot_make(run, s, i);
        if (mxv_case_find_files(&s->c, message, sizeof message) == MXV_OK)
            continue;
        mxv_case_print(&s->c, line, sizeof line);
        return cli_usage("%s: case %zu: %s: %s", run->config->cases, i + 1, line, message);
    }
    return 0;
}

int run_check_settings(const struct run *run)
{
    const struct run_config *config = run->config;
    struct run_slot *s = cli_realloc(NULL, sizeof *s);
    int status = 0;
    for (size_t i = 0; i < config->setting_count && status == 0; i++)
        status = check_setting(config, config->settings[i]);
    if (status == 0)
        status = find_taker(run, s);
    if (status == 0 && run->source->tier && !run_is_tier(config->cases))
        status = check_lines(run, s);
    free(s);
    return status;
}
