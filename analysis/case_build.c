// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From a case to a call: options, first tokens of the sequences, tensors, plan. Every buffer
// belongs to struct mxv_case_data. Open choices are resolved here: scale auto = 1/sqrt(d) in
// binary64, poff auto = 8 for V in E4M3 and 0 otherwise (docs/kernels/contract.md 5), diag_tokens =
// D tiles rounded up, at least one. tests/unit/test_case_build.c fails if this is wrong.
#include "case_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t band_tiles(const struct mxv_case *c)
{
    size_t tiles = (c->diag_tokens + c->tile.n - 1) / c->tile.n;
    return c->diag_tokens ? tiles : c->diag;
}

static void bind_softmax(const struct mxv_case *c, struct mxv_attention *a)
{
    a->scale = c->scale == MXV_CASE_AUTO ? 1 / sqrt((double)a->d) : c->scale;
    a->mask = c->mask;
    a->align = c->align;
    a->left = c->left;
    a->right = c->right;
    a->tile_m = c->tile.m;
    a->tile_n = c->tile.n;
    a->order = c->order;
    a->exp = c->exp;
    a->tau = (float)c->tau;
    a->p_offset = c->p_offset != MXV_CASE_AUTO ? (float)c->p_offset : c->v == MXV_E4M3 ? 8 : 0;
    a->empty = c->empty;
    a->masked = c->masked;
    a->lse = c->lse;
    a->smooth_k = c->smooth_k;
}

static void bind_routes(const struct mxv_case *c, struct mxv_attention *a)
{
    a->mode = c->mode;
    a->high = c->high;
    a->low = c->low;
    a->rule = c->rule;
    a->rebase = c->rebase;
    a->dual = c->dual;
    a->plan = c->kernel == MXV_KERNEL_TILEMIX ? MXV_PLAN_WORDS : c->plan;
    a->diag = band_tiles(c);
    a->sink = c->sink;
    a->core_share = c->core_share;
    a->buffer_share = c->buffer_share;
    a->word_bits = (unsigned)c->word_bits;
    a->group = c->group;
    a->msb_first = c->bit_order == MXV_BITS_MSB;
    a->one_is_int8 = c->one == MXV_ONE_INT8;
    a->q_gran = c->q_gran;
    a->k_gran = c->k_gran;
    a->int8_round = c->int8_round;
    a->kv_cache = c->kv_cache;
    a->fold = c->fold;
}

void case_bind(const struct mxv_case *c, struct mxv_attention *a)
{
    memset(a, 0, sizeof *a);
    a->kernel = c->kernel;
    a->arch = c->arch;
    a->sequences = c->seqs.count ? c->seqs.count : c->batch;
    a->heads_q = c->heads_q;
    a->heads_kv = c->heads_kv;
    a->d = c->d;
    a->in = c->in;
    a->vt = c->v;
    a->out = c->out;
    a->faults = c->faults;
    bind_softmax(c, a);
    bind_routes(c, a);
}

enum mxv_status case_starts(const struct mxv_case *c, struct mxv_case_data *data, char *message,
                            size_t size)
{
    size_t n = data->a.sequences;
    data->cu_q = calloc(n + 1, sizeof *data->cu_q);
    data->cu_k = calloc(n + 1, sizeof *data->cu_k);
    data->a.cu_q = data->cu_q;
    data->a.cu_k = data->cu_k;
    if (!data->cu_q || !data->cu_k) {
        text_message(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        size_t lq = c->seqs.count ? c->seqs.at[i].lq : c->lq;
        size_t lk = c->seqs.count ? c->seqs.at[i].lk : c->lk;
        data->cu_q[i + 1] = data->cu_q[i] + lq;
        data->cu_k[i + 1] = data->cu_k[i] + lk;
    }
    return MXV_OK;
}

void mxv_case_extent(const struct mxv_case *c, struct mxv_case_extent *out)
{
    uint64_t scores = 0, q = 0, k = 0;
    if (c->seqs.count == 0) {
        q = (uint64_t)c->batch * c->lq;
        k = (uint64_t)c->batch * c->lk;
        scores = (uint64_t)c->batch * c->lq * c->lk;
    }
    for (size_t i = 0; i < c->seqs.count; i++) {
        q += c->seqs.at[i].lq;
        k += c->seqs.at[i].lk;
        scores += (uint64_t)c->seqs.at[i].lq * c->seqs.at[i].lk;
    }
    out->tokens_q = q;
    out->tokens_k = k;
    out->elements = (q * c->heads_q + 2 * k * c->heads_kv) * c->d;
    out->scores = scores * c->heads_q;
}

// Refuses what would not fit into the machine's memory, tensors only.
static enum mxv_status check_memory(const struct mxv_case *c, char *message, size_t size)
{
    struct mxv_case_extent extent;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    mxv_case_extent(c, &extent);
    double need = (double)extent.elements * sizeof(float);
    if (pages <= 0 || page <= 0 || need < (double)pages * (double)page)
        return MXV_OK;
    text_message(
        message, size,
        "the tensors need %.3g GiB, this machine has %.3g GiB: take fewer tokens, heads or "
        "sequences",
        need / 0x1p30, (double)pages * (double)page / 0x1p30);
    return MXV_ERR_INPUT; // no other way of running it would help
}

static enum mxv_status generate(const struct mxv_case *c, struct mxv_case_data *data, char *message,
                                size_t size)
{
    struct mxv_attention *a = &data->a;
    struct mxv_generator_source s = {
        .call = a, .generator = c->generator, .seed = c->seed, .gain = c->gain, .at = c->at};
    size_t tokens_q = a->cu_q[a->sequences], tokens_k = a->cu_k[a->sequences];
    data->q = malloc((tokens_q * a->heads_q * a->d + 1) * sizeof(float));
    data->k = malloc((tokens_k * a->heads_kv * a->d + 1) * sizeof(float));
    data->v = malloc((tokens_k * a->heads_kv * a->d + 1) * sizeof(float));
    if (!data->q || !data->k || !data->v) {
        text_message(message, size, "out of memory");
        return MXV_ERR_MEMORY;
    }
    mxv_generator_fill(&s, MXV_ROLE_Q, data->q);
    mxv_generator_fill(&s, MXV_ROLE_K, data->k);
    mxv_generator_fill(&s, MXV_ROLE_V, data->v);
    return MXV_OK;
}

static enum mxv_status make_tensors(const struct mxv_case *c, struct mxv_case_data *data,
                                    char *message, size_t size)
{
    enum mxv_status status;
    if (c->input[0])
        return case_read_input(c, data, message, size);
    status = check_memory(c, message, size);
    if (status == MXV_OK)
        status = case_starts(c, data, message, size);
    return status == MXV_OK ? generate(c, data, message, size) : status;
}

enum mxv_status mxv_case_build(const struct mxv_case *c, struct mxv_case_data *out, char *message,
                               size_t size)
{
    memset(out, 0, sizeof *out);
    enum mxv_status status = mxv_case_check(c, message, size);
    if (status != MXV_OK)
        return status;
    case_bind(c, &out->a);
    status = make_tensors(c, out, message, size);
    out->a.q = out->q;
    out->a.k = out->k;
    out->a.v = out->v;
    if (status == MXV_OK && out->a.plan == MXV_PLAN_ENTROPY)
        status = case_make_widths(c, out, message, size);
    if (status == MXV_OK && out->a.plan == MXV_PLAN_WORDS)
        status = case_make_words(c, out, message, size);
    if (status == MXV_OK)
        status = case_check_call(&out->a, message, size);
    if (status != MXV_OK)
        mxv_case_free(out);
    return status;
}

void mxv_case_free(struct mxv_case_data *data)
{
    free(data->cu_q);
    free(data->cu_k);
    free(data->q);
    free(data->k);
    free(data->v);
    free(data->route_words);
    free(data->diag_tiles);
    memset(data, 0, sizeof *data);
}
