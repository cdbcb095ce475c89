#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# The Python examples: what they print and return. Each is skipped without its package.
set -u
program=$1
source=$2
python=${PYTHON:-python3}
ran=0
failures=0
for package in numpy torch; do
    if ! "$python" -c "import $package" 2> /dev/null; then
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
