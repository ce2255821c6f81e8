/* SPDX-License-Identifier: MIT */
const main = document.getElementById("main"), nav = document.getElementById("nav");
const shortTitles = { time: "Time", where: "Where", "where-second": "Second" };
function section(id, title, lead, ...children) {
  main.append(h("section", { id, "aria-labelledby": id + "-title" }, h("h2", { id: id + "-title" }, title),
    lead && h("p", { class: "lead" }, lead), children));
  nav.append(h("a", { href: "#" + id }, shortTitles[id] || title));
}
const palette = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"].map((c) => "var(" + c + ")");
const meter = (v) => h("span", { class: "meter", "aria-hidden": "true" }, h("i", { style: "width:" + 100 * Math.max(0, Math.min(1, v)) + "%" }));
const contaminated = () => h("span", { class: "tag warn", title: "other processes used the machine during this measurement: the time may be too long" }, "contaminated");

/* ---- details of a problem ---- */

const dialog = document.getElementById("details");
dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });

function strips(p) {
  const rows = p.top.filter((t) => t[7] && t[7].length > 1);
  if (!rows.length)
    return null;
  const all = rows.flatMap((t) => t[7].map((d) => t[1] * (1 + d / 1e4)));
  const scale = unitOf(p.t)[1], lo = least(all, (v) => v) / scale, hi = most(all, (v) => v) / scale;
  const f = frame({ width: Math.min(860, innerWidth - 66), height: 58 + 34 * rows.length, label: "Samples of the fastest instances",
    x: { lo: lo - (hi - lo) * 0.03 || lo * 0.99, hi: hi + (hi - lo) * 0.03 || hi * 1.01, title: "time per call, " + unitOf(p.t)[0], text: (v) => digits(v) },
    y: { lo: 0, hi: rows.length, title: "", text: () => "" } });
  const points = [];
  rows.forEach((t, i) => {
    const y = f.y(rows.length - i - 0.5);
    const mine = t[7].map((d, k) => ({ x: f.x((t[1] * (1 + d / 1e4)) / scale), y: y + ((k * 7) % 11) - 5,
      text: instanceName(t[0]) + "\n" + time(t[1] * (1 + d / 1e4)) }));
    points.push(...mine);
    dots(f, mine, i === 0 ? "--c1" : "--c8", 4);
    f.root.append(svg("text", { x: f.left - 8, y: y + 4, "text-anchor": "end" }, "#" + (p.top.indexOf(t) + 1)),
      svg("line", { x1: f.x(t[1] / scale), x2: f.x(t[1] / scale), y1: y - 11, y2: y + 11, style: "stroke:var(--text)", "stroke-width": 2 }));
  });
  answer(f, points);
  return [h("h3", null, "Samples of the fastest instances"), h("p", { class: "note" }, "Each dot is a sample; of more than 48 samples, 48 evenly spaced quantiles are shown. The line is the median."), f.root];
}
function timesTable(p) {
  return makeTable({ rows: p.top, sort: 1, page: 12, columns: [
    { title: "Instance", name: true, get: (t) => instanceName(t[0]),
      show: (t) => [shortName(instanceName(t[0])), t[6] & 1 ? h("span", { class: "tag" }, "tied with the best") : null, t[6] & 2 ? contaminated() : null] },
    { title: "Time", number: true, get: (t) => t[1], show: (t) => time(t[1]) },
    { title: "95 % interval", number: true, get: (t) => t[2], show: (t) => interval(t[1], t[2], t[3]) },
    { title: "p10 \u2013 p90", number: true, get: (t) => (t[5] && t[4] ? t[5] - t[4] : null), show: (t) => interval(t[1], t[4], t[5]) },
    { title: "Speed, best = 1", number: true, get: (t) => p.top[0][1] / t[1], show: (t) => [meter(p.top[0][1] / t[1]), (p.top[0][1] / t[1]).toFixed(3)] },
  ] });
}
function openProblem(i) {
  const p = problems[i];
  const facts = [["Class", p.c], ["Problem", p.x], ["Id", p.i], ["Work", p.f && digits(p.f / 1e9, 4) + " GFLOP"],
    ["Minimum traffic", p.b && digits(p.b / 1e6, 4) + " MB, " + digits((p.f || 0) / p.b, 3) + " flop/byte"],
    ["Reduction length", p.l && count(p.l)],
    ["Best", p.t && instanceName(p.w) + ", " + time(p.t) + (interval(p.t, p.lo, p.hi) ? " (95 %: " + interval(p.t, p.lo, p.hi) + ")" : "") +
      (rate(p) ? ", " + digits(rate(p)) + " GFLOP/s" : "")],
    ["Worst / best", p.wb && digits(p.wb, 3)], ["Cells", p.ok + " of " + p.r + " ok" + (p.nc ? ", " + p.nc + " contaminated" : "")],
    ["Second run", p.o && p.o[0] && time(p.o[0]) + " with " + instanceName(p.o[3])]].filter((f) => f[1]);
  const go = (by, text) => h("button", { type: "button", disabled: !problems[i + by], onclick: () => openProblem(i + by) }, text);
  const id = p.w >= 0 && instances[p.w][1];
  dialog.replaceChildren(
    h("div", { class: "head" }, h("h2", { id: "details-title" }, problemName(p)), go(-1, "Previous"), go(1, "Next"),
      h("button", { type: "button", onclick: () => dialog.close() }, "Close")),
    h("div", { class: "body" }, h("dl", null, facts.map(([k, v]) => [h("dt", null, k), h("dd", null, v)])),
      p.top.length ? [h("h3", null, p.top.length < p.ok ? "The fastest " + p.top.length + " of " + count(p.ok) + " (" + inTable + " has all)" : "All instances that worked"), timesTable(p)] : h("p", { class: "bad" }, "No instance worked."),
      strips(p), id ? [h("h3", null, "Run the best instance again"), command(cellCommand(p.i, id))] : null));
  if (!dialog.open)
    dialog.showModal();
  dialog.scrollTop = 0;
}

/* ---- overview ---- */

function overview() {
  const run = A.runs[0] || { job: "", began: 0, ended: 0 };
  const models = [...new Set(A.devices.map((d) => d.model))].filter(Boolean), hosts = new Set(A.devices.map((d) => d.host));
  const timed = A.outcomes.filter((o) => o[0] === "ok").reduce((s, o) => s + o[1], 0);
  const look = A.outcomes.filter((o) => o[2]).reduce((s, o) => s + o[1], 0);
  document.title = (run.job || A.path) + " - ksweep report";
  main.replaceChildren(h("h1", null, run.job || A.path), h("p", { class: "lead" },
    [models.join(", "), plural(A.n_devices, "rank") + (A.devices.length < A.n_devices ? "" : " on " + plural(hosts.size, "host")), when(run.began), run.version && "ksweep " + run.version].filter(Boolean).join(" \u00b7 ")));
  const tile = (value, text) => h("div", { class: "tile" }, h("b", null, value), h("span", null, text));
  main.append(h("div", { class: "tiles" }, tile(count(A.problems), A.problems === 1 ? "problem" : "problems"),
    tile(count(data.n_instances), "instances, " + count(A.codes) + (A.codes_unknown ? " working" : " working codes")),
    tile(count(A.cells), "cells" + (A.pending ? ", " + count(A.pending) + " pending" : "")),
    tile(count(timed), "timed and verified"), tile(count(look), look === 1 ? "cell needs a look" : "cells need a look"),
    A.fixed_share && tile(digits(1 / A.fixed_share, 3) + "\u00d7", "speedup from choosing per problem")));
  const sentences = [];
  if (A.fixed_share)
    sentences.push(h("p", null, "One fixed instance would reach " + percent(A.fixed_share, 2) + " of the best on average: choosing per problem is " +
      digits(1 / A.fixed_share, A.fixed_share < 0.5 ? 2 : 3) + " times as fast. The best fixed instance is ", h("strong", null, A.fixed), "."));
  else
    sentences.push(h("p", null, "No instance works on every problem, so none can be used for all."));
  if (A.median_wb)
    sentences.push(h("p", null, "On the median problem the slowest working instance takes " + digits(A.median_wb, 3) + " times as long as the best. " +
      plural(A.winners, "instance is", "instances are") + " the best of a problem without a tie."));
  sentences.push(A.contaminated ? h("p", { class: A.contaminated > timed / 3 ? "warn" : null }, count(A.contaminated) + " of " + plural(A.cells - A.pending, "cell") +
    " " + (A.contaminated === 1 ? "is" : "are") + " contaminated: other processes used the machine during the measurement, so their times may be too long. Measure them again with ", h("code", null, "ksweep run"), " and the options ", h("code", null, "--resume --retry contaminated"), ".")
    : h("p", null, "No cell is contaminated."));
  const colors = { ok: "var(--c3)", aliased: "var(--c5)", unsupported: "var(--c8)", skipped: "var(--c7)" };
  const spare = ["var(--c6)", "var(--c2)", "var(--c4)", "var(--bad)"];
  let k = 0;
  const parts = A.outcomes.map((o) => [o[0] + (o[2] ? " (needs a look)" : ""), o[1], colors[o[0]] || spare[k++ % spare.length]]);
  if (A.pending)
    parts.push(["pending", A.pending, "var(--line)"]);
  main.append(h("div", { class: "cols" }, h("div", null, sentences), h("div", null, h("h3", null, "Cells by outcome"), stacked(parts, count))));
}

/* ---- sections ---- */

function problemsSection() {
  const columns = [
    { title: "Problem", name: true, get: problemName, show: (p) => [problemName(p), p.co ? contaminated() : null] },
    { title: "Time", number: true, get: (p) => p.t, show: (p) => time(p.t) },
    { title: "95 % interval", number: true, get: (p) => (p.t ? (p.hi - p.lo) / p.t : null), show: (p) => interval(p.t, p.lo, p.hi), help: "sorted by relative width" },
    { title: "GFLOP/s", number: true, get: rate, show: (p) => (rate(p) ? exact(rate(p)) : "") },
    { title: "Best instance", name: true, get: (p) => instanceName(p.w), show: (p) => (p.t ? shortName(instanceName(p.w)) : h("span", { class: "bad" }, "none worked")) },
    { title: "Tied", number: true, get: (p) => p.ti, help: "other instances whose times cannot be distinguished from the best" },
    { title: "Worst/best", number: true, get: (p) => p.wb, show: (p) => (p.wb ? p.wb.toFixed(2) : "") },
    { title: "ok/all", number: true, get: (p) => p.ok / p.r, show: (p) => p.ok + "/" + p.r },
  ];
  if (B)
    columns.push({ title: "Second run", number: true, get: (p) => (p.o && p.o[0] && p.t ? p.o[0] / p.t : null),
      show: (p) => (p.o && p.o[0] && p.t ? (p.o[0] / p.t).toFixed(3) + "\u00d7" : ""), help: "time in the second run over time in the first" });
  section("problems", "Problems", "The best instance of each problem. Click a row, or press Enter on it, for details." + prefixNote() +
    (problems.length < data.n_problems ? " The problems shown are evenly spaced." + leftOut(problems.length, data.n_problems, "problems", "ksweep-analyze report --format csv") : ""),
    makeTable({ id: "problems-table", columns, rows: problems, page: 25, hint: "Filter: problem, instance or class",
      text: (p) => problemName(p) + " " + p.c + " " + instanceName(p.w) + " " + p.i, open: (p) => openProblem(problems.indexOf(p)),
      select: { title: "All classes", of: (p) => p.c } }));
}
function heatSection() {
  if (!data.heat.rows || !data.heat.columns)
    return null;
  const map = heatMap(data.heat, openProblem);
  const choice = h("select", { "aria-label": "Order of the problems", onchange: (e) => map.sort(e.target.value) },
    h("option", { value: "file" }, "Problems as listed"), h("option", { value: "spread" }, "Largest gain first"), h("option", { value: "rate" }, "Fastest first"));
  section("heat", "Heat map", "Speed of every instance (column) on every problem (row), relative to the best of the problem. Instances that win most often come first." +
    (data.heat.per_row > 1 || data.heat.per_column > 1 ? " A spot is the mean over " + data.heat.per_row + " problems and " + data.heat.per_column + " instances." : "") +
    (data.heat.left_out ? " " + plural(data.heat.left_out, "instance that ran on no problem is", "instances that ran on no problem are") + " left out." : ""),
    h("div", { class: "tools" }, choice), map.node);
  return map;
}
function instancesSection() {
  const winners = instances.filter((i) => i[4] > 0).length;
  section("instances", "Instances", plural(winners, "instance wins", "instances win") + " at least one problem." +
    (instances.length < data.n_instances ? " The table shows the best." + leftOut(instances.length, data.n_instances, "instances", inTable) : ""),
    makeTable({ id: "instances-table", rows: instances, page: 15, hint: "Filter: part of a name", text: (i) => i[0] + " " + i[1], sort: 1, down: true, columns: [
      { title: "Instance", name: true, get: (i) => i[0], show: (i) => shortName(i[0]) },
      { title: "Wins", number: true, get: (i) => i[4], show: (i) => count(i[4]), help: "number of problems on which it is the fastest, ties included" },
      { title: "Mean speed, best = 1", number: true, get: (i) => i[6], show: (i) => (i[6] ? [meter(i[6]), i[6].toFixed(3)] : ""), help: "geometric mean over the problems on which it works" },
      { title: "Works on", number: true, get: (i) => i[2], show: (i) => count(i[2]) + " of " + count(i[3]) },
      { title: "Failures", number: true, get: (i) => i[5], show: (i) => (i[5] ? h("span", { class: "bad" }, count(i[5])) : "0") },
    ] }));
}
function rooflineSection() {
  const with_both = problems.filter((p) => p.f > 0 && p.b > 0 && p.t > 0);
  if (!with_both.length)
    return;
  const xs = with_both.map((p) => p.f / p.b), ys = with_both.map(rate);
  const top = most(ys, (v) => v), wide = most(with_both, (p) => p.b / p.t);
  const x = { lo: least(xs, (v) => v) / 1.6, hi: most(xs, (v) => v) * 1.6, log: true, title: "arithmetic intensity at minimum traffic, flop/byte", text: (v) => digits(v, 3) };
  const y = { lo: least(ys, (v) => v) / 1.6, hi: top * 1.6, log: true, title: "GFLOP/s", text: (v) => digits(v, 3) };
  const f = frame({ x, y, label: "Roofline of the best instances" });
  const knee = Math.min(x.hi, Math.max(x.lo, top / wide)), from = Math.max(x.lo, y.lo / wide);
  f.root.append(svg("path", { d: "M" + f.x(from) + " " + f.y(Math.max(y.lo, from * wide)) + "L" + f.x(knee) + " " + f.y(Math.min(top, knee * wide)) + "H" + f.right,
    fill: "none", style: "stroke:var(--c2)", "stroke-width": 1.6, "stroke-dasharray": "6 4" }),
    svg("text", { x: f.right - 4, y: f.y(top) - 7, "text-anchor": "end" }, "highest observed: " + digits(top) + " GFLOP/s, " + digits(wide) + " GB/s"));
  const points = with_both.map((p) => ({ x: f.x(p.f / p.b), y: f.y(rate(p)), open: () => openProblem(problems.indexOf(p)),
    text: problemName(p) + "\n" + digits(rate(p)) + " GFLOP/s at " + digits(p.f / p.b, 3) + " flop/byte\n" + digits(p.b / p.t) + " GB/s if every operand is touched once" }));
  dots(f, points, "--c1", points.length > 500 ? 4 : 7);
  answer(f, points);
  section("roofline", "Roofline", "The best instance of each problem. The dashed roof is the maximum that this sweep reached, not the peak of the device: problems far below it can be improved, or are limited by something else.", f.root);
}
function samplesSection() {
  const n = data.spread.length, sum = data.spread.reduce((s, v) => s + v, 0), parts = [];
  if (sum) {
    const edge = (i) => 100 * 1e-4 * 10 ** ((4 * i) / n);
    const f = frame({ half: true, height: 240, label: "Scatter of samples", x: { lo: edge(0), hi: edge(n), log: true, title: "(p90 \u2013 p10) / median of a cell's samples, %", text: (v) => digits(v, 2) },
      y: { lo: 0, hi: most(data.spread, (v) => v), title: "cells", text: (v) => count(v) } });
    data.spread.forEach((v, i) => f.root.append(svg("rect", { x: f.x(edge(i)) + 1, width: Math.max(1, f.x(edge(i + 1)) - f.x(edge(i)) - 2), y: f.y(v), height: f.bottom - f.y(v),
      style: "fill:var(--c1)", onpointermove: (e) => showTip(digits(edge(i), 2) + " to " + digits(edge(i + 1), 2) + " %: " + plural(v, "cell"), e.clientX, e.clientY), onpointerleave: hideTip })));
    parts.push(h("div", null, h("h3", null, "Scatter of the samples of a cell"), f.root));
  }
  if (data.blocks.length > 1) {
    const drift = data.blocks.map((b) => b[1] / 1000), reach = Math.max(0.1, Math.min(50, most(drift, Math.abs) * 1.1));
    const f = frame({ half: true, height: 240, label: "Drift of anchors", x: { lo: 0, hi: most(data.blocks, (b) => b[0]) || 1, title: "time since the first block, s", text: (v) => digits(v, 3) },
      y: { lo: -reach, hi: reach, title: "drift, %", text: (v) => digits(v, 2) } });
    f.root.append(svg("line", { class: "axis", x1: f.left, x2: f.right, y1: f.y(0), y2: f.y(0) }));
    const points = data.blocks.map((b) => ({ x: f.x(b[0]), y: f.y(Math.max(-reach, Math.min(reach, b[1] / 1000))),
      text: "rank " + b[2] + ", " + seconds(b[0]) + " after the start\nanchor " + (b[1] >= 0 ? "+" : "") + digits(b[1] / 1000, 3) + " % from the start of the block to its end" }));
    dots(f, points, "--c1", 5);
    answer(f, points);
    parts.push(h("div", null, h("h3", null, "Drift of the anchors"),
      data.block_step > 1 ? h("p", { class: "note" }, "One block of " + count(data.block_step) + " is drawn: " + inFile("/blocks") + " has all.") : null, f.root));
  }
  if (parts.length)
    section("noise", "Noise", "Scatter within a cell, and drift of the anchor: the instance that is measured at the start and end of each block, so that a difference between the two shows a change of the machine.", h("div", { class: "cols" }, parts));
}
function failuresSection() {
  if (!data.groups.length)
    return;
  const bad = data.groups.filter((g) => g[3]), rest = data.groups.filter((g) => !g[3]);
  const failed = A.outcomes.filter((o) => o[2]).reduce((s, o) => s + o[1], 0);
  const outcome = (o, look) => h("span", { class: look ? "tag bad" : "tag", style: "margin-left:0" }, o);
  const table = (rows, id) => makeTable({ id, rows, page: 20, text: (g) => g[0] + " " + g[1] + " " + g[4] + " " + g[6], columns: [
    { title: "Outcome", get: (g) => g[0], show: (g) => outcome(g[0], g[3]) },
    { title: "Cells", number: true, get: (g) => g[2], show: (g) => count(g[2]) },
    { title: "Reason", name: true, get: (g) => g[1] },
    { title: "First cell", name: true, get: (g) => g[6], show: (g) => [shortName(g[6]), h("div", { class: "dim" }, g[4])] }] });
  const each = data.failures.length && h("details", null, h("summary", null, "Every failed cell, with the command to run it again" +
    (failed > data.failures.length ? " (the first " + count(data.failures.length) + " of " + count(failed) + "; " + inTable + " has all)" : "")),
    makeTable({ id: "failures-table", rows: data.failures, page: 20, text: (f) => f.join(" "), columns: [
      { title: "Outcome", get: (f) => f[0], show: (f) => outcome(f[0], true) },
      { title: "Problem", name: true, get: (f) => f[2] || f[3] },
      { title: "Instance", name: true, get: (f) => f[4] || f[5], show: (f) => [shortName(f[4] || f[5]), h("div", { class: "dim" }, f[1]), command(cellCommand(f[3], f[5]))] }] }));
  section("failures", "Failures", failed ? plural(failed, "cell needs", "cells need") + " a look." + leftOut(bad.length, data.n_groups[0], "reasons", inTable) : "No cell failed.",
    bad.length ? table(bad, "groups-table") : null, each || null,
    rest.length ? h("details", { open: !bad.length }, h("summary", null, "Unsupported and skipped, by reason." + leftOut(rest.length, data.n_groups[1], "reasons", inTable)), table(rest, "rest-table")) : null);
}
function coverageSection() {
  section("coverage", "Coverage", "What was measured, by shape class." + leftOut(data.coverage.length, data.n_classes, "classes", inTable), makeTable({ rows: data.coverage, columns: [
    { title: "Class", name: true, get: (c) => c[0] },
    { title: "Problems", number: true, get: (c) => c[1], show: (c) => count(c[1]) },
    { title: "With a best instance", number: true, get: (c) => c[2], show: (c) => count(c[2]) },
    { title: "Cells", number: true, get: (c) => c[3], show: (c) => count(c[3]) },
    { title: "Timed", number: true, get: (c) => c[4] / c[3], show: (c) => [meter(c[4] / c[3]), count(c[4])] },
    { title: "Unsupported or skipped", number: true, get: (c) => c[5], show: (c) => count(c[5]) },
    { title: "Failed", number: true, get: (c) => c[6], show: (c) => count(c[6]) },
    { title: "Contaminated", number: true, get: (c) => c[7], show: (c) => count(c[7]) }] }));
}
function timeSection() {
  const run = A.runs[0], wall = run ? (run.ended - run.began) / 1000 : 0, busy = A.phases.reduce((s, p) => s + p[1], 0);
  section("time", "Where the time went", "Time of the workers in all " + count(A.attempts) + " records: " + seconds(busy) + " on " + plural(A.n_devices, "rank") +
    (A.n_runs === 1 ? ", within " + seconds(wall) + " of wall time, builds and pauses included." : "."),
    stacked(A.phases.map((p, i) => [p[0], p[1], palette[i % palette.length]]).filter((p) => p[1] > 0), seconds),
    h("div", { class: "cols" }, h("dl", null, A.roles.filter((r) => r[1] > 0).map((r) => [h("dt", null, r[0]), h("dd", null, seconds(r[1]))]),
      h("dt", null, "of which repeated attempts"), h("dd", null, seconds(A.retried_s || 0))),
      h("dl", null, h("dt", null, "compiled"), h("dd", null, plural(A.compiled, "instance") + ", " + seconds(A.compile_s || 0) + " of compiler time"),
        h("dt", null, "from the cache"), h("dd", null, plural(A.cached, "instance")))));
}
function compareSection() {
  if (!B)
    return;
  const both = problems.filter((p) => p.t > 0 && p.o && p.o[0] > 0), apart = both.filter((p) => p.lo > 0 && p.o[1] > 0 && (p.o[1] > p.hi || p.o[2] < p.lo));
  const same = both.filter((p) => p.o[3] === p.w).length, mean = Math.exp(both.reduce((s, p) => s + Math.log(p.o[0] / p.t), 0) / (both.length || 1));
  const body = [];
  if (both.length) {
    const all = both.flatMap((p) => [p.t, p.o[0]]), lo = least(all, (v) => v) / 1.3, hi = most(all, (v) => v) * 1.3;
    const axis = (title) => ({ lo, hi, log: true, title, text: tick });
    const f = frame({ x: axis("first run"), y: axis("second run"), label: "Best times of both runs", height: 380 });
    f.root.append(svg("line", { x1: f.left, y1: f.bottom, x2: f.right, y2: f.top, style: "stroke:var(--c8)" }));
    const points = both.map((p) => ({ x: f.x(p.t), y: f.y(p.o[0]), open: () => openProblem(problems.indexOf(p)),
      text: problemName(p) + "\n" + time(p.t) + " and " + time(p.o[0]) + ": " + digits(p.o[0] / p.t, 3) + "\u00d7" }));
    dots(f, points, "--c1", points.length > 500 ? 4 : 6);
    answer(f, points);
    body.push(f.root, makeTable({ id: "compare-table", rows: both, page: 20, open: (p) => openProblem(problems.indexOf(p)), sort: 3, down: true,
      text: (p) => problemName(p) + " " + instanceName(p.w) + " " + instanceName(p.o[3]), columns: [
        { title: "Problem", name: true, get: problemName, show: (p) => [problemName(p), p.co || p.o[5] ? contaminated() : null] },
        { title: "First", number: true, get: (p) => p.t, show: (p) => time(p.t) },
        { title: "Second", number: true, get: (p) => p.o[0], show: (p) => time(p.o[0]) },
        { title: "Second/first", number: true, get: (p) => p.o[0] / p.t, show: (p) => (p.o[0] / p.t).toFixed(3) },
        { title: "Best of the first", name: true, get: (p) => instanceName(p.w), show: (p) => shortName(instanceName(p.w)) },
        { title: "Best of the second", name: true, get: (p) => instanceName(p.o[3]), show: (p) => (p.o[3] === p.w ? h("span", { class: "dim" }, "the same") : shortName(instanceName(p.o[3]))) },
        { title: "Cost of the first run's choice", number: true, get: (p) => (p.o[4] ? p.o[4] / p.o[0] - 1 : null), show: (p) => (p.o[4] ? percent(p.o[4] / p.o[0] - 1, 2) : ""), help: "time of the first run's best instance in the second run over the best time there, minus 1" }] }));
  }
  const facts = new Map(A.facts.map((f) => [f[0], f.slice(1).join("; ")])), other = new Map(B.facts.map((f) => [f[0], f.slice(1).join("; ")]));
  const differs = [...new Set([...facts.keys(), ...other.keys()])].filter((k) => facts.get(k) !== other.get(k));
  if (differs.length)
    body.push(h("details", null, h("summary", null, plural(differs.length, "property differs", "properties differ") + " between the two runs"), makeTable({ rows: differs, page: 40, columns: [
      { title: "What", get: (k) => k }, { title: "First", name: true, get: (k) => facts.get(k) || "" }, { title: "Second", name: true, get: (k) => other.get(k) || "" }] })));
  section("runs", "Two runs", "First: " + A.path + ". Second: " + B.path + ". " + (both.length ? plural(both.length, "problem has", "problems have") + " a best instance in both; the second run takes " +
    digits(mean, 3) + " times as long on average; " + count(same) + " have the same best instance; the intervals of " + count(apart.length) + " do not overlap." : "The runs have no problem in common."), body);
}
function whereSection(run, id, title) {
  const cut = leftOut(run.devices.length, run.n_devices, "ranks", inFile("/devices")) + leftOut(run.runs.length, run.n_runs, "runs", inFile("/runs")) +
    leftOut(run.facts.length, run.n_facts, "facts", inFile("/hosts"));
  section(id, title, run.path + (cut && "." + cut), makeTable({ rows: run.devices, page: 16, columns: [
    { title: "Rank", number: true, get: (d) => d.rank }, { title: "Host", name: true, get: (d) => d.host },
    { title: "Device", name: true, get: (d) => d.model }, { title: "Backend", get: (d) => d.backend }, { title: "Arch", get: (d) => d.arch },
    { title: "Cores or bus", get: (d) => d.place }, { title: "Cells", number: true, get: (d) => d.cells, show: (d) => count(d.cells) },
    { title: "Idle: switches/s", number: true, get: (d) => d.switches, show: (d) => (d.switches === null ? "" : digits(d.switches, 3)) },
    { title: "Idle: stolen", number: true, get: (d) => d.stolen, show: (d) => (d.stolen === null ? "" : percent(d.stolen, 2)) }] }),
    run.runs.map((r) => [h("h3", null, "Run " + r.id), h("dl", null,
      [["Job", r.job], ["Directory", r.dir], ["Program", r.version], ["Began", when(r.began)], ["Last record", when(r.ended)],
        ["Cells", count(r.cells) + (r.pending ? ", " + count(r.pending) + " pending" : "")], ["Segments of the journal", count(r.segments)]]
        .filter((f) => f[1]).map(([k, v]) => [h("dt", null, k), h("dd", null, v)])),
      r.text === false && h("p", { class: "note" }, "The resolved job is left out here: " + inFile("/runs") + " has it."),
      r.text && h("details", null, h("summary", null, "The resolved job"), h("pre", { tabindex: 0 }, r.text))]),
    run.facts.length ? h("details", null, h("summary", null, "Properties of the hosts (" + run.facts.length + ")"), h("dl", null,
      run.facts.map((f) => [h("dt", null, f[0]), h("dd", null, f.slice(1).join("; "))]))) : null);
}

overview();
problemsSection();
const map = heatSection();
instancesSection();
rooflineSection();
compareSection();
samplesSection();
failuresSection();
coverageSection();
timeSection();
whereSection(A, "where", "Where and how");
if (B)
  whereSection(B, "where-second", "The second run");
main.append(h("footer", null, "Written by ksweep-analyze report. For every cell with all columns use ksweep-analyze table."));
if (map)
  map.paint();
addEventListener("keydown", (e) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement ? document.activeElement.tagName : "");
  const filter = document.querySelector("#problems input");
  if (e.key === "/" && !typing && !dialog.open && filter) { e.preventDefault(); filter.focus(); }
});
document.documentElement.dataset.ready = String(Math.round(performance.now()));
