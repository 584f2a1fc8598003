#!/bin/sh
# Pages in a real browser, without a window: reports of tansy memory --html, by keys and by pointer, and the pages of the
# site, of which none is wider than its window (of those that are alike, which are indices by letter and structs, some).
# TANSY is the tool's path.  Without chromium it is skipped; the site alone without Doxygen, and in sanitized builds, where
# it is the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
TANSY=${TANSY:-$root/build/tansy}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || :)
[ -n "$browser" ] || { echo "no chromium"; exit 77; }
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cd "$root"

# ---- what is looked at -------------------------------------------------------------------

hostile='</script><b class=hostile>'
"$TANSY" memory examples/mlp.tn --html "$temp/mlp.html"
"$TANSY" memory tests/browser/loop.tn --html "$temp/loop.html"
mkdir "$temp/names"
cp tests/browser/loop.tn "$temp/names/$(printf '%s' "$hostile" | tr / .)'&.tn"
(cd "$temp/names" && "$TANSY" memory ./* --policy "min_cut,save_only_these_names:$hostile" --html "$temp/names.html")
echo '{ lambda x:f64[] . let in (x,) }' | "$TANSY" memory - --html "$temp/empty.html"
pages='"mlp.html", "loop.html", "names.html", "empty.html"'
if grep -l 'https\?:\|<link\|<img\|url(\|@import\|src=' "$temp"/*.html; then
    echo "a report wants something else"
    exit 1
fi
site=
if [ -z "${SAN:-}" ]; then
    if command -v doxygen >/dev/null; then
        tools/docs/site.sh "$temp/site" doxygen >/dev/null
        site=$(cd "$temp/site" && find . -maxdepth 1 -name '*.html' | LC_ALL=C sort |
            awk '/_[b-z]\.html$/ || /struct/ && n++ % 3 { next } { sub(/^\.\//, ""); print "\"site/" $0 "\"," }')
    else
        echo "no doxygen: the site is not looked at"
    fi
fi
{
    echo '<!DOCTYPE html><meta charset="utf-8"><body><pre id="said"></pre><script>'
    echo "const base = 'file://$temp/', memory = [$pages], site = [$site];"
    cat "$here/look.js"
    echo '</script>'
} >"$temp/look.html"

# ---- looking -------------------------------------------------------------------------------

# Pages are our own, and a container lets no sandbox be made.
HOME=$temp timeout -k 5 300 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
    --user-data-dir="$temp/profile" --allow-file-access-from-files --window-size=1300,900 \
    --virtual-time-budget=100000000 --dump-dom "file://$temp/look.html" >"$temp/dom" 2>"$temp/errors" || {
    tail -n 5 "$temp/errors"
    echo "the browser has failed"
    exit 1
}
sed -n '/<pre id="said">/,/<\/pre>/p' "$temp/dom" | sed 's/.*<pre id="said">//; /<\/pre>/d' >"$temp/said"
grep '^FAIL' "$temp/said" || :
grep -qx done "$temp/said" || echo "FAIL: it has not come to its end" | tee -a "$temp/said"
failed=$(grep -c '^FAIL' "$temp/said" || :)
echo "$(grep -c '^ok' "$temp/said" || :) passed, $failed failed"
[ "$failed" = 0 ]
