#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# probe as a user calls it: models and quantisers behind real pipes, recorded answers of an H200 and
# of a text file, profiles, refusals.
set -u
program=$1
source=$2
. "$source/tests/cli/check.sh"
has() { # NAME TEXT
    check "$1" found "$(grep -q -- "$2" "$work/out" && echo found)"
}
probe() {
    "$program" probe "$@" > "$work/out" 2> "$work/err"
}

# Models behind a pipe: docs/numerics.md has these numbers.
unit() { # MODEL RULE L F
    probe --pipe "'$program' eval mma --model $1" --like "$1"
    check "$1: status" 0 $?
    has "$1: rule" "^  rule  *$2\$"
    has "$1: F" "^  F  *$4 "
    [ "$3" = - ] || has "$1: L" "^  L  *$3 "
    has "$1: named" "^    $1 ("
}
unit sm_90.wgmma.e4m3.f32 T 32 13
unit sm_80.mma.bf16.f32 T 8 24
unit sm_90.mma.e5m2.f16 HMMA-FP8 - 25
unit sm_100.tcgen05.mxf4nvf4.ue4m3.f32 GST - 35
has "three scales are told apart from two" 'known models without a differing answer: 2 of 2$'

probe --pipe "'$program' eval mma --model sm_90.wgmma.bf16.f32" --a bf16 --profile "$work/p.json"
check "formats by --a" 0 $?
has "z" '^  z  *-133 '
check "profile: F" 1 "$(grep -c '"F": 25,' "$work/p.json")"
check "profile: sm_90" 1 "$(grep -c '"sm_90",\{0,1\}$' "$work/p.json")"
probe --model sm_75.mma.s8.s32.satfinite
check "a model without a pipe" 0 $?
has "its K" '^  K  *16 '

# A unit that is none of the known: every answer one higher.
probe --pipe "'$program' eval mma --model sm_90.mma.f16.f32 | sed 's/^0/1/'" --a f16
check "a stranger: status" 1 $?
has "a stranger: said" 'no candidate gives every answer'
has "a stranger: nearest" 'nearest known model: '

# Recorded words of an H200: sm_90, and nothing else has its FP8 datapath.
g=$source/data/golden/h200-mma
probe --vectors "$g/wg_e4m3_f32.bin.zst" --vectors "$g/wg_bf16_f32.bin.zst" \
    --vectors "$g/mma_e4m3_f32.bin.zst" --vectors "$g/wg_s8_s32.bin.zst"
check "H200: status" 0 $?
has "H200: sm_90" '^architectures that fit all of it: sm_90$'

# Text: the two words of docs/eval.md tell F = 13 from F = 25.
echo '38 04 | 38 04 | 00000000 | 3F800000  # sm_90' > "$work/v.txt"
probe --vectors "$work/v.txt" --a e4m3
has "text: sm_90 wgmma" '^    sm_90.wgmma.e4m3.f32 '
check "text: not tcgen05" 0 "$(grep -c tcgen05 "$work/out")"
echo '38 04 | 38 | 00000000 | 3F800000' > "$work/v.txt"
probe --vectors "$work/v.txt" --a e4m3
check "a bad line: status" 3 $?
check "a bad line: said" 1 "$(grep -c 'line 1 is not A' "$work/err")"
head -c 1000 "$g/wg_bf16_f32.bin.zst" > "$work/cut.zst"
probe --vectors "$work/cut.zst"
check "a damaged capture" 3 $?

# Quantisers. A power-of-two scale leaves rceil and midmax, even and others apart only in places.
quantiser() { # BLOCK OPTIONS NAME VALUE
    probe --quantizer "'$program' eval quantize --block $1 $2" --block "$1"
    check "$1 $2: status" 0 $?
    has "$1 $2: $3 $4" "^  $3  *\\(.* \\)\\{0,1\\}$4\\( \\|\$\\)"
    check "$1 $2: $3 alone" 1 "$(grep "^  $3 " "$work/out" | wc -l)"
}
for rule in floor ceil even ratio_floor near15 near_sqrt2 midmax; do
    quantiser mxfp8_e4m3 "--scale $rule" scale "$rule"
    check "scale $rule: no other" "$rule" "$(sed -n 's/^  scale  *//p' "$work/out" | sed 's/ *(.*//')"
done
for round in rne rtz rtp rtn; do
    quantiser mxfp4 "--round $round" round "$round"
    check "round $round: no other" "$round" "$(sed -n 's/^  round  *//p' "$work/out" | sed 's/ *(.*//')"
done
for order in te sage3 ggml modelopt; do
    quantiser nvfp4 "--order $order" order "$order"
done
probe --quantizer "'$program' eval quantize --block mxfp4 | sed 's/ 03/ 02/g'" --block mxfp4
check "a quantiser without code 3" 1 $?
has "a quantiser without code 3: said" 'outside the space'

# Masked rows: the policies that are met.
masked() { # NAME ANSWER
    probe --attention "cat > /dev/null; echo 40000000 00000000; echo $2"
    check "masked row $1: status" 0 $?
    has "masked row $1" "^row without a visible key: $1 "
}
masked zero '00000000 FF800000'
masked nan '7FC00000 7FC00000'
masked mean '40400000 C8989680'
probe --attention "'$program' eval attention_row"
check "the emulation's masked row" 0 $?
has "the emulation's masked row: zero, -Inf" 'zero .* LSE FF800000$'

# Refusals.
refuse() { # NAME TEXT OPTIONS...
    name=$1 text=$2
    shift 2
    probe "$@"
    check "$name: status" 3 $?
    check "$name: said" found "$(grep -q -- "$text" "$work/err" && echo found)"
}
refuse "nothing to probe" 'one of --pipe' --a f16
refuse "no formats" 'name the formats' --pipe cat
refuse "no such model" 'no such model' --model sm_99.x
refuse "a command that fails" 'ended with status 1' --pipe 'cat > /dev/null; exit 1' --a f16
refuse "a command that says nothing" 'answer 1 of .* is missing' --pipe 'cat > /dev/null' --a f16
refuse "a command that says words" 'not one hexadecimal word: .zero.' --pipe 'sed s/.*/zero/' --a f16
refuse "a command that echoes" 'not one hexadecimal word: .[0-9A-F]* [0-9A-F]' --pipe cat --a e4m3
refuse "a command that hangs" 'did not end within 1 s' --pipe 'sleep 100' --a f16 --timeout 1
refuse "a command that says all and hangs" 'did not end within 1 s' --a f16 --timeout 1 \
    --pipe "'$program' eval mma --model sm_90.f16_f32; exec >&-; sleep 100"
refuse "short blocks" 'words, not scale and 32 codes: .00' --quantizer 'sed s/.*/00/' --block mxfp4
refuse "no attention" 'not 40000000' --attention 'cat > /dev/null; echo 0; echo 0'
refuse "scale without block" 'block 16 or 32' --pipe cat --a e2m1 --scale e8m0

finish
