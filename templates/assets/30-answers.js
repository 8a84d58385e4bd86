// The answers to the questions for a filtered page. What is not here is not filtered, and its heading says so.

const weeks = payload.answers.weekly ? rowsOf("weekly") : [];

/** Hours and GPU-days of the chosen period; null where the period or run has none of its own. */
function exposure() {
  if (state.run) return { hours: null, gpuDays: null, isEven: false };
  if (state.from === null && state.to === null) {
    return { hours: meanBasis.hours, gpuDays: headline.gpu_days, isEven: false };
  }
  const from = Math.max(span[0], state.from ?? span[0]);
  const to = Math.min(span[1], state.to ?? span[1]);
  const parts = weeks.map((week) => {
    const start = Math.max(week.week_start, span[0]);
    const stop = Math.min(week.week_start + 7 * DAY, span[1]);
    return [week, stop > start ? Math.max(0, Math.min(to, stop) - Math.max(from, start)) / (stop - start) : 0];
  });
  const sum = (field) => parts.reduce((total, [week, part]) => total + (week[field] || 0) * part, 0);
  const hours = isOfPeriod ? Math.max(0, to - from) / HOUR : sum("running_h");
  return { hours, gpuDays: sum("gpu_days") || null, isEven: true };
}

/** What the headline's mean is taken over; hours of the period need no proxy. */
const meanBasis = rowsOf("mtti").find((row) => row.basis === headline.mtti_basis);
const isOfPeriod = (headline.mtti_basis || "").startsWith("wall/");

function grouped(rows, key) {
  const groups = new Map();
  rows.forEach((row) => groups.set(key(row), [...(groups.get(key(row)) || []), row]));
  return groups;
}

/** The rows of `query` in their usual order, each counted anew; one that has nothing left shows 0. */
function counted(query, field, key, more) {
  const rows = unplanned(shownRows());
  const groups = grouped(rows, key);
  return rowsOf(query).map((row) => {
    const own = groups.get(row[field]) || [];
    const shared = { interruptions: own.length, total: rows.length, ...shareOf(own.length, rows.length), ...loss(own) };
    return { ...row, ...shared, ...more(own) };
  });
}

const sayConfidence = (rows, word) => rows.filter((row) => row.confidence === word).length;

const filteredAnswers = {
  interruption_timeline: shownRows,
  root_cause_breakdown: () => {
    const { hours } = exposure();
    return counted("root_cause_breakdown", "label", causeOf, (own) => ({
      confirmed: sayConfidence(own, "confirmed"),
      suspected: sayConfidence(own, "suspected"),
      unattributed: sayConfidence(own, "unattributed"),
      ...meanBetween(own.length, hours),
    }));
  },
  root_cause_by_category: () =>
    counted("root_cause_by_category", "category", (row) => row.category || "Unattributed", () => ({})),
  weekly: () => {
    const rows = interruptions.filter(passesBeyondTime);
    return weeks.map((week) => {
      const own = rows.filter((row) => row.ts >= week.week_start && row.ts < week.week_start + 7 * DAY);
      const sums = Object.fromEntries(
        ["unplanned", "planned", "policy"].map((bucket) => [bucket, own.filter((row) => row.bucket === bucket).length]),
      );
      const rate = rateOf(sums.unplanned, state.run ? null : week.gpu_days, 1000, "per_1000_gpu_days");
      return { ...week, ...sums, ...meanBetween(sums.unplanned, state.run ? null : week.running_h), ...rate };
    });
  },
};

/** The rows of an answer as the page shows them now. */
function answer(query) {
  return isFiltered() && filteredAnswers[query] ? filteredAnswers[query]() : rowsOf(query);
}

const CARD_PARTS = ".grade, .value, .interval, .basis";
const cards = new Map([...document.querySelectorAll("[data-card]")].map((card) => [card.dataset.card, card]));
const printed = new Map([...cards].map(([name, card]) => [name, [...card.querySelectorAll(CARD_PARTS)].map((part) => part.cloneNode(true))]));

/** Put value, interval and basis on a card; grade C where exposure was spread evenly over a week. */
function fill(name, value, unit, between, basis, grade, needs) {
  const card = cards.get(name);
  if (!card) return;
  const shown = value === null ? [element("span", { class: "missing" }, "n/a - needs " + needs)] : [element("b", {}, value)];
  if (value !== null && unit) shown.push(" ", element("span", { class: "unit" }, unit));
  card.querySelector(".value").replaceChildren(...shown);
  card.querySelector(".interval").replaceChildren(between || "");
  card.querySelector(".basis").replaceChildren(basis);
  const mark = card.querySelector(".grade");
  mark.replaceChildren(value === null ? "" : grade || "");
  mark.title = grade === "C" ? EVEN : "";
}

const EVEN = "proxy: assumes even exposure within each week";

function fillCards() {
  if (!isFiltered()) {
    printed.forEach((parts, name) => {
      const card = cards.get(name);
      [...card.querySelectorAll(CARD_PARTS)].forEach((part, place) => part.replaceWith(parts[place].cloneNode(true)));
    });
    return;
  }
  const shown = shownRows();
  const own = unplanned(shown);
  const n = count(own.length);
  const { hours, gpuDays, isEven } = exposure();
  const grade = isEven ? "C" : "A";
  const mean = meanBetween(own.length, hours);
  const rate = rateOf(own.length, gpuDays, 1000, "per_1000_gpu_days");
  const lost = loss(own);
  const planned = shown.filter((row) => row.bucket === "planned").length;
  const rest = shown.length - own.length - planned;
  fill("unplanned", n, "", `of ${count(headline.unplanned)} in all`, `besides ${planned} planned, ${rest} policy`, "A", "");
  const noExposure = state.run ? "exposure by run" : "an unplanned interruption";
  fill("mtti", figure(mean.mtti_h), "h", limits(mean, "mtti_h"), `n = ${n}; ${meanBasis.description}`, isOfPeriod ? "A" : grade, noExposure);
  const days = `n = ${n}; ${figure(gpuDays) || "n/a"} GPU-days`;
  fill("rate", figure(rate.per_1000_gpu_days), "", limits(rate, "per_1000_gpu_days"), days, isEven ? grade : headline.gpu_days_grade, "GPU-days of the choice");
  fill("lost", cell(lost, "lost_gpu_h", "bounded"), "", "hang, rework, restart, idle wait", `n = ${n}, where known`, weakest(own), "progress lines");
  const words = `${sayConfidence(own, "suspected")} suspected, ${sayConfidence(own, "unattributed")} unattributed`;
  fill("confirmed", count(sayConfidence(own, "confirmed")), `of ${n}`, words, "direct evidence, no equal rival", "A", "");
  fillTop(own);
}

function fillTop(own) {
  const groups = [...grouped(own, causeOf)].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
  if (!groups.length) return fill("top", "0", "of 0", "", "no interruption here", "A", "");
  const [name, rows] = groups[0];
  const share = shareOf(rows.length, own.length);
  const part = `${percent(share.share_pct)} (${limits(share, "share_pct")})`;
  return fill("top", count(rows.length), `of ${count(own.length)}`, part, name, "A", "");
}
