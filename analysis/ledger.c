// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Known failures: what an entry must say, which cases it covers, and what becomes of a verdict.
// tests/unit/test_ledger.c fails if this file is wrong.
#include <fnmatch.h>
#include <mxverify/ledger.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct item {
    struct mxv_ledger_entry entry; // strings owned
    size_t uses;
};

struct mxv_ledger {
    struct item *items;
    size_t count, room;
};

#define BIT(verdict) (1u << MXV_VERDICT_##verdict)
#define COVERED                                                                                    \
    (BIT(FAIL) | BIT(WEAK) | BIT(UNDECIDED) | BIT(CRASH) | BIT(TIMEOUT) | BIT(DEVICE_LOST) |       \
     BIT(FLAKY))

struct mxv_ledger *mxv_ledger_new(void)
{
    return calloc(1, sizeof(struct mxv_ledger));
}

// ---- what an entry must say

static bool all_digits(const char *text, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return true;
}

static bool is_date(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-' || !all_digits(text, 0, 4) ||
        !all_digits(text, 5, 2) || !all_digits(text, 8, 2))
        return false;
    int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static bool is_url(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    return scheme && text[scheme] && !strpbrk(text, " \t\r\n");
}

static bool is_version(const char *text)
{
    return text[0] >= '0' && text[0] <= '9' && strspn(text, "0123456789.") == strlen(text);
}

static bool is_blank(const char *text)
{
    return !text || text[strspn(text, " \t\r\n")] == 0;
}

static enum mxv_status refuse(char *message, size_t size, const char *member, const char *why)
{
    snprintf(message, size, "`%s`: %s", member, why);
    return MXV_ERR_INPUT;
}

static enum mxv_status check_members(const struct mxv_ledger_entry *e, char *message, size_t size)
{
    if (is_blank(e->reason))
        return refuse(message, size, "reason", "is missing: say what is wrong");
    if (is_blank(e->owner))
        return refuse(message, size, "owner", "is missing: say who answers for it");
    if (is_blank(e->url))
        return refuse(message, size, "url", "is missing: every known failure has a public report");
    if (!is_url(e->url))
        return refuse(message, size, "url", "expected http:// or https://");
    if (is_blank(e->expires))
        return refuse(message, size, "expires", "is missing: say until when it holds, YYYY-MM-DD");
    if (!is_date(e->expires))
        return refuse(message, size, "expires", "expected a day as YYYY-MM-DD");
    if (!e->case_glob && e->field_count == 0)
        return refuse(message, size, "case", "neither `case` nor `where`: which cases?");
    if (e->field_count > MXV_LEDGER_FIELDS_MAX)
        return refuse(message, size, "where", "too many fields");
    if ((e->driver_from && !is_version(e->driver_from)) ||
        (e->driver_to && !is_version(e->driver_to)))
        return refuse(message, size, "driver", "expected versions of digits and points");
    if (e->driver_from && e->driver_to && mxv_version_compare(e->driver_from, e->driver_to) > 0)
        return refuse(message, size, "driver", "`from` is behind `to`");
    if (e->verdicts & ~COVERED)
        return refuse(message, size, "verdicts",
                      "only fail, weak, undecided, crash, timeout, device-lost and flaky can be "
                      "waived");
    return MXV_OK;
}

static bool find_field(const char *key, size_t length, enum mxv_case_field *out)
{
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        const char *name = mxv_case_field_get((enum mxv_case_field)f)->key;
        if (strlen(name) == length && strncmp(name, key, length) == 0) {
            *out = (enum mxv_case_field)f;
            return true;
        }
    }
    return false;
}

// Writes `key=value` with the value as a case line prints it, if any kernel takes it.
static enum mxv_status canonical_field(const char *field, char **out, char *message, size_t size)
{
    const char *equals = strchr(field, '=');
    size_t length = equals ? (size_t)(equals - field) : 0;
    enum mxv_case_field f;
    unsigned kernel;
    enum mxv_status status = MXV_ERR_INPUT;
    if (length == 6 && strncmp(field, "kernel", 6) == 0) {
        *out = mxv_choice_find(MXV_CHOICE_KERNEL, equals + 1, &kernel) ? strdup(field) : NULL;
        return *out ? MXV_OK : refuse(message, size, field, "no such kernel");
    }
    if (!equals || !find_field(field, length, &f))
        return refuse(message, size, field, "no such field (mxverify list fields)");
    struct mxv_case *c = malloc(sizeof *c);
    char *text = malloc(MXV_CASE_LINE_SIZE);
    for (unsigned k = 0; c && text && k < MXV_KERNEL_COUNT && status != MXV_OK; k++) {
        if (!(mxv_case_field_get(f)->kernels >> k & 1))
            continue;
        mxv_case_defaults((enum mxv_kernel)k, c);
        status = mxv_case_set(c, field, message, size);
    }
    if (status == MXV_OK) {
        int n = snprintf(text, MXV_CASE_LINE_SIZE, "%.*s=", (int)length, field);
        mxv_case_field_print(c, f, text + n, MXV_CASE_LINE_SIZE - (size_t)n);
        *out = strdup(text);
    }
    free(c);
    free(text);
    return status;
}

// ---- keeping entries

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void free_entry(struct mxv_ledger_entry *e)
{
    const char *const strings[] = {e->case_glob, e->implementation, e->device, e->driver_from,
                                   e->driver_to, e->reason,         e->owner,  e->url,
                                   e->expires};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        free((char *)strings[i]);
    for (size_t i = 0; i < e->field_count; i++)
        free((char *)e->fields[i]);
}

static enum mxv_status copy_entry(struct mxv_ledger_entry *to, const struct mxv_ledger_entry *from,
                                  char *message, size_t size)
{
    *to = (struct mxv_ledger_entry){
        .case_glob = copy(from->case_glob),
        .implementation = copy(from->implementation),
        .device = copy(from->device),
        .driver_from = copy(from->driver_from),
        .driver_to = copy(from->driver_to),
        .verdicts = from->verdicts ? from->verdicts : COVERED,
        .quarantine = from->quarantine,
        .reason = copy(from->reason),
        .owner = copy(from->owner),
        .url = copy(from->url),
        .expires = copy(from->expires),
    };
    enum mxv_status status = MXV_OK;
    while (status == MXV_OK && to->field_count < from->field_count) {
        char *text = NULL;
        status = canonical_field(from->fields[to->field_count], &text, message, size);
        if (status == MXV_OK)
            to->fields[to->field_count++] = text;
    }
    if (status != MXV_OK)
        free_entry(to);
    return status;
}

enum mxv_status mxv_ledger_add(struct mxv_ledger *ledger, const struct mxv_ledger_entry *entry,
                               char *message, size_t size)
{
    enum mxv_status status = check_members(entry, message, size);
    if (status != MXV_OK)
        return status;
    if (ledger->count == ledger->room) {
        size_t room = ledger->room ? 2 * ledger->room : 16;
        struct item *items = realloc(ledger->items, room * sizeof *items);
        if (!items) {
            snprintf(message, size, "out of memory");
            return MXV_ERR_MEMORY;
        }
        ledger->items = items;
        ledger->room = room;
    }
    struct item *item = &ledger->items[ledger->count];
    item->uses = 0;
    status = copy_entry(&item->entry, entry, message, size);
    ledger->count += status == MXV_OK;
    return status;
}

void mxv_ledger_free(struct mxv_ledger *ledger)
{
    for (size_t i = 0; ledger && i < ledger->count; i++)
        free_entry(&ledger->items[i].entry);
    if (ledger)
        free(ledger->items);
    free(ledger);
}

size_t mxv_ledger_count(const struct mxv_ledger *ledger)
{
    return ledger->count;
}

const struct mxv_ledger_entry *mxv_ledger_get(const struct mxv_ledger *ledger, size_t i)
{
    return &ledger->items[i].entry;
}

size_t mxv_ledger_uses(const struct mxv_ledger *ledger, size_t i)
{
    return ledger->items[i].uses;
}

// ---- scope

int mxv_version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        char *end_a, *end_b;
        unsigned long long x = strtoull(a, &end_a, 10), y = strtoull(b, &end_b, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = *end_a ? end_a + 1 : end_a;
        b = *end_b ? end_b + 1 : end_b;
    }
    return 0;
}

void mxv_ledger_today(char out[11])
{
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(out, 11, "%Y-%m-%d", &parts);
}

bool mxv_ledger_expired(const struct mxv_ledger_entry *entry, const char *today)
{
    return strcmp(today, entry->expires) > 0;
}

static bool field_matches(const char *field, const struct mxv_case *c)
{
    const char *equals = strchr(field, '=');
    size_t length = (size_t)(equals - field);
    enum mxv_case_field f;
    char text[2048];
    if (strncmp(field, "kernel=", 7) == 0)
        return strcmp(equals + 1, mxv_choice_name(MXV_CHOICE_KERNEL, c->kernel)) == 0;
    if (!find_field(field, length, &f) || !(mxv_case_field_get(f)->kernels >> c->kernel & 1))
        return false;
    return mxv_case_field_print(c, f, text, sizeof text) < sizeof text &&
           strcmp(text, equals + 1) == 0;
}

static bool glob_matches(const char *glob, const char *text)
{
    return !glob || (text && fnmatch(glob, text, 0) == 0);
}

static bool case_matches(const char *glob, const struct mxv_case *c)
{
    char id[MXV_CASE_ID_SIZE], *line;
    if (!glob)
        return true;
    mxv_case_id(c, id);
    if (fnmatch(glob, id, 0) == 0)
        return true;
    line = malloc(MXV_CASE_LINE_SIZE);
    bool matches = line && mxv_case_print(c, line, MXV_CASE_LINE_SIZE) < MXV_CASE_LINE_SIZE &&
                   fnmatch(glob, line, 0) == 0;
    free(line);
    return matches;
}

bool mxv_ledger_in_scope(const struct mxv_ledger_entry *e, const struct mxv_case *c,
                         const struct mxv_ledger_place *place)
{
    if (!glob_matches(e->implementation, place->implementation) ||
        !glob_matches(e->device, place->device))
        return false;
    if ((e->driver_from || e->driver_to) && !place->driver)
        return false;
    if ((e->driver_from && mxv_version_compare(place->driver, e->driver_from) < 0) ||
        (e->driver_to && mxv_version_compare(place->driver, e->driver_to) > 0))
        return false;
    for (size_t i = 0; i < e->field_count; i++)
        if (!field_matches(e->fields[i], c))
            return false;
    return case_matches(e->case_glob, c);
}

// ---- judging

const struct mxv_ledger_entry *mxv_ledger_quarantine(struct mxv_ledger *ledger,
                                                     const struct mxv_case *c,
                                                     const struct mxv_ledger_place *place)
{
    for (size_t i = 0; i < ledger->count; i++) {
        struct item *item = &ledger->items[i];
        if (item->entry.quarantine && !mxv_ledger_expired(&item->entry, place->today) &&
            mxv_ledger_in_scope(&item->entry, c, place)) {
            item->uses++;
            return &item->entry;
        }
    }
    return NULL;
}

enum mxv_verdict mxv_ledger_judge(struct mxv_ledger *ledger, const struct mxv_case *c,
                                  const struct mxv_ledger_place *place, enum mxv_verdict found,
                                  const struct mxv_ledger_entry **entry)
{
    bool good = mxv_verdict_class_of(found) == MXV_VERDICT_GOOD;
    struct item *passing = NULL;
    *entry = NULL;
    for (size_t i = 0; i < ledger->count; i++) {
        struct item *item = &ledger->items[i];
        bool covers = (item->entry.verdicts >> found & 1) != 0;
        if (item->entry.quarantine || mxv_ledger_expired(&item->entry, place->today) ||
            (!covers && !(good && !passing)) || !mxv_ledger_in_scope(&item->entry, c, place))
            continue;
        if (covers) {
            item->uses++;
            *entry = &item->entry;
            return MXV_VERDICT_WAIVED;
        }
        passing = item;
    }
    if (!passing)
        return found;
    passing->uses++;
    *entry = &passing->entry;
    return MXV_VERDICT_XPASS;
}
