/* The page works without this file but for its charts. With it, choices answer at once, charts can
   be clicked, tables sort, and pictures and links can be taken along. */
let view = null;

function start() {
  draw();
  makeSortable();
  for (const button of document.querySelectorAll("[data-copy], [data-image]")) button.hidden = false;
}

/* ── charts ─────────────────────────────────────────────────────────────────────────────────── */

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* Charts are made for white paper: their ink becomes that of the page. */
function themed(value) {
  if (Array.isArray(value)) return value.map(themed);
  if (value === "#333333") return colour("--ink");
  if (value === "#0072b2") return colour("--bar");
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, themed(inner)]));
}

function fitted(spec) {
  const { data, ...rest } = spec;
  const ink = colour("--ink"), soft = colour("--soft"), line = colour("--line");
  const config = {
    background: colour("--ground"), view: { stroke: line },
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: soft, tickColor: soft, labelLimit: 160 },
    legend: { labelColor: ink, titleColor: ink }, title: { color: ink, subtitleColor: soft, limit: 600 },
  };
  const wide = "width" in spec ? { width: "container", autosize: { type: "fit-x", contains: "padding" } } : {};
  return { ...themed(rest), ...(data ? { data } : {}), ...wide, config };
}

async function draw() {
  view = null;
  const block = document.getElementById("chart-data");
  const chart = document.getElementById("chart");
  if (!block || !chart || !window.vegaEmbed) return;
  const told = JSON.parse(block.textContent);
  const options = {
    ast: true, actions: false, renderer: "svg", defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  const result = await vegaEmbed(chart, fitted(told.spec), options);
  if (!chart.isConnected) return;
  view = result.view;
  chart.dataset.drawn = "yes";
  if (!told.menus) return;
  chart.classList.add("clickable");
  view.addEventListener("click", (event, item) => {
    const row = item && item.datum && item.datum.row;
    if (row !== undefined && told.menus.groups[row]) showMenu(told, told.menus.groups[row]);
  });
}

/* ── what a click offers ────────────────────────────────────────────────────────────────────── */

function link(text, address) {
  const item = document.createElement("li");
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.textContent = text;
  item.append(anchor);
  return item;
}

function showMenu(told, group) {
  const menu = document.getElementById("menu");
  const list = document.createElement("ul");
  if (group.link) list.append(link(group.finer ? "Look inside" : "Only these", group.link));
  for (const name of told.names) {
    if (name === told.menus.attribute) continue;
    const parameters = new URLSearchParams([["by", name], ...told.menus.rest, ...group.filter]);
    list.append(link(`by ${name}`, `${told.base}?${parameters}`));
  }
  const title = document.createElement("strong");
  title.textContent = group.label;
  menu.replaceChildren(title, list);
  menu.hidden = false;
  list.querySelector("a").focus();
}

/* ── tables ─────────────────────────────────────────────────────────────────────────────────── */

function makeSortable() {
  for (const head of document.querySelectorAll("#rows th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortBy(head));
    head.replaceChildren(button);
  }
}

function sortBy(head) {
  const table = head.closest("table");
  const place = [...head.parentNode.children].indexOf(head);
  const down = head.getAttribute("aria-sort") !== "descending" && head.dataset.sort === "number"
    || head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => head.dataset.sort === "number"
    ? Number(row.children[place].dataset.value) : row.children[place].textContent.trim();
  const compare = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
  const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => (down ? -1 : 1) * compare(a, b));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

/* ── another question, without leaving the page ─────────────────────────────────────────────── */

function addressOf(form) {
  const given = [...new FormData(form)].filter(([key, value]) => value !== "" && !isUnused(form, key));
  return `${form.action.split("?")[0]}?${new URLSearchParams(given)}`;
}

/* What is not looked at would only make links longer. */
function isUnused(form, key) {
  const value = (id) => form.elements[id] ? form.elements[id].value : "";
  if (form.id !== "ask") return false;
  if (key === "of") return !["mean", "median", "sum"].includes(value("show"));
  if (key === "show") return value("show") === "count";
  return key === "confidence" && value("confidence") === "0.95";
}

async function go(address, { push = true, focus = null } = {}) {
  const main = document.getElementById("main");
  main.classList.add("busy");
  main.setAttribute("aria-busy", "true");
  let text;
  try {
    text = await (await fetch(address)).text();
  } catch {
    location.assign(address);
    return;
  }
  const next = new DOMParser().parseFromString(text, "text/html");
  const inside = next.getElementById("main");
  if (!inside) { location.assign(address); return; }
  main.replaceChildren(...inside.childNodes);
  main.classList.remove("busy");
  main.removeAttribute("aria-busy");
  document.title = next.title;
  if (push) history.pushState(null, "", address);
  start();
  const kept = focus && document.getElementById(focus);
  if (kept) kept.focus();
  else if (push) document.getElementById("answer")?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("change", (event) => {
  const field = event.target;
  if (!field.matches("[data-follow]")) return;
  const form = field.form;
  if (field.dataset.clears && form.elements[field.dataset.clears]) form.elements[field.dataset.clears].value = "";
  if (field.dataset.clears && form.elements[field.dataset.clears]) form.elements[field.dataset.clears].disabled = true;
  go(addressOf(form), { focus: field.id });
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const focus = document.activeElement && document.activeElement.id;
  go(addressOf(event.target), { focus });
});

document.addEventListener("click", (event) => {
  const anchor = event.target.closest("#main a");
  const own = anchor && anchor.origin === location.origin && anchor.pathname === location.pathname;
  if (own && anchor.search && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    go(anchor.href);
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).href)
    .then(() => { copy.textContent = "Copied"; }, () => { copy.textContent = "Copy the address above"; });
  const image = event.target.closest("[data-image]");
  if (image && view) save(image.dataset.image);
});

window.addEventListener("popstate", () => go(location.href, { push: false }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

/* ── pictures ───────────────────────────────────────────────────────────────────────────────── */

async function save(ending) {
  const source = ending === "svg"
    ? URL.createObjectURL(new Blob([await view.toSVG()], { type: "image/svg+xml" }))
    : await view.toImageURL("png", 2);
  const anchor = document.createElement("a");
  anchor.href = source;
  anchor.download = `chart.${ending}`;
  anchor.click();
}

start();
