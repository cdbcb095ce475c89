// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Scales, axis marks and summary lines of a map. tests/unit/test_map.c fails if this file is wrong.
#include "map_scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double round_steps[] = {1, 2, 5};

// The largest 1, 2 or 5 times a power of ten that is <= x (x > 0).
static double round_below(double x)
{
    double power = pow(10, floor(log10(x)));
    double result = power <= x ? power : power / 10;
    for (size_t i = 1; i < 3; i++)
        result = round_steps[i] * power <= x ? round_steps[i] * power : result;
    return result > 0 ? result : x; // 10^k is not a binary64 below 1e-323
}

static double round_above(double x)
{
    double below = round_below(x);
    if (below == x)
        return x;
    double power = pow(10, floor(log10(below) + 0.01));
    if (power == 0)
        return 10 * x;
    for (size_t i = 0; i < 3; i++) {
        if (round_steps[i] * power >= x)
            return round_steps[i] * power;
    }
    return 10 * power;
}

struct mxv_map_scale mxv_map_scale_for(const struct mxv_map *map)
{
    struct mxv_map_range range = mxv_map_range(map);
    struct mxv_map_scale scale = {map->log_scale, 0, 1};
    if (range.nonzero > 0)
        scale.high = round_above(range.largest);
    if (scale.logarithmic) {
        scale.low = range.nonzero > 0 ? round_below(range.smallest) : 0.1;
        scale.low = fmin(scale.low, scale.high / 10);
    }
    return scale;
}

double mxv_map_scale_level(const struct mxv_map_scale *scale, double value)
{
    double level = scale->logarithmic ? (log10(value) - log10(scale->low)) /
                                            (log10(scale->high) - log10(scale->low))
                                      : value / scale->high;
    return fmin(1, fmax(0, level));
}

static size_t log_marks(const struct mxv_map_scale *scale, double *marks, size_t capacity)
{
    int first = (int)floor(log10(scale->low) + 0.01), last = (int)ceil(log10(scale->high) - 0.01);
    bool fine = (size_t)(last - first + 1) * 3 <= capacity;
    int stride = fine ? 1 : (int)((size_t)(last - first) / capacity) + 1;
    size_t count = 0;
    for (int decade = first; decade <= last && count < capacity; decade += stride) {
        for (size_t i = 0; i < (fine ? 3 : 1) && count < capacity; i++) {
            double mark = round_steps[i] * pow(10, decade);
            if (mark >= scale->low * 0.999 && mark <= scale->high * 1.001)
                marks[count++] = mark;
        }
    }
    return count;
}

size_t mxv_map_scale_marks(const struct mxv_map_scale *scale, double *marks, size_t capacity)
{
    if (scale->logarithmic)
        return log_marks(scale, marks, capacity);
    double step = round_above(scale->high / (double)(capacity - 1));
    size_t count = 0;
    while (count < capacity && (double)count * step <= scale->high * 1.001) {
        marks[count] = (double)count * step;
        count++;
    }
    return count;
}

void mxv_map_axis_span(const struct mxv_map_axis *axis, size_t cell, size_t *first, size_t *last)
{
    size_t begin = cell * axis->step;
    size_t end = begin + axis->step < axis->extent ? begin + axis->step : axis->extent;
    *first = axis->origin + begin;
    *last = axis->origin + (end > begin ? end - 1 : begin);
}

size_t mxv_map_axis_stride(size_t cells, size_t marks)
{
    size_t stride = 1;
    while (cells / stride + 1 > marks && stride < cells)
        stride *= 2;
    return stride;
}

void mxv_map_number_print(double value, char *buffer, size_t size)
{
    if (value == floor(value) && fabs(value) < 100000) {
        snprintf(buffer, size, "%.0f", value);
        return;
    }
    snprintf(buffer, size, "%.3g", value);
    char *exponent = strchr(buffer, 'e');
    if (!exponent)
        return;
    char *digits = exponent + (exponent[1] == '+' ? 1 : 2);
    exponent += exponent[1] == '-' ? 2 : 1;
    digits += strspn(digits, "+0");
    memmove(exponent, digits, strlen(digits) + 1);
}

static void print_span(char *buffer, size_t size, const struct mxv_map_axis *axis, size_t cell)
{
    size_t first, last;
    mxv_map_axis_span(axis, cell, &first, &last);
    if (first == last)
        snprintf(buffer, size, "%s %zu", axis->label, first);
    else
        snprintf(buffer, size, "%s %zu-%zu", axis->label, first, last);
}

void mxv_map_worst_line(const struct mxv_map *map, char *buffer, size_t size)
{
    struct mxv_map_range range = mxv_map_range(map);
    char down[MXV_MAP_LABEL_SIZE + 48], across[MXV_MAP_LABEL_SIZE + 48];
    if (range.nonzero + range.broken == 0) {
        snprintf(buffer, size, "%s", range.zero ? "no error anywhere" : "nothing was computed");
        return;
    }
    print_span(down, sizeof down, &map->down, range.worst_row);
    print_span(across, sizeof across, &map->across, range.worst_col);
    char number[32];
    mxv_map_number_print(range.largest, number, sizeof number);
    if (range.broken)
        snprintf(buffer, size, "first NaN/Inf at %s, %s; largest number %s %s", down, across,
                 number, map->unit);
    else
        snprintf(buffer, size, "largest %s %s at %s, %s", number, map->unit, down, across);
}

void mxv_map_count_line(const struct mxv_map *map, char *buffer, size_t size)
{
    struct mxv_map_range range = mxv_map_range(map);
    snprintf(buffer, size, "cells: %zu with error, %zu exact, %zu NaN/Inf, %zu not computed",
             range.nonzero, range.zero, range.broken, range.empty);
}
