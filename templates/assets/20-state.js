// The one filter state, its mirror in the address, and the rows that pass it.

const interruptions = payload.answers.interruption_timeline ? rowsOf("interruption_timeline") : [];
const headline = rowsOf("headline")[0];
const span = [headline.from_ts, headline.to_ts];
const FACETS = ["cause", "confidence", "bucket"];

const empty = () => ({ from: null, to: null, cause: [], confidence: [], bucket: [], node: "", run: "" });
let state = empty();
const listeners = [];

/** Change a part of the state and tell everybody; `by` is who did it. */
function change(part, by) {
  state = { ...state, ...part };
  history.replaceState(null, "", "#" + written(state));
  listeners.forEach((listen) => listen(by));
}

function written(filter) {
  const pairs = Object.entries(filter).filter(([, value]) => (Array.isArray(value) ? value.length : known(value)));
  return pairs
    .map(([name, value]) => {
      const words = Array.isArray(value) ? value : [typeof value === "number" ? new Date(value).toISOString() : value];
      return name + "=" + words.map(encodeURIComponent).join(",");
    })
    .join("&");
}

/** The state that an address fragment names; a plain anchor names none. */
function read(fragment) {
  const filter = empty();
  fragment
    .replace(/^#/, "")
    .split("&")
    .filter((pair) => pair.includes("="))
    .forEach((pair) => {
      const [name, value] = pair.split("=");
      if (!Object.hasOwn(filter, name)) return;
      filter[name] = understood(name, value);
    });
  return filter;
}

function understood(name, value) {
  const words = value.split(",").map((word) => {
    try {
      return decodeURIComponent(word);
    } catch {
      return word;
    }
  });
  if (FACETS.includes(name)) return words;
  if (name !== "from" && name !== "to") return words[0];
  const ms = Date.parse(words[0]);
  return Number.isNaN(ms) ? null : ms;
}

const isFiltered = () => written(state) !== "";
const causeOf = (row) => row.label || (row.bucket === "unplanned" ? "Unattributed" : "");
const groupOf = (row) => row.cause_group || (row.bucket === "unplanned" ? "unknown" : "");

function passesBeyondTime(row) {
  return (
    (!state.cause.length || state.cause.includes(groupOf(row)) || state.cause.includes(causeOf(row))) &&
    (!state.confidence.length || state.confidence.includes(row.confidence)) &&
    (!state.bucket.length || state.bucket.includes(row.bucket)) &&
    (!state.run || row.run_id === state.run) &&
    (!state.node || (row.node || "").toLowerCase().includes(state.node.toLowerCase()))
  );
}

function passes(row) {
  return (
    (state.from === null || row.ts >= state.from) && (state.to === null || row.ts <= state.to) && passesBeyondTime(row)
  );
}

const shownRows = () => interruptions.filter(passes);
const unplanned = (rows) => rows.filter((row) => row.bucket === "unplanned");
