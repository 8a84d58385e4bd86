"""The kernel's ring buffer: `dmesg` in its time formats, with and without labels, and raw /dev/kmsg records.

Sources: util-linux `sys-utils/dmesg.c`, Linux `Documentation/ABI/testing/dev-kmsg`. Relative outputs carry their
absolute time on some lines only; the others take it from there, as all lines without a stamp do.
"""

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.envelopes._programs import kernel_or_daemon
from incidentlab.envelopes._records import by_records
from incidentlab.model import Prefix, Stamp

_CALLER = r"(?:\[ *[TC]\d+\] )?"
# <4>[412345.678901] NVRM: ...   [ 5245.304902 <  106.458716>] ...   [412345.678901] [   T1234] ...
_UPTIME = re.compile(rf"(?:<\d{{1,3}}>)?\[ *(?P<uptime>\d{{1,12}}\.\d{{6}})(?: <[ +\d.]+>)?\] ?{_CALLER}")
# [Thu Mar  5 14:03:22 2026] ...   [Thu Mar  5 14:03:22 2026 <    0.000123>] ...
_CTIME = re.compile(
    r"\[?[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{4})"
    rf"(?: <[ +\d.]+>)?\] {_CALLER}",
)
# 2026-03-05T14:03:22,123456+01:00 ...
_ISO = re.compile(rf"(?P<stamp>\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{{6}}{stamps.ZONE}) {_CALLER}")
# [Mar 5 14:03] ...   [Nov30 16:45] ...   and the lines of the same minute: [  +0.010315] ...
_RELATIVE = re.compile(r"\[(?P<month>[A-Z][a-z]{2}) ?(?P<day>[ \d]?\d) (?P<clock>\d\d:\d\d)\] ")
_STEP = re.compile(r"\[ *(?:\+\d+\.\d{6}|< *\d+\.\d{6}>)\] ")
# kern  :warn  : [412345.678901] ...
_LABEL = re.compile(r"(?P<facility>kern|user|daemon|auth|syslog|local\d|cron|mail) *:[a-z]+ *: ?(?=[\[\d])")
# NVRM: Xid (PCI:0000:1b:00): 79, ...   mlx5_core 0000:5e:00.0: Port module event ...
_SUBSYSTEM = re.compile(
    r"(?:[\w.@-]{1,64}\[\d{1,10}\]: )?"
    r"(?:NVRM|nvidia(?:-\w+)?|nvme\w*|mce|EDAC \w+|EXT4-fs|XFS|Lustre|LustreError|ACPI|PCI|usb|INFO|audit|printk"
    r"|(?:mlx5_core|pcieport|amdgpu) [\da-f:.]+|Memory cgroup out of memory|\{\d+\}\[Hardware Error\])\b.*?: ",
)
# 4,1072,5245304902,-,caller=T12;NVRM: ...
_KMSG = re.compile(r"(?P<priority>\d{1,4}),\d+,(?P<micros>\d{1,18}),[-c+][^;\s]{0,40};")

#       },{ "pri": 4, "time":  5245.304902, "msg": "NVRM: ..."      with each key on its own line
_JSON_TIME = re.compile(rb'"time": *([\d.]+),')
_JSON_TEXT = re.compile(rb'"msg": *("(?:[^"\\\n]|\\.)*")')
_JSON_BEGINS = re.compile(rb"\s*(?:\},)?\{\s*$")


def _kernel(stamp: Stamp | None, text: str) -> Prefix:
    return Prefix(text, stamp, kernel_or_daemon(text))


def _uptime(line: str) -> Prefix | None:
    found = _UPTIME.match(line)
    return _kernel(stamps.since_boot(found["uptime"]), line[found.end() :]) if found else None


def _ctime(line: str) -> Prefix | None:
    if not (found := _CTIME.match(line)):
        return None
    stamp = stamps.of_parts((int(found["year"]), found["month"], found["day"]), found["clock"])
    return _kernel(stamp, line[found.end() :])


def _iso(line: str) -> Prefix | None:
    found = _ISO.match(line)
    return _kernel(stamps.from_iso(found["stamp"]), line[found.end() :]) if found else None


def _relative(line: str) -> Prefix | None:
    if step := _STEP.match(line):
        return _kernel(None, line[step.end() :])
    if not (found := _RELATIVE.match(line)):
        return None
    stamp = stamps.of_parts((None, found["month"], found["day"]), found["clock"])
    return _kernel(stamp, line[found.end() :])


def _bare(line: str) -> Prefix | None:
    """No prefix at all: believed where a good part of a file begins with names that only the kernel uses."""
    return _kernel(None, line) if _SUBSYSTEM.match(line) else None


def _label(line: str) -> Prefix | None:
    """Facility and level; what is the kernel's or unsigned (`user`) is left to the layer below."""
    if not (found := _LABEL.match(line)):
        return None
    facility = found["facility"]
    channel = None if facility in {"kern", "user"} else "daemon"
    return Prefix(line[found.end() :], channel=channel, fields={} if facility == "kern" else {"facility": facility})


def _kmsg(line: str) -> Prefix | None:
    """Facility 0 is the kernel, 1 whoever writes to /dev/kmsg without saying who."""
    if not (found := _KMSG.match(line)):
        return None
    text, facility = line[found.end() :], int(found["priority"]) >> 3
    stamp = Stamp(uptime_s=int(found["micros"]) / 1_000_000, uncertainty_s=1e-6)
    channel = kernel_or_daemon(text) if facility <= 1 else "daemon"
    return Prefix(text, stamp, channel, fields={"facility": facility} if facility else {})


def _composed(record: Sequence[bytes]) -> tuple[int, bytes] | None:
    """One object of `dmesg --json`, as the line that dmesg prints without that option."""
    whole = b"\n".join(record)
    time, found = _JSON_TIME.search(whole), _JSON_TEXT.search(whole)
    place = next((number for number, line in enumerate(record) if line.lstrip().startswith(b'"msg"')), None)
    if not time or not found or place is None:
        return None
    try:
        text = msgspec.json.decode(found[1], type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return place, b"[%12s] %s" % (time[1], text.replace("\n", "#012").encode())


_AT = datetime.fromisoformat("2026-03-05T14:03:22")
_TEXT = "NVRM: GPU0 heartbeat"
_OBJECT = f"""{{
   "dmesg": [
      {{
         "pri": 4,
         "time":  5245.304902,
         "msg": "{_TEXT}"
      }}
   ]
}}"""

ENVELOPES = (
    Envelope(
        "dmesg",
        "kernel",
        outer=True,
        peel=_uptime,
        starts="[<",
        glue=r"(?<=\S )\[ *\d+\.\d{6}\] (?=NVRM: )",
        samples=(
            (
                f"[ 5245.304902] {_TEXT}",
                {"text": _TEXT, "uptime_s": 5245.304902, "local_ts": None, "channel": "kernel"},
            ),
            (f"<4>[412345.678901 <    0.000012>] [   T1234] {_TEXT}", {"text": _TEXT, "uptime_s": 412345.678901}),
        ),
    ),
    Envelope(
        "dmesg-ctime",
        "kernel",
        outer=True,
        peel=_ctime,
        samples=(
            (f"[Thu Mar  5 14:03:22 2026] {_TEXT}", {"text": _TEXT, "local_ts": _AT, "has_year": True}),
            (f"[Thu Mar  5 14:03:22 2026 <    0.000123>] {_TEXT}", {"text": _TEXT, "local_ts": _AT}),
        ),
    ),
    Envelope(
        "dmesg-iso",
        "kernel",
        outer=True,
        peel=_iso,
        starts="0123456789",
        samples=(
            (
                f"2026-03-05T14:03:22,123456+01:00 {_TEXT}",
                {"text": _TEXT, "local_ts": _AT.replace(microsecond=123456), "utc_offset_s": 3600},
            ),
        ),
    ),
    Envelope(
        "dmesg-relative",
        "kernel",
        outer=True,
        peel=_relative,
        starts="[",
        samples=(
            (
                f"[Mar 5 14:03] {_TEXT}",
                {
                    "text": _TEXT,
                    "local_ts": datetime.fromisoformat("2000-03-05T14:03:00"),
                    "has_year": False,
                    "uncertainty_s": 60.0,
                },
            ),
            (f"[  +0.010315] {_TEXT}", {"text": _TEXT, "stamp": None, "channel": "kernel"}),
            (f"[<    1.234567>] {_TEXT}", {"text": _TEXT, "stamp": None}),
        ),
    ),
    Envelope(
        "dmesg-decoded",
        "kernel",
        outer=True,
        peel=_label,
        samples=(
            (f"kern  :warn  : [ 5245.304902] {_TEXT}", {"text": _TEXT, "uptime_s": 5245.304902, "fields": {}}),
            (f"user  :err   : [Thu Mar  5 14:03:22 2026] {_TEXT}", {"text": _TEXT, "fields": {"facility": "user"}}),
        ),
    ),
    Envelope(
        "dmesg-notime",
        "kernel",
        outer=True,
        peel=_bare,
        weak=True,
        samples=((_TEXT, {"text": _TEXT, "channel": "kernel", "stamp": None}),),
    ),
    Envelope(
        "dmesg-json",
        "kernel",
        outer=True,
        peel=_uptime,
        opening=r'\{\s*"dmesg": *\[',
        rewriter=by_records(_JSON_BEGINS, _composed),
        samples=((_OBJECT, {"text": _TEXT, "uptime_s": 5245.304902}),),
    ),
    Envelope(
        "kmsg",
        "kernel",
        outer=True,
        peel=_kmsg,
        starts="0123456789",
        samples=(
            (f"4,1072,5245304902,-;{_TEXT}", {"text": _TEXT, "uptime_s": 5245.304902, "fields": {}}),
            (f"12,1073,5245304903,-,caller=T12;{_TEXT}", {"text": _TEXT, "fields": {"facility": 1}}),
        ),
    ),
)
