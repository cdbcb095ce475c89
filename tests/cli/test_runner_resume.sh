#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# A run killed with SIGKILL at a random moment and resumed leaves the same log, totals, hash and exit
# status as an undisturbed one: a list with failures and maps, and the nightly tier of all kernels, cut
# to MXV_NIGHTLY_COUNT cases (40). MXV_KILLS says how often each is killed (5; nightly: 2).
set -u
program=$1
source=$2
kills=${MXV_KILLS:-5}
nightly_kills=${MXV_KILLS:-2}
nightly_count=${MXV_NIGHTLY_COUNT:-40}
. "$source/tests/cli/check.sh"
cd "$source" || exit 1

# small cases, three of which fail (a fault), one that is not offered
{
    i=0
    while [ $i -lt 30 ]; do
        echo "dma lq=$((20 + i)) lk=$((40 + i)) d=32 seed=$i"
        echo "tilemix lq=$((60 - i)) lk=33 d=64 seed=$i"
        i=$((i + 1))
    done
    echo "dma lq=40 lk=70 d=32 mode=low gen=gaussian fault=D2"
    echo "dma lq=41 lk=70 d=32 mode=low gen=gaussian fault=D2"
    echo "dma lq=42 lk=70 d=32 mode=low gen=gaussian fault=D2"
} > "$work/list"
cases="--kernel all --cases $work/list --maps fail"
run() { # output folder, options
    out=$1
    shift
    # shellcheck disable=SC2086
    "$program" run $cases --out "$out" "$@"
}
# What must be equal: everything but times, dates, the command line and the folder.
essence() {
    sed -e 's/"seconds":[0-9.e+-]*,//' -e 's/"command":\[[^]]*\],//' -e 's/"date":"[^"]*"//' \
        -e "s|$1/|OUT/|g" "$1/run.jsonl"
}
report() { # without the line that names the time, and paths
    sed -e 's/ cases in [0-9.]* s$/ cases/' -e "s|$1/|OUT/|g" -e "s|$1|OUT|g" "$2" | sed -n '/implementation plain/,$p'
}

# The undisturbed run, into $work/NAME.
undisturbed() { # name
    start=$(date +%s%N)
    run "$work/$1" > "$work/$1.txt" 2> "$work/$1.err"
    status=$?
    span=$((($(date +%s%N) - start) / 1000000))
    essence "$work/$1" > "$work/$1.essence"
    report "$work/$1" "$work/$1.txt" > "$work/$1.report"
}

# Kills runs at random moments, resumes them, and compares with NAME.
kill_and_resume() { # name, how often
    trial=0
    cut=0
    while [ $trial -lt "$2" ]; do
        trial=$((trial + 1))
        out=$work/$1$trial
        random=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
        delay=$((random % (span + 1)))
        options=
        [ $((trial % 2)) = 0 ] && options="--workers 2 --no-retry"
        # not through a function: the process that dies must be the program's
        # shellcheck disable=SC2086
        "$program" run $cases --out "$out" $options > /dev/null 2>&1 &
        pid=$!
        sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
        kill -9 $pid 2> /dev/null
        wait $pid 2> /dev/null
        done=$(grep -c '"record":"case"' "$out/run.jsonl" 2> /dev/null)
        grep -q '"record":"totals"' "$out/run.jsonl" 2> /dev/null || cut=$((cut + 1))
        # shellcheck disable=SC2086
        run "$out" $options --resume > "$work/txt" 2> "$work/err"
        check "$1 $trial (killed after $delay ms, ${done:-0} cases): status" $status $?
        essence "$out" > "$work/essence"
        check "$1 $trial ($delay ms, ${done:-0} cases): log" "" "$(diff "$work/$1.essence" "$work/essence" | head -5 | cut -c1-200)"
        report "$out" "$work/txt" > "$work/report"
        check "$1 $trial ($delay ms): report" "" "$(diff "$work/$1.report" "$work/report" | grep '^[<>]' | head -5 | cut -c1-200)"
    done
    echo "$1: $cut of $2 runs were cut short by the kill"
}

cases="--kernel all --cases nightly --count $nightly_count --no-real --no-truth --maps none"
undisturbed nightly
check "the nightly run passes" 0 $status
check "its cases" "$nightly_count" "$(grep -c '"record":"case"' "$work/nightly/run.jsonl")"
kill_and_resume nightly "$nightly_kills"

cases="--kernel all --cases $work/list --maps fail"
undisturbed whole
check "the undisturbed run fails where it should" 1 $status
check "three of its cases fail" 3 "$(grep -c '"verdict":"fail"' "$work/whole/run.jsonl")"
kill_and_resume whole "$kills"
check "workers end with their parent" "" "$(sleep 0.5; ps -eo args 2> /dev/null | grep -F -- "--cases $work/list" | grep -v grep)"

# two runs on one log
"$program" run --kernel all --cases "$work/list" --out "$work/twice" > /dev/null 2>&1 &
pid=$!
while ! grep -q '"record":"header"' "$work/twice/run.jsonl" 2> /dev/null; do sleep 0.02; done
run "$work/twice" --resume > /dev/null 2> "$work/err"
check "two runs on one log: status" 3 $?
check "two runs on one log: message" 1 "$(grep -c 'another run' "$work/err")"
kill -9 $pid
wait $pid 2> /dev/null

# a torn record, a torn header, an empty file, no file
out=$work/torn
mkdir "$out"
head -c 20000 "$work/whole/run.jsonl" > "$out/run.jsonl"
run "$out" --resume > /dev/null 2>&1
essence "$out" | sed 's|[^"]*/whole/|OUT/|g' > "$work/essence"
check "torn record" "" "$(diff "$work/whole.essence" "$work/essence" | head -5 | cut -c1-200)"
for bytes in 30 0; do
    head -c $bytes "$work/whole/run.jsonl" > "$out/run.jsonl"
    run "$out" --resume > /dev/null 2>&1
    essence "$out" > "$work/essence"
    check "log of $bytes bytes" "" "$(diff "$work/whole.essence" "$work/essence" | head -5 | cut -c1-200)"
done
rm "$out/run.jsonl"
run "$out" --resume > /dev/null 2>&1
essence "$out" > "$work/essence"
check "no log" "" "$(diff "$work/whole.essence" "$work/essence" | head -5 | cut -c1-200)"
cp "$out/run.jsonl" "$work/before"
run "$out" --resume > "$work/txt" 2> "$work/err"
check "nothing left to do: status" 1 $?
check "nothing left to do: cases" 1 "$(grep -c 'resumed: 63 cases' "$work/err")"
essence "$out" > "$work/essence"
check "nothing left to do: log" "" "$(diff "$work/whole.essence" "$work/essence" | head -5 | cut -c1-200)"

# interrupted: status 2 if nothing failed so far, and resumable
"$program" run --kernel all --cases fuzz --count 400 --no-real --no-truth --maps none --out "$work/int" > /dev/null 2>&1 &
pid=$!
sleep 1
kill -INT $pid
wait $pid
check "interrupted: status" 2 $?
check "interrupted: totals say so" 1 "$(tail -1 "$work/int/run.jsonl" | grep -c '"stopped_early":true')"

# the log of another run is refused and left alone
refuse() { # description, pattern, options
    d=$1 pattern=$2
    shift 2
    "$program" run --out "$out" --resume "$@" > /dev/null 2> "$work/err"
    check "$d: status" 3 $?
    check "$d: message in: $(cat "$work/err")" 1 "$(grep -c "$pattern" "$work/err")"
    check "$d: the log is untouched" "$(cksum < "$out/run.jsonl")" "$sum"
}
sum=$(cksum < "$out/run.jsonl")
refuse "other cases" "another run" --kernel flash --cases smoke --no-real
refuse "other implementation" "implementation" --kernel all --cases "$work/list" --impl emulation
refuse "fewer cases" "not part of this run" --kernel all --cases "$work/list" --count 5
same="--kernel all --cases $work/list"
# shellcheck disable=SC2086
{
    refuse "without truth" "run.jsonl was begun with truth, this run has --no-truth" $same --no-truth
    refuse "other rows" "was begun with --truth-scores 2000000, this run has --truth-scores 7" $same --truth-scores 7
    refuse "with events" "events not counted, this run has events counted" $same --events
    refuse "wide P" "was begun with no --wide-p, this run has --wide-p" $same --wide-p
    for options in "" "--truth-scores 2000000 --explain"; do # what is not judging, or the same
        run "$out" $options --resume > /dev/null 2>&1
        check "resumed with the same judging $options: status" 1 $?
    done
    sum=$(cksum < "$out/run.jsonl")
    cp "$out/run.jsonl" "$work/before"
    sed -i 's/"judging":{[^}]*},//' "$out/run.jsonl" # as logs once were: only the command line tells
    sum=$(cksum < "$out/run.jsonl")
    refuse "without truth, by the command line" "was begun with truth, this run has --no-truth" $same --no-truth
    run "$out" --resume > /dev/null 2>&1
    check "a header that does not say how it judged: status" 1 $?
    cp "$work/before" "$out/run.jsonl"
    sum=$(cksum < "$out/run.jsonl")
}
refuse "without a log" "no-log" --kernel all --cases "$work/list" --no-log

finish
