"""How values are written: what a reader sees of a number, and what of a missing one."""

from datetime import UTC, date, datetime

import pytest

from incidentlab import figures


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
        (0.0, "0"),
        (0.4741, "0.474"),
        (0.00339, "0.00339"),
        (3.0928, "3.09"),
        (3.0, "3"),
        (31.75, "31.8"),
        (99.97, "100"),
        (9.996, "10.0"),
        (0.9996, "1.00"),
        (1.005, "1.01"),
        (999_999.6, "1.00M"),
        (100.5, "101"),
        (1203.6, "1,204"),
        (1_316_000.0, "1.32M"),
    ],
)
def test_figure_has_three_significant_digits(value, expected) -> None:
    """A number keeps three significant digits, halves rounded up, and a missing one is no number."""
    assert figures.figure(value) == expected


def test_percent_and_probability() -> None:
    """A share has one decimal, a probability three and a floor."""
    assert figures.percent(30.0716) == "30.1%"
    assert figures.probability(0.0456) == "0.046"
    assert figures.probability(0.0002) == "<0.001"


def test_when_is_iso() -> None:
    """An instant is written to the second and a day without a time."""
    assert figures.when(datetime(2026, 3, 14, 2, 11, 9, tzinfo=UTC)) == "2026-03-14 02:11:09"
    assert figures.when(date(2026, 3, 14)) == "2026-03-14"


def test_ranged_shows_the_interval_beside_the_rate() -> None:
    """A rate carries its interval; without an event only the lower limit is known."""
    row = {"mtti_h": 3.0928, "mtti_h_lo": 2.8106, "mtti_h_hi": 3.4118}
    silent = {"mtti_h": None, "mtti_h_lo": 97.56, "mtti_h_hi": None}

    assert figures.ranged(row, "mtti_h") == "3.09 (2.81\u20133.41)"
    assert figures.ranged(silent, "mtti_h") == "\u2265 97.6"


def test_share_uses_percent_limits() -> None:
    """A share finds its limits before the unit of its name."""
    row = {"share_pct": 30.07, "share_lo_pct": 25.87, "share_hi_pct": 34.62}

    assert figures.share(row, "share_pct") == "30.1% (25.9\u201334.6)"


def test_bounded_gives_no_point_estimate_for_a_range() -> None:
    """A loss between bounds shows the bounds alone; an exact one shows one number."""
    bounded = {"lost_gpu_h": 50.0, "lost_gpu_h_lo": 38.0, "lost_gpu_h_hi": 61.0}
    exact = {"lost_gpu_h": 50.0, "lost_gpu_h_lo": 50.0, "lost_gpu_h_hi": 50.0}

    assert figures.bounded(bounded, "lost_gpu_h") == "38\u201361"
    assert figures.bounded(exact, "lost_gpu_h") == "50"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(None, ""), (-12.0, "-12 s"), (-0.2, "+0 s"), (0.0, "+0 s"), (200.4, "+3 min 20 s"), (-7500.0, "-2 h 5 min")],
)
def test_lag_says_before_or_after(seconds, expected) -> None:
    """The distance from the end of the attempt has a sign and at most two units."""
    assert figures.lag(seconds) == expected


def test_plural() -> None:
    """One thing has no s, nothing and many have."""
    assert [figures.plural(number, "run") for number in (0, 1, 1204)] == ["0 runs", "1 run", "1,204 runs"]
