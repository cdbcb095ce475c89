// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the probe share: lists of answered questions, builders of questions,
// candidates. Private.
#ifndef MXV_PROBE_INTERNAL_H
#define MXV_PROBE_INTERNAL_H

#include <mxverify/probe.h>
#include <stdio.h>

// Above every exponent that matters to z: a question whose largest exponent is at least this is
// the same for all z of the candidates.
enum { PROBE_TOP_ANY = MXV_PROBE_ZERO_MOST, PROBE_Z_NONE = -2000 };

struct probe_list {
    struct mxv_probe_question *questions;
    uint32_t *answers;
    size_t count, room;
    bool failed; // memory
};

// Room for one more question, zeroed and with scales 1; NULL when memory is short.
struct mxv_probe_question *probe_list_add(struct probe_list *list, const struct mxv_mma_model *face,
                                          unsigned k);
void probe_list_free(struct probe_list *list);

// Directed questions (probe_questions.c). The first MXV_PROBE_FACT_COUNT are the facts, but for
// integers; the result has a bit for each that the formats can express.
unsigned probe_directed(const struct mxv_mma_model *face, unsigned k, struct probe_list *list);
// Question `index` of the random families (probe_random.c); tiny: only those in which z shows.
void probe_random(const struct mxv_mma_model *face, unsigned k, uint64_t index, bool tiny,
                  struct mxv_probe_question *q);

// Candidates (probe_candidates.c), z left at PROBE_Z_NONE where the rule has one. The caller frees.
struct mxv_mma_model *probe_candidates(const struct mxv_mma_model *face, size_t *count);
bool probe_rule_has_zero(enum mxv_mma_rule rule);

uint32_t probe_answer(const struct mxv_mma_model *m, const struct mxv_probe_question *q);
// Equal as results: NaN equals NaN.
bool probe_same(const struct mxv_mma_model *face, uint32_t x, uint32_t y);
// The largest exponent that takes part besides z.
int probe_top(const struct mxv_mma_model *m, const struct mxv_probe_question *q);

// Runs `command` with `input` (a file at its start) as standard input; its output is *text, which
// the caller frees.
enum mxv_status probe_command(const char *command, FILE *input, char **text, char *message,
                              size_t size);

// The next line of *at that holds something, and the line; *count words of it, `most` at most, are
// stored. *count is most + 1 when more follows them, and 0 when anything else is no word.
bool probe_next_answer(char **at, uint32_t *words, size_t most, size_t *count, const char **line);

#endif
