#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# shrink as a user calls it: a smaller case of the same failure that fails again, its numbers, the
# same answer twice, a case from a log, what does not fail, refusals.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$work" || exit 1
big='flash hq=2 lq=60 lk=200 d=64 gen=outlier seed=31 fault=stale-tile'
"$program" shrink "$big" > out 2> err
check "a failing case: status" 0 $?
small=$(grep -m1 '^ *flash .*fault=stale-tile' out | sed 's/^ *//')
tiles() { sed -n "s/^$1: *\([0-9]*\) score tiles.*/\1/p" out; }
check "a line is printed" 1 "$([ -n "$small" ] && echo 1)"
check "it has fewer tiles" 1 "$([ "$(tiles after)" -lt "$(tiles before)" ] && echo 1)"
"$program" repro "$small" --no-truth --out again > repro 2> /dev/null
check "it fails: status" 1 $?
"$program" repro "$big" --no-truth --out first > original 2> /dev/null
stage() { sed -n 's/.*first difference at \([a-z.]*\).*/\1/p' "$1" | head -1; }
check "at the same stage" "$(stage original)" "$(stage repro)"
check "its numbers are written out" 1 "$(grep -c -m1 'expected' out)"
"$program" shrink "$big" > out2 2> /dev/null
check "the same answer twice" "$(grep -m1 'fault=stale-tile' out)" "$(grep -m1 'fault=stale-tile' out2)"
"$program" shrink "$big" --no-numbers > out3 2> /dev/null
check "--no-numbers is shorter" 1 "$([ "$(wc -l < out3)" -lt "$(wc -l < out)" ] && echo 1)"
id=$(sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' first/run.jsonl | head -1)
"$program" shrink "$id" --log first/run.jsonl --no-numbers > out4 2> err
check "by id from a log: status" 0 $?
check "by id from a log" "$(grep -m1 'fault=stale-tile' out)" "$(grep -m1 'fault=stale-tile' out4)"

compiler=${CC:-cc}
if command -v "$compiler" > /dev/null; then
    "$compiler" -std=c11 -D_GNU_SOURCE -O1 -shared -fPIC -I"$source/formats/include" \
        -I"$source/ref/include" -I"$source/analysis/include" -o adapter.so \
        "$source/tests/support/adapter_faults.c" || exit 1
    ADAPTER_ACT=101 "$program" shrink 'flash lq=16 lk=16 d=32' --impl ./adapter.so > out 2> err
    check "an adapter that dies: status" 1 $?
    check "an adapter that dies: said" 1 "$(grep -c 'died of signal 11 .* at flash lq=16' err)"
    ADAPTER_ACT=102 "$program" shrink 'flash lq=16 lk=16 d=32' --impl ./adapter.so --timeout 1 > out 2> err
    check "an adapter that hangs: status" 1 $?
    check "an adapter that hangs: said" 1 "$(grep -c 'no end within 1 s .* at flash lq=16' err)"
fi

refuse() { # NAME STATUS OPTIONS...
    name=$1 status=$2
    shift 2
    "$program" shrink "$@" > out 2> err
    check "$name: status" "$status" $?
    check "$name: says why" 1 "$([ -s err ] || [ -s out ] && echo 1)"
}
refuse "a case that passes" 3 'flash lq=16 lk=16 d=32'
refuse "no case" 3
refuse "no such kernel" 3 'flesh lq=16'
refuse "no such id" 3 ffffffffff --log first/run.jsonl
refuse "no such log" 3 ffffffffff --log none.jsonl
refuse "no time" 3 "$big" --time x
refuse "no adapter" 3 'flash lq=16 lk=16 d=32' --impl ./none.so
finish
