// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify check`: somebody else's tensors (docs/check.md).
#include "cli.h"
#include "run.h"
#include <errno.h>
#include <mxverify/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPT_KERNEL = 256,
    OPT_Q,
    OPT_K,
    OPT_V,
    OPT_O,
    OPT_LSE,
    OPT_SET,
    OPT_DTYPE,
    OPT_PACKED,
    OPT_LAYOUT,
    OPT_FOLDER,
    OPT_TRUTH,
    OPT_FIT,
    OPT_EXPLAIN,
    OPT_OPERAND,
    OPT_OPERAND_END = OPT_OPERAND + MXV_CHECK_OPERAND_COUNT,
    MESSAGE = 1024
};

struct check_config {
    struct mxv_check_options check;
    bool explain, made_folder;
    const char *settings[RUN_SETTINGS_MAX];
    size_t setting_count;
};

static const struct argp_option options[] = {
    {"kernel", OPT_KERNEL, "NAME", 0, "what O claims to be: flash (default), dma, tilemix ...", 0},
    {"q", OPT_Q, "FILE", 0, ".npy, .safetensors or FILE.safetensors:TENSOR", 0},
    {"k", OPT_K, "FILE", 0, "keys", 0},
    {"v", OPT_V, "FILE", 0, "values", 0},
    {"out", OPT_O, "FILE", 0, "the output of the kernel, f32, f16 or bf16", 0},
    {"lse", OPT_LSE, "FILE", 0, "its log-sum-exp, f32", 0},
    {"q-codes", OPT_OPERAND + MXV_CHECK_Q_CODE, "FILE", 0,
     "its quantised operands, compared with the emulation's: elements of Q", 0},
    {"q-scales", OPT_OPERAND + MXV_CHECK_Q_SCALE, "FILE", 0, "block scales of Q, row-major", 0},
    {"k-codes", OPT_OPERAND + MXV_CHECK_K_CODE, "FILE", 0, "elements of K", 0},
    {"k-scales", OPT_OPERAND + MXV_CHECK_K_SCALE, "FILE", 0, "block scales of K", 0},
    {"set", OPT_SET, "KEY=VALUE", 0, "option of the kernel (docs/case-language.md); repeatable", 1},
    {"dtype", OPT_DTYPE, "[TENSOR=]FORMAT", 0,
     "element format of a file that does not say (bf16 and FP8 in .npy); TENSOR: q k v out lse "
     "q-codes ...",
     1},
    {"packed", OPT_PACKED, "TENSOR", 0, "bytes of this tensor hold two E2M1 codes, low first", 1},
    {"layout", OPT_LAYOUT, "bhld|blhd", 0, "order of dimensions; default bhld", 1},
    {"folder", OPT_FOLDER, "DIR", 0, "converted operands and maps; default out", 2},
    {"truth-scores", OPT_TRUTH, "N", 0,
     "exact scores before rows are sampled, 0 for all rows; default 2000000", 2},
    {"fit-scores", OPT_FIT, "N", 0, "scores an attempt of the fit may cost; default 4000000", 2},
    {"explain", OPT_EXPLAIN, NULL, 0, "the terms behind the worst element", 2},
    {0},
};

static struct mxv_check_tensor *tensor(struct check_config *c, const char *name, size_t length)
{
    static const char *const names[] = {"q", "k", "v", "out", "lse"};
    struct mxv_check_tensor *all[] = {&c->check.q, &c->check.k, &c->check.v, &c->check.out,
                                      &c->check.lse};
    for (size_t i = 0; i < 5; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return all[i];
    for (unsigned i = 0; i < MXV_CHECK_OPERAND_COUNT; i++) {
        const char *own = mxv_check_operand_name(i);
        if (strlen(own) == length && strncmp(own, name, length) == 0)
            return &c->check.operands[i];
    }
    return NULL;
}

static void take_dtype(struct argp_state *state, struct check_config *c, const char *arg)
{
    const char *equals = strchr(arg, '='), *name = equals ? equals + 1 : arg;
    enum mxv_element f;
    if (!mxv_element_find(name, &f))
        argp_failure(state, 3, 0, "--dtype %s: no such format (mxverify list formats)", arg);
    struct mxv_check_tensor *one = equals ? tensor(c, arg, (size_t)(equals - arg)) : NULL;
    if (equals && !one)
        argp_failure(state, 3, 0, "--dtype %s: the tensors are q, k, v, out and lse", arg);
    struct mxv_check_tensor *operands[] = {&c->check.q, &c->check.k, &c->check.v};
    for (size_t i = 0; i < (one ? 1 : 3); i++) {
        struct mxv_check_tensor *t = one ? one : operands[i];
        t->options.has_type = true;
        t->options.type = f;
    }
}

static size_t number(struct argp_state *state, const char *name, const char *arg, bool zero)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(arg, &end, 10);
    if (errno || end == arg || *end || arg[0] < '0' || arg[0] > '9' || (n == 0 && !zero))
        argp_failure(state, 3, 0, "%s %s: expected a whole number%s", name, arg,
                     zero ? ", 0 for all rows" : " above 0");
    return (size_t)n;
}

static void take_kernel(struct argp_state *state, struct check_config *c, const char *arg)
{
    unsigned kernel;
    if (!mxv_choice_find(MXV_CHOICE_KERNEL, arg, &kernel))
        argp_failure(state, 3, 0, "--kernel %s: no such kernel (mxverify list kernels)", arg);
    mxv_case_defaults((enum mxv_kernel)kernel, &c->check.base);
}

static error_t parse_more(int key, char *arg, struct argp_state *state)
{
    struct check_config *c = state->input;
    struct mxv_check_tensor *t;
    if (key >= OPT_OPERAND && key < OPT_OPERAND_END) {
        c->check.operands[key - OPT_OPERAND].where = arg;
        return 0;
    }
    switch (key) {
    case OPT_DTYPE:
        take_dtype(state, c, arg);
        break;
    case OPT_PACKED:
        t = tensor(c, arg, strlen(arg));
        if (!t)
            argp_failure(state, 3, 0, "--packed %s: the tensors are q, k and v", arg);
        else
            t->options.packed = true;
        break;
    case OPT_LAYOUT:
        if (strcmp(arg, "bhld") && strcmp(arg, "blhd"))
            argp_failure(state, 3, 0, "--layout %s: bhld or blhd", arg);
        c->check.layout = strcmp(arg, "blhd") ? MXV_CHECK_BHLD : MXV_CHECK_BLHD;
        break;
    case OPT_FOLDER:
        c->check.folder = arg;
        break;
    case OPT_TRUTH:
        c->check.verify.truth_scores = number(state, "--truth-scores", arg, true);
        break;
    case OPT_FIT:
        c->check.fit_scores = number(state, "--fit-scores", arg, false);
        break;
    case OPT_EXPLAIN:
        c->explain = true;
        break;
    case ARGP_KEY_ARG:
        argp_failure(state, 3, 0, "`%s` is not understood; see mxverify check --help", arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct check_config *c = state->input;
    switch (key) {
    case OPT_KERNEL:
        take_kernel(state, c, arg);
        break;
    case OPT_Q:
        c->check.q.where = arg;
        break;
    case OPT_K:
        c->check.k.where = arg;
        break;
    case OPT_V:
        c->check.v.where = arg;
        break;
    case OPT_O:
        c->check.out.where = arg;
        break;
    case OPT_LSE:
        c->check.lse.where = arg;
        break;
    case OPT_SET:
        if (c->setting_count == RUN_SETTINGS_MAX)
            argp_failure(state, 3, 0, "--set: at most %d", RUN_SETTINGS_MAX);
        c->settings[c->setting_count++] = arg;
        break;
    default:
        return parse_more(key, arg, state);
    }
    return 0;
}

// The converted operands may be none of the files that are read.
static int files_apart(const struct mxv_check_options *o)
{
    static const char *const names[] = {"--q", "--k", "--v", "--out", "--lse"};
    const struct mxv_check_tensor *given[] = {&o->q, &o->k, &o->v, &o->out, &o->lse};
    enum { FILES = 5 + MXV_CHECK_OPERAND_COUNT };
    struct cli_file files[FILES + 1] = {0};
    int status = 0;
    for (size_t i = 0; i < FILES; i++)
        files[i] = i < 5 ? (struct cli_file){names[i], given[i]->where, false}
                         : (struct cli_file){mxv_check_operand_name((unsigned)i - 5),
                                             o->operands[i - 5].where, false};
    for (size_t i = 0; i < 3 && status == 0; i++) {
        char path[MXV_CASE_PATH_SIZE];
        snprintf(path, sizeof path, "%s/check_%c.npy", o->folder, "qkv"[i]);
        files[FILES] = (struct cli_file){"the operand written into --folder", path, true};
        status = cli_files_apart("check", files, FILES + 1);
    }
    return status;
}

static int settle(struct check_config *c)
{
    char message[MESSAGE];
    for (size_t i = 0; i < c->setting_count; i++) {
        const char *s = c->settings[i];
        if (mxv_case_set(&c->check.base, s, message, sizeof message) != MXV_OK)
            return cli_usage("check: --set %s: %s", s, message);
        c->check.keep_in |= strncmp(s, "in=", 3) == 0;
        c->check.keep_out |= strncmp(s, "out=", 4) == 0;
    }
    if (!c->check.q.where || !c->check.k.where || !c->check.v.where || !c->check.out.where)
        return cli_usage("check: --q, --k, --v and --out are needed");
    if (files_apart(&c->check))
        return 3;
    c->made_folder = mkdir(c->check.folder, 0777) == 0;
    if (!c->made_folder && errno != EEXIST)
        return cli_usage("check: folder %s: %s", c->check.folder, strerror(errno));
    return 0;
}

static void print_fits(const struct mxv_check_result *r)
{
    printf("\nemulations that fit O best, of %zu tried over %zu of %zu heads:\n", r->attempts,
           r->heads_compared, r->heads);
    for (size_t i = 0; i < r->fit_count; i++) {
        const struct mxv_check_fit *f = &r->fits[i];
        printf("  %10llu of %llu words differ, mean difference %-10.3g %s\n",
               (unsigned long long)f->differing, (unsigned long long)f->words, f->distance,
               f->change[0] ? f->change : "(as given)");
    }
    const struct mxv_check_fit *best = &r->fits[0];
    if (best->differing)
        printf("no emulation gives these words; nearest: %s\n",
               best->change[0] ? best->change : "as given");
    else if (r->same_bits)
        printf("the same bits as the emulation%s%s\n", best->change[0] ? " with " : "",
               best->change);
    else
        printf("the same bits as the emulation with %s%s\n", best->change,
               best->fault                    ? ": a known fault"
               : r->heads_compared < r->heads ? ", as far as compared"
                                              : ": another function than was given");
}

static void print_properties(const struct mxv_check_properties *p)
{
    printf("\ngain of rows on the emulation: %.6g to %.6g, median %.6g\n", p->gain_low,
           p->gain_high, p->gain_median);
    printf("elements beyond the visible values of their channel: %llu of %llu, %llu of them within "
           "all keys'; not finite: %llu\n",
           (unsigned long long)p->outside, (unsigned long long)p->elements,
           (unsigned long long)p->leaking, (unsigned long long)p->nonfinite);
}

static void print_operands(const struct mxv_check_result *r)
{
    for (unsigned i = 0; i < MXV_CHECK_OPERAND_COUNT; i++) {
        const struct mxv_check_operand *o = &r->operands[i];
        if (o->given && !o->found)
            printf("%s: no route of these options has operands of that shape\n",
                   mxv_check_operand_name(i));
        else if (o->given)
            printf("%s: %llu of %llu words unlike those of route %s\n", mxv_check_operand_name(i),
                   (unsigned long long)o->differing, (unsigned long long)o->words,
                   mxv_choice_name(MXV_CHOICE_ROUTE, o->route));
        if (o->given && o->differing)
            printf("  first: head %zu, token %zu, column %zu, expected %X, got %X\n", o->head,
                   o->row, o->col, o->expected, o->got);
    }
}

static bool operands_agree(const struct mxv_check_result *r)
{
    for (unsigned i = 0; i < MXV_CHECK_OPERAND_COUNT; i++)
        if (r->operands[i].given && (!r->operands[i].found || r->operands[i].differing))
            return false;
    return true;
}

static void print_metrics(const struct mxv_verify_result *v)
{
    const struct {
        const char *what;
        const struct mxv_metrics *m;
    } sides[] = {{"(a) the inputs", &v->against_inputs},
                 {"(b) the operands", &v->against_operands}};
    printf("\nagainst exact attention, %zu of %zu rows", v->truth_rows - v->unmeasured_rows,
           v->truth_rows_total);
    if (v->unmeasured_rows)
        printf("; %zu are left out, which no bound judges (docs/bounds.md 1)", v->unmeasured_rows);
    printf(":\n");
    for (size_t i = 0; i < 2; i++) {
        double values[MXV_METRIC_COUNT];
        mxv_metrics_finish(sides[i].m, values);
        printf("  of %-17s", sides[i].what);
        for (unsigned m = 0; m < MXV_METRIC_COUNT; m++)
            if (values[m] == values[m])
                printf(" %s %.4g", mxv_metric_get(m)->name, values[m]);
        printf("\n");
    }
}

static int report(const struct check_config *c, const struct mxv_check_result *r)
{
    const struct mxv_verify_result *v = &r->verify;
    printf("mxverify repro '%s'\n", r->line);
    print_fits(r);
    print_properties(&r->properties);
    print_operands(r);
    print_metrics(v);
    run_print_bound(v);
    if (c->explain)
        run_explain(v);
    for (size_t i = 0; i < v->map_count; i++)
        printf("  map: %s\n", v->maps[i]);
    bool fault = r->fits[0].fault && r->fits[0].differing == 0;
    printf("\nverdict: %s%s%s\n", mxv_verdict_name(v->verdict), v->reason[0] ? ": " : "",
           v->reason);
    if (v->diagnosis[0])
        printf("%s\n", v->diagnosis);
    if (fault)
        printf("known fault: %s\n", r->fits[0].change);
    return v->verdict == MXV_VERDICT_PASS && !fault && operands_agree(r) ? 0 : 1;
}

int cli_check(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Judges tensors of a foreign kernel: bits, bound, truth, maps, properties, nearest fault.\v"
        "Exit status: 0 the verdict is pass, no known fault fits and the operands given agree; 1 "
        "otherwise, 3 for usage and files.",
        NULL,
        NULL,
        NULL};
    struct check_config c = {0};
    struct mxv_check_result *r = cli_realloc(NULL, sizeof *r);
    char message[MESSAGE];
    mxv_case_defaults(MXV_KERNEL_FLASH, &c.check.base);
    c.check.folder = "out";
    c.check.fit_scores = 4000000;
    c.check.verify =
        (struct mxv_verify_options){.truth = true, .truth_scores = 2000000, .wide_weights = true};
    cli_parse(&argp, "mxverify check", argc, argv, &c);
    int status = settle(&c);
    if (status == 0) {
        bool good = mxv_check_run(&c.check, r, message, sizeof message) == MXV_OK;
        status = good ? report(&c, r) : cli_usage("check: %s", message);
        mxv_check_free(r);
        if (!good && c.made_folder)
            rmdir(c.check.folder); // stays where there are maps in it
    }
    free(r);
    return fflush(stdout) ? cli_usage("writing the report failed") : status;
}
