#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: refused.sh CMAKE SOURCE_FOLDER
# Configurations and installations that must be refused with a reason, before anything is written: a
# tree that is not built, and the adapter template without headers to build against.
set -eu
cmake=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

refused() { # what, pattern, command
    what=$1 pattern=$2
    shift 2
    if "$@" >"$work/log" 2>&1; then
        cat "$work/log"
        echo "install.refused: $what: accepted" >&2
        exit 1
    fi
    # CMake wraps its messages
    tr '\n' ' ' <"$work/log" | tr -s ' ' | grep -q -- "$pattern" || {
        cat "$work/log"
        echo "install.refused: $what: does not say /$pattern/" >&2
        exit 1
    }
    echo "ok $what"
}

"$cmake" -S "$source" -B "$work/build" -DMXV_CUDA=OFF -DBUILD_TESTING=OFF >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
refused "an installation of nothing" "nothing is installed: .*/mxverify is not built; run ./bootstrap" \
    "$cmake" --install "$work/build" --prefix "$work/prefix"
[ ! -e "$work/prefix" ] || {
    echo "install.refused: files were written" >&2
    exit 1
}

template="$source/gpu/template"
refused "a template with a source that is none" \
    "MXVERIFY_SOURCE=/nonexist is no source tree of mxverify" \
    "$cmake" -S "$template" -B "$work/one" -DMXVERIFY_SOURCE=/nonexist
refused "a template with a source of something else" "there is no formats/include/mxverify in it" \
    "$cmake" -S "$template" -B "$work/two" -DMXVERIFY_SOURCE="$work"
refused "a template without anything" \
    "no installed mxverify was found .*-DMXVERIFY_SOURCE=FOLDER.*-DCMAKE_PREFIX_PATH=PREFIX" \
    "$cmake" -S "$template" -B "$work/three" -DCMAKE_FIND_ROOT_PATH="$work" \
    -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY
