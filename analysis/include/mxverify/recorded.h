// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Recorded results: what a device computed for a case, as hashes that a machine without the device
// can check an emulation against, and of some cases as words. One text line a case
// (docs/measurements/h200.md, data/golden):
//
//   CASE LINE <tab> inputs <tab> out <tab> lse <tab> tile,tile,...
//
// inputs, out and lse are XXH3-64 in 16 hexadecimal digits: of the tensors and the plan that the
// case line makes, of all output words, of all LSE words (of none: lse=none). A tile is the low 32
// bits of XXH3-64 of the output words, then the LSE words, of one query tile of one head; heads
// first to last, query tiles numbered through the sequences. Words are 32 bits, little-endian, each
// NaN replaced by the canonical one of its type.
//
// Behind the line of a case recorded whole stands one line for each tap of <mxverify/attention.h>:
//
//   @STAGE ROUTE SEQUENCE HEAD TILE_Q TILE_K ROWS COLS HASH <tab> word word ...
//
// ROWS * COLS words in row order, hexadecimal without leading zeros; HASH is XXH3-64 of the words.
// Heads first to last, sequences inside a head, taps in the order of docs/kernels/contract.md 8.
// A whole record has the stages out and lse of every head and sequence, whose words have the hashes
// of the case line, and either no other tap or all. With them a difference is named by stage, tile
// and element, where hashes name a query tile.
//
// Lines that begin with `#` are comments, of which `# device: NAME`, `# driver: VERSION` and
// `# arch: NAME` are read. tests/golden/test_recorded.c and test_recorded_whole.c fail if this is
// wrong.
#ifndef MXVERIFY_RECORDED_H
#define MXVERIFY_RECORDED_H

#include <mxverify/attention.h>
#include <mxverify/status.h>
#include <mxverify/taps.h>

#ifdef __cplusplus
extern "C" {
#endif

// All words of one tap, NaNs canonical.
struct mxv_recorded_tap {
    struct mxv_tap_key key;
    size_t rows, cols;
    uint32_t *words; // [rows][cols], owned
};

struct mxv_recorded {
    char *line; // the case; owned
    uint64_t inputs, out, lse;
    size_t tile_count;
    uint32_t *tiles;               // owned
    size_t tap_count;              // 0: hashes alone
    struct mxv_recorded_tap *taps; // owned
};

// Hash of what a case line has made.
uint64_t mxv_recorded_inputs(const struct mxv_attention *a);

// Hashes of results: out [heads_q][tokens][d] words of a->out, lse [heads_q][tokens] binary32 words
// or NULL. NaNs in out and lse become canonical. MXV_ERR_MEMORY.
enum mxv_status mxv_recorded_make(const struct mxv_attention *a, const char *line, uint32_t *out,
                                  uint32_t *lse, struct mxv_recorded *r);
void mxv_recorded_free(struct mxv_recorded *r);

// Makes a record whole: taps sent to mxv_recorded_taker(&t) are appended to *t.to, out and lse
// always, the others while they are no more than `limit` words in all; once they are more, they are
// dropped, those before as well. NaNs must be canonical. Zero all but `to` and `limit` first.
struct mxv_recorded_taker {
    struct mxv_recorded *to;
    size_t limit;       // words of stages other than out and lse; 0: none
    size_t words;       // of those stages, seen so far
    bool out_of_memory; // the record is not whole
};
struct mxv_tap_sink mxv_recorded_take(struct mxv_recorded_taker *taker);

// Text of a record, lines of taps as well, without the last line end; the caller frees it. NULL:
// out of memory.
char *mxv_recorded_print(const struct mxv_recorded *r);
// Reads the line of a case (a line end is passed over). MXV_ERR_INPUT or MXV_ERR_MEMORY with a
// message.
enum mxv_status mxv_recorded_parse(const char *text, struct mxv_recorded *r, char *message,
                                   size_t size);
// Reads a line of a tap, one that begins with `@`, and appends it to the record it stands behind.
// A wrong count of words and a wrong hash are refused as MXV_ERR_INPUT.
enum mxv_status mxv_recorded_parse_tap(const char *text, struct mxv_recorded *r, char *message,
                                       size_t size);
// Whether the words of a whole record have the hashes of its case line. MXV_ERR_INPUT with a
// message; MXV_OK for a record of hashes alone.
enum mxv_status mxv_recorded_check(const struct mxv_recorded *r, char *message, size_t size);

// First tile in which two records of the same case differ; SIZE_MAX: none.
size_t mxv_recorded_difference(const struct mxv_recorded *a, const struct mxv_recorded *b);

// A whole record against the emulation of its case.
struct mxv_recorded_comparison {
    size_t taps, words;             // compared
    size_t differing;               // words
    size_t missing;                 // taps that only one side has, or of another shape
    struct mxv_tap_key first;       // of out and lse: tile_q is the query tile of the element
    struct mxv_tap_element element; // its first; word_a of the emulation, word_b of the device;
                                    // row and col inside the tap; rows = 0: the tap is missing
    enum mxv_element format;        // of its words
};

// Emulates the call and compares every recorded word. Two NaNs are equal, and two zeros of any sign
// as running maximum (no later word depends on which). MXV_ERR_INPUT with a message when the call
// cannot be emulated, MXV_ERR_MEMORY.
enum mxv_status mxv_recorded_compare(const struct mxv_recorded *r, const struct mxv_attention *a,
                                     struct mxv_recorded_comparison *c, char *message, size_t size);
// "stage score, route low, sequence 0, head 1, query tile 0, key tile 2, row 3, column 5: device
// 3f800000, emulation 3f800001"; always NUL-terminated.
void mxv_recorded_comparison_print(const struct mxv_recorded_comparison *c, char *text,
                                   size_t size);

// All .txt files of a folder, by case line. Of several records of one line a whole one is found.
// Read-only after it is opened; any thread may look.
struct mxv_recorded_store;

struct mxv_recorded_origin {
    char device[96], driver[96], arch[96]; // of the last file that says so; "" if none does
};

// MXV_ERR_IO, MXV_ERR_INPUT or MXV_ERR_MEMORY with a message; the caller closes *out.
enum mxv_status mxv_recorded_open(const char *folder, struct mxv_recorded_store **out,
                                  char *message, size_t size);
void mxv_recorded_close(struct mxv_recorded_store *store); // NULL is allowed
size_t mxv_recorded_count(const struct mxv_recorded_store *store);
// Record i < count, in the order of the case lines.
const struct mxv_recorded *mxv_recorded_at(const struct mxv_recorded_store *store, size_t i);
// The record of a canonical case line; NULL: none.
const struct mxv_recorded *mxv_recorded_find(const struct mxv_recorded_store *store,
                                             const char *line);
const struct mxv_recorded_origin *mxv_recorded_origin(const struct mxv_recorded_store *store);

#ifdef __cplusplus
}
#endif
#endif
