// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A tier is a list of cases followed by a number of sampled ones, which take the kernels in turn.
// The head of include/mxverify/tiers.h says what each tier holds.
// tests/unit/test_tiers.c fails if this is wrong.
#include "case_internal.h"
#include "tiers_internal.h"
#include <errno.h>
#include <mxverify/data_path.h>
#include <mxverify/text_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL_DIR "data/real/smollm2-135m"

// X(id, name, smoke cases first, sampled cases for each kernel, scores of the largest, sampled
// cases for each later option, has to meet the mandatory events, text)
#define TIERS(X)                                                                                   \
    X(SMOKE, "smoke", true, 0, 0, 0, false, "about a dozen fixed small cases for each kernel")     \
    X(QUICK, "quick", true, 100, 40000, 10, true,                                                  \
      "smoke and 100 sampled cases for each kernel, 10 each with rebase=1 and fold=1")             \
    X(FUZZ, "fuzz", false, SIZE_MAX, 130000, 0, false, "sampled from the seed, without end")       \
    X(NIGHTLY, "nightly", true, 500, 4000000, 50, true,                                            \
      "smoke and 500 larger sampled cases for each kernel, 50 each with rebase=1 and fold=1")      \
    X(REAL, "real", false, 0, 0, 0, false, "captured activations: layers, heads, token ranges")    \
    X(RECORDED, "recorded", false, 0, 0, 0, false,                                                 \
      "the cases of data/golden/h200, which a device has computed; for --impl recorded")

#define X(id, name, smoke, samples, scores, later, events, text) TIER_##id,
enum tier_id { TIERS(X) TIER_COUNT };
#undef X

static const struct {
    const char *name;
    bool smoke;
    size_t samples;
    uint64_t scores;
    size_t later;
    bool events;
    const char *text;
} rows[] = {
#define X(id, name, smoke, samples, scores, later, events, text)                                   \
    {name, smoke, samples, scores, later, events, text},
    TIERS(X)
#undef X
};

struct mxv_tier {
    struct case_list list;
    enum mxv_kernel kernels[MXV_KERNEL_COUNT]; // of the sampled cases
    size_t kernel_count, samples;              // all sampled cases before those of later options
    enum mxv_kernel later[MXV_KERNEL_COUNT];   // kernels that have one
    size_t later_count;
    uint64_t seed, scores;
    bool fuzz;
    size_t count;
};

const char *mxv_tier_name(unsigned tier)
{
    return tier < TIER_COUNT ? rows[tier].name : NULL;
}

const char *mxv_tier_text(unsigned tier)
{
    return tier < TIER_COUNT ? rows[tier].text : NULL;
}

bool mxv_tier_has_events(const char *tier)
{
    for (unsigned i = 0; i < TIER_COUNT; i++)
        if (strcmp(rows[i].name, tier) == 0)
            return rows[i].events;
    return false;
}

bool tiers_append(struct case_list *list, const struct mxv_case *c)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        struct mxv_case *cases = realloc(list->cases, room * sizeof *cases);
        if (!cases)
            return false;
        list->cases = cases;
        list->room = room;
    }
    list->cases[list->count++] = *c;
    return true;
}

static enum mxv_status append_line(struct case_list *list, const char *line, unsigned kernels,
                                   const char *where, size_t number, char *message, size_t size)
{
    struct mxv_case c;
    char said[4096];
    enum mxv_status status = mxv_case_parse(line, &c, said, sizeof said);
    if (status != MXV_OK) {
        text_message(message, size, "%s: line %zu: %s", where, number, said);
        return status;
    }
    if ((kernels >> c.kernel & 1) && !tiers_append(list, &c)) {
        text_message(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    return MXV_OK;
}

enum mxv_status tiers_smoke(struct case_list *list, unsigned kernels, char *message, size_t size)
{
    static const char *const lines[] = {
#define X(line) line,
#include "tiers_smoke.def"
#undef X
    };
    enum mxv_status status = MXV_OK;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && status == MXV_OK; i++)
        status = append_line(list, lines[i], kernels, "smoke", i + 1, message, size);
    return status;
}

// A line of the file ends where one of `ends` stands.
static enum mxv_status append_file(struct case_list *list, const char *path, unsigned kernels,
                                   const char *ends, char *message, size_t size)
{
    enum mxv_status status = MXV_OK;
    char *line = NULL;
    size_t room = 0, number = 0;
    FILE *f = mxv_text_open(path);
    if (!f) {
        struct text t = {message, size, 0};
        text_add(&t, "cases `%s`: no tier of that name, and as a file: %s; tiers:", path,
                 strerror(errno));
        for (unsigned i = 0; i < TIER_COUNT; i++)
            text_add(&t, " %s", rows[i].name);
        return MXV_ERR_INPUT;
    }
    errno = 0;
    ssize_t length;
    while (status == MXV_OK && (length = mxv_text_line(&line, &room, f)) >= 0) {
        number++;
        if (strlen(line) != (size_t)length) {
            text_message(message, size, "%s: line %zu: the line holds a NUL byte", path, number);
            status = MXV_ERR_INPUT;
            break;
        }
        char *end = line + strcspn(line, ends);
        if (*end == '\r' && strcmp(end, "\r\n") != 0 && strcmp(end, "\r") != 0) {
            text_message(message, size, "%s: line %zu: a carriage return inside the line", path,
                         number);
            status = MXV_ERR_INPUT;
            break;
        }
        *end = '\0';
        if (line[strspn(line, " \t")])
            status = append_line(list, line, kernels, path, number, message, size);
    }
    if (status == MXV_OK && !feof(f)) {
        text_message(message, size, "%s: %s", path, mxv_text_error(errno));
        status = MXV_ERR_IO;
    }
    free(line);
    fclose(f);
    return status;
}

enum mxv_status tiers_file(struct case_list *list, const char *path, unsigned kernels,
                           char *message, size_t size)
{
    char found[4096];
    return append_file(list, mxv_data_path(path, found, sizeof found), kernels, "#\r\n", message,
                       size);
}

// Of a line all before the first tab, behind which its result stands. Kernels' files only:
// large.txt holds cases that need hours and a hundred gigabytes here.
enum mxv_status tiers_recorded(struct case_list *list, unsigned kernels, char *message, size_t size)
{
    static const char folder[] = "data/golden/h200";
    enum mxv_status status = MXV_OK;
    char found[4096];
    if (access(mxv_data_path(folder, found, sizeof found), R_OK | X_OK)) {
        text_message(message, size, "recorded cases: %s: %s", folder, strerror(errno));
        return MXV_ERR_IO;
    }
    for (unsigned k = 0; k < MXV_KERNEL_COUNT && status == MXV_OK; k++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s.txt", folder, mxv_choice_name(MXV_CHOICE_KERNEL, k));
        mxv_data_path(path, found, sizeof found);
        if ((kernels >> k & 1) && access(found, F_OK) == 0)
            status = append_file(list, found, kernels, "#\r\n\t", message, size);
    }
    return status;
}

static enum mxv_status find_kernels(const char *name, unsigned *kernels, char *message, size_t size)
{
    struct text t = {message, size, 0};
    unsigned k;
    *kernels = (1u << MXV_KERNEL_COUNT) - 1;
    if (!name || strcmp(name, "all") == 0)
        return MXV_OK;
    if (mxv_choice_find(MXV_CHOICE_KERNEL, name, &k)) {
        *kernels = 1u << k;
        return MXV_OK;
    }
    text_add(&t, "unknown kernel `%s`; kernels: all", name);
    for (k = 0; k < MXV_KERNEL_COUNT; k++)
        text_add(&t, " %s", mxv_choice_name(MXV_CHOICE_KERNEL, k));
    return MXV_ERR_INPUT;
}

static void set_samples(struct mxv_tier *tier, enum tier_id id, unsigned kernels, uint64_t seed)
{
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        if (kernels >> k & 1)
            tier->kernels[tier->kernel_count++] = (enum mxv_kernel)k;
        if (kernels >> k & 1 && tiers_has_later((enum mxv_kernel)k))
            tier->later[tier->later_count++] = (enum mxv_kernel)k;
    }
    tier->fuzz = id == TIER_FUZZ;
    tier->seed = tier->fuzz ? seed : 0x6d787665726966; // other tiers never change
    tier->scores = rows[id].scores;
    tier->samples = tier->fuzz ? SIZE_MAX : rows[id].samples * tier->kernel_count;
    tier->count = tier->fuzz
                      ? SIZE_MAX
                      : tier->list.count + tier->samples + rows[id].later * tier->later_count;
}

static enum mxv_status fill(struct mxv_tier *tier, const struct mxv_tier_options *o,
                            unsigned kernels, char *message, size_t size)
{
    const char *dir = o->real_dir ? o->real_dir : REAL_DIR;
    unsigned id = 0;
    enum mxv_status status = MXV_OK;
    while (id < TIER_COUNT && strcmp(rows[id].name, o->tier) != 0)
        id++;
    if (id == TIER_COUNT) {
        status = tiers_file(&tier->list, o->tier, kernels, message, size);
        tier->count = tier->list.count;
        return status;
    }
    if (id == TIER_RECORDED)
        status = tiers_recorded(&tier->list, kernels, message, size);
    else if (id == TIER_REAL)
        status = tiers_real(&tier->list, dir, kernels, false, message, size);
    else if (o->with_real)
        status = tiers_real(&tier->list, dir, kernels, true, message, size);
    if (status == MXV_OK && rows[id].smoke)
        status = tiers_smoke(&tier->list, kernels, message, size);
    set_samples(tier, (enum tier_id)id, kernels, o->seed);
    return status;
}

enum mxv_status mxv_tier_open(const struct mxv_tier_options *options, struct mxv_tier **out,
                              char *message, size_t size)
{
    unsigned kernels;
    enum mxv_status status = find_kernels(options->kernel, &kernels, message, size);
    struct mxv_tier *tier;
    *out = NULL;
    if (status != MXV_OK)
        return status;
    tier = calloc(1, sizeof *tier);
    if (!tier) {
        text_message(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    status = fill(tier, options, kernels, message, size);
    if (status == MXV_OK && tier->count == 0) {
        text_message(message, size, "cases `%s`: none for kernel %s", options->tier,
                     options->kernel ? options->kernel : "all");
        status = MXV_ERR_INPUT;
    }
    if (status != MXV_OK) {
        mxv_tier_close(tier);
        return status;
    }
    if (options->count && options->count < tier->count)
        tier->count = options->count;
    *out = tier;
    return MXV_OK;
}

void mxv_tier_close(struct mxv_tier *tier)
{
    if (tier)
        free(tier->list.cases);
    free(tier);
}

size_t mxv_tier_count(const struct mxv_tier *tier)
{
    return tier->count;
}

// After the sampled cases of a fixed tier those of later options, at the indices that follow.
static void later_case(const struct mxv_tier *tier, size_t i, struct mxv_case *out)
{
    size_t index = tier->samples / tier->kernel_count + i / tier->later_count;
    tiers_sample_first(tier->later[i % tier->later_count], tier->seed, index, tier->scores, out);
    tiers_set_later(out);
}

void mxv_tier_case(const struct mxv_tier *tier, size_t i, struct mxv_case *out)
{
    if (i < tier->list.count) {
        *out = tier->list.cases[i];
        return;
    }
    i -= tier->list.count;
    if (i >= tier->samples) {
        later_case(tier, i - tier->samples, out);
        return;
    }
    enum mxv_kernel kernel = tier->kernels[i % tier->kernel_count];
    uint64_t index = i / tier->kernel_count;
    if (tier->fuzz)
        mxv_tier_sample(kernel, tier->seed, index, tier->scores, out);
    else
        tiers_sample_first(kernel, tier->seed, index, tier->scores, out);
}
