"""The whole line that the command `date` writes: job scripts print it before and after their work.

Source: GNU coreutils `date(1)`, default formats of the C and the en_US locale; Python's `time.ctime()`. The names of
zones are not unique over the world, so only UTC is believed; under any other name the time is the site's.
"""

import re
from datetime import datetime

from msgspec.structs import replace

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix

# Thu Mar  5 14:03:22 CET 2026   Thu Mar  5 02:03:22 PM CST 2026   Thu Mar  5 14:03:22 2026
_LINE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)"
    r"(?: (?P<half>AM|PM))?(?: (?P<zone>[A-Z]{3,5}))? (?P<year>\d{4})\s*$",
)


def _peel(line: str) -> Prefix | None:
    if not (found := _LINE.match(line)):
        return None
    clock = found["clock"]
    if found["half"]:
        clock = f"{int(clock[:2]) % 12 + 12 * (found['half'] == 'PM'):02}{clock[2:]}"
    stamp = stamps.of_parts((int(found["year"]), found["month"], found["day"]), clock)
    if stamp and found["zone"] in ("UTC", "GMT"):
        stamp = replace(stamp, utc_offset_s=0)
    return Prefix("", stamp, "job") if stamp else None


_AT = datetime.fromisoformat("2026-03-05T14:03:22")

ENVELOPE = Envelope(
    "date-command",
    "job",
    outer=False,
    peel=_peel,
    starts="MTWFS",
    samples=(
        ("Thu Mar  5 14:03:22 CET 2026", {"text": "", "local_ts": _AT, "utc_offset_s": None}),
        ("Thu Mar  5 02:03:22 PM UTC 2026", {"text": "", "local_ts": _AT, "utc_offset_s": 0}),
        ("Thu Mar  5 14:03:22 2026", {"text": "", "local_ts": _AT}),
    ),
)
