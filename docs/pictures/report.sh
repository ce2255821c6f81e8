#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# report.sh DIR [SECOND] - draws report.png beside this script: the page of `ksweep-analyze report`, as
# Chromium shows it, with its heat map in view. Needs chromium, python3 and
# ksweep-analyze in PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ksweep-analyze report "$@" -o "$tmp/report.html"
# The first rows of the problems, then the heat map: the two that say most.
{
    sed '$d' "$tmp/report.html" | sed '$d' # </body> </html>
    cat <<'HTML'
<script>
[...document.querySelectorAll("#problems-table tbody tr")].slice(4).forEach((tr) => tr.remove());
[...document.querySelectorAll("#problems .tools")].slice(1).forEach((e) => e.remove());
if (map) map.paint();
</script>
</body>
</html>
HTML
} >"$tmp/picture.html"
timeout 60 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile" \
    --window-size=1060,1340 --screenshot="$here/report.png" "file://$tmp/picture.html" >"$tmp/log" 2>&1
python3 "$here/shrink.py" "$here/report.png"
ls -l "$here/report.png"
