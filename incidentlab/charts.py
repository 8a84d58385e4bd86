"""One picture for one answer: a frame in, a Vega-Lite chart out.

A chart is a function marked `@draws("query")`; it takes the frame of that query and is found by the mark. Colours are
CSS variables (`var(--gpu)`) and hatches are `url(#hatch-gpu)`; the page defines both, so that one drawing is right on
light, dark and printed pages. Time axes are in UTC whatever the reader's zone.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, timedelta
from typing import Any

import altair as alt
import polars as pl
import vl_convert

GROUPS = {
    "gpu": "GPU",
    "gpu_memory": "GPU memory",
    "nvlink": "NVLink",
    "network": "Network",
    "host": "Host",
    "storage": "Storage",
    "software": "Software",
    "unknown": "Unknown",
}
"""The eight cause groups in the order of the lanes, as they are called on the page."""

PLANNED = "planned"
"""The lane of stops that have no cause because they were planned or policy."""

_PAINTS = {lane: f"var(--{lane.replace('_', '-')})" for lane in [*GROUPS, PLANNED]}

CONFIDENCES = {"confirmed": "circle", "suspected": "triangle-up", "unattributed": "cross"}
"""Each confidence and the shape that stands for it."""

VEGA_LITE = "6.4"
"""The Vega-Lite version that Altair writes and vl-convert bundles."""

Chart = alt.LayerChart | alt.FacetChart
"""What a chart function returns (a layer; Altair's own type is wider)."""

_LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{3,}(?![\w.])")
_CLIP = re.compile(r"\bclip\d+\b")
_EXPORT = "window.vegaEmbed = vegaEmbed;"
_STATIC_WIDTH = 1040
_LABELS = 230
_MOST_TICKS = 16
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


Draw = Callable[[pl.DataFrame], Chart]

DRAWINGS: dict[str, Draw] = {}
"""Every chart function by the query whose answer it takes."""


def draws(query: str) -> Callable[[Draw], Draw]:
    """Mark a function as the chart of `query`."""

    def mark(draw: Draw) -> Draw:
        DRAWINGS[query] = draw
        return draw

    return mark


def values(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows for JSON: instants and days as milliseconds since 1970 UTC, what is not finite as null."""
    instants = [name for name, kind in frame.schema.items() if kind.is_temporal()]
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    plain = frame.with_columns(
        *(pl.col(name).cast(pl.Datetime("ms")).cast(pl.Int64) for name in instants),
        *(pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in floats),
    )
    return plain.to_dicts()


def spec(query: str, frame: pl.DataFrame) -> dict[str, Any]:
    """The Vega-Lite specification of the query's chart, its rows under `data.values`."""
    return DRAWINGS[query](frame).to_dict()


def svg(specification: dict[str, Any]) -> str:
    """The chart as SVG without scripts, for readers without JavaScript and for print."""
    # The reader's font may be wider than the one that was measured here: leave room at both sides.
    padding = {**specification["padding"], "left": 28, "right": specification["padding"]["right"] + 28}
    fixed = {**specification, "width": _STATIC_WIDTH, "padding": padding}
    return _tidied(
        str(vl_convert.vegalite_to_svg(json.dumps(fixed), vl_version=VEGA_LITE)), specification["data"]["name"]
    )


def _tidied(picture: str, name: str) -> str:
    """The picture with clip ids of its own (Vega counts them through a process) and hundredths of a pixel."""
    picture = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", picture)
    ids = list(dict.fromkeys(_CLIP.findall(picture)))
    return _CLIP.sub(lambda found: f"{name}-clip{ids.index(found[0])}", picture)


def bundle() -> str:
    """The JavaScript of Vega, Vega-Lite and Vega-Embed (about 0.9 MB); it defines `vegaEmbed`."""
    return str(vl_convert.javascript_bundle(_EXPORT, vl_version=VEGA_LITE))


@alt.theme.register("incidentlab", enable=True)
def theme() -> alt.theme.ThemeConfig:
    """Quiet axes, no frame, the page's own colours and type."""
    axis: alt.theme.AxisConfigKwds = {
        "domain": False,
        "ticks": False,
        "grid": True,
        "gridColor": "var(--grid)",
        "labelColor": "var(--soft)",
        "labelFontSize": 12,
        "labelPadding": 8,
        "titleColor": "var(--soft)",
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 12,
    }
    return {
        "config": {
            "aria": False,
            "background": "transparent",
            "font": _FONT,
            "view": {"stroke": None},
            "axis": axis,
            "axisY": {"labelLimit": _LABELS},
            "text": {"color": "var(--ink)", "fontSize": 12},
            "rule": {"color": "var(--ink)"},
        }
    }


def _layers(frame: pl.DataFrame, query: str, *layers: alt.Chart, height: int, right: int) -> Chart:
    """Layers over one named dataset, as wide as their container, with room for text on the right."""
    data = alt.InlineData(values=values(frame), name=query)
    # The page sets it where there is no room for words beside the marks.
    narrow = alt.param(name="is_narrow", value=False)
    return (
        alt.layer(*layers, data=data)
        .add_params(narrow)
        .properties(
            width="container",
            height=height,
            padding={"left": 0, "right": right, "top": 6, "bottom": 4},
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
    )


def _rows(frame: pl.DataFrame, field: str = "label") -> alt.Y:
    """Rows in the order of the frame, also after a filter."""
    scale = alt.Scale(domain=frame[field].to_list())
    return alt.Y(f"{field}:N", title=None, scale=scale, axis=alt.Axis(grid=False, labelColor="var(--ink)"))


def _ordinal(paints: dict[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(paints), range=list(paints.values()))


def _whiskers(base: alt.Chart, rows: alt.Y, field: str, color: str = "var(--ink)", offset: int = 0) -> alt.Chart:
    """The horizontal 95% interval of a field."""
    known = base.transform_filter(f"isValid(datum.{field}_hi)")
    marks = known.mark_rule(strokeWidth=1.5, color=color, yOffset=offset)
    whiskers: alt.Chart = marks.encode(x=f"{field}_lo:Q", x2=f"{field}_hi", y=rows)
    return whiskers


@draws("interruption_timeline")
def interruption_timeline(frame: pl.DataFrame) -> Chart:
    """Every interruption in the lane of its cause group; shape tells confidence, open marks were not unplanned."""
    brush = alt.selection_interval(
        name="brush",
        encodings=["x"],
        mark=alt.BrushConfig(fill="var(--accent)", fillOpacity=0.1, stroke="var(--accent)", cursor="move"),
    )
    points = (
        _in_lanes(alt.Chart())
        .mark_point(size=62, strokeWidth=1.4, fillOpacity=0.6)
        .encode(
            x=_days(frame),
            y=_lane_axis(),
            yOffset=alt.YOffset("level:O", scale=alt.Scale(domain=[0, 1, 2, 3, 4])),
            shape=alt.Shape("confidence:N", legend=None, scale=_ordinal(CONFIDENCES)),
            stroke=alt.Stroke("lane:N", legend=None, scale=_ordinal(_PAINTS)),
            fill=alt.Fill("filled:N", legend=None, scale=_ordinal({**_PAINTS, "": "transparent"})),
            opacity=alt.condition(brush, alt.value(1), alt.value(0.18)),
            tooltip=[alt.Tooltip("time:N", title="UTC"), alt.Tooltip("label:N", title="cause"), *_DETAILS],
        )
        .add_params(brush)
    )
    return _layers(frame, "interruption_timeline", points, height=360, right=8)


_DETAILS = [alt.Tooltip(f"{field}:N") for field in ("bucket", "confidence", "node", "evidence")]


def _midnight(day: date) -> alt.DateTime:
    return alt.DateTime(year=day.year, month=day.month, date=day.day, utc=True)


def _days(frame: pl.DataFrame) -> alt.X:
    """Whole days around all interruptions; fixed, so that a filter does not move the axis under the brush."""
    first, last = (value.astimezone(UTC) for value in frame["ts"].drop_nulls().sort().gather([0, -1]))
    scale = alt.Scale(type="utc", nice=False, domain=[_midnight(first), _midnight(last + timedelta(days=1))])
    return alt.X("ts:T", title=None, scale=scale, axis=alt.Axis(format="%-d %b"))


def _in_lanes(chart: alt.Chart) -> alt.Chart:
    """The marks of one lane and day spread over five levels, so that they do not hide each other."""
    return (
        chart.transform_calculate(
            lane=f"datum.cause_group || (datum.bucket == 'unplanned' ? 'unknown' : '{PLANNED}')",
            filled="datum.bucket == 'unplanned' ? datum.lane : ''",
            day="floor(datum.ts / 86400000)",
            time="utcFormat(datum.ts, '%Y-%m-%d %H:%M:%S')",
        )
        .transform_window(place="row_number()", groupby=["lane", "day"], frame=[None, 0])
        .transform_calculate(level="[2, 1, 3, 0, 4][(datum.place - 1) % 5]")
    )


def _lane_axis() -> alt.Y:
    names = json.dumps({**GROUPS, PLANNED: "Planned, policy"})
    return alt.Y(
        "lane:N",
        title=None,
        scale=alt.Scale(domain=list(_PAINTS), paddingInner=0.28, paddingOuter=0.2),
        axis=alt.Axis(labelExpr=f"{names}[datum.value]", labelColor="var(--ink)", tickBand="extent"),
    )


@draws("root_cause_breakdown")
def root_cause_breakdown(frame: pl.DataFrame) -> Chart:
    """Bars of unplanned interruptions by cause, stacked by confidence, with the Wilson interval of the share."""
    rows = _rows(frame)
    layers = (_stacks(rows), _share_whiskers(rows), _share_numbers(rows))
    return _layers(frame, "root_cause_breakdown", *layers, height=26 * frame.height, right=40)


def _stacks(rows: alt.Y) -> alt.Chart:
    """Confirmed solid, suspected hatched, unattributed hollow."""
    suspected = {f"{group}-suspected": f"url(#hatch-{group.replace('_', '-')})" for group in GROUPS}
    outlines = {f"{group}-suspected": _PAINTS[group] for group in GROUPS}
    fills = {**_PAINTS, **suspected, "unattributed": "transparent"}
    strokes = {**_PAINTS, **outlines, "unattributed": _PAINTS["unknown"]}
    bars: alt.Chart = (
        alt.Chart()
        .transform_fold(list(CONFIDENCES), as_=["confidence", "part"])
        .transform_filter("datum.part > 0")
        .transform_calculate(
            style="datum.confidence == 'unattributed' ? 'unattributed' :"
            " datum.cause_group + (datum.confidence == 'suspected' ? '-suspected' : '')",
            place=f"indexof({list(CONFIDENCES)}, datum.confidence)",
        )
        .mark_bar(height=14, strokeWidth=1, cursor="pointer")
        .encode(
            x=alt.X("part:Q", title="unplanned interruptions", axis=alt.Axis(tickMinStep=1, tickCount=8)),
            y=rows,
            fill=alt.Fill("style:N", legend=None, scale=_ordinal(fills)),
            stroke=alt.Stroke("style:N", legend=None, scale=_ordinal(strokes)),
            order=alt.Order("place:Q"),
            tooltip=[alt.Tooltip("label:N", title="cause"), "confidence:N", alt.Tooltip("part:Q", title="count")],
        )
    )
    return bars


_SHARE_LIMITS = {f"count_{end}": f"datum.share_{end}_pct / 100 * datum.total" for end in ("lo", "hi")}


def _share_whiskers(rows: alt.Y) -> alt.Chart:
    return _whiskers(alt.Chart().transform_calculate(**_SHARE_LIMITS), rows, "count")


def _share_numbers(rows: alt.Y) -> alt.Chart:
    """The count first, then its share and interval, right of bar and whisker."""
    limits = "format(datum.share_lo_pct, '.1f') + '\u2013' + format(datum.share_hi_pct, '.1f')"
    share = f"(isValid(datum.share_pct) ? '  \u00b7  ' + format(datum.share_pct, '.1f') + '% (' + {limits} + ')' : '')"
    numbers: alt.Chart = (
        alt.Chart()
        .transform_calculate(
            **_SHARE_LIMITS,
            reach="max(datum.interruptions, datum.count_hi || 0)",
            note=f"format(datum.interruptions, ',d') + (is_narrow ? '' : {share})",
        )
        .mark_text(align="left", dx=8, baseline="middle")
        .encode(x="reach:Q", y=rows, text="note:N")
    )
    return numbers


@draws("baseline_comparison")
def baseline_comparison(frame: pl.DataFrame) -> Chart:
    """Rates per 1,000 GPU-days: this fleet above, the baseline below, the disputed part of its count hatched."""
    rows = _rows(frame)
    per_count = "datum.baseline_per_1000_gpu_days / datum.baseline_count"
    low = f"datum.is_disputed ? {per_count} * datum.baseline_count_lo : datum.baseline_per_1000_gpu_days"
    high = f"datum.is_disputed ? {per_count} * datum.baseline_count_hi : datum.baseline_per_1000_gpu_days"
    base = alt.Chart().transform_filter("isValid(datum.baseline_count)").transform_calculate(solid=low, disputed=high)
    rate = alt.Axis(title="interruptions per 1,000 GPU-days", tickCount=8)
    below, above = 6, -5
    bars = base.mark_bar(height=7, color="var(--baseline)", yOffset=below).encode(
        x=alt.X("solid:Q", axis=rate), y=rows, tooltip=_baseline_tooltip()
    )
    hatched = (
        base.transform_filter("datum.is_disputed")
        .mark_bar(height=7, fill="url(#hatch-baseline)", stroke="var(--baseline)", strokeWidth=1, yOffset=below)
        .encode(x=alt.X("solid:Q", axis=rate), x2="disputed", y=rows, tooltip=_baseline_tooltip())
    )
    theirs = _whiskers(alt.Chart(), rows, "baseline_per_1000_gpu_days", "var(--soft)", below)
    ours = _whiskers(alt.Chart(), rows, "per_1000_gpu_days", "var(--accent)", above)
    dots = (
        alt.Chart()
        .transform_filter("isValid(datum.per_1000_gpu_days)")
        .mark_point(filled=True, size=64, opacity=1, color="var(--accent)", yOffset=above)
        .encode(x="per_1000_gpu_days:Q", y=rows, tooltip=_baseline_tooltip())
    )
    return _layers(frame, "baseline_comparison", bars, hatched, theirs, ours, dots, height=32 * frame.height, right=16)


def _baseline_tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="cause"),
        alt.Tooltip("interruptions:Q", title="here"),
        alt.Tooltip("per_1000_gpu_days:Q", title="here, per 1,000 GPU-days", format=".3~f"),
        alt.Tooltip("baseline_count:Q", title="baseline, printed count"),
        alt.Tooltip("baseline_per_1000_gpu_days:Q", title="baseline, per 1,000 GPU-days", format=".3~f"),
    ]


_RATE_TOOLTIP = alt.Tooltip("per_1000_gpu_days:Q", title="per 1,000 GPU-days", format=".3~f")


@draws("weekly")
def weekly(frame: pl.DataFrame) -> Chart:
    """Rate per 1,000 GPU-days week by week with its interval, the count beside each point, over the mean."""
    scale = alt.Scale(type="utc", padding=26)
    week = alt.X("week_start:T", title="week that begins on (UTC)", scale=scale, axis=_week_axis(frame))
    rate = alt.Y(
        "per_1000_gpu_days:Q", title="per 1,000 GPU-days", axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True)
    )
    base = alt.Chart().transform_filter("isValid(datum.per_1000_gpu_days)")
    mean = (
        base.transform_aggregate(events="sum(unplanned)", days="sum(gpu_days)")
        .transform_calculate(mean="datum.days > 0 ? 1000 * datum.events / datum.days : null")
        .mark_rule(strokeDash=[4, 4], color="var(--soft)")
        .encode(y="mean:Q")
    )
    whiskers = base.mark_rule(strokeWidth=1.5, color="var(--accent)").encode(
        x=week, y=alt.Y("per_1000_gpu_days_lo:Q", title="per 1,000 GPU-days"), y2="per_1000_gpu_days_hi"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1, color="var(--accent)").encode(
        x=week,
        y=rate,
        tooltip=["unplanned:Q", "planned:Q", "policy:Q", _RATE_TOOLTIP],
    )
    counts = base.mark_text(align="left", dx=9).encode(x=week, y=rate, text=alt.Text("unplanned:Q", format=",d"))
    return _layers(frame, "weekly", mean, whiskers, dots, counts, height=240, right=16)


def _week_axis(frame: pl.DataFrame) -> alt.Axis:
    """Ticks where weeks begin, every n-th if they are many."""
    starts = [_midnight(start) for start in frame["week_start"]]
    return alt.Axis(format="%-d %b", values=starts[:: len(starts) // _MOST_TICKS + 1])


@draws("node_ranking")
def node_ranking(frame: pl.DataFrame) -> Chart:
    """The fifteen nodes with most interruptions against what chance would give each."""
    worst = frame.head(15)
    rows, base = _rows(worst, "node"), alt.Chart()
    verdicts = ["lemon", "watch", "chance", "one-off"]
    colors = ["var(--bad)", "var(--warn)", "var(--baseline)", "var(--baseline)"]
    bars = base.mark_bar(height=12).encode(
        x=alt.X(
            "interruptions:Q", title="interruptions charged to the node", axis=alt.Axis(tickMinStep=1, tickCount=6)
        ),
        y=rows,
        color=alt.Color("verdict:N", legend=None, scale=alt.Scale(domain=verdicts, range=colors)),
        tooltip=[alt.Tooltip("node:N"), alt.Tooltip("interruptions:Q"), alt.Tooltip("expected:Q", format=".2~f")],
    )
    expected = (
        base.transform_filter("isValid(datum.expected)")
        .mark_tick(thickness=2, size=20, color="var(--ink)")
        .encode(x="expected:Q", y=rows)
    )
    numbers = (
        base.transform_calculate(
            note="datum.interruptions + (is_narrow ? '' : '  ·  ' + datum.verdict +"
            " (isValid(datum.q_value) ? ', q = ' + format(datum.q_value, '.2~g') : ''))"
        )
        .mark_text(align="left", dx=8)
        .encode(x="interruptions:Q", y=rows, text="note:N")
    )
    return _layers(worst, "node_ranking", bars, expected, numbers, height=24 * worst.height, right=40)
