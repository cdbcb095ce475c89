// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Colours and letters of maps.
//
// Error colours: 17 anchors of a path in OKLCh (B. Ottosson, "A perceptual color space for image
// processing", 2020): lightness 0.955 falling to 0.24 in equal steps, hue 106 to 306 degrees,
// chroma 0.15 or what fits sRGB; linear between anchors, in integers. Equal steps of lightness keep
// the order under every colour blindness and in grey print. Route colours: M. Okabe and K. Ito,
// "Color Universal Design", 2008. tests/unit/test_map.c fails if this file is wrong.
#include "map_scale.h"

#include <ctype.h>
#include <math.h>

enum { ANCHORS = 17 };

static const uint32_t anchors[ANCHORS] = {
    0xFEF676, 0xD8EF75, 0xB0E77A, 0x85DD83, 0x55D28D, 0x02C597, 0x07B39F, 0x07A1A0, 0x01909D,
    0x038099, 0x026F95, 0x005E93, 0x014A98, 0x21358F, 0x2E207E, 0x32066B, 0x2E004C,
};

static const uint32_t route_colours[] = {0x000000, 0x0072B2, 0xD55E00, 0x009E73,
                                         0xCC79A7, 0x999999, 0xE69F00, 0x56B4E9};

static uint32_t blend_channel(uint32_t a, uint32_t b, unsigned shift, uint32_t part)
{
    uint32_t from = a >> shift & 0xFF, to = b >> shift & 0xFF;
    return (from * (256 - part) + to * part + 128) / 256 << shift;
}

uint32_t mxv_map_colour(double t)
{
    double bounded = t >= 0 ? fmin(t, 1) : 0;
    uint32_t position = (uint32_t)(bounded * 256 * (ANCHORS - 1) + 0.5);
    uint32_t index = position / 256, part = position % 256;
    uint32_t a = anchors[index], b = anchors[index + 1 < ANCHORS ? index + 1 : index];
    return blend_channel(a, b, 16, part) | blend_channel(a, b, 8, part) |
           blend_channel(a, b, 0, part);
}

uint32_t mxv_map_route_colour(unsigned route)
{
    if (route == MXV_MAP_ROUTE_MIXED)
        return 0x666666;
    return route_colours[route % (sizeof route_colours / sizeof *route_colours)];
}

char mxv_map_route_letter(unsigned route)
{
    const char *name = mxv_choice_name(MXV_CHOICE_ROUTE, route);
    if (route == MXV_ROUTE_SKIP)
        return '-';
    return route == MXV_MAP_ROUTE_MIXED || !name ? '*' : (char)toupper((unsigned char)name[0]);
}

const char *mxv_map_route_name(unsigned route)
{
    const char *name = mxv_choice_name(MXV_CHOICE_ROUTE, route);
    return route == MXV_MAP_ROUTE_MIXED || !name ? "several" : name;
}

size_t mxv_map_routes_present(const struct mxv_map *map, unsigned routes[MXV_ROUTE_COUNT + 1])
{
    bool present[MXV_ROUTE_COUNT + 1] = {false};
    for (size_t i = 0; map->routes && i < map->rows * map->cols; i++) {
        unsigned route = map->routes[i] < MXV_ROUTE_COUNT ? map->routes[i] : MXV_ROUTE_COUNT;
        present[route] = true;
    }
    present[MXV_ROUTE_SKIP] = false;
    size_t count = 0;
    for (unsigned i = 0; i <= MXV_ROUTE_COUNT; i++) {
        if (present[i])
            routes[count++] = i < MXV_ROUTE_COUNT ? i : MXV_MAP_ROUTE_MIXED;
    }
    return count;
}

uint32_t mxv_map_ink_on(uint32_t colour)
{
    uint32_t weighted =
        (colour >> 16 & 0xFF) * 299 + (colour >> 8 & 0xFF) * 587 + (colour & 0xFF) * 114;
    return weighted > 128 * 1000 ? 0x000000 : 0xFFFFFF;
}
