// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The steps of the shrinker: what may be left out of a case or made simpler. Each is a list of
// candidates, boldest first. docs/shrink.md describes them in the same order; a step that makes
// nothing simpler is refused by the search, so candidates need not be filtered here.
#include "case_internal.h"
#include "shrink_internal.h"
#include <string.h>

void shrink_lengths(const struct mxv_case *c, size_t *lq, size_t *lk)
{
    bool files = c->input[0] != '\0';
    *lq = files ? c->q_tokens.end - c->q_tokens.first : c->lq;
    *lk = files ? c->k_tokens.end - c->k_tokens.first : c->lk;
}

unsigned shrink_generator_rank(enum mxv_generator generator)
{
    switch (generator) {
    case MXV_GEN_INTEGER:
        return 0;
    case MXV_GEN_POWER_OF_TWO:
        return 1;
    case MXV_GEN_V_ONES:
        return 2;
    case MXV_GEN_GAUSSIAN:
        return 3;
    default:
        return 4;
    }
}

// Sequence n alone, as lq and lk.
static bool one_sequence(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    if (n >= c->seqs.count)
        return false;
    out->seqs.count = 0;
    out->batch = 1;
    out->lq = c->seqs.at[n].lq;
    out->lk = c->seqs.at[n].lk;
    return true;
}

static bool drop_sequence(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    if (n >= c->seqs.count || c->seqs.count < 2)
        return false;
    out->seqs.count--;
    memmove(&out->seqs.at[n], &out->seqs.at[n + 1], (out->seqs.count - n) * sizeof out->seqs.at[0]);
    return true;
}

static bool smaller_batch(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    const size_t tries[] = {1, 2, c->batch / 2, c->batch - 1};
    if (n >= 4 || c->batch < 2)
        return false;
    out->batch = tries[n] ? tries[n] : 1;
    return true;
}

static bool fewer_heads(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    size_t ratio = c->heads_kv ? c->heads_q / c->heads_kv : 1;
    const size_t tries[][2] = {{1, 1},
                               {2, 2},
                               {2, 1},
                               {ratio, 1},
                               {c->heads_kv, c->heads_kv},
                               {2 * ratio, 2},
                               {c->heads_q / 2, c->heads_kv / 2},
                               {(c->heads_kv - 1) * ratio, c->heads_kv - 1}};
    if (n >= sizeof tries / sizeof tries[0] || c->input[0])
        return false;
    out->heads_q = tries[n][0] ? tries[n][0] : 1;
    out->heads_kv = tries[n][1] ? tries[n][1] : 1;
    return true;
}

static bool one_file_head(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    if (!c->input[0] || c->heads.first + n >= c->heads.end)
        return false;
    out->heads = (struct mxv_case_range){c->heads.first + n, c->heads.first + n + 1};
    return true;
}

// Lengths below x: small powers of two, one tile, halves, less a tile, less one.
static bool length_below(size_t x, size_t tile, size_t n, size_t *out)
{
    const size_t tries[] = {1,     2,         4,        8,        16,    tile,  x / 4,
                            x / 2, x - x / 4, tile + 1, x - tile, x - 8, x - 2, x - 1};
    if (x < 2 || n >= sizeof tries / sizeof tries[0])
        return false;
    *out = tries[n] >= 1 && tries[n] < x ? tries[n] : x;
    return true;
}

// Sequence `i` (0 without seqs) to other lengths; files: the range cut at its end.
static void set_lengths(struct mxv_case *c, size_t i, size_t lq, size_t lk)
{
    if (c->seqs.count) {
        c->seqs.at[i].lq = (uint32_t)lq;
        c->seqs.at[i].lk = (uint32_t)lk;
    } else if (c->input[0]) {
        c->q_tokens.end = c->q_tokens.first + lq;
        c->k_tokens.end = c->k_tokens.first + lk;
    } else {
        c->lq = lq;
        c->lk = lk;
    }
}

static void get_lengths(const struct mxv_case *c, size_t i, size_t *lq, size_t *lk)
{
    if (!c->seqs.count) {
        shrink_lengths(c, lq, lk);
        return;
    }
    *lq = c->seqs.at[i].lq;
    *lk = c->seqs.at[i].lk;
}

enum { LENGTHS = 14 };

// Candidate n over all sequences: sequence n / LENGTHS, length n % LENGTHS.
static bool length_move(const struct mxv_case *c, size_t n, struct mxv_case *out, int kind)
{
    size_t i = n / LENGTHS, lq, lk, x = 0;
    if (i >= (c->seqs.count ? c->seqs.count : 1))
        return false;
    get_lengths(c, i, &lq, &lk);
    size_t shorter = lq < lk ? lq : lk;
    bool keys = kind == 1;
    if (!length_below(keys        ? lk
                      : kind == 0 ? lq
                                  : shorter,
                      keys ? c->tile.n : c->tile.m, n % LENGTHS, &x))
        return true; // nothing shorter here; the next sequence may have
    if (kind == 0)
        set_lengths(out, i, x, lk);
    else if (kind == 1)
        set_lengths(out, i, lq, x);
    else if (kind == 2)
        set_lengths(out, i, x, x);
    else // both less by the same, so that the diagonal stays
        set_lengths(out, i, lq - (shorter - x), lk - (shorter - x));
    return true;
}

static bool fewer_queries(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    return length_move(c, n, out, 0);
}

static bool fewer_keys(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    return length_move(c, n, out, 1);
}

static bool square(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    return length_move(c, n, out, 2);
}

static bool both_shorter(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    return length_move(c, n, out, 3);
}

// Files: the range begins later.
static bool later_tokens(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    struct mxv_case_range *r = n & 1 ? &out->k_tokens : &out->q_tokens;
    size_t length = r->end - r->first, cut = length >> (n / 2 + 1);
    if (!c->input[0] || c->seqs.count || n >= 16)
        return false;
    r->first += cut;
    return true;
}

// The last tile keeps as much of its filling as the smaller tile takes.
static size_t compressed(size_t x, size_t from, size_t to)
{
    size_t rest = x % from;
    return x / from * to + (rest < to ? rest : to);
}

static void compress(struct mxv_case *c, size_t m, size_t n)
{
    for (size_t i = 0; i < (c->seqs.count ? c->seqs.count : 1); i++) {
        size_t lq, lk;
        get_lengths(c, i, &lq, &lk);
        set_lengths(c, i, compressed(lq, c->tile.m, m), compressed(lk, c->tile.n, n));
    }
    c->tile.m = m;
    c->tile.n = n;
}

// Smaller tiles with as many of them, or tiles so large that one holds all.
static bool other_tile(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    const size_t m = c->tile.m, k = c->tile.n;
    const size_t smaller[][2] = {{16, 32}, {16, k}, {m, 32}, {32, 32}, {32, k}, {m, 64}, {64, 64}};
    enum { SMALLER = sizeof smaller / sizeof smaller[0] };
    size_t lq, lk;
    get_lengths(c, 0, &lq, &lk);
    if (n < SMALLER) {
        compress(out, smaller[n][0] < m ? smaller[n][0] : m, smaller[n][1] < k ? smaller[n][1] : k);
        return true;
    }
    if (n > SMALLER + 2)
        return false;
    size_t rows = (lq + 15) / 16 * 16, keys = (lk + 31) / 32 * 32;
    if (n != SMALLER + 1 && rows > m)
        out->tile.m = rows;
    if (n != SMALLER && keys > k)
        out->tile.n = keys;
    return true;
}

static bool smaller_d(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    static const size_t dims[] = {32, 64, 96, 128};
    if (n >= 4 || c->input[0])
        return false;
    out->d = dims[n] < c->d ? dims[n] : c->d;
    return true;
}

static bool fewer_faults(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    if (n >= MXV_FAULT_COUNT)
        return false;
    uint64_t left = c->faults & ~(UINT64_C(1) << n);
    out->faults = left ? left : c->faults;
    return true;
}

static bool is_option(unsigned f)
{
    return f != MXV_FIELD_BATCH && f != MXV_FIELD_HEADS_Q && f != MXV_FIELD_HEADS_KV &&
           f != MXV_FIELD_LQ && f != MXV_FIELD_LK && f != MXV_FIELD_D && f != MXV_FIELD_SEQS &&
           f != MXV_FIELD_SEED && f != MXV_FIELD_GENERATOR && f != MXV_FIELD_INPUT &&
           f != MXV_FIELD_HEADS && f != MXV_FIELD_QTOK && f != MXV_FIELD_KTOK &&
           f != MXV_FIELD_FAULT;
}

static void to_default(struct mxv_case *c, const struct mxv_case *base, unsigned f)
{
    char value[CASE_VALUE_SIZE], why[256];
    mxv_case_field_print(base, (enum mxv_case_field)f, value, sizeof value);
    case_field_read(c, (enum mxv_case_field)f, value, why, sizeof why);
}

// Candidate 0: all options to the kernel's defaults; 1: all but the tile; then one, or two
// neighbours in the order of the line, as some hang together.
static bool plainer_options(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    struct mxv_case base;
    unsigned count = MXV_FIELD_COUNT;
    if (n > 1 + 2 * (size_t)count)
        return false;
    case_base(c, &base);
    for (unsigned f = 0; f < count; f++) {
        bool wanted = n == 0                  ? true
                      : n == 1                ? f != MXV_FIELD_TILE
                      : n < 2 + (size_t)count ? f == n - 2
                                              : f == n - 2 - count || f == n - 1 - count;
        bool has = mxv_case_field_get((enum mxv_case_field)f)->kernels >> c->kernel & 1;
        if (wanted && has && is_option(f) && !case_field_same(c, &base, (enum mxv_case_field)f))
            to_default(out, &base, f);
    }
    return true;
}

// The two boldest of them, tried before anything else: slow options cost time at every step.
static bool default_options(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    return n < 2 && plainer_options(c, n, out);
}

static bool smaller_widths(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    size_t to = n % 3;
    switch (n / 3) {
    case 0:
        out->left = c->left > 0 ? (to < 2 ? (long)to : c->left / 2) : c->left;
        return true;
    case 1:
        out->right = c->right > 0 ? (to < 2 ? (long)to : c->right / 2) : c->right;
        return true;
    case 2:
        out->diag = to < 2 && to < c->diag ? to : c->diag;
        return true;
    case 3:
        out->sink = to < 2 && to < c->sink ? to : c->sink;
        return true;
    case 4:
        out->group = to < 1 ? 1 : to < 2 ? 2 : c->group / 2;
        return true;
    default:
        return false;
    }
}

static bool plainer_data(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    static const enum mxv_generator plain[] = {MXV_GEN_INTEGER, MXV_GEN_POWER_OF_TWO,
                                               MXV_GEN_V_ONES, MXV_GEN_GAUSSIAN};
    if (n >= 4 || c->input[0])
        return false;
    out->generator = plain[n];
    out->at = -1;
    out->gain = 1;
    return true;
}

static bool shorter_seed(const struct mxv_case *c, size_t n, struct mxv_case *out)
{
    if (n >= 9 || c->input[0])
        return false;
    out->seed = n + 1;
    return true;
}

const struct shrink_step shrink_steps[] = {
    {"all options at defaults", default_options, false},
    {"one sequence", one_sequence, true},
    {"fewer sequences", drop_sequence, true},
    {"smaller batch", smaller_batch, true},
    {"fewer heads", fewer_heads, true},
    {"one head of the files", one_file_head, false},
    {"lq = lk", square, true},
    {"both lengths", both_shorter, true},
    {"fewer queries", fewer_queries, true},
    {"fewer keys", fewer_keys, true},
    {"later tokens of the files", later_tokens, false},
    {"other tiles", other_tile, true},
    {"smaller head dimension", smaller_d, true},
    {"fewer faults", fewer_faults, false},
    {"options at defaults", plainer_options, true},
    {"smaller windows and bands", smaller_widths, true},
    {"plainer data", plainer_data, true},
    {"shorter seed", shorter_seed, false},
};
const size_t shrink_step_count = sizeof shrink_steps / sizeof shrink_steps[0];
