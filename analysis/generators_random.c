// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Draws: Philox4x32-10 words (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011) at a counter made of coordinates. Key: the seed. Counter words: column | stream << 16,
// token, head | sequence << 16, role | generator << 8. Exact integer work; draw_normal is a fixed
// sequence of binary64 operations, so the same on every machine that follows IEEE 754.
// tests/unit/test_generators.c fails if this is wrong (published Philox vectors, moments, golden
// hashes).
#include "generators_internal.h"
#include <Random123/philox.h>
#include <math.h>

void mxv_random_words(uint64_t key, const uint32_t counter[4], uint32_t out[4])
{
    philox4x32_ctr_t c = {{counter[0], counter[1], counter[2], counter[3]}};
    philox4x32_key_t k = {{(uint32_t)key, (uint32_t)(key >> 32)}};
    philox4x32_ctr_t r = philox4x32(c, k);
    for (int i = 0; i < 4; i++)
        out[i] = r.v[i];
}

uint32_t mxv_random_below(uint32_t word, uint32_t count)
{
    return (uint32_t)((uint64_t)word * count >> 32);
}

static struct words draw(const struct place *p, enum mxv_tensor_role role, size_t head,
                         unsigned stream, size_t column, size_t token)
{
    uint32_t counter[4] = {(uint32_t)column | (uint32_t)stream << 16, (uint32_t)token,
                           (uint32_t)head | (uint32_t)p->sequence << 16,
                           (uint32_t)role | (uint32_t)p->s->generator << 8};
    struct words r;
    mxv_random_words(p->s->seed, counter, r.w);
    return r;
}

struct words draw_element(const struct place *p, enum stream stream)
{
    return draw(p, p->role, p->head, stream, p->channel, p->token);
}

struct words draw_block(const struct place *p)
{
    return draw(p, p->role, p->head, STREAM_BLOCK, p->channel / 32, p->token);
}

struct words draw_half(const struct place *p)
{
    return draw(p, p->role, p->head, STREAM_HALF, p->channel / 16, p->token);
}

struct words draw_row(const struct place *p)
{
    return draw(p, p->role, p->head, STREAM_ROW, 0, p->token);
}

struct words draw_head(const struct place *p)
{
    return draw(p, p->role, p->head, STREAM_HEAD, 0, 0);
}

struct words draw_channel(const struct place *p)
{
    return draw(p, p->role, p->head, STREAM_CHANNEL, p->channel, 0);
}

struct words draw_tile(const struct place *p, size_t tile)
{
    return draw(p, p->role, p->head, STREAM_TILE, 0, tile);
}

static size_t kv_head(const struct place *p)
{
    const struct mxv_attention *a = p->s->call;
    return p->role == MXV_ROLE_Q ? p->head / (a->heads_q / a->heads_kv) : p->head;
}

double draw_direction(const struct place *p)
{
    struct words r = draw(p, MXV_ROLE_K, kv_head(p), STREAM_CHANNEL, p->channel, 0);
    return signed_by(r.w[0], 1);
}

double draw_key_sign(const struct place *p, size_t key)
{
    struct words r = draw(p, MXV_ROLE_K, kv_head(p), STREAM_ELEMENT, p->channel, key);
    return signed_by(r.w[0], 1);
}

// Twelve 21-bit uniforms out of eight words.
static double sum_of_twelve(const uint32_t w[8])
{
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t pair = (uint64_t)w[2 * i] << 32 | w[2 * i + 1];
        sum += (pair & 0x1fffff) + (pair >> 21 & 0x1fffff) + (pair >> 42 & 0x1fffff);
    }
    return ((double)sum + 6) * 0x1p-21; // + 6: each uniform at the middle of its cell
}

double draw_normal(const struct place *p)
{
    struct words lo = draw_element(p, STREAM_NORMAL);
    struct words hi = draw_element(p, STREAM_NORMAL + 1);
    uint32_t w[8] = {lo.w[0], lo.w[1], lo.w[2], lo.w[3], hi.w[0], hi.w[1], hi.w[2], hi.w[3]};
    double r = (sum_of_twelve(w) - 6) / 4, r2 = r * r;
    double x = 0.029899776 * r2 + 0.008355968;
    x = x * r2 + 0.076542912;
    x = x * r2 + 0.252408784;
    return (x * r2 + 3.949846138) * r;
}

double power_of_two(int e)
{
    return ldexp(1, e);
}

size_t place_tokens(const struct place *p)
{
    return p->role == MXV_ROLE_Q ? p->lq : p->lk;
}
