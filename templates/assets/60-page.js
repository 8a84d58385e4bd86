// The page: filter bar, theme, print, keys; and the start of everything.

const root = document.documentElement;
const form = document.getElementById("filters");
const tables = [...document.querySelectorAll("[data-table]")].map(takeOver);
const PRINTED_PAGES = 8;
const FIELD = /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?$/;
const inField = (ms) => (ms === null ? "" : instant(ms));
const ofField = (value) => (value.includes(":") ? Date.parse(value.replace(" ", "T") + "Z") : Date.parse(value));

/** The instant of a field: null if it is empty, undefined if it cannot be read. */
function fieldTime(field) {
  const value = field.value.trim();
  const ms = FIELD.test(value) ? ofField(value) : NaN;
  field.setAttribute("aria-invalid", value !== "" && Number.isNaN(ms));
  if (value === "") return null;
  return Number.isNaN(ms) ? undefined : ms;
}

function changeTime(field) {
  const ms = fieldTime(field);
  if (ms !== undefined) change({ [field.name]: ms }, "field");
}

/** Everything that shows the state, after it changed. */
function show(by) {
  fillCards();
  tables.filter(({ query }) => filteredAnswers[query]).forEach((table) => {
    table.pages = 1;
    fillTable(table);
  });
  [...views.keys()].filter((query) => filteredAnswers[query]).forEach((query) => refresh(query, by));
  if (form) showFilters();
}

function showFilters() {
  ["from", "to"].forEach((name) => {
    form.elements[name].value = inField(state[name]);
    form.elements[name].removeAttribute("aria-invalid");
  });
  if (form.elements.node !== document.activeElement) form.elements.node.value = state.node;
  if (form.elements.run) form.elements.run.value = state.run;
  form.querySelectorAll("[data-facet]").forEach((chip) => {
    chip.setAttribute("aria-pressed", state[chip.dataset.facet].includes(chip.dataset.value));
  });
  const named = state.cause.filter((word) => !Object.hasOwn(groupNames, word));
  document.getElementById("causes").replaceChildren(...named.map(chosenCause));
  document.getElementById("shown").textContent = `${count(shownRows().length)} of ${count(interruptions.length)} shown`;
}

const groupNames = Object.fromEntries(
  [...document.querySelectorAll('[data-facet="cause"]')].map((chip) => [chip.dataset.value, chip.textContent]),
);

function chosenCause(label) {
  const chip = element("button", { type: "button", "aria-label": `Remove filter ${label}` }, label + " ×");
  chip.addEventListener("click", () => chooseCause(label));
  return chip;
}

function toggle(chip) {
  const { facet, value } = chip.dataset;
  const words = state[facet];
  change({ [facet]: words.includes(value) ? words.filter((word) => word !== value) : [...words, value] }, "chip");
}

function listenToFilters() {
  ["from", "to"].forEach((name) => {
    form.elements[name].addEventListener("change", (event) => changeTime(event.target));
  });
  form.elements.node.addEventListener("input", (event) => change({ node: event.target.value.trim() }, "field"));
  form.elements.cause.addEventListener("change", (event) => {
    const { value } = event.target;
    event.target.value = "";
    chooseCause(value);
  });
  form.elements.run?.addEventListener("change", (event) => change({ run: event.target.value }, "field"));
  form.querySelectorAll("[data-facet]").forEach((chip) => chip.addEventListener("click", () => toggle(chip)));
  form.querySelectorAll("[data-days]").forEach((button) => {
    const days = Number(button.dataset.days);
    button.addEventListener("click", () => change({ from: days ? span[1] - days * DAY : null, to: null }, "field"));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ["from", "to"].forEach((name) => changeTime(form.elements[name]));
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    change(empty(), "reset");
  });
  document.getElementById("link").addEventListener("click", copyLink);
}

async function copyLink(event) {
  try {
    await navigator.clipboard.writeText(location.href.split("#")[0] + "#" + written(state));
    event.target.textContent = "Copied";
  } catch {
    event.target.textContent = "Copy it from the address bar";
  }
}

function listenToTheme() {
  const choice = document.getElementById("theme");
  choice.value = remembered() || "auto";
  const apply = () => (choice.value === "auto" ? root.removeAttribute("data-theme") : (root.dataset.theme = choice.value));
  choice.addEventListener("change", () => {
    apply();
    remember(choice.value);
  });
  apply();
}

/** Storage is shut on some hosts; the choice then lasts as long as the page. */
function remembered() {
  try {
    return localStorage.getItem("incidentlab-theme");
  } catch {
    return null;
  }
}

function remember(value) {
  try {
    localStorage.setItem("incidentlab-theme", value);
  } catch {
    // nothing to do: see above
  }
}

function listenToPrint() {
  document.getElementById("print").addEventListener("click", () => window.print());
  window.addEventListener("beforeprint", () => {
    tables.forEach((table) => {
      table.pages = Math.max(table.pages, PRINTED_PAGES);
      fillTable(table);
    });
    document.querySelectorAll("details.more").forEach((box) => {
      box.dataset.was = box.open;
      box.open = true;
    });
  });
  window.addEventListener("afterprint", () => {
    document.querySelectorAll("details[data-was]").forEach((box) => (box.open = box.dataset.was === "true"));
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tooltip.hidden = true;
});
document.querySelectorAll("[data-scripted]").forEach((part) => (part.hidden = false));
window.addEventListener("hashchange", () => {
  if (!location.hash.includes("=")) return;
  state = read(location.hash);
  show("address");
});
listeners.push(show);
listenToTheme();
listenToPrint();
if (form) listenToFilters();
state = read(location.hash);
tables.forEach(fillTable);
if (isFiltered()) show("address");
else if (form) showFilters();
drawWhenSeen();
