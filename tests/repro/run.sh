#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh [WORK_FOLDER]
# GCC_O3, CLANG_O3: programs that were built so already, in the place of building them.
# The same run must have the same hash whatever built it and however many threads did it: gcc and
# clang, -O0 and -O3, 1 and 2 threads, for every kernel. Prints one line a run; exit 1 when two differ.
set -eu
root=$(cd -P "$(dirname "$0")/../.." && pwd -P)
work=${1:-$(mktemp -d)}
clang=${CLANG:-clang}
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

build_program() {
    cmake -S "$root" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$2" \
        -DCMAKE_C_FLAGS_RELEASE="$3" -DBUILD_TESTING=OFF -DMXV_CUDA=OFF >"$work/$1.log" 2>&1 &&
        cmake --build "$work/$1" --target mxverify --parallel "$jobs" >>"$work/$1.log" 2>&1
}

# The path of a program that is there already, or nothing.
given() {
    case $1-$2 in
        gcc-O3) echo "${GCC_O3:-}" ;;
        "$clang"-O3) echo "${CLANG_O3:-}" ;;
    esac
}

mkdir -p "$work"
for optimisation in O0 O3; do
    for compiler in gcc "$clang"; do
        program=$(given "$compiler" "$optimisation")
        if [ -n "$program" ]; then
            mkdir -p "$work/$(basename "$compiler")-$optimisation"
            ln -sf "$(realpath "$program")" "$work/$(basename "$compiler")-$optimisation/mxverify"
            continue
        fi
        build_program "$(basename "$compiler")-$optimisation" "$compiler" "-$optimisation" || {
            cat "$work/$(basename "$compiler")-$optimisation.log"
            exit 1
        }
    done
done

kernels=$("$work/gcc-O3/mxverify" list kernels | awk '{ print $1 }' | grep -E '^[a-z0-9][a-z0-9_-]*$')
[ -n "$kernels" ] || {
    echo "no kernels are listed"
    exit 1
}
failed=0
for kernel in $kernels; do
    first=
    for program in gcc-O0 gcc-O3 "$(basename "$clang")-O0" "$(basename "$clang")-O3"; do
        for threads in 1 2; do
            hash=$(OMP_NUM_THREADS=$threads "$work/$program/mxverify" run --kernel "$kernel" \
                --cases smoke --count 20 --no-truth --maps none --quiet --print-hash \
                --out "$work/out") || {
                echo "$kernel: the run of $program fails"
                exit 1
            }
            hash=${hash#hash }
            case $hash in
                '' | *[!0-9a-f]*)
                    echo "$kernel: $program prints '$hash', not a hash"
                    exit 1
                    ;;
            esac
            echo "$kernel $program threads=$threads $hash"
            first=${first:-$hash}
            [ "$hash" = "$first" ] || failed=1
        done
    done
done
[ "$failed" = 0 ] || {
    echo "results depend on the compiler, the optimisation level or the thread count"
    exit 1
}
echo "all hashes equal for each of: $(echo "$kernels" | tr '\n' ' ')"
