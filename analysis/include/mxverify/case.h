// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A case: one attention call as one line of text, `KERNEL key=value key=value ...`.
//
// docs/case-language.md is the reference. The fields are the rows of case_fields.def; the rest of a
// call (tensors, route words, band widths) follows from them, so that a line alone makes the same
// data on every machine. Canonical form: fields in the order of case_fields.def, single spaces,
// fields at the kernel's default left out, numbers in their shortest form.
//
// Errors: functions return an enum mxv_status and write one line (NUL-terminated, cut to `size`;
// `message` may be NULL if size is 0) that names the column, the field, the value and what is
// allowed. Threads: no shared state.
#ifndef MXVERIFY_CASE_H
#define MXVERIFY_CASE_H

#include <mxverify/attention.h>
#include <mxverify/faults.h>
#include <mxverify/generators.h>
#include <mxverify/policy.h>
#include <mxverify/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Choices that belong to case lines alone.
#define MXV_MIX_PLANS(X)                                                                           \
    X(BAND, "band", "FP16 within distance D of the diagonal and in the first s key tiles")         \
    X(ALL_F16, "all_f16", "FP16 everywhere")                                                       \
    X(ALL_INT8, "all_int8", "INT8 everywhere")                                                     \
    X(CHECKER, "checker", "FP16 where query tile + group is even")                                 \
    X(RANDOM, "random", "FP16 by chance, with probability share")                                  \
    X(RATIO, "ratio", "FP16 in the nearest tiles, up to the head's share of a row")                \
    X(FILE, "file", "words from planfile")
#define MXV_BIT_ORDERS(X)                                                                          \
    X(LSB, "lsb", "bit 0 is the least significant")                                                \
    X(MSB, "msb", "bit 0 is the most significant")
#define MXV_BIT_ROUTES(X)                                                                          \
    X(F16, "f16", "a set bit means FP16")                                                          \
    X(INT8, "int8", "a set bit means INT8")
#define MXV_NONFINITES(X)                                                                          \
    X(REFUSE, "refuse", "NaN or Inf in a file is an error")                                        \
    X(ALLOW, "allow", "NaN and Inf are passed on")

#define X(id, name, text) MXV_MIX_##id,
enum mxv_mix_plan { MXV_MIX_PLANS(X) MXV_MIX_COUNT };
#undef X
#define X(id, name, text) MXV_BITS_##id,
enum mxv_bit_order { MXV_BIT_ORDERS(X) MXV_BITS_COUNT };
#undef X
#define X(id, name, text) MXV_ONE_##id,
enum mxv_bit_route { MXV_BIT_ROUTES(X) MXV_ONE_COUNT };
#undef X
#define X(id, name, text) MXV_NONFINITE_##id,
enum mxv_nonfinite { MXV_NONFINITES(X) MXV_NONFINITE_COUNT };
#undef X

enum {
    MXV_CASE_SEQS_MAX = 256,
    MXV_CASE_SHARES_MAX = 16,
    MXV_CASE_PATH_SIZE = 1024,
    MXV_CASE_LINE_SIZE = 16384, // enough for every canonical line, with its NUL
    MXV_CASE_ID_SIZE = 11       // ten hexadecimal digits and NUL
};
#define MXV_CASE_AUTO (-1e300) // `auto` in fields of kind AUTO

struct mxv_case_tile {
    size_t m, n; // query rows, keys
};
struct mxv_case_range {
    size_t first, end; // end excluded; 0, 0: all
};
struct mxv_case_lengths {
    uint32_t lq, lk;
};
struct mxv_case_seqs {
    size_t count; // 0: b, lq and lk hold instead
    struct mxv_case_lengths at[MXV_CASE_SEQS_MAX];
};
struct mxv_case_shares {
    size_t count; // at least 1
    double at[MXV_CASE_SHARES_MAX];
};

// Every field by value; see case_fields.def for their meaning. A case with `input` may leave
// heads_q, heads_kv, lq, lk and d at 0: taken from the files. A case with seqs has batch, lq and lk
// at 0. Fields that the kernel does not have stay at their defaults. Paths stand as in the line.
struct mxv_case {
    enum mxv_kernel kernel;
#define MXV_MEMBER_CHOICE(member, a)                  enum a member;
#define MXV_MEMBER_FLAG(member, a)                    bool member;
#define MXV_MEMBER_SIZE(member, a)                    size_t member;
#define MXV_MEMBER_LONG(member, a)                    long member;
#define MXV_MEMBER_REAL(member, a)                    double member;
#define MXV_MEMBER_AUTO(member, a)                    double member;
#define MXV_MEMBER_SEED(member, a)                    uint64_t member;
#define MXV_MEMBER_TILE(member, a)                    struct mxv_case_tile member;
#define MXV_MEMBER_RANGE(member, a)                   struct mxv_case_range member;
#define MXV_MEMBER_SEQS(member, a)                    struct mxv_case_seqs member;
#define MXV_MEMBER_SHARES(member, a)                  struct mxv_case_shares member;
#define MXV_MEMBER_PATH(member, a)                    char member[MXV_CASE_PATH_SIZE];
#define MXV_MEMBER_FAULTS(member, a)                  uint64_t member;
#define X(id, key, member, kind, a, b, kernels, text) MXV_MEMBER_##kind(member, a)
#include <mxverify/case_fields.def>
#undef X
};

enum mxv_case_field {
#define X(id, key, member, kind, a, b, kernels, text) MXV_FIELD_##id,
#include <mxverify/case_fields.def>
#undef X
    MXV_FIELD_COUNT
};

enum mxv_case_kind {
    MXV_KIND_CHOICE,
    MXV_KIND_FLAG,
    MXV_KIND_SIZE,
    MXV_KIND_LONG,
    MXV_KIND_REAL,
    MXV_KIND_AUTO,
    MXV_KIND_SEED,
    MXV_KIND_TILE,
    MXV_KIND_RANGE,
    MXV_KIND_SEQS,
    MXV_KIND_SHARES,
    MXV_KIND_PATH,
    MXV_KIND_FAULTS
};

struct mxv_case_field_info {
    const char *key, *text;
    enum mxv_case_kind kind;
    double least, greatest; // of numbers
    unsigned kernels;       // bit set of enum mxv_kernel
};
const struct mxv_case_field_info *mxv_case_field_get(enum mxv_case_field field);
// Name of value `value` of a CHOICE or FLAG field; NULL beyond the last one.
const char *mxv_case_value_name(enum mxv_case_field field, unsigned value);
// Whether `kernel` has that field, and takes that value of it (CHOICE and FLAG fields).
bool mxv_case_value_allowed(enum mxv_kernel kernel, enum mxv_case_field field, unsigned value);
// Value of a CHOICE or FLAG field of a case.
unsigned mxv_case_value(const struct mxv_case *c, enum mxv_case_field field);
// Text of a field's value as it stands in a line; same return value as snprintf.
size_t mxv_case_field_print(const struct mxv_case *c, enum mxv_case_field field, char *buf,
                            size_t size);
// All values that a kernel takes, as text for a person: `1..4096`, `none|token|block`.
size_t mxv_case_field_allowed(enum mxv_kernel kernel, enum mxv_case_field field, char *buf,
                              size_t size);
// The table of fields of docs/case-language.md (Markdown).
size_t mxv_case_fields_markdown(char *buf, size_t size);

// The kernel's default case.
void mxv_case_defaults(enum mxv_kernel kernel, struct mxv_case *out);

// Reads a line (one trailing line end is passed over) and checks it as mxv_case_check does; *out is
// untouched on error.
enum mxv_status mxv_case_parse(const char *line, struct mxv_case *out, char *message, size_t size);

// Applies `key=value` to a case, as the command line does with its overrides. The case is not
// checked as a whole: call mxv_case_check after the last one. Untouched on error.
enum mxv_status mxv_case_set(struct mxv_case *c, const char *assignment, char *message,
                             size_t size);

// A path as `input` and `planfile` take it: space, comma, #, % and control characters as %XX.
// Returns its length, as snprintf does.
size_t mxv_case_escape(const char *path, char *buf, size_t size);

// Writes the canonical line; returns its length, as snprintf does when it does not fit.
size_t mxv_case_print(const struct mxv_case *c, char *buf, size_t size);
bool mxv_case_equal(const struct mxv_case *a, const struct mxv_case *b);

// XXH3-64 of the canonical line, and its leading ten hexadecimal digits.
uint64_t mxv_case_hash(const struct mxv_case *c);
void mxv_case_id(const struct mxv_case *c, char id[MXV_CASE_ID_SIZE]);

// Whether the files that `input` names are there and can be opened; nothing is read. MXV_ERR_INPUT,
// MXV_ERR_IO with the path.
enum mxv_status mxv_case_find_files(const struct mxv_case *c, char *message, size_t size);

// Whether the case can be run: shapes, combinations of fields, and mxv_attention_check.
// MXV_ERR_UNSUPPORTED when the kernel does not offer the combination, MXV_ERR_INPUT otherwise.
enum mxv_status mxv_case_check(const struct mxv_case *c, char *message, size_t size);

// Total tokens, elements of q + k + v, and score elements of processed and skipped tiles together
// (query heads x sum lq*lk). Fields that are taken from files count as 0.
struct mxv_case_extent {
    uint64_t tokens_q, tokens_k, elements, scores;
};
void mxv_case_extent(const struct mxv_case *c, struct mxv_case_extent *out);

// A case's call with the buffers that it points to.
struct mxv_case_data {
    struct mxv_attention a;
    size_t *cu_q, *cu_k;
    float *q, *k, *v;
    uint64_t *route_words;
    uint32_t *diag_tiles;
};

// Makes the tensors and the plan. The caller frees *out with mxv_case_free; on error *out is empty
// and freeing it is allowed. MXV_ERR_INPUT, MXV_ERR_IO (files), MXV_ERR_MEMORY,
// MXV_ERR_UNSUPPORTED.
enum mxv_status mxv_case_build(const struct mxv_case *c, struct mxv_case_data *out, char *message,
                               size_t size);
void mxv_case_free(struct mxv_case_data *data);

#ifdef __cplusplus
}
#endif
#endif
