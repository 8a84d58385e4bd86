// Tables: the same rows as in the HTML, now sorted, searched, paged and saved. Texts only, never markup.

const PAGE = 25;
const NO_PROOF = [[], 0, []];
const HOSTILE_START = /^[=+\-@\t\r]/;

/** An element with attributes and children; strings become text. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children);
  return made;
}

function columnsOf(box) {
  return [...box.querySelectorAll("thead th")].map((head) => ({ head, ...head.dataset }));
}

function cellOf(row, column) {
  const content = cell(row, column.field, column.kind);
  const made = element("td", { class: column.kind });
  if (column.kind === "word" || column.kind === "grade") made.dataset.word = content || "";
  if (column.kind === "cause") made.dataset.group = row.cause_group || "";
  const gap = column.needs ? "n/a - needs " + column.needs : "–";
  made.append(content === null ? element("span", { class: column.needs ? "missing needs" : "missing" }, gap) : content);
  return made;
}

/** A table of the page: knows its query, its order, its search, and how many rows it shows. */
function takeOver(box) {
  const table = { box, query: box.dataset.table, columns: columnsOf(box), order: null, find: "", pages: 1 };
  table.isDetailed = "detailed" in box.dataset;
  table.columns.forEach((column) => makeSortable(table, column));
  box.querySelector(".find").addEventListener("input", (event) => {
    table.find = event.target.value.toLowerCase();
    table.pages = 1;
    fillTable(table);
  });
  box.querySelector(".more-rows").addEventListener("click", () => {
    table.pages += 4;
    fillTable(table);
  });
  box.querySelectorAll("[data-export]").forEach((button) => {
    button.addEventListener("click", () => save(table, button.dataset.export));
  });
  return table;
}

function makeSortable(table, column) {
  const button = element("button", { type: "button" }, column.head.textContent);
  column.head.replaceChildren(button);
  button.addEventListener("click", () => {
    const isUp = table.order && table.order.field === column.field ? !table.order.isUp : true;
    table.order = { field: column.field, isUp };
    table.columns.forEach(({ head }) => head.removeAttribute("aria-sort"));
    column.head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    fillTable(table);
  });
}

/** Missing values last, whichever way. */
function compare(a, b, { field, isUp }) {
  const [x, y] = [a[field], b[field]];
  if (!known(x) || !known(y)) return known(y) - known(x);
  const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
  return isUp ? order : -order;
}

function contains(row, table) {
  if (!table.find) return true;
  const lines = table.isDetailed ? (payload.proofs[row.interruption_id] || NO_PROOF)[0].flatMap(([, , path, line, message]) => [placeOf(path, line), message]) : [];
  return Object.values(row).concat(lines).some((value) => known(value) && String(value).toLowerCase().includes(table.find));
}

function rowsFor(table) {
  const rows = answer(table.query).filter((row) => contains(row, table));
  return table.order ? rows.sort((a, b) => compare(a, b, table.order)) : rows;
}

function fillTable(table) {
  const rows = rowsFor(table);
  const shown = rows.slice(0, table.pages * PAGE);
  const body = table.box.querySelector("tbody");
  body.replaceChildren(...shown.flatMap((row) => (table.isDetailed ? [lineOf(row, table), detailOf(row, table)] : [lineOf(row, table)])));
  const rest = rows.length - shown.length;
  table.box.querySelector(".count").textContent = (rest ? `${count(shown.length)} of ` : "") + plural(rows.length, "row");
  table.box.querySelector(".paging").hidden = !rest;
}

const lineOf = (row, table) => element("tr", {}, ...table.columns.map((column) => cellOf(row, column)));

/** The second line of an interruption; what it hides is made when it is opened. */
function detailOf(row, table) {
  const box = element("details", { class: "evidence" }, element("summary", {}, row.why || row.rule || row.kind));
  box.addEventListener("toggle", () => box.children.length > 1 || box.append(...proofOf(row)));
  return element("tr", { class: "detail" }, element("td", { colspan: table.columns.length }, box));
}

function proofOf(row) {
  const facts = [
    ["Interruption", row.interruption_id],
    ["Incident", row.incident_id],
    ["Rule", row.rule],
    ["Kind", row.kind],
    ["Logs", row.silence],
    ["First fault", when(row.first_fault_ts)],
    ["Detected", when(row.detected_ts)],
    ["Next start", when(row.next_start_ts)],
  ].filter(([, value]) => known(value));
  const list = element("dl", {}, ...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  const [lines, left, rivals] = payload.proofs[row.interruption_id] || NO_PROOF;
  const proof = lines.length ? element("ol", { class: "lines" }, ...lines.map(evidenceOf)) : element("p", { class: "none" }, "No line of evidence.");
  return [list, proof, ...leftOf(row, left), ...rivalsOf(rivals)];
}

const placeOf = (path, line) => `${payload.paths[path]}:${line}`;

function evidenceOf([role, delta, path, line, message]) {
  return element(
    "li",
    {},
    element("span", { class: "role " + role }, role),
    " ",
    element("span", { class: "delta" }, delta),
    " ",
    element("code", { class: "where" }, placeOf(path, line)),
    " ",
    element("code", { class: "message" }, message),
  );
}

function leftOf(row, left) {
  const words = `${plural(left, "more line")}: incidentlab explain ${row.interruption_id} --all`;
  return left ? [element("p", { class: "other" }, words)] : [];
}

function rivalsOf(rivals) {
  if (!rivals.length) return [];
  const list = element("ul", { class: "rivals" }, ...rivals.map((rival) => element("li", {}, rival)));
  return [element("p", { class: "other" }, "Also considered"), list];
}

function csvCell(value) {
  if (!known(value)) return "";
  const safe = typeof value === "string" && HOSTILE_START.test(value) ? "'" + value : String(value);
  return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}

/** A row with instants as text, as it is saved. */
function saved(row) {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const isInstant = typeof value === "number" && (name.endsWith("_ts") || name === "ts" || name === "week_start");
      return [name, isInstant ? new Date(value).toISOString() : value];
    }),
  );
}

function csvOf(rows) {
  const names = Object.keys(rows[0] || {});
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

function save(table, kind) {
  const rows = rowsFor(table).map(saved);
  const content = kind === "csv" ? csvOf(rows) : JSON.stringify(rows, null, 1);
  const link = element("a", { download: `${table.query}.${kind}` });
  link.href = URL.createObjectURL(new Blob([content], { type: kind === "csv" ? "text/csv" : "application/json" }));
  link.click();
  URL.revokeObjectURL(link.href);
}
