// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify table`: accuracy of routes, with and without the defects of the public release, on the
// captured activations: the table of docs/kernels/dma.md. Cosine, PSNR (peak 10, as the paper's
// harness has it) and relative L2 of the emulation's output against exact attention of the inputs,
// over all layers, heads, rows and channels together.
#include "cli.h"
#include "run.h"
#include <errno.h>
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
    size_t truth_scores;
    unsigned layers[LAYERS_MAX];
    size_t layer_count;
};

const char *run_real_folder(const char *given)
{
    static const char relative[] = "data/real/smollm2-135m";
    static const char *const places[] = {relative, MXV_DATA_DIR "/real/smollm2-135m",
                                         MXV_INSTALLED_DATA_DIR "/real/smollm2-135m"};
    char probe[1200];
    if (given)
        return given;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(probe, sizeof probe, "%s/SHA256SUMS", places[i]);
        FILE *f = fopen(probe, "r");
        if (f) {
            fclose(f);
            return places[i];
        }
    }
    return relative;
}

static void find_layers(struct table *t)
{
    for (unsigned layer = 0; layer < 1000 && t->layer_count < LAYERS_MAX; layer++) {
        char path[1200];
        snprintf(path, sizeof path, "%s/layer%02u_q.npy", t->folder, layer);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        fclose(f);
        t->layers[t->layer_count++] = layer;
    }
}

static int evaluate(const struct table *t, const struct table_row *row, const char *faults,
                    unsigned layer, struct mxv_metrics *sum)
{
    char line[2048], message[MXV_VERIFY_TEXT];
    struct mxv_case c;
    struct mxv_verify_result r;
    const struct mxv_verify_options options = {
        .impl = MXV_IMPL_EMULATION, .truth = true, .truth_scores = t->truth_scores};
    snprintf(line, sizeof line, "%s mask=causal input=%s/layer%02u qtok=0:%ld ktok=0:%ld%s%s",
             row->fields, t->folder, layer, t->tokens, t->tokens, faults ? " fault=" : "",
             faults ? faults : "");
    if (mxv_case_parse(line, &c, message, sizeof message) != MXV_OK ||
        mxv_verify_case(&c, &options, &r, message, sizeof message) != MXV_OK)
        return cli_usage("table: %s: %s", line, message);
    mxv_metrics_merge(sum, &r.against_inputs);
    mxv_verify_free(&r);
    return 0;
}

static int print_row(const struct table *t, const struct table_row *row, const char *faults)
{
    struct mxv_metrics sum;
    double values[MXV_METRIC_COUNT];
    mxv_metrics_init(&sum, MXV_F32, 10);
    for (size_t i = 0; i < t->layer_count; i++) {
        int status = evaluate(t, row, faults, t->layers[i], &sum);
        if (status)
            return status;
    }
    mxv_metrics_finish(&sum, values);
    printf("| %s | %s | %.5f | %.2f | %.5f | %.3g |\n", row->name, faults ? faults : "none",
           values[MXV_METRIC_COSINE], values[MXV_METRIC_PSNR], values[MXV_METRIC_REL_L2],
           values[MXV_METRIC_MAX_ABS]);
    fflush(stdout);
    return 0;
}

static int help(void)
{
    printf("Usage: mxverify table [--tokens N] [--real-dir DIR] [--truth-scores N]\n\n"
           "Accuracy of the DMA routes on captured activations (Markdown). --truth-scores: exact\n"
           "scores per layer before rows are sampled, 0 (default) = all rows.\n");
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
        else if (strcmp(argv[i], "--truth-scores") == 0)
            t->truth_scores = strtoul(argv[++i], &end, 10);
        else
            return cli_usage("table: `%s` is not understood; see mxverify table --help", argv[i]);
        if (end && (*end || t->tokens < 1))
            return cli_usage("table: `%s`: expected a whole number", argv[i]);
    }
    return 0;
}

int cli_table(int argc, char **argv)
{
    struct table t = {.tokens = 1024};
    if (argc && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0))
        return help();
    int status = parse(&t, argc, argv);
    if (status)
        return status;
    t.folder = run_real_folder(t.folder);
    find_layers(&t);
    if (t.layer_count == 0)
        return cli_usage("table: no layerNN_q.npy in %s; give --real-dir", t.folder);
    printf("Layers");
    for (size_t i = 0; i < t.layer_count; i++)
        printf(" %u", t.layers[i]);
    printf(" of %s, %ld tokens, causal, D = s = 1.\n\n", t.folder, t.tokens);
    printf("| kernel | released defects | cosine | PSNR (dB, peak 10) | relative L2 | max abs |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ROWS; i++) {
        if (print_row(&t, &rows[i], NULL) ||
            (rows[i].faults && print_row(&t, &rows[i], rows[i].faults)))
            return 3;
    }
    return 0;
}
