// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to recorded results: the text of the taps of a whole record.
#ifndef MXV_RECORDED_INTERNAL_H
#define MXV_RECORDED_INTERNAL_H

#include <mxverify/recorded.h>

// Bytes that recorded_taps_print writes at most, the terminating NUL among them.
size_t recorded_taps_size(const struct mxv_recorded *r);
// Lines of all taps, each with a line end before it.
void recorded_taps_print(const struct mxv_recorded *r, char *text);

#endif
