// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify run`: a configuration and a source of cases.
#include "run.h"
#include "cli.h"
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_kernel(const char *name)
{
    unsigned kernel;
    if (strcmp(name, "all") == 0 || mxv_choice_find(MXV_CHOICE_KERNEL, name, &kernel))
        return 0;
    return cli_usage("--kernel %s: no such kernel; expected all, dma, dma-released, flash or "
                     "tilemix (mxverify list kernels)",
                     name);
}

// Fault names are checked once, with the list that is allowed.
static int check_faults(struct run_config *c)
{
    if (!c->fault)
        return 0;
    for (const char *at = c->fault; *at;) {
        enum mxv_fault f;
        char name[64];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!mxv_fault_find(name, &f))
            return cli_usage("--fault %s: no such fault (mxverify list faults)", name);
        at += length + (at[length] == ',');
    }
    if (c->impl_cuda || c->verify.impl == MXV_IMPL_RECORDED)
        return cli_usage("--fault goes with implementation emulation, not with %s", c->impl_asked);
    c->verify.impl = MXV_IMPL_EMULATION;
    c->impl_name = mxv_impl_name(MXV_IMPL_EMULATION);
    char *text = cli_realloc(NULL, strlen(c->fault) + 7);
    sprintf(text, "fault=%s", c->fault);
    if (c->setting_count == RUN_SETTINGS_MAX)
        return cli_usage("more than %d settings", RUN_SETTINGS_MAX);
    c->settings[c->setting_count++] = text;
    return 0;
}

static int run_input(struct run_config *c)
{
    struct run_source source = {.count = 1};
    char message[MXV_VERIFY_TEXT];
    unsigned kernel;
    char *text = cli_realloc(NULL, strlen(c->input) + 7);
    if (!mxv_choice_find(MXV_CHOICE_KERNEL, c->kernel, &kernel))
        return cli_usage("--input needs one kernel, not %s", c->kernel);
    mxv_case_defaults((enum mxv_kernel)kernel, &source.single);
    sprintf(text, "input=%s", c->input);
    source.single.heads_q = source.single.heads_kv = source.single.lq = source.single.lk =
        source.single.d = 0; // from the files
    if (mxv_case_set(&source.single, text, message, sizeof message) != MXV_OK)
        return cli_usage("--input: %s", message);
    free(text);
    c->cases = "input";
    c->maps = c->maps == MAPS_AUTO ? MAPS_ALL : c->maps;
    return run_cases(c, &source);
}

int cli_run(int argc, char **argv)
{
    static const struct argp argp = {
        run_options,
        run_parse_option,
        NULL,
        "Verifies an implementation of a kernel: every tap of every tile and route against the "
        "emulation, and the emulation against exact attention by MPFR."
        "\v--kernel dma --cases fuzz is the usual call.",
        NULL,
        NULL,
        NULL};
    struct run_config c;
    struct run_source source = {0};
    char message[MXV_VERIFY_TEXT], name[] = "mxverify run";
    char **words = cli_realloc(NULL, ((size_t)argc + 2) * sizeof *words);
    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    words[argc + 1] = NULL;
    run_config_defaults(&c);
    argp_err_exit_status = 3;
    argp_parse(&argp, argc + 1, words, ARGP_IN_ORDER, NULL, &c);
    c.argc = argc + 1;
    c.argv = words;
    c.asked_settings = c.setting_count;
    if (!c.kernel) // a file names the kernels of its lines
        c.kernel = run_is_tier(c.cases) || c.input ? "dma" : "all";
    int status = check_kernel(c.kernel);
    if (status == 0 && c.input && c.count)
        status = cli_usage("--input is one case: it does not go with --count");
    if (status == 0)
        status = check_faults(&c);
    if (status == 0)
        status = run_config_finish(&c);
    if (status == 0 && c.input)
        status = run_input(&c);
    else if (status == 0) {
        bool open_ended = strcmp(c.cases, "fuzz") == 0 && c.count == 0;
        struct mxv_tier_options tier = {.tier = c.cases,
                                        .kernel = c.kernel,
                                        .seed = c.seed,
                                        .count = c.count,
                                        .with_real = c.with_real,
                                        .real_dir = run_real_folder(c.real_dir)};
        if (open_ended && c.time_budget == 0)
            c.time_budget = 30;
        if (mxv_tier_open(&tier, &source.tier, message, sizeof message) != MXV_OK)
            status = cli_usage("%s", message);
        else {
            source.count = mxv_tier_count(source.tier);
            run_events_decide(&c, &tier);
            status = run_cases(&c, &source);
            mxv_tier_close(source.tier);
        }
    }
    free(words);
    return status;
}
