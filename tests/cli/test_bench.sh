#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# mxverify bench as a user calls it, and a guard against lost speed: ratios of vector to scalar
# forms within one run, best of several samples, far below what is measured when nothing is wrong
# (docs/performance.md). A ratio that falls short is measured once more at leisure.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"

field() { # name, line of JSON: its value without quotes
    printf '%s\n' "$2" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

ratio_of() { # row, level, seconds: best over scalar, rounded down; empty if there is no such row
    "$program" bench --json --filter "$1" --seconds "$3" > "$work/row" 2> "$work/err" || return 1
    line=$(grep "\"work\":\"$1\",\"level\":\"$2\"" "$work/row")
    [ -n "$line" ] || return 1
    printf '%s %s\n' "$(field best "$line")" "$(field scalar "$line")" |
        awk '{ printf "%d", $1 / $2 }'
}

floor() { # row, level, least ratio
    got=$(ratio_of "$1" "$2" 0.03)
    if [ "${got:-0}" -lt "$3" ]; then
        got=$(ratio_of "$1" "$2" 0.5)
    fi
    [ "${got:-0}" -ge "$3" ] && got=enough
    check "$1 at level $2 is at least $3 times the scalar form" enough "${got:-nothing}"
}

"$program" bench --json --filter ex2 --seconds 0.01 > "$work/ex2"
check "a row can be selected" 0 $?
levels=$(sed -n 's/.*"level":"\([a-z0-9]*\)".*/\1/p' "$work/ex2")
level=$(printf '%s\n' "$levels" | tail -1)
check "the portable level is always there" portable "$(printf '%s\n' "$levels" | head -1)"
check "all levels give the same words" 1 \
    "$(sed -n 's/.*"checksum":"\([0-9a-f]*\)".*/\1/p' "$work/ex2" | sort -u | wc -l | tr -d ' ')"
MXV_SIMD=portable "$program" bench --json --filter ex2 --seconds 0.01 > "$work/portable"
check "MXV_SIMD limits the levels" 1 "$(wc -l < "$work/portable" | tr -d ' ')"

"$program" bench --filter ex2 --seconds 0.01 > "$work/table"
check "the table has a row for each level" "$(printf '%s\n' "$levels" | wc -l)" \
    "$(grep -c '^| ex2.approx.ftz ' "$work/table")"
check "the table names target and share" 1 "$(grep -c '^| work .*| target .*| share |' "$work/table")"

for bad in "--filter nothing-like-this" "--seconds 0" "--seconds x" "--impl nothing" "--level sse" "word" "--what"; do
    # shellcheck disable=SC2086
    "$program" bench $bad > /dev/null 2> "$work/err"
    check "refused: bench $bad" 3 $?
    check "says why: bench $bad" 1 "$(grep -c '^mxverify' "$work/err")"
done
floor "f16 sm_90" portable 2
floor "e4m3 sm_90" portable 2
floor "s8 sm_80" portable 2
if [ "$level" != portable ]; then
    floor "ex2.approx.ftz" avx2 3
    floor "f32 to mxfp4" avx2 10
    floor "f16 to mxfp8_e4m3" avx2 10
    floor "f32 to nvfp4" avx2 10
    floor "f32 to int8" avx2 10
    floor "decode mxfp4" avx2 20
    floor "decode nvfp4" avx2 20
    floor "f16 sm_90" avx2 8
    floor "e4m3 sm_90" avx2 8
    floor "mxfp8 sm_100" avx2 8
    floor "nvfp4 sm_100" avx2 20
    floor "s8 sm_80" avx2 20
fi
finish
