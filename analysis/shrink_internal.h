// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the shrinker share.
#ifndef MXV_SHRINK_INTERNAL_H
#define MXV_SHRINK_INTERNAL_H

#include <mxverify/shrink.h>

// Candidate n of a kind of step into *out, a copy of *c; false when there are no more. A candidate
// need not be a valid case.
typedef bool shrink_move(const struct mxv_case *c, size_t n, struct mxv_case *out);

struct shrink_step {
    const char *name;
    shrink_move *move;
    bool reseeds; // other data may fail where these do not: other seeds are tried, too
};
extern const struct shrink_step shrink_steps[];
extern const size_t shrink_step_count;

// Query rows and keys of the one sequence of a case without seqs.
void shrink_lengths(const struct mxv_case *c, size_t *lq, size_t *lk);
// 0 for the plainest data.
unsigned shrink_generator_rank(enum mxv_generator generator);

#endif
