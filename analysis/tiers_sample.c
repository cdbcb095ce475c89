// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The sampler: case `index` of a kernel as a pure function of (seed, index). Draws are consecutive
// Philox words at counter (n, index, kernel), key seed. Each option is uniform over what the kernel
// offers together with the options drawn before it; fields without effect stay at their defaults,
// so every case passes mxv_case_check. Lengths come from the edges of tiles and blocks. A shape
// above the drawn budget is halved until it fits; budgets are about log-uniform, so small cases are
// frequent. tests/unit/test_tiers.c fails if this is wrong (2,000 cases: none refused, coverage
// complete).
#include "case_internal.h"
#include "tiers_internal.h"

struct sampler {
    uint64_t seed, index;
    unsigned kernel, n;
};

static uint32_t next_word(struct sampler *s)
{
    uint32_t out[4];
    const uint32_t counter[4] = {s->n++, (uint32_t)s->index, (uint32_t)(s->index >> 32),
                                 0x51000000u | s->kernel};
    mxv_random_words(s->seed, counter, out);
    return out[0];
}

static uint32_t below(struct sampler *s, uint32_t count)
{
    return mxv_random_below(next_word(s), count);
}

// True once in `n` draws.
static bool once_in(struct sampler *s, uint32_t n)
{
    return below(s, n) == 0;
}

#define PICK(s, array) ((array)[below((s), (uint32_t)(sizeof(array) / sizeof((array)[0])))])

static void draw_choice(struct sampler *s, struct mxv_case *c, enum mxv_case_field field)
{
    unsigned values[64], n = 0;
    for (unsigned v = 0; v < 64; v++)
        if (mxv_case_value_allowed(c->kernel, field, v))
            values[n++] = v;
    if (n > 0)
        case_store_choice(c, field, values[below(s, n)]);
}

// Around the edges of blocks and tiles, one in six a multiple of the case's own tile.
static size_t draw_length(struct sampler *s, size_t tile)
{
    static const size_t edges[] = {1,  2,  3,   15,  16,  17,  31,  32,  33,  63,  64, 65,
                                   95, 96, 127, 128, 129, 191, 192, 193, 255, 256, 257};
    static const size_t longer[] = {319, 320, 321, 383, 384, 385, 511, 512, 513, 640};
    if (once_in(s, 12))
        return PICK(s, longer);
    if (once_in(s, 6))
        return tile * (1 + below(s, 4));
    return once_in(s, 3) ? 1 + below(s, 300) : PICK(s, edges);
}

static void draw_lengths(struct sampler *s, const struct mxv_case *c, bool equal, size_t *lq,
                         size_t *lk)
{
    *lq = draw_length(s, c->tile.m);
    *lk = equal || once_in(s, 3) ? *lq : draw_length(s, c->tile.n);
}

static void draw_seqs(struct sampler *s, struct mxv_case *c, bool equal)
{
    c->seqs.count = 2 + below(s, 4);
    c->batch = c->lq = c->lk = 0;
    for (size_t i = 0; i < c->seqs.count; i++) {
        size_t lq, lk;
        draw_lengths(s, c, equal, &lq, &lk);
        uint32_t empty = i ? below(s, 5) : 4; // the first sequence has queries and keys
        c->seqs.at[i].lq = empty == 0 || (equal && empty == 1) ? 0 : (uint32_t)lq;
        c->seqs.at[i].lk = empty <= 1 ? 0 : (uint32_t)lk;
    }
}

static void draw_heads(struct sampler *s, struct mxv_case *c)
{
    static const unsigned char heads[][2] = {{1, 1}, {1, 1}, {1, 1}, {2, 1}, {2, 2},
                                             {3, 1}, {4, 2}, {4, 1}, {3, 3}, {9, 3}};
    const unsigned char *pair = PICK(s, heads);
    c->heads_q = pair[0];
    c->heads_kv = pair[1];
}

static size_t rounded_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

// Scores with whole key tiles: what an emulation computes at most.
static uint64_t tile_scores(const struct mxv_case *c)
{
    uint64_t sum = (uint64_t)c->batch * c->lq * rounded_up(c->lk, c->tile.n);
    for (size_t i = 0; i < c->seqs.count; i++)
        sum += (uint64_t)c->seqs.at[i].lq * rounded_up(c->seqs.at[i].lk, c->tile.n);
    return sum * c->heads_q;
}

static void halve(size_t *x)
{
    *x = *x > 1 ? (*x + 1) / 2 : *x;
}

// One step toward a smaller shape: heads, then batch, then the longer side.
static bool shrink(struct mxv_case *c)
{
    if (c->heads_q > 4) {
        c->heads_q = 4;
        c->heads_kv = 2;
    } else if (c->seqs.count > 3) {
        c->seqs.count--;
    } else if (c->batch > 2) {
        c->batch--;
    } else if (c->seqs.count == 0 && c->lq * c->lk > 1) {
        if (c->lq >= c->lk || c->kernel == MXV_KERNEL_DMA_RELEASED)
            halve(&c->lq);
        else
            halve(&c->lk);
        if (c->kernel == MXV_KERNEL_DMA_RELEASED)
            c->lk = c->lq;
    } else if (c->heads_q > 1) {
        c->heads_q = c->heads_kv = 1;
    } else if (c->seqs.count > 1) {
        c->seqs.count--;
    } else {
        return false;
    }
    return true;
}

static void draw_shape(struct sampler *s, struct mxv_case *c, uint64_t scores)
{
    static const unsigned short dims[] = {32, 32, 32, 64, 64, 64, 64, 96, 128, 128, 256};
    bool released = c->kernel == MXV_KERNEL_DMA_RELEASED;
    static const unsigned char divisors[] = {1, 2, 3, 5, 8, 13, 20, 32};
    uint64_t budget = scores / PICK(s, divisors);
    if (!released)
        c->d = PICK(s, dims);
    draw_heads(s, c);
    if (once_in(s, 4)) {
        draw_seqs(s, c, released);
    } else {
        c->batch = once_in(s, 6) ? 2 + below(s, 2) : 1;
        draw_lengths(s, c, released, &c->lq, &c->lk);
        if (!released && once_in(s, 60))
            c->lk = 0;
    }
    while (tile_scores(c) * c->d > budget * 64 && shrink(c)) {
    }
    if (c->seqs.count == 1) { // one sequence is written lq= lk=
        c->batch = 1;
        c->lq = c->seqs.at[0].lq;
        c->lk = c->seqs.at[0].lk;
        c->seqs.count = 0;
    }
}

static void draw_tile(struct sampler *s, struct mxv_case *c)
{
    static const struct mxv_case_tile common[] = {{128, 128}, {128, 64}, {64, 64}, {64, 128}};
    uint32_t kind = below(s, 3); // common, small, any
    if (kind == 0) {
        c->tile = PICK(s, common);
        return;
    }
    c->tile.m = 16 * (1 + below(s, kind == 1 ? 4 : 16));
    c->tile.n = 32 * (1 + below(s, kind == 1 ? 2 : 8));
}

static void draw_window(struct sampler *s, struct mxv_case *c)
{
    static const long widths[] = {0, 1, 2, 31, 32, 63, 64, 127, 128, 129, 200};
    if (once_in(s, 4))
        c->left = PICK(s, widths);
    if (c->mask == MXV_MASK_FULL && once_in(s, 4))
        c->right = PICK(s, widths);
}

static void draw_softmax(struct sampler *s, struct mxv_case *c)
{
    static const enum mxv_case_field fields[] = {MXV_FIELD_MASK, MXV_FIELD_ALIGN, MXV_FIELD_ORDER,
                                                 MXV_FIELD_EXP,  MXV_FIELD_EMPTY, MXV_FIELD_MASKED,
                                                 MXV_FIELD_LSE};
    static const double taus[] = {0.5, 0.75, 4, 8, 11};
    static const double offsets[] = {-8, -1, 0.5, 4, 8, 8.75, 12};
    static const double scales[] = {0.125, 1, 0.0625, 0.088388347648318447, 0.08664339756999316};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        draw_choice(s, c, fields[i]);
    draw_tile(s, c);
    draw_window(s, c);
    if (once_in(s, 3))
        c->tau = PICK(s, taus);
    if (once_in(s, 6))
        c->p_offset = PICK(s, offsets);
    if (once_in(s, 4))
        c->scale = PICK(s, scales);
}

static void draw_band(struct sampler *s, struct mxv_case *c)
{
    static const size_t diag[] = {0, 1, 1, 2, 3, 5}, sink[] = {0, 1, 1, 2, 3};
    static const size_t tokens[] = {1, 64, 128, 129, 256, 300};
    if (once_in(s, 5))
        c->diag_tokens = PICK(s, tokens);
    else
        c->diag = PICK(s, diag);
    c->sink = PICK(s, sink);
}

static void draw_zones(struct sampler *s, struct mxv_case *c)
{
    static const double shares[] = {0, 0.05, 0.075, 0.1, 0.25, 0.5, 1};
    static const size_t sink[] = {0, 0, 1, 2};
    c->core_share = PICK(s, shares);
    c->buffer_share = PICK(s, shares);
    c->sink = PICK(s, sink);
}

static void draw_dma(struct sampler *s, struct mxv_case *c)
{
    static const double thresholds[] = {0.5, 2, 2, 3.5};
    static const size_t sink[] = {0, 1, 2};
    unsigned mode = below(s, 5);
    draw_choice(s, c, MXV_FIELD_DUAL);
    c->mode = mode == 0 ? MXV_MODE_HIGH : mode == 1 ? MXV_MODE_LOW : MXV_MODE_MIXED;
    if (c->mode != MXV_MODE_LOW)
        draw_choice(s, c, MXV_FIELD_HIGH);
    if (c->mode != MXV_MODE_HIGH)
        draw_choice(s, c, MXV_FIELD_LOW);
    if (c->mode != MXV_MODE_LOW || c->low != MXV_LOW_NVFP4)
        draw_choice(s, c, MXV_FIELD_RULE);
    if (c->mode != MXV_MODE_MIXED)
        return;
    do
        draw_choice(s, c, MXV_FIELD_PLAN);
    while (c->plan == MXV_PLAN_ZONES && c->arch == MXV_ARCH_SM_80);
    if (c->plan == MXV_PLAN_DIAG)
        draw_band(s, c);
    if (c->plan == MXV_PLAN_ZONES)
        draw_zones(s, c);
    if (c->plan == MXV_PLAN_ENTROPY) {
        c->entropy_threshold = PICK(s, thresholds);
        c->sink = PICK(s, sink);
    }
}

static void draw_released(struct sampler *s, struct mxv_case *c)
{
    unsigned mode = below(s, 4);
    c->mode = mode == 0 ? MXV_MODE_HIGH : mode == 1 ? MXV_MODE_LOW : MXV_MODE_MIXED;
    draw_choice(s, c, MXV_FIELD_DUAL);
    if (c->mode != MXV_MODE_LOW)
        draw_choice(s, c, MXV_FIELD_HIGH);
    if (c->mode == MXV_MODE_LOW)
        draw_choice(s, c, MXV_FIELD_LOW);
    if (c->mode == MXV_MODE_MIXED)
        draw_band(s, c);
    else if (c->dual == MXV_DUAL_NONE &&
             (c->mode == MXV_MODE_LOW || c->high == MXV_HIGH_MXFP8_E4M3))
        draw_choice(s, c, MXV_FIELD_MASK);
}

static void draw_tilemix(struct sampler *s, struct mxv_case *c)
{
    static const enum mxv_case_field fields[] = {MXV_FIELD_BITS,  MXV_FIELD_ONE,
                                                 MXV_FIELD_QGRAN, MXV_FIELD_KGRAN,
                                                 MXV_FIELD_INT8,  MXV_FIELD_KVCACHE};
    static const double shares[] = {0, 0.1, 0.25, 0.5, 0.75, 1};
    static const size_t groups[] = {1, 1, 1, 2, 4, 8};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        draw_choice(s, c, fields[i]);
    if (c->kv_cache)
        c->k_gran = MXV_GRAN_TOKEN;
    do
        draw_choice(s, c, MXV_FIELD_MIX);
    while (c->mix == MXV_MIX_FILE);
    c->group = PICK(s, groups);
    c->word_bits = once_in(s, 2) ? 64 : 32;
    if (c->mix == MXV_MIX_BAND)
        draw_band(s, c);
    if (c->mix == MXV_MIX_RANDOM || c->mix == MXV_MIX_RATIO) {
        c->share.count = 1 + below(s, 3);
        for (size_t i = 0; i < c->share.count; i++)
            c->share.at[i] = PICK(s, shares);
    }
}

// Options that came later than the draws above take a stream of their own, so that these stay.
static void draw_later(const struct sampler *s, struct mxv_case *c)
{
    struct sampler later = {.seed = s->seed, .index = s->index, .kernel = 0x100u | s->kernel};
    bool third = once_in(&later, 3);
    if (c->kernel == MXV_KERNEL_DMA)
        c->rebase = third && c->arch == MXV_ARCH_SM_90 && c->mode != MXV_MODE_HIGH &&
                    c->low == MXV_LOW_MXFP4;
    if (c->kernel == MXV_KERNEL_TILEMIX)
        c->fold = third && c->mix != MXV_MIX_ALL_F16;
}

bool tiers_has_later(enum mxv_kernel kernel)
{
    return kernel == MXV_KERNEL_DMA || kernel == MXV_KERNEL_TILEMIX;
}

void tiers_set_later(struct mxv_case *c)
{
    c->rebase = c->kernel == MXV_KERNEL_DMA;
    c->fold = c->kernel == MXV_KERNEL_TILEMIX;
    if (c->fold && c->mix == MXV_MIX_ALL_F16)
        c->mix = MXV_MIX_ALL_INT8;
    if (!c->rebase)
        return;
    c->arch = MXV_ARCH_SM_90;
    c->low = MXV_LOW_MXFP4;
    if (c->mode == MXV_MODE_HIGH) {
        c->mode = MXV_MODE_LOW;
        c->high = MXV_HIGH_MXFP8_E4M3;
    }
}

static void draw_data(struct sampler *s, struct mxv_case *c)
{
    static const double gains[] = {0.25, 0.5, 2, 4, 16};
    static const long keys[] = {0, 31, 32, 63, 64, 127, 128, 129};
    draw_choice(s, c, MXV_FIELD_GENERATOR);
    c->seed = next_word(s);
    if (once_in(s, 4))
        c->gain = PICK(s, gains);
    if (c->generator == MXV_GEN_ONE_HOT && once_in(s, 4))
        c->at = PICK(s, keys);
}

void mxv_tier_sample(enum mxv_kernel kernel, uint64_t seed, uint64_t index, uint64_t scores,
                     struct mxv_case *out)
{
    const struct sampler s = {.seed = seed, .index = index, .kernel = (unsigned)kernel};
    tiers_sample_first(kernel, seed, index, scores, out);
    draw_later(&s, out);
}

void tiers_sample_first(enum mxv_kernel kernel, uint64_t seed, uint64_t index, uint64_t scores,
                        struct mxv_case *out)
{
    struct sampler s = {.seed = seed, .index = index, .kernel = (unsigned)kernel};
    mxv_case_defaults(kernel, out);
    draw_data(&s, out);
    draw_choice(&s, out, MXV_FIELD_ARCH);
    draw_choice(&s, out, MXV_FIELD_IN);
    draw_choice(&s, out, MXV_FIELD_OUT);
    draw_choice(&s, out, MXV_FIELD_SMOOTH);
    do
        draw_choice(&s, out, MXV_FIELD_V);
    while (out->v == MXV_E4M3 && out->arch == MXV_ARCH_SM_80);
    if (kernel != MXV_KERNEL_DMA_RELEASED)
        draw_softmax(&s, out);
    if (kernel == MXV_KERNEL_DMA)
        draw_dma(&s, out);
    if (kernel == MXV_KERNEL_DMA_RELEASED)
        draw_released(&s, out);
    if (kernel == MXV_KERNEL_TILEMIX)
        draw_tilemix(&s, out);
    draw_shape(&s, out, scores);
}
