"""Add what ends no job: harmless faults, and small jobs of other users on spare nodes."""

import random
from collections.abc import Mapping

from incidentlab.errors import UsageError
from incidentlab.simulate.faults import Fault
from incidentlab.simulate.fleet import stream
from incidentlab.simulate.scene import bystander, words
from incidentlab.simulate.world import Attempt, Occurrence, Outage, SmallJob, World

_BEFORE_END_S = 3600
"""A harmless fault in a running job keeps this far from its end, so that the truth can be told from the logs."""
_AFTER_START_S = 300
_SMALL_JOBS = (("eval-suite", "yusuf", 1500), ("jupyter", "noor", 7200), ("tokenize", "ines", 2400))
"""Name, user and mean seconds."""


def add_harmless(world: World, faults: Mapping[str, Fault]) -> None:
    """The harmless faults that the scenario asks for.

    Raises `UsageError` if one is unknown or finds no place.
    """
    rng = stream(world.seed, "harmless")
    spares = _spares(world)
    for name, number in world.scenario.harmless.items():
        fault = faults.get(name)
        if fault is None or fault.bucket != "harmless":
            raise UsageError(f"no harmless fault is called {name!r}")
        for _ in range(number):
            ts, node = _place(world, fault, spares, rng)
            cast = bystander(node, ts, world.scenario.fleet.driver, rng)
            occurrence = Occurrence(fault, ts, node, cast.gpu, words(cast, world.fleet, rng))
            world.harmless.append(occurrence)
            if fault.drain:
                back = ts + world.scenario.fleet.repair_h * 3600
                world.outages.append(Outage(node, ts + 60, back, occurrence.drain_reason, fault.drained_by))


def add_small_jobs(world: World, last_job_id: int) -> None:
    """The small jobs of other users, on nodes that the large ones never use."""
    rng = stream(world.seed, "small jobs")
    spares = _spares(world)
    scenario = world.scenario
    number = round(scenario.small_jobs_per_day * scenario.hours / 24)
    if number and not spares:
        raise UsageError("small jobs need a spare node: add nodes")
    starts = sorted(int(rng.uniform(scenario.start_s, scenario.end_s - 3600)) for _ in range(number))
    for job_id, start in enumerate(starts, last_job_id + 10):
        name, user, mean = rng.choice(_SMALL_JOBS)
        end = min(start + int(mean * rng.uniform(0.4, 1.6)), int(scenario.end_s) - 60)
        world.small_jobs.append(SmallJob(job_id, name, user, rng.choice(spares), start, end))


def _spares(world: World) -> list[str]:
    """The nodes that no large job ever uses."""
    used = {node for attempt in world.attempts for node in attempt.nodes}
    return [node for node in world.fleet.nodes if node not in used]


def _place(world: World, fault: Fault, spares: list[str], rng: random.Random) -> tuple[float, str]:
    """When and where a harmless fault happens."""
    if fault.where == "idle":
        if not spares:
            raise UsageError(f"{fault.name!r} needs a spare node: add nodes")
        return rng.uniform(world.scenario.start_s + 600, world.scenario.end_s - 600), rng.choice(spares)
    spans = [(attempt, *_calm(attempt, world.scenario.end_s)) for attempt in world.attempts]
    spans = [span for span in spans if span[2] > span[1]]
    if not spans:
        raise UsageError(f"{fault.name!r} finds no attempt that is long enough")
    attempt, low, high = rng.choices(spans, [span[2] - span[1] for span in spans])[0]
    return rng.uniform(low, high), rng.choice(attempt.nodes)


def _calm(attempt: Attempt, period_end: float) -> tuple[float, float]:
    """The part of an attempt in which a harmless fault may fall."""
    end = attempt.killer.ts if attempt.killer else attempt.end or period_end
    return attempt.start + _AFTER_START_S, end - _BEFORE_END_S
