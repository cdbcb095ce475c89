#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# properties as a user calls it: a healthy kernel keeps them, a fault breaks the one that it should, an
# adapter, refusals. All kernels and more faults: gate.properties.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
cd "$work" || exit 1
properties() {
    "$program" properties "$@" > out 2> err
}
properties --case 'flash d=32'
check "flash: status" 0 $?
for name in v-ones identity-v uniform-scores one-hot row-constant lse-merge causal-prefix \
    power-of-two-v gqa-replication key-permutation batch-invariance determinism; do
    check "$name is in the table" 1 "$(grep -c -m1 "$name" out)"
done
properties --case 'flash d=32' --fault causal-off-by-one
check "a mask one key too wide: status" 1 $?
check "a mask one key too wide: identity-v" 1 "$(grep 'identity-v' out | grep -c -m1 'violated')"
compiler=${CC:-cc}
if command -v "$compiler" > /dev/null; then
    "$compiler" -std=c11 -D_GNU_SOURCE -O1 -shared -fPIC -I"$source/formats/include" \
        -I"$source/ref/include" -I"$source/analysis/include" -o healthy.so \
        "$source/tests/support/adapter_faults.c" || exit 1
    properties --case 'flash d=32' --impl ./healthy.so
    check "an adapter: an answer" 1 "$([ -s out ] && echo 1)"
    ADAPTER_ACT=101 properties --case 'flash d=32' --impl ./healthy.so
    check "an adapter that dies: status" 1 $?
    check "an adapter that dies: said" 1 "$(grep -c 'died of signal 11 .* at flash ' err)"
    ADAPTER_ACT=102 properties --case 'flash d=32' --impl ./healthy.so --timeout 1
    check "an adapter that hangs: status" 1 $?
    check "an adapter that hangs: said" 1 "$(grep -c 'no end within 1 s .* at flash ' err)"
    ADAPTER_ACT=105 properties --case 'flash d=32' --impl ./healthy.so
    check "an adapter that calls exit(0): status" 1 $?
fi

refuse() { # NAME OPTIONS...
    name=$1
    shift
    properties "$@"
    check "$name: status" 3 $?
    check "$name: one line" 1 "$(wc -l < err | tr -d ' ')"
}
refuse "no such kernel" --kernel flesh
refuse "no such fault" --kernel flash --fault D0
refuse "no such case" --case 'flash lq=0x'
refuse "no adapter" --kernel flash --impl ./none.so
properties --nonsense
check "no such option: status" 3 $?
finish
