"""Job accounting as `sacct` prints it: -P, -p, any delimiter, any columns with a header, or fixed columns.

Columns are found by name, since their order and number change with each release of Slurm (src/sacct/options.c).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from incidentlab import hosts
from incidentlab.model import Row
from incidentlab.parsers import Lines, Parser, Sample, Unparsed, slurm_table, slurm_values

_FREE = (
    *("jobname", "comment", "admincomment", "systemcomment", "extra", "submitline", "workdir", "constraints"),
    *("reason", "container", "stdin", "stdout", "stderr"),
)
_INSTANTS = ("submit", "eligible", "start", "end")
_GRAMMAR = slurm_table.Grammar(
    readers={
        "jobid": slurm_values.job_and_step,
        "jobidraw": slurm_values.job_and_step,
        "state": slurm_values.state,
        "exitcode": slurm_values.exit_code,
        "derivedexitcode": slurm_values.exit_code,
        **dict.fromkeys(_INSTANTS, slurm_values.instant),
        **dict.fromkeys(("elapsed", "timelimit", "suspended", "reserved", "planned"), slurm_values.duration),
        "elapsedraw": slurm_values.seconds,
        "timelimitraw": slurm_values.minutes,
        **dict.fromkeys(("nnodes", "allocnodes", "ncpus", "alloccpus", "restarts"), slurm_values.integer),
        "alloctres": slurm_values.gpus,
        "nodelist": slurm_values.host_list,
    },
    free=frozenset(_FREE),
)
_IDS = frozenset(("jobid", "jobidraw"))
_HEAD_LINES = 5


def _head(line: str, before: str) -> slurm_table.Delimited | slurm_table.FixedWidth | None:
    """The table that the line opens: sacct writes `JobID`, where squeue writes `JOBID`."""
    if "JobID" not in line and "JobID" not in before:
        return None
    table = slurm_table.dashed(before, line, _GRAMMAR) or slurm_table.delimited(line, _GRAMMAR)
    if table and _IDS.intersection(table.columns) and _GRAMMAR.readers.keys() & set(table.columns) - _IDS:
        return table
    return None


def _recognise(head: bytes) -> bool:
    lines = head.decode("utf-8", "replace").splitlines()[:_HEAD_LINES]
    return any(_head(line, before) for before, line in zip(["", *lines], lines, strict=False))


def _parse(lines: Lines) -> Iterator[Row | Unparsed]:
    for record in slurm_table.records(lines, _head):
        if isinstance(record, Unparsed):
            yield record
        elif not _job(record):
            yield Unparsed(record.line_no, "the job id is cut off")
        else:
            yield Row("job_records", _values(record))


def _job(record: slurm_table.Record) -> tuple[str, str | None] | None:
    """Job and step; column JobID tells array tasks and components, JobIDRaw does not."""
    return record.values.get("jobid") or record.values.get("jobidraw")


def _values(record: slurm_table.Record) -> dict[str, Any]:
    cells = record.values
    job_id, step = _job(record) or (None, None)
    state, state_by = cells.get("state") or (None, None)
    code, signal = cells.get("exitcode") or (None, None)
    derived, _ = cells.get("derivedexitcode") or (None, None)
    return {
        "line_no": record.line_no,
        "line_count": record.line_count,
        "job_id": job_id,
        "job_number": (cells.get("jobidraw") or (None, None))[0],
        "step": step,
        "state": state,
        "state_by": state_by,
        "exit_code": code,
        "exit_signal": signal,
        "derived_exit_code": derived,
        **_instants([cells.get(name) or (None, None) for name in _INSTANTS]),
        "elapsed_s": _first(cells.get("elapsedraw"), cells.get("elapsed")),
        "timelimit_s": _first(cells.get("timelimitraw"), cells.get("timelimit")),
        "node_count": _first(cells.get("nnodes"), cells.get("allocnodes")),
        "gpu_count": cells.get("alloctres"),
        "nodes": None if step else list(hosts.expand(cells.get("nodelist") or "")) or None,
        "restart_count": cells.get("restarts"),
        **_texts(cells),
    }


def _texts(cells: dict[str, Any]) -> dict[str, str | None]:
    """The columns that are kept as they stand; an empty one, or the word None, is NULL."""
    kept = {
        "cluster": "cluster",
        "name": "jobname",
        "user_name": "user",
        "account": "account",
        "partition": "partition",
        "reason": "reason",
        "failed_node": "failednode",
        "work_dir": "workdir",
    }
    texts = {column: cells.get(name) or None for column, name in kept.items()}
    for column in ("reason", "failed_node"):
        texts[column] = None if slurm_values.is_unset(texts[column] or "") else texts[column]
    comments = (cells.get(name) for name in ("comment", "admincomment", "systemcomment"))
    return {**texts, "comment": "; ".join(filter(None, comments)) or None}


def _instants(stamps: list[tuple[datetime | None, int | None]]) -> dict[str, Any]:
    """The four times and their common offset; times with several offsets (a clock change between them) become UTC."""
    offsets = {offset for _, offset in stamps if offset is not None}
    if len(offsets) > 1:
        stamps = [(local and local - timedelta(seconds=offset or 0), 0) for local, offset in stamps]
        offsets = {0}
    times = {f"{name}_ts": local for name, (local, _) in zip(_INSTANTS, stamps, strict=True)}
    return {**times, "utc_offset_s": offsets.pop() if offsets else None}


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


# sacct -D -P: a job that was put back in the queue after a node failed, and one whose name holds the delimiter.
_PARSABLE = """\
JobID|JobName|User|State|ExitCode|Start|End|ElapsedRaw|NNodes|AllocTRES|NodeList
7301|pretrain-9b|mia|NODE_FAIL|1:0|2026-03-03T08:00:11|2026-03-03T09:10:11|4200|2|gres/gpu:h100=16,gres/gpu=16|n[09-10]
7301.batch|batch||CANCELLED|0:15|2026-03-03T08:00:11|2026-03-03T09:10:12|4201|1|gres/gpu=8|n09
7302_4|sweep|lr=3e-4|mia|CANCELLED by 1007|0:0|2026-03-03T09:12:00|Unknown|60|1|gres/gpu:a100=1,gres/gpu:h100=2|n11
"""

# sacct -P -o jobidraw,jobid,state: the nodes know the task of an array by its plain number.
_BOTH_IDS = """\
JobIDRaw|JobID|State
7306|7302_4|FAILED
"""

# sacct without options: fixed columns, long cells cut and marked with +.
_FIXED = """\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
7303         pretrain-+      train        llm        128 OUT_OF_ME+    0:125
"""

PARSER = Parser(
    name="sacct",
    channel="accounting",
    recognise=_recognise,
    parse=_parse,
    samples=(
        Sample(
            _PARSABLE,
            (
                Row(
                    "job_records",
                    {
                        "line_no": 2,
                        "job_id": "7301",
                        "step": None,
                        "name": "pretrain-9b",
                        "user_name": "mia",
                        "state": "NODE_FAIL",
                        "exit_code": 1,
                        "exit_signal": 0,
                        "start_ts": datetime.fromisoformat("2026-03-03T08:00:11"),
                        "end_ts": datetime.fromisoformat("2026-03-03T09:10:11"),
                        "utc_offset_s": None,
                        "elapsed_s": 4200,
                        "node_count": 2,
                        "gpu_count": 16,
                        "nodes": ["n09", "n10"],
                    },
                ),
                Row(
                    "job_records", {"line_no": 3, "job_id": "7301", "step": "batch", "exit_signal": 15, "gpu_count": 8}
                ),
                Row(
                    "job_records",
                    {
                        "line_no": 4,
                        "job_id": "7302_4",
                        "name": "sweep|lr=3e-4",
                        "state": "CANCELLED",
                        "state_by": "1007",
                        "end_ts": None,
                        "gpu_count": 3,
                    },
                ),
            ),
        ),
        Sample(_BOTH_IDS, (Row("job_records", {"job_id": "7302_4", "job_number": "7306", "step": None}),)),
        Sample(
            _FIXED,
            (
                Row(
                    "job_records",
                    {
                        "line_no": 3,
                        "job_id": "7303",
                        "name": "pretrain-+",
                        "state": "OUT_OF_MEMORY",
                        "exit_signal": 125,
                    },
                ),
            ),
        ),
    ),
)
