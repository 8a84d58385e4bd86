"""One picture for one answer: a frame in, a Vega-Lite chart out.

A chart is a function marked `@draws("query")`; it takes the frame of that query and is found by the mark.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import altair as alt
import polars as pl

from incidentlab.canvas import Chart, layered, moment, ordinal, row_axis, time_axis, whiskers

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

_MOST_TICKS = 16
_MOST_COUNTS = 8


Draw = Callable[[pl.DataFrame], Chart]

DRAWINGS: dict[str, Draw] = {}
"""Every chart function by the query whose answer it takes."""


def draws(query: str) -> Callable[[Draw], Draw]:
    """Mark a function as the chart of `query`."""

    def mark(draw: Draw) -> Draw:
        DRAWINGS[query] = draw
        return draw

    return mark


def spec(query: str, frame: pl.DataFrame) -> dict[str, Any]:
    """The Vega-Lite specification of the query's chart, its rows under `data.values`."""
    return DRAWINGS[query](frame).to_dict()


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
            x=time_axis(frame),
            y=_lane_axis(),
            yOffset=alt.YOffset("level:O", scale=alt.Scale(domain=[0, 1, 2, 3, 4])),
            shape=alt.Shape("confidence:N", legend=None, scale=ordinal(CONFIDENCES)),
            stroke=alt.Stroke("lane:N", legend=None, scale=ordinal(_PAINTS)),
            fill=alt.Fill("filled:N", legend=None, scale=ordinal({**_PAINTS, "": "transparent"})),
            opacity=alt.condition(brush, alt.value(1), alt.value(0.18)),
            tooltip=[alt.Tooltip("time:N", title="UTC"), alt.Tooltip("label:N", title="cause"), *_DETAILS],
        )
        .add_params(brush)
    )
    return layered(frame, "interruption_timeline", points, height=360, right=8)


_DETAILS = [alt.Tooltip(f"{field}:N") for field in ("bucket", "confidence", "node", "evidence")]


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
    rows = row_axis(frame)
    layers = (_stacks(rows), _share_whiskers(rows), _share_numbers(rows))
    return layered(frame, "root_cause_breakdown", *layers, height=26 * frame.height, right=40)


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
            fill=alt.Fill("style:N", legend=None, scale=ordinal(fills)),
            stroke=alt.Stroke("style:N", legend=None, scale=ordinal(strokes)),
            order=alt.Order("place:Q"),
            tooltip=[alt.Tooltip("label:N", title="cause"), "confidence:N", alt.Tooltip("part:Q", title="count")],
        )
    )
    return bars


_SHARE_LIMITS = {f"count_{end}": f"datum.share_{end}_pct / 100 * datum.total" for end in ("lo", "hi")}


def _share_whiskers(rows: alt.Y) -> alt.Chart:
    return whiskers(alt.Chart().transform_calculate(**_SHARE_LIMITS), rows, "count")


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
    rows, rate = row_axis(frame), _rate(frame)
    layers = (*_their_rates(rows, rate), *_own_rates(rows, rate))
    return layered(frame, "baseline_comparison", *layers, height=32 * frame.height, right=16)


_FAR = 10
"""An axis is logarithmic where one fleet's rates reach so many times as far as the other's."""

_PLAIN = "format(datum.value, ',~g')"
"""A tick's label with as many decimals as it has itself; an axis alone gives all of its labels the same."""

_BELOW, _ABOVE = 6, -5
"""Places in a row: the baseline's and this fleet's."""


def _rate(frame: pl.DataFrame) -> dict[str, Any]:
    """Scale and axis of both fleets' rates; an interval of few GPU-days leaves no room for a large fleet's rates."""
    top = frame.select(pl.col("per_1000_gpu_days_hi", "baseline_per_1000_gpu_days_hi").max().fill_null(0))
    own, theirs = top.row(0)
    most = max(own, theirs) or 1
    if not 0 < _FAR * theirs < own:
        axis = alt.Axis(title="interruptions per 1,000 GPU-days", tickCount=8)
        return {"scale": alt.Scale(domain=[0, most], nice=True), "axis": axis}
    least = frame.filter(pl.col("baseline_count") > 0).select(pl.min("baseline_per_1000_gpu_days")).item()
    decades = [10.0**power for power in range(math.floor(math.log10(least)), math.floor(math.log10(most)) + 1)]
    axis = alt.Axis(title="per 1,000 GPU-days, logarithmic", values=[0, *decades], labelExpr=_PLAIN)
    return {"scale": alt.Scale(type="symlog", constant=decades[0], domain=[0, most], nice=False), "axis": axis}


def _their_rates(rows: alt.Y, rate: dict[str, Any]) -> tuple[alt.Chart, ...]:
    per_count = "datum.baseline_per_1000_gpu_days / datum.baseline_count"
    low = f"datum.is_disputed ? {per_count} * datum.baseline_count_lo : datum.baseline_per_1000_gpu_days"
    high = f"datum.is_disputed ? {per_count} * datum.baseline_count_hi : datum.baseline_per_1000_gpu_days"
    base = alt.Chart().transform_filter("isValid(datum.baseline_count)").transform_calculate(solid=low, disputed=high)
    bars = base.mark_bar(height=7, color="var(--baseline)", yOffset=_BELOW).encode(
        x=alt.X("solid:Q", **rate), y=rows, tooltip=_baseline_tooltip()
    )
    hatched = (
        base.transform_filter("datum.is_disputed")
        .mark_bar(height=7, fill="url(#hatch-baseline)", stroke="var(--baseline)", strokeWidth=1, yOffset=_BELOW)
        .encode(x=alt.X("solid:Q", **rate), x2="disputed", y=rows, tooltip=_baseline_tooltip())
    )
    return bars, hatched, whiskers(alt.Chart(), rows, "baseline_per_1000_gpu_days", "var(--soft)", _BELOW)


def _own_rates(rows: alt.Y, rate: dict[str, Any]) -> tuple[alt.Chart, ...]:
    """A dot a row, hollow where none was seen; the upper limit that these rows share is one line for all."""
    x, color = alt.X("per_1000_gpu_days:Q", **rate), "var(--accent)"
    seen = alt.Chart().transform_filter("datum.interruptions > 0")
    none = alt.Chart().transform_filter("datum.interruptions === 0")
    limit = (
        none.transform_aggregate(limit="max(per_1000_gpu_days_hi)")
        .transform_filter("isValid(datum.limit)")
        .mark_rule(strokeDash=[4, 4], color=color)
        .encode(x=alt.X("limit:Q", **rate))
    )
    dots = (
        base.transform_filter("isValid(datum.per_1000_gpu_days)")
        .mark_point(filled=True, size=64, opacity=1, stroke=color, strokeWidth=1.5, fill=fill, yOffset=_ABOVE)
        .encode(x=x, y=rows, tooltip=_baseline_tooltip())
        for base, fill in ((seen, color), (none, "var(--paper)"))
    )
    return limit, whiskers(seen, rows, "per_1000_gpu_days", color, _ABOVE), *dots


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
    return layered(frame, "weekly", mean, whiskers, dots, counts, height=240, right=16)


def _week_axis(frame: pl.DataFrame) -> alt.Axis:
    """Ticks where weeks begin, every n-th if they are many."""
    starts = [moment(start) for start in frame["week_start"]]
    return alt.Axis(format="%-d %b", values=starts[:: len(starts) // _MOST_TICKS + 1])


@draws("node_ranking")
def node_ranking(frame: pl.DataFrame) -> Chart:
    """The fifteen nodes with most interruptions against what chance would give each."""
    worst = frame.head(15)
    rows, base = row_axis(worst, "node"), alt.Chart()
    verdicts = ["lemon", "watch", "chance", "one-off"]
    colors = ["var(--bad)", "var(--warn)", "var(--baseline)", "var(--baseline)"]
    most = math.ceil(worst.select(pl.max_horizontal(1, "interruptions", "expected").max()).item())
    ticks = list(range(0, most + 1, math.ceil(most / _MOST_COUNTS)))
    axis = alt.Axis(title="interruptions charged to the node", values=ticks, format=",d")
    bars = base.mark_bar(height=12).encode(
        x=alt.X("interruptions:Q", axis=axis, scale=alt.Scale(domain=[0, most], nice=False)),
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
    return layered(worst, "node_ranking", bars, expected, numbers, height=24 * worst.height, right=150)
