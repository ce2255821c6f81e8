/* SPDX-License-Identifier: MIT */
/* Uses a page of `ksweep-analyze report` as a person would, and leaves what it found as lines of
 * "ok" and "not ok" to the page that shows it in a frame. Appended to a page by tests/e2e/33-report.sh. */
(() => {
  const lines = [];
  const ok = (what, is, said) => lines.push((is ? "ok " : "not ok ") + what + (is ? "" : ": " + said));
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const column = (n) => all("#problems-table tbody tr").map((tr) => tr.children[n].textContent);
  const point = (e, type, x, y) => e.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, bubbles: true }));
  const key = (e, name) => e.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const spoken = (text) => { const [v, unit] = text.split(" "); return Number(v.replace(/,/g, "")) * { ns: 1, "\u00b5s": 1e3, ms: 1e6, s: 1e9 }[unit]; };
  const ascends = (list) => list.every((v, i) => i === 0 || list[i - 1] <= v);
  try {
    ok("the page is ready", document.documentElement.dataset.ready !== undefined, "not");
    ok("every section has a heading", all("main section").length >= 9 && all("main section > h2").length === all("main section").length, all("main section").length);
    ok("rows of problems", column(0).length === Math.min(25, problems.length), column(0).length);
    const heads = all("#problems-table th button");
    heads[1].click();
    const down = column(1).filter(Boolean).map(spoken);
    ok("sorts by time, longest first", ascends(down.slice().reverse()) && down.length > 3, down.join());
    heads[1].click();
    ok("and the other way", ascends(column(1).filter(Boolean).map(spoken)), column(1).join());
    ok("says so to screen readers", $("#problems-table th[aria-sort]").getAttribute("aria-sort") === "ascending", "");
    const filter = $("#problems input");
    document.activeElement.blur();
    key(document.body, "/");
    ok("the key / goes to the filter", document.activeElement === filter, document.activeElement.tagName);
    filter.value = problemName(problems[3]).toLowerCase();
    filter.dispatchEvent(new Event("input"));
    ok("filters", column(0).length >= 1 && column(0).every((t) => t.toLowerCase().includes(filter.value)), column(0).join());
    filter.value = "";
    filter.dispatchEvent(new Event("input"));
    const row = $("#problems-table tbody tr");
    row.focus();
    key(row, "ArrowDown");
    ok("arrow keys move between rows", document.activeElement === row.nextElementSibling, "");
    key(row, "Enter");
    ok("Enter opens the details", dialog.open && $("#details-title").textContent.length > 0, dialog.open);
    ok("with times, best first", all("#details tbody tr").length >= 2, all("#details tbody tr").length);
    ok("and a chart of samples", $("#details svg path") !== null, "");
    ok("and the command to run it again", /^ksweep cell \S+ [0-9a-f]{16}:[0-9a-f]{16} --run$/.test($("#details code").textContent), $("#details code") && $("#details code").textContent);
    const title = $("#details-title").textContent;
    all("#details .head button").find((b) => b.textContent === "Next" && !b.disabled || b.textContent === "Previous" && !b.disabled).click();
    ok("goes to its neighbour", $("#details-title").textContent !== title, title);
    dialog.close();
    const canvas = $("canvas"), box = canvas.getBoundingClientRect();
    point(canvas, "pointermove", box.left + 3, box.top + 3);
    ok("the heat map answers the pointer", !tip.hidden && tip.textContent.includes("best's speed"), tip.textContent);
    const before = tip.textContent;
    key(canvas, "ArrowRight");
    ok("and the arrow keys", tip.textContent !== before, before);
    point(canvas, "pointerleave", 0, 0);
    ok("and is quiet afterwards", tip.hidden, "");
    const pixels = new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.filter((_, i) => i % 4 === 0));
    ok("it has colors", pixels.size > 5, pixels.size);
    const tall = heatMap({ rows: 50000, columns: 2, per_row: 1, per_column: 1, data: "A/".repeat(50000) }, () => {});
    const height = parseFloat(tall.node[1].lastChild.style.height);
    ok("many problems share its pixels", height >= 300 && height <= 2000, height);
    const listed = data.step;
    data.step = 2; /* as if every other problem were listed */
    const half = heatMap({ rows: 4, columns: 2, per_row: 1, per_column: 1, data: "A/A/A/A/" }, () => {}).node[1].lastChild, read = [];
    for (let row = 1; row < 3; row++) { key(half, "ArrowDown"); read.push(tip.textContent.split("\n")[0]); }
    data.step = listed;
    ok("and a row that is not listed has no other's name", read[0].includes("not listed") && read[1] === problemName(problems[1]), read.join());
    const paper = $("#problems-table .paper");
    ok("on paper the table says how many rows it shows", paper.textContent.startsWith("The first 25 of " + problems.length) && getComputedStyle(paper).display === "none", paper.textContent);
    point(half, "pointerleave", 0, 0);
    const chart = $("#roofline svg"), area = chart.getBoundingClientRect();
    for (let x = 0; x < area.width && tip.hidden; x += 8)
      for (let y = 0; y < area.height && tip.hidden; y += 8)
        point(chart, "pointermove", area.left + x, area.top + y);
    ok("the roofline answers the pointer", !tip.hidden && tip.textContent.includes("GFLOP/s"), tip.textContent);
    point(chart, "pointerleave", 0, 0);
    const was = document.documentElement.dataset.theme, back = getComputedStyle(document.body).backgroundColor;
    $("#theme").click();
    ok("light and dark", document.documentElement.dataset.theme !== was && getComputedStyle(document.body).backgroundColor !== back, was);
    $("#theme").click();
    ok("two runs side by side", B === null || all("#compare-table tbody tr").length > 3, "");
    ok("each failure has its command", data.failures.length === 0 || $("#failures-table code").textContent.startsWith("ksweep cell "), "");
    const lead = (id) => $("#" + id + " .lead").textContent;
    ok("problems that are left out are told", lead("problems").includes(count(50000 - problems.length) + " of 50,000 problems are left out here: ksweep-analyze report --format csv has all."), lead("problems"));
    ok("instances, too", lead("instances").includes(count(9000 - instances.length) + " of 9,000 instances are left out here: ksweep-analyze table has all."), lead("instances"));
    ok("reasons of failures", lead("failures").includes(" of 1,234 reasons are left out here: ksweep-analyze table has all."), lead("failures"));
    ok("classes", lead("coverage").includes(" of 1,001 classes are left out here: ksweep-analyze table has all."), lead("coverage"));
    ok("blocks", $("#noise .note").textContent === "One block of 4 is drawn: /blocks of results.h5 has all.", $("#noise").textContent);
    ok("ranks, runs and facts", [["ranks", 600, "devices"], ["runs", 300, "runs"], ["facts", 5000, "hosts"]].every(([what, n, table]) =>
      lead("where").includes(" of " + count(n) + " " + what + " are left out here: /" + table + " of results.h5 has all.")), lead("where"));
    all("details").forEach((d) => { d.open = true; });
    ok("the window is a phone's", innerWidth === 390, innerWidth);
    ok("nothing is wider than the window", document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollWidth + " > " + innerWidth);
    ok("names are text", all("img, iframe, script[src], link").length === 0 && typeof globalThis.hacked === "undefined", "");
  } catch (e) {
    ok("no exception", false, e.stack);
  }
  parent.postMessage(lines.join("\n") + "\ndone " + document.documentElement.dataset.ready + " ms\n", "*");
})();
