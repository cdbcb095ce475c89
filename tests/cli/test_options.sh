#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# docs/options.md is what the program's help texts say; every verb has one, on standard output.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"

sh "$source/tests/cli/options_page.sh" "$program" > "$work/page" 2> "$work/err"
check "the page can be made" 0 $?
check "nothing on standard error" "" "$(cat "$work/err")"
check "docs/options.md is that page (sh tests/cli/options_page.sh PROGRAM > docs/options.md)" "" \
    "$(diff "$source/docs/options.md" "$work/page" | head -6)"
verbs=$("$program" --help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p')
for verb in $verbs; do
    "$program" "$verb" --help > "$work/help" 2> "$work/err"
    check "$verb --help: status" 0 $?
    check "$verb --help: begins with its usage" 1 "$(head -n 1 "$work/help" | grep -c "^Usage: mxverify $verb")"
done
check "verbs" yes "$([ "$(echo "$verbs" | wc -w)" -ge 15 ] && echo yes)"
finish
