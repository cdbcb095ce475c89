// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Route words of kernel tilemix (docs/kernels/tilemix.md 2 and 6): [KV head][query tile][word].
// A plan says which key tiles want FP16; a group takes FP16 if any of its tiles does. Tiles that no
// row of the query tile sees want nothing; the bits of their groups and the tail bits are zero.
//   random  group by group, FP16 iff a Philox word at (head, sequence, query tile, group) is below
//           share * 2^32
//   ratio   of the n visible tiles of a row the floor(share * n + 1/2) nearest, the earlier first
// Integer arithmetic except the two products with `share` (binary64, one rounding each).
// tests/unit/test_case_plan.c fails if this is wrong.
#include "case_internal.h"
#include <errno.h>
#include <math.h>
#include <mxverify/text_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One row of tiles: query tile `i` of a sequence, for KV head `head`.
struct tile_row {
    const struct mxv_case *c;
    const struct mxv_attention *a;
    size_t head, sequence, i;
    long lq, lk, keys;          // keys: key tiles
    long near_first, near_last; // key tiles of the first and the last row's diagonal
    long seen_first, seen_end;  // key tiles that some row sees
};

static long floor_div(long a, long b)
{
    return a / b - (a % b < 0);
}

static void find_seen(struct tile_row *r, long row, long last)
{
    const struct mxv_attention *a = r->a;
    r->seen_first = r->keys;
    r->seen_end = 0;
    for (; row <= last; row++) {
        size_t first, end;
        mxv_attention_visible(a, (size_t)r->lq, (size_t)r->lk, (size_t)row, &first, &end);
        if (first >= end)
            continue;
        long low = (long)(first / a->tile_n), high = (long)((end - 1) / a->tile_n);
        r->seen_first = low < r->seen_first ? low : r->seen_first;
        r->seen_end = high + 1 > r->seen_end ? high + 1 : r->seen_end;
    }
}

static struct tile_row make_row(const struct mxv_case *c, const struct mxv_attention *a,
                                size_t head, size_t sequence, size_t i)
{
    struct tile_row r = {.c = c, .a = a, .head = head, .sequence = sequence, .i = i};
    long bm = (long)a->tile_m, bn = (long)a->tile_n, row = (long)i * bm;
    r.lq = (long)(a->cu_q[sequence + 1] - a->cu_q[sequence]);
    r.lk = (long)(a->cu_k[sequence + 1] - a->cu_k[sequence]);
    r.keys = (r.lk + bn - 1) / bn;
    long last = row + bm < r.lq ? row + bm - 1 : r.lq - 1;
    long off = a->align == MXV_ALIGN_BOTTOM_RIGHT ? r.lk - r.lq : 0;
    r.near_first = floor_div(row + off, bn);
    r.near_last = floor_div(last + off, bn);
    find_seen(&r, row, last);
    return r;
}

static long distance(const struct tile_row *r, long j)
{
    return j < r->near_first ? r->near_first - j : j > r->near_last ? j - r->near_last : 0;
}

static long clipped(const struct tile_row *r, long first, long end)
{
    first = first < r->seen_first ? r->seen_first : first;
    end = end > r->seen_end ? r->seen_end : end;
    return end > first ? end - first : 0;
}

// How many seen tiles are nearer than j, or as near and earlier.
static long rank_of(const struct tile_row *r, long j)
{
    long d = distance(r, j);
    if (d == 0)
        return clipped(r, r->near_first, j);
    long nearer = clipped(r, r->near_first - d + 1, r->near_last + d);
    return nearer + (j > r->near_last ? clipped(r, r->near_first - d, r->near_first - d + 1) : 0);
}

static double share_of(const struct tile_row *r)
{
    return r->c->share.at[r->head % r->c->share.count];
}

static bool tile_wants_f16(const struct tile_row *r, long j)
{
    switch (r->c->mix) {
    case MXV_MIX_BAND:
        return distance(r, j) < (long)r->a->diag || j < (long)r->a->sink;
    case MXV_MIX_ALL_F16:
        return true;
    case MXV_MIX_RATIO:
        return (double)rank_of(r, j) <
               floor(share_of(r) * (double)(r->seen_end - r->seen_first) + 0.5);
    default:
        return false;
    }
}

static bool group_takes_f16(const struct tile_row *r, size_t group)
{
    long first = (long)(group * r->a->group), end = (long)((group + 1) * r->a->group);
    uint32_t counter[4] = {(uint32_t)group, (uint32_t)r->i,
                           (uint32_t)r->head | (uint32_t)r->sequence << 16, MXV_ROLE_PLAN};
    uint32_t words[4];
    if (r->c->mix == MXV_MIX_CHECKER)
        return (r->i + group) % 2 == 0;
    if (r->c->mix == MXV_MIX_RANDOM) {
        mxv_random_words(r->c->seed, counter, words);
        return (double)words[0] < share_of(r) * 0x1p32;
    }
    for (long j = first < r->seen_first ? r->seen_first : first; j < end && j < r->seen_end; j++)
        if (tile_wants_f16(r, j))
            return true;
    return false;
}

static void fill_row(const struct tile_row *r, uint64_t *words)
{
    const struct mxv_attention *a = r->a;
    if (r->seen_first >= r->seen_end)
        return;
    size_t first = (size_t)r->seen_first / a->group, last = (size_t)(r->seen_end - 1) / a->group;
    for (size_t group = first; group <= last; group++) {
        unsigned bit = (unsigned)(group % a->word_bits);
        if (group_takes_f16(r, group) != a->one_is_int8)
            words[group / a->word_bits] |= UINT64_C(1)
                                           << (a->msb_first ? a->word_bits - 1 - bit : bit);
    }
}

static void fill_words(const struct mxv_case *c, const struct mxv_attention *a, uint64_t *words)
{
    size_t tiles = mxv_attention_first_tile(a, a->sequences);
    for (size_t head = 0; head < a->heads_kv; head++) {
        for (size_t s = 0; s < a->sequences; s++) {
            size_t first = mxv_attention_first_tile(a, s);
            size_t count = mxv_attention_first_tile(a, s + 1) - first;
            for (size_t i = 0; i < count; i++) {
                struct tile_row r = make_row(c, a, head, s, i);
                fill_row(&r, words + (head * tiles + first + i) * a->words_per_row);
            }
        }
    }
}

// The words of one line, counted on from *n; those beyond `count` are only counted.
static int read_line(char *line, unsigned bits, size_t count, uint64_t *words, size_t *n)
{
    char *rest = NULL;
    line[strcspn(line, "#")] = '\0';
    for (char *w = strtok_r(line, " \t\r\n", &rest); w; w = strtok_r(NULL, " \t\r\n", &rest)) {
        size_t digits = strspn(w, "0123456789abcdefABCDEF");
        if (w[digits] || digits > bits / 4)
            return -1;
        if (*n < count)
            words[*n] = strtoull(w, NULL, 16);
        (*n)++;
    }
    return 0;
}

static enum mxv_status read_words(FILE *f, const char *path, const struct mxv_attention *a,
                                  size_t count, uint64_t *words, char *message, size_t size)
{
    char *line = NULL;
    size_t room = 0, number = 0, n = 0;
    int bad = 0;
    ssize_t length;
    while (!bad && (length = mxv_text_line(&line, &room, f)) >= 0) {
        number++;
        bad = strlen(line) != (size_t)length || read_line(line, a->word_bits, count, words, &n);
    }
    free(line);
    if (ferror(f)) {
        text_message(message, size, "planfile %s: %s", path, mxv_text_error(errno));
        return MXV_ERR_IO;
    }
    if (!bad && n == count)
        return MXV_OK;
    if (bad)
        text_message(message, size, "planfile %s: line %zu: not a hexadecimal word of %u bits",
                     path, number, a->word_bits);
    else
        text_message(message, size,
                     "planfile %s: %zu words; the case has %zu KV heads x %zu query tiles x %zu "
                     "words = %zu",
                     path, n, a->heads_kv, mxv_attention_first_tile(a, a->sequences),
                     a->words_per_row, count);
    return MXV_ERR_INPUT;
}

static enum mxv_status read_planfile(const struct mxv_case *c, const struct mxv_attention *a,
                                     size_t count, uint64_t *words, char *message, size_t size)
{
    char path[MXV_CASE_PATH_SIZE];
    case_unescape(c->planfile, strlen(c->planfile), path, sizeof path);
    FILE *f = mxv_text_open(path);
    if (!f) {
        text_message(message, size, "planfile %s: %s", path, strerror(errno));
        return MXV_ERR_IO;
    }
    enum mxv_status status = read_words(f, path, a, count, words, message, size);
    fclose(f);
    return status;
}

static size_t words_per_row(const struct mxv_attention *a)
{
    size_t longest = 1;
    for (size_t s = 0; s < a->sequences; s++) {
        size_t lk = a->cu_k[s + 1] - a->cu_k[s];
        longest = lk > longest ? lk : longest;
    }
    size_t tiles = (longest + a->tile_n - 1) / a->tile_n;
    size_t groups = (tiles + a->group - 1) / a->group;
    return (groups + a->word_bits - 1) / a->word_bits;
}

enum mxv_status case_make_words(const struct mxv_case *c, struct mxv_case_data *data, char *message,
                                size_t size)
{
    struct mxv_attention *a = &data->a;
    a->words_per_row = words_per_row(a);
    size_t count = a->heads_kv * mxv_attention_first_tile(a, a->sequences) * a->words_per_row;
    data->route_words = calloc(count + 1, sizeof *data->route_words);
    a->route_words = data->route_words;
    if (!data->route_words) {
        text_message(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    if (c->mix == MXV_MIX_FILE)
        return read_planfile(c, a, count, data->route_words, message, size);
    fill_words(c, a, data->route_words);
    return MXV_OK;
}
