#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: options_page.sh PROGRAM > docs/options.md
# The page of all options, of the program's own help texts; test_options.sh compares.
set -eu
unset ARGP_HELP_FMT
program=$1

# One help text as a block; its trailing blanks and blank lines at the end go.
block() {
    printf '```text\n'
    text=$("$program" "$@" --help)
    printf '%s\n' "$text" | sed 's/ *$//'
    printf '```\n'
}

cat << 'END'
<!--
SPDX-FileCopyrightText: 2026 The mxverify authors
SPDX-License-Identifier: Apache-2.0
-->

# Options

Made by `sh tests/cli/options_page.sh build/release/mxverify > docs/options.md` from what `mxverify VERB --help` prints; `tests/cli/test_options.sh` compares. What the verbs are for:
[the first hour](first-hour.md), [running](running.md), [check](check.md), [eval](eval.md), [probe](probe.md), [shrink](shrink.md), [properties](properties.md), [reports](reports.md).

END
block
"$program" --help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r verb; do
    printf '\n## %s\n\n' "$verb"
    block "$verb"
done
