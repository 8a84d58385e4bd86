"""Logs of the machine's own helpers: NVIDIA's fabric manager, the BMC's event log, Talos' kernel log.

Sources: fabric manager user guide; ipmitool `lib/ipmi_sel.c`. The BMC's clock has no zone, and before it is set it
counts seconds.
"""

import re
from datetime import datetime

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix

# [Mar 05 2026 14:03:22] [ERROR] [tid 1808] detected NVSwitch fatal error ...
_FABRIC = re.compile(
    r"\[(?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<year>\d{4}) (?P<clock>\d\d:\d\d:\d\d)\] "
    r"(?:\[[A-Z]+\] )?(?:\[tid \d+\] )?",
)
#   1a | 03/05/2026 | 13:02:58 UTC | Power Supply PSU2 Status | Power Supply AC lost | Asserted
_SEL = re.compile(
    r" *[0-9a-f]{1,4} *[|,] ?(?:(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4}) ?[|,] ?(?P<clock>\d\d:\d\d:\d\d)"
    r"(?: (?P<half>[AP]M))?(?: (?P<zone>UTC|GMT|[A-Z]{3,5}))?| ?Pre-Init ? ?[|,] ?\d{10}) ?[|,] ?",
)
# 192.0.2.31: kern: warning: [2026-03-05T14:03:22.291660856Z]: NVRM: ...
_TALOS = re.compile(
    rf"(?:(?P<host>[\w.-]+|[\da-f:]+): )?(?P<facility>kern|user|daemon): +\w+: \[(?P<stamp>{stamps.ISO}Z)\]: "
)

_HALF_DAY = 12


def _fabric(line: str) -> Prefix | None:
    if not (found := _FABRIC.match(line)):
        return None
    stamp = stamps.of_parts((int(found["year"]), found["month"], found["day"]), found["clock"])
    return Prefix(line[found.end() :], stamp, "daemon")


def _sel(line: str) -> Prefix | None:
    if not (found := _SEL.match(line)):
        return None
    if not found["clock"]:
        return Prefix(line[found.end() :], None, "bmc")
    clock = found["clock"] if not found["half"] else _of_half_day(found["clock"], found["half"])
    zone = "Z" if found["zone"] in {"UTC", "GMT"} else ""
    stamp = stamps.from_iso(f"{found['year']}-{found['month']}-{found['day']} {clock}{zone}")
    return Prefix(line[found.end() :], stamp, "bmc")


def _of_half_day(clock: str, half: str) -> str:
    return f"{int(clock[:2]) % _HALF_DAY + (_HALF_DAY if half == 'PM' else 0):02}{clock[2:]}"


def _talos(line: str) -> Prefix | None:
    if not (found := _TALOS.match(line)):
        return None
    channel = "kernel" if found["facility"] == "kern" else "daemon"
    return Prefix(line[found.end() :], stamps.from_iso(found["stamp"]), channel, found["host"])


_AT = datetime.fromisoformat("2026-03-05T14:03:22")

ENVELOPES = (
    Envelope(
        "fabric-manager",
        "daemon",
        outer=True,
        peel=_fabric,
        starts="[",
        samples=(
            (
                "[Mar 05 2026 14:03:22] [ERROR] [tid 1808] detected NVSwitch fatal error",
                {"text": "detected NVSwitch fatal error", "local_ts": _AT, "channel": "daemon", "utc_offset_s": None},
            ),
        ),
    ),
    Envelope(
        "ipmi-sel",
        "bmc",
        outer=True,
        peel=_sel,
        starts=" 0123456789abcdef",
        samples=(
            (
                "  1a | 03/05/2026 | 14:03:22 | Power Supply PSU2 Status | Power Supply AC lost | Asserted",
                {
                    "text": "Power Supply PSU2 Status | Power Supply AC lost | Asserted",
                    "local_ts": _AT,
                    "channel": "bmc",
                },
            ),
            (
                "1b | 03/05/2026 | 02:03:22 PM UTC | Fan #0x3 | x",
                {"text": "Fan #0x3 | x", "local_ts": _AT, "utc_offset_s": 0},
            ),
            (
                "  1c |  Pre-Init  |0000000031| System Event #0x83 | Sync",
                {"text": "System Event #0x83 | Sync", "stamp": None},
            ),
            ("1a,03/05/2026,14:03:22,Fan #0x3,x,Asserted", {"text": "Fan #0x3,x,Asserted", "local_ts": _AT}),
        ),
    ),
    Envelope(
        "talos",
        None,
        outer=True,
        peel=_talos,
        samples=(
            (
                "192.0.2.31: kern: warning: [2026-03-05T14:03:22.291660856Z]: NVRM: x",
                {"text": "NVRM: x", "host": "192.0.2.31", "channel": "kernel", "utc_offset_s": 0},
            ),
        ),
    ),
)
