#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# n shards, merged, have the totals, hash, report and exit status of one run; worker processes change
# nothing; the variables of test runners choose shards.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$source" || exit 1
unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX GTEST_SHARD_STATUS_FILE TEST_TOTAL_SHARDS TEST_SHARD_INDEX \
    TEST_SHARD_STATUS_FILE SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_MIN \
    SLURM_ARRAY_TASK_STEP OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK

{
    i=0
    while [ $i -lt 11 ]; do
        echo "dma lq=$((20 + i)) lk=$((40 + i)) d=32 seed=$i"
        echo "tilemix lq=$((60 - i)) lk=33 d=64 seed=$i"
        i=$((i + 1))
    done
    echo "dma lq=40 lk=70 d=32 mode=low gen=gaussian fault=D2"
} > "$work/list"
run() { # output folder, options
    out=$1
    shift
    "$program" run --kernel all --cases "$work/list" --out "$out" --maps none "$@" 2> "$work/err"
}
table() { # the report from the table of verdicts to the last line, without the log's path
    sed -n '/^kernel  *cases/,$p' "$1" | grep -v '^log: '
}
records() {
    grep '"record":"case"' "$1" | sed -e 's/"seconds":[0-9.e+-]*,//'
}
totals() {
    tail -1 "$1" | sed -e 's/"seconds":[0-9.e+-]*,//' -e 's/,"numbers".*//'
}

run "$work/whole" > "$work/whole.txt"
whole=$?
check "one run" 1 $whole
table "$work/whole.txt" > "$work/whole.table"
records "$work/whole/run.jsonl" > "$work/whole.records"
check "the table is there" 1 "$(grep -c '^tilemix  *11  *11  *0' "$work/whole.table")"

for n in 1 2 3 7; do
    i=1
    while [ $i -le $n ]; do
        run "$work/n$n" --shard $i/$n > /dev/null
        i=$((i + 1))
    done
    "$program" merge "$work/m$n.jsonl" "$work/n$n"/*.jsonl > "$work/m$n.txt" 2> "$work/err"
    check "$n shards: status" $whole $?
    check "$n shards: nothing to complain about" "" "$(cat "$work/err")"
    table "$work/m$n.txt" > "$work/table"
    check "$n shards: report" "" "$(diff "$work/whole.table" "$work/table")"
    records "$work/m$n.jsonl" > "$work/records"
    check "$n shards: records" "" "$(diff "$work/whole.records" "$work/records" | head -3 | cut -c1-200)"
    check "$n shards: totals" "$(totals "$work/whole/run.jsonl")" "$(totals "$work/m$n.jsonl")"
done
check "merging a merged log changes nothing" "$(totals "$work/m3.jsonl")" \
    "$("$program" merge "$work/again.jsonl" "$work/m3.jsonl" > /dev/null; totals "$work/again.jsonl")"

for n in 1 3; do
    run "$work/w$n" --workers $n > "$work/w.txt"
    check "$n workers: status" $whole $?
    table "$work/w.txt" > "$work/table"
    check "$n workers: report" "" "$(diff "$work/whole.table" "$work/table")"
    records "$work/w$n/run.jsonl" > "$work/records"
    check "$n workers: records" "" "$(diff "$work/whole.records" "$work/records" | head -3 | cut -c1-200)"
done

# incomplete or contradictory shards
"$program" merge "$work/part.jsonl" "$work"/n3/run-[23]-of-3.jsonl > /dev/null 2> "$work/err"
check "a shard is missing: status" 1 $? # a failed case weighs more than the early stop
check "a shard is missing: message" 1 "$(grep -c 'shard 1 of 3 is missing' "$work/err")"
"$program" merge "$work/part.jsonl" "$work"/n3/run-[13]-of-3.jsonl > /dev/null 2> "$work/err"
check "a shard without failure is left: status" 2 $?
head -c 9000 "$work/n2/run-1-of-2.jsonl" > "$work/cut.jsonl"
"$program" merge "$work/part.jsonl" "$work/cut.jsonl" "$work/n2/run-2-of-2.jsonl" > /dev/null 2> "$work/err"
check "a shard was cut short: message" 1 "$(grep -c 'cut.jsonl stopped early' "$work/err")"
"$program" merge "$work/part.jsonl" "$work/cut.jsonl" "$work"/n2/*.jsonl > /dev/null 2> "$work/err"
check "a shard that was cut short, and the whole of it" $whole $?
refuse() { # description, pattern, logs
    d=$1 pattern=$2
    shift 2
    "$program" merge "$work/refused.jsonl" "$@" > /dev/null 2> "$work/err"
    check "$d: status" 3 $?
    check "$d: message in: $(cat "$work/err")" 1 "$(grep -c "$pattern" "$work/err")"
    check "$d: nothing half-written" 0 "$(find "$work" -name 'refused*' | wc -l | tr -d ' ')"
}
sed 's/"output_hash":"./"output_hash":"f/' "$work/n2/run-1-of-2.jsonl" > "$work/other.jsonl"
refuse "contradiction" "differs between" "$work/n2/run-1-of-2.jsonl" "$work/other.jsonl"
sed 's/"implementation":"plain"/"implementation":"cuda"/' "$work/n2/run-1-of-2.jsonl" > "$work/other.jsonl"
refuse "another implementation" "not shards of one run" "$work/n2/run-2-of-2.jsonl" "$work/other.jsonl"
refuse "shards of another number" "others are of" "$work/n2/run-1-of-2.jsonl" "$work/n3/run-2-of-3.jsonl"
refuse "the same log twice" "n2/run-1-of-2.jsonl and .*n2/run-1-of-2.jsonl both are shard 1 of 2" \
    "$work/n2/run-1-of-2.jsonl" "$work/n2/run-1-of-2.jsonl" "$work/n2/run-2-of-2.jsonl"
cp "$work/n2/run-2-of-2.jsonl" "$work/copy.jsonl"
refuse "a copy of a log" "n2/run-2-of-2.jsonl and .*copy.jsonl both are shard 2 of 2" \
    "$work/n2/run-1-of-2.jsonl" "$work/n2/run-2-of-2.jsonl" "$work/copy.jsonl"
refuse "no such file" "nosuch" "$work/nosuch.jsonl"
run "$work/judged" --shard 1/2 --no-truth > /dev/null
refuse "other judging" "n2/run-2-of-2.jsonl was begun with truth, .*judged/run-1-of-2.jsonl with --no-truth" \
    "$work/n2/run-2-of-2.jsonl" "$work/judged/run-1-of-2.jsonl"
sed 's/"judging":{[^}]*},//' "$work/judged/run-1-of-2.jsonl" > "$work/old.jsonl"
refuse "other judging, by the command line" "begun with truth, .* with --no-truth" "$work/n2/run-2-of-2.jsonl" "$work/old.jsonl"
sed 's/"judging":{[^}]*},//' "$work/n2/run-1-of-2.jsonl" > "$work/old.jsonl"
"$program" merge "$work/part.jsonl" "$work/old.jsonl" "$work/n2/run-2-of-2.jsonl" > /dev/null 2> "$work/err"
check "a header that does not say how it judged" $whole $?
cp "$work/n2/run-1-of-2.jsonl" "$work/refused-name.jsonl"
before=$(cksum < "$work/refused-name.jsonl")
"$program" merge "$work/refused-name.jsonl" "$work/n2/run-2-of-2.jsonl" "$work/n2/../refused-name.jsonl" > /dev/null 2> "$work/err"
check "into an input: status" 3 $?
check "into an input: message in: $(cat "$work/err")" 1 "$(grep -c 'refused-name.jsonl) and an input (.*are one file' "$work/err")"
check "into an input: it is untouched" "$before" "$(cksum < "$work/refused-name.jsonl")"
rm "$work/refused-name.jsonl"
echo "no log" > "$work/text"
refuse "no log" "line 1" "$work/text"
: > "$work/empty"
refuse "empty" "no record" "$work/empty"

# variables of test runners: which cases are run
indices() {
    sed -n 's/.*"index":\([0-9]*\),.*/\1/p' "$1" | tr '\n' ' '
}
GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=1 GTEST_SHARD_STATUS_FILE=$work/status run "$work/e1" > /dev/null
check "googletest" "1 9 17 " "$(indices "$work/e1/run-2-of-8.jsonl")"
check "googletest: said so" 1 "$(grep -c 'shard 2/8, from GTEST_SHARD_INDEX' "$work/err")"
check "googletest: status file" yes "$([ -e "$work/status" ] && echo yes)"
TEST_TOTAL_SHARDS=8 TEST_SHARD_INDEX=2 TEST_SHARD_STATUS_FILE=$work/bazel run "$work/e2" > /dev/null
check "Bazel" "2 10 18 " "$(indices "$work/e2/run-3-of-8.jsonl")"
check "Bazel: status file" yes "$([ -e "$work/bazel" ] && echo yes)"
SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_MIN=1 run "$work/e3" > /dev/null
check "Slurm" "3 11 19 " "$(indices "$work/e3/run-4-of-8.jsonl")"
OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=4 run "$work/e4" > /dev/null
check "Open MPI" "4 12 20 " "$(indices "$work/e4/run-5-of-8.jsonl")"
GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=1 run "$work/e5" --shard 8/8 > /dev/null
check "the option goes first" "7 15 " "$(indices "$work/e5/run-8-of-8.jsonl")"
GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=8 run "$work/e6" > /dev/null
check "no such shard" 3 $?
run "$work/e7" --shard 0/3 > /dev/null
check "shards count from 1" 3 $?
for options in "" "--quiet"; do
    # shellcheck disable=SC2086
    run "$work/e8" --shard 40/50 $options > /dev/null
    check "a shard without cases has nothing to say $options" 77 $?
    check "it says so $options" 1 "$(grep -c 'shard 40/50 holds no case' "$work/err")"
done
"$program" report "$work/e8/run-40-of-50.jsonl" -q
check "its log says the same" "77 1" "$? $(tail -1 "$work/e8/run-40-of-50.jsonl" | grep -c '"exit_status":77')"
GTEST_TOTAL_SHARDS=50 GTEST_SHARD_INDEX=49 run "$work/e9" > /dev/null
check "googletest: a shard without cases" 77 $?
run "$work/n30" --shard 30/30 > /dev/null
i=1
while [ $i -lt 30 ]; do
    run "$work/n30" --shard $i/30 --no-require-events --quiet
    i=$((i + 1))
done
"$program" merge "$work/m30.jsonl" "$work/n30"/*.jsonl > /dev/null 2> "$work/err"
check "more shards than cases: status" $whole $?
check "more shards than cases: nothing to complain about" "" "$(cat "$work/err")"
check "more shards than cases: totals" "$(totals "$work/whole/run.jsonl")" "$(totals "$work/m30.jsonl")"

finish
