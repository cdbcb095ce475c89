// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Implementation `recorded`: what a device computed for the case, kept as hashes or whole. The
// emulation's words are hashed in the same way and compared tile by tile; of a case recorded whole
// every recorded word is compared. tests/cli/test_recorded.sh and
// tests/golden/test_recorded_whole.c fail if this file is wrong.
#include "verify_recorded.h"
#include <mxverify/recorded.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096 };

static const struct mxv_recorded *find(const struct verification *v)
{
    char line[LINE];
    mxv_case_print(v->c, line, sizeof line);
    return mxv_recorded_find(v->options->recorded, line);
}

void verify_recorded_begin(const struct verification *v, struct mxv_verify_result *out)
{
    if (v->options->impl != MXV_IMPL_RECORDED)
        return;
    const struct mxv_recorded *r = find(v);
    if (!r) {
        out->verdict = MXV_VERDICT_SKIP;
        snprintf(out->reason, sizeof out->reason,
                 "no device result is recorded for this case line (--cases recorded runs those)");
    } else if (r->inputs != mxv_recorded_inputs(&v->data.a)) {
        out->verdict = MXV_VERDICT_ORACLE_ERROR;
        snprintf(out->reason, sizeof out->reason,
                 "the case line makes other data now than the device was given");
    }
}

int verify_recorded_head(struct head_result *h, size_t d)
{
    memcpy(h->subject, h->emulated, h->lq * d * sizeof *h->subject);
    memcpy(h->subject_lse, h->emulated_lse, h->lq * sizeof *h->subject_lse);
    return MXV_OK;
}

// Hash t of a record belongs to which head, sequence and query tile: heads first to last, query
// tiles numbered through the sequences.
static struct mxv_tap_key place_of(const struct mxv_attention *a, size_t t)
{
    const size_t tiles = mxv_attention_first_tile(a, a->sequences), inside = t % tiles;
    size_t s = 0;
    while (s + 1 < a->sequences && mxv_attention_first_tile(a, s + 1) <= inside)
        s++;
    return (struct mxv_tap_key){
        MXV_STAGE_OUT, MXV_ROUTE_F16, s, t / tiles, inside - mxv_attention_first_tile(a, s), 0};
}

static void compare(const struct verification *v, const struct mxv_recorded *device,
                    const struct mxv_recorded *emulation, struct mxv_verify_result *out)
{
    const size_t tile = mxv_recorded_difference(device, emulation);
    if (tile == SIZE_MAX || out->verdict != MXV_VERDICT_PASS)
        return;
    out->verdict = MXV_VERDICT_FAIL;
    out->first.kind = MXV_TAPS_WORDS;
    if (device->tile_count != emulation->tile_count || tile >= device->tile_count) {
        snprintf(out->reason, sizeof out->reason,
                 "the record has %zu tiles and the case %zu: the file is damaged",
                 device->tile_count, emulation->tile_count);
        return;
    }
    out->first.key = place_of(&v->data.a, tile);
    size_t differing = 0;
    for (size_t t = 0; t < device->tile_count; t++)
        differing += device->tiles[t] != emulation->tiles[t];
    snprintf(out->reason, sizeof out->reason,
             "output or LSE differs from the recorded device: %zu of %zu tiles, first sequence %zu "
             "head %zu query tile %zu",
             differing, device->tile_count, out->first.key.sequence, out->first.key.head,
             out->first.key.tile_q);
}

// A case recorded whole: the first differing element, also where the hashes of outputs agree.
static enum mxv_status compare_words(const struct verification *v,
                                     const struct mxv_recorded *device,
                                     struct mxv_verify_result *out, char *message, size_t size)
{
    struct mxv_recorded_comparison c;
    const enum mxv_status status = mxv_recorded_compare(device, &v->data.a, &c, message, size);
    if (status != MXV_OK)
        return status;
    const struct mxv_attention *a = &v->data.a;
    const size_t rows = a->heads_q * a->cu_q[a->sequences];
    out->taps += c.taps;
    out->words += c.words - rows * (a->d + (a->lse != MXV_LSE_NONE)); // counted with the heads
    if ((c.differing == 0 && c.missing == 0) || out->verdict != MXV_VERDICT_PASS)
        return MXV_OK;
    char first[320];
    mxv_recorded_comparison_print(&c, first, sizeof first);
    out->verdict = MXV_VERDICT_FAIL;
    out->first.kind = c.element.rows ? MXV_TAPS_WORDS : MXV_TAPS_MISSING;
    out->first.key = c.first;
    out->element = c.element;
    out->element_format = c.format;
    snprintf(out->reason, sizeof out->reason,
             "differs from the recorded device: %zu of %zu words, %zu taps missing; first: %s",
             c.differing, c.words, c.missing, first);
    return MXV_OK;
}

enum mxv_status verify_recorded_end(const struct verification *v, struct mxv_verify_result *out,
                                    char *message, size_t size)
{
    if (v->options->impl != MXV_IMPL_RECORDED)
        return MXV_OK;
    const struct mxv_attention *a = &v->data.a;
    const size_t tokens = a->cu_q[a->sequences], rows = a->heads_q * tokens;
    uint32_t *words = malloc((rows * a->d + 1) * sizeof *words);
    uint32_t *lse = malloc((rows + 1) * sizeof *lse);
    struct mxv_recorded emulation = {0};
    enum mxv_status status = words && lse ? MXV_OK : MXV_ERR_MEMORY;
    for (size_t i = 0; i < v->heads && status == MXV_OK; i++) {
        const struct head_result *h = &v->results[i];
        const size_t at = h->head * tokens + a->cu_q[h->sequence];
        memcpy(words + at * a->d, h->emulated, h->lq * a->d * sizeof *words);
        memcpy(lse + at, h->emulated_lse, h->lq * sizeof *lse);
    }
    if (status == MXV_OK)
        status = mxv_recorded_make(a, "", words, a->lse == MXV_LSE_NONE ? NULL : lse, &emulation);
    const struct mxv_recorded *device = find(v);
    if (status != MXV_OK)
        snprintf(message, size, "out of memory for %zu output rows", rows);
    else if (device->tap_count)
        status = compare_words(v, device, out, message, size);
    if (status == MXV_OK)
        compare(v, device, &emulation, out);
    mxv_recorded_free(&emulation);
    free(words);
    free(lse);
    return status;
}
