#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Short of memory, a run ends with status 3 and one line that names the case, what memory was
# wanted for, and what needs less; the case gets no verdict. In this process, in a worker, and
# behind the adapter interface.
# shellcheck disable=SC3045 # ulimit -v and -t: the shells of Debian and Ubuntu have them
set -u
program=$1
source=$2
compiler=${CC:-cc}
. "$source/tests/cli/check.sh"
(ulimit -v 4000000 && "$program" --version > /dev/null 2>&1) ||
    { echo "skipped: address space cannot be limited here"; exit 77; }
export OMP_NUM_THREADS=1

line="flash lq=600 lk=1500 d=32 hq=1 hk=1"
echo "$line" > "$work/large"
echo "flash lq=1 lk=1 d=32 hq=1 hk=1" > "$work/small"
limited() { # KiB, case file, options
    kib=$1
    list=$2
    shift 2
    rm -rf "$work/out"
    (ulimit -v "$kib" && exec "$program" run --kernel flash --cases "$list" --maps none \
        --out "$work/out" "$@") > "$work/txt" 2> "$work/err"
}

# From the limit that a small case needs to the one that the large case needs.
climb() { # name, options
    name=$1
    shift
    named=0
    status=none
    kib=12000
    while [ "$status" != 0 ] && [ "$kib" -lt 400000 ]; do
        kib=$((kib + 2000))
        limited "$kib" "$work/small" "$@" || continue
        limited "$kib" "$work/large" "$@"
        status=$?
        [ "$status" = 0 ] && break
        check "$name, $kib KiB: status" 3 "$status"
        check "$name, $kib KiB: one line says it" 1 "$(grep -c '^mxverify: .*out of memory' "$work/err")"
        check "$name, $kib KiB: no verdict" 0 "$(cat "$work/txt" "$work/out/run.jsonl" 2> /dev/null |
            grep -c "\"record\":\"case\"")"
        grep -q '^mxverify: case flash .*lq=600 .*: .*out of memory.*OMP_NUM_THREADS' "$work/err" &&
            named=$((named + 1))
    done
    check "$name: enough in the end" 0 "$status"
    check "$name: the case is named" yes "$([ "$named" -ge 3 ] && echo yes || echo "$named times")"
}
climb "here" --no-truth
climb "here, with truth" --truth-scores 2000
climb "in a worker" --no-truth --workers 1

# what cannot fit whatever the options is said at once, with the sizes and what to change
(ulimit -v 4000000 && ulimit -t 5 && exec "$program" repro 'flash lq=1048576 lk=1048576 hq=1 hk=1' \
    --out "$work/huge") > "$work/txt" 2> "$work/err"
check "a head of 8 TB: status" 3 $?
check "a head of 8 TB: said in: $(cat "$work/err")" 1 "$(grep -c \
    'at least 8796.1 GB, and the limit on address space (ulimit -v) is 4.1 GB: take fewer tokens' "$work/err")"
(ulimit -v 4000000 && ulimit -t 5 && exec "$program" repro 'flash seqs=4:4,1000000:1000000 hq=1 hk=1' \
    --out "$work/huge") > "$work/txt" 2> "$work/err"
check "one sequence of 8 TB: status" 3 $?
check "one sequence of 8 TB: said in: $(cat "$work/err")" 1 "$(grep -c '1000000 x 1000000 scores takes at least 8000.0 GB' "$work/err")"

command -v "$compiler" > /dev/null || { finish; exit $?; }
cd "$source" || exit 1
"$compiler" -std=c11 -D_GNU_SOURCE -O1 -shared -fPIC -Iformats/include -Iref/include \
    -Ianalysis/include -o "$work/adapter.so" tests/support/adapter_faults.c -lm ||
    { echo "the adapter does not compile"; exit 1; }
climb "an adapter" --no-truth --impl "$work/adapter.so"

# an adapter that says so: lq = 121 (tests/support/adapter_faults.c)
for lq in 200 121 201; do
    echo "flash lq=$lq lk=64 d=32 hq=1 hk=1"
done > "$work/list"
"$program" run --impl "$work/adapter.so" --kernel flash --cases "$work/list" --no-truth --maps none \
    --out "$work/out" > "$work/txt" 2> "$work/err"
check "an adapter's word: status" 3 $?
check "an adapter's word: line" 1 "$(grep -c \
    '^mxverify: case flash .*lq=121 .*out of memory for the weights on the device' "$work/err")"
check "an adapter's word: no verdict" "1 0" "$(grep -c '"verdict":"pass"' "$work/out/run.jsonl") $(grep -c \
    'lq=121' "$work/out/run.jsonl")"
"$program" run --impl "$work/adapter.so" --kernel flash --cases "$work/list" --no-truth --maps none \
    --out "$work/out" --resume > "$work/txt" 2> "$work/err"
check "resumed, it is tried again" 3 $?

finish
