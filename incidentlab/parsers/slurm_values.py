"""How Slurm's commands print ids, states, times, durations, exit codes, resources and host lists.

Each reader takes one cell of text and raises `ValueError` if Slurm cannot have printed it; "not set" becomes None.
The forms are those of Slurm's src/common/{parse_time,print_fields,slurm_protocol_defs,hostlist}.c.
"""

import re
from datetime import datetime

from incidentlab import hosts, stamps

STATES = frozenset(
    (
        *("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"),
        *("BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "COMPLETING", "CONFIGURING", "RESIZING", "REQUEUED"),
        *("REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"),
        *("STAGE_OUT", "EXPEDITING", "LAUNCH_FAILED", "POWER_UP_NODE", "RECONFIG_FAIL"),
    )
)
"""Every word that can stand in column State, base states and the flags that replace them."""

_UNSET = frozenset(("", "unknown", "none", "none assigned", "n/a", "(null)", "unlimited", "partition_limit", "invalid"))
_JOB = re.compile(r"(?P<job>\d+(?:_\d+|_\[[\d,\-%:.]+\])?(?:\+\d+)?)(?:\.(?P<step>[\w+]+))?")
_DURATION = re.compile(r"(?:(?P<d>\d+)-)?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d\d)(?:\.\d+)?")
_MAX_SECONDS = len(stamps.YEARS) * 366 * 86_400
_EXIT = re.compile(r"(\d+):(\d+)")
_GPUS = re.compile(r"(?:^|,)gres/gpu(?P<model>:[^=,]+)?=(?P<count>\d+)")
_HOSTS = re.compile(r"(?:[\w.\-,]|\[[\d\-,]+\])+", re.ASCII)


def is_unset(text: str) -> bool:
    """True for the words that Slurm prints where there is no value."""
    return text.lower() in _UNSET


def job_and_step(text: str) -> tuple[str, str | None]:
    """`88200_7.batch` is job 88200_7, step batch; `88300+1` is a component of a heterogeneous job."""
    match = _JOB.fullmatch(text)
    if not match:
        raise ValueError(f"not a job id: {text!r}")
    return match["job"], match["step"]


def state(text: str) -> tuple[str | None, str | None]:
    """`CANCELLED by 1007` is state CANCELLED and its author; fixed columns cut long states and end them with `+`."""
    word, _, author = text.partition(" by ")
    known = sorted(name for name in STATES if name == word or (word.endswith("+") and name.startswith(word[:-1])))
    if text and (not known or word == "+"):
        raise ValueError(f"not a job state: {text!r}")
    return (known[0] if known else None), author.strip("+ ") or None


def instant(text: str) -> tuple[datetime | None, int | None]:
    """A time as local clock reading and seconds east of UTC, if written; seconds since 1970 are UTC."""
    if is_unset(text):
        return None, None
    stamp = stamps.read(text)
    if not stamp:
        raise ValueError(f"not a time with its date: {text!r}")
    return stamp.local_ts, stamp.utc_offset_s


def duration(text: str) -> int | None:
    """Seconds in `[D-][HH:]MM:SS[.mmm]`; None if unlimited or not set."""
    if is_unset(text):
        return None
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError(f"not a duration: {text!r}")
    days, hours, whole_minutes, rest = (int(match[unit] or 0) for unit in "dhms")
    return _sane(((days * 24 + hours) * 60 + whole_minutes) * 60 + rest)


def seconds(text: str) -> int | None:
    """A duration in whole seconds; None if not set."""
    return _sane(integer(text))


def minutes(text: str) -> int | None:
    """A duration in whole minutes as seconds; None if unlimited or not set."""
    count = integer(text)
    return None if count is None else _sane(count * 60)


def _sane(length_s: int | None) -> int | None:
    """None for what is longer than the calendar, which instants could not be moved by."""
    return None if length_s is None or length_s > _MAX_SECONDS else length_s


def integer(text: str) -> int | None:
    """A whole number, or None if not set."""
    if is_unset(text):
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"not a number: {text!r}")
    return int(text)


def exit_code(text: str) -> tuple[int | None, int | None]:
    """`0:9` is exit code 0 and signal 9."""
    if is_unset(text):
        return None, None
    match = _EXIT.fullmatch(text)
    if not match:
        raise ValueError(f"not an exit code: {text!r}")
    return int(match[1]), int(match[2])


def gpus(text: str) -> int | None:
    """GPUs in a list of trackable resources: `gres/gpu` if it is there, else the sum of `gres/gpu:MODEL`."""
    if is_unset(text):
        return None
    if "=" not in text:
        raise ValueError(f"not a list of resources: {text!r}")
    counts = [(match["model"], int(match["count"])) for match in _GPUS.finditer(text)]
    untyped = [count for model, count in counts if not model]
    return untyped[0] if untyped else sum(count for _, count in counts)


def host_list(text: str) -> str:
    """A host list such as `gpu[001-004,007],b-[1-2]-[3-4]`, not expanded; empty if not set."""
    if is_unset(text):
        return ""
    if not _HOSTS.fullmatch(text):
        raise ValueError(f"not a host list: {text[:80]!r}")
    return text


def nodes(text: str) -> tuple[str, ...]:
    """The short lower-case hosts of a host list."""
    return hosts.expand(host_list(text))
