#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: test_bootstrap.sh PROGRAM SOURCE_FOLDER
# What ./bootstrap decides, with stand-ins for the commands that would change the machine or take
# long: id, sudo, apt-get, dpkg-query, pkg-config, cc and cmake. Each stand-in logs its arguments.
set -u
unset MXV_CUDA
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
checks=0 failures=0

check() {
    checks=$((checks + 1))
    what=$1
    shift
    if ! "$@"; then
        failures=$((failures + 1))
        echo "FAILED: $case_name: $what"
        sed 's/^/    out: /' "$work/out"
        sed 's/^/    err: /' "$work/err"
        sed 's/^/    log: /' "$LOG"
    fi
}

fake() {
    { echo '#!/bin/sh' && cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# Starts a case: a tree without a build, on Debian 12, as a user with neither packages nor rights.
begin() {
    case_name=$1
    tree="$work/a tree"
    (cd "$work" && rm -rf "a tree" bin elsewhere packages-are-there)
    mkdir -p "$tree" "$work/bin" "$work/elsewhere"
    cp "$source/bootstrap" "$tree/"
    export LOG="$work/log" HERE="$work" PATH="$work/bin:$original_path"
    : >"$LOG"
    printf 'ID=debian\nVERSION_ID="12"\n' >"$work/os-release"
    export MXV_OS_RELEASE="$work/os-release"
    fake id <<'F'
echo 1000
F
    fake sudo <<'F'
exit 1
F
    fake apt-get <<'F'
echo "apt-get $*" >>"$LOG"
echo "Reading package lists..."
case " $* " in *" install "*) touch "$HERE/packages-are-there" ;; esac
F
    fake dpkg-query <<'F'
[ -e "$HERE/packages-are-there" ] || exit 1
shift 3
for name; do printf 'installed=%s ' "$name"; done
F
    fake pkg-config <<'F'
exit 1
F
    fake cc <<'F'
exit 1
F
    fake cmake <<'F'
case $1 in
    --version) echo "cmake version 3.25.1" && exit ;;
    --fresh)
        mkdir -p build/release && touch build/release/build.ninja
        echo "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" >build/release/CMakeCache.txt
        case "$*" in
            *-DMXV_CUDA=*) echo "$*" | sed 's/.*-DMXV_CUDA=/MXV_CUDA:STRING=/; s/ .*//' ;;
            *) echo MXV_CUDA:STRING=AUTO ;;
        esac >>build/release/CMakeCache.txt
        printf '#!/bin/sh\necho "in $(pwd)"\nfor a; do echo "<$a>"; done\nexit 7\n' \
            >build/release/mxverify
        chmod +x build/release/mxverify
        ;;
esac
echo "cmake $*" >>"$LOG"
F
}

bootstrap() {
    (cd "$work/elsewhere" && "$tree/bootstrap" "$@") >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

stderr_has_line() {
    grep -qxF -e "$1" "$work/err"
}

logged() {
    grep -qF -e "$1" "$LOG"
}

original_path=$PATH
all=$("$source/bootstrap" packages | tr '\n' ' ')
# Compiler, make, xz and cmake are found on PATH, and ninja is no reason to install.
missing='libmpfr-dev libgmp-dev libcmocka-dev libjansson-dev librandom123-dev libxxhash-dev'
missing="$missing libzstd-dev libpng-dev liblzma-dev"
install_line="apt-get install -y --no-install-recommends $missing"
command -v ninja >/dev/null || install_line="$install_line ninja-build"

begin "no rights"
bootstrap run --kernel dma
check "exit status 3, not $status" [ "$status" = 3 ]
check "the exact line to run is printed" stderr_has_line "$install_line"
check "standard output is empty" [ ! -s "$work/out" ]
check "nothing was run" [ ! -s "$LOG" ]

begin "root"
fake id <<'F'
echo 0
F
bootstrap run --kernel dma 'two words' ''
check "package lists are updated" logged "apt-get -q -o DPkg::Lock::Timeout=300 update"
check "packages are installed" logged "install -y --no-install-recommends $missing"
check "configured" logged "cmake --fresh --preset release"
check "the program is built, not its tests" logged "cmake --build build/release --target mxverify"
check "the program's status 7 is passed on, not $status" [ "$status" = 7 ]
printf 'in %s\n<--kernel>\n<dma>\n<two words>\n<>\n' "$work/elsewhere" >"$work/expected"
check "only the program's output, from the caller's folder" cmp -s "$work/out" "$work/expected"
: >"$LOG"
bootstrap run again
check "the second time nothing is installed or configured" [ "$(grep -vc -- '--build' "$LOG")" = 0 ]
check "the second time is silent" [ ! -s "$work/err" ]
mv "$tree" "$work/b tree"
tree="$work/b tree"
: >"$LOG"
bootstrap run
check "a moved tree is configured afresh" logged "cmake --fresh --preset release"
rm -rf "$tree"

begin "sudo"
fake sudo <<'F'
echo "sudo $*" >>"$LOG"
shift
[ "$1" = true ] || exec "$@"
F
bootstrap
check "exit status 0, not $status" [ "$status" = 0 ]
check "installed through sudo" logged "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get"
check "never asks for a password" [ "$(grep -c '^sudo ' "$LOG")" = "$(grep -c '^sudo -n ' "$LOG")" ]

begin "the installation fails"
fake id <<'F'
echo 0
F
fake apt-get <<'F'
exit 100
F
bootstrap test
check "exit status 3, not $status" [ "$status" = 3 ]
check "the line to run is printed" stderr_has_line "apt-get update && $install_line"

begin "another distribution, packages missing"
printf 'ID=fedora\nVERSION_ID=42\n' >"$work/os-release"
fake id <<'F'
echo 0
F
bootstrap
check "exit status 3, not $status" [ "$status" = 3 ]
check "the packages are named" grep -qF "$missing" "$work/err"
check "nothing was run" [ ! -s "$LOG" ]

begin "another distribution, all found by pkg-config and the compiler"
rm "$work/os-release"
fake pkg-config <<'F'
exit 0
F
fake cc <<'F'
exit 0
F
bootstrap run
check "the program runs, status 7, not $status" [ "$status" = 7 ]

begin "cmake is too old"
fake cmake <<'F'
echo "cmake version 3.22.1"
F
bootstrap
check "cmake is named" grep -q ' cmake ' "$work/err"

begin "GPU code"
touch "$work/packages-are-there"
bootstrap run
: >"$LOG"
export MXV_CUDA=OFF
bootstrap run
check "another choice configures afresh" logged "cmake --fresh --preset release -DMXV_CUDA=OFF"
: >"$LOG"
bootstrap run
check "the same choice does not" [ "$(grep -vc -- '--build' "$LOG")" = 0 ]
unset MXV_CUDA
bootstrap run
check "nor does none" [ "$(grep -vc -- '--build' "$LOG")" = 0 ]

begin "a long build"
touch "$work/packages-are-there"
fake cmake <<'F'
case $1 in
    --version) echo "cmake version 3.25.1" ;;
    --build)
        echo "the first line"
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            grep -q "the first line" "$HERE/err" && exit 0
            sleep 1
        done
        echo "nobody has seen it" >>"$LOG"
        ;;
esac
F
bootstrap
check "its lines come as they are written, into a file, too" [ ! -s "$LOG" ]

begin "the build fails"
touch "$work/packages-are-there"
fake cmake <<'F'
[ "$1" != --build ] || { echo "the compiler's words" && exit 2; }
F
bootstrap test
check "exit status 3, not $status" [ "$status" = 3 ]
check "the compiler's words are shown" stderr_has_line "the compiler's words"

begin "configuring fails"
touch "$work/packages-are-there"
fake cmake <<'F'
echo "the reason"
exit 1
F
bootstrap run
check "exit status 3, not $status" [ "$status" = 3 ]
check "the reason is shown" stderr_has_line "the reason"
check "standard output is empty" [ ! -s "$work/out" ]

begin "tests"
touch "$work/packages-are-there"
fake ctest <<'F'
echo "ctest MXV_EXHAUSTIVE=${MXV_EXHAUSTIVE-} $*" >>"$LOG"
exit 8
F
bootstrap test -R some
check "tests are built too" logged "cmake --build build/release --target all"
check "ctest's status 8 is passed on, not $status" [ "$status" = 8 ]
check "options go to ctest" logged " -R some"
bootstrap test --quick
check "--quick selects labels" logged " -L ^(unit|golden|cli)\$"
bootstrap test --exhaustive
check "--exhaustive asks for all inputs" logged "ctest MXV_EXHAUSTIVE=1 "

begin "wrong usage"
bootstrap nonsense
check "exit status 3, not $status" [ "$status" = 3 ]
bootstrap help
check "help succeeds" [ "$status" = 0 ]
check "help is on standard output" grep -q '^usage: ./bootstrap' "$work/out"
check "the list of packages is not empty" [ "$(echo "$all" | wc -w)" -ge 10 ]

echo "$((checks - failures)) passed, $failures failed"
[ "$failures" = 0 ]
