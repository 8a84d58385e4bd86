"""NCCL's prefix, releases 2.4 to 2.30; the number in brackets is a CUDA ordinal of the process, no GPU index or rank.

Source: nccl `src/debug.cc`. Only warnings are stamped, and only since 2.26; helper threads print ordinal 0.
"""

import re
from datetime import datetime

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix

_PROCESS = r"(?P<host>[A-Za-z0-9][\w-]{0,62}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10}) (?:\[(?P<device>-?\d{1,3})\] )?"
# [2026-03-05 14:03:24] gpu0413:4570:4901 [5] transport/net_ib.cc:2210 (ncclIbTest) NCCL WARN NET/IB: Got completion ...
_LINE = re.compile(
    rf"(?:\[(?P<stamp>[^\]]{{8,40}})\] ?)?{_PROCESS}"
    r"(?:(?P<source>[\w./+-]{1,100}:\d{1,6}) (?:\(\w{1,80}\) )?|[\d.]+ \w+:\d+ )?NCCL (?:INFO|WARN|TRACE|CALL) ?",
)


def _peel(line: str) -> Prefix | None:
    if not (found := _LINE.match(line)):
        return None
    named = {"pid": int(found["pid"]), "cuda_device": int(found["device"]) if found["device"] else None}
    return Prefix(
        line[found.end() :],
        stamps.read(found["stamp"]) if found["stamp"] else None,
        "job",
        found["host"],
        fields={key: value for key, value in {**named, "source": found["source"]}.items() if value is not None},
    )


ENVELOPE = Envelope(
    "nccl",
    "job",
    outer=True,
    peel=_peel,
    glue=r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?"
    r"(?<![\w-])[A-Za-z][\w-]{0,62}:\d+:\d+ (?:\[\d+\] )?(?:[\w./+-]{1,100}:\d+ )?NCCL (?:INFO|WARN) ",
    samples=(
        (
            "gpu0412:4567:4890 [3] NCCL INFO Channel 02/0 : 3[3] -> 4[4] [send] via NET/IB/2/GDRDMA",
            {
                "text": "Channel 02/0 : 3[3] -> 4[4] [send] via NET/IB/2/GDRDMA",
                "host": "gpu0412",
                "channel": "job",
                "stamp": None,
                "fields": {"pid": 4567, "cuda_device": 3},
            },
        ),
        (
            "[2026-03-05 14:03:24] gpu0413:4570:4901 [5] transport/net_ib.cc:2210 NCCL WARN NET/IB: Got completion",
            {
                "text": "NET/IB: Got completion",
                "local_ts": datetime.fromisoformat("2026-03-05T14:03:24"),
                "utc_offset_s": None,
                "fields": {"pid": 4570, "cuda_device": 5, "source": "transport/net_ib.cc:2210"},
            },
        ),
        ("gpu0413:4570:4901 [5] ras/client.cc:83 (rasRun) NCCL WARN x", {"text": "x", "host": "gpu0413"}),
        ("gpu0413:4570:4901 NCCL CALL ncclAllReduce", {"text": "ncclAllReduce"}),
    ),
)
