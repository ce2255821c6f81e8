#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The report as text and as a page that Chromium uses, and the sweep as a trace, from made-up journals.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal
cd "$tap_tmp" || exit 1
python=/usr/bin/python3

ok "a run" make_journal a 30 24 15 17 1
ok "and another" make_journal b 30 24 15 0 8
rc_is 2 "a directory without results" ksweep-analyze report a
like "$(cat err)" 'ksweep gather a' "says what makes them"
ok "both gathered" bash -c 'ksweep gather a && ksweep gather b'

# --- text
rc_is 0 "report of a directory" ksweep-analyze report a
cp out report.txt
rc_is 0 "and of its file" ksweep-analyze report a/results.h5
cp out file.txt
ok "is the same" cmp file.txt report.txt
like "$(cat report.txt)" 'One fixed instance would reach [0-9]+ % of the best|No instance works on every problem' "one sentence says what choosing pays"
$python "$KSWEEP_SOURCE_DIR/tests/tools/pty_run.py" 60 ksweep-analyze report a >narrow.txt
is "$(grep -c '^    .* \[[0-9.]* to [0-9.]*\]' narrow.txt)" 30 "on a narrow terminal each problem has lines of its own"
for format in md csv json; do
    rc_is 0 "report --format $format" ksweep-analyze report a --format $format -o report.$format
done
is "$(wc -l <report.csv)" 31 "CSV has a line per problem"
like "$(head -n 3 report.md)" '^\| problem \| time ' "Markdown has a table"
rc_is 2 "text for a file that is named for a page" ksweep-analyze report a --format text -o x.html
like "$(cat err)" "text does not write HTML, but 'x.html' is an HTML name" "says what contradicts"
rc_is 2 "two formats" ksweep-analyze report a --json --format csv
not_ok "and nothing is written" test -e x.html
rc_is 2 "two runs as text" ksweep-analyze report a b
like "$(cat err)" 'report.html.*compare' "names the commands that show two"

# --- the trace
rc_is 0 "timeline" ksweep-analyze timeline a -o sweep.json.gz
like "$(cat err)" '[0-9]+ cells, [0-9]+ samples' "says what it holds"
is "$($python -c 'import gzip, json
t = json.load(gzip.open("sweep.json.gz"))
e = t["traceEvents"]
print(t["displayTimeUnit"], len({x["pid"] for x in e if x["ph"] == "X"}) >= 2, all({"name", "ph", "pid", "tid"} <= x.keys() for x in e),
    sorted({x["cat"] for x in e}) == ["__metadata", "block", "build", "cell", "event", "lease", "phase", "sample", "worker"])')" \
    "ms True True True" "is JSON of the Trace Event Format with every kind of slice"
ok "both runs in one file" ksweep gather a b -o both.h5
ok "timeline of it" ksweep-analyze timeline both.h5 -o both.json
like "$(cat both.json)" '"name":"rank 1 on [^"]+, run [0-9a-f]+"' "names the run of a rank"
rc_is 2 "timeline without -o" ksweep-analyze timeline a
like "$(cat err)" "add -o FILE" "says what is missing"

# --- the page
rc_is 0 "report to a page" ksweep-analyze report a b -o page.html
ok "of at most 1 MiB" test "$(stat -c %s page.html)" -lt 1048576
unlike "$(cat page.html)" '(src|href)="?(http|//)' "that loads no other file and needs no network"
unlike "$(sed -n '/<script>/,$p' page.html)" 'innerHTML|insertAdjacentHTML|document\.write|eval\(' "and builds no markup from text"
if ! command -v chromium >/dev/null; then
    tap_note "chromium is not installed: the page was not used"
    done_testing
    exit
fi
# The same page, whose lists were cut, with a property of a long name.
long=$(printf 'name_%.0s' {1..30})
sed -i -E 's/^("n_groups":)\[[0-9]+,/\1[1234,/; s/^("n_classes":)[0-9]+/\11001/; s/^("block_step":)1/\14/
    s/"n_devices":[0-9]+/"n_devices":600/g; s/"n_runs":1\b/"n_runs":300/g; s/"n_facts":[0-9]+/"n_facts":5000/g
    s/^(.*)"n_instances":[0-9]+,"n_problems":[0-9]+/\1"n_instances":9000,"n_problems":50000/
    s/"cpu_model"/"'"$long"'"/g' page.html
{
    sed '$d' page.html | sed '$d' # </body> </html>
    echo '<script>'
    cat "$KSWEEP_SOURCE_DIR/tests/tools/look_at_report.js"
    printf '</script>\n</body>\n</html>\n'
} >used.html
# In a frame as wide as a phone: Chromium's own windows have at least 500 pixels.
cat >phone.html <<'END'
<!doctype html>
<iframe src="used.html" width="390" height="844" style="border:0"></iframe>
<script>
addEventListener("message", (e) => {
  const pre = document.createElement("pre");
  pre.id = "tested";
  pre.textContent = "\n" + e.data;
  document.body.append(pre);
});
</script>
END
use() {
    timeout 60 chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$tap_tmp/profile" --window-size=900,900 \
        --enable-logging=stderr --virtual-time-budget=3000 --dump-dom "file://$tap_tmp/phone.html" >dom 2>chromium.log
}
ok "Chromium" use
is "$(grep -c CONSOLE chromium.log)" 0 "no message on its console"
sed -n '/<pre id="tested">/,/^done/p' dom >tested
like "$(tail -n 1 tested)" '^done [0-9]+ ms' "the page was used to the end"
while read -r line; do
    case $line in
    'ok '*) ok "${line#ok }" true ;;
    'not ok '*) not_ok "${line#not ok }" true ;;
    esac
done <tested
is "$(grep -c '^ok' tested)" 34 "all of it"
done_testing
