#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Settings and files of a run are checked before anything is written: a typing mistake costs one
# line, not the log of the last run, and --resume does not hide it. Cases that cannot take a setting
# are skipped with the reason; if none can, that is an error.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$source" || exit 1
out=$work/out

run() { "$program" run --no-truth --maps none --out "$out" "$@"; }

run --kernel dma --cases smoke > /dev/null 2>&1
check "a run" 0 $?
sum=$(cksum < "$out/run.jsonl")

refuse() { # pattern, options: refused in one line, the log untouched, with and without --resume
    pattern=$1
    shift
    for how in "" --resume; do
        # shellcheck disable=SC2086
        run $how "$@" > "$work/txt" 2> "$work/err" < /dev/null
        check "$* $how: status" 3 $?
        check "$* $how: /$pattern/ once in: $(cat "$work/err")" 1 "$(grep -c -- "$pattern" "$work/err")"
        check "$* $how: one line" 1 "$(wc -l < "$work/err" | tr -d ' ')"
        check "$* $how: nothing on standard output" 0 "$(wc -c < "$work/txt" | tr -d ' ')"
        check "$* $how: the log is untouched" "$sum" "$(cksum < "$out/run.jsonl")"
    done
}
refuse "^mxverify: --set lq=-3: bad value; .*mxverify list fields" --kernel dma --cases smoke --set lq=-3
refuse "^mxverify: --set zork=1: unknown key .*mxverify list fields" --kernel dma --cases smoke --set zork=1
refuse "^mxverify: --set zork=1: unknown key" --kernel all --cases fuzz --count 50 --set zork=1
refuse "^mxverify: --arch sm_99: bad value; .*sm_90.*mxverify list arches" --kernel dma --cases smoke --arch sm_99
refuse "^mxverify: --fault D1: .*mxverify list faults" --kernel flash --fault D1
refuse "^mxverify run: --workers 1000000: at most 1024" --kernel dma --cases smoke --workers 1000000
refuse "planfile /nonexistent" --kernel tilemix --cases smoke --set plan=file --set planfile=/nonexistent
# known keys and values, and no case to take them
refuse "^mxverify: --set mode=mixed --set mask=full: none of [0-9]* cases (smoke, kernel dma-released) can take that: mask=full: the released mixed" \
    --kernel dma-released --cases smoke --set mode=mixed --set mask=full
refuse "none of 4096 cases (fuzz, kernel flash) can take that: right=3" --kernel flash --cases fuzz --set right=3 --set mask=causal
echo 'dma lq=3 lk=3' > "$work/list"
echo "dma input=$work/gone_q.npy,$work/gone_k.npy,$work/gone_v.npy" >> "$work/list"
refuse "case 2: .*gone_q.npy: No such file" --cases "$work/list"

for how in "" --resume; do # --input is one case
    # shellcheck disable=SC2086
    run $how --kernel dma --input "$work/q.npy,$work/k.npy,$work/v.npy" > /dev/null 2> "$work/err"
    check "missing tensors $how: status" 3 $?
    check "missing tensors $how: named" 1 "$(grep -c 'input q: .*q.npy.*No such file' "$work/err")"
    check "missing tensors $how: the log is untouched" "$sum" "$(cksum < "$out/run.jsonl")"
done
run --resume --kernel dma --cases smoke > /dev/null 2>&1
check "the log can be gone on with" 0 $?
run --resume --kernel dma --cases smoke --set D=3 > /dev/null 2> "$work/err"
check "resumed with a setting: status" 3 $?
check "resumed with a setting: message" 1 "$(grep -c 'is the log of another run' "$work/err")"

# cases that cannot take a setting are skipped, the others run
for options in "--cases smoke --set D=3" "--cases fuzz --count 30 --seed 1 --no-real --set low=nvfp4" \
    "--cases smoke --set lq=100" "--cases smoke --set D=3 --workers 1"; do
    out=$work/skip
    rm -rf "$out"
    # shellcheck disable=SC2086
    run --kernel dma $options > "$work/txt" 2> "$work/err"
    check "$options: status in: $(cat "$work/err")" 0 $?
    all=$(grep -c '"record":"case"' "$out/run.jsonl")
    skipped=$(grep -c '"verdict":"\(skip\|unsupported\)","reason":"cannot take the settings: ' "$out/run.jsonl")
    check "$options: some are skipped, not all" yes "$([ "$skipped" -gt 0 ] && [ "$skipped" -lt "$all" ] && echo yes)"
    check "$options: the others pass" $((all - skipped)) "$(grep -c '"verdict":"pass"' "$out/run.jsonl")"
    check "$options: counted" $skipped "$(sed -n "s,^  \([0-9]*\) \(skip\|unsupported\): .*,\1,p" "$work/txt" | awk '{ n += $1 } END { print n }')"
    check "$options: at most three are printed" yes \
        "$([ "$(grep -c '^  cannot take the settings' "$work/txt")" -le 3 ] && echo yes)"
    # the log can be read again: nothing is left to do
    grep -v '"record":"totals"' "$out/run.jsonl" > "$work/before"
    # shellcheck disable=SC2086
    run --resume --kernel dma $options > "$work/again" 2> "$work/err"
    check "$options: resumed: status in: $(cat "$work/err")" 0 $?
    check "$options: resumed: nothing run again" "" "$(grep -v '"record":"totals"' "$out/run.jsonl" | diff - "$work/before" | head -3 | cut -c1-200)"
    check "$options: resumed: same table" "$(grep '^dma  ' "$work/txt")" "$(grep '^dma  ' "$work/again")"
done
run --resume --kernel dma --cases smoke > /dev/null 2> "$work/err"
check "resumed without the setting" 3 $?
# skipped cases have the line of a run without settings: what they were refused for tells them apart
echo 'dma lq=3 lk=3 mode=high' > "$work/one"
echo 'dma lq=4 lk=4' >> "$work/one"
out=$work/apart
run --cases "$work/one" --set D=3 > /dev/null 2>&1
head -2 "$out/run.jsonl" > "$work/cut" && cp "$work/cut" "$out/run.jsonl"
for options in "" "--set s=1"; do
    # shellcheck disable=SC2086
    run --resume --cases "$work/one" $options > /dev/null 2> "$work/err"
    check "resumed with '$options': status" 3 $?
    check "resumed with '$options': message in: $(cat "$work/err")" 1 "$(grep -c 'was run with other settings' "$work/err")"
done
run --resume --cases "$work/one" --set D=3 > /dev/null 2>&1
check "resumed with the same" 0 $?
check "the shard of a skipped case has run nothing" 77 "$(run --cases "$work/one" --set D=3 --shard 1/2 > /dev/null 2>&1; echo $?)"

# options of skipped cases are not met
out=$work/coverage
run --cases "$work/one" --set D=3 --coverage > "$work/txt" 2>/dev/null
check "coverage of what ran" 1 "$(grep -c '^ *mode  *mixed:1' "$work/txt")"
check "no coverage of what was skipped" 0 "$(grep -c '^ *mode .*high:[1-9]' "$work/txt")"

# A case that draws with OpenMP is made once before workers are forked: they must have threads of
# their own (a team that waits for threads of the parent would be killed after --timeout, twice).
out=$work/forked
OMP_NUM_THREADS=2 run --kernel dma --input data/real/smollm2-135m/layer14 --set plan=entropy --set ktok=0:512 --set qtok=0:32 \
    --workers 1 --timeout 30 > "$work/txt" 2> "$work/err"
check "threads of a worker whose parent has made a case: status" 0 $?
check "threads of a worker whose parent has made a case: no timeout" 0 "$(grep -c timeout "$work/txt")"
finish
