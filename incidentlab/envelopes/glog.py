"""PyTorch's own prefixes: the rank in front, and the glog shapes of its C++ and Python parts.

Sources: pytorch `c10/util/Logging.cpp`, `torch/_logging/_internal.py`. C++ writes the date as month * 100 + day
without padding (`E305` is 5 March), Python pads it; neither has a year.
"""

import re
from datetime import datetime

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix

_MONTH_WEIGHT = 100
# [rank7]:[E305 14:03:22.123456789 ProcessGroupNCCL.cpp:616] ...      [rank7]: Traceback (most recent call last):
_RANK = re.compile(r"\[rank(?P<rank>\d{1,8})\]: ?")
# [E305 14:03:22.123456789 ProcessGroupNCCL.cpp:616] ...      before 2.4: [E ProcessGroupNCCL.cpp:616] ...
_CPP = re.compile(
    r"\[[IWEF](?:(?P<date>\d{3,4}) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d{3,9}))? "
    r"(?P<source>[\w./+-]{1,200}:\d{1,6})\] ?",
)
# E0305 14:03:22.123000 4567 torch/distributed/elastic/multiprocessing/api.py:826] ...
_PYTHON = re.compile(
    r"[IWEVCF](?P<date>\d{4}) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d{6}) +\d+ "
    r"(?P<source>[^\s\]]{1,300}:\d{1,6})\] ?",
)


def _rank(line: str) -> Prefix | None:
    found = _RANK.match(line)
    return Prefix(line[found.end() :], channel="job", rank=int(found["rank"])) if found else None


def _cpp(line: str) -> Prefix | None:
    found = _CPP.match(line)
    return _prefix(found, line) if found else None


def _python(line: str) -> Prefix | None:
    found = _PYTHON.match(line)
    return _prefix(found, line) if found else None


def _prefix(found: re.Match[str], line: str) -> Prefix:
    stamp = None
    if found["date"]:
        month, day = divmod(int(found["date"]), _MONTH_WEIGHT)
        stamp = stamps.of_parts((None, month, day), found["clock"], found["fraction"])
    return Prefix(line[found.end() :], stamp, "job", fields={"source": found["source"]})


_AT = datetime.fromisoformat("2000-03-05T14:03:22.123456")

ENVELOPES = (
    Envelope(
        "rank",
        "job",
        outer=True,
        peel=_rank,
        starts="[",
        glue=r"\[rank\d+\]: ?",
        samples=(
            ("[rank7]: Traceback (most recent call last):", {"text": "Traceback (most recent call last):", "rank": 7}),
        ),
    ),
    Envelope(
        "glog-cpp",
        "job",
        outer=True,
        peel=_cpp,
        starts="[",
        glue=r"\[[IWEF]\d{3,4} \d\d:\d\d:\d\d\.\d+ [\w./]+:\d+\] ",
        samples=(
            (
                "[rank7]:[E305 14:03:22.123456789 ProcessGroupNCCL.cpp:616] [Rank 7] Watchdog",
                {
                    "text": "[Rank 7] Watchdog",
                    "rank": 7,
                    "local_ts": _AT,
                    "has_year": False,
                    "fields": {"source": "ProcessGroupNCCL.cpp:616"},
                },
            ),
            ("[E101 00:00:00.5000 Store.cpp:1] x", {"local_ts": datetime.fromisoformat("2000-01-01T00:00:00.500000")}),
            (
                "[W1130 23:59:59.000001 Store.cpp:1] x",
                {"local_ts": datetime.fromisoformat("2000-11-30T23:59:59.000001")},
            ),
            ("[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog", {"text": "[Rank 1] Watchdog", "stamp": None}),
        ),
    ),
    Envelope(
        "glog-python",
        "job",
        outer=True,
        peel=_python,
        starts="IWEVCF",
        glue=r"\b[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ torch/",
        samples=(
            (
                "E0305 14:03:22.123456 4567 torch/distributed/elastic/api.py:826] failed (exitcode: -6)",
                {"text": "failed (exitcode: -6)", "local_ts": _AT, "has_year": False, "channel": "job"},
            ),
        ),
    ),
)
