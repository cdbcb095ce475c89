// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Route words and band widths against their definitions (docs/kernels/tilemix.md 2 and 6,
// docs/kernels/dma.md 2), worked out tile by tile from the visibility of single keys; entropies in
// MPFR.
#include "cases.h"
#include <math.h>
#include <mpfr.h>
#include <mxverify/tiers.h>
#include <unistd.h>

static long floor_quotient(long a, long b)
{
    return (long)floor((double)a / (double)b);
}

struct tiles {
    const struct mxv_attention *a;
    long lq, lk, i; // a query tile
};

static bool sees(const struct tiles *t, long row, long key)
{
    size_t first, end;
    mxv_attention_visible(t->a, (size_t)t->lq, (size_t)t->lk, (size_t)row, &first, &end);
    return key >= (long)first && key < (long)end;
}

static bool tile_seen(const struct tiles *t, long j)
{
    long bm = (long)t->a->tile_m, bn = (long)t->a->tile_n;
    for (long row = t->i * bm; row < t->lq && row < (t->i + 1) * bm; row++)
        for (long key = j * bn; key < t->lk && key < (j + 1) * bn; key++)
            if (sees(t, row, key))
                return true;
    return false;
}

static long distance(const struct tiles *t, long j)
{
    long bm = (long)t->a->tile_m, bn = (long)t->a->tile_n;
    long off = t->a->align == MXV_ALIGN_BOTTOM_RIGHT ? t->lk - t->lq : 0;
    long last = (t->i + 1) * bm - 1 < t->lq - 1 ? (t->i + 1) * bm - 1 : t->lq - 1;
    long jf = floor_quotient(t->i * bm + off, bn), jl = floor_quotient(last + off, bn);
    return j < jf ? jf - j : j > jl ? j - jl : 0;
}

// The tiles of a row sorted by (distance, index); how many stand before j.
static long place_among_seen(const struct tiles *t, long j, long keys)
{
    long before = 0;
    for (long n = 0; n < keys; n++)
        if (tile_seen(t, n) &&
            (distance(t, n) < distance(t, j) || (distance(t, n) == distance(t, j) && n < j)))
            before++;
    return before;
}

static bool wants_f16(const struct mxv_case *c, const struct tiles *t, size_t head, long j,
                      long keys)
{
    long seen = 0;
    for (long n = 0; n < keys; n++)
        seen += tile_seen(t, n);
    long wanted = (long)floor(c->share.at[head % c->share.count] * (double)seen + 0.5);
    switch (c->mix) {
    case MXV_MIX_BAND:
        return distance(t, j) < (long)t->a->diag || j < (long)c->sink;
    case MXV_MIX_ALL_F16:
        return true;
    case MXV_MIX_RATIO:
        return place_among_seen(t, j, keys) < wanted;
    default:
        return false;
    }
}

static bool group_f16(const struct mxv_case *c, const struct tiles *t, size_t head, long group,
                      long keys)
{
    if (c->mix == MXV_MIX_CHECKER)
        return (t->i + group) % 2 == 0;
    for (long j = group * (long)c->group; j < (group + 1) * (long)c->group && j < keys; j++)
        if (tile_seen(t, j) && wants_f16(c, t, head, j, keys))
            return true;
    return false;
}

// Every bit of every word of one query tile of one KV head; returns the bits looked at.
static size_t check_row(const struct mxv_case *c, const struct tiles *t, size_t head,
                        const uint64_t *words)
{
    long keys = (t->lk + (long)t->a->tile_n - 1) / (long)t->a->tile_n;
    size_t bits = t->a->words_per_row * t->a->word_bits;
    for (size_t b = 0; b < bits; b++) {
        unsigned at = (unsigned)(b % t->a->word_bits);
        bool got = words[b / t->a->word_bits] >>
                       (c->bit_order == MXV_BITS_MSB ? t->a->word_bits - 1 - at : at) &
                   1;
        bool seen = false;
        for (long j = (long)(b * c->group); j < (long)((b + 1) * c->group) && j < keys; j++)
            seen = seen || tile_seen(t, j);
        bool f16 = seen && c->mix != MXV_MIX_RANDOM && group_f16(c, t, head, (long)b, keys);
        if (!seen)
            assert_false(got);
        else if (c->mix != MXV_MIX_RANDOM)
            assert_int_equal(got, f16 != (c->one == MXV_ONE_INT8));
    }
    return bits;
}

static size_t check_words(const struct mxv_case *c)
{
    struct mxv_case_data d;
    char message[500];
    size_t bits = 0, tiles = 0, at = 0;
    if (mxv_case_build(c, &d, message, sizeof message) != MXV_OK)
        fail_msg("%s", message);
    tiles = mxv_attention_first_tile(&d.a, d.a.sequences);
    for (size_t h = 0; h < d.a.heads_kv; h++) {
        for (size_t s = 0; s < d.a.sequences; s++) {
            struct tiles t = {.a = &d.a,
                              .lq = (long)(d.a.cu_q[s + 1] - d.a.cu_q[s]),
                              .lk = (long)(d.a.cu_k[s + 1] - d.a.cu_k[s])};
            for (t.i = 0; t.i * (long)d.a.tile_m < t.lq; t.i++)
                bits += check_row(c, &t, h, d.route_words + at++ * d.a.words_per_row);
        }
    }
    assert_int_equal(at, tiles * d.a.heads_kv);
    mxv_case_free(&d);
    return bits;
}

static void words_of_sampled_cases(void **state)
{
    size_t bits = 0, n = 0;
    (void)state;
    for (uint64_t i = 0; n < 300; i++) {
        struct mxv_case c;
        mxv_tier_sample(MXV_KERNEL_TILEMIX, 5, i, 20000, &c);
        if (c.tile.m > 64)
            c.tile.m = 16 + c.tile.m % 64 / 16 * 16; // more tiles
        c.tile.n = c.tile.n > 64 ? 32 : c.tile.n;
        c.generator = MXV_GEN_V_ONES;
        c.at = -1;
        bits += check_words(&c);
        n++;
    }
    print_message("%zu cases, %zu bits\n", n, bits);
    assert_true(bits > 10000);
}

// share of set groups in random plans; shares repeat over KV heads; another seed, other words.
static void random_shares(void **state)
{
    struct mxv_case_data d, e;
    size_t set[4] = {0};
    (void)state;
    build("tilemix hq=4 hk=4 lq=512 lk=4096 d=32 tile=16x32 mask=full plan=random "
          "share=0,0.25,1 gen=v_ones seed=3",
          &d);
    size_t tiles = 32, words = 4;
    assert_int_equal(d.a.words_per_row, words);
    for (size_t h = 0; h < 4; h++)
        for (size_t i = 0; i < tiles * words; i++)
            set[h] += (size_t)__builtin_popcountll(d.route_words[h * tiles * words + i]);
    assert_int_equal(set[0], 0);
    assert_in_range(set[1], 900, 1150); // 1,024 expected of 4,096; standard deviation 28
    assert_int_equal(set[2], 4096);
    assert_int_equal(set[3], 0);
    build("tilemix hq=4 hk=4 lq=512 lk=4096 d=32 tile=16x32 mask=full plan=random "
          "share=0,0.25,1 gen=v_ones seed=4",
          &e);
    assert_memory_not_equal(d.route_words + tiles * words, e.route_words + tiles * words,
                            tiles * words * 8);
    mxv_case_free(&d);
    mxv_case_free(&e);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void words_from_files(void **state)
{
    static const struct {
        const char *text, *said; // said NULL: good
    } rows[] = {
        {"# two heads, two tiles\n0 ffffffff\n\n  a5 # tail\n 00000001", NULL},
        {"1 2 3", "3 words; the case has 2 KV heads x 2 query tiles x 1 words = 4"},
        {"1 2 3 4 5", "5 words"},
        {"1 2\n3 x4", "line 2: not a hexadecimal word of 32 bits"},
        {"1 2 3 123456789", "line 1: not a hexadecimal word of 32 bits"},
        {"", "0 words"},
    };
    char folder[] = "/tmp/mxv-plan-XXXXXX", path[64], line[200], message[500];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/words", folder);
    snprintf(line, sizeof line, "tilemix hq=2 hk=2 lq=130 lk=130 plan=file planfile=%s", path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_case c;
        struct mxv_case_data d;
        write_file(path, rows[i].text);
        parse(line, &c);
        enum mxv_status status = mxv_case_build(&c, &d, message, sizeof message);
        assert_int_equal(status, rows[i].said ? MXV_ERR_INPUT : MXV_OK);
        if (rows[i].said) {
            assert_non_null(strstr(message, rows[i].said));
        } else {
            const uint64_t expected[] = {0, 0xffffffff, 0xa5, 1};
            assert_memory_equal(d.route_words, expected, sizeof expected);
            mxv_case_free(&d);
        }
    }
    unlink(path);
    struct mxv_case c;
    struct mxv_case_data d;
    parse(line, &c);
    assert_int_equal(mxv_case_build(&c, &d, message, sizeof message), MXV_ERR_IO);
    assert_non_null(strstr(message, "No such file"));
    rmdir(folder);
}

// Entropy of one row's softmax in MPFR, 200 bits.
static double row_entropy(const struct mxv_case_data *d, size_t row, size_t keys)
{
    mpfr_t z, w, s, t, sum;
    mpfr_inits2(200, z, w, s, t, sum, (mpfr_ptr)0);
    mpfr_set_zero(z, 1);
    mpfr_set_zero(sum, 1);
    for (size_t n = 0; n < keys; n++) {
        mpfr_set_zero(s, 1);
        for (size_t c = 0; c < d->a.d; c++) {
            mpfr_set_d(t, (double)d->q[row * d->a.d + c], MPFR_RNDN);
            mpfr_mul_d(t, t, (double)d->k[n * d->a.d + c], MPFR_RNDN);
            mpfr_add(s, s, t, MPFR_RNDN);
        }
        mpfr_mul_d(s, s, d->a.scale, MPFR_RNDN);
        mpfr_exp(w, s, MPFR_RNDN);
        mpfr_add(z, z, w, MPFR_RNDN);
        mpfr_mul(w, w, s, MPFR_RNDN);
        mpfr_add(sum, sum, w, MPFR_RNDN);
    }
    mpfr_div(sum, sum, z, MPFR_RNDN);
    mpfr_log(z, z, MPFR_RNDN);
    mpfr_sub(z, z, sum, MPFR_RNDN);
    double h = mpfr_get_d(z, MPFR_RNDN);
    mpfr_clears(z, w, s, t, sum, (mpfr_ptr)0);
    return h;
}

// Thresholds just above and just below the mean entropy of each tile select 1/16 and 1/8: the
// entropy is right to 2^-40 on either side.
static void widths_by_entropy(void **state)
{
    static const char *const generators[] = {"gaussian", "outlier", "row_scale", "one_hot"};
    char line[200];
    size_t tiles = 0;
    (void)state;
    for (size_t g = 0; g < 4; g++) {
        struct mxv_case_data d, e;
        snprintf(line, sizeof line, "dma lq=48 lk=48 tile=16x32 plan=entropy gen=%s seed=6",
                 generators[g]);
        build(line, &d);
        for (size_t i = 0; i < 3; i++) {
            double h = 0;
            for (size_t row = 16 * i; row < 16 * i + 16; row++)
                h += row_entropy(&d, row, row + 1) / 16;
            for (int side = -1; side <= 1; side += 2) {
                snprintf(line, sizeof line,
                         "dma lq=48 lk=640 align=tl tile=16x32 plan=entropy gen=%s seed=6 "
                         "entropy_threshold=%.17g",
                         generators[g], h * (1 + side * 0x1p-40));
                build(line, &e);
                // 640/16 = 40 tokens: 2 tiles; 640/8 = 80 tokens: 3 tiles
                if (g != 3) // one_hot looks at lk
                    assert_int_equal(e.diag_tiles[i], side > 0 ? 2 : 3);
                tiles++;
                mxv_case_free(&e);
            }
        }
        mxv_case_free(&d);
    }
    print_message("%zu thresholds\n", tiles);
}

// Q = 0: H = ln n exactly known; strictly below the threshold is narrow. At least one tile.
static void widths_in_closed_form(void **state)
{
    struct mxv_case_data d;
    (void)state;
    // mask=full, 256 keys: H = ln 256 = 5.545177444479562
    build(
        "dma lq=16 lk=256 mask=full tile=16x32 plan=entropy gen=equal entropy_threshold=5.5451774",
        &d);
    assert_int_equal(d.diag_tiles[0], 1); // 256/8 = 32 tokens
    mxv_case_free(&d);
    build("dma lq=16 lk=1024 mask=full tile=16x32 plan=entropy gen=equal entropy_threshold=6.93147",
          &d);
    assert_int_equal(d.diag_tiles[0], 4); // ln 1024 = 6.931471806 is not below: 128 tokens
    mxv_case_free(&d);
    build("dma lq=16 lk=1024 mask=full tile=16x32 plan=entropy gen=equal entropy_threshold=6.93148",
          &d);
    assert_int_equal(d.diag_tiles[0], 2);
    mxv_case_free(&d);
    build("dma hq=2 seqs=1:1,40:0,33:7 tile=16x32 plan=entropy", &d); // one key: H = 0
    for (size_t i = 0; i < 2 * (1 + 3 + 3); i++)
        assert_int_equal(d.diag_tiles[i], 1);
    mxv_case_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_sampled_cases), cmocka_unit_test(random_shares),
        cmocka_unit_test(words_from_files),       cmocka_unit_test(widths_by_entropy),
        cmocka_unit_test(widths_in_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
