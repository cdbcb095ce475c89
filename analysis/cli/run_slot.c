// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// One case of a run: made from its index, verified, and carried from a worker process to its
// parent.
#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whether shapes and values of the files that a case names are those that it says.
static enum mxv_status read_files(struct run_slot *s)
{
    struct mxv_case_data data;
    if (!s->c.input[0] && !s->c.planfile[0])
        return MXV_OK;
    enum mxv_status status = mxv_case_build(&s->c, &data, s->message, sizeof s->message);
    mxv_case_free(&data);
    return status;
}

static void apply_settings(const struct run_config *config, struct run_slot *s)
{
    for (size_t i = 0; s->status == MXV_OK && i < config->setting_count; i++)
        s->status = mxv_case_set(&s->c, config->settings[i], s->message, sizeof s->message);
    if (s->status == MXV_OK && config->setting_count)
        s->status = mxv_case_check(&s->c, s->message, sizeof s->message);
    if (s->status == MXV_OK && config->setting_count)
        s->status = read_files(s);
}

static void take_case(const struct run *run, uint64_t index, struct mxv_case *c)
{
    if (run->source->tier)
        mxv_tier_case(run->source->tier, index, c);
    else
        *c = run->source->single;
}

// A case that cannot take the settings is not this run's failure, unless it is none without them
// either; its line has to stay one that can be read again.
static void refuse_settings(const struct run *run, struct run_slot *s)
{
    char why[MXV_VERIFY_TEXT];
    bool skip = s->status == MXV_ERR_INPUT;
    if (!skip && s->status != MXV_ERR_UNSUPPORTED)
        return;
    memcpy(why, s->message, sizeof why);
    take_case(run, s->index, &s->c);
    s->status = run->source->tier ? read_files(s) : MXV_OK;
    if (s->status != MXV_OK)
        return;
    memcpy(s->message, why, sizeof why);
    s->refused = true;
    s->result.verdict = skip ? MXV_VERDICT_SKIP : MXV_VERDICT_UNSUPPORTED;
    snprintf(s->result.reason, sizeof s->result.reason, "cannot take the settings: %.450s", why);
}

// What the implementation or the kernel does not offer is a verdict, not an error of the run.
static void absorb_unsupported(struct run_slot *s)
{
    if (s->status != MXV_ERR_UNSUPPORTED)
        return;
    s->result.verdict = MXV_VERDICT_UNSUPPORTED;
    snprintf(s->result.reason, sizeof s->result.reason, "%s", s->message);
    s->status = MXV_OK;
}

void run_slot_make(const struct run *run, struct run_slot *s, uint64_t index)
{
    s->index = index;
    s->status = MXV_OK;
    s->entry = NULL;
    s->refused = false;
    s->message[0] = 0;
    memset(&s->result, 0, sizeof s->result);
    s->result.verdict = MXV_VERDICT_COUNT; // not run yet
    take_case(run, index, &s->c);
    apply_settings(run->config, s);
    refuse_settings(run, s);
}

void run_slot_verify(const struct run *run, struct run_slot *s)
{
    const struct run_config *config = run->config;
    struct mxv_verify_options options = config->verify;
    if (s->status != MXV_OK || s->result.verdict != MXV_VERDICT_COUNT)
        return;
    bool first = s->index < RUN_MAPS_AUTO || s->c.input[0];
    options.map_folder = config->maps == MAPS_NONE ? NULL : run->folder;
    options.maps_on_pass = config->maps == MAPS_ALL || (config->maps == MAPS_AUTO && first);
    if (s->c.faults)
        options.impl = MXV_IMPL_EMULATION;
    s->status = mxv_verify_case(&s->c, &options, &s->result, s->message, sizeof s->message);
    absorb_unsupported(s);
}

// Bytes: struct packed, then the drawing with its NUL. The result is copied as it is; its only
// pointer is the drawing.
struct packed {
    enum mxv_status status;
    size_t drawing; // bytes, 0: none
    struct mxv_verify_result result;
    char message[MXV_VERIFY_TEXT];
};

bool run_slot_pack(const struct run_slot *s, unsigned char **bytes, size_t *size)
{
    size_t drawing = s->result.drawing ? strlen(s->result.drawing) + 1 : 0;
    struct packed *p = calloc(1, sizeof *p + drawing);
    if (!p)
        return false;
    p->status = s->status;
    p->drawing = drawing;
    p->result = s->result;
    p->result.drawing = NULL;
    memcpy(p->message, s->message, sizeof p->message);
    if (drawing)
        memcpy(p + 1, s->result.drawing, drawing);
    *bytes = (unsigned char *)p;
    *size = sizeof *p + drawing;
    return true;
}

bool run_slot_unpack(struct run_slot *s, const unsigned char *bytes, size_t size)
{
    struct packed *p = malloc(sizeof *p);
    bool good = size >= sizeof *p;
    if (!p) {
        s->status = MXV_ERR_MEMORY;
        snprintf(s->message, sizeof s->message, "out of memory for the answer of a worker");
        return true;
    }
    if (good) {
        memcpy(p, bytes, sizeof *p);
        good = p->drawing == size - sizeof *p && (p->drawing == 0 || bytes[size - 1] == 0) &&
               (unsigned)p->result.verdict < MXV_VERDICT_COUNT;
    }
    if (good) {
        s->status = p->status;
        s->result = p->result;
        memcpy(s->message, p->message, sizeof s->message);
        s->result.drawing = p->drawing ? strdup((const char *)bytes + sizeof *p) : NULL;
    }
    free(p);
    return good;
}
