#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Bad input gets one clear line that names input, place and remedy, status 3, and leaves no
# half-written file.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$source" || exit 1
real=data/real/smollm2-135m/layer00

refuse() { # description, pattern, arguments
    d=$1 pattern=$2
    shift 2
    "$program" "$@" > "$work/out" 2> "$work/err" < /dev/null
    check "$d: status" 3 $?
    grep -v ' cases, ' "$work/err" > "$work/lines"
    check "$d: message /$pattern/ in: $(cat "$work/err")" yes "$(grep -q -- "$pattern" "$work/err" && echo yes)"
}

refuse "unknown verb" "no verb named" frobnicate
refuse "unknown kernel" "no such kernel" --kernel nosuch --cases smoke
refuse "unknown option" "nosuch" --kernel dma --nosuch
refuse "unknown tier" "nosuchtier" --kernel dma --cases nosuchtier --out "$work/o"
refuse "unknown implementation" "no such implementation" run --impl cpu --out "$work/o"
refuse "unknown fault" "no such fault" run --fault D99 --out "$work/o"
refuse "unknown field" "nosuch" run --kernel dma --cases smoke --set nosuch=1 --out "$work/o"
refuse "bad count" "whole number" run --count -3 --out "$work/o"
refuse "bad count" "--count -3: expected a whole number above 0" run --count -3 --out "$work/o"
refuse "bad workers" "--workers 0: expected a whole number above 0" run --workers 0 --out "$work/o"
refuse "bad rows" "--truth-scores -1: expected a whole number, 0 for all rows" run --truth-scores -1 --out "$work/o"
refuse "bad seed" "--seed xyz: expected a hexadecimal seed" run --seed xyz --out "$work/o"
refuse "no workers to retry" "no-retry is about workers" run --no-retry --out "$work/o"
refuse "rows of no truth" "no truth to sample" run --no-truth --truth-scores 5 --out "$work/o"
refuse "rows of no truth" "no truth to sample" repro 'dma' --no-truth --truth-scores 5
refuse "bench of a device by rows" "take no other option" bench --impl cuda --filter x
refuse "bench of lengths in JSON" "take no other option" bench --scaling --json
refuse "list of a quiet report" "nothing is listed" report --all --quiet out/run.jsonl
refuse "list of a quiet diff" "nothing is listed" diff --all --quiet out/run.jsonl out/run.jsonl
refuse "shrink in process" "goes with an adapter" shrink 'flash lq=4 lk=4' --timeout 5
refuse "properties in process" "goes with an adapter" properties --timeout 5
refuse "unknown list" "no kind named" list nosuch
refuse "unknown format" "no element format" explain e9m9 00
refuse "code too wide" "no hexadecimal code" explain e2m1 ff

refuse "unknown kernel in a line" "kernel" repro 'nosuch lq=4'
refuse "impossible head dim" "d" repro 'dma d=65'
refuse "heads do not divide" "h" repro 'dma hq=3 hk=2'
refuse "no value" "lq" repro 'dma lq='
refuse "unknown key" "zzz" repro 'dma zzz=1'
refuse "key twice" "lq" repro 'dma lq=3 lq=4'
refuse "tile" "tile" repro 'dma tile=100x100'
refuse "not offered" "sm_80" repro 'dma arch=sm_80 v=e4m3'
refuse "too large" "lq" repro 'dma lq=99999999999999999999'
refuse "id without log" "no case" repro 0123abcd --log "$work/none.jsonl"

# files
head -c 100 ${real}_q.npy > "$work/short.npy"
head -c 70000 ${real}_q.npy > "$work/cut.npy"
printf 'not a numpy file at all, really not' > "$work/text.npy"
printf '\377\377\377\377\377\377\377\177{}' > "$work/lying.safetensors"
printf '\002\000\000\000\000\000\000\000{]' > "$work/broken.safetensors"
for bad in short cut text; do
    refuse "$bad.npy" "$bad.npy" run --kernel dma --input "$work/$bad.npy,${real}_k.npy,${real}_v.npy" --out "$work/o"
done
for bad in lying broken; do
    refuse "$bad.safetensors" "$bad.safetensors" run --kernel dma --input "$work/$bad.safetensors" --out "$work/o"
done
refuse "missing file" "nosuch.npy" run --kernel dma --input "$work/nosuch.npy,${real}_k.npy,${real}_v.npy" --out "$work/o"
refuse "shapes disagree" "layer00" run --kernel dma --input "${real}_q.npy,${real}_q.npy,${real}_v.npy" --out "$work/o"
# one NaN (7E00 in binary16) in the middle of the data
{ head -c 100000 ${real}_q.npy; printf '\000\176'; tail -c +100003 ${real}_q.npy; } > "$work/nan.npy"
check "the NaN file keeps its size" "$(wc -c < ${real}_q.npy)" "$(wc -c < "$work/nan.npy")"
refuse "NaN tensor" "NaN" run --kernel dma --input "$work/nan.npy,${real}_k.npy,${real}_v.npy" --out "$work/o"
refuse "NaN tensor: place" "nan.npy" run --kernel dma --input "$work/nan.npy,${real}_k.npy,${real}_v.npy" --out "$work/o"

# a type that no tensor is read from
printf '\223NUMPY\001\000v\000' > "$work/complex.npy"
printf "{'descr': '<c8', 'fortran_order': False, 'shape': (9, 4, 64), }%54s\n" "" >> "$work/complex.npy"
head -c 18432 /dev/zero >> "$work/complex.npy"
refuse "complex tensor" "c8" run --kernel dma --input "$work/complex.npy,${real}_k.npy,${real}_v.npy" --out "$work/o"

# q without a token: shape (0, 64)
printf '\223NUMPY\001\000v\000' > "$work/empty.npy"
printf "{'descr': '<f2', 'fortran_order': False, 'shape': (9, 0, 64), }%54s\n" "" >> "$work/empty.npy"
refuse "table rows" "--tokens -3: expected a whole number" table --tokens -3
refuse "bench time" "--seconds x: expected seconds" bench --seconds x
refuse "bench level" "--level x: no level" bench --level x
refuse "diff factor" "--speed-factor x: expected a number" diff --speed-factor x a b
refuse "no captured activations" "captured activations $work/none: .*--no-real.*--real-dir" \
    run --kernel dma --cases quick --real-dir "$work/none" --out "$work/o"
refuse "NaN tensor: remedy" "--set nonfinite=allow" run --kernel dma --input "$work/nan.npy,${real}_k.npy,${real}_v.npy" --out "$work/o"
refuse "no query" "no query token" run --kernel dma --input "$work/empty.npy,${real}_k.npy,${real}_v.npy" --out "$work/o"
check "explain: full device" 3 "$("$program" explain e4m3 7e > /dev/full 2>/dev/null; echo $?)"

printf 'dma lq=3 lk=3\000 zzz\n' > "$work/nul.cases"
refuse "NUL in a case file" "nul.cases.*line 1.*NUL" run --cases "$work/nul.cases" --out "$work/o"
printf 'dma lq=3 lk=3\rdma lq=4 lk=4\r' > "$work/cr.cases"
refuse "line ends without line feeds" "cr.cases: line 1: a carriage return" run --cases "$work/cr.cases" --out "$work/o"
printf '0\000 zzz\n' > "$work/nul.plan"
refuse "NUL in a plan file" "nul.plan: line 1" repro "tilemix lq=16 lk=32 plan=file planfile=$work/nul.plan" --out "$work/o"
printf 'dma lq=3 lk=3\r\n# a\rb\r\ndma lq=4 lk=4\r' > "$work/crlf.cases"
"$program" run --cases "$work/crlf.cases" --no-truth --maps none --out "$work/nul" > /dev/null 2>&1
check "CR before LF and at the end" "0 2" "$? $(grep -c '"record":"case"' "$work/nul/run.jsonl")"
sed '2s/$/\x00{/' "$work/nul/run.jsonl" > "$work/nul.jsonl"
refuse "NUL in a log to merge" "nul.jsonl: line 2: a NUL byte" merge "$work/merged.jsonl" "$work/nul.jsonl"
mv "$work/nul.jsonl" "$work/nul/run.jsonl"
refuse "NUL in a log to resume" "run.jsonl: line 2: a NUL byte" run --cases "$work/crlf.cases" --no-truth --maps none --out "$work/nul" --resume

# output folders
: > "$work/file"
refuse "output is a file" "file" run --kernel flash --cases fuzz --count 1 --no-real --out "$work/file"
if [ "$(id -u)" != 0 ]; then
    mkdir "$work/locked" && chmod a-w "$work/locked"
    refuse "unwritable folder" "locked" run --kernel flash --cases fuzz --count 1 --no-real --out "$work/locked"
fi
refuse "folder below a device" "/dev/null/x" run --kernel flash --cases fuzz --count 1 --no-real --out /dev/null/x

# a full disk: a limit on file size makes every write beyond it fail
(
    trap '' XFSZ
    ulimit -f 4
    "$program" run --kernel flash --cases fuzz --count 3 --seed 1 --no-real --maps all --out "$work/full" > "$work/out" 2> "$work/err"
    echo $? > "$work/status"
)
check "full disk: status" 3 "$(cat "$work/status")"
check "full disk: message in: $(cat "$work/err")" yes "$(grep -q "$work/full" "$work/err" && echo yes)"
(
    trap '' XFSZ
    ulimit -f 8
    "$program" run --kernel flash --cases smoke --no-truth --maps none --out "$work/once" > "$work/out" 2> "$work/err"
)
check "full disk: one message for the log" 1 "$(grep -c "$work/once/run.jsonl: cannot write the log" "$work/err")"
mkdir "$work/device" && ln -s /dev/full "$work/device/run.jsonl"
refuse "full disk: remedy" "cannot write the log: No space left on device; make room on the disk" \
    run --kernel flash --cases smoke --no-truth --maps none --out "$work/device"
check "full disk: no half-written picture" 0 "$(find "$work/full" -name '*.png' -size -1c -o -name '*tmp*' | wc -l | tr -d ' ')"
check "full disk: the log holds whole records only" 0 "$(tail -c 1 "$work/full/run.jsonl" | tr -d '\n' | wc -c | tr -d ' ')"
check "--help, full device" 3 "$("$program" --help > /dev/full 2>/dev/null; echo $?)"
check "--version, full device" 3 "$("$program" --version > /dev/full 2>/dev/null; echo $?)"
check "run --help, full device" 3 "$("$program" run --help > /dev/full 2>/dev/null; echo $?)"
refuse "the same setting twice" 'd=32. and .d=64' run --kernel flash --cases fuzz --count 1 --set d=32 --set d=64
"$program" repro "$(printf 'flash lq=8 \033[31m=1')" > /dev/null 2> "$work/err"
check "control characters are escaped" 1 "$(grep -c 'x1B.31m' "$work/err")"
check "stdout full: status" 3 "$("$program" list kernels > /dev/full 2>/dev/null; echo $?)"

# files that would replace one another, or could not be written at the end: refused before the run
one="run --kernel dma --cases smoke --count 1 --no-truth --maps none --no-real"
echo "dma lq=3 lk=5 d=32" > "$work/one.cases"
# shellcheck disable=SC2086
{
    "$program" $one --out "$work/full" > /dev/null 2>&1
    log=$work/full/run.jsonl
    before=$(cksum < "$log")
    ln -s "$log" "$work/link.xml"
    refuse "JUnit into the log" "the log (.*full/run.jsonl) and --junit (.*are one file" $one --out "$work/full" --junit "$log"
    refuse "JUnit into the log by a link" "the log .* and --junit (.*link.xml) are one" $one --out "$work/full" --junit "$work/link.xml"
    refuse "JUnit into the log to be" "the log .* and --junit" $one --out "$work/not/yet" --junit "$work/not/../not/yet/run.jsonl"
    refuse "both reports in one" "--junit (.*x.xml) and --html (.*x.xml) are one" $one --out "$work/full" --junit "$work/x.xml" --html "$work/./x.xml"
    refuse "a report into the cases" "--html (.*) and --cases (.*one.cases) are one" run --cases "$work/one.cases" --out "$work/full" --html "$work/one.cases"
    check "the cases are untouched" "dma lq=3 lk=5 d=32" "$(cat "$work/one.cases")"
    refuse "report into its log" "report: the log (.*) and --junit (.*) are one file" report "$log" --junit "$log"
    refuse "report into one file" "report: --junit (.*) and --html (.*) are one file" report "$log" --junit "$work/x" --html "$work/x"
    refuse "no folder for JUnit" "--junit .*/none/x.xml: folder .*: No such file" $one --out "$work/full" --junit "$work/none/x.xml"
    refuse "no folder for HTML" "--html .*/none/x.html: folder .*: No such file" $one --out "$work/full" --html "$work/none/x.html"
    refuse "HTML is a folder" "--html .*: a folder, not a file" $one --out "$work/full" --html "$work"
    refuse "no folder for a report" "--junit .*/none/x.xml: folder" report "$log" --junit "$work/none/x.xml"
    [ -c /dev/full ] && refuse "full" "/dev/full: cannot be written: No space" $one --out "$work/full" --junit /dev/full
    check "all refused before the run: the log is untouched" "$before" "$(cksum < "$log")"
    "$program" $one --out "$work/full2" --junit "$work/full2/j.xml" --html /dev/null > /dev/null 2>&1
    check "into the folder to be, and a device: status, report" "0 yes" "$? $([ -s "$work/full2/j.xml" ] && echo yes)"
}

finish
