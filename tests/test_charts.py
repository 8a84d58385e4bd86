"""Charts: each is found by its mark, drawn from its answer, and the same everywhere."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from small_warehouse import small_warehouse

from incidentlab import answers, assets, canvas, charts, pictures


@pytest.fixture(scope="module")
def frames() -> dict[str, pl.DataFrame]:
    """The answers that charts take, of the small warehouse."""
    con = small_warehouse()
    return {name: answers.ask(con, name) for name in charts.DRAWINGS}


def parts(node):
    """Every dictionary inside a specification."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from parts(child)


@pytest.mark.parametrize("name", charts.DRAWINGS)
def test_mark_names_a_query(name) -> None:
    """A chart is marked with a question that exists, and its function is called like it."""
    assert name in answers.load_queries()
    assert charts.DRAWINGS[name].__name__ == name


@pytest.mark.parametrize("name", charts.DRAWINGS)
def test_specification_is_as_last_seen(name, frames, golden) -> None:
    """The specification drawn from the small warehouse is the one that somebody looked at."""
    golden(f"charts/{name}.json", json.dumps(charts.spec(name, frames[name]), indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", charts.DRAWINGS)
def test_time_axes_are_utc(name, frames) -> None:
    """No axis of time shows the reader's own zone."""
    temporal = [part for part in parts(charts.spec(name, frames[name])) if part.get("type") == "temporal"]

    assert [part for part in temporal if "axis" in part and part["scale"]["type"] != "utc"] == []


@pytest.mark.parametrize("name", charts.DRAWINGS)
def test_colours_come_from_the_page(name, frames) -> None:
    """Every colour is a variable or a hatch of the page, so that light, dark and print each have their own."""
    text = json.dumps({**charts.spec(name, frames[name]), "data": None})
    style = (assets.folder("templates") / "assets" / "report.css").read_text(encoding="utf-8")

    assert re.findall(r'"#[0-9a-fA-F]{3,8}"', text) == []
    assert {variable for variable in re.findall(r"var\((--[\w-]+)\)", text) if f"{variable}:" not in style} == set()


def test_svg_is_the_same_in_every_zone(frames) -> None:
    """The static picture of a time axis does not depend on where it was drawn."""
    code = "import json, sys; from incidentlab import pictures; sys.stdout.write(pictures.svg(json.load(sys.stdin)))"
    spec = charts.spec("interruption_timeline", frames["interruption_timeline"])
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(spec),
        env={**os.environ, "TZ": "Pacific/Auckland"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert elsewhere == pictures.svg(spec)


def test_hostile_name_is_text(frames) -> None:
    """A node named like markup stays text in the picture."""
    frame = frames["node_ranking"].with_columns(node=pl.lit("</text><script>alert(1)</script>")).head(1)
    picture = pictures.svg(charts.spec("node_ranking", frame))

    assert "<script" not in picture
    assert "&lt;script" in picture


def test_values_are_plain_json() -> None:
    """Instants and days become milliseconds, and what is not finite becomes null."""
    frame = pl.DataFrame(
        {"ts": [datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)], "day": [date(1970, 1, 2)], "x": [float("nan")]}
    )

    assert canvas.values(frame) == [{"ts": 2000, "day": 86_400_000, "x": None}]


def test_disputed_part_is_hatched(frames) -> None:
    """Only the row whose source contradicts itself has a hatched part, between its two counts."""
    hatched = [
        part
        for part in parts(charts.spec("baseline_comparison", frames["baseline_comparison"]))
        if isinstance(part.get("mark"), dict) and part["mark"].get("fill") == "url(#hatch-baseline)"
    ]
    disputed = frames["baseline_comparison"].filter(pl.col("is_disputed"))

    assert [part["transform"][-1] for part in hatched] == [{"filter": "datum.is_disputed"}]
    assert disputed.select("label", "baseline_count_lo", "baseline_count_hi").rows() == [("Faulty GPU", 126, 148)]


START = datetime(2026, 3, 4, 21, 40, tzinfo=UTC)


def words(picture: str) -> list[str]:
    """The texts of a picture in order."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", picture)


@pytest.mark.parametrize(
    ("length", "some", "period"),
    [
        (timedelta(minutes=10), ["21:00", "21:05", "22:00"], "2026-03-04, UTC"),
        (timedelta(hours=20), ["21:00", "5 Mar", "03:00"], "2026-03-04 to 2026-03-05, UTC"),
        (timedelta(days=2), ["4 Mar", "5 Mar", "7 Mar"], "2026-03-04 to 2026-03-06, UTC"),
        (timedelta(days=30), ["8 Mar", "10 Mar", "1 Apr"], "2026-03-04 to 2026-04-03, UTC"),
        (timedelta(days=365), ["Apr 2026", "May 2026", "Mar 2027"], "2026-03-04 to 2027-03-04, UTC"),
    ],
)
def test_ticks_fit_the_span(frames, length, some, period) -> None:
    """Minutes of an hour, hours of days, days of weeks and months of a year, and no day or month twice."""
    frame = pl.concat([frames["interruption_timeline"].head(1)] * 2)
    frame = frame.with_columns(ts=pl.Series([START, START + length]))
    labels = words(pictures.svg(charts.spec("interruption_timeline", frame)))
    labels = labels[: labels.index(period)]

    assert [label for label in labels if label in some] == some
    assert [label for label in set(labels) if ":" not in label and labels.count(label) > 1] == []


def test_far_fleets_share_a_logarithmic_axis(frames) -> None:
    """A fleet too small to be drawn beside the published one on a line gets decades; nothing is cut off."""
    frame = frames["baseline_comparison"].with_columns(pl.col("^per_1000_gpu_days.*$") * 1000)
    specification = charts.spec("baseline_comparison", frame)
    scales = [part for part in parts(specification) if part.get("type") == "symlog"]

    assert {scale["domain"][1] for scale in scales} == {frame["per_1000_gpu_days_hi"].max()}
    assert {"0", "0.001", "0.01", "0.1", "1", "1,000"} <= set(words(pictures.svg(specification)))


def test_fleet_of_like_rates_has_a_linear_axis(frames) -> None:
    """Rates that fit on one line stay on it."""
    frame = frames["baseline_comparison"]
    theirs = {f"per_1000_gpu_days{end}": pl.col(f"baseline_per_1000_gpu_days{end}") for end in ("", "_lo", "_hi")}

    assert "symlog" not in json.dumps(charts.spec("baseline_comparison", frame.with_columns(**theirs)))


def test_axis_of_nodes_holds_what_is_expected(frames) -> None:
    """More expected than counted: the axis ends at the next whole number above it."""
    frame = frames["node_ranking"].with_columns(interruptions=pl.lit(1), expected=pl.lit(2.4))
    scales = [part["x"]["scale"] for part in parts(charts.spec("node_ranking", frame)) if "scale" in part.get("x", [])]

    assert [scale["domain"] for scale in scales] == [[0, 3]]
