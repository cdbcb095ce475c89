#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Every file that the program reads ends somewhere: a device without end is refused with status 3
# and a line that says so, and nothing is written into it or cut off.
set -u
program=$1
source=$2
# shellcheck source=tests/cli/check.sh
. "$source/tests/cli/check.sh"
cd "$work" || exit 1

# description, text of the error, arguments; 2 GiB of memory, one minute
refused() {
    what=$1 said=$2
    shift 2
    # shellcheck disable=SC3045 # dash has ulimit -v
    (ulimit -v 2097152 && OMP_NUM_THREADS=2 timeout 60 "$program" "$@") > txt 2> err < /dev/zero
    check "$what: refused" 3 $?
    check "$what: says why" yes "$(grep -q -e "$said" err && echo yes || head -c 300 err)"
}
large='too large\|longer than 64 MiB\|more than 64 MiB\|File too large'

refused "case list" "$large" run --cases /dev/zero --no-truth
refused "case list on standard input" "$large" run --cases /dev/stdin --no-truth
echo 'tilemix lq=32 lk=32 d=32 plan=file planfile=/dev/zero' > list
refused "plan file" "$large" run --cases list --no-truth
refused "plan file of one case" "$large" repro 'tilemix lq=32 lk=32 d=32 plan=file planfile=/dev/zero'
refused "report" "$large" report /dev/zero
refused "merge" "$large" merge merged.jsonl /dev/zero
refused "log of an id" "$large" repro --log /dev/zero 01234567
refused "ledger" "$large" run --cases smoke --count 1 --ledger /dev/zero --no-truth
refused "requests" "$large" eval decode --format e4m3
refused "tensor" "$large" check --kernel flash --q /dev/zero --k /dev/zero \
    --v /dev/zero --out /dev/zero
refused "captures" . probe --vectors /dev/zero
mkdir -p data/golden/h200 log
ln -s /dev/zero data/golden/h200/flash.txt
refused "recorded results" "$large" run --impl recorded --cases list --no-truth
rm -r data
ln -s /dev/zero log/run.jsonl
refused "log to be resumed" "$large" run --cases smoke --count 1 --no-truth --resume --out log
check "the link is still there" yes "$([ -L log/run.jsonl ] && echo yes || echo no)"
finish
