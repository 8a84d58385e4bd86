"""Finished jobs as Slurm's plugin jobcomp/filetxt writes them: one line a run, `Key=value`, nothing quoted.

Keys keep their order (src/plugins/jobcomp/filetxt), so a name with blanks and equals signs still has its two ends. A
line is written when a run is over: one that is PENDING went back to the queue, which accounting calls REQUEUED.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import re2

from incidentlab.model import Row
from incidentlab.parsers import Lines, Parser, Sample, Unparsed, slurm_values

# JobId=7301 UserId=mia(1007) GroupId=mia(1007) Name=train it JobState=FAILED Partition=gpu TimeLimit=60 StartTime=...
_LINE = re2.compile(
    r"JobId=(?P<JobId>\d+) UserId=(?P<UserId>[^ (]*)\S* GroupId=\S* Name=(?P<Name>.*) JobState=(?P<JobState>\S+) "
    r"Partition=(?P<Partition>\S*) TimeLimit=(?P<TimeLimit>\S*) StartTime=(?P<StartTime>\S*) "
    r"EndTime=(?P<EndTime>\S*) NodeList=(?P<NodeList>.*) NodeCnt=(?P<NodeCnt>\d*) ProcCnt=\d* WorkDir=(?P<WorkDir>.*)"
)
_PAIR = re.compile(r" (?P<key>[A-Z]\w+)=(?P<value>\S*)")
_TAIL = re.compile(r" ReservationName=| Tres=| Account=| SubmitTime=| DerivedExitCode=")
_RECOGNISED = re.compile(rb"(?m)^JobId=\d+ UserId=\S* GroupId=\S* Name=.* JobState=[A-Z_]+ ")

# what the plugin writes where slurmdbd does not name the cluster
_NO_CLUSTER = (None, "", "unknown", "(null)")


def _recognise(head: bytes) -> bool:
    return bool(_RECOGNISED.match(head))


def _parse(lines: Lines) -> Iterator[Row | Unparsed]:
    for line_no, line in lines:
        match = _LINE.match(line)
        try:
            if match:
                yield Row("job_records", {"line_no": line_no, **_values(match.groupdict())})
            elif line.strip():
                yield Unparsed(line_no, "not a record of a finished job")
        except ValueError as error:
            yield Unparsed(line_no, str(error))


def _values(cells: dict[str, str]) -> dict[str, Any]:
    work_dir, more = _split_tail(cells["WorkDir"])
    state, _ = slurm_values.state(cells["JobState"])
    code, signal = slurm_values.exit_code(more.get("ExitCode", ""))
    derived, _ = slurm_values.exit_code(more.get("DerivedExitCode", ""))
    start_ts, utc_offset_s = slurm_values.instant(cells["StartTime"])
    end_ts, _ = slurm_values.instant(cells["EndTime"])
    return {
        "cluster": None if more.get("Cluster") in _NO_CLUSTER else more["Cluster"],
        "job_id": _job_id(cells["JobId"], more),
        "job_number": cells["JobId"],
        "name": cells["Name"] or None,
        "user_name": cells["UserId"] or None,
        "account": more.get("Account") or None,
        "partition": cells["Partition"] or None,
        "state": "REQUEUED" if state == "PENDING" else state,
        "exit_code": code,
        "exit_signal": signal,
        "derived_exit_code": derived,
        "submit_ts": slurm_values.instant(more.get("SubmitTime", ""))[0],
        "eligible_ts": slurm_values.instant(more.get("EligibleTime", ""))[0],
        "start_ts": start_ts,
        "end_ts": end_ts,
        "utc_offset_s": utc_offset_s,
        "elapsed_s": int((end_ts - start_ts).total_seconds()) if start_ts and end_ts else None,
        "timelimit_s": slurm_values.minutes(cells["TimeLimit"]),
        "node_count": slurm_values.integer(cells["NodeCnt"]),
        "gpu_count": slurm_values.gpus(more.get("Tres", "")),
        "nodes": list(slurm_values.nodes(cells["NodeList"])) or None,
        "work_dir": work_dir or None,
    }


def _split_tail(text: str) -> tuple[str, dict[str, str]]:
    """The working directory, and the keys after it, which older releases lack."""
    tail = _TAIL.search(text)
    end = tail.start() if tail else len(text)
    return text[:end].strip(), {match["key"]: match["value"] for match in _PAIR.finditer(text, end)}


def _job_id(number: str, more: dict[str, str]) -> str:
    """The id as other commands print it: `88200_7` for a task of an array, `88300+1` for a component."""
    if {"ArrayJobId", "ArrayTaskId"} <= more.keys():
        return f"{more['ArrayJobId']}_{more['ArrayTaskId']}"
    if {"HetJobId", "HetJobOffset"} <= more.keys():
        return f"{more['HetJobId']}+{more['HetJobOffset']}"
    return number


_SAMPLE = (
    "JobId=7305 UserId=mia(1007) GroupId=mia(1007) Name=sweep JobState=NODE_FAIL=x JobState=FAILED Partition=gpu "
    "TimeLimit=60 StartTime=2026-03-03T08:00:11 EndTime=2026-03-03T08:10:11 NodeList=n[09-10] NodeCnt=2 ProcCnt=4 "
    "WorkDir=/home/mia/two words ReservationName= Tres=cpu=4,gres/gpu=16,node=2 Account=llm QOS=normal WcKey= "
    "Cluster=tern SubmitTime=2026-03-03T08:00:00 EligibleTime=2026-03-03T08:00:00 ArrayJobId=7304 ArrayTaskId=1 "
    "DerivedExitCode=0:0 ExitCode=1:0 \n"
)

PARSER = Parser(
    name="jobcomp",
    channel="accounting",
    recognise=_recognise,
    parse=_parse,
    samples=(
        Sample(
            _SAMPLE,
            (
                Row(
                    "job_records",
                    {
                        "line_no": 1,
                        "cluster": "tern",
                        "job_id": "7304_1",
                        "name": "sweep JobState=NODE_FAIL=x",
                        "user_name": "mia",
                        "account": "llm",
                        "state": "FAILED",
                        "exit_code": 1,
                        "start_ts": datetime.fromisoformat("2026-03-03T08:00:11"),
                        "elapsed_s": 600,
                        "timelimit_s": 3600,
                        "node_count": 2,
                        "gpu_count": 16,
                        "nodes": ["n09", "n10"],
                        "work_dir": "/home/mia/two words",
                    },
                ),
            ),
        ),
    ),
)
