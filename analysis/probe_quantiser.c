// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: the policies of a block quantiser, by elimination (probe.h).
//
// Questions: blocks whose maximum runs over the mantissas of several binades and sits one to eight
// steps below powers of two (scale rules), whose elements are ties, near-ties and random numbers
// (rounding, arithmetic), beyond the largest value after scaling (overflow), negative zeros; then
// zero blocks, NaN and infinities of both signs. The policies of ordinary blocks are found first,
// those of special blocks among what remains. Candidates answer by mxv_block_quantize.
// Not varied: NVFP4 tensor scales and variants, below, above, block_nan, block_zero. What the
// quantiser does beyond the space shows as missed questions. tests/cli/test_probe.sh fails if this
// is wrong.
#include "probe_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *mxv_probe_policy_name(unsigned policy)
{
#define X(id, name, type, member) name,
    static const char *const names[] = {MXV_PROBE_POLICIES(X)};
#undef X
    return policy < MXV_PROBE_POLICY_COUNT ? names[policy] : NULL;
}

// Enumerators of the choice that is a policy's type.
static unsigned value_count(unsigned policy)
{
    static const unsigned counts[] = {
        MXV_SCALE_RULE_COUNT, MXV_ROUND_COUNT,      MXV_ARITH_COUNT,      MXV_OVERFLOW_COUNT,
        MXV_INF_COUNT,        MXV_NAN_COUNT,        MXV_NEGZERO_COUNT,    MXV_SCALE_INF_COUNT,
        MXV_SCALE_NAN_COUNT,  MXV_SCALE_ZERO_COUNT, MXV_NVFP4_ORDER_COUNT};
    return counts[policy];
}

const char *mxv_probe_policy_value(unsigned policy, unsigned value)
{
    if (policy >= MXV_PROBE_POLICY_COUNT || value >= value_count(policy))
        return NULL;
    switch (policy) {
#define X(id, name, type, member)                                                                  \
    case MXV_PROBE_POLICY_##id:                                                                    \
        return mxv_##type##_name((enum mxv_##type)value);
        MXV_PROBE_POLICIES(X)
#undef X
    default:
        return NULL;
    }
}

static void set(struct mxv_block_policy *p, unsigned policy, unsigned value)
{
    switch (policy) {
#define X(id, name, type, member)                                                                  \
    case MXV_PROBE_POLICY_##id:                                                                    \
        p->member = (enum mxv_##type)value;                                                        \
        break;
        MXV_PROBE_POLICIES(X)
#undef X
    default:
        break;
    }
}

static unsigned get(const struct mxv_block_policy *p, unsigned policy)
{
    switch (policy) {
#define X(id, name, type, member)                                                                  \
    case MXV_PROBE_POLICY_##id:                                                                    \
        return (unsigned)p->member;
        MXV_PROBE_POLICIES(X)
#undef X
    default:
        return 0;
    }
}

struct quantiser {
    enum mxv_block block;
    size_t n; // elements of a block
    uint32_t *x;
    uint8_t *scale, *codes; // answers
    size_t count, room, ordinary;
    struct mxv_block_policy *candidates;
    size_t candidate_count;
    bool failed;
    uint64_t state;
};

static uint32_t word(float f)
{
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    return w;
}

static double chance(struct quantiser *q)
{
    q->state = q->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(q->state >> 11) * 0x1p-53;
}

static uint32_t *add_block(struct quantiser *q)
{
    if (q->count == q->room) {
        size_t room = q->room ? 2 * q->room : 256;
        uint32_t *x = realloc(q->x, room * q->n * sizeof *x);
        if (!x) {
            q->failed = true;
            return NULL;
        }
        q->x = x;
        q->room = room;
    }
    memset(q->x + q->count * q->n, 0, q->n * sizeof *q->x);
    return q->x + q->count++ * q->n;
}

// A block with the given maximum; the other elements are steps of the element's grid relative to
// it, halves and neighbours of halves among them, or random.
static void ordinary(struct quantiser *q, uint32_t maximum)
{
    float amax, f;
    uint32_t *x = add_block(q);
    memcpy(&amax, &maximum, sizeof amax);
    for (size_t i = 0; x && i < q->n; i++) {
        int exp;
        float unit = frexpf(amax, &exp) > 0 ? ldexpf(1, exp - 6) : 0;
        double grid = unit * (floor(chance(q) * 64) + 0.5 * (i % 2));
        f = i % 4 == 3 ? (float)(amax * chance(q)) : (float)grid;
        f = f > amax ? amax : f;
        x[i] = word(chance(q) < 0.5 ? -f : f) ^ (i % 4 == 2 ? 1u : 0u);
    }
    if (x)
        x[(size_t)(chance(q) * (double)q->n)] = maximum | (chance(q) < 0.5 ? 0x80000000u : 0);
}

static void questions(struct quantiser *q)
{
    for (int m = 0; m < 256; m++)
        ordinary(q, 0x3f800000u + (uint32_t)(m % 8) * 0x800000u + (uint32_t)m * 0x8000u);
    for (int e = 1; e < 254; e += 11)
        for (uint32_t below = 0; below <= 8; below++)
            ordinary(q, ((uint32_t)e << 23) - below);
    for (int i = 0; i < 256; i++)
        ordinary(q, word((float)exp2(chance(q) * 40 - 20)));
    q->ordinary = q->count;
    static const uint32_t specials[] = {0x7fc00000, 0xffc00000, 0x7f800000, 0xff800000, 0x7f7fffff,
                                        0xff7fffff, 0x00000001, 0x80000001, 0x00000000, 0x80000000};
    for (size_t s = 0; s < sizeof specials / sizeof *specials; s++)
        for (int kind = 0; kind < 3; kind++) {
            ordinary(q, kind == 1 ? 0x3f800000u : 0x3fc00000u);
            uint32_t *x = q->failed ? NULL : q->x + (q->count - 1) * q->n;
            for (size_t i = 0; x && i < q->n; i++)
                if (kind == 2 || i % 5 == 0)
                    x[i] = specials[s];
        }
}

static bool answers(const struct quantiser *q, const struct mxv_block_policy *p, size_t i)
{
    uint8_t scale, codes[MXV_BLOCK_SIZE_MAX];
    mxv_block_quantize(q->block, p, q->x + i * q->n, &scale, codes);
    return scale == q->scale[i] && memcmp(codes, q->codes + i * q->n, q->n) == 0;
}

static size_t misses(const struct quantiser *q, const struct mxv_block_policy *p, size_t first,
                     size_t end, size_t most)
{
    size_t n = 0;
    for (size_t i = first; i < end && n < most; i++)
        n += !answers(q, p, i);
    return n;
}

// Every candidate with every value of one more policy.
static void multiply(struct quantiser *q, unsigned policy)
{
    unsigned values = value_count(policy);
    struct mxv_block_policy *more = malloc((q->candidate_count * values + 1) * sizeof *more);
    size_t n = 0;
    for (size_t i = 0; more && i < q->candidate_count; i++)
        for (unsigned v = 0; v < values; v++) {
            if (policy == MXV_PROBE_POLICY_ROUND && v == MXV_RS)
                continue; // stochastic: no function of the input
            if (policy == MXV_PROBE_POLICY_NAN_ && v == MXV_NAN_ERROR)
                continue; // refuses
            more[n] = q->candidates[i];
            set(&more[n++], policy, v);
        }
    q->failed |= !more;
    free(q->candidates);
    q->candidates = more;
    q->candidate_count = n;
}

// Keeps those that give all answers in [first, end); or, if none does, the one that misses fewest.
static size_t keep(struct quantiser *q, size_t first, size_t end)
{
    size_t kept = 0, best = 0, least = SIZE_MAX;
    for (size_t i = 0; i < q->candidate_count; i++) {
        size_t n = misses(q, &q->candidates[i], first, end,
                          kept                ? 1
                          : least == SIZE_MAX ? end
                                              : least);
        if (n < least) {
            least = n;
            best = i;
        }
        if (n == 0)
            q->candidates[kept++] = q->candidates[i];
    }
    if (kept == 0 && q->candidate_count) {
        q->candidates[0] = q->candidates[best];
        q->candidate_count = 1;
        return least;
    }
    q->candidate_count = kept;
    return 0;
}

static void sum_up(struct quantiser *q, unsigned varied, struct mxv_probe_quantiser *out)
{
    for (size_t i = 0; i < q->candidate_count; i++)
        for (unsigned p = 0; p < MXV_PROBE_POLICY_COUNT; p++)
            if (varied >> p & 1)
                out->values[p] |= UINT64_C(1) << get(&q->candidates[i], p);
    out->policy = q->candidates[0];
    out->remaining = out->missed ? 0 : q->candidate_count;
    out->questions = q->count;
}

static enum mxv_status eliminate(struct quantiser *q, struct mxv_probe_quantiser *out)
{
    static const enum mxv_probe_policy of_mx[] = {
        MXV_PROBE_POLICY_RULE, MXV_PROBE_POLICY_ROUND, MXV_PROBE_POLICY_ARITH,
        MXV_PROBE_POLICY_OVERFLOW_, MXV_PROBE_POLICY_NEGZERO};
    static const enum mxv_probe_policy of_nvfp4[] = {MXV_PROBE_POLICY_ORDER, MXV_PROBE_POLICY_ROUND,
                                                     MXV_PROBE_POLICY_NEGZERO};
    static const enum mxv_probe_policy special[] = {
        MXV_PROBE_POLICY_INF, MXV_PROBE_POLICY_NAN_, MXV_PROBE_POLICY_SCALE_INF,
        MXV_PROBE_POLICY_SCALE_NAN, MXV_PROBE_POLICY_SCALE_ZERO};
    bool nvfp4 = q->block == MXV_NVFP4;
    unsigned varied = 0;
    for (size_t i = 0; i < (nvfp4 ? 3 : 5); i++) {
        multiply(q, nvfp4 ? of_nvfp4[i] : of_mx[i]);
        varied |= 1u << (nvfp4 ? of_nvfp4[i] : of_mx[i]);
    }
    out->candidates = q->candidate_count;
    if (!q->failed)
        out->missed = keep(q, 0, q->ordinary);
    for (size_t i = 0; i < (nvfp4 ? 2 : 5); i++) {
        multiply(q, special[i]);
        varied |= 1u << special[i];
    }
    if (q->failed)
        return MXV_ERR_MEMORY;
    out->candidates += q->candidate_count;
    out->missed += keep(q, q->ordinary, q->count);
    sum_up(q, varied, out);
    return MXV_OK;
}

enum mxv_status mxv_probe_quantiser_run(
    enum mxv_block block,
    enum mxv_status (*ask)(void *ctx, enum mxv_block block, const uint32_t *x, size_t count,
                           uint8_t *scale, uint8_t *codes, char *message, size_t size),
    void *ctx, struct mxv_probe_quantiser *out, char *message, size_t size)
{
    struct quantiser q = {.block = block, .n = mxv_block_get(block)->size, .state = 1};
    memset(out, 0, sizeof *out);
    questions(&q);
    q.scale = malloc(q.count + 1);
    q.codes = malloc(q.count * q.n + 1);
    q.candidates = calloc(1, sizeof *q.candidates);
    q.candidate_count = 1;
    enum mxv_status status = MXV_ERR_MEMORY;
    snprintf(message, size, "out of memory");
    if (!q.failed && q.scale && q.codes && q.candidates)
        status = ask(ctx, block, q.x, q.count, q.scale, q.codes, message, size);
    if (status == MXV_OK)
        status = eliminate(&q, out);
    free(q.x);
    free(q.scale);
    free(q.codes);
    free(q.candidates);
    return status;
}
