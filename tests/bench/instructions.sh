#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/bench/instructions.sh build/release/mxverify [LEVEL]
#
# Instructions for one item (multiply-add, word, element) of the key loops at a dispatch level
# (default avx2), counted by callgrind: the same at every run of one binary, whatever else the
# machine does. Instructions and calls of a row's function are counted, over all policies.
set -eu
program=$1
level=${2:-avx2}
command -v valgrind > /dev/null || { echo "valgrind is needed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

row() { # row of bench, function, items of one call
    total=$(valgrind --tool=callgrind --compress-strings=no --callgrind-out-file="$work/out" \
        --toggle-collect="$2" "$program" bench --level "$level" --filter "$1" --seconds 0.001 \
        2>&1 > /dev/null | sed -n 's/.*Collected : \([0-9]*\).*/\1/p')
    calls=$(awk -F '[= ]' -v fn="$2" '$1 == "cfn" { called = $2 }
        $1 == "calls" && called == fn { sum += $2 }
        END { print sum }' "$work/out")
    awk -v name="$1" -v fn="$2" -v total="$total" -v calls="$calls" -v n="$3" \
        'BEGIN { printf "| %s | `%s` | %.2f |\n", name, fn, total / (calls * n) }'
}

macs=$((128 * 128 * 256))
echo "| row | function | instructions for one item, level $level |"
echo "|---|---|---|"
row "f32 to mxfp4" mxv_block_quantize_array 16384
row "f32 to mxfp8_e4m3" mxv_block_quantize_array 16384
row "f32 to nvfp4" mxv_block_quantize_array 16384
row "f32 to int8" mxv_int8_quantize_array 16384
row "f16 to int8" mxv_int8_quantize_array_f16 16384
row "decode mxfp4" mxv_block_dequantize_array 16384
row "decode mxfp8_e4m3" mxv_block_dequantize_array 16384
row "decode int8" mxv_int8_dequantize_array 16384
row "ex2.approx.ftz" mxv_ex2_array 16384
for name in "bf16 sm_80" "bf16 sm_90" "e4m3 sm_90" "mxfp8 sm_100" "mxfp4 sm_100" "nvfp4 sm_100" "s8 sm_80"; do
    row "$name" mxv_mma_tile $macs
done
