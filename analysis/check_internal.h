// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the check share. Private.
#ifndef MXV_CHECK_INTERNAL_H
#define MXV_CHECK_INTERNAL_H

#include <mxverify/check.h>

// O and LSE as handed in, head-major over packed sequences like the tensors of a call.
struct check_subject {
    uint32_t *out; // [heads][tokens of all sequences][d] codes of out_type
    uint32_t *lse; // [heads][tokens] binary32 words, or NULL
    enum mxv_element out_type;
    size_t batch, heads, heads_kv, lq, lk, d;
    size_t operands; // of Q, K and V, that are written
    char paths[3][MXV_CASE_PATH_SIZE];
    struct mxv_case c; // the base with shapes, types and input
};

// Reads all files, writes Q, K and V into the folder, and completes the case.
enum mxv_status check_read(const struct mxv_check_options *o, struct check_subject *s,
                           char *message, size_t size);
// Without keep_operands the files written are removed, too.
void check_subject_free(struct check_subject *s, bool keep_operands);

// Words of O and LSE of one query head of one sequence.
void check_head(const struct check_subject *s, size_t sequence, size_t head, uint32_t *out,
                uint32_t *lse);

// Words of one tensor, [heads][batch * tokens][cols].
struct check_words {
    uint32_t *words;
    size_t heads, rows, cols;
};
enum mxv_status check_read_words(const struct mxv_check_tensor *from, const char *name,
                                 enum mxv_check_layout layout, struct check_words *out,
                                 char *message, size_t size);
enum mxv_status check_operands(const struct mxv_check_options *o, const struct check_subject *s,
                               struct mxv_check_result *r, char *message, size_t size);

enum mxv_status check_fit(const struct mxv_check_options *o, const struct check_subject *s,
                          struct mxv_check_result *r, struct mxv_case *best, char *message,
                          size_t size);
enum mxv_status check_properties(const struct check_subject *s, struct mxv_check_result *r,
                                 char *message, size_t size);

#endif
