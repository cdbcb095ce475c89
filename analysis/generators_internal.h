// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the generator families share: the place of an element, and draws at it.
#ifndef MXV_GENERATORS_INTERNAL_H
#define MXV_GENERATORS_INTERNAL_H

#include <mxverify/generators.h>

struct place {
    const struct mxv_generator_source *s;
    enum mxv_tensor_role role;
    size_t sequence, head, token, channel;
    size_t lq, lk;
};

// Streams keep the draws of one place apart. Element streams depend on the channel, block streams
// on channel / 32 (HALF: / 16), row streams on the token, head streams on neither; CHANNEL streams
// depend on the channel but not on the token.
enum stream {
    STREAM_ELEMENT,
    STREAM_NORMAL, // and STREAM_NORMAL + 1
    STREAM_CHOICE = 4,
    STREAM_BLOCK,
    STREAM_HALF,
    STREAM_ROW,
    STREAM_HEAD,
    STREAM_CHANNEL,
    STREAM_SPECIAL,
    STREAM_TILE
};

struct words {
    uint32_t w[4];
};

struct words draw_element(const struct place *p, enum stream stream);
struct words draw_block(const struct place *p);
struct words draw_half(const struct place *p);
struct words draw_row(const struct place *p);
struct words draw_head(const struct place *p);
struct words draw_channel(const struct place *p);
struct words draw_tile(const struct place *p, size_t tile);

// Standard normal value of the element, by Teichroew's polynomial in a sum of 12 uniforms (Knuth,
// The Art of Computer Programming 2, 3.4.1): |error| of a quantile below 0.01 for |x| < 3.4,
// largest magnitude 9.9. Only + - * of binary64 numbers.
double draw_normal(const struct place *p);

// +1 or -1: the channel's sign in the direction that queries and keys of a KV head share.
double draw_direction(const struct place *p);
// +1 or -1: the channel's sign in key `key` of the query's KV head (role Q) or of the head itself.
double draw_key_sign(const struct place *p, size_t key);

// 2^e, exactly, for -1000 <= e <= 1000.
double power_of_two(int e);
static inline double signed_by(uint32_t bit, double x)
{
    return bit & 1 ? -x : x;
}
size_t place_tokens(const struct place *p); // lq for Q, lk else

#define X(id, name, text) double generate_##name(const struct place *p);
#include <mxverify/generators.def>
#undef X

#endif
