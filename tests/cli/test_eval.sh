#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# `mxverify eval`: every row of data/vectors/bug-vectors.tsv is one call (right values recomputed with
# exact rational arithmetic, see data/vectors/README.md); then the filter's manners: many words a line,
# comments, refusals, malformed requests, long streams.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"


# --- the table: awk compares word by word, `nan` stands for any NaN of the width -----------------
tab=$(printf '\t')
rows=0
wrong=0
sed 1d "$source/data/vectors/bug-vectors.tsv" > "$work/rows"
while IFS="$tab" read -r id operation parameters input expected origin reason; do
    rows=$((rows + 1))
    set --
    if [ "$parameters" != "-" ]; then
        for p in $parameters; do set -- "$@" "--${p%%=*}" "${p#*=}"; done
    fi
    [ "$input" = "-" ] && input=""
    printf '%s\n' "$input" | "$program" eval "$operation" "$@" > "$work/out" 2> "$work/err"
    status=$?
    printf '%s\n' "$expected" > "$work/expected"
    if ! awk -v status="$status" '
        function nan(w) {
            if (length(w) == 8) return w ~ /^[7F][F][89A-F]/ && w !~ /^[7F]F800000$/
            if (length(w) == 4) return w ~ /^[7F][C-F]/
            return w == "7F" || w == "FF" || w == "80"
        }
        NR == FNR { n = split($0, e, " "); next }
        { if (split($0, g, " ") != n) exit 1
          for (i = 1; i <= n; i++) {
              if (e[i] == "nan") { if (!nan(g[i])) exit 1 }
              else if (e[i] == "reject") { if (g[i] != "reject" || status != 3) exit 1; refused = 1 }
              else if (e[i] != g[i]) exit 1
          }
          lines++ }
        END { if (lines != 1 || (!refused && status != 0)) exit 1 }' "$work/expected" "$work/out"; then
        wrong=$((wrong + 1))
        printf 'FAILED row %s (%s): expected %s, got %s %s\n' "$id" "$origin" "$expected" \
            "$(cat "$work/out")" "$(cat "$work/err")"
        : "$reason"
    fi
done < "$work/rows"
printf '%d rows, %d wrong\n' "$rows" "$wrong"
check "rows of the table" 138 "$rows"
failures=$((failures + wrong))

# --- manners ------------------------------------------------------------------------------------
e() { "$program" eval "$@" 2>"$work/err"; }
check "two words a line" "05 02" "$(echo '40400000 3f400000' | e encode --format e2m1 --round rne)"
check "--key=value" "05 02" "$(echo '40400000 3f400000' | e encode --format=e2m1)"
check "comments and blank lines" "05" "$(printf '# c\n\n  40400000 # three\n' | e encode --format e2m1)"
check "no input line, no answer" "" "$(printf '' | e encode --format e2m1)"
check "lines keep their order" "00 01 02" "$(printf '0\n3F000000\n3F800000\n' | e encode --format e2m1 | tr '\n' ' ' | sed 's/ $//')"
check "padding with zero operands" "3F800000" "$(echo '38 | 38 | 0' | e mma --model sm_90.wgmma.e4m3.f32)"
check "model with scales" "40800000" "$(echo '2 | 2 | 0 | 80 | 80' | e mma --model sm_100.tcgen05.mxf4.ue8m0.f32)"
check "special function" "3F800000 40000000" "$(echo '0 3F800000' | e sfu --op ex2)"
check "division groups" "40000000 40400000" "$(echo '40800000 40000000 | 40C00000 40000000' | e sfu --op div)"
check "operation without input" "7E" "$(e limits --format e4m3 --which max < /dev/null)"
check "refused word in place" "reject 80 00" "$(echo '3FC00000 40000000 00000000' | e pow2_scale)"
echo '3FC00000' | e pow2_scale > /dev/null
check "refusal status" 3 $?
check "refusal says why" 1 "$(grep -c 'line 1: refused: word 1' "$work/err")"
check "heads that do not divide" "reject" "$(echo 00 | e kv_head --hq 3 --hkv 2)"

refuse() { # description, pattern on stderr, input, arguments...
    d=$1 pattern=$2 input=$3
    shift 3
    out=$(printf '%b' "$input" | "$program" eval "$@" 2>"$work/err")
    check "$d: status" 3 $?
    check "$d: message" 1 "$(grep -c -- "$pattern" "$work/err")"
    check "$d: one line" 1 "$(wc -l < "$work/err" | tr -d ' ')"
    check "$d: nothing printed" "" "$out"
}
refuse "unknown operation" "no operation named" "" nosuchop
refuse "unknown option" "has no such option" "" encode --format e2m1 --nosuch 1
refuse "missing value" "its value is missing" "" encode --format
refuse "missing format" "--format is missing" "00\n" encode
refuse "unknown format" "no such element format" "00\n" decode --format e9m9
refuse "unknown policy" "no such value" "00\n" encode --format e2m1 --round nearest
refuse "option twice" "given twice" "00\n" encode --format e2m1 --format e4m3
refuse "not hexadecimal" "column 3: .xyz." "0 xyz\n" encode --format e2m1
refuse "0x prefix" "is not a hexadecimal word" "0x3F\n" encode --format e2m1
refuse "too wide" "does not fit in 8 bits" "1FF\n" decode --format e4m3
refuse "code out of range" "does not fit in 4 bits" "10\n" decode --format e2m1
refuse "groups" "groups where" "1 | 2\n" mma --model sm_90.mma.f16.f32
refuse "unknown model" "no such model" "1\n" mma --model sm_55.mma.f16.f32
refuse "short block" "words where" "1 2 3\n" quantize --block mxfp4
refuse "odd split" "multiples" "1 2 3\n" pack --order split16
refuse "matrix shape" "do not fill" "1 2 3\n" pack --axis rows --rows 2 --cols 2
refuse "dot lengths" "A has 1 words and B has 2" "1 | 1 2\n" dot --elem e4m3
# answers before a bad line are not lost
check "answers before a bad line" "05" "$(printf '40400000\nzz\n' | e encode --format e2m1)"
check "bad line number" 1 "$(grep -c 'line 2' "$work/err")"

# one question at a time over two pipes: the answer comes before the input ends
mkfifo "$work/ask" "$work/tell"
"$program" eval encode --format e2m1 < "$work/ask" > "$work/tell" 2>/dev/null &
exec 8> "$work/ask" 9< "$work/tell"
printf '40400000\n' >&8
read -r first <&9
printf '3F400000\n' >&8
read -r second <&9
exec 8>&- 9<&-
wait
check "answers while the input stays open" "05 02" "$first $second"
# decoding is exact or refused
check "binary64 beyond binary32" "reject" "$(echo 3FF0000000000001 | e decode --format f64)"
check "binary32 beyond bfloat16" "reject" "$(echo 3F800001 | e decode --format f32 --dst bf16)"
check "binary64 that fits" "3FC00000" "$(echo 3FF8000000000000 | e decode --format f64)"
refuse "softcap below binary32" "softcap 1e-46" "3F800000 | 3F800000\n" attention_row --softcap 1e-46
refuse "random without rs" "no effect without --round rs" "3F800000\n" encode --format e2m1 --random 7
refuse "right beside causal" "right 3" "" visible_keys --q 2 --k 4 --causal 1 --right 3
# the kernels' block rule for infinities: scale FE, elements saturate
check "scale_inf=max" "FE 07" "$(awk 'BEGIN { printf "7F800000"; for (i = 1; i < 32; i++) printf " 0"; print "" }' |
    e quantize --block mxfp4 --scale_inf max | cut -c1-5)"

# --- streams: 2^18 words on one line and as many lines, and they agree ---------------------------
awk 'BEGIN { for (i = 0; i < 262144; i++) printf "%08x%s", 1065353216 + i * 32, i % 4096 == 4095 ? "\n" : " " }' > "$work/in"
tr ' ' '\n' < "$work/in" | e sfu --op ex2 | cksum > "$work/a"
tr '\n' ' ' < "$work/in" | e sfu --op ex2 | tr ' ' '\n' | cksum > "$work/b"
check "one line or many" "$(cat "$work/a")" "$(cat "$work/b")"
check "full device is an error" 3 "$(echo '40400000' | "$program" eval encode --format e2m1 > /dev/full 2>/dev/null; echo $?)"

finish
