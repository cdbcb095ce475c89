#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: arithmetic.sh CMAKE SOURCE_FOLDER
# The configuration must refuse compiler flags that change float arithmetic, and only those.
set -eu
cmake=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
case $(uname -m) in
    x86_64 | amd64) ;;
    *)
        echo "skipped: the flags are those of x86-64"
        exit 77
        ;;
esac

# The check alone, in a project that holds nothing else.
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(check LANGUAGES C)
list(APPEND CMAKE_MODULE_PATH "$source/cmake")
set(CMAKE_BUILD_TYPE Release)
include(MxvFlags)
include(MxvCheckArithmetic)
PROJECT

configure() {
    rm -rf "$work/build"
    "$cmake" -S "$work/project" -B "$work/build" -DCMAKE_C_FLAGS="$1" >"$work/log" 2>&1
}

expect_refusal() {
    if configure "$1"; then
        echo "flags '$1' were accepted"
        exit 1
    fi
    tr '\n' ' ' <"$work/log" | tr -s ' ' | grep -qF "$2" || {
        cat "$work/log"
        echo "flags '$1' were refused, but not for: $2"
        exit 1
    }
    echo "ok refused: $1"
}

expect_refusal "-ffast-math" "subnormal results are flushed to zero"
case $(${CC:-cc} --version) in
    *clang*) ;;
    *) expect_refusal "-mfpmath=387" "excess precision" ;;
esac
for flags in "" "-O3 -mfma" "-O0"; do
    configure "$flags" || {
        cat "$work/log"
        echo "flags '$flags' were refused"
        exit 1
    }
    echo "ok accepted: '$flags'"
done
