"""How each program of the cluster writes an instant."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def local(ts: float, tz: ZoneInfo) -> datetime:
    """The wall clock at `ts` (seconds since 1970), with its zone; whole microseconds."""
    return datetime.fromtimestamp(round(ts, 6), tz)


def utc_iso(ts: float) -> str:
    """As in truth.csv: 2026-03-05T13:03:22Z."""
    return datetime.fromtimestamp(int(ts), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso(when: datetime) -> str:
    """As sacct writes it: 2026-03-05T14:03:22."""
    return when.strftime("%Y-%m-%dT%H:%M:%S")


def iso_ms(when: datetime) -> str:
    """As slurmctld writes it by default: 2026-03-05T14:03:22.123."""
    return f"{iso(when)}.{when.microsecond // 1000:03d}"


def offset(when: datetime) -> str:
    """The zone alone: +01:00."""
    text = when.strftime("%z")
    return f"{text[:3]}:{text[3:5]}"


def rfc3339(when: datetime) -> str:
    """As slurmctld writes it with LogTimeFormat=rfc3339: 2026-03-05T14:03:22+01:00."""
    return iso(when) + offset(when)


def rfc3339_us(when: datetime) -> str:
    """As rsyslog's FileFormat writes it: 2026-03-05T14:03:22.123456+01:00."""
    return f"{iso(when)}.{when.microsecond:06d}{offset(when)}"


def rfc3164(when: datetime) -> str:
    """As traditional syslog writes it: Mar  5 14:03:22."""
    return f"{when:%b} {when.day:2d} {when:%H:%M:%S}"


def ctime(when: datetime) -> str:
    """As dmesg -T writes it: Thu Mar  5 14:03:22 2026."""
    return f"{when:%a %b} {when.day:2d} {when:%H:%M:%S %Y}"


def blank(when: datetime) -> str:
    """As Megatron-LM and NCCL write it: 2026-03-05 14:03:22."""
    return when.strftime("%Y-%m-%d %H:%M:%S")


def glog(when: datetime, level: str) -> str:
    """As c10's C++ log writes it; month times 100 plus day, not padded: E305 14:03:22.123456789."""
    return (
        f"{level}{when.month * 100 + when.day} {when:%H:%M:%S}.{when.microsecond:06d}{when.microsecond * 7 % 1000:03d}"
    )


def padded_glog(when: datetime, level: str) -> str:
    """As torch's Python log writes it; milliseconds carried to six digits: E0305 14:03:22.123000."""
    return f"{level}{when:%m%d %H:%M:%S}.{when.microsecond // 1000:03d}000"


SLURM: Mapping[str, Callable[[datetime], str]] = {
    "iso8601": iso,
    "iso8601_ms": iso_ms,
    "rfc3339": rfc3339,
    "rfc5424_ms": lambda when: iso_ms(when) + offset(when),
}
"""Stamps by LogTimeFormat (slurm.conf)."""
