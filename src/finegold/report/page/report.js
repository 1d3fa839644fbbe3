"use strict";
// Light and dark, and tables that sort, filter and page.
const all = (selector, under = document) => [...under.querySelectorAll(selector)];

// --- light and dark -------------------------------------------------------------------------------------------------
const root = document.documentElement, themeButton = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; };
try { const kept = localStorage.getItem("finegold-theme"); if (kept) root.dataset.theme = kept; } catch { /* no storage */ }
themeButton.hidden = false;
themeButton.setAttribute("aria-label", "Switch between light and dark");
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("finegold-theme", root.dataset.theme); } catch { /* no storage */ }
  nameTheme();
});
prefersDark.addEventListener("change", nameTheme);
nameTheme();

// --- tables ---------------------------------------------------------------------------------------------------------
function enhance(table) {
  const rows = all("tbody", table);
  const size = Number(table.dataset.page);
  const form = document.querySelector(`form[data-for="${table.id}"]`);
  const pager = document.querySelector(`.pager[data-for="${table.id}"]`);
  let shown = size;

  function fits(body) {
    if (!form) return true;
    const text = form.querySelector("input[type=search]").value.trim().toLowerCase();
    const boxes = all("input[type=checkbox]", form);
    const kinds = (body.dataset.kinds || "").split(" ");
    const wanted = !boxes.length || boxes.some((box) => box.checked && kinds.includes(box.value));
    return wanted && (!text || all(".name", body).some((name) => name.textContent.toLowerCase().includes(text)));
  }
  function draw() {
    const found = all("tbody", table).filter((body) => { body.hidden = true; return fits(body); });
    found.slice(0, shown).forEach((body) => { body.hidden = false; });
    if (form) form.querySelector(".found").textContent = found.length < rows.length ? `${found.length} of ${rows.length} rows match` : "";
    pager.hidden = found.length <= size;
    pager.querySelector("button").hidden = shown >= found.length;
    pager.querySelector("span").textContent = `${Math.min(shown, found.length)} of ${found.length} rows shown`;
  }
  function sortBy(header, place) {
    const numeric = header.dataset.sort === "number";
    const was = header.getAttribute("aria-sort");
    const up = was ? was === "descending" : !numeric;
    const value = (body) => body.rows[0].cells[place].dataset.value ?? body.rows[0].cells[place].textContent.trim();
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const order = numeric ? (a, b) => value(a) - value(b) : (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
    const sorted = all("tbody", table).sort((a, b) => (up ? order(a, b) : order(b, a)));
    table.append(...sorted);
    draw();
  }
  all("thead th", table).forEach((header, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => sortBy(header, place));
  });
  if (form) {
    form.hidden = false;
    form.addEventListener("input", () => { shown = size; draw(); });
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  pager.querySelector("button").addEventListener("click", () => { shown += 4 * size; draw(); });
  draw();
}
all("table.paged").forEach(enhance);

// --- current section------------------------------------------------------------------------------------------------
const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((one) => one.isIntersecting)) {
    links.forEach((link) => link.removeAttribute("aria-current"));
    links.get(entry.target.id).setAttribute("aria-current", "true");
  }
}, { rootMargin: "-30% 0px -60% 0px" });
all("main > section").forEach((section) => watcher.observe(section));
