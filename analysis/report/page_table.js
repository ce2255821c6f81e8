/* SPDX-License-Identifier: MIT */
/* makeTable() - a table that sorts, filters and grows on demand.
 * o.columns: { title, get (value to sort by), show (node or text), number, name, help }
 * o.rows, o.open (row -> called on click or Enter), o.text (row -> text that the filter searches),
 * o.select ({ title, of: row -> text }), o.sort (index of a column), o.down, o.page */
function makeTable(o) {
  const page = o.page || 50;
  let shown = page, sortBy = o.sort === undefined ? -1 : o.sort, down = !!o.down, words = [], chosen = "";
  const head = h("tr"), body = h("tbody"), counted = h("span", { class: "count", role: "status" });
  const paper = h("p", { class: "paper" }); /* shown in print only, where no button is */
  const more = h("button", { type: "button", onclick: () => { shown += 10 * page; draw(); } });
  const texts = o.text ? o.rows.map((r) => o.text(r).toLowerCase()) : null;

  function compare(a, b) {
    const x = o.columns[sortBy].get(a.row), y = o.columns[sortBy].get(b.row);
    if (x === y || ((x === null || x === undefined) && (y === null || y === undefined)))
      return a.i - b.i;
    if (x === null || x === undefined)
      return 1; /* what is not known stands last, whatever the order */
    if (y === null || y === undefined)
      return -1;
    return (x < y ? -1 : 1) * (down ? -1 : 1);
  }
  function chosenRows() {
    let rows = o.rows.map((row, i) => ({ row, i }));
    if (words.length)
      rows = rows.filter((r) => words.every((w) => texts[r.i].includes(w)));
    if (chosen)
      rows = rows.filter((r) => o.select.of(r.row) === chosen);
    return sortBy >= 0 ? rows.sort(compare) : rows;
  }
  function cellOf(column, row) {
    const value = column.show ? column.show(row) : column.get(row);
    return h("td", { class: column.number ? "n" : column.name ? "name" : null }, value === null || value === undefined ? "" : value);
  }
  function rowOf(row) {
    const open = o.open && (() => o.open(row));
    return h("tr", open ? { class: "open", tabindex: 0, onclick: open,
      onkeydown: (e) => {
        if (e.key === "Enter" && e.target === e.currentTarget) open();
        const to = e.key === "ArrowDown" ? "nextElementSibling" : e.key === "ArrowUp" ? "previousElementSibling" : null;
        if (to && e.currentTarget[to]) { e.preventDefault(); e.currentTarget[to].focus(); }
      } } : null, o.columns.map((c) => cellOf(c, row)));
  }
  function draw() {
    const rows = chosenRows();
    body.replaceChildren(...rows.slice(0, shown).map((r) => rowOf(r.row)));
    counted.textContent = rows.length === o.rows.length ? plural(rows.length, "row") : count(rows.length) + " of " + plural(o.rows.length, "row");
    more.hidden = rows.length <= shown;
    more.textContent = "Show more (" + count(rows.length - shown) + " left)";
    paper.textContent = rows.length > shown ? "The first " + count(shown) + " of " + plural(rows.length, "row") + "; the page on a screen has all of them." : "";
    [...head.children].forEach((th, i) => {
      if (i === sortBy) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
  }
  o.columns.forEach((c, i) => head.append(h("th", { class: c.number ? "n" : null, scope: "col", title: c.help || null },
    h("button", { type: "button", onclick: () => {
      down = sortBy === i ? !down : !!c.number;
      sortBy = i;
      draw();
    } }, c.title))));
  const input = h("input", { type: "search", placeholder: o.hint || "Filter", "aria-label": "Filter the rows",
    oninput: (e) => { words = e.target.value.toLowerCase().split(/\s+/).filter(Boolean); shown = page; draw(); } });
  const choices = o.select ? [...new Set(o.rows.map(o.select.of))].sort() : [];
  const select = choices.length > 1 && h("select", { "aria-label": o.select.title,
    onchange: (e) => { chosen = e.target.value; shown = page; draw(); } },
    h("option", { value: "" }, o.select.title), choices.map((c) => h("option", { value: c }, c)));
  draw();
  const tools = texts && o.rows.length > 5 ? h("div", { class: "tools" }, input, select, counted) : null;
  return h("div", { id: o.id || null }, tools, h("div", { class: "scroll" }, h("table", null, h("thead", null, head), body)),
    h("div", { class: "tools" }, more), paper);
}
