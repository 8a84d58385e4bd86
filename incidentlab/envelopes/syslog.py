"""Syslog files and the journal's one-line outputs: stamp, host, program, text.

Sources: RFC 3164, rsyslog's RSYSLOG_TraditionalFileFormat and RSYSLOG_FileFormat, systemd `logs-show.c`.
"""

import re
from datetime import datetime
from typing import Any

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.envelopes._programs import HOST_TAG, from_program
from incidentlab.model import Prefix

# <4>Mar  5 14:03:22 gpu0412 kernel: [412345.678901] NVRM: ...   and the journal's  Mar 05 14:03:22.123456 gpu0412 ...
_RFC3164 = re.compile(
    r"(?:<\d{1,3}>)?(?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]?\d) (?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))? "
    + HOST_TAG,
)
# 2026-03-05T14:03:22.123456+01:00 gpu0412 kernel: NVRM: ...   and the journal's  2026-03-05T14:03:22+0100 gpu0412 ...
_ISO = re.compile(
    rf"(?:<\d{{1,3}}>)?(?P<stamp>\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{{1,9}})?{stamps.ZONE}) {HOST_TAG}"
)
# Thu 2026-03-05 14:03:22 CET gpu0412 kernel: NVRM: ...
_FULL = re.compile(rf"[A-Z][a-z]{{2}} (?P<stamp>{stamps.ISO}) (?P<zone>[A-Z]{{1,5}}|{stamps.ZONE}) {HOST_TAG}")
# 1772715802.123456 gpu0412 kernel: NVRM: ...
_UNIX = re.compile(rf"(?P<stamp>\d{{9,10}}\.\d{{6}}) {HOST_TAG}")
# [412345.678901] gpu0412 kernel: NVRM: ...   and short-delta's  [412345.678901 <    0.000012>] gpu0412 ...
_MONOTONIC = re.compile(rf"\[ *(?P<uptime>\d+\.\d{{6}})(?: <[ +\d.]+>)?\] (?=\S+ \S+: ){HOST_TAG}")

# Abbreviations as the time zone database prints them; CST, IST and BST mean several zones and are left to the site's.
_ZONE_NAMES = {
    "UTC": "Z", "GMT": "Z", "Z": "Z", "WET": "Z", "WEST": "+01:00", "CET": "+01:00", "CEST": "+02:00", "EET": "+02:00",
    "EEST": "+03:00", "MSK": "+03:00", "JST": "+09:00", "KST": "+09:00", "EST": "-05:00", "EDT": "-04:00",
    "CDT": "-05:00", "MST": "-07:00", "MDT": "-06:00", "PST": "-08:00", "PDT": "-07:00",
}  # fmt: skip


def _rfc3164(line: str) -> Prefix | None:
    if not (found := _RFC3164.match(line)):
        return None
    stamp = stamps.of_parts((None, found["month"], found["day"]), found["clock"], found["fraction"])
    return from_program(stamp, found, line[found.end() :]) if stamp else None


def _iso(line: str) -> Prefix | None:
    if not (found := _ISO.match(line)):
        return None
    stamp = stamps.from_iso(found["stamp"])
    return from_program(stamp, found, line[found.end() :]) if stamp else None


def _full(line: str) -> Prefix | None:
    if not (found := _FULL.match(line)):
        return None
    zone = found["zone"]
    stamp = stamps.from_iso(found["stamp"] + (zone if zone[0] in "+-" else _ZONE_NAMES.get(zone, "")))
    return from_program(stamp, found, line[found.end() :]) if stamp else None


def unix(line: str) -> Prefix | None:
    """The journal's `short-unix`; its json and export forms are rewritten to it."""
    if not (found := _UNIX.match(line)):
        return None
    return from_program(stamps.from_epoch(found["stamp"]), found, line[found.end() :])


def _monotonic(line: str) -> Prefix | None:
    if not (found := _MONOTONIC.match(line)):
        return None
    return from_program(stamps.since_boot(found["uptime"]), found, line[found.end() :])


def _expected(text: str, channel: str, local: datetime | None, **more: Any) -> dict[str, Any]:
    return {"text": text, "channel": channel, "local_ts": local, "host": "gpu0412", **more}


_FELL = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."
_AT = datetime.fromisoformat("2026-03-05T14:03:22")
_AT_PRECISE = _AT.replace(microsecond=123456)

ENVELOPES = (
    Envelope(
        "syslog-rfc3164",
        None,
        outer=True,
        peel=_rfc3164,
        glue=r"(?<![\w<>])[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [\w./-]+(?:\[\d+\])?: ",
        samples=(
            (
                f"Mar  5 14:03:22 gpu0412 kernel: [412345.678901] {_FELL}",
                _expected(_FELL, "kernel", _AT.replace(year=2000), has_year=False, uptime_s=412345.678901),
            ),
            (
                f"Mar 05 14:03:22.123456 gpu0412 NVRM: {_FELL[6:]}",
                _expected(_FELL, "kernel", _AT_PRECISE.replace(year=2000), uncertainty_s=1e-6),
            ),
            (
                "Mar  5 14:03:22 gpu0412 sshd[4567]: Connection closed by 10.0.0.9",
                _expected("Connection closed by 10.0.0.9", "daemon", _AT.replace(year=2000), tag="sshd"),
            ),
            (
                "Mar  5 14:03:22 gpu0412 slurmd[99]: error: Prolog failed",
                _expected("error: Prolog failed", "slurm", _AT.replace(year=2000), tag="slurmd"),
            ),
        ),
    ),
    Envelope(
        "syslog-iso",
        None,
        outer=True,
        peel=_iso,
        samples=(
            (
                f"2026-03-05T14:03:22.123456+01:00 gpu0412 kernel: [412345.678901] {_FELL}",
                _expected(_FELL, "kernel", _AT_PRECISE, utc_offset_s=3600, uptime_s=412345.678901),
            ),
            (
                "2026-03-05T14:03:22+0100 gpu0412 kernel[396]: quoted",
                _expected("quoted", "daemon", _AT, utc_offset_s=3600),
            ),
        ),
    ),
    Envelope(
        "journal-short-full",
        None,
        outer=True,
        peel=_full,
        samples=(
            (
                f"Thu 2026-03-05 14:03:22 CET gpu0412 kernel: {_FELL}",
                _expected(_FELL, "kernel", _AT, utc_offset_s=3600),
            ),
            (
                f"Thu 2026-03-05 14:03:22 CST gpu0412 kernel: {_FELL}",
                _expected(_FELL, "kernel", _AT, utc_offset_s=None),
            ),
            (
                "Thu 2026-03-05 14:03:22 UTC gpu0412 slurmd.service[1234]: error: x",
                _expected("error: x", "slurm", _AT, utc_offset_s=0, tag="slurmd"),
            ),
        ),
    ),
    Envelope(
        "journal-short-unix",
        None,
        outer=True,
        peel=unix,
        starts="0123456789",
        samples=(
            (f"1772719402.123456 gpu0412 kernel: {_FELL}", _expected(_FELL, "kernel", _AT_PRECISE, utc_offset_s=0)),
        ),
    ),
    Envelope(
        "journal-short-monotonic",
        None,
        outer=True,
        peel=_monotonic,
        weak=True,
        samples=(
            (f"[412345.678901] gpu0412 kernel: {_FELL}", _expected(_FELL, "kernel", None, uptime_s=412345.678901)),
        ),
    ),
)
