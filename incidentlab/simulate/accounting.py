"""What the accounting shows: the text of `sacct -P`, one row for each attempt and, if asked for, for its steps.

Columns and spellings: SchedMD/slurm src/sacct, src/common/parse_time.c.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from incidentlab.simulate import stamps
from incidentlab.simulate.files import write_text
from incidentlab.simulate.fleet import CPUS_PER_NODE, GPUS_PER_NODE
from incidentlab.simulate.world import Attempt, SmallJob, World

Row = dict[str, str | int]
"""The values of one record by column; instants are kept as seconds under `submit`, `start` and `end`."""

_UID = 20011
_COLUMNS: Mapping[str, str] = {
    "minimal": "JobID|JobName|User|State|ExitCode|Start|End|NNodes|AllocTRES|NodeList",
    "standard": "JobIDRaw|JobID|JobName|User|Account|Partition|State|ExitCode|Submit|Start|End|ElapsedRaw|Timelimit"
    "|NNodes|AllocTRES|NodeList|Reason",
    "wide": "Cluster|JobIDRaw|JobID|JobName|User|UID|Account|Partition|QOS|State|ExitCode|DerivedExitCode|Submit"
    "|Eligible|Start|End|Elapsed|ElapsedRaw|Timelimit|NNodes|NCPUS|ReqTRES|AllocTRES|NodeList|Reason|FailedNode"
    "|Restarts|WorkDir|Comment",
}


def write_accounting(world: World, folder: Path) -> None:
    """Write sacct.txt; without duplicates only the last attempt of a job id shows, as sacct does without -D."""
    columns = _COLUMNS[world.scenario.logs.sacct].split("|")
    rows = sorted(
        [*map(_attempt, world.attempts), *map(_small, world.small_jobs)], key=lambda row: (row["start"], row["JobID"])
    )
    if not world.scenario.logs.has_duplicates:
        rows = list({row["JobID"]: row for row in rows}.values())
    lines = ["|".join(columns)]
    for row in rows:
        family = (row, *_steps(row)) if world.scenario.logs.has_steps else (row,)
        lines += ["|".join(_cell(member, column, world) for column in columns) for member in family]
    write_text(folder / "sacct.txt", lines)


def _cell(row: Row, column: str, world: World) -> str:
    """One value as sacct prints it."""
    if column in ("Submit", "Eligible", "Start", "End"):
        ts = int(row["start" if column == "Start" else "end" if column == "End" else "submit"])
        return stamps.iso(stamps.local(ts, world.scenario.tz)) if ts else "Unknown"
    if column in ("Elapsed", "ElapsedRaw"):
        seconds = (int(row["end"]) or int(world.scenario.end_s)) - int(row["start"])
        return str(seconds) if column == "ElapsedRaw" else _duration(seconds)
    return str(row.get(column, ""))


def _attempt(attempt: Attempt) -> Row:
    nodes = len(attempt.nodes)
    end = attempt.end or 0
    limit = _duration((end - attempt.start) // 60 * 60) if attempt.state == "TIMEOUT" else "UNLIMITED"
    return {
        "submit": attempt.submit,
        "start": attempt.start,
        "end": end,
        "batch_host": attempt.nodes[0],
        "Cluster": "demo",
        "JobIDRaw": attempt.job_id,
        "JobID": attempt.job_id,
        "JobName": attempt.job.name,
        "User": attempt.job.user,
        "UID": _UID,
        "Account": attempt.job.account,
        "Partition": attempt.job.partition,
        "QOS": "normal",
        "State": attempt.state,
        "ExitCode": attempt.exit_code,
        "DerivedExitCode": attempt.exit_code,
        "Timelimit": limit,
        "NNodes": nodes,
        "NCPUS": nodes * CPUS_PER_NODE,
        "ReqTRES": _tres(nodes),
        "AllocTRES": _tres(nodes),
        "NodeList": attempt.hostlist,
        "Reason": "None",
        "FailedNode": attempt.killer.node if attempt.killer and attempt.state == "NODE_FAIL" else "",
        "Restarts": attempt.number - 1,
        "WorkDir": f"/home/{attempt.job.user}/{attempt.job.name}",
    }


def _small(job: SmallJob) -> Row:
    return {
        "submit": job.start - 1,
        "start": job.start,
        "end": job.end,
        "batch_host": job.node,
        "Cluster": "demo",
        "JobIDRaw": job.job_id,
        "JobID": job.job_id,
        "JobName": job.name,
        "User": job.user,
        "Account": "lab",
        "Partition": "dev",
        "QOS": "normal",
        "State": "COMPLETED",
        "ExitCode": "0:0",
        "DerivedExitCode": "0:0",
        "Timelimit": "08:00:00",
        "NNodes": 1,
        "NCPUS": 16,
        "AllocTRES": "billing=16,cpu=16,gres/gpu:h100=1,gres/gpu=1,mem=200G,node=1",
        "NodeList": job.node,
        "Reason": "None",
        "Restarts": 0,
    }


_JOB_ONLY = ("User", "UID", "Partition", "QOS", "DerivedExitCode", "Timelimit", "ReqTRES", "Reason", "FailedNode")
_STEP_STATES = {
    "CANCELLED": ("CANCELLED", "0:15"),
    "NODE_FAIL": ("CANCELLED", "0:15"),
    "REQUEUED": ("CANCELLED", "0:15"),
    "PREEMPTED": ("CANCELLED", "0:15"),
    "TIMEOUT": ("CANCELLED", "0:15"),
}


def _steps(row: Row) -> Iterator[Row]:
    """The rows of batch script, extern step and srun step of one attempt."""
    head = str(row["State"]).partition(" ")[0]
    state, code = _STEP_STATES.get(head, (head, str(row["ExitCode"])))
    blank: Row = dict.fromkeys(_JOB_ONLY, "")
    for step, name in (("batch", "batch"), ("extern", "extern"), ("0", "train.sh")):
        outcome = ("COMPLETED", "0:0") if step == "extern" else (state, code)
        one_node: Row = {"NNodes": 1, "NodeList": row["batch_host"]} if step == "batch" else {}
        ids: Row = {"JobID": f"{row['JobID']}.{step}", "JobIDRaw": f"{row['JobIDRaw']}.{step}", "JobName": name}
        yield {**row, **blank, **one_node, **ids, "State": outcome[0], "ExitCode": outcome[1], "submit": row["start"]}


def _tres(nodes: int) -> str:
    """Trackable resources; the typed and the untyped count of GPUs are the same GPUs."""
    cpus, gpus = nodes * CPUS_PER_NODE, nodes * GPUS_PER_NODE
    return f"billing={cpus},cpu={cpus},gres/gpu:h100={gpus},gres/gpu={gpus},mem={nodes * 2000}G,node={nodes}"


def _duration(seconds: int) -> str:
    """As Slurm writes it: [D-]HH:MM:SS."""
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{days}-{clock}" if days else clock
