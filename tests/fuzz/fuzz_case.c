// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target of the case language: no input may crash the parser; a line that it takes prints,
// reads back to the same case, prints the same again and passes mxv_case_check; a refused one
// leaves a message that begins with its column and the case untouched. Small cases without files
// are built.
#include <mxverify/case.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz_case: %s\n", what);
    abort();
}

static void build_small(const struct mxv_case *c)
{
    struct mxv_case_extent e;
    struct mxv_case_data d;
    char message[512];
    mxv_case_extent(c, &e);
    if (c->input[0] || c->planfile[0] || e.elements > 20000 || e.scores > 20000)
        return;
    require(mxv_case_build(c, &d, message, sizeof message) == MXV_OK, message);
    mxv_case_free(&d);
}

static void accepted(const struct mxv_case *c)
{
    static char line[MXV_CASE_LINE_SIZE], again[MXV_CASE_LINE_SIZE];
    char message[512] = "";
    struct mxv_case back;
    require(mxv_case_print(c, line, sizeof line) < sizeof line, "line too long");
    require(mxv_case_parse(line, &back, message, sizeof message) == MXV_OK, message);
    require(mxv_case_equal(c, &back), "read back differs");
    mxv_case_print(&back, again, sizeof again);
    require(strcmp(line, again) == 0, "prints differently");
    require(mxv_case_check(c, message, sizeof message) == MXV_OK, message);
    build_small(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mxv_case c, untouched;
    char message[512] = "", *line = malloc(size + 1);
    require(line != NULL, "out of memory");
    if (size)
        memcpy(line, data, size);
    line[size] = '\0';
    memset(&c, 0x3c, sizeof c);
    untouched = c;
    if (mxv_case_parse(line, &c, message, sizeof message) == MXV_OK) {
        accepted(&c);
    } else {
        require(strncmp(message, "column ", 7) == 0, "message without a column");
        require(memcmp(&c, &untouched, sizeof c) == 0, "refused, but the case changed");
    }
    free(line);
    return 0;
}
