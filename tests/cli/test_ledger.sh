#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Known failures in a run: waived, unexpected passes, expired entries, quarantine, refused ledgers.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$source" || exit 1

cat > "$work/list" << 'END'
dma lq=40 lk=70 d=32 mode=low gen=gaussian fault=D2
dma lq=41 lk=70 d=32 mode=low gen=gaussian
flash lq=42 lk=70 d=32
END
mandatory='"reason":"scale is off by a factor of 2","owner":"kernel team","url":"https://example.org/issues/7"'
ledger() { # the entries, without what is mandatory
    printf '{"format": 1, "entries": [' > "$work/ledger.json"
    comma=
    for entry in "$@"; do
        printf '%s{%s, %s}' "$comma" "$entry" "$mandatory" >> "$work/ledger.json"
        comma=', '
    done
    printf ']}\n' >> "$work/ledger.json"
}
run() {
    "$program" run --kernel all --cases "$work/list" --no-truth --maps none --out "$work/out" \
        --ledger "$work/ledger.json" "$@" > "$work/txt" 2> "$work/err"
}
verdicts() {
    sed -n 's/.*"verdict":"\([a-z-]*\)".*/\1/p' "$work/out/run.jsonl" | tr '\n' ' '
}

ledger '"where": {"fault": "D2"}, "expires": "9999-12-31"'
run
check "a known failure is waived: status" 0 $?
check "a known failure is waived" "waived pass pass " "$(verdicts)"
check "the record has URL and owner" 1 "$(grep -c '"found":"fail","url":"https://example.org/issues/7","owner":"kernel team"' "$work/out/run.jsonl")"
check "the record still says where" 1 "$(grep -c '"verdict":"waived".*"stage":"q.scale"' "$work/out/run.jsonl")"
check "the report names the entry" 1 "$(grep -c 'entry 1: 1 case, until 9999-12-31: scale is off' "$work/txt")"
for options in "--workers 2" "--resume"; do
    # shellcheck disable=SC2086
    run $options
    check "the same with $options" "0 waived pass pass " "$? $(verdicts)"
done

ledger '"case": "dma lq=4? *", "expires": "9999-12-31"'
run
check "unexpected pass: status" 1 $?
check "unexpected pass" "waived xpass pass " "$(verdicts)"

ledger '"case": "*fault=D2*", "expires": "2020-02-29"'
run
check "expired: status" 1 $?
check "expired: waives nothing" "fail pass pass " "$(verdicts)"
check "expired: message" 1 "$(grep -c 'entry 1 expired on 2020-02-29 (scale is off by a factor of 2; kernel team; https://example.org/issues/7)' "$work/err")"
ledger '"case": "*fault=D2*", "expires": "9999-12-31"' '"case": "*lq=9999*", "expires": "2020-01-01"'
run
check "expired, although its cases are not run: status" 1 $?
check "expired, although its cases are not run" "waived pass pass " "$(verdicts)"

ledger '"case": "*fault=D2*", "quarantine": true, "expires": "9999-12-31"'
run
check "quarantine: status" 0 $?
check "quarantine" "skip pass pass " "$(verdicts)"
run --workers 1
check "quarantine with workers" "skip pass pass " "$(verdicts)"

ledger '"where": {"fault": "D2"}, "implementation": "cuda*", "expires": "9999-12-31"' \
    '"where": {"fault": "D2"}, "device": "NVIDIA*", "expires": "9999-12-31"' \
    '"where": {"fault": "D2"}, "driver": {"from": "1"}, "expires": "9999-12-31"' \
    '"where": {"fault": "D2"}, "verdicts": ["crash"], "expires": "9999-12-31"' \
    '"where": {"fault": "D2", "kernel": "flash"}, "expires": "9999-12-31"'
run
check "out of scope: status" 1 $?
check "out of scope" "fail pass pass " "$(verdicts)"

# refused: file, line, column
refuse() { # description, pattern
    run
    check "$1: status" 3 $?
    check "$1: message in: $(cat "$work/err")" 1 "$(grep -c "ledger.json:$2" "$work/err")"
}
printf '{\n  "format": 1,\n  "entries": [ {"case": } ]\n}\n' > "$work/ledger.json"
refuse "syntax" "3:[0-9]*: "
printf '{\n "format": 1,\n "entries": [\n  {"case": "*", "reason": "r", "url": "https://x.org/1", "expires": "2030-01-01"}\n ]\n}\n' > "$work/ledger.json"
refuse "no owner" '4:3: `owner`: is missing'
sed 's|"url": "[^"]*"|"owner": "o"|' "$work/ledger.json" > "$work/l" && mv "$work/l" "$work/ledger.json"
refuse "no URL" '4:3: `url`: is missing'
printf '{"format": 1, "entries": [\n  {"case": "*", "reason": "r", "owner": "o", "url": "https://x.org/1"}]}' > "$work/ledger.json"
refuse "no date" '2:3: `expires`: is missing'
printf '{"format": 1, "entries": [\n  {"case": "*", "reason": "r", "owner": "o", "url": "https://x.org/1",\n   "expires": "2030-02-30"}]}' > "$work/ledger.json"
refuse "no such day" '3:15: `expires`: expected a day'
ledger '"expires": "9999-12-31"'
refuse "no scope" '1:27: `case`'
ledger '"wher": {"d": 32}, "case": "*", "expires": "9999-12-31"'
refuse "misspelt" '1:36: `wher`: no such member'
rm "$work/ledger.json"
run
check "no such file: status" 3 $?
check "no such file: message" 1 "$(grep -c 'ledger.json: No such file' "$work/err")"

finish
