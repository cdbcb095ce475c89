// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the reader of logs and the writers of reports.
#ifndef MXV_REPORT_INTERNAL_H
#define MXV_REPORT_INTERNAL_H

#include "tensor_file_output.h"

#include <jansson.h>
#include <mxverify/report.h>

// A name that stays as long as the report; equal names are one pointer. NULL: no memory.
const char *mxv_report_name(struct mxv_report *report, const char *text, size_t length);

// Appends the numbers and texts of `object` to *values, but for the members at its top that are
// listed in `without` (ends with NULL). false: no memory.
bool mxv_report_flatten(struct mxv_report *report, const json_t *object, const char *const *without,
                        struct mxv_report_values *values);
void mxv_report_values_free(struct mxv_report_values *values);

// Word as it stands in a POSIX shell, appended to *text (malloc'ed, NULL at first). false: no
// memory, *text is released.
bool mxv_report_append(char **text, const char *more);
bool mxv_report_append_quoted(char **text, const char *word);

// The object that a page embeds for map `index` of the case; adds its size to *bytes. Maps beyond
// `limit` bytes are described but not embedded. NULL: no memory.
json_t *mxv_html_map(const struct mxv_report *report, const struct mxv_report_case *c, size_t index,
                     size_t limit, size_t *bytes);

// All that the page shows, as one object. NULL: no memory.
json_t *mxv_html_data(const struct mxv_report *report);

#endif
