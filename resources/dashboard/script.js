"use strict";
// Sorting: a click on a column head sorts its table, numbers as numbers, empty cells last, a total row always at the end.
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table"), body = table.tBodies[0];
    const place = [...head.parentElement.children].indexOf(head);
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    const key = (row) => row.children[place].dataset.sort;
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (a.classList.contains("total") !== b.classList.contains("total")) return a.classList.contains("total") ? 1 : -1;
      if ((x === "") !== (y === "")) return x === "" ? 1 : -1;
      const numbers = x !== "" && !isNaN(x) && !isNaN(y);
      return direction * (numbers ? Number(x) - Number(y) : x.localeCompare(y));
    };
    body.append(...[...body.rows].sort(order));
  });
}

// Filtering: every word must occur. The text of each item is read once; the page is touched once per frame.
const matcher = (query) => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => words.every((word) => text.includes(word));
};
const texts = new WeakMap();
const textOf = (element) => {
  if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
  return texts.get(element);
};
const onInput = (input, apply) => {
  let frame = 0;
  input.addEventListener("input", () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => apply(input.value));
  });
};
for (const input of document.querySelectorAll("[data-filter-table]")) {
  const rows = [...input.closest(".table").querySelectorAll("tbody tr")];
  onInput(input, (query) => {
    const matches = matcher(query);
    for (const row of rows) row.hidden = !matches(textOf(row));
  });
}

// Rubrics: a library shows a page of them at a time, so that thousands open and filter at once.
const PAGE = 100;
const rubricFilter = document.getElementById("rubric-filter");
if (rubricFilter) {
  const status = document.getElementById("rubric-count"), help = status.textContent;
  const libraries = [...document.querySelectorAll(".library")].map((library) => ({
    hits: library.querySelector(".hits"), more: library.querySelector(".more"), rubrics: [...library.querySelectorAll(".rubric")], limit: PAGE,
  }));
  const show = (library, matches) => {
    let found = 0;
    for (const rubric of library.rubrics) {
      const match = matches(rubric);
      found += match;
      const hide = !match || found > library.limit;
      if (rubric.hidden !== hide) rubric.hidden = hide;
    }
    library.more.hidden = found <= library.limit;
    library.more.textContent = `Show ${Math.min(PAGE, found - library.limit)} more of ${found}`;
    return found;
  };
  const showAll = (query) => {
    const matches = matcher(query), filtered = query.trim() !== "";
    let total = 0, all = 0;
    for (const library of libraries) {
      const found = show(library, filtered ? (rubric) => matches(textOf(rubric)) : () => true);
      library.hits.textContent = filtered ? `${found} of ` : "";
      total += found;
      all += library.rubrics.length;
    }
    status.textContent = filtered ? `${total} of ${all} rubrics match.` : help;
  };
  for (const library of libraries) {
    library.more.addEventListener("click", () => {
      library.limit += PAGE;
      showAll(rubricFilter.value);
    });
  }
  onInput(rubricFilter, (query) => {
    for (const library of libraries) library.limit = PAGE;
    showAll(query);
  });
  showAll("");
}

// The section in view is marked in the navigation.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of links.values()) link.removeAttribute("aria-current");
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-15% 0px -75% 0px" });
for (const section of document.querySelectorAll("main > section")) seen.observe(section);
