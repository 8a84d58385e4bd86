"""A GPU fleet with known truth that writes raw logs: for the sample stories, the demo, the tests and the benchmarks.

A scenario (TOML) goes through four stages: `timeline` lets it happen, the result is a `World`; `hosts`, `slurm`,
`accounting` and `jobfiles` write what the programs of such a cluster write; `truth` writes what happened. Faults are
data in `faults/*.toml`. Everything is a function of scenario and seed.
"""

from pathlib import Path

from incidentlab.errors import UsageError
from incidentlab.simulate.accounting import write_accounting
from incidentlab.simulate.hostfiles import write_hosts
from incidentlab.simulate.hosts import host_lines
from incidentlab.simulate.jobfiles import write_jobs
from incidentlab.simulate.scenario import Scenario, find_scenario, load_scenario
from incidentlab.simulate.slurm import write_controller_log, write_drain_reasons
from incidentlab.simulate.timeline import Director
from incidentlab.simulate.truth import Truth, tell_truth, write_truth

__all__ = ["Scenario", "Truth", "find_scenario", "load_scenario", "simulate"]


def simulate(scenario: Path, out: Path, seed: int | None = None) -> Truth:
    """Play a scenario and write `out`/logs/, `out`/truth.csv and `out`/story.toml; `seed` replaces the scenario's own.

    Raises `UsageError` if the scenario does not fit, or `out` holds something already or cannot be a folder.
    """
    spec = load_scenario(scenario)
    world = Director(spec, spec.seed if seed is None else seed).direct()
    _claim(out)
    logs = out / "logs"
    logs.mkdir()
    write_hosts(world, host_lines(world), logs)
    write_controller_log(world, logs)
    write_drain_reasons(world, logs)
    write_accounting(world, logs)
    write_jobs(world, logs)
    truth = tell_truth(world)
    write_truth(truth, world, scenario.stem, out)
    return truth


def _claim(out: Path) -> None:
    """Make the folder `out`, or see that it is empty."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        is_taken = any(out.iterdir())
    except OSError as error:
        raise UsageError(f"cannot be a folder ({error.strerror}); choose another -o", str(out)) from error
    if is_taken:
        raise UsageError("is not empty; choose another -o", str(out))
