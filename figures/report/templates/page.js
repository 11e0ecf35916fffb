// Tables sort by a click on a column's head, entries are searched, figures open at full width; nothing is fetched.
for (const head of document.querySelectorAll("thead th")) {
  head.tabIndex = 0;
  head.title = "Sort by this column";
  const sort = () => {
    const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => (row.cells[column]?.textContent ?? "").trim();
    const compare = (a, b) => {
      const [x, y] = [parseFloat(key(a)), parseFloat(key(b))];
      return Number.isNaN(x) || Number.isNaN(y) ? key(a).localeCompare(key(b)) : x - y;
    };
    body.append(...[...body.rows].sort((a, b) => up ? compare(a, b) : compare(b, a)));
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
}
for (const drawing of document.querySelectorAll(".drawing")) {
  drawing.title = "Click to zoom";
  drawing.addEventListener("click", () => drawing.classList.toggle("zoomed"));
  drawing.addEventListener("keydown", event => { if (event.key === "Enter") drawing.classList.toggle("zoomed"); });
}
document.querySelector("#search")?.addEventListener("input", event => {
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const table of document.querySelectorAll(".verdicts")) {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
    table.hidden = rows.every(row => row.hidden);
  }
});
