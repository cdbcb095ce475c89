// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// See verify_case.h. Two NaNs of one type are equal. Zeros of either sign are equal as running
// maximum alone: which zero a maximum of +0 and -0 is depends on the order of its operands, and no
// later word depends on it.
#include "verify_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct comparison {
    const struct mxv_attention *a; // the whole call
    const struct mxv_cuda_result *device;
    struct verify_outcome *out;
    bool taps;
    size_t tile_base; // query tile of the whole call that the emulation's tile 0 is
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool same(enum mxv_element format, enum mxv_stage stage, uint32_t x, uint32_t y)
{
    if (x == y)
        return true;
    if (stage == MXV_STAGE_MAX && ((x | y) & 0x7fffffffu) == 0)
        return true;
    return format != MXV_U8 && mxv_element_is_nan(format, x) && mxv_element_is_nan(format, y);
}

static void name_first(struct verify_outcome *out, const struct mxv_tap *t, size_t i,
                       uint32_t device, uint32_t emulation)
{
    if (out->first[0])
        return;
    snprintf(out->first, sizeof out->first,
             "stage %s, route %s, sequence %zu, head %zu, query tile %zu, key tile %zu, row %zu, "
             "column %zu: device %08x, emulation %08x",
             mxv_choice_name(MXV_CHOICE_STAGE, t->stage),
             mxv_choice_name(MXV_CHOICE_ROUTE, t->route), t->sequence, t->head, t->tile_q,
             t->tile_k, i / t->cols, i % t->cols, device, emulation);
}

static void compare_tap(void *ctx, const struct mxv_tap *emulated)
{
    struct comparison *c = ctx;
    struct mxv_tap t = *emulated;
    const bool result = t.stage == MXV_STAGE_OUT || t.stage == MXV_STAGE_LSE;
    if (t.stage == MXV_STAGE_SCORE)
        c->out->tile_count[t.route]++;
    if (!result && !c->taps)
        return;
    const uint32_t *device = mxv_cuda_tap(c->device, c->a, &t);
    if (!device) {
        snprintf(c->out->first, sizeof c->out->first, "the device has no tap %s",
                 mxv_choice_name(MXV_CHOICE_STAGE, t.stage));
        c->out->differing++;
        return;
    }
    if (result)
        device += c->tile_base * c->a->tile_m * t.cols;
    const enum mxv_element format = mxv_cuda_tap_format(c->a, &t);
    for (size_t i = 0; i < t.rows * t.cols; i++)
        if (!same(format, t.stage, device[i], t.words[i])) {
            c->out->differing++;
            name_first(c->out, &t, i, device[i], t.words[i]);
        }
    c->out->words += t.rows * t.cols;
    c->out->taps++;
}

// One query tile of a causal or unmasked call as a call of its own: its rows, and under a causal
// mask the keys up to its diagonal. False where the rest of the sequence has a say.
static bool tile_call(const struct mxv_attention *a, size_t tile, struct mxv_attention *sub,
                      size_t cu_q[2], size_t cu_k[2])
{
    const bool causal = a->mask == MXV_MASK_CAUSAL, dma = a->kernel == MXV_KERNEL_DMA;
    const size_t lq = a->cu_q[1], lk = a->cu_k[1], row = tile * a->tile_m;
    const size_t rows = lq - row < a->tile_m ? lq - row : a->tile_m;
    if (a->sequences != 1 || a->left != -1 || a->right > 0 || a->heads_q != a->heads_kv ||
        a->align != MXV_ALIGN_BOTTOM_RIGHT || lk < lq || (!causal && a->right != -1) ||
        (dma && (a->dual == MXV_DUAL_TENSOR || a->plan == MXV_PLAN_ENTROPY ||
                 (!causal && a->mode == MXV_MODE_MIXED))) ||
        (causal && (a->smooth_k || (dma && a->dual == MXV_DUAL_CHANNEL) || a->order)))
        return false;
    *sub = *a;
    sub->cu_q = cu_q;
    sub->cu_k = cu_k;
    cu_q[0] = cu_k[0] = 0;
    cu_q[1] = rows;
    cu_k[1] = causal ? lk - lq + row + rows : lk;
    return true;
}

// Emulates query tile `tile` of one head as a call of its own and compares its outputs.
static int emulate_tile(const struct comparison *c, size_t tile, size_t head, uint32_t *out,
                        uint32_t *lse, char *message, size_t size)
{
    const struct mxv_attention *a = c->a;
    const size_t tiles = mxv_attention_first_tile(a, a->sequences);
    struct mxv_attention sub, one = *a;
    size_t cu_q[2], cu_k[2];
    if (!tile_call(a, tile, &sub, cu_q, cu_k)) {
        snprintf(message, size, "this case cannot be checked tile by tile");
        return -1;
    }
    one.heads_q = one.heads_kv = sub.heads_q = sub.heads_kv = 1;
    sub.q = a->q + (head * a->cu_q[1] + tile * a->tile_m) * a->d;
    sub.k = a->k + head * a->cu_k[1] * a->d;
    sub.v = a->v + head * a->cu_k[1] * a->d;
    if (a->route_words)
        sub.route_words = a->route_words + (head * tiles + tile) * a->words_per_row;
    struct mxv_cuda_result slice = *c->device; // of this head
    slice.out += head * a->cu_q[1] * a->d;
    slice.lse = slice.lse ? slice.lse + head * a->cu_q[1] : NULL;
    struct comparison part = {&one, &slice, c->out, false, tile};
    const struct mxv_tap_sink sink = {compare_tap, &part};
    return mxv_engine_head(&sub, 0, 0, out, lse, &sink, message, size);
}

// One head of the call: all its sequences, or options->tiles query tiles.
static int emulate_head(const struct comparison *c, const struct verify_options *options,
                        size_t head, char *message, size_t size)
{
    struct mxv_attention a = *c->a;
    struct comparison own = *c;
    const struct mxv_tap_sink sink = {compare_tap, &own};
    const size_t tokens = a.cu_q[a.sequences], tiles = mxv_attention_first_tile(&a, a.sequences);
    const size_t last = options->tiles > 1 ? options->tiles - 1 : 1;
    uint32_t *out = malloc((tokens * a.d + 1) * sizeof *out);
    uint32_t *lse = malloc((tokens + 1) * sizeof *lse);
    int status = out && lse ? 0 : -1;
    a.faults = options->faults;
    if (status)
        snprintf(message, size, "out of memory for the emulation");
    for (size_t s = 0; status == 0 && options->tiles == 0 && s < a.sequences; s++)
        status = mxv_engine_head(&a, s, head, out, lse, &sink, message, size);
    for (size_t i = 0; status == 0 && i < options->tiles && i < tiles; i++)
        status = emulate_tile(c, i * (tiles - 1) / last, head, out, lse, message, size);
    free(out);
    free(lse);
    return status;
}

static void add_head(struct verify_outcome *out, const struct verify_outcome *head)
{
    out->words += head->words;
    out->taps += head->taps;
    out->differing += head->differing;
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
        out->tile_count[r] += head->tile_count[r];
    if (!out->first[0])
        memcpy(out->first, head->first, sizeof out->first);
    if (!out->message[0])
        memcpy(out->message, head->message, sizeof out->message);
}

// All heads, as tasks of the caller's team.
static int emulate(const struct comparison *whole, const struct verify_options *options,
                   struct verify_outcome *out)
{
    const size_t n = whole->a->heads_q;
    struct verify_outcome *heads = calloc(n, sizeof *heads);
    int failed = heads ? 0 : 1;
#pragma omp taskloop grainsize(1) reduction(+ : failed) if (heads != NULL)
    for (size_t head = 0; head < n; head++)
        if (heads) {
            struct comparison c = *whole;
            c.out = &heads[head];
            failed += emulate_head(&c, options, head, heads[head].message,
                                   sizeof heads[head].message) != 0;
        }
    for (size_t head = 0; heads && head < n; head++)
        add_head(out, &heads[head]);
    free(heads);
    return failed ? -1 : 0;
}

static uint64_t count_different(const uint32_t *x, const uint32_t *y, size_t n)
{
    uint64_t differing = 0;
    for (size_t i = 0; x && y && i < n; i++)
        differing += x[i] != y[i];
    return differing + ((x == NULL) != (y == NULL));
}

static uint64_t unlike(const struct mxv_cuda_result *x, const struct mxv_cuda_result *y,
                       const struct mxv_attention *a, size_t rows)
{
    return count_different(x->out, y->out, rows * a->d) + count_different(x->lse, y->lse, rows);
}

// Production kernels, with `taps` tracing ones too, and where the first is one kernel with its
// quantisers, production kernels one by one: each into a result of its own.
static int run_device(const struct mxv_attention *a, bool taps, struct mxv_cuda_result *plain,
                      struct mxv_cuda_result *traced, struct mxv_cuda_result *prepared,
                      struct verify_outcome *out)
{
    int status;
#pragma omp critical(device)
    {
        const double start = seconds();
        status = mxv_cuda_run(a, MXV_CUDA_PRODUCTION, plain, out->message, sizeof out->message);
        if (status == 0 && taps)
            status = mxv_cuda_run(a, MXV_CUDA_TRACING, traced, out->message, sizeof out->message);
        if (status == 0 && plain->fused)
            status =
                mxv_cuda_run(a, MXV_CUDA_PREPARED, prepared, out->message, sizeof out->message);
        out->device_seconds = seconds() - start;
    }
    return status;
}

// Words of the device for the record, as options->whole asks. The tracing kernel's where it ran:
// its outputs are the other's, or the case has failed.
static bool record_words(const struct mxv_attention *a, const struct verify_options *options,
                         const struct mxv_cuda_result *device, struct mxv_recorded *record)
{
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    struct mxv_recorded_taker taker = {.to = record, .limit = options->whole};
    const struct mxv_tap_sink sink = mxv_recorded_take(&taker);
    bool good = true;
    if (rows * (a->d + (device->lse != NULL)) > options->whole)
        return true;
    for (size_t head = 0; head < a->heads_q; head++)
        for (size_t s = 0; s < a->sequences; s++)
            good = good && mxv_cuda_send_taps(device, a, s, head, &sink) == 0;
    return good && !taker.out_of_memory;
}

static bool record(const struct mxv_attention *a, const struct verify_options *options,
                   const char *line, struct mxv_cuda_result *plain,
                   const struct mxv_cuda_result *traced, struct verify_outcome *out)
{
    if (mxv_recorded_make(a, line, plain->out, plain->lse, &out->record) == MXV_OK &&
        record_words(a, options, options->taps ? traced : plain, &out->record) &&
        mxv_recorded_check(&out->record, out->message, sizeof out->message) == MXV_OK)
        return true;
    if (!out->message[0])
        snprintf(out->message, sizeof out->message, "out of memory for the record");
    return false;
}

void verify_case(const struct mxv_case *c, const struct verify_options *options,
                 struct verify_outcome *out)
{
    struct mxv_cuda_result plain = {0}, traced = {0}, prepared = {0};
    struct mxv_case_data data;
    char line[MXV_CASE_LINE_SIZE];
    *out = (struct verify_outcome){0};
    mxv_case_print(c, line, sizeof line);
    if (mxv_case_build(c, &data, out->message, sizeof out->message) != MXV_OK)
        return;
    const struct mxv_attention *a = &data.a;
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    if (run_device(a, options->taps, &plain, &traced, &prepared, out) == 0) {
        const double start = seconds();
        struct comparison whole = {a, options->taps ? &traced : &plain, out, options->taps, 0};
        if (options->taps)
            out->trace_differing = unlike(&plain, &traced, a, rows);
        if (plain.fused)
            out->trace_differing += unlike(&plain, &prepared, a, rows);
        out->wgmma = plain.wgmma;
        out->fused = plain.fused;
        out->ran =
            emulate(&whole, options, out) == 0 && record(a, options, line, &plain, &traced, out);
        out->emulation_seconds = seconds() - start;
    }
    mxv_cuda_result_free(&plain);
    mxv_cuda_result_free(&traced);
    mxv_cuda_result_free(&prepared);
    mxv_case_free(&data);
}
