#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_page.py ANALYZE FILE OUT.html N - `ANALYZE report FILE -o OUT.html`, N times, and the page in headless
Chromium, N times; prints lines "key value". In Chromium, in ms from the start of the navigation: the page's own
program has drawn everything (ready_ms), the first picture is on the screen (paint_ms), and the page has
answered a click that sorts the table of problems and drawn it again (usable_ms). dark_ms: the switch to dark
colors, which paints the heat map again, up to the next picture."""
import json
import os
import subprocess
import sys
import tempfile

from bench_table import measured

ASK = """
<script>
(async () => {
  const picture = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await picture();
  const out = { ready_ms: Number(document.documentElement.dataset.ready), rows: problems.length };
  document.querySelectorAll("#problems-table th button")[1].click();
  await picture();
  out.usable_ms = performance.now();
  document.getElementById("theme").click();
  await picture();
  out.dark_ms = performance.now() - out.usable_ms;
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  out.paint_ms = paint ? paint.startTime : -1;
  console.log("page " + JSON.stringify(out) + " page");
})();
</script>
</body>
</html>
"""


def opened(page):
    """What the page says of itself in a browser of its own."""
    with tempfile.TemporaryDirectory() as profile:
        browser = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900",
             "--enable-logging=stderr", "--user-data-dir=" + profile, "file://" + page],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            for line in browser.stderr:
                if "CONSOLE" in line and "page {" in line:
                    text = line[line.index("page {") + 5:line.rindex("} page") + 1]
                    return json.loads(text.replace('\\"', '"'))
        finally:
            os.killpg(browser.pid, 9)
            browser.wait()
    sys.exit("the page said nothing")


def main(argv):
    if len(argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    analyze, path, out, n = argv[0], argv[1], os.path.abspath(argv[2]), int(argv[3])
    for _ in range(n):
        wall, mib, cpu = measured([analyze, "report", path, "-o", out])
        print(f"make_s {wall:.3f}\nmake_cpu_s {cpu:.3f}\nmake_mib {mib:.1f}")
    print("mib", round(os.path.getsize(out) / 2**20, 3))
    with open(out, encoding="utf-8") as f:
        text = f.read()
    with open(out, "w", encoding="utf-8") as f:
        f.write(text[:text.rindex("</body>")] + ASK)
    for _ in range(n):
        for key, value in opened(out).items():
            print(key, f"{value:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
