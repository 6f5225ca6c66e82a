"""The style sheet of a report, and the script that sorts and filters its tables."""

from __future__ import annotations

STYLE = """
:root { --text: #1a202c; --quiet: #4a5568; --line: #a0aec0; --page: #ffffff; --soft: #edf2f7;
        --mark: #b45309; --link: #1d4ed8; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8eaed; --quiet: #b6bec9; --line: #5b6675; --page: #16191d; --soft: #262b32;
          --mark: #f0a04b; --link: #8ab4f8; }
}
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0;
       color: var(--text); background: var(--page); }
main { max-width: 62rem; margin: 0 auto; padding: 1.2rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.6rem 0 0.2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.4rem; overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 0.3rem; }
section { border-top: 2px solid var(--line); margin-top: 3rem; }
p, li, figcaption { overflow-wrap: anywhere; }
.verdict { font-size: 1.12rem; border-left: 4px solid var(--link); padding-left: 0.8rem; }
.quiet, figcaption { color: var(--quiet); } .long { overflow-wrap: anywhere; }
.warnings { border-left: 4px solid var(--mark); padding-left: 1.6rem; }
code, pre { background: var(--soft); border-radius: 3px; overflow-wrap: anywhere; }
pre { padding: 0.6rem 0.8rem; white-space: pre-wrap; }
.scroll { overflow-x: auto; }
.scroll:focus-visible, button:focus-visible, input:focus-visible, pre:focus-visible
  { outline: 3px solid var(--link); outline-offset: 1px; }
table { border-collapse: collapse; font-size: 0.94rem; }
th, td { padding: 0.16rem 0.9rem 0.16rem 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid var(--line); white-space: nowrap; }
td { overflow-wrap: break-word; max-width: 32rem; }
[data-name="stages"] td:last-child, [data-name="checklist"] td:nth-child(3) { min-width: 15rem; }
[data-name="features"] td, [data-name="pairs"] td { white-space: nowrap; }
tbody tr:nth-child(even) { background: var(--soft); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0;
            cursor: pointer; }
th button::after { content: " ↕"; color: var(--quiet); }
th[aria-sort="ascending"] button::after { content: " ↑"; }
th[aria-sort="descending"] button::after { content: " ↓"; }
.filter { display: block; margin: 0.3rem 0 0.5rem; color: var(--quiet); }
.filter input { font: inherit; color: var(--text); background: var(--page);
                border: 1px solid var(--line); border-radius: 3px; padding: 0.1rem 0.4rem; }
figure { margin: 0.6rem 0 1rem; }
figure svg { display: block; max-width: 100%; height: auto; background: #ffffff; }
@media (max-width: 40rem) { figure svg { max-width: none; } }
@media screen {
  .scroll:has(table), pre { max-height: 36rem; overflow: auto; }
  thead th { position: sticky; top: 0; background: var(--page); }
}
@media print {
  :root { --text: #000; --quiet: #333; --page: #fff; --soft: #fff; }
  main { max-width: none; padding: 0; } body { font-size: 10.5pt; }
  .filter { display: none; } th button::after { content: ""; }
  /* Chromium repeats no head that has a button in it. */
  th button { display: contents; }
  thead { display: table-header-group; break-inside: avoid; } @page { margin: 1.6cm 1.4cm; }
  figure, tr { break-inside: avoid; } h1, h2, h3 { break-after: avoid; }
  .scroll { overflow: visible; max-height: none; } figure svg { max-width: 100%; width: auto; }
}
"""

SCRIPT = """
"use strict";
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  const number = (text) => text === "∞" ? Infinity : text.trim() === "" ? NaN : Number(text);
  heads.forEach((head, k) => {
    if (head.textContent.trim() === "") return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row, place) => [row.cells[k].textContent, row, place]);
      rows.sort(([a, , i], [b, , j]) => {
        if ((a === "—") !== (b === "—")) return a === "—" ? 1 : -1;
        const x = number(a), y = number(b);
        const texts = Number.isNaN(x) || Number.isNaN(y);
        const order = texts ? a.localeCompare(b) : Math.sign(x - y) || 0;
        return (down ? -order : order) || i - j;
      });
      body.append(...rows.map((entry) => entry[1]));
    });
  });
  if (body.rows.length < 12) continue;
  const label = document.createElement("label"), input = document.createElement("input");
  label.className = "filter";
  input.type = "search";
  label.append("Rows with ", input);
  input.addEventListener("input", () => {
    const sought = input.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(sought);
  });
  table.parentElement.before(label);
}
"""
