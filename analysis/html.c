// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A run as one HTML page. The page is analysis/html/page.html with its @WORDS@ replaced: the style,
// the data (html_data.c), the scripts. It loads nothing else and its policy forbids it to.
//
// The data stand in a script element that is not run, with every `<` as \u003c, so that no text of
// a log can end it. tests/unit/test_report_html.c and tests/cli/test_report_browser.sh fail if this
// file is wrong.
#include "report_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// Text files built into the library, NUL-terminated (cmake/MxvEmbed.cmake).
extern const unsigned char mxv_embedded_page_html[];
extern const unsigned char mxv_embedded_page_css[];
extern const unsigned char mxv_embedded_table_js[];
extern const unsigned char mxv_embedded_maps_js[];

static int put_escaped(const char *bytes, size_t length, void *stream)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == '<' ? fputs("\\u003c", stream) < 0 : putc(bytes[i], stream) == EOF)
            return -1;
    return 0;
}

static bool put_word(FILE *out, const char *word, size_t length, const json_t *data)
{
    static const struct {
        const char *word;
        const unsigned char *text;
    } texts[] = {{"STYLE", mxv_embedded_page_css},
                 {"TABLE", mxv_embedded_table_js},
                 {"MAPS", mxv_embedded_maps_js}};
    if (length == 4 && strncmp(word, "DATA", 4) == 0)
        return json_dump_callback(data, put_escaped, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) ==
               0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strlen(texts[i].word) == length && strncmp(word, texts[i].word, length) == 0)
            return fputs((const char *)texts[i].text, out) >= 0;
    return false;
}

static bool put_page(FILE *out, const json_t *data)
{
    const char *at = (const char *)mxv_embedded_page_html, *mark;
    while ((mark = strchr(at, '@'))) {
        const char *end = strchr(mark + 1, '@');
        if (!end || fwrite(at, 1, (size_t)(mark - at), out) != (size_t)(mark - at) ||
            !put_word(out, mark + 1, (size_t)(end - mark - 1), data))
            return false;
        at = end + 1;
    }
    return fputs(at, out) >= 0;
}

enum mxv_status mxv_report_write_html(const struct mxv_report *report, const char *path,
                                      char *message, size_t message_size)
{
    struct mxv_file_report messages = {path, message, message_size};
    struct mxv_file_output output;
    json_t *data = mxv_html_data(report);
    if (!data)
        return mxv_file_fail(&messages, MXV_ERR_MEMORY, "no memory for the page");
    enum mxv_status status = mxv_file_output_begin(path, &output, &messages);
    if (status == MXV_OK) {
        errno = 0;
        status = put_page(output.stream, data) ? mxv_file_output_commit(&output, &messages)
                                               : mxv_file_output_fail(&output, &messages);
    }
    json_decref(data);
    return status;
}
