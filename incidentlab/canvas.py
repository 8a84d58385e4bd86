"""What charts are drawn on: the theme, rows, whiskers, the axis of time, and layers over one named dataset.

Colours are CSS variables (`var(--gpu)`) and hatches are `url(#hatch-gpu)`; the page defines both, so that one drawing
is right on light, dark and printed pages. Time axes are in UTC whatever the reader's zone.
"""

from datetime import date, datetime, timedelta
from typing import Any

import altair as alt
import polars as pl

Chart = alt.LayerChart | alt.FacetChart
"""What a chart function returns (a layer; Altair's own type is wider)."""


_DIGITS = 9
"""Significant digits of a number in the page."""

_LABELS = 230
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def values(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows for JSON: instants and days as milliseconds since 1970 UTC, what is not finite as null."""
    instants = [name for name, kind in frame.schema.items() if kind.is_temporal()]
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    plain = frame.with_columns(
        *(pl.col(name).cast(pl.Datetime("ms")).cast(pl.Int64) for name in instants),
        *(pl.when(pl.col(name).is_finite()).then(pl.col(name).round_sig_figs(_DIGITS)) for name in floats),
    )
    return plain.to_dicts()


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
            "axisY": {"labelLimit": _LABELS, "labelPadding": 12},
            "text": {"color": "var(--ink)", "fontSize": 12},
            "rule": {"color": "var(--ink)"},
        }
    }


def layered(frame: pl.DataFrame, query: str, *layers: alt.Chart, height: int, right: int) -> Chart:
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


_TWO_LINES = r"split(replace(datum.label, regexp('^(.{9,}?[ /])'), '$1\n'), '\n')"


def row_axis(frame: pl.DataFrame, field: str = "label") -> alt.Y:
    """Rows in the order of the frame, also after a filter; long labels take two lines on a narrow page."""
    scale = alt.Scale(domain=frame[field].to_list())
    label = f"is_narrow && length(datum.label) > 17 ? {_TWO_LINES} : datum.label"
    axis = alt.Axis(grid=False, labelColor="var(--ink)", labelExpr=label)
    return alt.Y(f"{field}:N", title=None, scale=scale, axis=axis)


def ordinal(paints: dict[str, str]) -> alt.Scale:
    """Each word and the paint that stands for it."""
    return alt.Scale(domain=list(paints), range=list(paints.values()))


def whiskers(base: alt.Chart, rows: alt.Y, field: str, color: str = "var(--ink)", offset: int = 0) -> alt.Chart:
    """The horizontal 95% interval of a field."""
    known = base.transform_filter(f"isValid(datum.{field}_hi)")
    marks = known.mark_rule(strokeWidth=1.5, color=color, yOffset=offset)
    whiskers: alt.Chart = marks.encode(x=f"{field}_lo:Q", x2=f"{field}_hi", y=rows)
    return whiskers


_LONG = timedelta(days=180)
"""From here on ticks stand at months and are called after them."""

_CLOCK = (
    "utchours(datum.value) + utcminutes(datum.value) > 0"
    " ? utcFormat(datum.value, '%H:%M') : utcFormat(datum.value, '%-d %b')"
)
"""A tick's label: the day at midnight, else the hour."""


def moment(value: date, hours: int = 0) -> alt.DateTime:
    """The hour of a day (UTC) as a value of an axis."""
    return alt.DateTime(year=value.year, month=value.month, date=value.day, hours=hours, utc=True)


def time_axis(frame: pl.DataFrame) -> alt.X:
    """Whole days around all interruptions, whole hours if one day holds them.

    Fixed, so that a filter does not move the axis under the brush.
    """
    first, last = _ends(frame["ts"], "1h")
    step = timedelta(hours=1)
    if last - first >= timedelta(days=1):
        first, last = _ends(frame["ts"], "1d")
        step = timedelta(days=1)
    days = " to ".join(dict.fromkeys(f"{ts:%Y-%m-%d}" for ts in (first, last)))
    scale = alt.Scale(type="utc", nice=False, domain=[moment(ts, ts.hour) for ts in (first, last + step)])
    label = "utcFormat(datum.value, '%b %Y')" if last - first > _LONG else _CLOCK
    axis = alt.Axis(labelExpr=label, tickCount=alt.ExprRef("max(2, width / 90)"))
    return alt.X("ts:T", title=f"{days}, UTC", scale=scale, axis=axis)


def _ends(instants: pl.Series, unit: str) -> tuple[datetime, datetime]:
    """The first and last instant, rounded down to whole units of UTC."""
    whole = instants.drop_nulls().dt.convert_time_zone("UTC").dt.truncate(unit).sort()
    return whole[0], whole[-1]
