// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The sink that counts events (events.def) on the taps of one head. Order of taps:
// docs/kernels/contract.md 8. Operand codes are decoded by their formats; ties and saturations are
// told where the operand of K is the input itself (no smoothing, no second level, no cache): there
// the quotient x / scale is exact for power-of-two scales and the binary32 quotient of the contract
// for INT8. Underflow of 2^x and of P are told by the softmax steps of softmax.h, on tiles
// of option fold from their scores.
// tests/unit/test_events.c fails if an event is missed or invented.
#include <math.h>
#include <mxverify/events.h>
#include <mxverify/softmax.h>
#include <mxverify/taps.h>
#include <stdlib.h>
#include <string.h>

static float word_value(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static float code_value(enum mxv_element format, uint32_t code)
{
    if (format == MXV_F32)
        return word_value(code);
    if (format == MXV_S8)
        return (float)(int8_t)(uint8_t)code;
    return word_value(mxv_element_to_f32(format, code));
}

static void hit(struct mxv_events_reader *r, enum mxv_input_event event)
{
    r->events->count[event]++;
}

void mxv_events_begin(struct mxv_events_reader *r, const struct mxv_attention *a, size_t sequence,
                      struct mxv_events *events, const struct mxv_tap_sink *next)
{
    memset(r, 0, sizeof *r);
    r->a = a;
    r->lq = a->cu_q[sequence + 1] - a->cu_q[sequence];
    r->lk = a->cu_k[sequence + 1] - a->cu_k[sequence];
    r->events = events;
    if (next)
        r->next = *next;
    r->scores = malloc(a->tile_m * a->tile_n * sizeof *r->scores);
    r->max = malloc(a->tile_m * sizeof *r->max);
    r->old_max = malloc(a->tile_m * sizeof *r->old_max);
    r->out_of_memory = !r->scores || !r->max || !r->old_max;
}

void mxv_events_end(struct mxv_events_reader *r)
{
    free(r->scales);
    free(r->scores);
    free(r->max);
    free(r->old_max);
    r->scales = NULL;
    r->scores = r->max = r->old_max = NULL;
}

static void mark(struct mxv_events_reader *r, enum mxv_event_table table, uint32_t code)
{
    r->events->codes[table][code >> 5 & 7] |= UINT32_C(1) << (code & 31);
}

// ---- operands -----------------------------------------------------------------------------------

static void take_scales(struct mxv_events_reader *r, const struct mxv_tap *t)
{
    enum mxv_element format = mxv_tap_format(r->a, t->stage, t->route);
    size_t n = t->rows * t->cols;
    bool bytes = format == MXV_E8M0 || format == MXV_E4M3 || format == MXV_UE4M3;
    for (size_t i = 0; i < n; i++) {
        uint32_t nan = format == MXV_E8M0 ? 0xFF : 0x7F;
        if (!bytes) {
            if (t->route == MXV_ROUTE_INT8 && word_value(t->words[i]) == 0)
                hit(r, MXV_INPUT_SCALE_F32_ZERO);
            continue;
        }
        if (t->words[i] == nan) {
            hit(r, MXV_INPUT_SCALE_NAN);
            continue;
        }
        mark(r, format == MXV_E8M0 ? MXV_TABLE_E8M0 : MXV_TABLE_UE4M3, t->words[i]);
        if (t->words[i] == 0)
            hit(r, MXV_INPUT_SCALE_LEAST);
        if (t->words[i] == nan - 1)
            hit(r, MXV_INPUT_SCALE_LARGEST);
    }
    if (t->stage != MXV_STAGE_K_SCALE)
        return;
    free(r->scales);
    r->scales = malloc((n + 1) * sizeof *r->scales);
    r->scale_cols = t->cols;
    if (r->scales)
        memcpy(r->scales, t->words, n * sizeof *r->scales);
    else
        r->out_of_memory = true;
}

static void mark_code(struct mxv_events_reader *r, enum mxv_element format, uint32_t code)
{
    if (format == MXV_E2M1)
        mark(r, MXV_TABLE_E2M1, code);
    if (format == MXV_E4M3)
        mark(r, MXV_TABLE_E4M3, code);
    if (format == MXV_E5M2)
        mark(r, MXV_TABLE_E5M2, code);
    if (format == MXV_S8)
        mark(r, MXV_TABLE_INT8, code);
}

static void take_code(struct mxv_events_reader *r, enum mxv_element format, uint32_t code)
{
    float x = code_value(format, code);
    if (x != x) {
        hit(r, MXV_INPUT_CODE_NAN);
        return;
    }
    if (isfinite(x))
        mark_code(r, format, code);
    if (format == MXV_S8) {
        if (fabsf(x) == 127)
            hit(r, MXV_INPUT_CODE_LARGEST);
        return;
    }
    const struct mxv_element_info *info = mxv_element_get(format);
    float least_normal = ldexpf(1, 1 - info->bias);
    if (x == 0 && signbit(x))
        hit(r, MXV_INPUT_CODE_NEGATIVE_ZERO);
    if (x != 0 && fabsf(x) < least_normal)
        hit(r, MXV_INPUT_CODE_SUBNORMAL);
    if (isfinite(x) && fabsf(x) == code_value(format, (uint32_t)mxv_element_get(format)->max_code))
        hit(r, MXV_INPUT_CODE_LARGEST);
}

// Whether y lies half-way between the value of its code and a neighbour in magnitude.
static bool is_tie(enum mxv_element format, float y, uint32_t code)
{
    if (format == MXV_S8)
        return fabsf(y - truncf(y)) == 0.5f;
    uint32_t sign = format == MXV_E2M1 ? 8 : 0x80, magnitude = code & (sign - 1);
    float x = fabsf(code_value(format, magnitude)), v = fabsf(y);
    if (v == x)
        return false;
    if (v < x && magnitude == 0)
        return false;
    float other = code_value(format, v > x ? magnitude + 1 : magnitude - 1);
    return isfinite(other) && 2 * v == x + other;
}

// The quotient that was rounded to the code; false where the input cannot be told.
static bool quotient(const struct mxv_events_reader *r, const struct mxv_tap *t, size_t row,
                     size_t col, float *y)
{
    const struct mxv_attention *a = r->a;
    enum mxv_element scale_format = mxv_tap_format(a, MXV_STAGE_K_SCALE, t->route);
    if (t->route == MXV_ROUTE_LOW && a->rebase) // the code is not that of the quotient
        return false;
    if (!r->scales || a->smooth_k || a->dual != MXV_DUAL_NONE || a->kv_cache ||
        a->kernel == MXV_KERNEL_DMA_RELEASED || a->in != MXV_F16 || a->vt == MXV_BF16)
        return false;
    size_t kv = t->head / (a->heads_q / a->heads_kv);
    size_t key = kv * a->cu_k[a->sequences] + a->cu_k[t->sequence] + row;
    size_t per = t->cols / r->scale_cols;
    uint32_t word = r->scales[row * r->scale_cols + col / per];
    float scale = code_value(scale_format, word);
    *y = a->k[key * a->d + col] / scale;
    return scale > 0 && isfinite(*y);
}

static void take_codes(struct mxv_events_reader *r, const struct mxv_tap *t)
{
    enum mxv_element format = mxv_tap_format(r->a, t->stage, t->route);
    bool keys = t->stage == MXV_STAGE_K_CODE && format != MXV_F16 && format != MXV_BF16;
    float largest =
        format == MXV_S8 ? 127 : code_value(format, (uint32_t)mxv_element_get(format)->max_code);
    for (size_t i = 0; i < t->rows * t->cols; i++) {
        float y;
        take_code(r, format, t->words[i]);
        if (!keys || !quotient(r, t, i / t->cols, i % t->cols, &y))
            continue;
        if (fabsf(y) > largest)
            hit(r, MXV_INPUT_SATURATED);
        else if (is_tie(format, y, t->words[i]))
            hit(r, MXV_INPUT_TIE);
    }
}

// ---- tiles --------------------------------------------------------------------------------------

static bool hidden(const struct mxv_events_reader *r, size_t row, size_t key)
{
    size_t first, end;
    mxv_attention_visible(r->a, r->lq, r->lk, row, &first, &end);
    return key < first || key >= end;
}

static void take_score(struct mxv_events_reader *r, const struct mxv_tap *t)
{
    size_t top = t->tile_q * r->a->tile_m, left = t->tile_k * r->a->tile_n;
    for (size_t i = 0; i < t->rows; i++) {
        const uint32_t *words = t->words + i * t->cols;
        bool equal = true;
        for (size_t c = 0; c < t->cols; c++) {
            float s = word_value(words[c]);
            r->scores[i * t->cols + c] = s;
            equal = equal && words[c] == words[0];
            if (left + c >= r->lk)
                hit(r, MXV_INPUT_SCORE_PADDING);
            else if (s != s)
                hit(r, MXV_INPUT_SCORE_NAN);
            else if (hidden(r, top + i, left + c))
                hit(r, MXV_INPUT_SCORE_MASKED);
            else if (isinf(s))
                hit(r, MXV_INPUT_SCORE_INF);
        }
        if (equal && t->cols > 1 && isfinite(word_value(words[0])))
            hit(r, MXV_INPUT_SCORE_EQUAL);
    }
}

// The first tile of a query tile has no maximum before it.
static void take_max(struct mxv_events_reader *r, const struct mxv_tap *t, bool first)
{
    size_t cols = r->a->tile_n;
    for (size_t i = 0; i < t->rows; i++) {
        float m = word_value(t->words[i]), largest = -INFINITY;
        r->old_max[i] = first ? -INFINITY : r->max[i];
        r->max[i] = m;
        for (size_t c = 0; c < cols; c++)
            largest = fmaxf(largest, r->scores[i * cols + c]);
        if (m == -INFINITY || m == MXV_MASKED_SENTINEL)
            hit(r, MXV_INPUT_ROW_EMPTY_SO_FAR);
        else if (m < largest)
            hit(r, MXV_INPUT_MAX_KEPT);
        if (isfinite(r->old_max[i]) && r->old_max[i] != MXV_MASKED_SENTINEL)
            hit(r, m > r->old_max[i] ? MXV_INPUT_MAX_RISES : MXV_INPUT_MAX_STAYS);
    }
}

static struct mxv_softmax softmax_of(const struct mxv_attention *a)
{
    bool released = a->kernel == MXV_KERNEL_DMA_RELEASED;
    return (struct mxv_softmax){.log2_scores = released || a->kernel == MXV_KERNEL_DMA,
                                .c = (float)(a->scale * 1.4426950408889634),
                                .tau = a->tau,
                                .offset = a->p_offset,
                                .exp = a->exp,
                                .finite = a->masked == MXV_MASKED_FINITE,
                                .unguarded = released,
                                .natural = released && a->mask == MXV_MASK_FULL};
}

static void take_weight(struct mxv_events_reader *r, const struct mxv_tap *t)
{
    const struct mxv_attention *a = r->a;
    bool words = a->kernel == MXV_KERNEL_DMA_RELEASED && a->mask == MXV_MASK_FULL;
    enum mxv_element format = words ? MXV_F32 : a->vt;
    const struct mxv_element_info *info = mxv_element_get(format);
    struct mxv_softmax p = softmax_of(a);
    float least_normal = ldexpf(1, 1 - info->bias);
    float largest =
        words ? INFINITY : code_value(format, (uint32_t)mxv_element_get(format)->max_code);
    for (size_t i = 0; i < t->rows * t->cols; i++) {
        float x = code_value(format, t->words[i]), s = r->scores[i], m = r->max[i / t->cols];
        if (x != 0 && x < least_normal)
            hit(r, MXV_INPUT_P_SUBNORMAL);
        bool zero = x == 0 && isfinite(s) && s != MXV_MASKED_SENTINEL && isfinite(m);
        if (!zero && x != largest)
            continue;
        float weight = mxv_softmax_weight(&p, s, mxv_softmax_shift(&p, m));
        if (zero)
            hit(r, weight == 0 ? MXV_INPUT_EXP_UNDERFLOW : MXV_INPUT_P_TO_ZERO);
        else if (weight > largest)
            hit(r, MXV_INPUT_P_SATURATED);
    }
}

static void take_broken(struct mxv_events_reader *r, const struct mxv_tap *t,
                        enum mxv_input_event event)
{
    for (size_t i = 0; i < t->rows * t->cols; i++)
        if (!isfinite(word_value(t->words[i])))
            hit(r, event);
}

static void take_out(struct mxv_events_reader *r, const struct mxv_tap *t)
{
    const struct mxv_element_info *info = mxv_element_get(r->a->out);
    float least_normal = ldexpf(1, 1 - info->bias);
    for (size_t row = 0; row < t->rows; row++) {
        size_t first, end;
        mxv_attention_visible(r->a, r->lq, r->lk, row, &first, &end);
        if (first >= end)
            hit(r, MXV_INPUT_ROW_EMPTY);
        for (size_t c = 0; c < t->cols; c++) {
            float x = code_value(r->a->out, t->words[row * t->cols + c]);
            if (x != x)
                hit(r, MXV_INPUT_OUT_NAN);
            else if (isinf(x))
                hit(r, MXV_INPUT_OUT_INF);
            else if (x == 0 && first < end)
                hit(r, MXV_INPUT_OUT_ZERO);
            else if (x != 0 && fabsf(x) < least_normal)
                hit(r, MXV_INPUT_OUT_SUBNORMAL);
        }
    }
}

static void take(void *ctx, const struct mxv_tap *t)
{
    struct mxv_events_reader *r = ctx;
    if (r->next.take)
        r->next.take(r->next.ctx, t);
    if (r->out_of_memory)
        return;
    switch (t->stage) {
    case MXV_STAGE_Q_SCALE:
    case MXV_STAGE_K_SCALE:
        take_scales(r, t);
        break;
    case MXV_STAGE_Q_CODE:
    case MXV_STAGE_K_CODE:
        take_codes(r, t);
        break;
    case MXV_STAGE_SCORE:
        r->fresh = t->tile_q != r->tile_q || !r->started;
        r->started = true;
        r->tile_q = t->tile_q;
        take_score(r, t);
        break;
    case MXV_STAGE_MAX:
        take_max(r, t, r->fresh);
        break;
    case MXV_STAGE_WEIGHT:
        take_weight(r, t);
        break;
    case MXV_STAGE_SUM:
        take_broken(r, t, MXV_INPUT_SUM_BROKEN);
        break;
    case MXV_STAGE_ACC:
        take_broken(r, t, MXV_INPUT_ACC_BROKEN);
        break;
    case MXV_STAGE_OUT:
        take_out(r, t);
        break;
    default:
        break;
    }
}

struct mxv_tap_sink mxv_events_sink(struct mxv_events_reader *reader)
{
    return (struct mxv_tap_sink){take, reader};
}
