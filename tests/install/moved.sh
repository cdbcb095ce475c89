#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: moved.sh CMAKE BUILD_FOLDER SOURCE_FOLDER
# The installed program finds its data when neither the source nor the folder that was configured
# exists: the tree is installed, moved, and the names of both folders are overwritten in the
# program. Without its data it says what to do.
set -eu
cmake=$1 build=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
checks=0

fail() {
    echo "install.moved: $*" >&2
    cat "$work/out" "$work/err" >&2 || true
    exit 1
}

pass() {
    checks=$((checks + 1))
}

"$cmake" --install "$build" --prefix "$work/first" >"$work/out" 2>"$work/err" ||
    fail "cmake --install fails"
mv "$work/first" "$work/moved tree"
program="$work/moved tree/bin/mxverify"
share=$(dirname "$(find "$work/moved tree" -type d -path '*mxverify/real')")

# Each name by one of the same length that does not exist.
installed=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
for folder in "$source" "$installed"; do
    LC_ALL=C grep -qaF "$folder" "$program" || fail "the program does not name $folder"
    other=$(printf '%s' "$folder" | sed 's/[^/]/_/g')
    pattern=$(printf '%s' "$folder" | sed 's/[].[*^$\\|]/\\&/g')
    LC_ALL=C sed "s|$pattern|$other|g" "$program" >"$work/program"
    cat "$work/program" >"$program"
    if LC_ALL=C grep -qaF "$folder" "$program"; then fail "the program still names $folder"; fi
    pass
done

mkdir "$work/elsewhere"
cd "$work/elsewhere"
run() { # what, expected status, arguments
    what=$1 expected=$2
    shift 2
    status=0
    "$program" "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = "$expected" ] || fail "$what: status $status, not $expected"
    pass
}
says() { # pattern
    cat "$work/out" "$work/err" | grep -q -- "$1" || fail "$what: does not say /$1/"
    pass
}

run "captured activations" 0 run --kernel dma --cases smoke --no-truth --maps none
run "a line that names them" 0 repro --no-truth \
    'flash input=data/real/smollm2-135m/layer14 heads=0:1 qtok=0:64 ktok=0:64'
run "the table" 0 table --tokens 16
says '^| uniform MXFP4 '
run "a file of cases" 0 run --cases data/cases/properties.cases --no-truth --maps none
if [ -d "$source/data/golden/h200" ]; then
    run "recorded results" 0 run --kernel flash --cases quick --impl recorded --no-truth --maps none
    run "recorded cases" 0 run --kernel flash --cases recorded --impl recorded --no-truth \
        --maps none --count 3
fi

rm -rf "$share"
run "without data" 3 run --kernel dma --cases smoke
says 'captured activations data/real/smollm2-135m: No such file.*--no-real.*--real-dir'
run "without data, as it says" 0 run --kernel dma --cases smoke --no-real --no-truth --maps none
run "without the file of cases" 3 run --cases data/cases/properties.cases
says 'data/cases/properties.cases'
run "without recorded cases" 3 run --cases recorded
says 'recorded cases: data/golden/h200: No such file'
run "without recorded results" 3 run --kernel dma --cases smoke --no-real --impl recorded
says 'impl recorded.*data/golden/h200.*share/mxverify'
run "the table without data" 3 table
says 'give --real-dir'
echo "$checks checks"
