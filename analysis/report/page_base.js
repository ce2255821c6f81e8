/* SPDX-License-Identifier: MIT */
"use strict";
/* Texts of the data become text nodes and values of attributes, never markup: nothing here builds
 * elements from strings. */
const data = JSON.parse(document.getElementById("data").textContent);
const A = data.a, B = data.b || null;
const problems = data.problems, instances = data.instances;

function fill(e, children) {
  for (const c of children.flat(Infinity))
    if (c !== null && c !== undefined && c !== false)
      e.append(c instanceof Node ? c : document.createTextNode(String(c)));
  return e;
}
function set(e, attributes) {
  for (const [k, v] of Object.entries(attributes || {})) {
    if (v === null || v === undefined || v === false)
      continue;
    if (k.startsWith("on"))
      e.addEventListener(k.slice(2), v);
    else
      e.setAttribute(k, v === true ? "" : String(v));
  }
  return e;
}
const h = (tag, attributes, ...children) => fill(set(document.createElement(tag), attributes), children);
const svg = (tag, attributes, ...children) =>
  fill(set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes), children);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* ---- numbers ---- */

const digits = (v, n = 4) => Number(v.toPrecision(n)).toLocaleString("en", { maximumSignificantDigits: n, useGrouping: v >= 1e4 });
/* With its zeros, so that numbers of a column line up. */
const exact = (v, n = 4) => (v >= 1e4 ? digits(v, n) : v >= 1000 ? v.toFixed(0) : v.toPrecision(n));
const count = (n) => n.toLocaleString("en");
const percent = (v, n = 3) => digits(100 * v, n) + " %";
const units = [["ns", 1], ["\u00b5s", 1e3], ["ms", 1e6], ["s", 1e9]];
function unitOf(ns) {
  return units.filter(([, scale], i) => i === 0 || ns >= scale).pop();
}
function time(ns) {
  if (ns === null || !(ns > 0))
    return "";
  const [unit, scale] = unitOf(ns);
  return exact(ns / scale) + " " + unit;
}
const tick = (ns) => digits(ns / unitOf(ns)[1], 3) + " " + unitOf(ns)[0];
function interval(ns, lo, hi) {
  if (!(ns > 0) || !(lo > 0) || !(hi >= lo))
    return "";
  const scale = unitOf(ns)[1];
  return exact(lo / scale) + " \u2013 " + exact(hi / scale);
}
function seconds(s) {
  return s >= 7200 ? digits(s / 3600, 3) + " h" : s >= 120 ? digits(s / 60, 3) + " min" : digits(s, 3) + " s";
}
const when = (ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " ") + " UTC";
const plural = (n, one, many) => count(n) + " " + (n === 1 ? one : many || one + "s");
/* Of a list that is cut: how many are left out, and what has all of them. */
const leftOut = (listed, all, what, where) => (listed < all ? " " + count(all - listed) + " of " + count(all) + " " + what + " are left out here: " + where + " has all." : "");
const inTable = "ksweep-analyze table", inFile = (table) => table + " of results.h5";
const rate = (p) => (p.f > 0 && p.t > 0 ? p.f / p.t : null);
const problemsCalled = new Map(); // a generator calls all problems of a set by its name
for (const p of problems) problemsCalled.set(p.n, (problemsCalled.get(p.n) || 0) + 1);
const problemName = (p) => (problemsCalled.get(p.n) > 1 && p.n ? p.n + " " + p.i : p.n || p.x || "(name lost)");
/* What the names of all instances begin with, up to a separator: tables say it once. */
function commonPrefix(names) {
  let n = names.length > 1 ? names[0].length : 0;
  for (const name of names)
    while (!name.startsWith(names[0].slice(0, n))) n--;
  return n >= 8 ? names[0].slice(0, n).replace(/[^_.\-/: ]*$/, "") : "";
}
const prefix = commonPrefix(instances.map((i) => i[0]));
/* May be broken behind a separator, as the rest of a name. */
const breakable = (text) => text.split(/(?<=[_.\-/:])/).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
const shortName = (name) => h("span", { title: name },
  prefix.length >= 8 && name.startsWith(prefix) && name.length > prefix.length ? ["\u2026", breakable(name.slice(prefix.length))] : breakable(name));
const prefixNote = () => (prefix.length >= 8 ? " \u2026 stands for " + prefix : "");
const instanceName = (i) => (typeof i === "string" ? i : i >= 0 && instances[i] ? instances[i][0] : "(not listed)");

/* ---- what the pointer or the keyboard points at ---- */

const tip = document.getElementById("tip");
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 16) + "px";
}
const hideTip = () => { tip.hidden = true; };

/* ---- a command to copy ---- */

function copyText(text, button) {
  const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
  const area = h("textarea", { style: "position:fixed;opacity:0" });
  area.value = text;
  (document.querySelector("dialog[open]") || document.body).append(area);
  area.select();
  if (document.execCommand("copy"))
    done();
  area.remove();
}
function command(text) {
  const button = h("button", { type: "button", onclick: (e) => { e.stopPropagation(); copyText(text, button); } }, "Copy");
  return h("div", { class: "command" }, h("code", { tabindex: 0 }, text), button);
}
const cellCommand = (problem, instance) => "ksweep cell " + A.dir + " " + problem + ":" + instance + " --run";

/* ---- light and dark ---- */

const theme = {
  get: () => document.documentElement.dataset.theme,
  set: (name) => { document.documentElement.dataset.theme = name; for (const f of theme.after) f(); },
  after: [],
};
theme.set(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
let hasChosen = false; /* then the system's setting no longer counts */
document.getElementById("theme").addEventListener("click", () => { hasChosen = true; theme.set(theme.get() === "dark" ? "light" : "dark"); });
/* Paper is white. */
let screenTheme = null;
addEventListener("beforeprint", () => { screenTheme = theme.get(); theme.set("light"); });
addEventListener("afterprint", () => { if (screenTheme) theme.set(screenTheme); screenTheme = null; });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (e) => { if (!hasChosen) theme.set(e.matches ? "dark" : "light"); });
