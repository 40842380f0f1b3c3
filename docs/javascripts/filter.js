/* Long tables of verdicts: chips and a search above them. Tables of sentences: on a phone each row becomes a card.
   Without this file they are plain tables. */
"use strict";

const FEWEST = 12, LONG = 260, SENTENCE = 50, MOST_COLUMNS = 5;

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function equip(table, at) {
  const rows = [...table.tBodies[0].rows].map((row) => ({
    row, verdict: row.cells[at].textContent.trim(), group: row.cells[0].textContent.split(",")[0].trim(),
    text: row.textContent.toLowerCase(),
  }));
  const chosen = { verdict: null, group: null };
  const search = element("input", { type: "search", placeholder: "Search these rows", className: "filter-search" });
  search.setAttribute("aria-label", "Search these rows");
  const count = element("output", { className: "filter-count" });
  const chips = [];

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const each of rows) {
      const fits = Object.keys(chosen).every((kind) => chosen[kind] === null || each[kind] === chosen[kind])
        && words.every((word) => each.text.includes(word));
      each.row.hidden = !fits;
      seen += fits;
    }
    count.textContent = `${seen} of ${rows.length}`;
    for (const { chip, kind, value } of chips) chip.setAttribute("aria-pressed", String(chosen[kind] === value));
  }

  function line(kind) {
    const counts = new Map();
    for (const each of rows) counts.set(each[kind], (counts.get(each[kind]) ?? 0) + 1);
    if (counts.size < 2 || counts.size > 12) return [];
    const made = [...counts].sort((a, b) => b[1] - a[1]).map(([value, number]) => {
      const chip = element("button", { type: "button", className: "filter-chip", textContent: `${value} ` },
        element("small", { textContent: number }));
      chip.addEventListener("click", () => { chosen[kind] = chosen[kind] === value ? null : value; show(); });
      chips.push({ chip, kind, value });
      return chip;
    });
    return [element("div", { className: "filter-line" }, ...made)];
  }

  search.addEventListener("input", show);
  const head = element("div", { className: "filter-line" }, search, count);
  const place = table.closest(".md-typeset__scrollwrap") ?? table;
  place.before(element("div", { className: "filter" }, head, ...line("verdict"), ...line("group")));
  shorten(table);
  show();
}

function label(table, heads) {
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.head = heads[i] ?? ""; });
}

function shorten(table) {
  table.classList.add("filtered");
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell) => {
      if (cell.textContent.length < LONG) return;
      const inner = element("div", { className: "clamped" });
      inner.append(...cell.childNodes);
      const more = element("button", { type: "button", className: "filter-more", textContent: "more" });
      more.setAttribute("aria-expanded", "false");
      more.addEventListener("click", () => {
        const open = inner.classList.toggle("clamped") === false;
        more.textContent = open ? "less" : "more";
        more.setAttribute("aria-expanded", String(open));
      });
      cell.append(inner, more);
    });
  }
}

/* Tables that scroll sideways can be reached and scrolled with the keyboard. */
function reachable() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset__table > table, .md-typeset pre > code")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

window.addEventListener("load", () => {
  reachable();
  new ResizeObserver(reachable).observe(document.body);
});

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".md-content table:not([class])")) {
    if (!table.tHead || !table.tBodies.length) continue;
    const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    const cells = [...table.tBodies[0].rows].flatMap((row) => [...row.cells]);
    const at = heads.findIndex((head) => head === "verdict" || head === "reached");
    label(table, heads);
    if (cells.length && heads.length <= MOST_COLUMNS && cells.some((cell) => cell.textContent.length > SENTENCE)) {
      table.dataset.wordy = "";
    }
    if (at >= 0 && table.tBodies[0].rows.length >= FEWEST) equip(table, at);
  }
});
