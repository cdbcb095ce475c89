# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the command-line tests: a scratch folder in $work, `check`, and the closing line.
work=$(mktemp -d) || exit 1
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
failures=0
checks=0

check() { # description, expected, got
    checks=$((checks + 1))
    if [ "$2" != "$3" ]; then
        failures=$((failures + 1))
        printf 'FAILED %s\n  expected %s\n  got      %s\n' "$1" "$2" "$3"
    fi
}

finish() { # status of the test
    printf '%d checks, %d failed\n' "$checks" "$failures"
    [ "$failures" -eq 0 ]
}
