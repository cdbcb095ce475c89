// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Mutants, their registry, and the two bounds as gates. A mutation is judged by the very inequality
// that judged the output. Gains stop at 2^-40 and at the first that passes.
// tests/gate/test_gate_power.c fails if a mandatory mutant survives; tests/unit/test_gate.c if the
// inequality is not the stated one.
#include <math.h>
#include <mxverify/compare.h>
#include <mxverify/gate.h>
#include <stdio.h>
#include <string.h>

static const struct mxv_mutant_info mutants[MXV_MUTANT_COUNT] = {
#define X(id, name, kind, mandatory, text)                                                         \
    [MXV_MUTANT_##id] = {name, text, MXV_MUTANT_KIND_##kind, mandatory},
#include <mxverify/mutants.def>
#undef X
};

const struct mxv_mutant_info *mxv_mutant_get(unsigned mutant)
{
    return mutant < MXV_MUTANT_COUNT ? &mutants[mutant] : NULL;
}

uint64_t mxv_mutants_mandatory(void)
{
    uint64_t set = 0;
    for (unsigned m = 0; m < MXV_MUTANT_COUNT; m++)
        set |= (uint64_t)mutants[m].mandatory << m;
    return set;
}

void mxv_gate_report_init(struct mxv_gate_report *report)
{
    *report = (struct mxv_gate_report){.element = INFINITY, .element_ulp = INFINITY};
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

void mxv_gate_report_merge(struct mxv_gate_report *into, const struct mxv_gate_report *from)
{
    into->applicable |= from->applicable;
    into->judged |= from->judged;
    into->bits |= from->bits;
    into->bound |= from->bound;
    into->model |= from->model;
    into->elements += from->elements;
    into->gain_up = larger(into->gain_up, from->gain_up);
    into->gain_down = larger(into->gain_down, from->gain_down);
    into->model_up = larger(into->model_up, from->model_up);
    into->model_down = larger(into->model_down, from->model_down);
    into->element = fmin(into->element, from->element);
    into->element_ulp = fmin(into->element_ulp, from->element_ulp);
    into->blind = fmax(into->blind, from->blind);
    into->blind_ulp = fmax(into->blind_ulp, from->blind_ulp);
}

uint64_t mxv_gate_survivors(const struct mxv_gate_report *report, uint64_t killed)
{
    return mxv_mutants_mandatory() & report->judged & ~killed;
}

uint64_t mxv_gate_survivors_bits(const struct mxv_gate_report *report)
{
    return mxv_mutants_mandatory() & report->applicable & ~report->bits;
}

size_t mxv_mutants_print(uint64_t set, char *buffer, size_t size)
{
    size_t n = 0;
    for (unsigned m = 0; m < MXV_MUTANT_COUNT; m++)
        if (set >> m & 1)
            n += (size_t)snprintf(n < size ? buffer + n : NULL, n < size ? size - n : 0, "%s%s",
                                  n ? " " : "", mutants[m].name);
    return n ? n : (size_t)snprintf(buffer, size, "none");
}

uint32_t mxv_gate_word(enum mxv_element format, double x)
{
    const struct mxv_encode ieee = {.overflow = MXV_OVERFLOW_IEEE, .inf = MXV_INF_KEEP};
    float f = (float)x;
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return format == MXV_F32 ? word : (uint32_t)mxv_element_from_f32(format, word, &ieee);
}

static bool same_special(double x, double y)
{
    return isnan(x) ? isnan(y) : x == y;
}

static bool judged_element(const struct mxv_gate_output *o, size_t i)
{
    return o->judged[i / o->d] &&
           !(isfinite(o->centre[i]) && isinf(o->rest[i]) && isinf(o->model[i]));
}

// Proved wrong by contract (bit 0) and by model (bit 1). An infinity may be the right word for a
// truth beyond the format's range: it is left to the bits.
static unsigned wrong(const struct mxv_gate_output *o, size_t i, double x)
{
    if (!isfinite(o->centre[i]))
        return same_special(x, o->centre[i]) ? 0 : 3;
    if (isnan(x))
        return 3;
    if (isinf(x))
        return 0;
    return (unsigned)(fabs(x - o->centre[i]) - o->noise[i] > o->rest[i]) |
           (unsigned)(fabs(x - o->model_centre[i]) - o->model_noise[i] > o->model[i]) << 1;
}

void mxv_gate_try(const struct mxv_gate_output *o, enum mxv_mutant m, const uint32_t *mutated,
                  struct mxv_gate_report *report)
{
    uint64_t bit = UINT64_C(1) << m;
    unsigned found = 0;
    bool differs = false, judged = false;
    for (size_t r = 0; r < o->rows; r++)
        for (size_t i = r * o->d; i < (r + 1) * o->d; i++) {
            if (mutated[i] == o->words[i])
                continue;
            bool other = mxv_ulp_distance(o->format, mutated[i], o->words[i]) != 0;
            differs = differs || other;
            judged = judged || (other && judged_element(o, i));
            if (found != 3 && judged_element(o, i))
                found |= wrong(o, i, mxv_code_value(o->format, mutated[i]));
        }
    if (!differs)
        return;
    report->applicable |= bit;
    report->bits |= bit;
    report->judged |= judged ? bit : 0;
    report->bound |= found & 1 ? bit : 0;
    report->model |= found & 2 ? bit : 0;
}

static unsigned gain_caught(const struct mxv_gate_output *o, double gain)
{
    unsigned found = 0;
    for (size_t r = 0; r < o->rows; r++)
        for (size_t i = r * o->d; o->judged[r] && found != 3 && i < (r + 1) * o->d; i++) {
            uint32_t w = mxv_gate_word(o->format, mxv_code_value(o->format, o->words[i]) * gain);
            if (w != o->words[i] && judged_element(o, i))
                found |= wrong(o, i, mxv_code_value(o->format, w));
        }
    return found;
}

static void gain_limits(const struct mxv_gate_output *o, double sign, int *contract, int *model)
{
    unsigned open = 3;
    *contract = *model = 0;
    for (int k = 1; k <= 40 && open; k++) {
        open &= gain_caught(o, 1 + sign * ldexp(1, -k));
        if (open & 1)
            *contract = k;
        if (open & 2)
            *model = k;
    }
}

void mxv_gate_limits(const struct mxv_gate_output *o, struct mxv_gate_report *report)
{
    gain_limits(o, 1, &report->gain_up, &report->model_up);
    gain_limits(o, -1, &report->gain_down, &report->model_down);
    for (size_t r = 0; r < o->rows; r++)
        for (size_t i = r * o->d; o->judged[r] && i < (r + 1) * o->d; i++) {
            double x = mxv_code_value(o->format, o->words[i]);
            if (!isfinite(x) || !isfinite(o->rest[i]))
                continue;
            // an error this large is proved wrong in either direction
            double least = o->rest[i] + o->noise[i] + fabs(x - o->centre[i]);
            double ulp = least / ldexp(1, mxv_ulp_exponent(o->format, x));
            report->elements++;
            report->element = fmin(report->element, least);
            report->element_ulp = fmin(report->element_ulp, ulp);
            report->blind = fmax(report->blind, least);
            report->blind_ulp = fmax(report->blind_ulp, ulp);
        }
}
