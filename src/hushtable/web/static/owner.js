/* The owner's page: draws the ledger, and asks for a forecast whenever a field changes. */
const byId = (id) => document.getElementById(id);
const epsilons = JSON.parse(byId("epsilons").textContent);
let waiting = null, asking = null, last = null;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* Charts are made for white paper: their ink becomes that of the page. */
function themed(value) {
  const inks = { "#333333": "--ink", "#0072b2": "--bar", "#c8ced4": "--line" };
  if (Array.isArray(value)) return value.map(themed);
  if (typeof value === "string") return inks[value] ? colour(inks[value]) : value;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, themed(inner)]));
}

async function draw(id, { data, ...rest }) {
  const ink = colour("--ink"), soft = colour("--soft"), line = colour("--line");
  const config = {
    background: null, view: { stroke: line }, title: { color: ink, limit: 600 },
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: soft, tickColor: soft, labelLimit: 220 },
  };
  const fit = { width: "container", autosize: { type: "fit-x", contains: "padding" } };
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  await vegaEmbed(byId(id), { ...themed(rest), data, ...fit, config }, options);
  byId(id).dataset.drawn = "yes";
}

function later() {
  const epsilon = epsilons[Number(byId("epsilon").value)];
  byId("shown").textContent = epsilon;
  byId("epsilon").setAttribute("aria-valuetext", epsilon);
  clearTimeout(waiting);
  waiting = setTimeout(() => ask(epsilon), 200);
}

async function ask(epsilon) {
  if (asking) asking.abort();
  const mine = asking = new AbortController();
  byId("status").textContent = "Forecasting …";
  const fields = { epsilon, workload: byId("workload").value, people: byId("people").value };
  let found;
  try {
    found = await (await fetch(`/-/owner/plan.json?${new URLSearchParams(fields)}`, { signal: mine.signal })).json();
  } catch {
    if (mine === asking) byId("status").textContent = "There is no answer: is hush explore still running?";
    return;
  }
  if (mine === asking) show(found);
}

function show(found) {
  last = found;
  byId("status").textContent = found.error ? "" : `Forecast for ε = ${found.epsilon}`;
  const no = found.error || found.refused;
  byId("refused").hidden = !no;
  byId("refused").textContent = found.error ? found.error : no ? `Nothing is recommended: ${no}.` : "";
  const useful = found.useful_from ? ` Useful from about ${found.useful_from} people on.` : "";
  const typical = found.margin ? `: a typical count would be ± ${found.margin} at 95 %.` : ".";
  byId("words").textContent = found.recommended ? `Recommended: ${found.recommended}${typical}${useful}` : "";
  byId("take").hidden = !found.command;
  byId("command").textContent = found.command || "";
  byId("copy").textContent = "Copy";
  byId("mechanisms").hidden = !found.mechanisms;
  byId("mechanisms").tBodies[0].replaceChildren(...(found.mechanisms || []).map(row));
  if (found.spec) draw("forecast", found.spec);
  else byId("forecast").replaceChildren();
}

function row(one) {
  const line = document.createElement("tr");
  [one.mechanism, one.stderr, one.useful_from].forEach((text, place) => {
    const cell = document.createElement(place ? "td" : "th");
    if (place) cell.className = "n"; else cell.scope = "row";
    cell.textContent = text;
    line.append(cell);
  });
  return line;
}

function drawAll() {
  draw("history", JSON.parse(byId("history-data").textContent));
  if (last && last.spec) draw("forecast", last.spec);
}

byId("plan").addEventListener("input", later);
byId("plan").addEventListener("submit", (event) => { event.preventDefault(); later(); });
byId("copy").addEventListener("click", () => navigator.clipboard.writeText(byId("command").textContent)
  .then(() => { byId("copy").textContent = "Copied"; }, () => { byId("copy").textContent = "Select the line and copy it"; }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();
later();
