#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# run, repro, list and explain as a user calls them: statuses, log, maps, hashes.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$source" || exit 1

"$program" --kernel flash --cases fuzz --count 6 --seed 2 --no-real --out "$work/a/deep" > "$work/a.txt" 2> "$work/a.err"
check "run passes" 0 $?
check "verdict table" 1 "$(grep -c '^flash  *6  *6  *0' "$work/a.txt")"
check "log: header, cases, totals" 8 "$(wc -l < "$work/a/deep/run.jsonl" | tr -d ' ')"
check "maps are pictures" 1 "$(ls "$work"/a/deep/*.png | head -1 | xargs head -c 8 | od -An -tx1 | tr -d ' \n' | grep -c 89504e470d0a1a0a)"
check "results on stdout only" 0 "$(grep -c 'verdict\|words compared' "$work/a.err")"

hash() { "$program" run --kernel "$1" --cases fuzz --count 4 --seed "$2" --no-real --quiet --print-hash --maps none --no-log; }
check "same seed, same hash" "$(hash tilemix 5)" "$(hash tilemix 5)"
check "threads do not matter" "$(hash dma 5)" "$(OMP_NUM_THREADS=1 hash dma 5)"
if [ "$(hash dma 5)" = "$(hash dma 6)" ]; then check "another seed, another hash" different equal; fi

# a fault fails, names stage and element, writes difference maps; its line reproduces it
"$program" run --kernel dma --cases fuzz --count 1 --seed 3 --no-real --set mode=low --set low=mxfp4 \
    --set gen=gaussian --fault D2 --out "$work/f" > "$work/f.txt" 2>/dev/null
check "fault: status" 1 $?
check "fault: stage" 1 "$(grep -c 'first difference at q.scale low' "$work/f.txt")"
check "fault: named" 1 "$(grep -c '^  the words are those of fault D2: mxfp4-emax3' "$work/f.txt")"
check "fault: difference map" 1 "$(ls "$work"/f/*_diff_out.png | wc -l | tr -d ' ')"
line=$(grep 'fault=D2' "$work/f.txt" | head -1 | sed 's/^ *//')
"$program" repro "$line" --out "$work/r" > "$work/r.txt" 2>/dev/null
check "repro: status" 1 $?
check "repro: same reason" "$(grep -m1 'first difference' "$work/f.txt")" "$(grep -m1 'first difference' "$work/r.txt")"
id=$(grep -m1 ' fail$' "$work/f.txt" | cut -d' ' -f1)
"$program" repro "$id" --log "$work/f/run.jsonl" --out "$work/r2" > "$work/r2.txt" 2>/dev/null
check "repro by id: same reason" "$(grep -m1 'first difference' "$work/f.txt")" "$(grep -m1 'first difference' "$work/r2.txt")"

for kind in kernels formats models cases impls faults metrics stages routes arches fields policies generators; do
    "$program" list $kind > "$work/list" || check "list $kind" 0 1
    [ -s "$work/list" ] || check "list $kind prints" something nothing
    check "list $kind --json has as many" "$(wc -l < "$work/list" | tr -d ' ')" \
        "$("$program" list $kind --json | grep -c '"name":')"
done
check "docs/formats.md is current" 0 "$("$program" list formats --markdown | cmp -s - docs/formats.md; echo $?)"
check "explain" 1 "$("$program" explain e4m3 7e | grep -c 'value     448 =')"
check "help" 0 "$("$program" --help > /dev/null; echo $?)"
check "version" 1 "$("$program" --version | grep -c '^mxverify [0-9]')"

check "explain: no neighbour" 1 "$("$program" explain e4m3 7e | grep -c 'above none')"

# captured activations have one name everywhere
here=$("$program" run --kernel dma --cases real --count 1 --no-truth --maps none --out "$work/here" > /dev/null 2>&1; grep -o '"case":"[^"]*"' "$work/here/run.jsonl")
there=$(cd "$work" && "$program" run --kernel dma --cases real --count 1 --no-truth --maps none --out "$work/there" > /dev/null 2>&1; grep -o '"case":"[^"]*"' "$work/there/run.jsonl")
check "real case lines do not depend on the folder" "$here" "$there"

# rel L2 is over the rows that have an error to measure; a kernel without bounds has none
figures() { # file: kernel's rows left out, and the five figures
    awk '/^against exact attention/ { on = 1 } /^enclosures/ { on = 0 } on && $1 == k && $2 ~ "/" { print $3, $4, $5, $6, $7, $8 }' "k=$2" "$1"
}
"$program" repro 'dma lq=64 lk=1 masked=finite' --out "$work/keyless" > "$work/keyless.txt" 2>/dev/null
check "rows without a key: 63 of 64 left out, no error in the other" "63 0 0 0 0" "$(figures "$work/keyless.txt" dma | cut -d' ' -f1-5)"
check "rows without a key: said" 1 "$(grep -c '^left out of rel L2' "$work/keyless.txt")"
check "rows without a key: in the log" 1 "$(grep -c '"unmeasured_rows":63,' "$work/keyless/run.jsonl")"
"$program" repro 'flash lq=4 lk=1 left=0 align=tl mask=causal' --out "$work/most" > "$work/most.txt" 2>/dev/null
check "most rows without a key" 3 "$(figures "$work/most.txt" flash | cut -d' ' -f1)"
"$program" repro 'dma-released lq=40 lk=40' --out "$work/released" > "$work/released.txt" 2>/dev/null
check "no bound, no ratio" "0 -" "$(figures "$work/released.txt" dma-released | cut -d' ' -f1,6)"
options="--kernel all --cases fuzz --seed 5 --count 24 --no-real --maps none --out"
# shellcheck disable=SC2086
"$program" run $options "$work/table" > "$work/table.txt" 2>/dev/null
sed '12,$d' "$work/table/run.jsonl" > "$work/cut.jsonl" && cp "$work/cut.jsonl" "$work/table/run.jsonl"
# shellcheck disable=SC2086
"$program" run $options "$work/table" --resume > "$work/resumed.txt" 2>/dev/null
for kernel in flash dma dma-released tilemix; do
    check "$kernel: a resumed run has the same figures" "$(figures "$work/table.txt" $kernel)" "$(figures "$work/resumed.txt" $kernel)"
    check "$kernel: six of them" 6 "$(figures "$work/resumed.txt" $kernel | wc -w | tr -d ' ')"
done

# a fault that does nothing is said to
"$program" repro 'dma lq=3 lk=3 fault=D5' --out "$work/idle" > "$work/idle.txt" 2>/dev/null
check "idle fault" 1 "$(grep -c 'the fault changed nothing' "$work/idle.txt")"

# an interrupt stops the run after the cases in flight, with what is done in the log
"$program" run --kernel dma --cases fuzz --count 4000 --no-real --no-truth --maps none --out "$work/int" > /dev/null 2>&1 &
pid=$!
while ! grep -q '"record":"case"' "$work/int/run.jsonl" 2>/dev/null; do sleep 0.1; done
kill -HUP $pid
wait $pid
check "interrupted: status" 2 $?
check "interrupted: totals" 1 "$(tail -1 "$work/int/run.jsonl" | grep -c '"stopped_early":true')"

# a time budget that cuts a number of cases short leaves a run that stopped early; of fuzz without a
# number it is the end
i=0
while [ $i -lt 60 ]; do
    echo "dma lq=256 lk=256 d=64 seed=$i"
    i=$((i + 1))
done > "$work/sixty.cases"
for options in "--time-budget 0.05" "--time-budget 0.000001" "--time-budget 0.05 --workers 1"; do
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=1 "$program" run --cases "$work/sixty.cases" --no-truth --maps none -q $options --out "$work/cut" 2>/dev/null
    check "$options: status" 2 $?
    check "$options: totals" 1 "$(tail -1 "$work/cut/run.jsonl" | grep -c '"stopped_early":true,"exit_status":2')"
    check "$options: some are left" yes "$([ "$(grep -c '"record":"case"' "$work/cut/run.jsonl")" -lt 60 ] && echo yes)"
    "$program" report "$work/cut/run.jsonl" -q
    check "$options: report" 2 $?
done
"$program" run --cases "$work/sixty.cases" --no-truth --maps none -q --resume --out "$work/cut" 2>/dev/null
check "after the budget, resumed: status, cases" "0 60" "$? $(grep -c '"record":"case"' "$work/cut/run.jsonl")"
"$program" run --kernel flash --cases fuzz --no-truth --no-real --maps none -q --time-budget 1 --out "$work/open" 2>/dev/null
check "fuzz for a time: status" 0 $?
check "fuzz for a time: totals" 1 "$(tail -1 "$work/open/run.jsonl" | grep -c '"stopped_early":false')"

# a file of case lines
printf '# two cases\nflash lq=3 lk=5 d=32\n\ndma lq=3 lk=5 d=32 mask=full # comment\n' > "$work/two.cases"
"$program" run --cases "$work/two.cases" --out "$work/two" > "$work/two.txt" 2>/dev/null
check "file of cases" 0 $?
check "file of cases: two" 1 "$(grep -c ' 2 cases in ' "$work/two.txt")"

finish
