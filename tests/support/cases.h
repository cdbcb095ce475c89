// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// For tests that work on cases: build from a line or fail, words of floats.
#ifndef MXV_TEST_CASES_H
#define MXV_TEST_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mxverify/case.h>
#include <mxverify/element.h>

__attribute__((unused)) static uint32_t word_of(float x)
{
    uint32_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

__attribute__((unused)) static float float_of(uint32_t w)
{
    float x;
    memcpy(&x, &w, sizeof x);
    return x;
}

__attribute__((unused)) static void parse(const char *line, struct mxv_case *c)
{
    char message[2000];
    if (mxv_case_parse(line, c, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
}

__attribute__((unused)) static void build(const char *line, struct mxv_case_data *data)
{
    struct mxv_case c;
    char message[2000];
    parse(line, &c);
    if (mxv_case_build(&c, data, message, sizeof message) != MXV_OK)
        fail_msg("%s: %s", line, message);
}

#endif
