"""How values are written on the page: three significant digits, a count beside a share, an interval beside a rate.

A missing value is None here and `n/a - needs X` on the page, never 0. The page's own script writes the same texts after
a filter changed (`templates/assets/10-figures.js`); the browser test holds the two together.
"""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Row = Mapping[str, Any]

_MILLION = 1_000_000

GRADES = {
    "A": "exact: all inputs were observed",
    "B": "bounded: an input is missing, the truth lies in the range",
    "C": "proxy: a stated assumption fills in",
    "-": "open: nothing bounds one of the inputs",
}
"""How well a figure is known; a figure without a grade could not be computed."""


def fixed(value: float, decimals: int) -> str:
    """The number with so many decimals, halves of what is written rounded up, thousands set apart: 1,204."""
    return f"{_rounded(value, decimals):,f}"


def _rounded(value: float, decimals: int) -> Decimal:
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _places(value: Decimal) -> int:
    """Decimals that leave three significant digits."""
    return max(0, 2 - value.adjusted())


def figure(value: float | None) -> str | None:
    """Three significant digits, whole from 100 on: 0.474, 3.09, 31.8, 1,204; millions as 1.32M."""
    if value is None or not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 100:  # noqa: PLR2004 - from 100 on every number is whole
        return str(int(value))
    rounded = _rounded(value, _places(Decimal(str(value))))
    if abs(rounded) >= _MILLION:
        return f"{figure(value / _MILLION)}M"
    return fixed(value, _places(rounded))


def count(value: float | None) -> str | None:
    """A whole number: 1,204."""
    return None if value is None else fixed(value, 0)


def percent(value: float | None) -> str | None:
    """One decimal: 30.1%."""
    return None if value is None else fixed(value, 1) + "%"


def probability(value: float | None) -> str | None:
    """Three decimals, or <0.001."""
    if value is None:
        return None
    return "<0.001" if value < 0.001 else fixed(value, 3)  # noqa: PLR2004 - the last digit that is shown


def when(value: datetime | date | None) -> str | None:
    """An instant to the second, a day as a day: 2026-03-14 02:11:09, 2026-03-14."""
    return None if value is None else value.strftime("%Y-%m-%d %H:%M:%S" if isinstance(value, datetime) else "%Y-%m-%d")


def text(value: Any) -> str | None:
    """The value as it stands; yes and no for truth values."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value)


def interval(row: Row, field: str) -> str | None:
    """The 95% interval of a field from its `_lo` and `_hi`: 2.81-3.41 with an en dash; open above: >= 2.81."""
    stem, unit, write = (field[:-4], "_pct", percent) if field.endswith("_pct") else (field, "", figure)
    low, high = (write(row[f"{stem}_{end}{unit}"]) for end in ("lo", "hi"))
    if low is None:
        return None
    return f"≥ {low}" if high is None else f"{low.removesuffix('%')}–{high.removesuffix('%')}"  # noqa: RUF001


def limits(row: Row, field: str) -> str | None:
    """The interval of a field, named as what it is: 95% 2.81-3.41."""
    between = interval(row, field)
    return f"95% {between}" if between else None


def ranged(row: Row, field: str) -> str | None:
    """A value and its interval: 3.09 (2.81-3.41); the interval alone where there is no point estimate."""
    value, between = figure(row[field]), interval(row, field)
    return f"{value} ({between})" if value and between else value or between


def share(row: Row, field: str) -> str | None:
    """A percentage and its interval: 30.1% (25.9-34.7)."""
    value, between = percent(row[field]), interval(row, field)
    return f"{value} ({between})" if value and between else value


def bounded(row: Row, field: str) -> str | None:
    """A loss as far as it is known: the value if it is exact, else its range without a point estimate."""
    value, between = figure(row[field]), interval(row, field)
    return value if between is None or row[f"{field}_lo"] == row[f"{field}_hi"] else between


def lag(seconds: float | None) -> str:
    """How long before (-) or after (+) the end of an attempt: -12 s, +3 min 20 s, -2 h 5 min."""
    if seconds is None:
        return ""
    sign = "-" if round(seconds) < 0 else "+"
    whole = abs(round(seconds))
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{sign}{hours} h {minutes} min"
    return f"{sign}{minutes} min {rest} s" if minutes else f"{sign}{rest} s"


def plural(number: int | None, noun: str) -> str:
    """A count and its noun: 1 run, 2 runs."""
    return f"{count(number or 0)} {noun}{'' if number == 1 else 's'}"


_ALONE: dict[str, Callable[[Any], str | None]] = {
    "count": count,
    "figure": figure,
    "percent": percent,
    "probability": probability,
    "when": when,
}
_WITH_LIMITS: dict[str, Callable[[Row, str], str | None]] = {"ranged": ranged, "share": share, "bounded": bounded}


def cell(row: Row, field: str, kind: str) -> str | None:
    """A table cell's text, None if the value is missing.

    Kinds: count, figure, percent, probability, when; ranged, share, bounded (these read `_lo` and `_hi` too); any other
    kind (text, word, cause, grade) only says how the page marks the text.
    """
    if kind in _WITH_LIMITS:
        return _WITH_LIMITS[kind](row, field)
    return _ALONE.get(kind, text)(row[field])


FILTERS: dict[str, Callable[..., Any]] = {
    "cell": cell,
    "count": count,
    "figure": figure,
    "percent": percent,
    "plural": plural,
    "when": when,
    "interval": interval,
    "limits": limits,
    "bounded": bounded,
}
"""What templates may call."""
