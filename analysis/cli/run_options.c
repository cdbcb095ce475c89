// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The options of `mxverify run` and how they fill its configuration.
#include "cli.h"
#include "run.h"
#include <argp.h>
#include <errno.h>
#include <mxverify/runner.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_ARCH = RUN_OPT_OTHER,
    OPT_FAULT,
    OPT_SET,
    OPT_INPUT,
    OPT_MAPS,
    OPT_NO_REAL,
    OPT_HASH,
    OPT_BUDGET,
    OPT_COVERAGE,
    OPT_REQUIRE,
    OPT_EVENTS,
    OPT_REQUIRE_EVENTS,
    OPT_NO_REQUIRE_EVENTS,
    OPT_NO_LOG,
    OPT_REAL_DIR,
    OPT_WORKERS,
    OPT_RESUME,
    OPT_SHARD,
    OPT_LEDGER,
    OPT_JUNIT,
    OPT_HTML
};

const struct argp_option run_options[] = {
    {"kernel", 'k', "NAME", 0,
     "kernel to verify, or all (mxverify list kernels); default dma, for a file of cases all", 1},
    {"cases", 'c', "TIER", 0, "tier (mxverify list cases) or a file of case lines", 1},
    {"count", 'n', "N", 0, "number of cases", 1},
    {"seed", 's', "HEX", 0, "seed of tier fuzz, default 1", 1},
    {"time-budget", OPT_BUDGET, "SECONDS", 0,
     "start no case after this time; default 30 for fuzz without --count", 1},
    {"set", OPT_SET, "KEY=VALUE", 0,
     "set a field of every case that can take it (mxverify list fields)", 2},
    {"arch", OPT_ARCH, "NAME", 0, "architecture of every case", 2},
    {"fault", OPT_FAULT, "NAME,...", 0,
     "switch faults on in the implementation (mxverify list faults)", 2},
    {"input", OPT_INPUT, "Q,K,V", 0, "tensors from .npy or .safetensors files: one case", 2},
    {"impl", RUN_OPT_IMPL, "NAME|./LIB.so", 0,
     "implementation (mxverify list impls) or an adapter, default plain", 2},
    {"no-real", OPT_NO_REAL, NULL, 0, "leave out the captured activations", 2},
    {"real-dir", OPT_REAL_DIR, "DIR", 0, "folder of the captured activations", 2},
    {"no-truth", RUN_OPT_NO_TRUTH, NULL, 0, "compare bits only, evaluate no exact attention", 3},
    {"truth-scores", RUN_OPT_TRUTH_SCORES, "N", 0,
     "exact scores per case before rows are sampled, 0 = all rows; default 2000000", 3},
    {"workers", OPT_WORKERS, "N", 0, "verify in N processes; default with --timeout or an adapter",
     4},
    {"timeout", RUN_OPT_TIMEOUT, "SECONDS", 0,
     "time limit of a case in a worker; default 600, 0: none", 4},
    {"wide-p", RUN_OPT_WIDE_P, NULL, 0,
     "the implementation may keep P wider than the case declares (without the emulation's bits)",
     4},
    {"no-retry", RUN_OPT_NO_RETRY, NULL, 0, "do not run a failed case of a worker once more", 4},
    {"explain", RUN_OPT_EXPLAIN, NULL, 0,
     "print every case with its bound, gate power and the terms of its worst element", 5},
    {"resume", OPT_RESUME, NULL, 0, "go on with the run whose log is in the output folder", 4},
    {"shard", OPT_SHARD, "I/N", 0, "only every Nth case, from the Ith", 4},
    {"ledger", OPT_LEDGER, "FILE", 0, "known failures (docs/ledger.md)", 4},
    {"out", RUN_OPT_OUT, "DIR", 0, "folder of log and maps, default out", 5},
    {"maps", OPT_MAPS, "auto|all|fail|none", 0,
     "which cases get maps; auto: failures, captured activations and the first 4", 5},
    {"no-log", OPT_NO_LOG, NULL, 0, "write no run.jsonl", 5},
    {"junit", OPT_JUNIT, "FILE", 0, "write a JUnit report, too", 5},
    {"html", OPT_HTML, "FILE", 0, "write an HTML report, too", 5},
    {"coverage", OPT_COVERAGE, NULL, 0, "print how often each option was met", 5},
    {"require-coverage", OPT_REQUIRE, NULL, 0, "fail if an option of a kernel was never met", 5},
    {"events", OPT_EVENTS, NULL, 0, "print what the data made the arithmetic do", 5},
    {"require-events", OPT_REQUIRE_EVENTS, NULL, 0,
     "fail if a mandatory event of a kernel was never met (docs/properties.md); so do the whole "
     "tiers quick and nightly",
     5},
    {"no-require-events", OPT_NO_REQUIRE_EVENTS, NULL, 0, "a whole tier may miss events", 5},
    {"print-hash", OPT_HASH, NULL, 0, "print the hash of all outputs on a line of its own", 5},
    {"quiet", 'q', NULL, 0, "no progress, no report", 5},
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
    c->impl_asked = name;
    c->impl_cuda = strcmp(name, "cuda") == 0;
    if (c->impl_cuda)
        return;
    const bool library = cli_names_library(name);
    c->impl_library = library ? name : NULL;
    if (library)
        return;
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

static void parse_shard(struct argp_state *state, struct run_config *c, const char *text)
{
    char message[256];
    if (mxv_shard_parse(text, &c->shard, message, sizeof message) != MXV_OK)
        argp_failure(state, 3, 0, "--%s", message);
}

static void add_setting(struct argp_state *state, struct run_config *c, const char *prefix,
                        const char *value)
{
    size_t size = strlen(prefix) + strlen(value) + 1;
    char *text = cli_realloc(NULL, size); // lives until the program ends
    snprintf(text, size, "%s%s", prefix, value);
    size_t key = strcspn(text, "=");
    for (size_t i = 0; i < c->setting_count; i++)
        if (strncmp(c->settings[i], text, key + 1) == 0)
            argp_failure(state, 3, 0, "`%s` and `%s`: the same field twice", c->settings[i], text);
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
    if (key == RUN_OPT_TIMEOUT) {
        c->timeout = strtod(arg, &end);
        c->has_timeout = true;
        if (end == arg || *end || !(c->timeout >= 0 && c->timeout < 1e9))
            argp_failure(state, 3, 0, "--timeout %s: expected seconds, 0 for no limit", arg);
        return;
    }
    bool positive = key == 'n' || key == OPT_WORKERS;
    const char *name = key == 'n'           ? "count"
                       : key == 's'         ? "seed"
                       : key == OPT_WORKERS ? "workers"
                                            : "truth-scores";
    if (!parse_count(arg, key == 's' ? 16 : 10, &n) || (positive && n == 0))
        argp_failure(state, 3, 0, "--%s %s: expected a %s", name, arg,
                     key == 's' ? "hexadecimal seed"
                     : positive ? "whole number above 0"
                                : "whole number, 0 for all rows");
    if (key == OPT_WORKERS && n > MXV_RUNNER_WORKERS_MAX)
        argp_failure(state, 3, 0, "--workers %s: at most %u processes", arg,
                     MXV_RUNNER_WORKERS_MAX);
    if (key == 'n')
        c->count = n;
    else if (key == 's')
        c->seed = n;
    else if (key == OPT_WORKERS)
        c->workers = (unsigned)n;
    else
        c->verify.truth_scores = n, c->has_truth_scores = true;
}

int run_parse_option(int key, char *arg, struct argp_state *state)
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
    case OPT_WORKERS:
    case RUN_OPT_TIMEOUT:
    case RUN_OPT_TRUTH_SCORES:
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
    case RUN_OPT_IMPL:
        find_impl(state, c, arg);
        break;
    case OPT_NO_REAL:
        c->with_real = false;
        break;
    case OPT_REAL_DIR:
        c->real_dir = arg;
        break;
    case RUN_OPT_NO_TRUTH:
        c->verify.truth = false;
        break;
    case RUN_OPT_OUT:
        c->out = arg;
        break;
    case RUN_OPT_WIDE_P:
        c->verify.wide_weights = true;
        break;
    case RUN_OPT_NO_RETRY:
        c->no_retry = true;
        break;
    case RUN_OPT_EXPLAIN:
        c->explain = true;
        break;
    case OPT_RESUME:
        c->resume = true;
        break;
    case OPT_SHARD:
        parse_shard(state, c, arg);
        break;
    case OPT_LEDGER:
        c->ledger = arg;
        break;
    case OPT_JUNIT:
        c->junit = arg;
        break;
    case OPT_HTML:
        c->html = arg;
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
    case OPT_EVENTS:
        c->print_events = c->verify.events = true;
        break;
    case OPT_REQUIRE_EVENTS:
        c->events = EVENTS_REQUIRED;
        break;
    case OPT_NO_REQUIRE_EVENTS:
        c->events = EVENTS_FREE;
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
    c->cases = "smoke";
    c->out = "out";
    c->log_name = "run.jsonl";
    c->impl_name = mxv_impl_name(MXV_IMPL_PLAIN);
    c->seed = 1;
    c->timeout = 600;
    c->with_real = true;
    c->verify = (struct mxv_verify_options){
        .impl = MXV_IMPL_PLAIN, .truth = true, .truth_scores = 2000000, .name_fault = true};
}

static bool has_setting(const struct run_config *c, const char *prefix)
{
    for (size_t i = 0; i < c->setting_count; i++)
        if (strncmp(c->settings[i], prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

bool run_is_tier(const char *cases)
{
    for (unsigned i = 0; mxv_tier_name(i); i++)
        if (strcmp(mxv_tier_name(i), cases) == 0)
            return true;
    return false;
}

// The architecture that the implementation computes.
static void add_arch(struct run_config *c)
{
    size_t size = strlen(c->impl_arch) + 6;
    char *text = cli_realloc(NULL, size); // lives until the program ends
    snprintf(text, size, "arch=%s", c->impl_arch);
    if (c->setting_count < RUN_SETTINGS_MAX)
        c->settings[c->setting_count++] = text;
}

// Options of run and repro that would do nothing beside the others.
static int refuse_idle(const struct run_config *c)
{
    if (c->no_retry && c->workers == 0)
        return cli_usage("--no-retry is about workers: give --workers or --timeout, too");
    if (c->has_truth_scores && !c->verify.truth)
        return cli_usage("--truth-scores and --no-truth: there is no truth to sample");
    return 0;
}

// Workers where they are asked for, by their number or by a time limit; and the shard that the
// environment asks for, where there is no option.
int run_config_finish(struct run_config *c)
{
    char message[512];
    if (c->impl_cuda && run_find_cuda(c))
        return 3;
    if (c->workers == 0 && (c->has_timeout || c->impl_library))
        c->workers = 1;
    if (refuse_idle(c))
        return 3;
    if (c->impl_library && c->fault)
        return cli_usage("--fault goes with implementation emulation, not with an adapter");
    if (c->impl_library && run_ask_library(c))
        return 3;
    if (c->verify.impl == MXV_IMPL_RECORDED && run_open_recorded(c))
        return 3;
    // the lines of a file say themselves what they want
    if (c->impl_arch && run_is_tier(c->cases) && !has_setting(c, "arch="))
        add_arch(c);
    if (c->no_log && (c->resume || c->junit || c->html))
        return cli_usage("--resume, --junit and --html need the log: leave --no-log out");
    if (c->shard.count == 0 &&
        mxv_shard_from_environment(&c->shard, &c->shard_source, message, sizeof message) != MXV_OK)
        return cli_usage("%s", message);
    if (c->shard_source && !c->quiet)
        fprintf(stderr, "shard %llu/%llu, from %s\n", (unsigned long long)c->shard.index + 1,
                (unsigned long long)c->shard.count, c->shard_source);
    return 0;
}
