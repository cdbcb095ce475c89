#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# The HTML report in headless Chromium, 1280 and 400 pixels wide, light and dark: loads, filters,
# opens a case, looks into a tile, without a message on the console (tests/browser/check.js).
# MXV_CHROMIUM names another browser; MXV_SCREENSHOTS a folder that keeps pictures of the pages.
set -u
program=$1
source=$2
browser=${MXV_CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v "$name")
done
if [ -z "$browser" ]; then
    echo "skipped: no chromium"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    printf 'FAILED %s\n' "$*"
}

"$program" run --kernel dma --cases fuzz --count 6 --seed 3 --no-real --fault D2 --truth-scores 5000 \
    --out "$work/run" --quiet 2> "$work/err"
[ $? -eq 1 ] || fail "a run with a fault: $(cat "$work/err")"
"$program" report "$work/run/run.jsonl" --html "$work/page.html" --quiet
[ -s "$work/page.html" ] || fail "no page"
grep -Eq "(src|href|url)[=(][\"']?(https?:)?//" "$work/page.html" && fail "the page refers to the network"

# A copy of the page that watches itself.
awk -v before="$source/tests/browser/before.js" -v after="$source/tests/browser/check.js" '
    function script(file, line) {
        print "<script>"
        while ((getline line < file) > 0) print line
        print "</script>"
    }
    $0 == "</body>" { script(after) }
    { print }
    $0 == "<head>" { script(before) }' "$work/page.html" > "$work/watched.html"
cp "$source/tests/browser/frame.html" "$work"

# visit WIDTH SCHEME (0 dark, 1 light)
visit() {
    dom="$work/dom-$1-$2"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$work/profile" --window-size=1400,1300 --force-device-scale-factor=1 \
        --blink-settings=preferredColorScheme="$2" --virtual-time-budget=60000 \
        --enable-logging=stderr --dump-dom "file://$work/frame.html#$1" > "$dom" 2> "$dom.err"
    sed -n '/^<pre id="check">/,/^end/p' "$dom" > "$dom.check"
    grep -q "width $1\$" "$dom.check" || fail "width $1: not the width asked for"
    grep -q '^end' "$dom.check" || fail "width $1: the checks did not end: $(tail -3 "$dom.err")"
    grep -q 'CONSOLE' "$dom.err" && fail "width $1: $(grep -m3 CONSOLE "$dom.err")"
    if grep '^FAILED' "$dom.check"; then fail "width $1, scheme $2"; fi
    checks=$(grep -c '^ok' "$dom.check")
    [ "$checks" -ge 60 ] || fail "width $1: $checks checks"
    echo "$1 pixels, scheme $2: $checks checks"
}
visit 1280 1
visit 400 1
visit 1280 0

if [ -n "${MXV_SCREENSHOTS:-}" ]; then
    mkdir -p "$MXV_SCREENSHOTS"
    id=$(sed -n 's/.*"id":"\([0-9a-f]*\)".*"verdict":"fail".*/\1/p' "$work/run/run.jsonl" | head -1)
    for width in 1280 400; do
        for part in "" "#$id"; do
            timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
                --user-data-dir="$work/profile" --window-size="$width,1600" \
                --force-device-scale-factor=1 --virtual-time-budget=20000 \
                --screenshot="$MXV_SCREENSHOTS/report-$width${part:+-case}.png" \
                "file://$work/page.html$part" 2> /dev/null
        done
    done
fi
printf '%d failures\n' "$failures"
[ "$failures" -eq 0 ]
