// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A second, deliberately plain view of the element formats, for tests: every code's value by the
// formula of the format's document, in double; encoding by searching the sorted list of all values.
// It includes nothing of the formats layer and shares no code or table with it.
//
// Exact: values of formats up to 16 bits, binary32 inputs, midpoints of neighbouring values and
// differences of an input and a neighbouring value are all doubles.
#ifndef MXVERIFY_TESTS_SLOW_FORMAT_H
#define MXVERIFY_TESTS_SLOW_FORMAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum slow_kind {
    SLOW_FINITE,        // every code is a number
    SLOW_ONE_NAN,       // exponent and fraction all ones is NaN
    SLOW_UNSIGNED_ZERO, // sign bit alone is NaN
    SLOW_INFINITE,      // IEEE: top exponent holds Inf and NaN
    SLOW_EXPONENT,      // E8M0
    SLOW_INTEGER        // two's complement, in units of 2^-man
};

struct slow_format {
    const char *name;
    int sign, exp, man, bias;
    enum slow_kind kind;
};

static const struct slow_format slow_formats[] = {
    {"e2m1", 1, 2, 1, 1, SLOW_FINITE},
    {"e2m3", 1, 2, 3, 1, SLOW_FINITE},
    {"e3m2", 1, 3, 2, 3, SLOW_FINITE},
    {"e4m3", 1, 4, 3, 7, SLOW_ONE_NAN},
    {"e5m2", 1, 5, 2, 15, SLOW_INFINITE},
    {"e4m3fnuz", 1, 4, 3, 8, SLOW_UNSIGNED_ZERO},
    {"e5m2fnuz", 1, 5, 2, 16, SLOW_UNSIGNED_ZERO},
    {"e4m3ieee", 1, 4, 3, 7, SLOW_INFINITE},
    {"e8m0", 0, 8, 0, 127, SLOW_EXPONENT},
    {"ue4m3", 0, 4, 3, 7, SLOW_ONE_NAN},
    {"ue5m3", 0, 5, 3, 15, SLOW_ONE_NAN},
    {"mxint8", 1, 0, 6, 0, SLOW_INTEGER},
    {"s8", 1, 0, 0, 0, SLOW_INTEGER},
    {"f16", 1, 5, 10, 15, SLOW_INFINITE},
    {"bf16", 1, 8, 7, 127, SLOW_INFINITE},
};

#define SLOW_FORMAT_COUNT (sizeof slow_formats / sizeof slow_formats[0])

static inline const struct slow_format *slow_find(const char *name)
{
    for (size_t i = 0; i < SLOW_FORMAT_COUNT; i++)
        if (strcmp(slow_formats[i].name, name) == 0)
            return &slow_formats[i];
    abort();
}

/// Width of a stored code, the ignored top bit of ue4m3 not counted.
static inline int slow_bits(const struct slow_format *f)
{
    return f->kind == SLOW_INTEGER ? 8 : f->sign + f->exp + f->man;
}

/// Value of a code: (-1)^s * 2^(e - bias) * 1.m, subnormals (-1)^s * 2^(1 - bias) * 0.m.
static inline double slow_decode(const struct slow_format *f, unsigned code)
{
    if (f->kind == SLOW_EXPONENT)
        return code == 255 ? NAN : ldexp(1.0, (int)code - f->bias);
    if (f->kind == SLOW_INTEGER)
        return ldexp(code < 128 ? (double)code : (double)code - 256.0, -f->man);
    unsigned e = code >> f->man & ((1u << f->exp) - 1), m = code & ((1u << f->man) - 1);
    unsigned s = f->sign ? code >> (f->exp + f->man) & 1 : 0;
    unsigned e_top = (1u << f->exp) - 1, m_top = (1u << f->man) - 1;
    if (f->kind == SLOW_ONE_NAN && e == e_top && m == m_top)
        return NAN;
    if (f->kind == SLOW_UNSIGNED_ZERO && s == 1 && e == 0 && m == 0)
        return NAN;
    if (f->kind == SLOW_INFINITE && e == e_top)
        return m != 0 ? NAN : s ? -INFINITY : INFINITY;
    double frac = (double)m / (double)(1u << f->man);
    double value = e == 0 ? ldexp(frac, 1 - f->bias) : ldexp(1.0 + frac, (int)e - f->bias);
    return s ? -value : value;
}

/// The magnitudes of a format in ascending order. value[count] is what would follow the largest.
struct slow_table {
    const struct slow_format *format;
    int count;
    double *value;
    unsigned *code;
    bool has_zero, has_negzero, has_inf, has_nan;
};

static inline int slow_compare_codes(const void *a, const void *b, void *format)
{
    double x = slow_decode(format, *(const unsigned *)a),
           y = slow_decode(format, *(const unsigned *)b);
    return (x > y) - (x < y);
}

/// Sorts all codes without a negative sign by value. The continuation of the largest value is one
/// step further (a whole binade for E8M0), which is where the format's grid would go on.
static inline struct slow_table slow_table_make(const char *name)
{
    struct slow_table t = {0};
    const struct slow_format *f = t.format = slow_find(name);
    unsigned total = 1u << slow_bits(f);
    t.code = malloc(total * sizeof *t.code);
    t.value = malloc((total + 1) * sizeof *t.value);
    for (unsigned c = 0; c < total; c++) {
        double v = slow_decode(f, c);
        t.has_nan |= isnan(v) != 0;
        t.has_inf |= isinf(v) != 0;
        t.has_zero |= v == 0;
        t.has_negzero |= v == 0 && signbit(v);
        if (isfinite(v) && !signbit(v))
            t.code[t.count++] = c;
    }
    qsort_r(t.code, (size_t)t.count, sizeof *t.code, slow_compare_codes, (void *)(uintptr_t)f);
    for (int i = 0; i < t.count; i++)
        t.value[i] = slow_decode(f, t.code[i]);
    double last = t.value[t.count - 1];
    t.value[t.count] = f->kind == SLOW_EXPONENT ? 2 * last : last + (last - t.value[t.count - 2]);
    return t;
}

static inline void slow_table_free(struct slow_table *t)
{
    free(t->code);
    free(t->value);
}

enum slow_round {
    SLOW_RNE,
    SLOW_RNA,
    SLOW_RNZ,
    SLOW_RTZ,
    SLOW_RTP,
    SLOW_RTN,
    SLOW_RTO,
    SLOW_RHU,
    SLOW_RS
};

/// Index of the largest value not above x >= 0; -1 below the smallest (E8M0 has no zero).
static inline int slow_index_below(const struct slow_table *t, double x)
{
    int low = -1, high = t->count;
    while (high - low > 1) {
        int mid = low + (high - low) / 2;
        if (t->value[mid] <= x)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/// Index, 0..count, of the rounded magnitude; count means overflow.
static inline int slow_round_index(const struct slow_table *t, double x, bool negative,
                                   enum slow_round round, uint32_t random, unsigned random_bits)
{
    if (x >= t->value[t->count])
        return t->count;
    int i = slow_index_below(t, x);
    if (i < 0)
        return 0;
    double low = t->value[i], high = t->value[i + 1], middle = low / 2 + high / 2;
    if (x == low)
        return i;
    unsigned low_code = t->code[i];
    switch (round) {
    case SLOW_RNE:
        return x > middle || (x == middle && low_code % 2 == 1) ? i + 1 : i;
    case SLOW_RNA:
        return x >= middle ? i + 1 : i;
    case SLOW_RNZ:
        return x > middle ? i + 1 : i;
    case SLOW_RTZ:
        return i;
    case SLOW_RTP:
        return negative ? i : i + 1;
    case SLOW_RTN:
        return negative ? i + 1 : i;
    case SLOW_RTO:
        return low_code % 2 == 1 ? i : i + 1;
    case SLOW_RHU:
        return x > middle || (x == middle && !negative) ? i + 1 : i;
    default: {
        double steps = ldexp(1.0, (int)random_bits);
        return floor((x - low) / (high - low) * steps) + random >= steps ? i + 1 : i;
    }
    }
}

/// What an encoder must return for the double x; -1 stands for "any NaN". ieee: overflow to Inf or
/// NaN where the format has one. keep_inf: an infinite input stays Inf or NaN although finite ones
/// saturate. Magnitudes are taken for unsigned formats. Integers (SLOW_INTEGER) clamp to -min.
static inline int slow_encode_full(const struct slow_table *t, double x, enum slow_round round,
                                   bool ieee, bool keep_inf, int min, uint32_t random,
                                   unsigned random_bits)
{
    const struct slow_format *f = t->format;
    bool negative = signbit(x) && f->sign;
    double magnitude = fabs(x);
    int sign_code = 1 << (slow_bits(f) - 1);
    int index;
    if (isnan(x))
        return -1;
    if (isinf(x)) {
        index = t->count;
        if (!ieee && !keep_inf)
            index = t->count - 1;
    } else {
        index = slow_round_index(t, magnitude, negative, round, random, random_bits);
        bool inward = round == SLOW_RTZ || round == SLOW_RTO || (round == SLOW_RTP && negative) ||
                      (round == SLOW_RTN && !negative);
        if (index == t->count && (!ieee || inward))
            index = t->count - 1;
    }
    if (f->kind == SLOW_INTEGER) {
        int n = isinf(x)
                    ? 1000
                    : (int)(slow_round_index(t, magnitude, negative, round, random, random_bits));
        n = negative ? -n : n;
        n = n > 127 ? 127 : n < min ? min : n;
        return n & 0xFF;
    }
    if (index == t->count) {
        if (t->has_inf)
            return (int)t->code[t->count - 1] + 1 + (negative ? sign_code : 0);
        if (t->has_nan)
            return -1;
        index = t->count - 1;
    }
    int code = (int)t->code[index];
    if (code == 0 && t->value[index] == 0)
        return negative && t->has_negzero ? sign_code : 0;
    return negative ? code | sign_code : code;
}

static inline int slow_encode(const struct slow_table *t, double x, enum slow_round round,
                              bool ieee)
{
    return slow_encode_full(t, x, round, ieee, false, strcmp(t->format->name, "s8") ? -127 : -128,
                            0, 0);
}

/// The next word of an xorshift64* sequence; *state is not zero.
static inline uint64_t slow_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

static inline float slow_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static inline uint32_t slow_word(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

#endif
