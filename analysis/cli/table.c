// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify table`: accuracy of routes, with and without the defects of the public release, on the
// captured activations: the table of docs/kernels/dma.md. Cosine, PSNR (peak 10, as the paper's
// harness has it) and relative L2 of the emulation's output against exact attention of the inputs,
// over all layers, heads, rows and channels together.
#include "cli.h"
#include "run.h"
#include <limits.h>
#include <mxverify/data_path.h>
#include <mxverify/truth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table_row {
    const char *name, *fields, *faults; // faults NULL: has no released counterpart
};

static const struct table_row rows[] = {
    {"FP16 flash", "flash arch=sm_90", NULL},
    {"DMA, MXFP8 + MXFP4", "dma low=mxfp4", "D1,D2,D3"},
    {"DMA, MXFP8 + NVFP4", "dma low=nvfp4", "D1,D3,D10"},
    {"uniform MXFP8", "dma mode=high", NULL},
    {"uniform MXFP4", "dma mode=low low=mxfp4", "D1,D2"},
    {"uniform NVFP4", "dma mode=low low=nvfp4", "D1,D10"},
    {"DMA, MXFP8 + MXFP4, K smoothed", "dma low=mxfp4 smooth=1", "D1,D2,D3"},
    {"uniform MXFP4, K smoothed", "dma mode=low low=mxfp4 smooth=1", "D1,D2"},
    {"uniform NVFP4, K smoothed", "dma mode=low low=nvfp4 smooth=1", "D1,D10"},
};
enum { ROWS = sizeof rows / sizeof rows[0], LAYERS_MAX = 64 };

struct table {
    const char *folder;
    long tokens;
    unsigned layers[LAYERS_MAX];
    size_t layer_count;
    struct mxv_metrics sums[ROWS][2]; // without and with the released defects
};

const char *run_real_folder(const char *given)
{
    return given ? given : "data/real/smollm2-135m";
}

static void find_layers(struct table *t)
{
    for (unsigned layer = 0; layer < 1000 && t->layer_count < LAYERS_MAX; layer++) {
        char path[1200], found[2400];
        snprintf(path, sizeof path, "%s/layer%02u_q.npy", t->folder, layer);
        FILE *f = fopen(mxv_data_path(path, found, sizeof found), "r");
        if (!f)
            continue;
        fclose(f);
        t->layers[t->layer_count++] = layer;
    }
}

static int open_case(const struct table *t, const struct table_row *row, const char *faults,
                     unsigned layer, struct mxv_case_data *data)
{
    char line[2048], message[MXV_VERIFY_TEXT];
    struct mxv_case c;
    snprintf(line, sizeof line,
             "%s out=f32 mask=causal input=%s/layer%02u qtok=0:%ld ktok=0:%ld%s%s", row->fields,
             t->folder, layer, t->tokens, t->tokens, faults ? " fault=" : "", faults ? faults : "");
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
        mxv_case_build(&c, data, message, sizeof message) != MXV_OK)
        return cli_usage("table: %s: %s", line, message);
    return 0;
}

// Exact attention of the inputs does not depend on the kernel: once per layer.
struct exact_layer {
    const struct mxv_attention *a;
    struct mxv_truth_ball *out; // [heads][tokens][d]
};

static void causal_keys(const void *ctx, size_t row, size_t *first, size_t *end)
{
    const struct mxv_attention *a = ctx;
    mxv_attention_visible(a, a->cu_q[1], a->cu_k[1], row, first, end);
}

static double *widen(const float *x, size_t n)
{
    double *y = cli_realloc(NULL, n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i];
    return y;
}

static int exact_heads(struct exact_layer *e)
{
    const struct mxv_attention *a = e->a;
    size_t lq = a->cu_q[1], lk = a->cu_k[1], group = a->heads_q / a->heads_kv;
    const struct mxv_truth_options options = {.radius = 0x1p-40};
    e->out = cli_realloc(NULL, a->heads_q * lq * a->d * sizeof *e->out);
    for (size_t h = 0; h < a->heads_q; h++) {
        double *q = widen(a->q + h * lq * a->d, lq * a->d);
        double *k = widen(a->k + h / group * lk * a->d, lk * a->d);
        double *v = widen(a->v + h / group * lk * a->d, lk * a->d);
        struct mxv_truth_problem p = {.lq = lq,
                                      .lk = lk,
                                      .d = a->d,
                                      .dv = a->d,
                                      .routes = 1,
                                      .q = {q},
                                      .k = {k},
                                      .v = v,
                                      .scale = a->scale,
                                      .visible = causal_keys,
                                      .ctx = a};
        enum mxv_truth_status status =
            mxv_truth_rows(&p, NULL, lq, &options, e->out + h * lq * a->d, NULL, NULL);
        free(q);
        free(k);
        free(v);
        if (status != MXV_TRUTH_OK)
            return cli_usage("table: exact attention: %s", mxv_truth_status_text(status));
    }
    return 0;
}

static int add_kernel(const struct mxv_attention *a, const struct exact_layer *e,
                      struct mxv_metrics *sum)
{
    size_t lq = a->cu_q[1];
    uint32_t *out = cli_realloc(NULL, a->heads_q * lq * a->d * sizeof *out);
    char message[256] = "";
    int bad = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : bad)
    for (size_t h = 0; h < a->heads_q; h++) {
        char said[256];
        int one = mxv_engine_head(a, 0, h, out + h * lq * a->d, NULL, NULL, said, sizeof said);
        bad += one != MXV_HEAD_OK;
#pragma omp critical(table_message)
        if (one != MXV_HEAD_OK)
            memcpy(message, said, sizeof said);
    }
    for (size_t i = 0; bad == 0 && i < a->heads_q * lq * a->d; i++)
        mxv_metrics_add_exact(sum, out[i], e->out[i]);
    free(out);
    return bad ? cli_usage("table: %s", message) : 0;
}

static int add_layer(struct table *t, unsigned layer)
{
    struct exact_layer exact = {0};
    struct mxv_case_data inputs;
    int status = open_case(t, &rows[0], NULL, layer, &inputs);
    if (status)
        return status;
    exact.a = &inputs.a;
    status = exact_heads(&exact);
    for (size_t i = 0; status == 0 && i < 2 * ROWS; i++) {
        struct mxv_case_data data;
        const char *faults = i % 2 ? rows[i / 2].faults : NULL;
        if (i % 2 && !faults)
            continue;
        status = open_case(t, &rows[i / 2], faults, layer, &data);
        if (status)
            break;
        status = add_kernel(&data.a, &exact, &t->sums[i / 2][i % 2]);
        mxv_case_free(&data);
    }
    free(exact.out);
    mxv_case_free(&inputs);
    return status;
}

static void print_row(const struct table_row *row, const char *faults,
                      const struct mxv_metrics *sum)
{
    double values[MXV_METRIC_COUNT];
    mxv_metrics_finish(sum, values);
    printf("| %s | %s | %.5f | %.2f | %.5f | %.3g |\n", row->name, faults ? faults : "none",
           values[MXV_METRIC_COSINE], values[MXV_METRIC_PSNR], values[MXV_METRIC_REL_L2],
           values[MXV_METRIC_MAX_ABS]);
}

static int help(void)
{
    printf("Usage: mxverify table [--tokens N] [--real-dir DIR]\n\n"
           "Accuracy of the DMA routes on captured activations against exact attention, as a\n"
           "Markdown table: all layers, heads, rows and channels together.\n");
    return 0;
}

static int parse(struct table *t, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        char *end = NULL;
        if (i + 1 == argc)
            return cli_usage("table: `%s` is not understood or lacks its value", argv[i]);
        if (strcmp(argv[i], "--real-dir") == 0)
            t->folder = argv[++i];
        else if (strcmp(argv[i], "--tokens") == 0)
            t->tokens = strtol(argv[++i], &end, 10);
        else
            return cli_usage("table: `%s` is not understood; see mxverify table --help", argv[i]);
        if (end && (*end || t->tokens < 1 || t->tokens == LONG_MAX))
            return cli_usage("table: --tokens %s: expected a whole number above 0", argv[i]);
    }
    return 0;
}

int cli_table(int argc, char **argv)
{
    static struct table t = {.tokens = 1024};
    if (argc && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0))
        return help();
    int status = parse(&t, argc, argv);
    if (status)
        return status;
    t.folder = run_real_folder(t.folder);
    find_layers(&t);
    if (t.layer_count == 0)
        return cli_usage("table: no layerNN_q.npy in %s; give --real-dir", t.folder);
    for (size_t i = 0; i < 2 * ROWS; i++)
        mxv_metrics_init(&t.sums[i / 2][i % 2], MXV_F32, 10);
    for (size_t i = 0; status == 0 && i < t.layer_count; i++)
        status = add_layer(&t, t.layers[i]);
    if (status)
        return status;
    printf("Layers");
    for (size_t i = 0; i < t.layer_count; i++)
        printf(" %u", t.layers[i]);
    printf(" of %s, %ld tokens, causal, D = s = 1.\n\n", t.folder, t.tokens);
    printf("| kernel | released defects | cosine | PSNR (dB, peak 10) | relative L2 | max abs |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ROWS; i++) {
        print_row(&rows[i], NULL, &t.sums[i][0]);
        if (rows[i].faults)
            print_row(&rows[i], rows[i].faults, &t.sums[i][1]);
    }
    return 0;
}
