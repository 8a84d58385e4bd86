"""Instants as log lines write them, read into `Stamp` without guessing a zone or a year.

What lies outside `YEARS` is no stamp. The resolution of what was written becomes the stamp's uncertainty: 1 for whole
seconds, 0.001 for milliseconds.
"""

import re
from datetime import datetime, timedelta
from functools import lru_cache

from incidentlab.model import PLACEHOLDER_YEAR, Stamp

ISO = r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
"""Date and time, with or without a fraction, as a pattern without groups."""

ZONE = r"(?:Z|[+-]\d\d:?\d\d)"
"""A zone as a pattern without groups."""

YEARS = range(1970, 2200)
"""What was written with another year is damaged or made up, and no stamp; calendars end where arithmetic overflows."""

MAX_OFFSET_S = 24 * 3600
"""No zone is further from UTC."""

_ISO = re.compile(rf"({ISO}) ?({ZONE})?", re.ASCII)
_EPOCH = re.compile(r"(\d{9,10})(?:\.(\d{1,9}))?", re.ASCII)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_UNIX = datetime.fromisoformat("1970-01-01T00:00:00")


def from_iso(text: str) -> Stamp | None:
    """`2026-03-05T14:03:22[.123][+01:00]`, also with a blank or underscore, a comma, `Z`, or no zone.

    >>> from_iso("2026-03-05_14:03:22").local_ts.isoformat()
    '2026-03-05T14:03:22'
    """
    found = _ISO.fullmatch(text)
    if not found:
        return None
    try:
        whole = _whole_second(found[1][:19])
    except ValueError:
        return None
    fraction = found[1][20:]
    offset = offset_of(found[2]) if found[2] else None
    return _sane(Stamp(whole + _fraction(fraction), offset, uncertainty_s=resolution(fraction)))


def from_epoch(text: str) -> Stamp | None:
    """Seconds since 1970 in UTC, with or without a fraction."""
    found = _EPOCH.fullmatch(text)
    if not found:
        return None
    fraction = found[2] or ""
    local = _UNIX + timedelta(seconds=int(found[1])) + _fraction(fraction)
    return _sane(Stamp(local, 0, uncertainty_s=resolution(fraction)))


def read(text: str) -> Stamp | None:
    """An ISO or epoch instant, whichever `text` is; None if it is neither."""
    return from_iso(text) or from_epoch(text)


@lru_cache(maxsize=4096)
def of_parts(date: tuple[int | None, int | str, int | str], clock: str, fraction: str | None = None) -> Stamp | None:
    """A stamp from (year or None, month as number or `Mar`, day) and `hh:mm[:ss]`; None if there is no such day."""
    hour, minute, *second = map(int, clock.split(":"))
    try:
        local = _midnight(*date).replace(hour=hour, minute=minute, second=second[0] if second else 0)
    except ValueError:
        return None
    whole = local + _fraction(fraction) if fraction else local
    return _sane(Stamp(whole, has_year=date[0] is not None, uncertainty_s=resolution(fraction) if second else 60.0))


@lru_cache(maxsize=1024)
def _midnight(year: int | None, month: int | str, day: int | str) -> datetime:
    number = _MONTHS.get(month, 0) if isinstance(month, str) and month.isalpha() else int(month)
    return _UNIX.replace(PLACEHOLDER_YEAR if year is None else year, number, int(day))


def _sane(stamp: Stamp) -> Stamp | None:
    """The stamp, unless no log can carry it; every wall time that is read passes here."""
    is_sane = stamp.local_ts and stamp.local_ts.year in YEARS and abs(stamp.utc_offset_s or 0) <= MAX_OFFSET_S
    return stamp if is_sane else None


def offset_of(zone: str) -> int:
    """Seconds east of UTC of `Z`, `+0100` or `+01:00`."""
    if zone == "Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def resolution(fraction: str | None) -> float:
    """The step between two stamps that carry this many digits after the second, at least a microsecond."""
    return float(10.0 ** -min(len(fraction or ""), 6))


@lru_cache(maxsize=1024)
def _whole_second(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("_", "T"))


def _fraction(digits: str) -> timedelta:
    return timedelta(microseconds=int(digits[:6].ljust(6, "0"))) if digits else timedelta()


def since_boot(seconds: str) -> Stamp:
    """The kernel's own clock: seconds since boot with their fraction."""
    return Stamp(uptime_s=float(seconds), uncertainty_s=resolution(seconds.partition(".")[2]))
