#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# selftest as a user calls it: statuses, table, and docs/faults.md in step with the list of faults.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"

"$program" selftest --markdown > "$work/table"
sed -n '/^| fault |/,$p' "$source/docs/faults.md" > "$work/doc"
check "docs/faults.md holds the table of selftest --markdown" "" "$(diff "$work/table" "$work/doc" | head -4)"

"$program" selftest --faults --kernel tilemix --fault int8-truncation > "$work/one" 2> "$work/err"
check "a fault is caught" 0 $?
check "its row" 1 "$(grep -c '^int8-truncation .*smoke 1 q.code' "$work/one")"
check "totals" 1 "$(grep -c '^1 of 1 faults x kernels caught, 1 (100.0%) at the right stage' "$work/one")"
"$program" selftest --faults --kernel flash --fault window-tile --count 1 > "$work/missed"
check "a fault missed fails" 1 $?
check "it says so" 1 "$(grep -c 'MISSED in 1' "$work/missed")"
"$program" selftest --faults --kernel flash --fault nibble-order > /dev/null
check "a fault that does not apply is skipped" 77 $?
"$program" selftest --healthy 6 --kernel flash > "$work/healthy"
check "healthy kernels pass" 0 $?
check "no false alarm" 1 "$(grep -c '^6 fuzz cases on healthy kernels, 0 false alarms' "$work/healthy")"
for bad in "" "--faults --kernel flesh" "--faults --fault D0" "--healthy 0" "--healthy" "--healthy x" "--what" "--faults --count -1"; do
    "$program" selftest $bad > /dev/null 2> "$work/err"
    check "refused: selftest $bad" 3 $?
    check "one line: selftest $bad" 1 "$(wc -l < "$work/err" | tr -d ' ')"
done
for bad in D0 nope; do
    for with in "" --faults "--healthy 2"; do
        "$program" selftest $with --fault $bad > /dev/null 2> "$work/err"
        check "unknown fault with '$with': message in: $(cat "$work/err")" 1 "$(grep -c -- "--fault $bad: no such fault" "$work/err")"
    done
done
"$program" selftest --healthy 2 --fault D1 > /dev/null 2> "$work/err"
check "a fault of no use: status" 3 $?
check "a fault of no use: message in: $(cat "$work/err")" 1 "$(grep -c -- '--fault D1 goes with --faults' "$work/err")"
finish
