#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# The Python examples: what they print and return. Each is skipped without its package. PYTHON names
# the interpreter; else the first of python3 in the path and the system's that has the package.
set -u
program=$1
source=$2
ran=0
failures=0
for package in numpy torch; do
    python=
    for candidate in ${PYTHON:-python3 /usr/bin/python3}; do
        [ -z "$python" ] && "$candidate" -c "import $package" 2> /dev/null && python=$candidate
    done
    if [ -z "$python" ]; then
        echo "skipped: no $package"
        continue
    fi
    ran=$((ran + 1))
    "$python" "$source/examples/python/check_$package.py" "$program" || {
        failures=$((failures + 1))
        echo "FAILED check_$package.py"
    }
done
# without its package or the program: one line and status 3
refuse() { # description, pattern, command
    what=$1 pattern=$2
    shift 2
    "$@" > "$work/out" 2> "$work/err"
    status=$?
    if [ "$status" != 3 ] || [ "$(wc -l < "$work/err")" -ne 1 ] || ! grep -q "$pattern" "$work/err"; then
        failures=$((failures + 1))
        echo "FAILED $what: status $status"
        cat "$work/err"
    fi
    ran=$((ran + 1))
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/none"
for package in numpy torch; do
    echo "raise ImportError('no $package here')" > "$work/none/$package.py"
    python=
    for candidate in ${PYTHON:-python3 /usr/bin/python3}; do
        [ -z "$python" ] && command -v "$candidate" > /dev/null && python=$candidate
    done
    [ -n "$python" ] || continue
    refuse "no $package" "check_$package.py: .* is needed: no $package here" \
        env PYTHONPATH="$work/none" "$python" "$source/examples/python/check_$package.py" "$program"
    [ $package != torch ] || refuse "compare.py without torch" "compare.py: PyTorch .*: no torch here" \
        env PYTHONPATH="$work/none" "$python" "$source/gpu/bench/compare.py"
    # the package is not used before the program is looked for
    : > "$work/none/$package.py"
    refuse "no program" "check_$package.py: /nonexist: no such program" \
        env PYTHONPATH="$work/none" "$python" "$source/examples/python/check_$package.py" /nonexist
done
[ "$ran" -gt 0 ] || exit 77
[ "$failures" -eq 0 ]
