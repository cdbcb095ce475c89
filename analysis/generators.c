// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Table of the generator families, rounding to the input type, and filling of whole tensors.
// A value is computed in binary64, multiplied by the gain (queries), rounded to binary32 and then
// to the input type, both to nearest even; finite overflow saturates, Inf stays Inf.
// tests/unit/test_generators.c fails if this is wrong.
#include "generators_internal.h"
#include <string.h>

static const struct {
    const char *name, *text;
    double (*generate)(const struct place *p);
} generators[] = {
#define X(id, name, text) {#name, text, generate_##name},
#include <mxverify/generators.def>
#undef X
};

const char *mxv_generator_name(unsigned generator)
{
    return generator < MXV_GEN_COUNT ? generators[generator].name : NULL;
}

const char *mxv_generator_text(unsigned generator)
{
    return generator < MXV_GEN_COUNT ? generators[generator].text : NULL;
}

bool mxv_generator_find(const char *name, enum mxv_generator *out)
{
    for (unsigned i = 0; i < MXV_GEN_COUNT; i++) {
        if (strcmp(generators[i].name, name) == 0) {
            *out = (enum mxv_generator)i;
            return true;
        }
    }
    return false;
}

static float round_to_input(enum mxv_element in, double x)
{
    const struct mxv_encode keep_inf = {.inf = MXV_INF_KEEP};
    float f = (float)x;
    uint32_t word;
    if (in == MXV_F32)
        return f;
    memcpy(&word, &f, sizeof word);
    word = mxv_element_to_f32(in, mxv_element_from_f32(in, word, &keep_inf));
    memcpy(&f, &word, sizeof f);
    return f;
}

float mxv_generator_value(const struct mxv_generator_source *s, enum mxv_tensor_role role,
                          size_t sequence, size_t head, size_t token, size_t channel)
{
    const struct mxv_attention *a = s->call;
    struct place p = {.s = s,
                      .role = role,
                      .sequence = sequence,
                      .head = head,
                      .token = token,
                      .channel = channel,
                      .lq = a->cu_q[sequence + 1] - a->cu_q[sequence],
                      .lk = a->cu_k[sequence + 1] - a->cu_k[sequence]};
    double x = generators[s->generator].generate(&p);
    return round_to_input(a->in, role == MXV_ROLE_Q ? x * s->gain : x);
}

static void fill_row(const struct mxv_generator_source *s, enum mxv_tensor_role role,
                     const size_t *cu, size_t row, float *out)
{
    size_t tokens = cu[s->call->sequences], head = row / tokens, at = row % tokens, sequence = 0;
    while (cu[sequence + 1] <= at)
        sequence++;
    for (size_t c = 0; c < s->call->d; c++)
        out[c] = mxv_generator_value(s, role, sequence, head, at - cu[sequence], c);
}

void mxv_generator_fill(const struct mxv_generator_source *s, enum mxv_tensor_role role, float *out)
{
    const struct mxv_attention *a = s->call;
    const size_t *cu = role == MXV_ROLE_Q ? a->cu_q : a->cu_k;
    size_t rows = (role == MXV_ROLE_Q ? a->heads_q : a->heads_kv) * cu[a->sequences];
#pragma omp parallel for schedule(static) if (rows * a->d > 100000)
    for (size_t row = 0; row < rows; row++)
        fill_row(s, role, cu, row, out + row * a->d);
}
