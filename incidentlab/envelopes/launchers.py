"""Labels that a launcher puts in front of what its tasks print: srun, torchrun, mpirun, pdsh, and containers' CRI.

Labels of `srun --label` count tasks and torchrun's count local workers: neither is a global rank.
"""

import re
from datetime import datetime

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix

#  12: gpu0412:4567:4890 [3] NCCL INFO ...
_SRUN = re.compile(r" {0,6}(?P<task>\d{1,7}): ")
# [default3]:2026-03-05 14:03:22,123 - INFO - ...
_TORCHRUN = re.compile(r"\[(?P<role>(?!rank\d)[A-Za-z_][\w-]{0,40}?)(?P<local>\d{1,3})\]:")
# [1,3]<stderr>:Traceback (most recent call last):
_MPIRUN = re.compile(r"\[\d+,(?P<rank>\d{1,8})\]<std(?:out|err|diag)>: ?")
# gpu0412: [Thu Mar  5 14:03:22 2026] NVRM: ...        believed only in front of something that is stamped
_PDSH = re.compile(
    r"(?P<host>[A-Za-z][\w-]{0,62}\d[\w.-]{0,190}): (?=\[[ \dA-Z]|<\d|\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:)"
)
# 2026-03-05T13:03:22.123456789Z stderr F Traceback (most recent call last):
_CRI = re.compile(rf"(?P<stamp>{stamps.ISO}{stamps.ZONE}) std(?:out|err) [FP] ")


def _srun(line: str) -> Prefix | None:
    found = _SRUN.match(line)
    return Prefix(line[found.end() :], fields={"task": int(found["task"])}) if found else None


def _torchrun(line: str) -> Prefix | None:
    found = _TORCHRUN.match(line)
    return Prefix(line[found.end() :], channel="job", fields={"local_rank": int(found["local"])}) if found else None


def _mpirun(line: str) -> Prefix | None:
    found = _MPIRUN.match(line)
    return Prefix(line[found.end() :], channel="job", rank=int(found["rank"])) if found else None


def _pdsh(line: str) -> Prefix | None:
    found = _PDSH.match(line)
    return Prefix(line[found.end() :], host=found["host"]) if found else None


def _cri(line: str) -> Prefix | None:
    found = _CRI.match(line)
    return Prefix(line[found.end() :], stamps.from_iso(found["stamp"]), "job") if found else None


ENVELOPES = (
    Envelope(
        "srun-label",
        "job",
        outer=True,
        peel=_srun,
        weak=True,
        samples=((" 3: [rank29]: Traceback (most recent call last):", {"fields": {"task": 3}, "rank": 29}),),
    ),
    Envelope(
        "torchrun",
        "job",
        outer=True,
        peel=_torchrun,
        starts="[",
        samples=(
            (
                "[default3]:2026-03-05 14:03:22,123 - INFO - step 2/20",
                {
                    "text": "step 2/20",
                    "channel": "job",
                    "fields": {"local_rank": 3},
                    "local_ts": datetime.fromisoformat("2026-03-05T14:03:22.123000"),
                },
            ),
        ),
    ),
    Envelope(
        "mpirun",
        "job",
        outer=True,
        peel=_mpirun,
        starts="[",
        samples=(("[1,3]<stderr>:Killed", {"text": "Killed", "rank": 3, "channel": "job"}),),
    ),
    Envelope(
        "pdsh",
        None,
        outer=True,
        peel=_pdsh,
        samples=(
            (
                "gpu0412: [Thu Mar  5 14:03:22 2026] NVRM: x",
                {
                    "text": "NVRM: x",
                    "host": "gpu0412",
                    "channel": "kernel",
                    "local_ts": datetime.fromisoformat("2026-03-05T14:03:22"),
                },
            ),
        ),
    ),
    Envelope(
        "cri",
        "job",
        outer=True,
        peel=_cri,
        starts="0123456789",
        samples=(
            (
                "2026-03-05T13:03:22.123456789Z stderr F [rank7]: Traceback",
                {"text": "Traceback", "rank": 7, "utc_offset_s": 0, "channel": "job"},
            ),
        ),
    ),
)
