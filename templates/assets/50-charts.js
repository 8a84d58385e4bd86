// Charts: the printed SVG first; an interactive chart takes its place when it comes into view.

const views = new Map();
const tooltip = document.getElementById("tooltip");

/** Rows of a chart: the timeline shows the whole period, dimmed outside the chosen part. */
function chartRows(query) {
  if (query === "interruption_timeline") return interruptions.filter(passesBeyondTime);
  return query === "node_ranking" ? rowsOf(query).slice(0, 15) : answer(query);
}

function showTooltip(handler, event, item, value) {
  if (!value) {
    tooltip.hidden = true;
    return;
  }
  const pairs = Object.entries(value).filter(([, content]) => known(content) && content !== "null");
  tooltip.replaceChildren(...pairs.map(([name, content]) => element("p", {}, element("b", {}, name), " ", String(content))));
  tooltip.hidden = false;
  const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - tooltip.offsetWidth - 8);
  tooltip.style.left = Math.max(8, left) + "px";
  tooltip.style.top = Math.min(event.clientY + 14, window.innerHeight - tooltip.offsetHeight - 8) + "px";
}

/** Short labels and little room on the right where the page is narrow. */
function fitted(chart, width) {
  if (width > 560) return chart;
  const config = { ...chart.config, axisY: { ...chart.config.axisY, labelLimit: 132, labelFontSize: 11, labelPadding: 8 } };
  const params = chart.params.map((param) => (param.name === "is_narrow" ? { ...param, value: true } : param));
  return { ...chart, config, params, padding: { ...chart.padding, right: Math.min(36, chart.padding.right) } };
}

async function draw(place) {
  const query = place.dataset.chart;
  const chart = fitted(payload.charts[query], place.clientWidth);
  const data = { name: query, values: chartRows(query) };
  const frame = element("div", {});
  place.replaceChildren(frame);
  const { view } = await vegaEmbed(frame, { ...chart, data }, {
    ast: true,
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    tooltip: showTooltip,
  });
  views.set(query, view);
  place.dataset.drawn = "";
  if (query === "interruption_timeline") followBrush(view);
  if (query === "root_cause_breakdown") view.addEventListener("click", (event, item) => item && chooseCause(item.datum.label));
  refresh(query);
}

function chooseCause(label) {
  if (label) change({ cause: state.cause.includes(label) ? state.cause.filter((word) => word !== label) : [...state.cause, label] }, "chart");
}

let isMovingBrush = false;

function followBrush(view) {
  view.addSignalListener("brush", (name, value) => {
    if (isMovingBrush) return;
    const [from, to] = value.ts ? value.ts.map((edge) => Math.round(Number(edge) / 1000) * 1000) : [null, null];
    if (from !== state.from || to !== state.to) change({ from, to }, "brush");
  });
}

/** Draw the brush where the fields say, without hearing it as a drag. */
async function moveBrush(view) {
  const scale = view.scale("x");
  const [low, high] = scale.domain();
  const edges = [state.from ?? Number(low), state.to ?? Number(high)];
  isMovingBrush = true;
  view.signal("brush_x", state.from === null && state.to === null ? [0, 0] : edges.map((edge) => scale(edge)));
  await view.runAsync();
  isMovingBrush = false;
}

async function refresh(query, by) {
  const view = views.get(query);
  if (!view) return;
  await view.data(query, chartRows(query)).runAsync();
  if (query === "interruption_timeline" && by !== "brush") await moveBrush(view);
}

function drawWhenSeen() {
  const watcher = new IntersectionObserver(
    (entries) =>
      entries
        .filter((entry) => entry.isIntersecting)
        .forEach(({ target }) => {
          watcher.unobserve(target);
          draw(target);
        }),
    { rootMargin: "200px" },
  );
  document.querySelectorAll("[data-chart]").forEach((place) => watcher.observe(place));
}
