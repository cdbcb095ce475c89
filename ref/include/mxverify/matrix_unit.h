// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix-unit models: what one tensor-core (matrix-core) instruction computes, bit for bit.
//
// A model is a row of ref/models.def: operand formats, the rule of its step, and the numbers of
// that rule. docs/numerics.md explains the rules and says how well each row is proved; the PTX ISA
// names the instructions and leaves their arithmetic open.
//
// Words. Operands, the accumulator and the result travel in uint32_t:
//   e2m1 the code in the low 4 bits, e2m3 and e3m2 low 6, 8-bit formats low 8, f16 and bf16 low 16,
//   tf32 a binary32 word whose low 13 bits are cut before anything looks at it. Higher bits are
//   ignored. The accumulator c and the result are f32 words, f16 in the low 16 bits, or s32.
//   Block scales are bytes: e8m0 (255 is NaN, 0 is 2^-127), ue4m3 (bit 7 ignored, 7f is NaN).
// Layout. B is given column by column ([cols][k], k contiguous), as the instructions take it.
// NaN. NVIDIA rows return 7fffffff (f32) or 7fff (f16) for every NaN; AMD rows 7fc00000.
// Exactness. Integer arithmetic throughout, but for one IEEE addition (MXV_MMA_HMMA_FP8), the
// CDNA1 and CDNA2 rows and f64; results do not depend on compiler, thread count or machine. All
// functions are re-entrant and never fail; a wrong model pointer or a violated precondition is a
// programmer error (assert).
#ifndef MXVERIFY_MATRIX_UNIT_H
#define MXVERIFY_MATRIX_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/element.h>
#include <mxverify/platform.h>

MXV_DECLARATIONS_BEGIN

/// How one instruction turns products into a result (docs/numerics.md, "The rules").
enum mxv_mma_rule {
    MXV_MMA_T,         ///< shared exponent, every term truncated to F fraction bits, one conversion
    MXV_MMA_ST,        ///< T with the E8M0 scale exponents added to the product exponents
    MXV_MMA_GST,       ///< exact groups of 16, scaled, then T over the groups (4-bit block scaling)
    MXV_MMA_HMMA_FP8,  ///< FP8 mma.sync as compiled: two f16 T steps from 0, IEEE add of c
    MXV_MMA_INT,       ///< exact; modulo 2^32, or clamped once when saturate is set
    MXV_MMA_CDNA3,     ///< products truncated in one window, c floored beside it, nearest-even
    MXV_MMA_CDNA3_FP8, ///< the same with separate windows for even and odd k
    MXV_MMA_CDNA2,     ///< pairwise IEEE adds in groups of `step`, subnormals flushed
    MXV_MMA_CDNA1,     ///< exact sum of a step, nearest-even
};

enum mxv_mma_result { MXV_MMA_F32, MXV_MMA_F16, MXV_MMA_S32 };

/// How much stands behind a row.
enum mxv_mma_evidence {
    MXV_MMA_MEASURED,   ///< compared on hardware by this project, no difference
    MXV_MMA_PUBLISHED,  ///< published hardware result words reproduced, no difference
    MXV_MMA_MODELLED,   ///< other people's published model or study only
    MXV_MMA_UNVERIFIED, ///< a published model that conflicts with another, or an analogy
};

enum { MXV_MMA_NO_SCALE = -1 };

/// One row of ref/models.def. Callers may copy a row, change a number and evaluate the copy: that
/// is how the tests show that a neighbouring model would be noticed.
struct mxv_mma_model {
    const char *name; ///< `sm_90.wgmma.e4m3.f32`
    const char *arch; ///< `sm_90`
    const char *note; ///< one line: instruction, peculiarity, source
    enum mxv_mma_evidence evidence;
    enum mxv_mma_rule rule;
    enum mxv_element a, b;      ///< operand formats
    enum mxv_mma_result result; ///< type of c and d
    unsigned k;                 ///< products per instruction (K)
    unsigned step;              ///< products that share one alignment (L); divides k
    unsigned frac_bits;         ///< F: fraction bits kept below the shared exponent
    unsigned keep_bits; ///< fraction bits of an f32 result (23, or 13 on FP8 Ada and Hopper)
    int zero_exp;       ///< z: the exponent with which zeros enter the maximum
    int scale;          ///< enum mxv_element of the block scales, or MXV_MMA_NO_SCALE
    unsigned block;     ///< products per scale byte, 0 without scales
    bool saturate;      ///< s32: clamp instead of wrapping
};

/// Model by name; NULL if there is none. Also found: both operand formats written out although they
/// are equal (`sm_100.tcgen05.mxf8f6f4.e4m3.e4m3.f32`), and an explicit block length where it is
/// the instruction's usual one (`...ue4m3x16...`, `...ue8m0x32...`).
const struct mxv_mma_model *mxv_mma_find(const char *name);
size_t mxv_mma_count(void);
const struct mxv_mma_model *mxv_mma_at(size_t i); ///< i < mxv_mma_count(), in list order
const char *mxv_mma_rule_name(enum mxv_mma_rule rule);
const char *mxv_mma_result_name(enum mxv_mma_result result);
const char *mxv_mma_evidence_name(enum mxv_mma_evidence evidence);

/// A decoded operand: value = sig * 2^(exp - frac), frac being fixed for a model and side.
/// Subnormals are not renormalised. Zero has sig 0 and exp MXV_OPERAND_ZERO, so that it never wins
/// a maximum. NaN and infinity are told by exp; sig is then +1 or -1, the sign.
/// MXV_MMA_GST: sig is twice the value and exp 0. MXV_MMA_INT: sig is the value and exp 0.
struct mxv_operand {
    int16_t sig;
    int16_t exp;
};

enum { MXV_OPERAND_ZERO = -4096, MXV_OPERAND_INF = 8191, MXV_OPERAND_NAN = 8192 };

/// Decodes n words of the A (B) side.
void mxv_mma_decode_a(const struct mxv_mma_model *m, const uint32_t *words, size_t n,
                      struct mxv_operand *out);
void mxv_mma_decode_b(const struct mxv_mma_model *m, const uint32_t *words, size_t n,
                      struct mxv_operand *out);
/// The same for one-byte codes (4-, 6- and 8-bit formats) and two-byte words (f16, bf16).
void mxv_mma_decode_bytes(const struct mxv_mma_model *m, bool side_b, const uint8_t *codes,
                          size_t n, struct mxv_operand *out);
void mxv_mma_decode_halves(const struct mxv_mma_model *m, bool side_b, const uint16_t *words,
                           size_t n, struct mxv_operand *out);

/// Number of scale bytes that go with k products: ceil(k / block), 0 without scales.
size_t mxv_mma_scale_count(const struct mxv_mma_model *m, size_t k);

/// c + sum of a[i]*b[i]: ceil(k / K) instructions chained through the accumulator, the last one
/// padded with zero operands (and scale 1). k = 0 returns c unchanged. Scales: mxv_mma_scale_count
/// bytes each, NULL for models without. This is the readable definition, one step at a time.
uint32_t mxv_mma_dot(const struct mxv_mma_model *m, size_t k, const uint32_t *a, const uint32_t *b,
                     uint32_t c, const uint8_t *scale_a, const uint8_t *scale_b);

/// The same on decoded operands; what mxv_mma_tile must equal.
uint32_t mxv_mma_dot_operands(const struct mxv_mma_model *m, size_t k, const struct mxv_operand *a,
                              const struct mxv_operand *b, uint32_t c, const uint8_t *scale_a,
                              const uint8_t *scale_b);

/// cd[r * ld + c] = chain of instructions over a[r][0..k) and b[c][0..k) starting from cd[r * ld +
/// c]. a [rows][k], b [cols][k], scales [rows][count] and [cols][count] with count of
/// mxv_mma_scale_count, or NULL; ld >= cols. Equal to mxv_mma_dot bit for bit.
void mxv_mma_tile(const struct mxv_mma_model *m, size_t rows, size_t cols, size_t k,
                  const struct mxv_operand *a, const struct mxv_operand *b, const uint8_t *scale_a,
                  const uint8_t *scale_b, uint32_t *cd, size_t ld);

/// Single steps, n <= step operands (missing ones count as zeros).
/// T and ST: scale_exp is the sum of the two scale exponents, 0 for T.
uint32_t mxv_mma_step_t(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                        const struct mxv_operand *b, int scale_exp, uint32_t c);
/// GST: one instruction of k = 64; the scale arrays hold 64 / block bytes.
uint32_t mxv_mma_step_gst(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                          const struct mxv_operand *b, const uint8_t *scale_a,
                          const uint8_t *scale_b, uint32_t c);
/// CDNA rules: one step.
uint32_t mxv_mma_step_cdna(const struct mxv_mma_model *m, size_t n, const struct mxv_operand *a,
                           const struct mxv_operand *b, uint32_t c);

/// f64 mma of every architecture: a chain of IEEE fused multiply-adds in ascending k, nearest-even,
/// binary64 words. Equal to an H200 on 2^22 words; a NaN's payload is unspecified.
uint64_t mxv_mma_dot_f64(size_t k, const uint64_t *a, const uint64_t *b, uint64_t c);

MXV_DECLARATIONS_END

#endif
