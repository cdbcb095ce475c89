// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Check: somebody else's tensors, Q, K, V and the output O (and LSE) of a kernel, judged without
// the kernel.
//
// Tensors come from .npy or .safetensors files in any element format (FP8, FP6 and FP4 included),
// as [batch][heads][tokens][d] or [batch][tokens][heads][d]; leading dimensions may be absent. Q, K
// and V are written as binary32 into a folder, and the case that reads them is a repro line. O is
// then an implementation like any other: compared with the emulation, judged by the proved bound
// (<mxverify/verify.h>), drawn as maps. Beside that, the options and faults of the kernel are
// tried, one change at a time from the nearest, for the emulation that fits O best.
// A fit is a reading of the numbers, not a proof: only 0 differing words says `the same bits`.
// Threads: independent calls. tests/cli/test_check.sh fails if this is wrong.
#ifndef MXVERIFY_CHECK_H
#define MXVERIFY_CHECK_H

#include <mxverify/case.h>
#include <mxverify/tensor_file.h>
#include <mxverify/verify.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mxv_check_layout {
    MXV_CHECK_BHLD, // [batch][heads][tokens][d]: PyTorch scaled_dot_product_attention
    MXV_CHECK_BLHD  // [batch][tokens][heads][d]: FlashAttention
};
enum { MXV_CHECK_FITS = 8, MXV_CHECK_TEXT = 512 };

// A file, or FILE.safetensors:TENSOR, and how it is to be understood.
struct mxv_check_tensor {
    const char *where; // NULL: not given
    struct mxv_tensor_read_options options;
};

// Quantised operands beside the outputs, compared with the emulation's, route by route.
#define MXV_CHECK_OPERANDS(X)                                                                      \
    X(Q_CODE, "q-codes", "elements of Q, [batch][heads][tokens][d]")                               \
    X(Q_SCALE, "q-scales", "block scales of Q, [batch][heads][tokens][blocks of a row]")           \
    X(K_CODE, "k-codes", "elements of K")                                                          \
    X(K_SCALE, "k-scales", "block scales of K")
enum mxv_check_operand_id {
#define X(id, name, text) MXV_CHECK_##id,
    MXV_CHECK_OPERANDS(X)
#undef X
        MXV_CHECK_OPERAND_COUNT
};
const char *mxv_check_operand_name(unsigned operand); // NULL beyond the last one

struct mxv_check_options {
    struct mxv_check_tensor operands[MXV_CHECK_OPERAND_COUNT];
    struct mxv_check_tensor q, k, v, out,
        lse; // lse: [batch][heads][tokens], binary32, NULL allowed
    enum mxv_check_layout layout;
    struct mxv_case base;   // kernel and options; shapes, input and types are taken from the files
    bool keep_in, keep_out; // base.in (base.out) was set by the caller
    const char *folder;     // exists; check_q.npy, check_k.npy, check_v.npy and maps are written
    size_t fit_scores;      // scores (query x key) an attempt may cost; more heads are left out
    struct mxv_verify_options verify; // adapter and impl are not read
};

// One attempt to explain O: options changed from the base, or a fault.
struct mxv_check_fit {
    char change[MXV_CHECK_TEXT]; // "low=nvfp4 rule=rceil", "fault=D2", "" for the base
    bool fault;
    uint64_t differing, words; // words of O (and LSE) unlike the emulation's, of those compared
    double distance;           // mean |difference| of the values
};

// What must hold of attention whatever the arithmetic.
struct mxv_check_properties {
    double gain_low, gain_median, gain_high; // per row: <O, emulation> / <emulation, emulation>
    uint64_t elements;
    uint64_t outside; // beyond the smallest or largest visible value of their channel
    uint64_t leaking; // of these, inside the range of all keys
    uint64_t nonfinite;
};

// A quantised operand against the route that it is nearest to, under the options of result.c.
struct mxv_check_operand {
    bool given, found; // found: some route of the call has an operand of that shape
    enum mxv_route route;
    uint64_t differing, words;
    size_t head, row, col; // of the first difference
    uint32_t expected, got;
};

struct mxv_check_result {
    struct mxv_check_operand operands[MXV_CHECK_OPERAND_COUNT];
    char line[MXV_CASE_LINE_SIZE]; // the case of the base: mxverify repro takes it
    struct mxv_case c;
    size_t attempts, heads, heads_compared; // of the fits
    size_t fit_count;
    struct mxv_check_fit fits[MXV_CHECK_FITS]; // nearest first
    bool same_bits; // under the options of fits[0], without a fault, in all heads
    struct mxv_check_properties properties;
    struct mxv_verify_result verify; // claims the same bits when same_bits
};

// MXV_OK whatever the verdict. Errors: files, shapes, values, a case that the kernel does not
// offer; check_q.npy, check_k.npy and check_v.npy do not stay behind then. mxv_check_free may be
// called after an error.
enum mxv_status mxv_check_run(const struct mxv_check_options *options, struct mxv_check_result *out,
                              char *message, size_t size);
void mxv_check_free(struct mxv_check_result *result);

#ifdef __cplusplus
}
#endif
#endif
