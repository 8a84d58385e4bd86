"""Slurm: the daemons' own log files, and what its clients and steps print into job output.

Source: slurm `src/common/log.c`. `LogTimeFormat=clock` prints processor time, which is no instant and is not read.
"""

import re
from datetime import datetime

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix

_STEP = r"(?:\[(?P<job>\d+)(?:\+\d+)?\.(?P<step>batch|extern|interactive|TBD|\d+)(?: stepmgr)?\] )?"
_LEVEL = r"(?:(?P<level>fatal|error|warning|debug[2-5]?|internal error): {1,2})?(?:sched: )?"
# [2026-03-05T14:08:23.001] [88123.batch] error: ...   sched: [2026-03-05T14:08:23+01:00] ...   [Mar 05 14:03:22] ...
_DAEMON = re.compile(
    rf"(?:sched: )?\[(?:(?P<stamp>\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{{1,6}})?{stamps.ZONE}?)"
    r"|(?P<month>[A-Z][a-z]{2}) (?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{6}) +\d+ [^\]]{1,80})?)\] ?"
    + _STEP
    + _LEVEL,
)
# slurmstepd: error: *** JOB 88123 ON gpu0411 CANCELLED AT ...   srun: error: gpu0412: task 3: Killed
_CLIENT = re.compile(
    r"(?P<tag>srun|sbatch|salloc|scancel|slurmstepd)(?:-[\w.-]+)?: (?:(?P<level>fatal|error|warning|debug[2-5]?): )?"
)


def _daemon(line: str) -> Prefix | None:
    if not (found := _DAEMON.match(line)):
        return None
    if found["stamp"]:
        stamp = stamps.from_iso(found["stamp"])
    else:
        stamp = stamps.of_parts((None, found["month"], found["day"]), found["clock"], found["fraction"])
    named = {key: found[key] for key in ("step", "level") if found[key]}
    return Prefix(line[found.end() :], stamp, "slurm", job_id=found["job"], fields=named)


def _client(line: str) -> Prefix | None:
    found = _CLIENT.match(line)
    return Prefix(line[found.end() :], channel="job", tag=found["tag"]) if found else None


ENVELOPES = (
    Envelope(
        "slurm",
        "slurm",
        outer=True,
        peel=_daemon,
        starts="[s",
        samples=(
            (
                "[2026-03-05T14:03:22.123] error: Nodes gpu[0412,0417-0418] not responding",
                {
                    "text": "Nodes gpu[0412,0417-0418] not responding",
                    "channel": "slurm",
                    "local_ts": datetime.fromisoformat("2026-03-05T14:03:22.123000"),
                    "utc_offset_s": None,
                    "uncertainty_s": 0.001,
                    "fields": {"level": "error"},
                },
            ),
            (
                "[2026-03-05T14:08:23+01:00] [88123.batch] error: *** JOB 88123 ON gpu0411 CANCELLED AT now ***",
                {
                    "text": "*** JOB 88123 ON gpu0411 CANCELLED AT now ***",
                    "job_id": "88123",
                    "utc_offset_s": 3600,
                    "fields": {"step": "batch", "level": "error"},
                },
            ),
            (
                "[Mar 05 14:03:22.123456  4567 agent        0x7f00aa] debug:  sched: Running job scheduler",
                {"text": "Running job scheduler", "has_year": False, "uncertainty_s": 1e-6},
            ),
        ),
    ),
    Envelope(
        "slurm-client",
        "job",
        outer=True,
        peel=_client,
        starts="s",
        glue=r"\b(?:srun|slurmstepd): (?:error: )?",
        samples=(
            (
                "srun: error: gpu0412: task 3: Killed",
                {"text": "gpu0412: task 3: Killed", "channel": "job", "tag": "srun"},
            ),
            ("slurmstepd: error: *** STEP 88123.0 ON gpu0411 ***", {"text": "*** STEP 88123.0 ON gpu0411 ***"}),
        ),
    ),
)
