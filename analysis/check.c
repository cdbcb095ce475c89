// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Check: O as an implementation. An adapter hands its words out head by head, so that comparison,
// bounds, gate power, maps and diagnosis are those of every other implementation. It claims the
// emulation's bits when the fit found them, else it is judged by the bound for its options.
// tests/cli/test_check.sh fails if this is wrong.
#include "check_internal.h"
#include <mxverify/impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The adapter interface has no context of the caller's; setup is called on the thread that
// verifies, and takes it from here.
static _Thread_local const struct check_subject *current;

static int begin(const struct mxv_attention *a, void **state, char *message, size_t size)
{
    (void)a, (void)message, (void)size;
    *state = (void *)(uintptr_t)current;
    return MXV_IMPL_OK;
}

static int head_words(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
                      uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
                      size_t size)
{
    const struct check_subject *s = state;
    (void)sink;
    if (a->out != s->out_type) {
        snprintf(message, size, "the output is %s, the options say out=%s",
                 mxv_element_get(s->out_type)->name, mxv_element_get(a->out)->name);
        return MXV_IMPL_FAILED;
    }
    check_head(s, sequence, head, out, lse);
    return MXV_IMPL_OK;
}

static enum mxv_status judge(const struct mxv_check_options *o, const struct check_subject *s,
                             struct mxv_check_result *r, char *message, size_t size)
{
    struct mxv_implementation implementation = {
        .abi = MXV_IMPL_ABI,
        .call_size = sizeof(struct mxv_attention),
        .name = "file",
        .version = "0",
        .capabilities = MXV_IMPL_THREADS | (unsigned)(s->lse ? MXV_IMPL_LSE : 0) |
                        (unsigned)(r->same_bits ? MXV_IMPL_SAME_BITS : 0),
        .setup = begin,
        .run = head_words};
    struct mxv_adapter *adapter;
    struct mxv_verify_options options = o->verify;
    enum mxv_status status = mxv_adapter_of(&implementation, &adapter, message, size);
    if (status != MXV_OK)
        return status;
    options.adapter = adapter;
    options.map_folder = o->folder;
    current = s;
    status = mxv_verify_case(&r->c, &options, &r->verify, message, size);
    current = NULL;
    mxv_adapter_close(adapter);
    return status;
}

enum mxv_status mxv_check_run(const struct mxv_check_options *options, struct mxv_check_result *out,
                              char *message, size_t size)
{
    struct check_subject subject;
    memset(out, 0, sizeof *out);
    enum mxv_status status = check_read(options, &subject, message, size);
    if (status == MXV_OK) {
        out->c = subject.c;
        status = check_fit(options, &subject, out, &out->c, message, size);
        if (!out->same_bits)
            out->c = subject.c; // judged by what the caller said it is
    }
    if (status == MXV_OK) {
        mxv_case_print(&out->c, out->line, sizeof out->line);
        status = check_properties(&subject, out, message, size);
    }
    if (status == MXV_OK)
        status = check_operands(options, &subject, out, message, size);
    if (status == MXV_OK)
        status = judge(options, &subject, out, message, size);
    check_subject_free(&subject, status == MXV_OK);
    return status;
}

void mxv_check_free(struct mxv_check_result *result)
{
    mxv_verify_free(&result->verify);
}
