#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# report and diff as a user calls them: statuses, JUnit against a schema, logs cut off, refusals,
# and files that stay whole when the writer is killed.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
has() { # NAME FILE TEXT
    check "$1" found "$(grep -qF -- "$3" "$2" && echo found)"
}
schema() {
    command -v xmllint > /dev/null || return 0
    check "$1: valid under the schema" 0 \
        "$(xmllint --noout --schema "$source/tests/cli/junit.xsd" "$2" > "$work/lint" 2>&1; echo $?)"
}

# One run that passes, one with a fault.
run() {
    out=$1
    shift
    "$program" run --cases fuzz --seed 3 --no-real --truth-scores 2000 --quiet \
        --out "$work/$out" "$@" > /dev/null 2> "$work/err"
}
run good --kernel flash --count 4 --junit "$work/run.xml" --html "$work/run.html"
check "a good run" 0 $?
run bad --kernel dma --count 6 --fault D2
check "a run with a fault" 1 $?

"$program" report "$work/good/run.jsonl" --junit "$work/good.xml" --html "$work/good.html" > "$work/good.txt"
check "report of a good run" 0 $?
check "its table" 1 "$(grep -c '^flash  *4  *4$' "$work/good.txt")"
schema "good run" "$work/good.xml"
check "run writes the same JUnit" 0 "$(cmp -s "$work/run.xml" "$work/good.xml"; echo $?)"
check "run writes the same page" 0 "$(cmp -s "$work/run.html" "$work/good.html"; echo $?)"
"$program" report --junit "$work/bad.xml" "$work/bad/run.jsonl" --html "$work/bad.html" > "$work/bad.txt"
check "report of a bad run" 1 $?
schema "bad run" "$work/bad.xml"
bad=$(grep -c '"verdict":"fail"' "$work/bad/run.jsonl")
check "failures in JUnit" "$bad" "$(grep -c '<failure ' "$work/bad.xml")"
check "a repro line first" "$bad" "$(grep -c '<failure.*>mxverify repro .dma ' "$work/bad.xml")"
check "failures in the text" "$bad" "$(grep -c '^  mxverify repro ' "$work/bad.txt")"

# The printed command repeats the case.
command=$(grep -m1 '^  mxverify repro ' "$work/bad.txt" | sed "s|^  mxverify|'$program'|")
(cd "$work" && eval "$command --out again --no-truth" > "$work/again.txt" 2> /dev/null)
check "the printed command" 1 $?
has "gives the printed reason" "$work/bad.txt" "$(grep -m1 'first difference' "$work/again.txt")"

# Every verdict, hostile text, two kernels.
{
    printf '{"record":"header","format":1,"version":"1","implementation":"x","date":"2026-11-30T10:11:54Z"}\n'
    for verdict in pass warn weak fail undecided skip unsupported crash timeout device-lost waived xpass oracle-error flaky; do
        printf '{"record":"case","id":"%s","case":"dma lq=1 note=%s","verdict":"%s","reason":"\\u0001 <&> ]]> \\"\\u001b[0m","texts":{"t":"]]>\\u0000x"}}\n' \
            "$verdict" "$verdict" "$verdict" | sed 's/\\u0000//'
    done
    printf '{"record":"case","id":"n","case":"flash","verdict":"pass","seconds":1e9}\n'
} > "$work/all.jsonl"
"$program" report "$work/all.jsonl" --junit "$work/all.xml" --html "$work/all.html" --all > "$work/all.txt"
check "every verdict" 1 $?
schema "every verdict" "$work/all.xml"
check "JUnit failures" 5 "$(grep -c '<failure ' "$work/all.xml")"
check "JUnit errors and the missing totals" 5 "$(grep -c '<error ' "$work/all.xml")"
check "JUnit skipped" 3 "$(grep -c '<skipped ' "$work/all.xml")"
check "no totals" 1 "$(grep -c '^incomplete: the log ends before its totals' "$work/all.txt")"
check "another implementation is named" 9 "$(grep -c "note=.*' --impl x$" "$work/all.txt")"

# A killed run: cut in the middle of its last record.
size=$(wc -c < "$work/good/run.jsonl")
head -c $((size - 400)) "$work/good/run.jsonl" > "$work/cut.jsonl"
"$program" report "$work/cut.jsonl" --junit "$work/cut.xml" > "$work/cut.txt"
check "a log cut off" 2 $?
check "says so" 1 "$(grep -c '^1 records cut off' "$work/cut.txt")"
schema "a log cut off" "$work/cut.xml"

# diff
"$program" diff "$work/good/run.jsonl" "$work/good/run.jsonl" > "$work/diff.txt"
check "no difference" 0 $?
check "four cases in both" 1 "$(grep -c '^4 cases in both logs' "$work/diff.txt")"
sed 's/"verdict":"fail"/"verdict":"pass"/; s/"output_hash":"[0-9a-f]*/"output_hash":"0/' "$work/bad/run.jsonl" > "$work/was.jsonl"
"$program" diff "$work/was.jsonl" "$work/bad/run.jsonl" --all > "$work/diff.txt"
check "new failures" 1 $?
check "each of them" 1 "$(grep -c "^new failures: $bad " "$work/diff.txt")"
check "with verdicts and reason" "$bad" "$(grep -c '^    pass -> fail: words' "$work/diff.txt")"
check "changed output" 1 "$(grep -c "^changed output: 6 " "$work/diff.txt")"
"$program" diff "$work/bad/run.jsonl" "$work/was.jsonl" > "$work/diff.txt"
check "fixed is no failure" 0 $?
check "fixed" 1 "$(grep -c "^fixed: $bad " "$work/diff.txt")"
sed 's/"rel_l2":[0-9.e+-]*/"rel_l2":7/' "$work/good/run.jsonl" > "$work/moved.jsonl"
"$program" diff "$work/good/run.jsonl" "$work/moved.jsonl" > "$work/diff.txt"
check "a moved metric is no failure" 0 $?
moved=$(grep -c '"rel_l2"' "$work/good/run.jsonl")
has "a moved metric" "$work/diff.txt" "changed metrics: $moved "
has "and what it was" "$work/diff.txt" ' -> 7 (x '
"$program" diff "$work/good/run.jsonl" "$work/moved.jsonl" --metric-tolerance 1 > "$work/diff.txt"
check "within the tolerance" 0 "$(grep -c '^changed metrics: [1-9]' "$work/diff.txt")"
"$program" diff "$work/good/run.jsonl" "$work/bad/run.jsonl" -q > "$work/diff.txt"
check "failures that were not there" 1 $?
check "quiet" 0 "$(wc -c < "$work/diff.txt" | tr -d ' ')"

# Refusals: status 3, one line that names the file, nothing written.
refuse() {
    wanted=$1
    shift
    "$program" "$@" > "$work/out" 2> "$work/err"
    check "status of: $*" 3 $?
    check "one line: $*" 1 "$(grep -c . "$work/err")"
    check "message of: $*" 1 "$(grep -c -- "$wanted" "$work/err")"
}
printf '{"record":"header","format":1}\nnonsense\n' > "$work/nonsense.jsonl"
refuse 'the log is missing' report
refuse 'absent.jsonl: cannot be read' report "$work/absent.jsonl" --html "$work/not.html"
refuse 'nonsense.jsonl: line 2, column' report "$work/nonsense.jsonl" --junit "$work/not.xml"
refuse 'two logs are needed' diff "$work/good/run.jsonl"
refuse 'nonsense.jsonl: line 2' diff "$work/good/run.jsonl" "$work/nonsense.jsonl"
refuse 'no/folder/x.xml' report "$work/good/run.jsonl" -q --junit "$work/no/folder/x.xml"
check "nothing written" 0 "$(find "$work" -name 'not.*' | wc -l | tr -d ' ')"
"$program" diff "$work/good/run.jsonl" "$work/good/run.jsonl" --speed-factor x > /dev/null 2>&1
check "a factor that is no number" 3 $?
"$program" diff 1 2 3 > /dev/null 2>&1
check "three logs" 3 $?

# Killed in the midst of writing (the limit of file size ends it): the old file stays whole.
cp "$work/good.html" "$work/kept.html"
sh -c 'cd "$1" && ulimit -f 4 && "$0" report bad/run.jsonl -q --html kept.html; exit $?' "$program" \
    "$work" > /dev/null 2>&1
check "killed" killed "$([ $? -gt 2 ] && echo killed)"
check "killed: the page is the old one" 0 "$(cmp -s "$work/good.html" "$work/kept.html"; echo $?)"

finish
