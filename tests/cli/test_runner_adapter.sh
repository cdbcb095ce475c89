#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# An adapter that crashes, hangs, writes nonsense, loses its device ... in a worker process: the
# right verdict for that case, and the run goes on (tests/support/adapter_faults.c).
set -u
program=$1
source=$2
compiler=${CC:-cc}
. "$source/tests/cli/check.sh"
cd "$source" || exit 1
command -v "$compiler" > /dev/null || { echo "skipped: no C compiler"; exit 77; }

build() { # name, further flags
    name=$1
    shift
    "$compiler" -std=c11 -D_GNU_SOURCE -O1 -shared -fPIC -Iformats/include -Iref/include \
        -Ianalysis/include "$@" -o "$work/$name.so" tests/support/adapter_faults.c -lm ||
        { echo "the adapter does not compile"; exit 1; }
}
build test
build taps '-DNAME="taps"' '-DCAPABILITIES=(MXV_IMPL_SAME_BITS|MXV_IMPL_LSE|MXV_IMPL_TAPS|MXV_IMPL_THREADS)'
build claims_nothing '-DNAME="foreign"' -DCAPABILITIES=0
build size -DWRONG_SIZE

# lq 100 and 200 are healthy and stand between the others
cases() {
    for lq in "$@"; do
        echo "flash lq=$lq lk=64 d=32 hq=1 hk=1 out=f32 lse=e mask=causal empty=nan seed=$lq"
        echo "flash lq=200 lk=64 d=32 hq=1 hk=1 seed=$lq"
    done
}
verdict() { # lq: verdict of that case in the log
    sed -n "s/.*\"case\":\"flash lq=$1 [^\"]*\",\"verdict\":\"\([a-z-]*\)\".*/\1/p" "$work/out/run.jsonl"
}
reason() {
    sed -n "s/.*\"case\":\"flash lq=$1 [^\"]*\",\"verdict\":\"[a-z-]*\",\"reason\":\"\([^\"]*\)\".*/\1/p" "$work/out/run.jsonl"
}
run() { # adapter, options
    adapter=$1
    shift
    ADAPTER_MARKER="$work/marker" "$program" run --impl "$work/$adapter.so" --kernel flash \
        --cases "$work/list" --no-truth --maps none --out "$work/out" "$@" > "$work/txt" 2> "$work/err"
}

cases 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 > "$work/list"
run test --workers 2 --timeout 2
check "status" 1 $?
check "every case is in the log" 34 "$(grep -c '"record":"case"' "$work/out/run.jsonl")"
check "the others pass" 17 "$(grep -c '"case":"flash lq=200 .*"verdict":"pass"' "$work/out/run.jsonl")"
check "healthy" pass "$(verdict 100)"
check "segfault" crash "$(verdict 101)"
check "segfault: reason" "the worker process was killed by signal 11 (Segmentation fault)" "$(reason 101)"
check "hang" timeout "$(verdict 102)"
check "hang: reason" "no answer within 2 s" "$(reason 102)"
check "noise in the output" fail "$(verdict 103)"
check "noise in the channel" fail "$(verdict 104)"
check "exit(0)" crash "$(verdict 105)"
check "beyond the end" fail "$(verdict 106)"
check "beyond the end: reason" 1 "$(reason 106 | grep -c 'overwritten')"
check "no output" fail "$(verdict 107)"
check "device lost" device-lost "$(verdict 108)"
check "device lost: reason" 1 "$(reason 108 | grep -c 'fell off the bus')"
check "refuses" unsupported "$(verdict 109)"
check "refuses: reason" "no kernel for this length" "$(reason 109)"
check "fails" fail "$(verdict 110)"
check "fails: reason" 1 "$(reason 110 | grep -c 'no memory left')"
check "once in two" flaky "$(verdict 111)"
check "talks" pass "$(verdict 112)"
check "what it prints is no result" 0 "$(grep -c ffffffffffffffff "$work/txt")"
check "one ulp" fail "$(verdict 113)"
check "one ulp: element" 1 "$(reason 113 | grep -c 'element (56, 16).*; 1 of 3616 words differ')"
check "payload of a NaN" pass "$(verdict 114)"
check "LSE" fail "$(verdict 115)"
check "LSE: stage" 1 "$(reason 115 | grep -c 'first difference at lse')"
check "no such status" fail "$(verdict 116)"
check "device in the log" 1 "$(grep -c '"implementation":"test","reference":"emulation","device":"Test device"' "$work/out/run.jsonl")"

rm -f "$work/marker"
run test --no-retry --timeout 1
check "no retry: not called flaky" fail "$(verdict 111)"

# taps: the stage is named; without the claim of same bits, the bound judges
cases 100 113 > "$work/list"
run taps
check "taps: healthy" pass "$(verdict 100)"
check "taps: one ulp" fail "$(verdict 113)"
run claims_nothing
check "foreign, nothing judged" undecided "$(verdict 100)"
cases 100 103 107 113 > "$work/list"
"$program" run --impl "$work/claims_nothing.so" --kernel flash --cases "$work/list" --maps none \
    --out "$work/out" > "$work/txt" 2> "$work/err"
check "foreign, by the bound: healthy" pass "$(verdict 100)"
check "foreign, by the bound: noise" fail "$(verdict 103)"
check "foreign, by the bound: no output" fail "$(verdict 107)"
check "foreign, by the bound: one ulp of binary32 is within it" pass "$(verdict 113)"

# P that is never rounded to the PV type: not what the case declares, unless --wide-p allows it
echo "flash lq=117 lk=200 d=32 hq=1 hk=1 in=bf16 v=bf16 out=f32 mask=full seed=117" > "$work/list"
wide() { # adapter, options
    adapter=$1
    shift
    "$program" run --impl "$work/$adapter.so" --kernel flash --cases "$work/list" --maps none --out "$work/out" "$@" \
        > "$work/txt" 2> "$work/err"
}
wide claims_nothing
check "wide P: not the declared model" "1 fail" "$? $(verdict 117)"
wide claims_nothing --wide-p
check "wide P: allowed" "0 pass" "$? $(verdict 117)"
wide test --wide-p
check "wide P: no excuse for one that claims the bits" "1 fail" "$? $(verdict 117)"
echo "flash lq=103 lk=200 d=32 hq=1 hk=1 in=bf16 v=bf16 out=f32 mask=full seed=117" > "$work/list"
wide claims_nothing --wide-p
check "wide P: noise still fails" "1 fail" "$? $(verdict 103)"

# what an adapter does to its inputs and to the processor's modes does not reach the judge
cases 118 120 > "$work/list"
echo "flash lq=119 lk=64 d=32 hq=2 hk=1 out=f32 lse=e mask=causal seed=119" >> "$work/list"
for adapter in test claims_nothing; do
    "$program" run --impl "$work/$adapter.so" --kernel flash --cases "$work/list" --maps none --out "$work/out" > "$work/txt" 2> "$work/err"
    check "$adapter: changes V" "fail" "$(verdict 118)"
    check "$adapter: changes V: reason" 1 "$(reason 118 | grep -c 'changed its inputs: v')"
    check "$adapter: leaves rounding and traps" 1 "$(grep -c '"case":"flash [^"]*lq=119 [^"]*","verdict":"pass"' "$work/out/run.jsonl")"
    check "$adapter: control characters" 'sequence 0 head 0: one\\x0Atwo\\x1B[31m\\x01' "$(reason 120)"
    check "$adapter: control characters on the terminal" 0 "$(grep -c "$(printf '[\033\001]')" "$work/txt")"
done

# an adapter that cannot be used is an error, not a verdict
refuse() { # description, pattern, adapter
    run "$3"
    check "$1: status" 3 $?
    check "$1: message /$2/ in: $(cat "$work/err")" 1 "$(grep -c "$2" "$work/err")"
}
refuse "another layout" "rebuild it" size
echo text > "$work/text.so"
refuse "no shared object" "text.so" text
refuse "missing" "missing.so" missing
refuse "the path is said once" "impl: $work/missing.so: cannot open" missing
"$compiler" -shared -fPIC -x c -o "$work/empty.so" /dev/null
refuse "no adapter" "empty.so: no adapter: it exports no function mxv_implementation" empty
here() { # description, expected status, pattern, arguments: run in the adapters' folder
    d=$1 expected=$2 pattern=$3
    shift 3
    (cd "$work" && exec "$program" "$@" > txt 2> err)
    check "$d: status" "$expected" $?
    check "$d: /$pattern/ in: $(cat "$work/err")" yes "$(cat "$work/txt" "$work/err" | grep -q "$pattern" && echo yes)"
}
cases 100 > "$work/list"
here "a name in the current folder" 0 "pass" run --impl test.so --kernel flash --cases list --no-truth --maps none
here "a name in the current folder: shrink" 3 "shrink: text.so: file too short" shrink 'flash lq=4 lk=4 d=32' --impl text.so
here "a name in the current folder: properties" 3 "text.so: file too short" properties --kernel flash --impl text.so
here "a name in no folder" 3 "impl: nowhere.so: cannot open shared object file" run --impl nowhere.so --cases list
ADAPTER_REFUSES="no GPU" refuse "no device" "test cannot work here: no GPU" test
ADAPTER_REFUSES=crash refuse "dies while it starts" "died while it started: killed by signal 11" test

cat > "$work/stuck.c" << 'EOF'
#include <mxverify/impl.h>
#include <unistd.h>
static int info(struct mxv_impl_info *out, char *message, size_t size)
{
    (void)out, (void)message, (void)size;
    for (;;)
        pause();
}
static int run(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
               uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size)
{
    (void)state, (void)a, (void)sequence, (void)head, (void)out, (void)lse, (void)sink, (void)message, (void)size;
    return MXV_IMPL_FAILED;
}
const struct mxv_implementation *mxv_implementation(void)
{
    static const struct mxv_implementation stuck = {.abi = MXV_IMPL_ABI, .call_size = sizeof(struct mxv_attention), .name = "stuck", .version = "1", .info = info, .run = run};
    return &stuck;
}
EOF
"$compiler" -std=c11 -D_GNU_SOURCE -shared -fPIC -Iformats/include -Iref/include -Ianalysis/include -o "$work/stuck.so" "$work/stuck.c"
begin=$(date +%s)
run stuck --timeout 1
check "info that hangs: status" 3 $?
check "info that hangs: --timeout is its limit" 1 "$([ $(($(date +%s) - begin)) -lt 20 ] && echo 1)"

finish
