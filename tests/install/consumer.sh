#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: consumer.sh CMAKE BUILD_FOLDER THIS_FOLDER
# Installs the build into a folder of its own, moves the tree, and builds and runs the programs in
# c/ and cxx/ against it: by CMake's package and by pkg-config. Then compiles every installed header
# alone, as C11 and as C++17.
set -eu
cmake=$1 build=$2 here=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
# The C++ compiler that belongs to the C compiler of the build.
CC=${CC:-cc}
case $CC in
    *clang*) CXX=$(echo "$CC" | sed 's/clang/clang++/') ;;
    *) CXX=${CXX:-c++} ;;
esac
export CC CXX

fail() {
    echo "install.consumer: $*" >&2
    exit 1
}

check_output() {
    got=$("$2") || fail "$1: the program exits $?"
    [ "$got" = "e2m1 05 -> 3" ] || fail "$1: prints '$got'"
    echo "ok $1"
}

"$cmake" --install "$build" --prefix "$work/first" >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "cmake --install fails"
}
mv "$work/first" "$work/moved tree"
prefix="$work/moved tree"
"$prefix/bin/mxverify" --version >/dev/null || fail "the installed program does not start"
libdir=$(dirname "$(find "$prefix" -name libmxv_formats.a)")

for language in c cxx; do
    if ! "$cmake" -S "$here/$language" -B "$work/$language" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_BUILD_TYPE=Release >"$work/log" 2>&1 ||
        ! "$cmake" --build "$work/$language" >>"$work/log" 2>&1; then
        cat "$work/log"
        fail "$language by CMake does not build"
    fi
    check_output "$language, CMake, mxverify::formats" "$work/$language/formats_only"
    check_output "$language, CMake, mxverify::mxverify" "$work/$language/everything"
done

# pkg-config: spaces in a prefix are beyond it, so through a link without any.
ln -s "$prefix" "$work/prefix"
PKG_CONFIG_PATH="$work/prefix${libdir#"$prefix"}/pkgconfig"
export PKG_CONFIG_PATH
for package in mxverify-formats mxverify; do
    define=-DFORMATS_ONLY
    [ "$package" = mxverify-formats ] || define=-DEVERYTHING
    # shellcheck disable=SC2046
    $CC -std=c11 -Wall -Werror $define "$here/c/main.c" -o "$work/by-pc-c" \
        $(pkg-config --cflags --libs "$package") || fail "c by pkg-config $package does not build"
    check_output "c, pkg-config, $package" "$work/by-pc-c"
    # shellcheck disable=SC2046
    $CXX -std=c++17 -Wall -Werror $define "$here/cxx/main.cpp" -o "$work/by-pc-cxx" \
        $(pkg-config --cflags --libs "$package") || fail "c++ by pkg-config $package does not build"
    check_output "c++, pkg-config, $package" "$work/by-pc-cxx"
done

count=0
for header in "$prefix"/include/mxverify/*.h; do
    name=mxverify/$(basename "$header")
    echo "#include <$name>" >"$work/one.c"
    $CC -std=c11 -Wall -Wextra -Wstrict-prototypes -Werror -fsyntax-only -I"$prefix/include" \
        "$work/one.c" || fail "$name does not compile alone as C11"
    cp "$work/one.c" "$work/one.cpp"
    $CXX -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" "$work/one.cpp" ||
        fail "$name does not compile alone as C++17"
    # Without C linkage a C++ program does not link.
    ! grep -q '^[^/ #].*(.*);' "$header" ||
        grep -q -e 'extern "C"' -e MXV_DECLARATIONS_BEGIN "$header" ||
        fail "$name declares functions outside extern \"C\""
    count=$((count + 1))
done
[ "$count" -ge 2 ] || fail "only $count headers are installed"
echo "ok $count headers alone"
