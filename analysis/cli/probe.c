// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify probe`: what a black box is, a matrix unit or a quantiser behind a shell command, or
// recorded answers (docs/probe.md).
#include "cli.h"
#include <argp.h>
#include <mxverify/probe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_PIPE = 256,
    OPT_QUANTIZER,
    OPT_ATTENTION,
    OPT_VECTORS,
    OPT_MODEL,
    OPT_LIKE,
    OPT_A,
    OPT_B,
    OPT_OUT,
    OPT_SCALE,
    OPT_BLOCK,
    OPT_K,
    OPT_PROFILE,
    OPT_TIMEOUT,
    SOURCES = 64,
    MESSAGE = 1024,
    SHOWN = 8
};

struct probe_config {
    const char *pipe, *quantiser, *attention, *model, *profile, *block;
    const char *vectors[SOURCES];
    size_t vector_count;
    struct mxv_mma_model face;
    bool has_a, has_b;
    unsigned k;
};

static const struct argp_option options[] = {
    {"pipe", OPT_PIPE, "COMMAND", 0, "a matrix unit: reads requests of `mxverify eval mma`", 0},
    {"quantizer", OPT_QUANTIZER, "COMMAND", 0,
     "a block quantiser: reads requests of `mxverify eval quantize`", 0},
    {"attention", OPT_ATTENTION, "COMMAND", 0,
     "masked rows of an attention: reads requests of `mxverify eval attention_row`", 0},
    {"vectors", OPT_VECTORS, "FILE", 0,
     "recorded answers: a capture, or lines A | B | C [| scales] | D; may be repeated", 0},
    {"model", OPT_MODEL, "MODEL", 0, "a model of this project as the black box", 0},
    {"like", OPT_LIKE, "MODEL", 0, "formats and scales of this model", 1},
    {"a", OPT_A, "FORMAT", 0, "format of A (and of B)", 1},
    {"b", OPT_B, "FORMAT", 0, "format of B", 1},
    {"result", OPT_OUT, "TYPE", 0, "type of C and D: f32 (default), f16 or s32", 1},
    {"scale", OPT_SCALE, "FORMAT", 0, "format of the block scales: e8m0 or ue4m3", 1},
    {"block", OPT_BLOCK, "N|FORMAT", 0,
     "products per scale; with --quantizer a block format, as mxfp8_e4m3", 1},
    {"k", OPT_K, "N", 0, "products of a request, at most 64 (default); shorter ones chain", 1},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "of a command, for a batch; default 60", 2},
    {"profile", OPT_PROFILE, "FILE", 0, "write what was found as JSON", 2},
    {0},
};

static enum mxv_element element(struct argp_state *state, const char *name)
{
    enum mxv_element f = MXV_F32;
    if (!mxv_element_find(name, &f))
        argp_failure(state, 3, 0, "`%s`: no such format (mxverify list formats)", name);
    return f;
}

static const struct mxv_mma_model *model(struct argp_state *state, const char *name)
{
    const struct mxv_mma_model *m = mxv_mma_find(name);
    if (!m)
        argp_failure(state, 3, 0, "`%s`: no such model (mxverify list models)", name);
    return m;
}

static enum mxv_mma_result result_type(struct argp_state *state, const char *name)
{
    for (int r = MXV_MMA_F32; r <= MXV_MMA_S32; r++)
        if (strcmp(mxv_mma_result_name((enum mxv_mma_result)r), name) == 0)
            return (enum mxv_mma_result)r;
    argp_failure(state, 3, 0, "--result %s: f32, f16 or s32", name);
    return MXV_MMA_F32;
}

static void take_scale(struct argp_state *state, struct probe_config *c, const char *name)
{
    c->face.scale = (int)element(state, strcmp(name, "ue8m0") == 0 ? "e8m0" : name);
    if (c->face.scale != MXV_E8M0 && c->face.scale != MXV_UE4M3)
        argp_failure(state, 3, 0, "--scale %s: e8m0 or ue4m3", name);
}

static unsigned number(struct argp_state *state, const char *key, const char *text, unsigned least,
                       unsigned most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || n < least || n > most)
        argp_failure(state, 3, 0, "--%s %s: expected a number from %u to %u", key, text, least,
                     most);
    return (unsigned)n;
}

static error_t parse_face(int key, char *arg, struct argp_state *state)
{
    struct probe_config *c = state->input;
    switch (key) {
    case OPT_LIKE:
        c->face = *model(state, arg);
        c->has_a = c->has_b = true;
        break;
    case OPT_A:
        c->face.a = element(state, arg);
        c->face.b = c->has_b ? c->face.b : c->face.a;
        c->has_a = true;
        break;
    case OPT_B:
        c->face.b = element(state, arg);
        c->has_b = true;
        break;
    case OPT_OUT:
        c->face.result = result_type(state, arg);
        break;
    case OPT_SCALE:
        take_scale(state, c, arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct probe_config *c = state->input;
    switch (key) {
    case OPT_PIPE:
        c->pipe = arg;
        break;
    case OPT_QUANTIZER:
        c->quantiser = arg;
        break;
    case OPT_ATTENTION:
        c->attention = arg;
        break;
    case OPT_VECTORS:
        if (c->vector_count == SOURCES)
            argp_failure(state, 3, 0, "--vectors: at most %d files", SOURCES);
        c->vectors[c->vector_count++] = arg;
        break;
    case OPT_MODEL:
        model(state, arg);
        c->model = arg;
        break;
    case OPT_BLOCK:
        c->block = arg;
        break;
    case OPT_K:
        c->k = number(state, "k", arg, 4, MXV_PROBE_K);
        break;
    case OPT_TIMEOUT:
        mxv_probe_time_limit(number(state, "timeout", arg, 1, 1000000));
        break;
    case OPT_PROFILE:
        c->profile = arg;
        break;
    case ARGP_KEY_ARG:
        argp_failure(state, 3, 0, "`%s` is not understood; see mxverify probe --help", arg);
        break;
    case ARGP_KEY_END:
        if (c->block && !c->quantiser)
            c->face.block = number(state, "block", c->block, 16, MXV_PROBE_K);
        if (c->face.scale == MXV_MMA_NO_SCALE)
            c->face.block = 0;
        else if (c->face.block != 16 && c->face.block != 32)
            argp_failure(state, 3, 0, "--scale needs --block 16 or 32");
        break;
    default:
        return parse_face(key, arg, state);
    }
    return 0;
}

static void print_range(const char *name, struct mxv_probe_range r, const char *text)
{
    if (r.values == 1)
        printf("  %-9s %-12d %s\n", name, r.low, text);
    else if (r.values > 1)
        printf("  %-9s %d..%d%*s %s: unobservable, %u values answer alike\n", name, r.low, r.high,
               4, "", text, r.values);
}

static void print_rules(unsigned set)
{
    for (unsigned r = 0, first = 1; r < MXV_PROBE_RULES; r++)
        if (set >> r & 1) {
            printf("%s%s", first ? "" : " or ", mxv_mma_rule_name((enum mxv_mma_rule)r));
            first = 0;
        }
}

static void print_models(const struct mxv_probe_result *r)
{
    size_t same = 0;
    while (same < r->named_count && r->named[same].differing == 0)
        same++;
    if (r->known == 0)
        printf("  known models: none with these formats\n");
    else if (same == 0)
        printf("  nearest known model: %s, %zu of %zu answers differ, %zu in the sign of a zero\n",
               r->named[0].model->name, r->named[0].differing, r->questions,
               r->named[0].zero_signs);
    else
        printf("  known models without a differing answer: %zu of %zu\n", same, r->known);
    for (size_t i = 0; i < same; i++)
        printf("    %s (%s)\n", r->named[i].model->name,
               mxv_mma_evidence_name(r->named[i].model->evidence));
}

static void print_unit(const struct mxv_probe_entry *e)
{
    const struct mxv_probe_result *r = e->result;
    printf("%s: %s x %s -> %s, %zu answers, %zu candidates, %zu give every answer\n", e->source,
           mxv_element_get(e->face.a)->name, mxv_element_get(e->face.b)->name,
           mxv_mma_result_name(e->face.result), r->questions, r->candidates, r->remaining);
    if (r->remaining) {
        printf("  rule      ");
        print_rules(r->rules);
        printf("\n");
        print_range("L", r->step, "products per step");
        print_range("F", r->frac_bits, "fraction bits below the shared exponent");
        print_range("keep", r->keep_bits, "fraction bits of the result");
        print_range("z", r->zero_exp, "exponent of zeros");
        print_range("K", r->k, "products per instruction");
        print_range("saturate", r->saturate, "clamps at the ends of s32");
    } else {
        printf("  outside the space of docs/numerics.md: no candidate gives every answer\n");
    }
    for (unsigned f = 0; f < MXV_PROBE_FACT_COUNT; f++)
        if (r->has_fact[f])
            printf("  %-12s %0*X  %s\n", mxv_probe_fact_name(f),
                   e->face.result == MXV_MMA_F16 ? 4 : 8, r->facts[f], mxv_probe_fact_text(f));
    print_models(r);
}

static int print_quantiser(const struct probe_config *c, enum mxv_block block,
                           const struct mxv_probe_quantiser *q)
{
    printf("%s: %s, %zu blocks, %zu candidates, %zu give every answer\n", c->quantiser,
           mxv_block_get(block)->name, q->questions, q->candidates, q->remaining);
    if (q->missed)
        printf("  outside the space: the nearest candidate misses %zu blocks\n", q->missed);
    for (unsigned p = 0; p < MXV_PROBE_POLICY_COUNT; p++) {
        if (!q->values[p])
            continue;
        printf("  %-11s", mxv_probe_policy_name(p));
        for (unsigned v = 0; mxv_probe_policy_value(p, v); v++)
            if (q->values[p] >> v & 1)
                printf(" %s", mxv_probe_policy_value(p, v));
        printf("%s\n", q->values[p] & (q->values[p] - 1) ? "  (unobservable: answer alike)" : "");
    }
    return q->missed ? 1 : 0;
}

static int probe_quantiser(const struct probe_config *c)
{
    enum mxv_block block;
    struct mxv_probe_quantiser q;
    char message[MESSAGE];
    if (!c->block || !mxv_block_find(c->block, &block))
        return cli_usage("probe --quantizer: --block names a block format (mxverify list formats)");
    if (mxv_probe_quantiser_run(block, mxv_probe_quantise_command, (void *)(size_t)c->quantiser, &q,
                                message, sizeof message) != MXV_OK)
        return cli_usage("probe: %s", message);
    int status = print_quantiser(c, block, &q);
    if (c->profile &&
        mxv_probe_write(c->profile, NULL, 0, &q, block, message, sizeof message) != MXV_OK)
        return cli_usage("probe: %s", message);
    return status;
}

static int probe_masked(const struct probe_config *c)
{
    struct mxv_probe_masked m;
    char message[MESSAGE];
    if (mxv_probe_masked_run(c->attention, &m, message, sizeof message) != MXV_OK)
        return cli_usage("probe: %s", message);
    printf("row without a visible key: %s (%s), word %08X", mxv_probe_masked_name(m.row),
           mxv_probe_masked_text(m.row), m.out);
    if (m.has_lse)
        printf(", LSE %08X", m.lse);
    printf("\n");
    return m.row == MXV_PROBE_MASKED_OTHER ? 1 : 0;
}

// A unit behind a command or a model. 0, or 3.
static int probe_asked(const struct probe_config *c, struct mxv_probe_entry *e,
                       struct mxv_probe_result *result)
{
    char message[MESSAGE];
    struct mxv_mma_model box;
    struct mxv_probe_unit unit = {.face = c->face, .k = c->k};
    if (c->model) {
        box = *mxv_mma_find(c->model);
        unit.face = box;
        unit.ask = mxv_probe_ask_model;
        unit.ctx = &box;
    } else {
        if (!c->has_a)
            return cli_usage("probe --pipe: name the formats, --like MODEL or --a FORMAT ...");
        unit.ask = mxv_probe_ask_command;
        unit.ctx = (void *)(size_t)c->pipe;
    }
    *e = (struct mxv_probe_entry){c->model ? c->model : c->pipe, unit.face, result};
    if (mxv_probe_unit_run(&unit, result, message, sizeof message) != MXV_OK)
        return cli_usage("probe: %s", message);
    return 0;
}

static int probe_recorded(const struct probe_config *c, const char *path, struct mxv_probe_entry *e,
                          struct mxv_probe_result *result)
{
    char message[MESSAGE];
    struct mxv_probe_record record;
    if (mxv_probe_read(path, &c->face, &record, message, sizeof message) != MXV_OK)
        return cli_usage("probe: %s", message);
    struct mxv_probe_unit unit = {.face = record.face,
                                  .recorded = record.questions,
                                  .recorded_answers = record.answers,
                                  .recorded_count = record.count};
    *e = (struct mxv_probe_entry){path, unit.face, result};
    enum mxv_status status = mxv_probe_unit_run(&unit, result, message, sizeof message);
    mxv_probe_record_free(&record);
    return status == MXV_OK ? 0 : cli_usage("probe: %s: %s", path, message);
}

static int conclude(const struct probe_config *c, const struct mxv_probe_entry *entries,
                    size_t count)
{
    const char *arches[MXV_PROBE_ARCHES];
    char message[MESSAGE];
    size_t n = mxv_probe_arches(entries, count, arches, MXV_PROBE_ARCHES);
    printf("architectures that fit all of it:");
    for (size_t i = 0; i < n; i++)
        printf(" %s", arches[i]);
    printf("%s\n", n ? "" : " none");
    if (c->profile && mxv_probe_write(c->profile, entries, count, NULL, MXV_NVFP4, message,
                                      sizeof message) != MXV_OK)
        return cli_usage("probe: %s", message);
    return n ? 0 : 1;
}

static int probe_units(const struct probe_config *c)
{
    size_t count = c->vector_count ? c->vector_count : 1;
    struct mxv_probe_entry *entries = cli_realloc(NULL, count * sizeof *entries);
    struct mxv_probe_result *results = cli_realloc(NULL, count * sizeof *results);
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        status = c->vector_count ? probe_recorded(c, c->vectors[i], &entries[i], &results[i])
                                 : probe_asked(c, &entries[i], &results[i]);
        if (status == 0)
            print_unit(&entries[i]);
    }
    if (status == 0)
        status = conclude(c, entries, count);
    free(entries);
    free(results);
    return status;
}

int cli_probe(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Finds out what a matrix unit or a block quantiser is.\v"
        "Exit status: 0 if a known architecture (for a quantiser: a set of policies) gives every "
        "answer, 1 if none does, 3 for usage or a command that fails.",
        NULL,
        NULL,
        NULL};
    struct probe_config c = {.face = {.result = MXV_MMA_F32, .scale = MXV_MMA_NO_SCALE}};
    cli_parse(&argp, "mxverify probe", argc, argv, &c);
    if (!!c.pipe + !!c.quantiser + !!c.attention + !!c.model + !!c.vector_count != 1)
        return cli_usage(
            "probe: one of --pipe, --quantizer, --attention, --vectors and --model is needed");
    int status = c.quantiser   ? probe_quantiser(&c)
                 : c.attention ? probe_masked(&c)
                               : probe_units(&c);
    return fflush(stdout) ? cli_usage("writing the answer failed") : status;
}
