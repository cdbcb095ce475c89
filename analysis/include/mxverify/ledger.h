// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The ledger of known failures: which cases are allowed to fail, why, who answers for it, and until
// when. docs/ledger.md describes the file.
//
// An entry cannot outlive its bug: a case in its scope that passes is an unexpected pass (`xpass`),
// which fails the run, and an entry past its date waives nothing and fails the run. It cannot be
// anonymous either: an entry without reason, owner, URL or date is refused.
//
// Threads: a loaded ledger may be read by several; mxv_ledger_judge counts uses and belongs to one.
#ifndef MXVERIFY_LEDGER_H
#define MXVERIFY_LEDGER_H

#include <mxverify/case.h>
#include <mxverify/log.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MXV_LEDGER_FIELDS_MAX = 16 };

// Strings are NUL-terminated; optional ones may be NULL.
struct mxv_ledger_entry {
    // Scope: a case is in it when everything that is given matches.
    const char *case_glob;                     // * and ? against the canonical line, or the id
    const char *fields[MXV_LEDGER_FIELDS_MAX]; // key=value: the field has that value
    size_t field_count;
    const char *implementation, *device; // * and ?
    const char *driver_from, *driver_to; // versions, both included
    // Which verdicts it covers (bit set of enum mxv_verdict); 0: fail, weak, undecided, crash,
    // timeout, device-lost and flaky. oracle-error is never covered.
    unsigned verdicts;
    bool quarantine;                  // do not run it at all: verdict skip
    const char *reason, *owner, *url; // mandatory; the URL with http:// or https://
    const char *expires;              // mandatory, YYYY-MM-DD: last day on which it holds
};

struct mxv_ledger;

// An empty ledger; NULL when memory is short.
struct mxv_ledger *mxv_ledger_new(void);
// Copies the entry. MXV_ERR_INPUT with a message when a mandatory member is missing or malformed,
// when there is no scope, or a field or value does not exist.
enum mxv_status mxv_ledger_add(struct mxv_ledger *ledger, const struct mxv_ledger_entry *entry,
                               char *message, size_t size);
// Reads a file (JSON). Errors name file, line, column and what is wrong.
enum mxv_status mxv_ledger_load(const char *path, struct mxv_ledger **out, char *message,
                                size_t size);
// The same from memory; `name` stands for the file in errors.
enum mxv_status mxv_ledger_parse(const char *text, const char *name, struct mxv_ledger **out,
                                 char *message, size_t size);
void mxv_ledger_free(struct mxv_ledger *ledger); // NULL is allowed

size_t mxv_ledger_count(const struct mxv_ledger *ledger);
const struct mxv_ledger_entry *mxv_ledger_get(const struct mxv_ledger *ledger, size_t i);
// Cases that entry i was applied to.
size_t mxv_ledger_uses(const struct mxv_ledger *ledger, size_t i);

// Where the run takes place. NULL: unknown, matches no entry that asks for it.
struct mxv_ledger_place {
    const char *implementation, *device, *driver;
    const char *today; // YYYY-MM-DD
};

bool mxv_ledger_expired(const struct mxv_ledger_entry *entry, const char *today);
// Whether the case is in the scope of the entry, whatever its date.
bool mxv_ledger_in_scope(const struct mxv_ledger_entry *entry, const struct mxv_case *c,
                         const struct mxv_ledger_place *place);

// The first quarantine entry in force for the case, or NULL: run it.
const struct mxv_ledger_entry *mxv_ledger_quarantine(struct mxv_ledger *ledger,
                                                     const struct mxv_case *c,
                                                     const struct mxv_ledger_place *place);
// What becomes of `found`: waived, xpass, or itself. *entry is the entry that changed it, else
// NULL. Entries are tried in order; one that covers the verdict wins over one that makes an xpass.
enum mxv_verdict mxv_ledger_judge(struct mxv_ledger *ledger, const struct mxv_case *c,
                                  const struct mxv_ledger_place *place, enum mxv_verdict found,
                                  const struct mxv_ledger_entry **entry);

// Compares versions by their numbers: 550.9 < 550.10 < 551. Negative, 0 or positive.
int mxv_version_compare(const char *a, const char *b);
// Today in UTC as YYYY-MM-DD.
void mxv_ledger_today(char out[11]);

#ifdef __cplusplus
}
#endif
#endif
