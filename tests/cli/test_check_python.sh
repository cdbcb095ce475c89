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
[ "$ran" -gt 0 ] || exit 77
[ "$failures" -eq 0 ]
