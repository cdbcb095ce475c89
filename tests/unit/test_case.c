// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The case language: canonical lines written out by hand, lossless round trips of 100,000 cases,
// identity, aliases, key order, overrides.
#include "cases.h"
#include "splitmix.h"
#include <math.h>
#include <mxverify/tiers.h>
#include <xxhash.h>

// What is written on the left prints as the line on the right: defaults left out, fixed order,
// shortest numbers.
static void canonical_lines(void **state)
{
    static const char *const rows[][2] = {
        {"dma", "dma"},
        {"  flash\tlq=128 \n", "flash"},
        {"dma arch=sm_100 hq=2 hk=1 lq=130 lk=257 d=64 mask=causal D=1 s=1 gen=outlier seed=7f3a",
         "dma hq=2 lq=130 lk=257 gen=outlier seed=7f3a"},
        {"dma seed=00FF gen=ties lk=3 lq=1", "dma lq=1 lk=3 gen=ties seed=ff"},
        {"flash seqs=17:33,0:5,040:40", "flash seqs=17:33,0:5,40:40"},
        {"flash window=64", "flash left=63"},
        {"flash mask=full right=0", "flash mask=full right=0"},
        {"flash tau=8.0 poff=-0.0 scale=0x1p-3", "flash tau=8 poff=0 scale=0.125"},
        {"flash poff=auto scale=auto tau=0", "flash"},
        {"flash scale=0.10000000000000001", "flash scale=0.1"},
        {"flash scale=0.08664339756999316", "flash scale=0.08664339756999316"},
        {"dma mask=full tile=64x32", "dma mask=full tile=64x32"},
        {"dma plan=zones core=.25 buffer=5e-1", "dma plan=zones core=0.25 buffer=0.5"},
        {"tilemix plan=band D=2", "tilemix D=2"},
        {"tilemix plan=ratio share=0.5", "tilemix plan=ratio"},
        {"tilemix plan=random share=0.25,1,0", "tilemix plan=random share=0.25,1,0"},
        {"tilemix plan=file planfile=a%20b%2c%63", "tilemix plan=file planfile=a%20b%2Cc"},
        {"dma fault=D5,D3", "dma fault=D3,D5"},
        {"dma fault=sink-nomask,D1", "dma fault=D1,D3"},
        {"dma-released d=128 low=nvfp4 arch=sm_90", "dma-released"},
        {"dma input=q.npy,k.npy,v.npy hq=9 hk=3", "dma hq=9 hk=3 input=q.npy,k.npy,v.npy"},
        {"dma input=dir/layer00 heads=0:1 qtok=0:0 ktok=5:9",
         "dma input=dir/layer00 heads=0:1 ktok=5:9"},
        {"dma input=x%23%25%41 nonfinite=allow", "dma input=x%23%25A nonfinite=allow"},
        {"flash gen=one_hot at=129 gain=2.50", "flash gen=one_hot gain=2.5 at=129"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mxv_case c;
        char line[MXV_CASE_LINE_SIZE];
        parse(rows[i][0], &c);
        assert_int_equal(mxv_case_print(&c, line, sizeof line), strlen(rows[i][1]));
        assert_string_equal(line, rows[i][1]);
    }
}

static void kernel_defaults(void **state)
{
    struct mxv_case c;
    (void)state;
    parse("dma", &c);
    assert_true(c.arch == MXV_ARCH_SM_100 && c.mode == MXV_MODE_MIXED && c.plan == MXV_PLAN_DIAG &&
                c.high == MXV_HIGH_MXFP8_E4M3 && c.low == MXV_LOW_MXFP4 && c.diag == 1 &&
                c.sink == 1 && c.rule == MXV_SCALE_FLOOR && c.dual == MXV_DUAL_NONE);
    assert_true(c.tile.m == 128 && c.tile.n == 128);
    parse("flash", &c);
    assert_true(c.arch == MXV_ARCH_SM_90 && c.tile.m == 128 && c.tile.n == 128);
    parse("tilemix", &c);
    assert_true(c.arch == MXV_ARCH_SM_80 && c.tile.m == 128 && c.tile.n == 64 && c.group == 1 &&
                c.word_bits == 32 && c.one == MXV_ONE_F16 && c.q_gran == MXV_GRAN_BLOCK &&
                c.k_gran == MXV_GRAN_BLOCK && c.int8_round == MXV_RNE && c.in == MXV_F16);
    parse("dma-released", &c);
    assert_true(c.arch == MXV_ARCH_SM_90 && c.d == 128 && c.low == MXV_LOW_NVFP4 &&
                c.lse == MXV_LSE_NONE && c.v == MXV_F16);
    parse("dma input=x", &c);
    assert_true(c.heads_q == 0 && c.heads_kv == 0 && c.lq == 0 && c.lk == 0 && c.d == 0);
    parse("dma seqs=1:2", &c);
    assert_true(c.batch == 0 && c.lq == 0 && c.lk == 0 && c.seqs.count == 1);
}

static uint64_t random_state = 1;

static uint64_t random_word(void)
{
    return splitmix_next(&random_state);
}

// A positive double with random bits and an exponent in -60..60.
static double random_double(void)
{
    uint64_t bits = (random_word() >> 12) | (uint64_t)(1023 - 60 + random_word() % 121) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Values that the sampler never draws: arbitrary doubles, faults, paths, long lists.
static void disturb(struct mxv_case *c)
{
    static const char *const paths[] = {"a b#c", "100%,x", "\xc3\xa4\t", "plain/path.npy"};
    uint64_t r = random_word();
    if (r & 1)
        c->gain = random_double();
    if ((r & 2) && c->kernel != MXV_KERNEL_DMA_RELEASED)
        c->scale = random_double();
    if ((r & 12) == 0) {
        for (unsigned f = 0; f < MXV_FAULT_COUNT; f++)
            if ((mxv_fault_get((enum mxv_fault)f)->kernels >> c->kernel & 1) && random_word() % 3)
                c->faults |= UINT64_C(1) << f;
    }
    if ((r & 0x70) == 0 && c->kernel == MXV_KERNEL_TILEMIX) {
        mxv_case_defaults(c->kernel, c);
        c->mix = MXV_MIX_FILE;
        mxv_case_escape(paths[random_word() % 4], c->planfile, sizeof c->planfile);
    }
    if ((r & 0xf00) == 0) {
        c->batch = c->lq = c->lk = 0;
        c->seqs.count = 1 + random_word() % MXV_CASE_SEQS_MAX;
        for (size_t i = 0; i < c->seqs.count; i++)
            c->seqs.at[i].lq = c->seqs.at[i].lk = 1 + (uint32_t)(random_word() % 99999);
    }
    c->seed = r & 0x1000 ? random_word() : c->seed;
}

// Words of a line after the kernel, in reverse order.
static void reverse_words(const char *line, char *out)
{
    char copy[MXV_CASE_LINE_SIZE], *words[MXV_FIELD_COUNT + 1] = {copy}, *rest = NULL;
    size_t n = 0;
    strcpy(copy, line);
    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    strcpy(out, words[0]);
    while (n-- > 1)
        strcat(strcat(out, "  "), words[n]);
}

// parse(print(c)) == c, field by field; print(parse(line)) == line; the order of keys is free.
static void round_trips(void **state)
{
    size_t count = 100000;
    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct mxv_case c, back;
        char line[MXV_CASE_LINE_SIZE], again[MXV_CASE_LINE_SIZE], value[9000], other[9000];
        mxv_tier_sample((enum mxv_kernel)(i % MXV_KERNEL_COUNT), 0x7e57, i, 1000000, &c);
        disturb(&c);
        size_t n = mxv_case_print(&c, line, sizeof line);
        assert_true(n == strlen(line) && n < sizeof line);
        parse(line, &back);
        for (unsigned f = i % 4; f < MXV_FIELD_COUNT; f += 4) {
            mxv_case_field_print(&c, (enum mxv_case_field)f, value, sizeof value);
            mxv_case_field_print(&back, (enum mxv_case_field)f, other, sizeof other);
            assert_string_equal(value, other);
        }
        assert_true(back.gain == c.gain && back.scale == c.scale && back.seed == c.seed &&
                    back.faults == c.faults && back.left == c.left && back.d == c.d);
        assert_true(mxv_case_equal(&c, &back));
        if (i % 8 == 0) {
            reverse_words(line, again);
            parse(again, &back);
            assert_true(mxv_case_equal(&c, &back));
        }
        mxv_case_print(&back, again, sizeof again);
        assert_string_equal(line, again);
    }
    print_message("%zu cases\n", count);
}

// Differing fields make differing cases, lines and ids.
static void identity(void **state)
{
    struct mxv_case a, b;
    char id[MXV_CASE_ID_SIZE], line[MXV_CASE_LINE_SIZE], expected[20];
    (void)state;
    parse("dma lq=130 seed=1", &a);
    parse("dma seed=01 lq=130 lk=128", &b);
    assert_true(mxv_case_equal(&a, &b) && mxv_case_hash(&a) == mxv_case_hash(&b));
    parse("dma lq=130 seed=2", &b);
    assert_true(!mxv_case_equal(&a, &b) && mxv_case_hash(&a) != mxv_case_hash(&b));
    size_t n = mxv_case_print(&a, line, sizeof line);
    assert_true(mxv_case_hash(&a) == XXH3_64bits(line, n));
    snprintf(expected, sizeof expected, "%016llx", (unsigned long long)XXH3_64bits(line, n));
    expected[10] = '\0';
    mxv_case_id(&a, id);
    assert_string_equal(id, expected);
}

static void print_like_snprintf(void **state)
{
    struct mxv_case c;
    char whole[MXV_CASE_LINE_SIZE], part[64];
    (void)state;
    parse("tilemix hq=4 hk=2 lq=77 lk=99 plan=ratio share=0.25,0.5 gen=ties seed=abc", &c);
    size_t n = mxv_case_print(&c, whole, sizeof whole);
    assert_int_equal(mxv_case_print(&c, NULL, 0), n);
    for (size_t size = 1; size < sizeof part; size++) {
        memset(part, '!', sizeof part);
        assert_int_equal(mxv_case_print(&c, part, size), n);
        assert_int_equal(strlen(part), size - 1);
        assert_memory_equal(part, whole, size - 1);
    }
}

// The largest line there is fits into MXV_CASE_LINE_SIZE.
static void longest_line(void **state)
{
    struct mxv_case c, back;
    static char line[MXV_CASE_LINE_SIZE];
    (void)state;
    mxv_case_defaults(MXV_KERNEL_TILEMIX, &c);
    c.batch = c.lq = c.lk = c.heads_q = c.heads_kv = c.d = 0;
    c.mix = MXV_MIX_FILE;
    memset(c.planfile, 'p', sizeof c.planfile - 1);
    memset(c.input, 'i', sizeof c.input - 1);
    c.seqs.count = MXV_CASE_SEQS_MAX;
    for (size_t i = 0; i < c.seqs.count; i++)
        c.seqs.at[i].lq = c.seqs.at[i].lk = 1048576;
    size_t n = mxv_case_print(&c, line, sizeof line);
    assert_true(n < sizeof line - 2000);
    parse(line, &back);
    assert_true(mxv_case_equal(&c, &back));
}

static void overrides(void **state)
{
    struct mxv_case c, expected;
    char message[500];
    (void)state;
    parse("dma lq=77", &c);
    assert_int_equal(mxv_case_set(&c, "seqs=3:4,5:6", message, sizeof message), MXV_OK);
    c.lq = 0; // it was given, so it stood
    parse("dma seqs=3:4,5:6", &expected);
    assert_true(mxv_case_equal(&c, &expected));
    parse("dma", &c);
    assert_int_equal(mxv_case_set(&c, "input=a,b,c", message, sizeof message), MXV_OK);
    assert_int_equal(mxv_case_set(&c, "low=nvfp4", message, sizeof message), MXV_OK);
    parse("dma input=a,b,c low=nvfp4", &expected);
    assert_true(mxv_case_equal(&c, &expected));
    assert_int_equal(mxv_case_check(&c, message, sizeof message), MXV_OK);
}

// Every value of every choice can be looked up by the name that is printed for it.
static void names_are_distinct(void **state)
{
    size_t values = 0;
    (void)state;
    for (unsigned f = 0; f < MXV_FIELD_COUNT; f++) {
        enum mxv_case_kind kind = mxv_case_field_get((enum mxv_case_field)f)->kind;
        if (kind != MXV_KIND_CHOICE && kind != MXV_KIND_FLAG)
            continue;
        for (unsigned v = 0; mxv_case_value_name((enum mxv_case_field)f, v); v++, values++)
            for (unsigned w = 0; w < v; w++)
                assert_string_not_equal(mxv_case_value_name((enum mxv_case_field)f, v),
                                        mxv_case_value_name((enum mxv_case_field)f, w));
    }
    assert_true(values > 100);
    assert_null(mxv_case_field_get(MXV_FIELD_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_lines),     cmocka_unit_test(kernel_defaults),
        cmocka_unit_test(round_trips),         cmocka_unit_test(identity),
        cmocka_unit_test(print_like_snprintf), cmocka_unit_test(longest_line),
        cmocka_unit_test(overrides),           cmocka_unit_test(names_are_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
