"""Syslog with a version and structured data, as RFC 5424 lays down."""

import re
from datetime import datetime

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.envelopes._programs import from_program
from incidentlab.model import Prefix

# <4>1 2026-03-05T14:03:22.123456+01:00 gpu0412 kernel - - - [412345.678901] NVRM: ...
_HEADER = re.compile(
    rf"<\d{{1,3}}>1 (?P<stamp>{stamps.ISO}{stamps.ZONE}|-) (?P<host>\S+) (?P<tag>\S+) (?:(?P<pid>(?!-)\S+)|-) \S+ "
    r'(?:-|(?:\[[^\s\]="]+(?: [^\s\]="]+="(?:[^"\\]|\\.)*")*\])+) ?\ufeff?',
)


def _peel(line: str) -> Prefix | None:
    if not (found := _HEADER.match(line)):
        return None
    return from_program(stamps.from_iso(found["stamp"]), found, line[found.end() :])


ENVELOPE = Envelope(
    "syslog-rfc5424",
    None,
    outer=True,
    peel=_peel,
    starts="<",
    samples=(
        (
            "<4>1 2026-03-05T14:03:22.5+01:00 gpu0412 kernel - - - [ 5245.304902] NVRM: loading",
            {
                "text": "NVRM: loading",
                "channel": "kernel",
                "host": "gpu0412",
                "local_ts": datetime.fromisoformat("2026-03-05T14:03:22.500000"),
                "utc_offset_s": 3600,
                "uptime_s": 5245.304902,
                "uncertainty_s": 0.1,
            },
        ),
        (
            '<30>1 2026-03-05T14:03:22Z ctl01 slurmctld 812 - [x@1 a="b \\"c"] error: Nodes gpu0412 not responding',
            {"text": "error: Nodes gpu0412 not responding", "channel": "slurm", "host": "ctl01", "tag": "slurmctld"},
        ),
    ),
)
