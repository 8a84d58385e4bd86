"""Choose which faults strike a job, and when."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from incidentlab.errors import UsageError
from incidentlab.simulate.faults import Fault
from incidentlab.simulate.scenario import JobSpec, Scenario

_CLEARANCE_S = 1800
"""Between two faults of a job, besides the watchdog's time-out: enough for a restart and some steps."""
_TRIES = 10_000


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault that will come, and whether other jobs feel the same one."""

    ts: float
    fault: Fault
    is_shared: bool = False


def plan(job: JobSpec, scenario: Scenario, faults: Mapping[str, Fault], rng: random.Random) -> list[Strike]:
    """All faults of a job, the last first.

    Raises `UsageError` if a fault or cause is unknown, or if they are too many for the period.
    """
    placed = [place for place in scenario.placed if job.name in place.jobs]
    fixed = [
        Strike(scenario.start_s + place.at_h * 3600, _named(faults, place.fault), len(place.jobs) > 1)
        for place in placed
    ]
    drawn = [_choose(faults, cause, rng) for cause, count in job.causes.items() for _ in range(count)]
    rng.shuffle(drawn)
    clearance = job.nccl_timeout_s + _CLEARANCE_S
    low, high = scenario.start_s + clearance, scenario.end_s - clearance
    times = draw_times(rng, len(drawn), (low, high), clearance, [strike.ts for strike in fixed])
    strikes = fixed + [Strike(ts, fault) for ts, fault in zip(times, drawn, strict=True)]
    return sorted(strikes, key=lambda strike: -strike.ts)


def draw_times(
    rng: random.Random, count: int, span: tuple[float, float], apart: float, fixed: list[float]
) -> list[float]:
    """`count` times within the span, uniform but `apart` from each other and from the `fixed` ones.

    Raises `UsageError` if they do not fit.
    """
    low, high = span
    taken = list(fixed)
    for _ in range(count):
        candidates = (rng.uniform(low, high) for _ in range(_TRIES if high > low else 0))
        ts = next((ts for ts in candidates if all(abs(ts - other) >= apart for other in taken)), None)
        if ts is None:
            raise UsageError(f"{count} interruptions do not fit into {(high - low) / 3600:.1f} hours")
        taken.append(ts)
    return taken[len(fixed) :]


def _named(faults: Mapping[str, Fault], name: str) -> Fault:
    if name not in faults or faults[name].death == "none":
        raise UsageError(f"no fault that ends a job is called {name!r}")
    return faults[name]


def _choose(faults: Mapping[str, Fault], cause: str, rng: random.Random) -> Fault:
    known = [fault for fault in faults.values() if fault.cause == cause and fault.death != "none" and fault.weight]
    if not known:
        raise UsageError(f"no fault has the cause {cause!r}")
    return rng.choices(known, [fault.weight for fault in known])[0]
