// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify properties`: what must hold of a kernel without any reference.
#include "cli.h"
#include "in_child.h"
#include <argp.h>
#include <mxverify/properties.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_IMPL = 256, OPT_FAULT, OPT_CASE, OPT_TIMEOUT };

struct properties_config {
    struct mxv_property_options options;
    struct mxv_case base;
    const char *library, *property;
    double timeout; // seconds, with an adapter
    bool all;
};

static void set_impl(struct argp_state *state, struct properties_config *c, const char *name)
{
    if (cli_names_library(name)) {
        c->library = name;
        return;
    }
    for (unsigned i = 0; mxv_impl_name(i); i++)
        if (strcmp(mxv_impl_name(i), name) == 0) {
            c->options.impl = (enum mxv_impl)i;
            return;
        }
    argp_failure(state, 3, 0, "--impl %s: no such implementation (mxverify list impls)", name);
}

static void set_kernel(struct argp_state *state, struct properties_config *c, const char *name)
{
    unsigned kernel;
    c->all = strcmp(name, "all") == 0;
    if (c->all)
        return;
    if (!mxv_choice_find(MXV_CHOICE_KERNEL, name, &kernel))
        argp_failure(state, 3, 0, "--kernel %s: no such kernel (mxverify list kernels)", name);
    c->options.kernel = (enum mxv_kernel)kernel;
}

static void set_case(struct argp_state *state, struct properties_config *c, const char *line)
{
    char message[4096];
    if (mxv_case_parse(line, &c->base, message, sizeof message) != MXV_OK)
        argp_failure(state, 3, 0, "--case: %s", message);
    c->options.base = &c->base;
    c->options.kernel = c->base.kernel;
    c->all = false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct properties_config *c = state->input;
    enum mxv_fault fault;
    char *end;
    switch (key) {
    case 'k':
        set_kernel(state, c, arg);
        return 0;
    case 'p':
        c->property = arg;
        return 0;
    case OPT_IMPL:
        set_impl(state, c, arg);
        return 0;
    case OPT_CASE:
        set_case(state, c, arg);
        return 0;
    case OPT_FAULT:
        if (!mxv_fault_find(arg, &fault))
            argp_failure(state, 3, 0, "--fault %s: no such fault (mxverify list faults)", arg);
        c->options.faults |= UINT64_C(1) << fault;
        c->options.impl = MXV_IMPL_EMULATION;
        return 0;
    case OPT_TIMEOUT:
        c->timeout = strtod(arg, &end);
        if (end == arg || *end || !(c->timeout >= 0 && c->timeout < 1e9))
            argp_failure(state, 3, 0, "--timeout %s: expected seconds, 0 for no limit", arg);
        return 0;
    case 's':
        c->options.seed = strtoull(arg, &end, 16);
        if (end == arg || *end)
            argp_failure(state, 3, 0, "--seed %s: expected a hexadecimal seed", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_result(enum mxv_property p, const struct mxv_property_result *r)
{
    printf("  %-17s %-14s", mxv_property_name(p), mxv_property_outcome_name(r->outcome));
    if (r->compared == 0) {
        printf("\n");
        return;
    }
    printf(" %9llu compared", (unsigned long long)r->compared);
    if (r->tolerance > 0)
        printf(", largest error %.3g of tolerance %.3g", r->error, r->tolerance);
    else if (r->beyond == 0)
        printf(", all bits equal");
    if (r->beyond)
        printf(", %llu beyond\n      %s\n      first worst: %s", (unsigned long long)r->beyond,
               r->variant, r->text);
    printf("\n");
}

// Adds what was found to counts; 0, or an exit status after a message.
static int run_kernel(const struct properties_config *c, size_t counts[4])
{
    char message[1024] = "";
    printf("%s\n", mxv_choice_name(MXV_CHOICE_KERNEL, c->options.kernel));
    for (unsigned p = 0; p < MXV_PROPERTY_COUNT; p++) {
        struct mxv_property_result r;
        if (c->property && strcmp(c->property, mxv_property_name(p)) != 0)
            continue;
        if (mxv_property_check((enum mxv_property)p, &c->options, &r, message, sizeof message) !=
            MXV_OK)
            return cli_usage("properties: %s: %s", mxv_property_name(p), message);
        counts[r.outcome]++;
        print_result((enum mxv_property)p, &r);
        fflush(stdout); // an adapter may die in the next one
    }
    return 0;
}

static int run_all(struct properties_config *c)
{
    size_t counts[4] = {0};
    int status = 0;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT && status == 0; k++) {
        if (!c->all && k != (unsigned)c->options.kernel)
            continue;
        c->options.kernel = (enum mxv_kernel)k;
        status = run_kernel(c, counts);
    }
    if (status)
        return status;
    printf("%zu hold, %zu violated, %zu violated as the kernel's contract says, %zu not "
           "applicable\n",
           counts[MXV_PROPERTY_HOLDS], counts[MXV_PROPERTY_VIOLATED], counts[MXV_PROPERTY_EXPECTED],
           counts[MXV_PROPERTY_NOT_APPLICABLE]);
    if (fflush(stdout))
        return cli_usage("properties: writing failed");
    if (counts[MXV_PROPERTY_VIOLATED])
        return 1;
    return counts[MXV_PROPERTY_HOLDS] + counts[MXV_PROPERTY_EXPECTED] ? 0 : 77;
}

static bool property_known(const char *name)
{
    for (unsigned p = 0; p < MXV_PROPERTY_COUNT; p++)
        if (strcmp(name, mxv_property_name(p)) == 0)
            return true;
    return false;
}

static int run_adapter(void *ctx, char *line, size_t size)
{
    struct properties_config *c = ctx;
    struct mxv_adapter *adapter;
    char message[4096];
    if (mxv_adapter_open(c->library, &adapter, message, sizeof message) != MXV_OK)
        return cli_usage("--impl: %s", message);
    mxv_adapter_watch(adapter, line, size);
    c->options.adapter = adapter;
    int status = run_all(c);
    mxv_adapter_close(adapter);
    return status;
}

int cli_properties(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"kernel", 'k', "NAME", 0, "kernel, default all", 1},
        {"impl", OPT_IMPL, "NAME|./LIB.so", 0, "implementation, default plain", 1},
        {"property", 'p', "NAME", 0, "one property alone", 1},
        {"seed", 's', "HEX", 0, "seed of the data, default 1", 1},
        {"case", OPT_CASE, "LINE", 0,
         "options of all calls instead of the kernel's variants; shape and data are made", 1},
        {"fault", OPT_FAULT, "NAME", 0, "switch a fault of implementation emulation on", 1},
        {"timeout", OPT_TIMEOUT, "SECONDS", 0, "with an adapter, for all; default 600, 0: no limit",
         1},
        {0},
    };
    static const struct argp argp = {options,
                                     parse,
                                     NULL,
                                     "Checks relations between outputs that attention must fulfil, "
                                     "without a reference (docs/properties.md).",
                                     NULL,
                                     NULL,
                                     NULL};
    struct properties_config *c = cli_realloc(NULL, sizeof *c);
    int status = 0;
    memset(c, 0, sizeof *c);
    c->options.seed = 1;
    c->all = true;
    c->timeout = -1;
    cli_parse(&argp, "mxverify properties", argc, argv, c);
    if (c->property && !property_known(c->property))
        status = cli_usage("--property %s: no such property (docs/properties.md)", c->property);
    if (status == 0 && c->timeout >= 0 && !c->library)
        status = cli_usage("properties: --timeout goes with an adapter");
    if (c->timeout < 0)
        c->timeout = 600;
    const struct child_work work = {
        .verb = "properties", .timeout = c->timeout, .run = run_adapter, .ctx = c};
    if (status == 0)
        status = c->library ? cli_in_child(&work) : run_all(c);
    free(c);
    return status;
}
