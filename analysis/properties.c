// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties over the variants of a kernel (properties.h): calls, outputs, tally. The relations are
// in properties_values.c, properties_parts.c and properties_calls.c, the tolerances in
// properties_tolerance.c.
// tests/gate/test_properties.c fails if a healthy kernel violates one, or a faulty one does not.
#include "case_internal.h"
#include "head_status.h"
#include "properties_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum exactness { BOUND, EXACT };

static const struct {
    const char *name, *text, *released;
    enum exactness exact;
    int (*run)(struct trial *t);
} rows[] = {
#define X(id, name, exact, released, text) {name, text, released, exact, property_##id},
#include <mxverify/properties.def>
#undef X
};

// Options of the calls: small tiles, so that there are several of each kind.
static const struct variant {
    enum mxv_kernel kernel;
    const char *line;
    bool one_route;
    const char *defect; // of dma-released
} variants[] = {
    {MXV_KERNEL_FLASH, "flash tile=64x64 out=f32 lse=e", true, ""},
    {MXV_KERNEL_FLASH, "flash arch=sm_100 v=bf16 in=bf16 tile=64x32 out=f32 lse=e tau=8", true, ""},
    {MXV_KERNEL_DMA, "dma tile=64x64 out=f32 lse=e", false, ""},
    {MXV_KERNEL_DMA, "dma tile=64x64 out=f32 lse=e mode=high", true, ""},
    {MXV_KERNEL_DMA, "dma tile=64x64 out=f32 lse=e mode=low", true, ""},
    {MXV_KERNEL_DMA, "dma tile=64x64 out=f32 lse=e mode=low low=nvfp4 dual=token", true, ""},
    {MXV_KERNEL_DMA, "dma tile=64x64 out=f32 lse=e mode=high v=e4m3", true, ""},
    {MXV_KERNEL_DMA, "dma arch=sm_90 tile=64x64 out=f32 lse=e mode=low rebase=1", true, ""},
    {MXV_KERNEL_DMA_RELEASED, "dma-released out=f32", false, "D3"},
    {MXV_KERNEL_DMA_RELEASED, "dma-released out=f32 mode=high", true, ""},
    {MXV_KERNEL_DMA_RELEASED, "dma-released out=f32 mode=low low=mxfp4", true, ""},
    {MXV_KERNEL_TILEMIX, "tilemix tile=64x64 out=f32 lse=e plan=checker", false, ""},
    {MXV_KERNEL_TILEMIX, "tilemix tile=64x64 out=f32 lse=e plan=checker qgran=token kgran=token",
     false, ""},
    {MXV_KERNEL_TILEMIX, "tilemix tile=64x64 out=f32 lse=e plan=checker kgran=token fold=1", false,
     ""},
    {MXV_KERNEL_TILEMIX, "tilemix tile=64x64 out=f32 lse=e plan=all_f16", true, ""},
    {MXV_KERNEL_TILEMIX, "tilemix tile=64x64 out=f32 lse=e plan=all_int8", true, ""},
};

const char *mxv_property_name(unsigned property)
{
    return property < MXV_PROPERTY_COUNT ? rows[property].name : NULL;
}

const char *mxv_property_text(unsigned property)
{
    return property < MXV_PROPERTY_COUNT ? rows[property].text : NULL;
}

bool mxv_property_exact(enum mxv_property property)
{
    return rows[property].exact == EXACT;
}

const char *mxv_property_outcome_name(enum mxv_property_outcome outcome)
{
    static const char *const names[] = {"holds", "violated", "expected", "not applicable"};
    return names[outcome];
}

bool trial_set(struct mxv_case *c, const char *assignment)
{
    char message[256];
    return mxv_case_set(c, assignment, message, sizeof message) == MXV_OK;
}

int trial_build(struct trial *t, const struct mxv_case *c, struct mxv_case_data *data)
{
    char line[MXV_CASE_LINE_SIZE];
    mxv_case_print(c, line, sizeof line);
    if (t->options->adapter)
        mxv_adapter_case(t->options->adapter, line);
    enum mxv_status status = mxv_case_build(c, data, t->message, t->size);
    t->out_of_memory = status == MXV_ERR_MEMORY;
    return status == MXV_OK ? TRIAL_DONE : TRIAL_FAILED;
}

int trial_no_memory(struct trial *t)
{
    text_message(t->message, t->size, "out of memory");
    t->out_of_memory = true;
    return TRIAL_FAILED;
}

static int head_run(struct trial *t, const struct mxv_attention *a, void *state, size_t s, size_t h,
                    uint32_t *out, uint32_t *lse)
{
    const struct mxv_property_options *o = t->options;
    int status;
    if (o->adapter && !o->head) {
        status =
            (int)mxv_adapter_head(o->adapter, state, a, s, h, out, lse, NULL, t->message, t->size);
        t->out_of_memory = status == MXV_IMPL_NO_MEMORY;
        return status != MXV_IMPL_OK;
    }
    status = (o->head ? o->head
              : o->impl == MXV_IMPL_PLAIN
                  ? mxv_plain_head
                  : mxv_engine_head)(a, s, h, out, lse, NULL, t->message, t->size);
    t->out_of_memory = status_of_head(status) == MXV_ERR_MEMORY;
    return status;
}

static void decode(const struct mxv_attention *a, const uint32_t *from, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word = a->out == MXV_F32 ? from[i] : mxv_element_to_f32(a->out, from[i]);
        memcpy(&to[i], &word, sizeof word);
    }
}

static int run_heads(struct trial *t, const struct mxv_attention *a, void *state, uint32_t *words,
                     uint32_t *lse_words, struct outputs *o)
{
    for (size_t s = 0; s < a->sequences; s++)
        for (size_t h = 0; h < a->heads_q; h++) {
            size_t at = row_index(a, (struct place_of){s, h, 0}), lq = a->cu_q[s + 1] - a->cu_q[s];
            if (head_run(t, a, state, s, h, words, lse_words))
                return TRIAL_FAILED;
            decode(a, words, lq * a->d, o->out + at * a->d);
            memcpy(o->lse + at, lse_words, lq * sizeof *lse_words);
        }
    return TRIAL_DONE;
}

int trial_run(struct trial *t, const struct mxv_attention *a, struct outputs *o)
{
    struct mxv_attention call = *a;
    const struct mxv_adapter *adapter = t->options->adapter;
    void *state = NULL;
    size_t tokens = a->cu_q[a->sequences];
    call.faults = t->options->faults;
    *o = (struct outputs){.rows = a->heads_q * tokens, .d = a->d};
    o->out = calloc(o->rows * a->d + 1, sizeof *o->out);
    o->lse = calloc(o->rows + 1, sizeof *o->lse);
    uint32_t *words = calloc(tokens * (a->d + 1) + 1, sizeof *words);
    int status = o->out && o->lse && words ? TRIAL_FAILED : trial_no_memory(t);
    if (o->out && o->lse && words) {
        enum mxv_impl_status begun =
            adapter ? mxv_adapter_begin(adapter, &call, &state, t->message, t->size) : MXV_IMPL_OK;
        if (begun == MXV_IMPL_OK)
            status = run_heads(t, &call, state, words, words + tokens * a->d, o);
        else if (begun == MXV_IMPL_UNSUPPORTED)
            status = TRIAL_SKIPPED;
        t->out_of_memory = t->out_of_memory || begun == MXV_IMPL_NO_MEMORY;
        if (adapter && begun == MXV_IMPL_OK)
            mxv_adapter_done(adapter, state);
    }
    free(words);
    return status;
}

void outputs_free(struct outputs *o)
{
    free(o->out);
    free(o->lse);
    memset(o, 0, sizeof *o);
}

size_t row_index(const struct mxv_attention *a, struct place_of p)
{
    return p.head * a->cu_q[a->sequences] + a->cu_q[p.sequence] + p.row;
}

size_t key_index(const struct mxv_attention *a, struct place_of p, size_t key)
{
    size_t kv = p.head / (a->heads_q / a->heads_kv);
    return kv * a->cu_k[a->sequences] + a->cu_k[p.sequence] + key;
}

void each_row(const struct mxv_attention *a,
              void (*take)(void *ctx, const struct mxv_attention *a, struct place_of p), void *ctx)
{
    for (size_t h = 0; h < a->heads_q; h++)
        for (size_t s = 0; s < a->sequences; s++)
            for (size_t r = 0; r < a->cu_q[s + 1] - a->cu_q[s]; r++)
                take(ctx, a, (struct place_of){s, h, r});
}

static void tally(struct trial *t, struct place_of p, size_t channel, double got, double expected,
                  double tolerance, double ratio)
{
    struct mxv_property_result *r = t->result;
    r->compared++;
    r->beyond += ratio > 1;
    if (r->compared > 1 && ratio <= r->worst)
        return;
    r->worst = ratio;
    r->error = fabs(got - expected);
    r->tolerance = tolerance;
    mxv_case_print(&t->c, r->variant, sizeof r->variant);
    snprintf(r->text, sizeof r->text,
             "sequence %zu head %zu row %zu channel %zu: %.9g, expected %.9g", p.sequence, p.head,
             p.row, channel, got, expected);
}

void tally_error(struct trial *t, struct place_of p, size_t channel, double got, double expected,
                 double tolerance)
{
    double error = fabs(got - expected), ratio = error == 0 ? 0 : error / tolerance;
    tally(t, p, channel, got, expected, tolerance, ratio == ratio ? ratio : INFINITY);
}

void tally_bits(struct trial *t, struct place_of p, size_t channel, float got, float expected)
{
    bool same = memcmp(&got, &expected, sizeof got) == 0 || (got != got && expected != expected);
    tally(t, p, channel, (double)got, (double)expected, 0, same ? 0 : INFINITY);
}

// Runs one variant; its findings count as expected if its defect breaks the property.
static int run_variant(struct trial *t, enum mxv_property property, const char *defect)
{
    uint64_t before = t->result->beyond;
    char said[512];
    t->c.generator = MXV_GEN_GAUSSIAN;
    t->c.seed = t->options->seed;
    if (mxv_case_check(&t->c, said, sizeof said) != MXV_OK) {
        text_message(t->message, t->size, "%s", said);
        return TRIAL_FAILED;
    }
    int status = rows[property].run(t);
    bool broken = t->result->beyond > before;
    bool expected = defect[0] && strcmp(defect, rows[property].released) == 0;
    if (status == TRIAL_DONE && broken && t->result->outcome != MXV_PROPERTY_VIOLATED)
        t->result->outcome = expected ? MXV_PROPERTY_EXPECTED : MXV_PROPERTY_VIOLATED;
    else if (status == TRIAL_DONE && t->result->outcome == MXV_PROPERTY_NOT_APPLICABLE)
        t->result->outcome = MXV_PROPERTY_HOLDS;
    return status;
}

static enum mxv_status failure(const struct trial *t)
{
    return t->out_of_memory ? MXV_ERR_MEMORY : MXV_ERR_INPUT;
}

static enum mxv_status run_variants(struct trial *t, enum mxv_property property)
{
    const struct mxv_property_options *o = t->options;
    if (o->base) {
        t->c = *o->base;
        t->c.input[0] = '\0';
        t->c.at = -1;
        t->c.faults = 0;
        t->one_route = t->c.kernel == MXV_KERNEL_FLASH || t->c.mode != MXV_MODE_MIXED ||
                       t->c.mix == MXV_MIX_ALL_F16 || t->c.mix == MXV_MIX_ALL_INT8;
        bool sinks = t->c.kernel == MXV_KERNEL_DMA_RELEASED && !t->one_route && t->c.sink;
        return run_variant(t, property, sinks ? "D3" : "") == TRIAL_FAILED ? failure(t) : MXV_OK;
    }
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        if (variants[i].kernel != o->kernel)
            continue;
        enum mxv_status status = mxv_case_parse(variants[i].line, &t->c, t->message, t->size);
        if (status != MXV_OK)
            return status;
        t->one_route = variants[i].one_route;
        if (run_variant(t, property, variants[i].defect) == TRIAL_FAILED)
            return failure(t);
    }
    return MXV_OK;
}

enum mxv_status mxv_property_check(enum mxv_property property,
                                   const struct mxv_property_options *options,
                                   struct mxv_property_result *out, char *message, size_t size)
{
    struct trial *t = calloc(1, sizeof *t);
    memset(out, 0, sizeof *out);
    out->outcome = MXV_PROPERTY_NOT_APPLICABLE;
    if (!t) {
        text_message(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    t->options = options;
    t->result = out;
    t->message = message;
    t->size = size;
    enum mxv_status status = run_variants(t, property);
    free(t);
    return status;
}
