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
