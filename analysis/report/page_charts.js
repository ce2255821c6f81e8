/* SPDX-License-Identifier: MIT */
/* ---- scales ---- */

function ticks(lo, hi, log) {
  const out = [];
  if (log) {
    const span = Math.log10(hi / lo);
    for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++)
      for (const m of span < 1.2 ? [1, 2, 3, 5] : span < 3 ? [1, 3] : [1])
        if (m * 10 ** e >= lo * 0.999 && m * 10 ** e <= hi * 1.001) out.push(m * 10 ** e);
    return out;
  }
  const rough = (hi - lo) / 5 || 1, step = 10 ** Math.floor(Math.log10(rough));
  const by = step * (rough / step > 5 ? 10 : rough / step > 2 ? 5 : rough / step > 1 ? 2 : 1);
  for (let v = Math.ceil(lo / by) * by; v <= hi + by * 1e-6; v += by) out.push(Math.abs(v) < by * 1e-9 ? 0 : v);
  return out;
}
/* frame() - axes. o: x, y = { lo, hi, log, title, text }; returns { root, x, y } that map values. */
function frame(o) {
  const room = Math.max(320, Math.min(1200, main.clientWidth - 40));
  const width = o.width || (o.half && room > 880 ? room / 2 - 17 : room), height = o.height || 320, left = 74, right = 14, top = 12, bottom = 44;
  const map = (axis, from, to) => (v) => {
    const t = axis.log ? Math.log(v / axis.lo) / Math.log(axis.hi / axis.lo) : (v - axis.lo) / (axis.hi - axis.lo || 1);
    return from + t * (to - from);
  };
  const x = map(o.x, left, width - right), y = map(o.y, height - bottom, top);
  const root = svg("svg", { viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": o.label });
  for (const v of ticks(o.y.lo, o.y.hi, o.y.log))
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }),
      svg("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, o.y.text(v)));
  for (const v of ticks(o.x.lo, o.x.hi, o.x.log))
    root.append(svg("line", { class: "axis", x1: x(v), x2: x(v), y1: height - bottom, y2: height - bottom + 5 }),
      svg("text", { x: x(v), y: height - bottom + 19, "text-anchor": "middle" }, o.x.text(v)));
  root.append(svg("path", { class: "axis", d: "M" + left + " " + top + "V" + (height - bottom) + "H" + (width - right) }),
    svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, o.x.title),
    svg("text", { x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle",
      transform: "rotate(-90 14 " + (top + height - bottom) / 2 + ")" }, o.y.title));
  return { root, x, y, left, right: width - right, top, bottom: height - bottom, width };
}
/* Points as one path, so that thousands cost one element; the nearest one answers the pointer.
 * points: { x, y (in the chart), text, open } */
function dots(f, points, stroke, size) {
  f.root.append(svg("path", { d: points.map((p) => "M" + p.x.toFixed(1) + " " + p.y.toFixed(1) + "h.01").join(""),
    fill: "none", style: "stroke:var(" + stroke + ")", "stroke-width": size, "stroke-linecap": "round", "stroke-opacity": 0.72 }));
}
function answer(f, points) {
  const ring = svg("circle", { r: 7, fill: "none", style: "stroke:var(--text)", "stroke-width": 1.5, visibility: "hidden" });
  f.root.append(ring);
  const nearest = (e) => {
    const box = f.root.getBoundingClientRect(), k = f.width / box.width;
    const px = (e.clientX - box.left) * k, py = (e.clientY - box.top) * k;
    let best = null, least = 26 * 26;
    for (const p of points) {
      const d = (p.x - px) ** 2 + (p.y - py) ** 2;
      if (d < least) { least = d; best = p; }
    }
    return best;
  };
  f.root.addEventListener("pointermove", (e) => {
    const p = nearest(e);
    ring.setAttribute("visibility", p ? "visible" : "hidden");
    f.root.style.cursor = p && p.open ? "pointer" : "";
    if (!p) { hideTip(); return; }
    ring.setAttribute("cx", p.x);
    ring.setAttribute("cy", p.y);
    showTip(p.text, e.clientX, e.clientY);
  });
  f.root.addEventListener("pointerleave", () => { ring.setAttribute("visibility", "hidden"); hideTip(); });
  f.root.addEventListener("click", (e) => { const p = nearest(e); if (p && p.open) p.open(); });
}
const least = (list, of) => list.reduce((m, v) => Math.min(m, of(v)), Infinity);
const most = (list, of) => list.reduce((m, v) => Math.max(m, of(v)), -Infinity);

/* ---- stacked bar: [name, value, css color] ---- */

function stacked(parts, text) {
  const sum = parts.reduce((s, p) => s + p[1], 0) || 1;
  const bar = h("div", { class: "stack", role: "img", "aria-label": parts.map((p) => p[0] + " " + text(p[1])).join(", ") },
    parts.map((p) => h("i", { style: "width:" + (100 * p[1]) / sum + "%;background:" + p[2],
      onpointermove: (e) => showTip(p[0] + ": " + text(p[1]) + ", " + percent(p[1] / sum), e.clientX, e.clientY),
      onpointerleave: hideTip })));
  const legend = h("ul", { class: "legend" }, parts.map((p) =>
    h("li", null, h("i", { style: "background:" + p[2] }), p[0] + " " + text(p[1]) + " (" + percent(p[1] / sum, 2) + ")")));
  return [bar, legend];
}

/* ---- heat map ---- */

const levelOf = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((c, i) => [c, i]));
/* cividis: even steps of lightness, the same for every kind of color vision */
const ramp = [[0, 32, 77], [34, 58, 110], [75, 84, 109], [107, 110, 114], [138, 135, 121], [171, 161, 119], [208, 190, 106], [253, 231, 55]];
function rampColor(t) {
  const at = Math.max(0, Math.min(0.9999, t)) * (ramp.length - 1), i = Math.floor(at);
  return ramp[i].map((v, k) => Math.round(v + (ramp[i + 1][k] - v) * (at - i)));
}
/* -1: failed, -2: unsupported or skipped, -3: no row; else the level. */
function codesOf(text) {
  const of = new Int8Array(128).fill(-3), codes = new Int8Array(text.length);
  of["!".charCodeAt(0)] = -1;
  of["-".charCodeAt(0)] = -2;
  for (const [c, level] of levelOf) of[c.charCodeAt(0)] = level;
  for (let i = 0; i < text.length; i++) codes[i] = of[text.charCodeAt(i)];
  return codes;
}
/* The darkest color is the speed that one cell in fifty is below. */
function lowest(codes) {
  const n = new Array(64).fill(0);
  let sum = 0;
  for (const level of codes)
    if (level >= 0) { n[level]++; sum++; }
  for (let level = 0, below = 0; level < 60; level++)
    if ((below += n[level]) * 50 > sum) return level;
  return 60;
}
const speedOf = (level) => 2 ** ((level / 63 - 1) * 5);
function rgbOf(name) {
  const n = parseInt(color(name).slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}
/* The mean of the cells that fall on each pixel; failures show through where nothing was timed. */
function paintHeat(canvas, heat, codes, order, low) {
  const width = canvas.width, height = canvas.height, image = canvas.getContext("2d").createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer), packed = (c) => ((255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]) >>> 0;
  const bad = packed(rgbOf("--c6")), other = packed(rgbOf("--blank")), none = packed(rgbOf("--back"));
  const colors = Array.from({ length: 256 }, (_, i) => packed(rampColor((i / 4 - low) / (63 - low))));
  const edges = Array.from({ length: width + 1 }, (_, x) => Math.floor((x * heat.columns) / width));
  for (let y = 0; y < height; y++) {
    const r0 = Math.floor((y * heat.rows) / height), r1 = Math.max(r0 + 1, Math.floor(((y + 1) * heat.rows) / height));
    for (let x = 0; x < width; x++) {
      const c0 = edges[x], c1 = Math.max(c0 + 1, edges[x + 1]);
      let sum = 0, n = 0, worst = -3;
      for (let r = r0; r < r1; r++)
        for (let c = c0; c < c1; c++) {
          const v = codes[order[r] * heat.columns + c];
          if (v >= 0) { sum += v; n++; } else if (v > worst) worst = v;
        }
      pixels[y * width + x] = n ? colors[Math.round((4 * sum) / n)] : worst === -1 ? bad : worst === -2 ? other : none;
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
function heatMap(heat, open) {
  const canvas = h("canvas", { tabindex: 0, role: "application",
    "aria-label": "Heat map of problems and instances; use the arrow keys to read its cells, and Enter to open a problem" });
  const order = Array.from({ length: heat.rows }, (_, i) => i);
  /* Few rows are high enough to be labelled; many share pixels: browsers draw no canvas of any height. */
  const rowHeight = heat.rows <= 48 ? 18 : Math.max(560 / heat.rows, Math.min(1, 1200 / heat.rows));
  canvas.style.height = Math.round(heat.rows * rowHeight) + "px";
  const at = { row: 0, column: 0 }, codes = codesOf(heat.data), low = lowest(codes);
  /* The first listed problem among those of row i of the data; -1: only every step-th one is listed, none of these. */
  const problemOf = (i) => {
    const listed = Math.ceil((i * heat.per_row) / data.step);
    return listed * data.step < (i + 1) * heat.per_row ? listed : -1;
  };
  const problemAt = (row) => problemOf(order[row]);
  function read() {
    const level = codes[order[at.row] * heat.columns + at.column];
    const p = problems[problemAt(at.row)], i = at.column * heat.per_column;
    const how = level >= 0 ? percent(speedOf(level), 2) + " of the best's speed" + (level === 0 ? " or less" : "")
      : level === -1 ? "failed" : level === -2 ? "unsupported or skipped" : "not measured";
    const many = heat.per_row > 1 || heat.per_column > 1 ? "\n(mean of " + heat.per_row * heat.per_column + " cells)" : "";
    return (p ? problemName(p) : "(a problem that is not listed)") + "\n" + instanceName(i) + "\n" + how + many;
  }
  const paint = () => {
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.min(4 * heat.columns * 8, Math.round(box.width || 800)));
    canvas.height = Math.max(1, Math.round(heat.rows * rowHeight));
    paintHeat(canvas, heat, codes, order, low);
  };
  canvas.addEventListener("pointermove", (e) => {
    const box = canvas.getBoundingClientRect();
    at.column = Math.max(0, Math.min(heat.columns - 1, Math.floor(((e.clientX - box.left) / box.width) * heat.columns)));
    at.row = Math.max(0, Math.min(heat.rows - 1, Math.floor(((e.clientY - box.top) / box.height) * heat.rows)));
    showTip(read(), e.clientX, e.clientY);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("blur", hideTip);
  canvas.addEventListener("click", () => { if (problems[problemAt(at.row)]) open(problemAt(at.row)); });
  canvas.addEventListener("keydown", (e) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (e.key === "Enter" && problems[problemAt(at.row)]) open(problemAt(at.row));
    if (!move) return;
    e.preventDefault();
    at.row = Math.max(0, Math.min(heat.rows - 1, at.row + move[0]));
    at.column = Math.max(0, Math.min(heat.columns - 1, at.column + move[1]));
    const box = canvas.getBoundingClientRect();
    showTip(read(), box.left + ((at.column + 0.5) / heat.columns) * box.width, box.top + ((at.row + 0.5) / heat.rows) * box.height);
  });
  const labels = h("ol", { "aria-hidden": "true" });
  const label = () => labels.replaceChildren(...(rowHeight >= 15 ? order.map((_, row) =>
    h("li", { style: "height:" + rowHeight + "px;line-height:" + rowHeight + "px" },
      problems[problemAt(row)] ? problemName(problems[problemAt(row)]) : "")) : []));
  const sort = (how) => {
    const key = order.map((_, i) => { const p = problems[problemOf(i)];
      return p ? (how === "spread" ? -(p.wb || 0) : how === "rate" ? -(rate(p) || 0) : i) : i; });
    order.sort((a, b) => (how === "file" ? a - b : key[a] - key[b] || a - b));
    label();
    paint();
  };
  label();
  theme.after.push(paint);
  addEventListener("resize", paint);
  const swatch = (name, text) => h("li", null, h("i", { style: "background:var(" + name + ")" }), text);
  const gradient = "linear-gradient(90deg," + ramp.map((c) => "rgb(" + c.join(",") + ")").join(",") + ")";
  return { paint, sort, node: [
    h("ul", { class: "legend" }, h("li", null, percent(speedOf(low), 2) + " of the best or less", h("span", { class: "ramp", style: "background:" + gradient }), "the best of the problem"),
      swatch("--c6", "failed"), swatch("--blank", "unsupported or skipped")),
    h("div", { class: "heat" }, labels, canvas)] };
}
