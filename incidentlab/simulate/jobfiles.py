"""Write the output of each attempt to a file of its own, lines in order of time."""

from pathlib import Path

from incidentlab.simulate.cascade import Cascade
from incidentlab.simulate.files import write_text
from incidentlab.simulate.fleet import stream
from incidentlab.simulate.training import JobLine, life
from incidentlab.simulate.world import Attempt, World


def write_jobs(world: World, folder: Path) -> None:
    """Write the output of all attempts below `folder`/jobs."""
    for attempt in world.attempts:
        name = f"{attempt.job.name}-{attempt.job_id}.{attempt.number - 1}.out"
        write_text(folder / "jobs" / attempt.job.name / name, _labelled(attempt, world), world.scenario.logs.codec)


def job_lines(attempt: Attempt, world: World) -> list[JobLine]:
    """All lines of an attempt in order of time; lines of one instant keep their order."""
    rng = stream(world.seed, f"job {attempt.job_id}.{attempt.number}")
    lines = list(life(attempt, world, rng))
    if attempt.killer and attempt.end is not None:
        lines += Cascade(attempt, attempt.killer, attempt.end, world, rng).lines()
    return sorted(lines, key=lambda line: line.ts)


def _labelled(attempt: Attempt, world: World) -> list[str]:
    """The texts, with the task's number before each if srun was told so (`--label`)."""
    lines = job_lines(attempt, world)
    if not world.scenario.logs.label:
        return [line.text for line in lines]
    width = len(str(len(attempt.nodes) - 1))
    return [line.text if line.place is None else f"{line.place:{width}d}: {line.text}" for line in lines]
