#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Interrupts: the first one says in a line what it waits for, the second ends the program at once;
# a run leaves a log that can be gone on with, shrink prints what it has found.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$source" || exit 1
first="interrupted: the run ends after the cases under way; a second signal ends it now"
# about a minute on one core: nothing here waits for its end
long='flash hq=8 hk=8 lq=2048 lk=2048'

waits_for() { # file, pattern: up to 20 s
    i=0
    until grep -q "$2" "$1" 2>/dev/null || [ $i -ge 200 ]; do
        sleep 0.1
        i=$((i + 1))
    done
}

# one case under way: the second signal ends the program by that signal
for pair in "INT TERM 143" "TERM INT 130" "HUP HUP 129"; do
    # shellcheck disable=SC2086
    set -- $pair
    rm -rf "$work/one"
    "$program" repro "$long" --out "$work/one" > "$work/txt" 2> "$work/err" &
    pid=$!
    waits_for "$work/one/run.jsonl" '"record":"header"'
    sleep 1 # the case has begun
    kill -"$1" $pid
    waits_for "$work/err" interrupted
    check "$pair: the first is answered" 1 "$(grep -c "^mxverify: $first\$" "$work/err")"
    check "$pair: the case goes on" 0 "$(kill -0 $pid; echo $?)"
    begin=$(date +%s)
    kill -"$2" $pid
    wait $pid 2>/dev/null
    check "$pair: ended by the second" "$3" $?
    check "$pair: at once" yes "$([ $(($(date +%s) - begin)) -le 5 ] && echo yes)"
done

# a run: the cases under way end, and are in the log
"$program" run --kernel all --cases fuzz --count 4000 --no-real --no-truth --maps none \
    --out "$work/run" > "$work/txt" 2> "$work/err" &
pid=$!
waits_for "$work/run/run.jsonl" '"record":"case"'
kill -INT $pid
wait $pid
check "a run: status" 2 $?
check "a run: said once" 1 "$(grep -c "$first" "$work/err")"
check "a run: totals" 1 "$(tail -1 "$work/run/run.jsonl" | grep -c '"stopped_early":true')"

# workers: they say nothing, and the run does not wait for their cases
echo "$long" > "$work/list"
sed -n p "$work/list" "$work/list" > "$work/twice"
"$program" run --cases "$work/twice" --workers 2 --maps none --out "$work/workers" > "$work/txt" 2> "$work/err" &
pid=$!
waits_for "$work/workers/run.jsonl" '"record":"header"'
sleep 0.3
begin=$(date +%s)
kill -INT $pid
wait $pid
check "workers: status" 2 $?
check "workers: said once" 1 "$(grep -c 'interrupted: the run ends without the cases under way' "$work/err")"
check "workers: nothing is waited for" yes "$([ $(($(date +%s) - begin)) -le 5 ] && echo yes)"

# nohup
(
    trap '' HUP
    exec "$program" run --kernel flash --cases smoke --no-truth --maps none --out "$work/nohup"
) > "$work/txt" 2> "$work/err" &
pid=$!
waits_for "$work/nohup/run.jsonl" '"record":"header"'
kill -HUP $pid 2>/dev/null
wait $pid
check "an ignored hang-up: status" 0 $?
check "an ignored hang-up: not taken" 0 "$(grep -c interrupted "$work/err")"

# shrink: what has been found so far, in this process and in that of an adapter
found() { # name: the status is $?
    check "$1: status" 2 "$2"
    check "$1: said once in: $(cat "$work/err")" 1 "$(grep -c 'interrupted: what is found is printed after the case' "$work/err")"
    check "$1: a case" 1 "$(grep -c '^flash .*lq=' "$work/txt")"
    check "$1: how it fails" 1 "$(grep -c '^  fail ' "$work/txt")"
    check "$1: not the end" 1 "$(grep -c 'interrupted, a smaller case may exist' "$work/txt")"
}
OMP_NUM_THREADS=1 "$program" shrink 'flash hq=4 lq=1500 lk=1500 fault=stale-tile' > "$work/txt" 2> "$work/err" &
pid=$!
sleep 1
kill -INT $pid
wait $pid
found "shrink" $?

compiler=${CC:-cc}
if command -v "$compiler" > /dev/null; then
    "$compiler" -std=c11 -D_GNU_SOURCE -O1 -shared -fPIC -I"$source/formats/include" \
        -I"$source/ref/include" -I"$source/analysis/include" -o "$work/adapter.so" \
        "$source/tests/support/adapter_faults.c" || exit 1
    OMP_NUM_THREADS=1 ADAPTER_ACT=113 "$program" shrink 'flash hq=4 lq=1500 lk=1500' --impl "$work/adapter.so" > "$work/txt" 2> "$work/err" &
    pid=$!
    sleep 1
    kill -INT $pid
    wait $pid
    found "shrink with an adapter" $?
fi
finish
