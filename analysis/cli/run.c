// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify run` and `mxverify repro`: options to a configuration and a source of cases.
#include "run.h"
#include "cli.h"
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_IMPL = 256,
    OPT_ARCH,
    OPT_FAULT,
    OPT_SET,
    OPT_INPUT,
    OPT_OUT,
    OPT_MAPS,
    OPT_NO_TRUTH,
    OPT_TRUTH_SCORES,
    OPT_NO_REAL,
    OPT_HASH,
    OPT_BUDGET,
    OPT_COVERAGE,
    OPT_REQUIRE,
    OPT_NO_LOG,
    OPT_REAL_DIR,
    OPT_LOG
};

static const struct argp_option options[] = {
    {"kernel", 'k', "NAME", 0, "kernel to verify, or all (mxverify list kernels)", 1},
    {"cases", 'c', "TIER", 0, "tier (mxverify list cases) or a file of case lines", 1},
    {"count", 'n', "N", 0, "number of cases", 1},
    {"seed", 's', "HEX", 0, "seed of tier fuzz, default 1", 1},
    {"time-budget", OPT_BUDGET, "SECONDS", 0,
     "start no case after this time; default 30 for fuzz without --count", 1},
    {"set", OPT_SET, "KEY=VALUE", 0, "set a field of every case (mxverify list fields)", 2},
    {"arch", OPT_ARCH, "NAME", 0, "architecture of every case", 2},
    {"fault", OPT_FAULT, "NAME,...", 0,
     "switch faults on in the implementation (mxverify list faults)", 2},
    {"input", OPT_INPUT, "Q,K,V", 0, "tensors from .npy or .safetensors files: one case", 2},
    {"impl", OPT_IMPL, "NAME", 0, "implementation (mxverify list impls), default plain", 2},
    {"no-real", OPT_NO_REAL, NULL, 0, "leave out the captured activations", 2},
    {"real-dir", OPT_REAL_DIR, "DIR", 0, "folder of the captured activations", 2},
    {"no-truth", OPT_NO_TRUTH, NULL, 0, "compare bits only, evaluate no exact attention", 3},
    {"truth-scores", OPT_TRUTH_SCORES, "N", 0,
     "exact scores per case before rows are sampled, 0 = all rows; default 2000000", 3},
    {"out", OPT_OUT, "DIR", 0, "folder of log and maps, default out", 4},
    {"maps", OPT_MAPS, "auto|all|fail|none", 0,
     "which cases get maps; auto: failures, captured activations and the first 4", 4},
    {"no-log", OPT_NO_LOG, NULL, 0, "write no run.jsonl", 4},
    {"coverage", OPT_COVERAGE, NULL, 0, "print how often each option was met", 4},
    {"require-coverage", OPT_REQUIRE, NULL, 0, "fail if an option of a kernel was never met", 4},
    {"print-hash", OPT_HASH, NULL, 0, "print the hash of all outputs on a line of its own", 4},
    {"quiet", 'q', NULL, 0, "no progress, no report", 4},
    {0},
};

static bool parse_count(const char *text, int base, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, base);
    return errno == 0 && end != text && *end == 0 && text[0] != '-' && text[0] != '+';
}

static void find_impl(struct argp_state *state, struct run_config *c, const char *name)
{
    for (unsigned i = 0; mxv_impl_name(i); i++)
        if (strcmp(mxv_impl_name(i), name) == 0) {
            c->verify.impl = (enum mxv_impl)i;
            c->impl_name = mxv_impl_name(i);
            return;
        }
    argp_failure(state, 3, 0, "--impl %s: no such implementation (mxverify list impls)", name);
}

static void parse_maps(struct argp_state *state, struct run_config *c, const char *text)
{
    static const char *const names[] = {"auto", "all", "fail", "none"};
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0) {
            c->maps = (enum maps_wanted)i;
            return;
        }
    argp_failure(state, 3, 0, "--maps %s: expected auto, all, fail or none", text);
}

static void add_setting(struct argp_state *state, struct run_config *c, const char *prefix,
                        const char *value)
{
    size_t size = strlen(prefix) + strlen(value) + 1;
    char *text = cli_realloc(NULL, size); // lives until the program ends
    snprintf(text, size, "%s%s", prefix, value);
    if (c->setting_count == RUN_SETTINGS_MAX)
        argp_failure(state, 3, 0, "more than %d settings", RUN_SETTINGS_MAX);
    c->settings[c->setting_count++] = text;
}

static void parse_number(struct argp_state *state, struct run_config *c, int key, const char *arg)
{
    uint64_t n;
    char *end;
    if (key == OPT_BUDGET) {
        c->time_budget = strtod(arg, &end);
        if (end == arg || *end || !(c->time_budget > 0 && c->time_budget < 1e9))
            argp_failure(state, 3, 0, "--time-budget %s: expected seconds above 0", arg);
        return;
    }
    if (!parse_count(arg, key == 's' ? 16 : 10, &n) || (key == 'n' && n == 0))
        argp_failure(state, 3, 0, "`%s`: expected a %s", arg,
                     key == 's' ? "hexadecimal seed" : "whole number above 0");
    if (key == 'n')
        c->count = n;
    else if (key == 's')
        c->seed = n;
    else
        c->verify.truth_scores = n;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct run_config *c = state->input;
    switch (key) {
    case 'k':
        c->kernel = arg;
        break;
    case 'c':
        c->cases = arg;
        break;
    case 'n':
    case 's':
    case OPT_BUDGET:
    case OPT_TRUTH_SCORES:
        parse_number(state, c, key, arg);
        break;
    case 'q':
        c->quiet = true;
        break;
    case OPT_SET:
        add_setting(state, c, "", arg);
        break;
    case OPT_ARCH:
        add_setting(state, c, "arch=", arg);
        break;
    case OPT_FAULT:
        c->fault = arg;
        break;
    case OPT_INPUT:
        c->input = arg;
        break;
    case OPT_IMPL:
        find_impl(state, c, arg);
        break;
    case OPT_NO_REAL:
        c->with_real = false;
        break;
    case OPT_REAL_DIR:
        c->real_dir = arg;
        break;
    case OPT_NO_TRUTH:
        c->verify.truth = false;
        break;
    case OPT_OUT:
        c->out = arg;
        break;
    case OPT_MAPS:
        parse_maps(state, c, arg);
        break;
    case OPT_NO_LOG:
        c->no_log = true;
        break;
    case OPT_COVERAGE:
        c->print_coverage = true;
        break;
    case OPT_REQUIRE:
        c->require_coverage = true;
        break;
    case OPT_HASH:
        c->print_hash = true;
        break;
    case ARGP_KEY_ARG:
        argp_failure(state, 3, 0, "`%s` is not understood; see mxverify run --help", arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void run_config_defaults(struct run_config *c)
{
    memset(c, 0, sizeof *c);
    c->kernel = "dma";
    c->cases = "smoke";
    c->out = "out";
    c->log_name = "run.jsonl";
    c->impl_name = mxv_impl_name(MXV_IMPL_PLAIN);
    c->seed = 1;
    c->with_real = true;
    c->verify =
        (struct mxv_verify_options){.impl = MXV_IMPL_PLAIN, .truth = true, .truth_scores = 2000000};
}

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
    char names[512], *at = names, *name;
    if (!c->fault)
        return 0;
    if (strlen(c->fault) >= sizeof names)
        return cli_usage("--fault %.40s...: too long", c->fault);
    strcpy(names, c->fault);
    while ((name = strsep(&at, ","))) {
        enum mxv_fault f;
        if (!mxv_fault_find(name, &f))
            return cli_usage("--fault %s: no such fault (mxverify list faults)", name);
    }
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
        options,
        parse_option,
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
    int status = check_kernel(c.kernel);
    if (status == 0)
        status = check_faults(&c);
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
            status = run_cases(&c, &source);
            mxv_tier_close(source.tier);
        }
    }
    free(words);
    return status;
}

static char *line_in(const json_t *record)
{
    const char *line = json_string_value(json_object_get(record, "case"));
    return line ? strdup(line) : NULL;
}

// Line of the case `id` in a log; NULL if there is none.
static char *line_of_id(const char *log, const char *id)
{
    FILE *file = fopen(log, "r");
    char *line = NULL, *found = NULL;
    size_t room = 0;
    while (file && !found && getline(&line, &room, file) >= 0) {
        json_t *record = json_loads(line, 0, NULL);
        const char *text = json_string_value(json_object_get(record, "id"));
        if (text && strncmp(text, id, strlen(id)) == 0)
            found = line_in(record);
        json_decref(record);
    }
    if (file)
        fclose(file);
    free(line);
    return found;
}

static bool looks_like_id(const char *text)
{
    return strlen(text) >= 4 && strlen(text) <= 10 &&
           strspn(text, "0123456789abcdef") == strlen(text);
}

struct repro_config {
    struct run_config run;
    const char *what, *log;
};

static error_t parse_repro(int key, char *arg, struct argp_state *state)
{
    struct repro_config *c = state->input;
    struct argp_state forwarded;
    switch (key) {
    case OPT_LOG:
        c->log = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (c->what)
            argp_failure(state, 3, 0, "give one case line, in quotes, or one id");
        c->what = arg;
        return 0;
    default:
        forwarded = *state; // same streams, the configuration of run
        forwarded.input = &c->run;
        return parse_option(key, arg, &forwarded);
    }
}

int cli_repro(int argc, char **argv)
{
    static const struct argp_option repro_options[] = {
        {"impl", OPT_IMPL, "NAME", 0, "implementation, default plain", 1},
        {"out", OPT_OUT, "DIR", 0, "folder of log and maps, default out/repro", 1},
        {"log", OPT_LOG, "FILE", 0, "log in which an id is looked up, default out/run.jsonl", 1},
        {"truth-scores", OPT_TRUTH_SCORES, "N", 0, "as in run", 1},
        {"no-truth", OPT_NO_TRUTH, NULL, 0, "as in run", 1},
        {0},
    };
    static const struct argp argp = {repro_options,
                                     parse_repro,
                                     "'CASE LINE' | ID",
                                     "Runs one case again and draws its maps.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct repro_config c = {.log = "out/run.jsonl"};
    struct run_source source = {.count = 1};
    char message[MXV_VERIFY_TEXT], name[] = "mxverify repro", *line = NULL;
    char **words = cli_realloc(NULL, ((size_t)argc + 2) * sizeof *words);
    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    words[argc + 1] = NULL;
    run_config_defaults(&c.run);
    c.run.out = "out/repro";
    argp_err_exit_status = 3;
    argp_parse(&argp, argc + 1, words, 0, NULL, &c);
    c.run.argc = argc + 1;
    c.run.argv = words;
    if (!c.what)
        return cli_usage("repro: the case line or id is missing");
    if (looks_like_id(c.what) && !(line = line_of_id(c.log, c.what)))
        return cli_usage("repro: no case %s in %s", c.what, c.log);
    if (mxv_case_parse(line ? line : c.what, &source.single, message, sizeof message) != MXV_OK)
        return cli_usage("repro: %s", message);
    c.run.kernel = mxv_choice_name(MXV_CHOICE_KERNEL, source.single.kernel);
    c.run.cases = "one line";
    c.run.maps = MAPS_ALL;
    if (source.single.faults)
        c.run.impl_name = mxv_impl_name(MXV_IMPL_EMULATION);
    int status = run_cases(&c.run, &source);
    free(line);
    free(words);
    return status;
}
