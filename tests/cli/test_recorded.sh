#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# `--impl recorded`: device results as hashes and as words, also damaged; `--impl cuda` without a
# device. tests/golden/test_recorded_whole.c has words that differ.
set -u
program=$1
source=$2
# shellcheck source=tests/cli/check.sh
. "$source/tests/cli/check.sh"
cd "$work" || exit 1

recorded() { # further options
    "$program" run --impl recorded --cases recorded --no-truth --maps none --out "$work/out" "$@" \
        > "$work/txt" 2> "$work/err"
}
field() { # name of a text field in the first case of the log
    sed -n "/\"record\":\"case\"/{s/.*\"$1\":\"\([^\"]*\)\".*/\1/p;q}" "$work/out/run.jsonl"
}

for kernel in flash dma tilemix; do
    recorded --kernel $kernel --count 40
    check "$kernel: the emulation gives the recorded words" 0 $?
    check "$kernel: every case passes" 40 "$(grep -c '"verdict":"pass"' out/run.jsonl)"
done
check "the log names the device" 1 "$(grep -c '"device":"NVIDIA H200"' out/run.jsonl)"

"$program" run --impl recorded --kernel dma --cases quick --no-truth --maps none --out out \
    > txt 2> err
status=$?
check "quick: recorded cases pass" 0 $status
check "quick: none fails" 0 "$(grep -c '"verdict":"fail"' out/run.jsonl)"

if [ -e "$source/data/golden/h200/whole.txt" ]; then
    "$program" run --impl recorded --cases "$source/data/cases/h200-whole.cases" --no-truth \
        --maps none --out out > txt 2> err
    check "cases recorded whole pass" 0 $?
    check "all of them" "$(grep -c '^[a-z]' "$source/data/cases/h200-whole.cases")" \
        "$(grep -c '"verdict":"pass"' out/run.jsonl)"
fi

echo 'flash lq=77 lk=33 d=32 seed=5' > list
"$program" run --impl recorded --cases list --out out > txt 2> err
check "a case without a record is skipped" 77 $?
check "it says so" 1 "$(grep -c 'no device result is recorded' out/run.jsonl)"

# Damaged records: the folder of the same name where the program runs comes first.
mkdir -p data/golden/h200
line=$(sed -n '/^flash /p' "$source/data/golden/h200/flash.txt" | sed -n 3p)
case_line=$(printf '%s' "$line" | cut -f 1)
inputs=$(printf '%s' "$line" | cut -f 2)
rest=$(printf '%s' "$line" | cut -f 3-4)
tiles=$(printf '%s' "$line" | cut -f 5)
other=$(printf '%s' "$tiles" | sed 's/[0-9a-f]\{8\}$/00000001/')
write() { # inputs, tiles
    printf '# device: of a test\n%s\t%s\t%s\t%s\n' "$case_line" "$1" "$rest" "$2" \
        > data/golden/h200/flash.txt
}
write "$inputs" "$tiles"
recorded --kernel flash
check "the record as it is" 0 $?
sed -i 's/$/\r/' data/golden/h200/flash.txt
recorded --kernel flash
check "with carriage returns" 0 $?
write "$inputs" "$other"
recorded --kernel flash
check "one other tile fails" 1 $?
check "its verdict" fail "$(field verdict)"
check "the tile is named" 1 "$(field reason | grep -c 'query tile')"
write "$inputs" "$tiles,00000001"
recorded --kernel flash
check "a tile too many fails" 1 $?
write 0000000000000001 "$tiles"
recorded --kernel flash
check "other data than the device had" 1 $?
check "that is no word about the emulation" oracle-error "$(field verdict)"

printf 'flash lq=32\tx\n' > data/golden/h200/flash.txt
recorded --kernel flash
check "a malformed record is refused" 3 $?
check "by file and line" 1 "$(grep -c 'flash.txt: line 1:' err)"
whole() { # line behind the record
    write "$inputs" "$tiles"
    printf "$1" >> data/golden/h200/flash.txt
    recorded --kernel flash
}
whole '@out f16 0 0 0 0 1 2 0123456789abcdef\t3c00 3c01\n'
check "words without their hash are refused" 3 $?
check "by file and line" 1 "$(grep -c 'flash.txt: line 3: .*hash' err)"
whole '@out f16 0 0 0 0 1 2 0123456789abcdef\t3c00\n'
check "a word too few is refused" 3 $?
check "with the count" 1 "$(grep -c 'line 3: 1 words of 1 rows and 2 columns' err)"
whole '@out f16 0 0 0 0 0 0 2d06800538d394c2\t\n'
check "words that are not those of the case line" 3 $?
check "by stage" 1 "$(grep -c 'stage out' err)"
rm data/golden/h200/flash.txt
recorded --kernel flash
check "an empty folder is refused" 3 $?
recorded --kernel flash --fault exp-base
check "faults are for the emulation" 3 $?

if [ ! -e /dev/nvidia0 ]; then
    "$program" run --impl cuda --kernel dma --cases quick --out cuda > txt 2> err
    check "--impl cuda without a device" 3 $?
    check "in one line" 1 "$(wc -l < err | tr -d ' ')"
    check "which names the option" 1 "$(grep -c -e '--impl cuda' err)"
    "$program" bench --impl cuda > txt 2> err
    check "bench --impl cuda without a device" 3 $?
    check "in one line, too" 1 "$(wc -l < err | tr -d ' ')"
    check "and writes nothing" no "$([ -e cuda ] && echo yes || echo no)"
fi
finish
