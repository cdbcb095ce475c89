// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Cases on captured activations: every layerNN_q.npy of a folder (with its _k and _v) is a layer.
// Token ranges assume at least 1,024 tokens and three KV heads, as in data/real/smollm2-135m; a
// folder with less gives an error when the case is built. Head dim 64: kernel dma-released, which
// has d=128, gets none.
// tests/unit/test_tiers.c fails if this is wrong.
#include "case_internal.h"
#include "tiers_internal.h"
#include <dirent.h>
#include <errno.h>
#include <mxverify/data_path.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KV_HEADS = 3 };

// What is said of each kernel beside the tensors; cases of a kernel take them in turn.
static const struct {
    enum mxv_kernel kernel;
    const char *options;
} recipes[] = {
    {MXV_KERNEL_FLASH, ""},
    {MXV_KERNEL_FLASH, " v=bf16"},
    {MXV_KERNEL_FLASH, " arch=sm_100 tau=8"},
    {MXV_KERNEL_DMA, " tile=64x64"},
    {MXV_KERNEL_DMA, " tile=64x64 low=nvfp4 dual=token"},
    {MXV_KERNEL_DMA, ""},
    {MXV_KERNEL_DMA, " mode=low"},
    {MXV_KERNEL_DMA, " mode=high"},
    {MXV_KERNEL_DMA, " mode=low low=nvfp4"},
    {MXV_KERNEL_DMA, " arch=sm_90 tile=64x32 smooth=1 dual=block"},
    {MXV_KERNEL_DMA, " arch=sm_120 tile=64x32 plan=zones core=0.25 buffer=0.25"},
    {MXV_KERNEL_TILEMIX, ""},
    {MXV_KERNEL_TILEMIX, " plan=all_int8 smooth=1"},
    {MXV_KERNEL_TILEMIX, " plan=ratio share=0.25,0.5,0.75 qgran=token kgran=token"},
    {MXV_KERNEL_TILEMIX, " arch=sm_90 plan=checker g=2 kgran=token kvcache=1"},
};

static const struct {
    const char *tokens;
    bool brief; // small enough for every run
} ranges[] = {
    {"qtok=192:256 ktok=0:256", true},  {"qtok=448:512 ktok=256:512", true},
    {"qtok=0:256 ktok=0:256", false},   {"qtok=768:1024 ktok=512:1024", false},
    {"qtok=0:1024 ktok=0:1024", false},
};

static int is_layer(const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t n = strlen(name);
    return n > 11 && strncmp(name, "layer", 5) == 0 && strcmp(name + n - 6, "_q.npy") == 0;
}

struct builder {
    struct case_list *list;
    const char *dir;
    struct dirent **layers;
    int count;
    unsigned turn; // counts the cases of a kernel
    char *message;
    size_t size;
};

static const char *recipe(enum mxv_kernel kernel, unsigned turn)
{
    const char *mine[sizeof recipes / sizeof recipes[0]];
    size_t n = 0;
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        if (recipes[i].kernel == kernel)
            mine[n++] = recipes[i].options;
    return mine[turn % n];
}

static enum mxv_status add(struct builder *b, enum mxv_kernel kernel, int layer, unsigned head,
                           const char *tokens)
{
    char path[MXV_CASE_PATH_SIZE], escaped[MXV_CASE_PATH_SIZE], line[2 * MXV_CASE_PATH_SIZE];
    const char *file = b->layers[layer]->d_name;
    struct mxv_case c;
    int n = snprintf(path, sizeof path, "%s/%.*s", b->dir, (int)(strlen(file) - 6), file);
    if (n < 0 || (size_t)n >= sizeof path ||
        mxv_case_escape(path, escaped, sizeof escaped) >= sizeof escaped) {
        text_message(b->message, b->size, "path too long: %.80s", b->dir);
        return MXV_ERR_INPUT;
    }
    snprintf(line, sizeof line, "%s%s input=%s heads=%u:%u %s",
             mxv_choice_name(MXV_CHOICE_KERNEL, kernel), recipe(kernel, b->turn++), escaped, head,
             head + 1, tokens);
    enum mxv_status status = mxv_case_parse(line, &c, b->message, b->size);
    if (status != MXV_OK || tiers_append(b->list, &c))
        return status;
    text_message(b->message, b->size, "out of memory");
    return MXV_ERR_MEMORY;
}

// Brief: each short range once, with layers and heads in turn.
static enum mxv_status add_kernel(struct builder *b, enum mxv_kernel kernel, bool brief)
{
    enum mxv_status status = MXV_OK;
    b->turn = 0;
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        if (brief && !ranges[r].brief)
            continue;
        int layers = brief ? 1 : b->count;
        unsigned heads = brief ? 1 : KV_HEADS;
        for (int i = 0; i < layers; i++)
            for (unsigned h = 0; h < heads && status == MXV_OK; h++)
                status = add(b, kernel, brief ? (int)(r + b->turn) % b->count : i,
                             brief ? (unsigned)r % KV_HEADS : h, ranges[r].tokens);
    }
    return status;
}

static enum mxv_status add_all(struct builder *b, unsigned kernels, bool brief)
{
    enum mxv_status status = MXV_OK;
    for (unsigned k = 0; k < MXV_KERNEL_COUNT && status == MXV_OK; k++)
        if ((kernels >> k & 1) && k != MXV_KERNEL_DMA_RELEASED)
            status = add_kernel(b, (enum mxv_kernel)k, brief);
    return status;
}

enum mxv_status tiers_real(struct case_list *list, const char *dir, unsigned kernels, bool brief,
                           char *message, size_t size)
{
    char found[2 * MXV_CASE_PATH_SIZE];
    struct builder b = {.list = list, .dir = dir, .message = message, .size = size};
    enum mxv_status status;
    if (kernels == 1u << MXV_KERNEL_DMA_RELEASED)
        return MXV_OK;
    b.count = scandir(mxv_data_path(dir, found, sizeof found), &b.layers, is_layer, alphasort);
    if (b.count <= 0) {
        text_message(message, size,
                     "captured activations %s: %s; --no-real leaves them out, --real-dir DIR says "
                     "where they are",
                     dir, b.count < 0 ? strerror(errno) : "no layerNN_q.npy");
        if (b.count == 0)
            free(b.layers);
        return MXV_ERR_IO;
    }
    status = add_all(&b, kernels, brief);
    for (int i = 0; i < b.count; i++)
        free(b.layers[i]);
    free(b.layers);
    return status;
}
