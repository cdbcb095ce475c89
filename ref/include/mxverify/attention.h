// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tile-routed attention: the description of one call, the taps, and the two emulations of it.
//
// A kernel is a row: score routes + plan + softmax and PV recipe. docs/kernels/NAME.md lists each
// rounding of kernel NAME in order; the engine (ref/engine*.c) and the plain emulation (ref/plain/)
// are both written from those pages and share nothing but formats/, the matrix-unit models and the
// special functions. They must agree in every bit of every tap (tests/gate, `mxverify run`).
//
// Words. All data that leave an emulation are 32-bit words: codes of the named element format, or
// binary32 words. A NaN is always written as MXV_NAN_WORD (payloads are never part of a result).
#ifndef MXVERIFY_ATTENTION_H
#define MXVERIFY_ATTENTION_H

#include <mxverify/element.h>
#include <mxverify/scale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MXV_NAN_WORD 0x7fffffffu

// Kernels, architectures, options: one list each; name tables in ref/attention_names.c.
#define MXV_KERNELS(X)                                                                             \
    X(FLASH, "flash", "FP16/BF16 tiled online softmax")                                            \
    X(DMA, "dma", "diagonal-tiled MXFP8/MXFP4 attention as its paper intends, OCP rounding")       \
    X(DMA_RELEASED, "dma-released", "what the public DMA release computes, defects included")      \
    X(TILEMIX, "tilemix", "FP16/INT8 score routes chosen per key-tile group by packed words")
#define MXV_ARCHES(X)                                                                              \
    X(SM_80, "sm_80", "mma.sync")                                                                  \
    X(SM_90, "sm_90", "wgmma")                                                                     \
    X(SM_100, "sm_100", "tcgen05 with native block scaling")                                       \
    X(SM_120, "sm_120", "mma.sync with native block scaling")
#define MXV_MASKS(X)                                                                               \
    X(FULL, "full", "every key visible to every query")                                            \
    X(CAUSAL, "causal", "no key after the query's diagonal")
#define MXV_ALIGNS(X)                                                                              \
    X(BOTTOM_RIGHT, "br", "the last query sees the last key")                                      \
    X(TOP_LEFT, "tl", "the first query sees the first key")
#define MXV_MODES(X)                                                                               \
    X(MIXED, "mixed", "high and low routes by the plan")                                           \
    X(HIGH, "high", "high route everywhere")                                                       \
    X(LOW, "low", "low route everywhere")
#define MXV_HIGH_FORMATS(X)                                                                        \
    X(MXFP8_E4M3, "mxfp8_e4m3", "MXFP8 with E4M3 elements")                                        \
    X(MXFP8_E5M2, "mxfp8_e5m2", "MXFP8 with E5M2 elements")
#define MXV_LOW_FORMATS(X)                                                                         \
    X(MXFP4, "mxfp4", "E2M1, E8M0 scale per 32")                                                   \
    X(NVFP4, "nvfp4", "E2M1, E4M3 scale per 16")
#define MXV_DUALS(X)                                                                               \
    X(NONE, "none", "no second-level scale")                                                       \
    X(TOKEN, "token", "one per row")                                                               \
    X(BLOCK, "block", "one per tile of rows")                                                      \
    X(CHANNEL, "channel", "one per channel of K, folded into Q")                                   \
    X(TENSOR, "tensor", "one per sequence and head")
#define MXV_PLANS(X)                                                                               \
    X(DIAG, "diag", "diagonal band of D key tiles and s sink tiles")                               \
    X(ZONES, "zones", "core, buffer and outer zones by tile distance")                             \
    X(ENTROPY, "entropy", "diagonal band whose width comes with each query tile")                  \
    X(WORDS, "words", "packed route words (tilemix)")
#define MXV_GRANULARITIES(X)                                                                       \
    X(BLOCK, "block", "one scale per tile of rows")                                                \
    X(TOKEN, "token", "one scale per row")                                                         \
    X(WARP, "warp", "one scale per 32 rows (K: per tile)")                                         \
    X(THREAD, "thread", "SageAttention per-thread groups")
#define MXV_EXPS(X)                                                                                \
    X(HW, "hw", "ex2.approx.ftz.f32")                                                              \
    X(POLY, "poly", "FlashAttention-4 degree-3 polynomial")                                        \
    X(CR, "cr", "correctly rounded 2^x")
#define MXV_EMPTIES(X)                                                                             \
    X(ZERO, "zero", "a row without weight gives 0, LSE -Inf")                                      \
    X(NAN, "nan", "a row without weight gives NaN, LSE NaN")
#define MXV_MASKEDS(X)                                                                             \
    X(INF, "inf", "a masked score is -Inf, m starts at -Inf")                                      \
    X(FINITE, "finite", "a masked score is -5e6, m starts at -5e6 (SageAttention sentinel)")
#define MXV_ORDERS(X)                                                                              \
    X(ASC, "asc", "key tiles first to last")                                                       \
    X(DESC, "desc", "key tiles last to first")
#define MXV_LSES(X)                                                                                \
    X(NONE, "none", "no LSE output")                                                               \
    X(E, "e", "natural logarithm")                                                                 \
    X(TWO, "2", "base 2")
#define MXV_ROUTES(X)                                                                              \
    X(F16, "f16", "16-bit floating point operands")                                                \
    X(HIGH, "high", "MXFP8")                                                                       \
    X(LOW, "low", "MXFP4 or NVFP4")                                                                \
    X(CORE, "core", "E4M3 with binary32 scale per 32 channels")                                    \
    X(INT8, "int8", "INT8 with binary32 scales")                                                   \
    X(SKIP, "skip", "tile not processed")
// Taps in the order in which a head emits them; tile_q/tile_k say where.
#define MXV_STAGES(X)                                                                              \
    X(Q_SIGMA, "q.sigma", "second-level scale of each query row, binary32")                        \
    X(Q_SCALE, "q.scale", "block scales of Q, [row][block] codes, or binary32 for core and int8")  \
    X(Q_CODE, "q.code", "elements of Q, [row][channel]")                                           \
    X(K_SIGMA, "k.sigma", "second-level scale of each key row (or channel), binary32")             \
    X(K_SCALE, "k.scale", "block scales of K")                                                     \
    X(K_CODE, "k.code", "elements of K")                                                           \
    X(V_SCALE, "v.scale", "scale of V (FP8) or of its rows (INT8 cache), binary32")                \
    X(V_CODE, "v.code", "elements of V as the matrix unit reads them")                             \
    X(SCORE, "score", "score tile after second-level scales and masks, binary32")                  \
    X(MAX, "max", "running row maximum m after the tile, binary32")                                \
    X(WEIGHT, "weight", "P as the matrix unit reads it, codes")                                    \
    X(SUM, "sum", "running row sum l after the tile, lanes combined, binary32")                    \
    X(ACC, "acc", "accumulator O after the tile, [row][channel], binary32")                        \
    X(OUT, "out", "output, [row][channel], codes of the output format")                            \
    X(LSE, "lse", "log-sum-exp, binary32")

#define MXV_ENUM_ROW(PREFIX, id) MXV_##PREFIX##_##id
#define X(id, name, text)        MXV_KERNEL_##id,
enum mxv_kernel { MXV_KERNELS(X) MXV_KERNEL_COUNT };
#undef X
#define X(id, name, text) MXV_ARCH_##id,
enum mxv_arch { MXV_ARCHES(X) MXV_ARCH_COUNT };
#undef X
#define X(id, name, text) MXV_MASK_##id,
enum mxv_mask { MXV_MASKS(X) MXV_MASK_COUNT };
#undef X
#define X(id, name, text) MXV_ALIGN_##id,
enum mxv_align { MXV_ALIGNS(X) MXV_ALIGN_COUNT };
#undef X
#define X(id, name, text) MXV_MODE_##id,
enum mxv_mode { MXV_MODES(X) MXV_MODE_COUNT };
#undef X
#define X(id, name, text) MXV_HIGH_##id,
enum mxv_high_format { MXV_HIGH_FORMATS(X) MXV_HIGH_COUNT };
#undef X
#define X(id, name, text) MXV_LOW_##id,
enum mxv_low_format { MXV_LOW_FORMATS(X) MXV_LOW_COUNT };
#undef X
#define X(id, name, text) MXV_DUAL_##id,
enum mxv_dual { MXV_DUALS(X) MXV_DUAL_COUNT };
#undef X
#define X(id, name, text) MXV_PLAN_##id,
enum mxv_plan { MXV_PLANS(X) MXV_PLAN_COUNT };
#undef X
#define X(id, name, text) MXV_GRAN_##id,
enum mxv_granularity { MXV_GRANULARITIES(X) MXV_GRAN_COUNT };
#undef X
#define X(id, name, text) MXV_EXP_##id,
enum mxv_exp { MXV_EXPS(X) MXV_EXP_COUNT };
#undef X
#define X(id, name, text) MXV_EMPTY_##id,
enum mxv_empty { MXV_EMPTIES(X) MXV_EMPTY_COUNT };
#undef X
#define X(id, name, text) MXV_MASKED_##id,
enum mxv_masked { MXV_MASKEDS(X) MXV_MASKED_COUNT };
#undef X
#define X(id, name, text) MXV_ORDER_##id,
enum mxv_order { MXV_ORDERS(X) MXV_ORDER_COUNT };
#undef X
#define X(id, name, text) MXV_LSE_##id,
enum mxv_lse { MXV_LSES(X) MXV_LSE_COUNT };
#undef X
#define X(id, name, text) MXV_ROUTE_##id,
enum mxv_route { MXV_ROUTES(X) MXV_ROUTE_COUNT };
#undef X
#define X(id, name, text) MXV_STAGE_##id,
enum mxv_stage { MXV_STAGES(X) MXV_STAGE_COUNT };
#undef X

// The enumerations by kind, for look-up by name at the edges (command line, case lines, reports).
enum mxv_choice_kind {
    MXV_CHOICE_KERNEL,
    MXV_CHOICE_ARCH,
    MXV_CHOICE_MASK,
    MXV_CHOICE_ALIGN,
    MXV_CHOICE_MODE,
    MXV_CHOICE_HIGH,
    MXV_CHOICE_LOW,
    MXV_CHOICE_DUAL,
    MXV_CHOICE_PLAN,
    MXV_CHOICE_GRAN,
    MXV_CHOICE_EXP,
    MXV_CHOICE_EMPTY,
    MXV_CHOICE_MASKED,
    MXV_CHOICE_ORDER,
    MXV_CHOICE_LSE,
    MXV_CHOICE_ROUTE,
    MXV_CHOICE_STAGE,
    MXV_CHOICE_KIND_COUNT
};
// Name and description of value `value` of kind `kind`; NULL beyond the last one.
const char *mxv_choice_name(enum mxv_choice_kind kind, unsigned value);
const char *mxv_choice_text(enum mxv_choice_kind kind, unsigned value);
bool mxv_choice_find(enum mxv_choice_kind kind, const char *name, unsigned *value);

// One attention call. Pointers stay the caller's and must outlive the call.
//
// Tensors are head-major over packed sequences: q [heads_q][cu_q[sequences]][d], k and v
// [heads_kv][cu_k[sequences]][d], row-major, as binary32 values that `in` can represent.
// Query head h reads KV head h / (heads_q / heads_kv).
struct mxv_attention {
    enum mxv_kernel kernel;
    enum mxv_arch arch;
    size_t sequences, heads_q, heads_kv, d; // d in {32, 64, 96, 128, 256}
    const size_t *cu_q, *cu_k;              // [sequences + 1] first token of each sequence
    const float *q, *k, *v;
    enum mxv_element in;  // MXV_F16, MXV_BF16 or MXV_F32: what q, k, v are exact in
    enum mxv_element vt;  // type of V and P in the PV product: MXV_F16, MXV_BF16 or MXV_E4M3
    enum mxv_element out; // MXV_F32, MXV_F16 or MXV_BF16
    double scale;         // softmax scale, 1e-30 .. 1e30
    enum mxv_mask mask;
    enum mxv_align align;
    long left, right; // window: inclusive distances from the diagonal, -1 unlimited
    size_t tile_m, tile_n;
    enum mxv_order order;
    enum mxv_exp exp;
    float tau;      // lazy rescale threshold in log2 units, 0 = rescale on every new maximum
    float p_offset; // P is multiplied by 2^p_offset
    enum mxv_empty empty;
    enum mxv_masked masked;
    enum mxv_lse lse;
    bool smooth_k;
    // dma, dma-released
    enum mxv_mode mode;
    enum mxv_high_format high;
    enum mxv_low_format low;
    enum mxv_scale_rule rule;
    enum mxv_dual dual;
    enum mxv_plan plan;
    size_t diag, sink;          // D and s, in key tiles
    const uint32_t *diag_tiles; // plan entropy: [heads_q][query tiles of all sequences] D per tile
    double core_share, buffer_share; // plan zones
    bool rebase; // low route of sm_90 and mxfp4: blocks share a power of two, E5M2 product
    // tilemix
    const uint64_t *route_words; // [heads_kv][query tiles of all sequences][words per row]
    size_t words_per_row;        // of the call: enough for the longest sequence
    unsigned word_bits;          // 32 or 64
    size_t group;                // adjacent key tiles per bit
    bool msb_first;              // bit 0 of a word is its most significant
    bool one_is_int8;            // polarity: a set bit means INT8 (default: a set bit means FP16)
    enum mxv_granularity q_gran, k_gran;
    enum mxv_round int8_round; // MXV_RNE or MXV_RNA
    bool kv_cache;             // INT8 K/V cache, per-token scales
    bool fold; // INT8 tiles: softmax scale and INT8 scales are one factor in the exponent of P
    uint64_t faults; // bit set of enum mxv_fault (faults.h); 0 = healthy
};

// One tap. `words` has rows * cols entries and is valid during the call only.
struct mxv_tap {
    enum mxv_stage stage;
    enum mxv_route route; // operand taps and score taps: which route
    size_t sequence, head, tile_q, tile_k;
    size_t rows, cols;
    const uint32_t *words;
};
struct mxv_tap_sink {
    void (*take)(void *ctx, const struct mxv_tap *tap);
    void *ctx;
};

// What the functions below return; unless OK, with a message (NUL-terminated, truncated to size).
enum mxv_head_status {
    MXV_HEAD_OK = 0,
    MXV_HEAD_UNSUPPORTED = -1, // the combination of options is not offered
    MXV_HEAD_NO_MEMORY = -2    // an allocation failed: nothing is known of the call
};

// Emulate one query head of one sequence. out: [lq][d] codes of a->out; lse: [lq] binary32 words or
// NULL. sink may be NULL. Results and taps of a head that failed mean nothing. Thread-safe;
// allocates and frees its own work space. mxv_attention_check does the option check alone and is
// shared by both.
int mxv_attention_check(const struct mxv_attention *a, char *message, size_t size);
int mxv_engine_head(const struct mxv_attention *a, size_t sequence, size_t head, uint32_t *out,
                    uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size);
int mxv_plain_head(const struct mxv_attention *a, size_t sequence, size_t head, uint32_t *out,
                   uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size);

// Keys visible to query row `row` of a sequence: [first, end), empty when first >= end.
void mxv_attention_visible(const struct mxv_attention *a, size_t lq, size_t lk, size_t row,
                           size_t *first, size_t *end);
// Route of score tile (tile_q, tile_k) of a sequence and query head; MXV_ROUTE_SKIP when no row of
// the tile sees a key of it. The plan as docs/kernels/*.md define it.
enum mxv_route mxv_attention_route(const struct mxv_attention *a, size_t sequence, size_t head,
                                   size_t tile_q, size_t tile_k);
// Number of query tiles of the sequences before `sequence` (index of its first one in diag_tiles
// and route_words).
size_t mxv_attention_first_tile(const struct mxv_attention *a, size_t sequence);

// The operands that a route multiplies, as exact binary64 values, for the truth of kind (b): q
// [lq][d] and k [lk][d] such that the kernel's score is approximately sum q*k, times `*score_scale`
// (1 when the softmax scale and log2 e are folded into Q, in which case *base is 2; otherwise *base
// is 0, natural). v [lk][d] once for all routes. Any pointer may be NULL.
int mxv_engine_operands(const struct mxv_attention *a, size_t sequence, size_t head,
                        enum mxv_route route, double *q, double *k, double *v, double *score_scale,
                        unsigned *base, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
