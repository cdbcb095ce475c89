// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: elimination of candidates by answered questions.
//
// 1. Directed and random questions are asked at once. 2. Candidates without z: those that give
// every answer in which z cannot matter (the largest exponent lies above every z) stay. 3. While
// two that stay disagree on some of ROUND random questions, those are asked. 4. Each survivor takes
// every z of the range and meets the other questions, then step 3 again with tiny operands.
// 5. What stays is summed up, and the known models are counted on all answers.
// A statement about a parameter thus holds relative to the questions: `unobservable` means that
// none of them told its values apart. tests/gate/test_probe.c fails if this is wrong.
#include "probe_internal.h"
#include <stdlib.h>
#include <string.h>

enum { RANDOM = 1536, ROUND = 3000, ROUNDS = 12, ASK_AT_ONCE = 96, COMPARED = 12 };

struct probing {
    const struct mxv_probe_unit *unit;
    struct mxv_mma_model face_copy; // of rule T, so that operands are decoded as they are
    const struct mxv_mma_model *face;
    unsigned k;
    struct probe_list list;
    int *tops; // of every question, by the T and the GST rule
    struct mxv_mma_model *candidates;
    size_t count;
    struct mxv_probe_result *out;
    uint64_t next_random;
    char *message;
    size_t size;
};

static enum mxv_status no_memory(struct probing *p)
{
    snprintf(p->message, p->size, "out of memory");
    return MXV_ERR_MEMORY;
}

// Asks the questions from `first` on.
static enum mxv_status ask(struct probing *p, size_t first)
{
    struct probe_list *l = &p->list;
    if (l->failed)
        return no_memory(p);
    int *tops = realloc(p->tops, (l->count + 1) * sizeof *tops);
    if (!tops)
        return no_memory(p);
    p->tops = tops;
    for (size_t i = first; i < l->count; i++)
        tops[i] =
            p->face->result == MXV_MMA_S32 ? PROBE_TOP_ANY : probe_top(p->face, &l->questions[i]);
    if (!p->unit->ask || first == l->count)
        return MXV_OK;
    return p->unit->ask(p->unit->ctx, p->face, l->questions + first, l->count - first,
                        l->answers + first, p->message, p->size);
}

// A lower bound on the largest exponent next to z: for GST that of the scales, which probe_top does
// not know; in both steps of HMMA-FP8 no FP8 product and no sum of them is below 2^-33.
enum { HMMA_TOP = -33, TOP_MOST = 100000 };

static int top_of(const struct probing *p, const struct mxv_mma_model *m, size_t i)
{
    if (m->rule == MXV_MMA_HMMA_FP8)
        return HMMA_TOP;
    return m->rule == MXV_MMA_GST ? p->tops[i] - 4 : p->tops[i];
}

// Whether m gives the answers from `first` on, of those questions whose top is at least `least` and
// below `below`.
static bool survives(const struct probing *p, const struct mxv_mma_model *m, size_t first,
                     int least, int below)
{
    for (size_t i = first; i < p->list.count; i++) {
        int top = top_of(p, m, i);
        if (top >= least && top < below &&
            !probe_same(p->face, probe_answer(m, &p->list.questions[i]), p->list.answers[i]))
            return false;
    }
    return true;
}

// zeros: z is part of the candidates; else the rules that leave it open skip what it decides.
static void eliminate(struct probing *p, size_t first, bool zeros)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct mxv_mma_model *m = &p->candidates[i];
        bool open = !zeros && m->zero_exp == PROBE_Z_NONE;
        if (survives(p, m, first, open ? PROBE_TOP_ANY : -TOP_MOST, TOP_MOST))
            p->candidates[kept++] = *m;
    }
    p->count = kept;
}

static bool disagree(const struct probing *p, const struct mxv_probe_question *q)
{
    size_t compared = p->count < COMPARED ? p->count : COMPARED;
    uint32_t first = probe_answer(&p->candidates[0], q);
    for (size_t i = 1; i < compared; i++)
        if (!probe_same(p->face, first,
                        probe_answer(&p->candidates[i * (p->count - 1) / (compared - 1)], q)))
            return true;
    return false;
}

// Step 3. Questions in which z shows are left out while it is open.
static enum mxv_status tell_apart(struct probing *p, bool zeros)
{
    int least = zeros ? -TOP_MOST : PROBE_TOP_ANY;
    for (int round = 0; round < ROUNDS && p->count > 1 && p->unit->ask; round++) {
        size_t first = p->list.count;
        for (int i = 0; i < ROUND && p->list.count - first < ASK_AT_ONCE; i++) {
            struct mxv_probe_question *q = probe_list_add(&p->list, p->face, p->k);
            if (!q)
                return no_memory(p);
            probe_random(p->face, p->k, p->next_random++, zeros, q);
            bool open = p->face->result != MXV_MMA_S32 && probe_top(p->face, q) < least + 4;
            if (open || !disagree(p, q))
                p->list.count--;
        }
        if (p->list.count == first)
            return MXV_OK;
        enum mxv_status status = ask(p, first);
        if (status != MXV_OK)
            return status;
        eliminate(p, first, zeros);
    }
    return MXV_OK;
}

// Up to its top, a question has the answer of any lower z: the largest top of a question that m,
// without z, does not answer. Only a larger z can.
static int highest_miss(const struct probing *p, const struct mxv_mma_model *m)
{
    int highest = -TOP_MOST;
    for (size_t i = 0; i < p->list.count; i++)
        if (top_of(p, m, i) > highest &&
            !probe_same(p->face, probe_answer(m, &p->list.questions[i]), p->list.answers[i]))
            highest = top_of(p, m, i);
    return highest;
}

// Step 4: every survivor with every z.
static enum mxv_status take_zeros(struct probing *p)
{
    size_t room = p->count * (MXV_PROBE_ZERO_MOST - MXV_PROBE_ZERO_LEAST + 1) + 1, kept = 0;
    struct mxv_mma_model *with = malloc(room * sizeof *with);
    if (!with)
        return no_memory(p);
    for (size_t i = 0; i < p->count; i++) {
        struct mxv_mma_model m = p->candidates[i];
        if (!probe_rule_has_zero(m.rule)) {
            with[kept++] = m;
            continue;
        }
        m.zero_exp = PROBE_Z_NONE;
        int miss = highest_miss(p, &m);
        for (int z = MXV_PROBE_ZERO_LEAST; z <= MXV_PROBE_ZERO_MOST; z++) {
            m.zero_exp = z;
            if (z > miss && survives(p, &m, 0, -TOP_MOST, z))
                with[kept++] = m;
        }
    }
    free(p->candidates);
    p->candidates = with;
    p->out->candidates += kept;
    p->count = kept;
    return tell_apart(p, true);
}

static void widen(struct mxv_probe_range *r, int value, bool *seen, int base)
{
    r->low = r->values == 0 || value < r->low ? value : r->low;
    r->high = r->values == 0 || value > r->high ? value : r->high;
    r->values += !seen[value - base];
    seen[value - base] = true;
}

// What the survivors agree on; a parameter that the rule has not stays empty.
static void sum_up(struct probing *p)
{
    enum { SPAN = 512 };
    static const struct mxv_probe_range none = {0, 0, 0};
    bool seen[6][SPAN] = {{false}};
    struct mxv_probe_result *o = p->out;
    o->step = o->frac_bits = o->keep_bits = o->zero_exp = o->k = o->saturate = none;
    o->remaining = p->count;
    for (size_t i = 0; i < p->count; i++) {
        const struct mxv_mma_model *m = &p->candidates[i];
        bool integer = m->rule == MXV_MMA_INT;
        o->rules |= 1u << m->rule;
        widen(&o->step, (int)m->step, seen[0], 0);
        if (!integer)
            widen(&o->frac_bits, (int)m->frac_bits, seen[1], 0);
        if (!integer && m->result == MXV_MMA_F32)
            widen(&o->keep_bits, (int)m->keep_bits, seen[2], 0);
        if (probe_rule_has_zero(m->rule))
            widen(&o->zero_exp, m->zero_exp, seen[3], MXV_PROBE_ZERO_LEAST);
        if (m->saturate || m->rule == MXV_MMA_HMMA_FP8)
            widen(&o->k, (int)m->k, seen[4], 0);
        if (integer)
            widen(&o->saturate, m->saturate, seen[5], 0);
    }
    if (p->count)
        o->model = p->candidates[0];
}

static bool zero_sign_only(enum mxv_mma_result result, uint32_t x, uint32_t y)
{
    uint32_t mask = result == MXV_MMA_F16 ? 0x7fff : 0x7fffffff;
    return result != MXV_MMA_S32 && ((x | y) & mask) == 0;
}

static int by_differing(const void *a, const void *b)
{
    const struct mxv_probe_named *x = a, *y = b;
    if (x->differing != y->differing)
        return x->differing < y->differing ? -1 : 1;
    return x->model < y->model ? -1 : 1;
}

static void name(struct probing *p)
{
    struct mxv_probe_result *o = p->out;
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        const struct mxv_mma_model *m = mxv_mma_at(i);
        if (m->a != p->face->a || m->b != p->face->b || m->result != p->face->result ||
            m->scale != p->face->scale || m->block != p->face->block)
            continue;
        o->known++;
        if (o->named_count == MXV_PROBE_NAMED)
            continue;
        struct mxv_probe_named *n = &o->named[o->named_count++];
        *n = (struct mxv_probe_named){m, 0, 0};
        for (size_t j = 0; j < p->list.count; j++) {
            uint32_t mine = probe_answer(m, &p->list.questions[j]), got = p->list.answers[j];
            if (probe_same(p->face, mine, got))
                continue;
            n->differing++;
            n->zero_signs += zero_sign_only(p->face->result, mine, got);
        }
    }
    qsort(o->named, o->named_count, sizeof *o->named, by_differing);
}

static enum mxv_status first_questions(struct probing *p)
{
    const struct mxv_probe_unit *u = p->unit;
    if (!u->ask) {
        for (size_t i = 0; i < u->recorded_count; i++) {
            struct mxv_probe_question *q = probe_list_add(&p->list, p->face, 1);
            if (!q)
                return no_memory(p);
            *q = u->recorded[i];
            p->list.answers[i] = u->recorded_answers[i];
        }
        return ask(p, 0);
    }
    unsigned good = probe_directed(p->face, p->k, &p->list);
    for (; p->next_random < RANDOM; p->next_random++) {
        struct mxv_probe_question *q = probe_list_add(&p->list, p->face, p->k);
        if (q)
            probe_random(p->face, p->k, p->next_random, p->next_random % 16 == 15, q);
    }
    enum mxv_status status = ask(p, 0);
    for (unsigned f = 0; f < MXV_PROBE_FACT_COUNT && status == MXV_OK; f++) {
        p->out->has_fact[f] = good >> f & 1;
        p->out->facts[f] = p->list.answers[f];
    }
    return status;
}

static enum mxv_status probe(struct probing *p)
{
    enum mxv_status status = first_questions(p);
    if (status == MXV_OK) {
        eliminate(p, 0, false);
        status = tell_apart(p, false);
    }
    if (status == MXV_OK)
        status = take_zeros(p);
    if (status != MXV_OK)
        return status;
    sum_up(p);
    name(p);
    p->out->questions = p->list.count;
    return MXV_OK;
}

enum mxv_status mxv_probe_unit_run(const struct mxv_probe_unit *unit, struct mxv_probe_result *out,
                                   char *message, size_t size)
{
    struct probing p = {.unit = unit, .out = out, .message = message, .size = size};
    memset(out, 0, sizeof *out);
    p.face_copy = unit->face;
    p.face_copy.rule = MXV_MMA_T;
    p.face = &p.face_copy;
    p.k = unit->k ? unit->k : MXV_PROBE_K;
    if (p.k < 4 || p.k > MXV_PROBE_K) {
        snprintf(message, size, "a question has 4 to %d products, not %u", MXV_PROBE_K, p.k);
        return MXV_ERR_INPUT;
    }
    p.candidates = probe_candidates(p.face, &p.count);
    if (!p.count) {
        snprintf(message, size,
                 "no rule of docs/numerics.md has these operands, result and scales");
        return MXV_ERR_INPUT;
    }
    out->candidates = p.count;
    enum mxv_status status = probe(&p);
    free(p.candidates);
    free(p.tops);
    probe_list_free(&p.list);
    return status;
}

enum mxv_status mxv_probe_ask_model(void *ctx, const struct mxv_mma_model *face,
                                    const struct mxv_probe_question *questions, size_t count,
                                    uint32_t *answers, char *message, size_t size)
{
    (void)face;
    (void)message;
    (void)size;
    for (size_t i = 0; i < count; i++)
        answers[i] = probe_answer(ctx, &questions[i]);
    return MXV_OK;
}

const char *mxv_probe_fact_name(unsigned fact)
{
#define X(id, name, text) name,
    static const char *const names[] = {MXV_PROBE_FACTS(X)};
#undef X
    return fact < MXV_PROBE_FACT_COUNT ? names[fact] : NULL;
}

const char *mxv_probe_fact_text(unsigned fact)
{
#define X(id, name, text) text,
    static const char *const texts[] = {MXV_PROBE_FACTS(X)};
#undef X
    return fact < MXV_PROBE_FACT_COUNT ? texts[fact] : NULL;
}
