"use strict";
(() => {
  const table = document.getElementById("table");
  const rows = [...table.tBodies[0].rows].filter((row) => row.dataset.target);
  const text = document.getElementById("filter-text");
  const outcome = document.getElementById("filter-outcome");
  const shown = document.getElementById("shown");

  const articles = rows.map((row) => document.getElementById(row.dataset.target));
  const words = new Map(articles.map((article) => [article, article.textContent.toLowerCase()]));

  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const article = document.getElementById(row.dataset.target);
      const fits = (!outcome.value || row.dataset.outcome === outcome.value) &&
        (!wanted || words.get(article).includes(wanted));
      row.hidden = !fits;
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

  // One result a page: the address names it, so that it can be linked to and the back button works.
  const overview = document.getElementById("overview");
  const results = document.getElementById("results");
  let left = "";
  const turn = (link, row) => {
    if (row) link.href = `#${row.dataset.target}`;
    else link.removeAttribute("href");
  };
  const open = () => {
    const wanted = location.hash.slice(1);
    const chosen = articles.find((article) => article.id === wanted);
    overview.hidden = Boolean(chosen);
    for (const article of articles) article.hidden = article !== chosen;
    if (chosen) {
      const visible = rows.filter((row) => !row.hidden || row.dataset.target === wanted);
      const place = visible.findIndex((row) => row.dataset.target === wanted);
      const pager = chosen.querySelector(".pager");
      pager.hidden = false;
      turn(pager.querySelector(".previous"), visible[place - 1]);
      turn(pager.querySelector(".next"), visible[place + 1]);
      chosen.focus({ preventScroll: true });
      scrollTo(0, 0);
      left = wanted;
    } else if (left) {
      const row = rows.find((other) => other.dataset.target === left);
      (row && !row.hidden ? row.querySelector("a") : results).focus();
    }
  };
  addEventListener("hashchange", open);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && overview.hidden) location.hash = "results";
  });
  open();
})();
