// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target of the ledger's file: no input may crash the reader; a refused one leaves a message
// with a place inside the text; what is accepted has all mandatory members, is accepted again entry
// by entry, and can be asked about a case.
#include <mxverify/ledger.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz_ledger: %s\n", what);
    abort();
}

static void refused(const char *text, const char *message)
{
    size_t line, lines = 1;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    require(sscanf(message, "ledger:%zu:", &line) == 1, message);
    require(line >= 1 && line <= lines, "the place is outside the text");
}

static void accepted(struct mxv_ledger *ledger)
{
    static struct mxv_case c;
    struct mxv_ledger *again = mxv_ledger_new();
    const struct mxv_ledger_place place = {"plain", "device", "550.1", "2026-01-01"};
    const struct mxv_ledger_entry *entry;
    char message[512];
    require(again != NULL, "out of memory");
    for (size_t i = 0; i < mxv_ledger_count(ledger); i++) {
        const struct mxv_ledger_entry *e = mxv_ledger_get(ledger, i);
        require(e->reason && e->owner && e->url && e->expires, "a mandatory member is missing");
        require(mxv_ledger_add(again, e, message, sizeof message) == MXV_OK, message);
    }
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        mxv_case_defaults((enum mxv_kernel)k, &c);
        enum mxv_verdict a = mxv_ledger_judge(ledger, &c, &place, MXV_VERDICT_FAIL, &entry);
        require(mxv_ledger_judge(again, &c, &place, MXV_VERDICT_FAIL, &entry) == a,
                "the copy judges otherwise");
        mxv_ledger_quarantine(ledger, &c, &place);
    }
    mxv_ledger_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mxv_ledger *ledger = NULL;
    char message[512] = "", *text = malloc(size + 1);
    require(text != NULL, "out of memory");
    memcpy(text, data, size);
    text[size] = 0;
    if (mxv_ledger_parse(text, "ledger", &ledger, message, sizeof message) == MXV_OK)
        accepted(ledger);
    else
        refused(text, message);
    mxv_ledger_free(ledger);
    free(text);
    return 0;
}
