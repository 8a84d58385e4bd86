"""How well a warehouse agrees with a truth file: who was found, and was the verdict right."""

import csv
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

SLACK = timedelta(seconds=90)
"""An end is found if the warehouse has it within this time: records have whole seconds, clocks of hosts differ."""

HARMLESS_SLACK = timedelta(seconds=60)
"""A cause is a harmless row if it began on its node within this time."""


@dataclass
class Score:
    """Counts; `wrong` says in words what was missed, made up or judged wrongly."""

    expected: int = 0
    found: int = 0
    made_up: int = 0
    bucket_right: int = 0
    direct: int = 0
    direct_right: int = 0
    component_right: int = 0
    unplanned: int = 0
    node_right: int = 0
    with_node: int = 0
    confirmed: int = 0
    confirmed_right: int = 0
    charged_harmless: int = 0
    wrong: list[str] = field(default_factory=list)
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)


def score(con: duckdb.DuckDBPyConnection, truth: Path) -> Score:
    """The warehouse's interruptions against the rows of `truth.csv`."""
    rows = list(csv.DictReader(truth.read_text(encoding="utf-8").splitlines()))
    names = ("job_id", "ts", "bucket", "component", "confidence", "node", "first_fault_ts", "rule")
    ours = [
        dict(zip(names, row, strict=True))
        for row in con.execute(f"select {', '.join(names)} from interruptions order by ts").fetchall()
    ]
    harmless = [row for row in rows if row["what"] == "harmless"]
    result = Score(charged_harmless=sum(any(_is_of(own, row) for row in harmless) for own in ours))
    for row in rows:
        if row["what"] == "interruption":
            _judge(result, row, ours)
    result.made_up = len(ours)
    result.wrong += [f"made up: {own}" for own in ours]
    return result


def instant(text: str) -> datetime:
    """A UTC instant of a truth file."""
    return datetime.fromisoformat(text).astimezone(UTC)


def _is_of(own: dict[str, object], row: dict[str, str]) -> bool:
    """Whether an interruption is charged to a row of the truth that harmed nobody."""
    begun = own["first_fault_ts"]
    return bool(begun and own["node"] in row["node"].split() and abs(begun - instant(row["ts"])) <= HARMLESS_SLACK)


def _judge(result: Score, row: dict[str, str], ours: list[dict[str, object]]) -> None:
    result.expected += 1
    end = instant(row["ts"])
    match = next((own for own in ours if own["job_id"] == row["job_id"] and abs(own["ts"] - end) <= SLACK), None)
    if match is None:
        result.wrong.append(f"missed: {row}")
        return
    ours.remove(match)
    result.found += 1
    result.bucket_right += match["bucket"] == row["bucket"]
    if match["bucket"] != row["bucket"]:
        result.wrong.append(f"bucket {match['bucket']}, not {row['bucket']}: {row['note']} {row['ts']} {match['rule']}")
    if row["bucket"] == "unplanned":
        _judge_cause(result, row, match)


def _judge_cause(result: Score, row: dict[str, str], match: dict[str, object]) -> None:
    right = same_part(str(match["component"]), row["component"])
    result.unplanned += 1
    result.component_right += right
    result.confusion[row["component"], str(match["component"])] += 1
    if row["evidence"] == "direct":
        result.direct += 1
        result.direct_right += right
    if match["confidence"] == "confirmed":
        result.confirmed += 1
        result.confirmed_right += right
    if row["node"] and right:
        result.with_node += 1
        result.node_right += match["node"] in row["node"].split()
    if not right or (row["node"] and match["node"] and match["node"] not in row["node"].split()):
        result.wrong.append(
            f"{match['component']}@{match['node']}, not {row['component']}@{row['node']}"
            f" ({row['evidence']}, {row['note']})"
            f" {row['ts']} {match['rule']}"
        )


def same_part(ours: str, truth: str) -> bool:
    """The same component; the halves of software and of dependencies are one row of the published table each."""
    kind = truth.partition(".")[0]
    return ours == truth or (kind in ("software", "dependency") and ours.partition(".")[0] == kind)
