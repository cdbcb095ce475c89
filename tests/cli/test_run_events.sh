#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# A tier that misses a mandatory event fails: whole tiers are judged without being asked, parts of one, other
# cases and cases that did not run are not; shards are judged when merged; a log with an event taken out of its
# counts has the status 1 in run --resume, merge, report and JUnit.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$source" || exit 1
unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX GTEST_SHARD_STATUS_FILE TEST_TOTAL_SHARDS TEST_SHARD_INDEX \
    TEST_SHARD_STATUS_FILE SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_MIN \
    SLURM_ARRAY_TASK_STEP OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK

run() { # folder, options
    out=$work/$1
    shift
    "$program" run --kernel flash --no-truth --no-real --maps none --out "$out" "$@" > "$work/txt" 2> "$work/err"
}
judged="mandatory events of the kernels run were never met"
# The counts of texts.events in the order of events.def: number `n`, from 1, becomes 0 in every record.
forget() { # n, log
    sed -i -E "s/(\"events\":\"([0-9]+,){$(($1 - 1))})[0-9]+/\10/" "$2"
}

run quick --cases quick
check "whole tier: status" 0 $?
check "whole tier: says so" 1 "$(grep -c "^events: 0 $judged" "$work/txt")"
check "whole tier: in the log" 1 "$(tail -1 "$work/quick/run.jsonl" | grep -c '"events.tier":1,.*"events.missing":0')"

# parts of a tier, other cases and other tiers are not asked for events unless one asks
run part --cases quick --count 5
check "part: status" 0 $?
check "part: nothing said" 0 "$(grep -c '^events' "$work/txt")"
run set --cases quick --set d=64 --count 3
check "other cases: nothing said" 0 "$(grep -c '^events' "$work/txt")"
run smoke --cases smoke
check "smoke: status" 0 $?
run smoke --cases smoke --require-events
check "smoke, asked for: status" 1 $?
n=$(sed -n "s/^events: \([1-9][0-9]*\) $judged/\1/p" "$work/txt")
check "smoke, asked for: names them" "${n:-none}" "$(grep -c '^  never met: flash ' "$work/txt")"

# the maximum that rises (21st row of events.def) is taken out of the log: the same cases without it
at=$(grep '^X(' analysis/include/mxverify/events.def | grep -n '^X(MAX_RISES' | cut -d: -f1)
lacking() { # description, status, output
    check "$1: status" 1 "$2"
    check "$1: named" 1 "$(grep -c '^  never met: flash max.rises' "$3")"
    check "$1: number" 1 "$(grep -c "^events: 1 $judged" "$3")"
}
cp -r "$work/quick" "$work/without"
forget "$at" "$work/without/run.jsonl"
sed -i '$d' "$work/without/run.jsonl" # the totals, which say 0
run without --cases quick --resume
lacking "a tier without it" $? "$work/txt"
"$program" report "$work/without/run.jsonl" --junit "$work/junit.xml" > "$work/txt"
check "report: status" 1 $?
check "report: says so" 1 "$(grep -c '^the tier misses 1 mandatory events' "$work/txt")"
check "JUnit: an error" 1 "$(grep -c '<error type="events" message="1 mandatory events were never met"' "$work/junit.xml")"
check "JUnit: counted" 1 "$(grep -c '^<testsuites .*tests="113" .*errors="1"' "$work/junit.xml")"
sed -i '$d' "$work/without/run.jsonl"
run without --cases quick --resume --no-require-events
check "switched off: status" 0 $?
sed -i '$d' "$work/without/run.jsonl"
run without --cases quick --resume --quiet
check "quiet: status" 1 $?
check "quiet: still named" 1 "$(grep -c '^  never met: flash max.rises' "$work/txt")"

# one shard or three: the same answer
for n in 1 3; do
    i=1
    while [ $i -le $n ]; do
        run "s$n" --cases quick --shard $i/$n
        check "shard $i/$n: status" 0 $?
        i=$((i + 1))
    done
    [ $n = 1 ] || check "a shard is not judged" 1 "$(grep -c '^events: judged when the shards are merged' "$work/txt")"
    "$program" merge "$work/m$n.jsonl" "$work/s$n"/*.jsonl > "$work/txt"
    check "$n merged: status" 0 $?
    check "$n merged: judged" 1 "$(grep -c "^events: 0 $judged" "$work/txt")"
    for f in "$work/s$n"/*.jsonl; do
        forget "$at" "$f"
    done
    "$program" merge "$work/m$n.jsonl" "$work/s$n"/*.jsonl > "$work/txt"
    lacking "$n merged without it" $? "$work/txt"
done
rm "$work/s3/run-2-of-3.jsonl"
"$program" merge "$work/m3.jsonl" "$work/s3"/*.jsonl > "$work/txt" 2> "$work/err"
check "a shard is missing: stopped early, not judged" "2 0" "$? $(grep -c '^events' "$work/txt")"

# cases that did not run: nothing can be said
"$program" run --impl recorded --kernel flash --cases quick --no-truth --no-real --maps none --out "$work/recorded" \
    > "$work/txt" 2> "$work/err"
check "recorded: status" 0 $?
check "recorded: judged, or said why not" 1 "$(grep -c "^events: 0 $judged\|^events: not judged, as [1-9]" "$work/txt")"
sed -E '0,/"verdict":"pass"/s/"verdict":"pass"/"verdict":"skip"/' "$work/quick/run.jsonl" |
    sed -E '0,/"words":[0-9]+,"words_hex":"[^"]*"/s/"words":[0-9]+,"words_hex":"[^"]*"/"words":0,"words_hex":"0x0p+0"/' > "$work/skip.jsonl"
"$program" merge "$work/skipped.jsonl" "$work/skip.jsonl" > "$work/txt"
check "one case skipped: status" 0 $?
check "one case skipped: says so" 1 "$(grep -c '^events: not judged, as 1 of 112 cases have no counts: skipped (1)' "$work/txt")"

finish
