// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Recorded results: what a device computed for a case, as hashes that a machine without the device
// can check an emulation against. One text line a case (docs/measurements/h200.md, data/golden):
//
//   CASE LINE <tab> inputs <tab> out <tab> lse <tab> tile,tile,...
//
// inputs, out and lse are XXH3-64 in 16 hexadecimal digits: of the tensors and the plan that the
// case line makes, of all output words, of all LSE words (of none: lse=none). A tile is the low 32
// bits of XXH3-64 of the output words, then the LSE words, of one query tile of one head; heads
// first to last, query tiles numbered through the sequences. Words are 32 bits, little-endian, each
// NaN replaced by the canonical one of its type. Lines that begin with `#` are comments, of which
// `# device: NAME`, `# driver: VERSION` and `# arch: NAME` are read. tests/golden/test_recorded.c
// fails if this is wrong.
#ifndef MXVERIFY_RECORDED_H
#define MXVERIFY_RECORDED_H

#include <mxverify/attention.h>
#include <mxverify/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mxv_recorded {
    char *line; // the case; owned
    uint64_t inputs, out, lse;
    size_t tile_count;
    uint32_t *tiles; // owned
};

// Hash of what a case line has made.
uint64_t mxv_recorded_inputs(const struct mxv_attention *a);

// Hashes of results: out [heads_q][tokens][d] words of a->out, lse [heads_q][tokens] binary32 words
// or NULL. NaNs in out and lse become canonical. MXV_ERR_MEMORY.
enum mxv_status mxv_recorded_make(const struct mxv_attention *a, const char *line, uint32_t *out,
                                  uint32_t *lse, struct mxv_recorded *r);
void mxv_recorded_free(struct mxv_recorded *r);

// Text of a record, without line end; the caller frees it. NULL: out of memory.
char *mxv_recorded_print(const struct mxv_recorded *r);
// Reads such a line (a line end is passed over). MXV_ERR_INPUT or MXV_ERR_MEMORY with a message.
enum mxv_status mxv_recorded_parse(const char *text, struct mxv_recorded *r, char *message,
                                   size_t size);

// First tile in which two records of the same case differ; SIZE_MAX: none.
size_t mxv_recorded_difference(const struct mxv_recorded *a, const struct mxv_recorded *b);

// All .txt files of a folder, by case line. Read-only after it is opened; any thread may look.
struct mxv_recorded_store;

struct mxv_recorded_origin {
    char device[96], driver[96], arch[96]; // of the last file that says so; "" if none does
};

// MXV_ERR_IO, MXV_ERR_INPUT or MXV_ERR_MEMORY with a message; the caller closes *out.
enum mxv_status mxv_recorded_open(const char *folder, struct mxv_recorded_store **out,
                                  char *message, size_t size);
void mxv_recorded_close(struct mxv_recorded_store *store); // NULL is allowed
size_t mxv_recorded_count(const struct mxv_recorded_store *store);
// The record of a canonical case line; NULL: none.
const struct mxv_recorded *mxv_recorded_find(const struct mxv_recorded_store *store,
                                             const char *line);
const struct mxv_recorded_origin *mxv_recorded_origin(const struct mxv_recorded_store *store);

#ifdef __cplusplus
}
#endif
#endif
