"""The answer key of a story: truth.csv names every interruption and harmless fault, story.toml sums them up."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from incidentlab.simulate.faults import KIND_OF_DEATH
from incidentlab.simulate.stamps import utc_iso
from incidentlab.simulate.world import Attempt, Occurrence, World


@dataclass(frozen=True, slots=True)
class TruthRow:
    """One row of truth.csv; instants are UTC, what does not apply is empty."""

    what: str
    """interruption or harmless."""
    ts: str
    """End of the attempt, or time of the harmless fault."""
    job_id: str
    attempt_no: str
    """From 1 for each job id."""
    start_ts: str
    end_ts: str
    bucket: str
    kind: str
    component: str
    evidence: str
    """direct, indirect, symptom or none."""
    node: str
    gpu_index: str
    pci_bdf: str
    fault_ts: str
    note: str
    """Name of the fault."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The answer key: rows in order of time, and what they add up to."""

    rows: tuple[TruthRow, ...]

    @property
    def interruptions(self) -> tuple[TruthRow, ...]:
        """The rows that are interruptions."""
        return tuple(row for row in self.rows if row.what == "interruption")

    def count(self, bucket: str) -> int:
        """Number of interruptions in a bucket."""
        return sum(row.bucket == bucket for row in self.interruptions)

    @property
    def components(self) -> dict[str, int]:
        """Unplanned interruptions by component, the most frequent first."""
        found = Counter(row.component for row in self.interruptions if row.bucket == "unplanned")
        return dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0])))


def tell_truth(world: World) -> Truth:
    """What happened in a world."""
    rows = [_interruption(attempt, attempt.killer, world) for attempt in world.attempts if attempt.killer]
    rows += [_harmless(occurrence, world) for occurrence in world.harmless]
    return Truth(tuple(sorted(rows, key=lambda row: (row.ts, row.what, row.node))))


def _gpu(occurrence: Occurrence, world: World) -> tuple[str, str]:
    if not occurrence.fault.has_gpu:
        return "", ""
    return str(occurrence.gpu), world.fleet.gpu(occurrence.node, occurrence.gpu).bdf


def _interruption(attempt: Attempt, killer: Occurrence, world: World) -> TruthRow:
    end = utc_iso(attempt.end or 0)
    index, bdf = _gpu(killer, world)
    return TruthRow(
        "interruption",
        end,
        str(attempt.job_id),
        str(attempt.number),
        utc_iso(attempt.start),
        end,
        killer.fault.bucket,
        KIND_OF_DEATH[killer.fault.death],
        killer.fault.component,
        killer.fault.evidence,
        killer.node,
        index,
        bdf,
        utc_iso(killer.ts),
        killer.fault.name,
    )


def _harmless(occurrence: Occurrence, world: World) -> TruthRow:
    ts = utc_iso(occurrence.ts)
    index, bdf = _gpu(occurrence, world)
    return TruthRow(
        "harmless", ts, "", "", "", "", "", "", "", "none", occurrence.node, index, bdf, ts, occurrence.fault.name
    )


def write_truth(truth: Truth, world: World, name: str, folder: Path) -> None:
    """Write truth.csv and story.toml."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([field.name for field in fields(TruthRow)])
    table.writerows(astuple(row) for row in truth.rows)
    (folder / "truth.csv").write_text(text.getvalue(), encoding="utf-8")
    (folder / "story.toml").write_text("\n".join(_story(truth, world, name)) + "\n", encoding="utf-8")


def _story(truth: Truth, world: World, name: str) -> Iterator[str]:
    scenario = world.scenario
    yield f'title = "{scenario.title}"'
    yield f'story = """\n{scenario.story.strip()}\n"""'
    yield f'scenario = "{name}"'
    yield f"seed = {world.seed}"
    yield f"from = {utc_iso(scenario.start_s)}"
    yield f"to = {utc_iso(scenario.end_s)}"
    yield f'zone = "{scenario.zone}"'
    yield f"gpus = {sum(job.nodes for job in scenario.jobs) * 8}"
    yield "\n[counts]"
    yield f"attempts = {len(world.attempts)}"
    yield f"interruptions = {len(truth.interruptions)}"
    for bucket in ("unplanned", "planned", "policy"):
        yield f"{bucket} = {truth.count(bucket)}"
    yield f"harmless = {len(truth.rows) - len(truth.interruptions)}"
    yield "\n[components]"
    for component, number in truth.components.items():
        yield f'"{component}" = {number}'
