"use strict";
(() => {
  const table = document.getElementById("table");
  const rows = [...table.tBodies[0].rows].filter((row) => row.dataset.target);
  const text = document.getElementById("filter-text");
  const outcome = document.getElementById("filter-outcome");
  const shown = document.getElementById("shown");

  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const article = document.getElementById(row.dataset.target);
      const fits = (!outcome.value || row.dataset.outcome === outcome.value) &&
        (!wanted || article.textContent.toLowerCase().includes(wanted));
      row.hidden = article.hidden = !fits;
      count += fits;
    }
    shown.value = `${count} of ${rows.length} shown`;
  };
  text.addEventListener("input", filter);
  outcome.addEventListener("change", filter);
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());

  const key = (row, column) => {
    const cell = row.cells[column];
    const raw = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(raw);
    return raw !== "" && !Number.isNaN(number) ? number : raw.toLowerCase();
  };
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => header.querySelector("button").addEventListener("click", () => {
    const down = header.getAttribute("aria-sort") === "ascending";
    headers.forEach((other) => other.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    rows.sort((a, b) => {
      const [x, y] = [key(a, column), key(b, column)];
      const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : (typeof x === "number" ? -1 : 1);
      return sign * order;
    });
    table.tBodies[0].append(...rows);
  }));

  const open = () => {
    const article = location.hash && document.getElementById(location.hash.slice(1));
    if (article && article.classList.contains("result")) {
      article.querySelector("details").open = true;
      article.focus({ preventScroll: true });
      article.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();
})();
