// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to the ledger: where a value stands in a JSON text. jansson checks the syntax, but its
// values do not know their place.
#ifndef MXV_LEDGER_INTERNAL_H
#define MXV_LEDGER_INTERNAL_H

#include <stddef.h>

// All of these take text that is known to be a JSON document. `at` points to the first character of
// a value.
const char *ledger_json_start(const char *text);
// Value of a member of an object; the object itself when there is none of that name.
const char *ledger_json_member(const char *at, const char *name);
// Item i of an array; the array itself when there is none.
const char *ledger_json_item(const char *at, size_t i);
// Line and column, from 1, of a place in the text. Columns count characters (UTF-8).
void ledger_json_place(const char *text, const char *at, size_t *line, size_t *column);

#endif
