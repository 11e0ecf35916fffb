// Tables sort by a click on a column's head, entries are searched, figures open at full width; nothing is fetched.
const press = (element, title, act) => {
  element.title = title;
  element.addEventListener("click", act);
  element.addEventListener("keydown", event => { if (event.key === "Enter") act(); });
};
for (const head of document.querySelectorAll("thead th")) {
  head.tabIndex = 0;
  press(head, "Sort by this column", () => {
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
  });
}
for (const drawing of document.querySelectorAll(".drawing"))
  press(drawing, "Click to zoom", () => drawing.classList.toggle("zoomed"));
// A word with a digit that begins keys, such as E4, is a key; all others stand in an entry's words or verdict.
const search = document.querySelector("#search"), shown = document.querySelector("#shown");
const entries = [...document.querySelectorAll(".verdicts > tbody > tr")].map(row => {
  const [key, ...rest] = [...row.querySelectorAll(":scope > :is(th, td:nth-child(3)), td > details > summary, .detail > .note")]
    .map(element => element.textContent.toLowerCase());
  return { row, key, all: [key, ...rest].join(" ") };
});
const filter = text => {
  search.value = text;
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map(word => {
    const begins = new RegExp(`(?<!\\w)${word.replace(/\W/g, "\\$&")}(?!\\d)`);
    const where = /\d/.test(word) && entries.some(entry => begins.test(entry.key)) ? "key" : "all";
    return entry => begins.test(entry[where]);
  });
  for (const entry of entries) entry.row.hidden = !tests.every(test => test(entry));
  for (const part of document.querySelectorAll(".part")) part.hidden = !part.querySelector("tbody > [role]:not([hidden])");
  const count = entries.filter(entry => !entry.row.hidden).length;
  shown.textContent = count ? `${count} of ${entries.length}` : `None of ${entries.length} entries has “${text}”`;
};
search?.addEventListener("input", () => { filter(search.value); search.scrollIntoView({ block: "nearest" }); });
search?.addEventListener("keydown", event => { if (event.key === "Escape") filter(""); });
// A link to an entry that the search has left out ends the search.
const reveal = hash => {
  const target = document.getElementById(decodeURIComponent(hash.slice(1)));
  if (!target?.closest("[hidden]")) return;
  filter("");
  target.closest("details").open = true;
  target.scrollIntoView();
};
addEventListener("click", event => reveal(event.target.closest('a[href^="#"]')?.hash ?? ""));
addEventListener("hashchange", () => reveal(location.hash));
