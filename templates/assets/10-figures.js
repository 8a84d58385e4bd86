// Values as the page writes them (incidentlab/figures.py) and the statistics of a filtered page.

const payload = JSON.parse(document.getElementById("payload").textContent);
const HOUR = 3600000;
const DAY = 24 * HOUR;

/** The rows of an answer, whose columns the payload holds. */
function rowsOf(query) {
  const columns = payload.answers[query];
  const names = Object.keys(columns);
  return columns[names[0]].map((_, place) => Object.fromEntries(names.map((name) => [name, columns[name][place]])));
}

const known = (value) => value !== null && value !== undefined && value !== "";

function fixed(value, decimals) {
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function figure(value) {
  if (!known(value) || !Number.isFinite(value)) return null;
  if (Number.isInteger(value) && Math.abs(value) < 100) return String(value);
  const rounded = Number(fixed(value, places(value)).replaceAll(",", ""));
  if (Math.abs(rounded) >= 1e6) return figure(value / 1e6) + "M";
  return fixed(value, places(rounded));
}

/** Decimals that leave three significant digits. */
const places = (value) => Math.max(0, 2 - Number(value.toExponential().split("e")[1]));

const count = (value) => (known(value) ? fixed(value, 0) : null);
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const percent = (value) => (known(value) ? fixed(value, 1) + "%" : null);
const probability = (value) => (known(value) ? (value < 0.001 ? "<0.001" : fixed(value, 3)) : null);
const instant = (value) => new Date(value).toISOString().slice(0, 19).replace("T", " ");

function when(value, field) {
  if (!known(value)) return null;
  return field === "week_start" ? instant(value).slice(0, 10) : instant(value);
}

function text(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return known(value) ? String(value) : null;
}

/** The names of the two limits of a field: x_lo and x_hi, share_lo_pct and share_hi_pct. */
function limitsOf(field) {
  return field.endsWith("_pct")
    ? [field.replace(/_pct$/, "_lo_pct"), field.replace(/_pct$/, "_hi_pct")]
    : [field + "_lo", field + "_hi"];
}

function interval(row, field) {
  const write = field.endsWith("_pct") ? percent : figure;
  const [low, high] = limitsOf(field).map((name) => write(row[name]));
  if (low === null) return null;
  return high === null ? "≥ " + low : low.replace("%", "") + "–" + high.replace("%", "");
}

function limits(row, field) {
  const between = interval(row, field);
  return between && "95% " + between;
}

function withLimits(value, between) {
  return value && between ? `${value} (${between})` : value;
}

const writers = {
  count,
  figure,
  percent,
  probability,
};

/** The text of a table cell, null if the value is missing. */
function cell(row, field, kind) {
  const value = row[field];
  if (kind === "when") return when(value, field);
  if (kind === "ranged") return withLimits(figure(value), interval(row, field)) || interval(row, field);
  if (kind === "share") return withLimits(percent(value), interval(row, field));
  if (kind === "bounded") {
    const [low, high] = limitsOf(field).map((name) => row[name]);
    return low === null || low === high ? figure(value) : interval(row, field);
  }
  return (writers[kind] || text)(value);
}

/** 95% limits of a Poisson count, Byar's approximation (Breslow and Day 1987, volume II, section 2.3). */
function poissonLimits(n) {
  const limit = (m, z) => m * (1 - 1 / (9 * m) + z / (3 * Math.sqrt(m))) ** 3;
  return [n ? limit(n, -1.959964) : 0, limit(n + 1, 1.959964)];
}

/** Wilson score interval of k in n, in percent (Wilson 1927). */
function wilsonLimits(k, n) {
  const z = 1.959964;
  const middle = k / n + (z * z) / (2 * n);
  const half = z * Math.sqrt(((k / n) * (1 - k / n) + (z * z) / (4 * n)) / n);
  return [middle - half, middle + half].map((limit) => Math.max(0, (100 * limit) / (1 + (z * z) / n)));
}

function sumOf(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) : null;
}

/** What was lost in all: at least the sum of what is known; a value and an upper limit only if every row has one. */
function loss(rows) {
  const [value, low, high] = ["lost_gpu_h", "lost_gpu_h_lo", "lost_gpu_h_hi"].map((field) => rows.map((row) => row[field]));
  const whole = (values) => (values.every(known) ? sumOf(values) : null);
  return { lost_gpu_h: whole(value), lost_gpu_h_lo: sumOf(low.filter(known)), lost_gpu_h_hi: whole(high) };
}

/** The weakest grade of some losses; "-" says that nothing bounds one of them. */
const weakest = (rows) => [..."-CBA"].find((grade) => rows.some((row) => row.grade === grade));

/** `per / count` with its limits; open above where nothing happened. */
function rateOf(events, exposure, scale, field) {
  const [low, high] = poissonLimits(events);
  const rate = (n) => (known(exposure) && exposure > 0 ? (scale * n) / exposure : null);
  return { [field]: rate(events), [field + "_lo"]: rate(low), [field + "_hi"]: rate(high) };
}

function meanBetween(events, hours) {
  const [low, high] = poissonLimits(events);
  const mean = (n) => (known(hours) && n > 0 ? hours / n : null);
  return { mtti_h: mean(events), mtti_h_lo: mean(high), mtti_h_hi: mean(low) };
}

function shareOf(part, total) {
  const [low, high] = total ? wilsonLimits(part, total) : [null, null];
  return { share_pct: total ? (100 * part) / total : null, share_lo_pct: low, share_hi_pct: high };
}
