"""What a site says about itself in `incidentlab.toml`: its zone, runs, planned work and own signatures.

An option or its environment variable beats the file, the file beats what is inferred from the logs. Paths in the file
are relative to its folder. Every mistake is one line that names the file and the key.
"""

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from incidentlab.errors import UsageError
from incidentlab.patterns import line_faults

DEFAULT_FILE = Path("incidentlab.toml")
"""Read from the working folder if it is there and no other file is named."""

_WINDOW_COLUMNS = ("scope", "from", "to", "reason")
_CHANGE_COLUMNS = ("ts", "scope", "item", "from_version", "to_version")
_OWN_ZONE = re.compile(r"posix|right/|localtime|Factory")
"""Zones that a system adds to the common ones; the warehouse does not know them."""

_OFFSET = re.compile(r"[+-]\d{2}:\d{2}")


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file; a key that it does not have is a mistake, not a wish for later."""


class Cluster(_Strict, frozen=True):
    """`[cluster]`: its name, and the zone of stamps that carry none (IANA name or +HH:MM)."""

    name: str | None = None
    timezone: str | None = None
    gpus_per_node: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    dedicated: bool = False
    """Idle waits count as loss."""


class Zone(_Strict, frozen=True):
    """`[[time.zones]]`: the zone of the paths that a glob fits; the first that fits decides."""

    path: str
    timezone: str


class Time(_Strict, frozen=True):
    """`[time]`: the year of stamps that carry none, and zones by path."""

    year: Annotated[int, msgspec.Meta(ge=1990, le=2100)] | None = None
    zones: tuple[Zone, ...] = ()


class Runs(_Strict, frozen=True):
    """`[runs]`: which attempts are one run: those that agree in `group_by` with gaps of at most `max_gap` ("48h")."""

    group_by: tuple[Literal["name", "user_name", "partition", "work_dir", "node_count"], ...] = ()
    max_gap: str = "48h"


class Planned(_Strict, frozen=True):
    """`[planned]`: CSV files of announced windows (scope,from,to,reason) and changes.

    The columns of changes are ts,scope,item,from_version,to_version.
    """

    windows: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


class Signatures(_Strict, frozen=True):
    """`[signatures]`: TOML files of one's own."""

    paths: tuple[str, ...] = ()


class Progress(_Strict, frozen=True):
    """`[progress]`: patterns of the training log with a group `step`, where the built-in ones do not fit."""

    step: str | None = None
    checkpoint_done: str | None = None


class Slurm(_Strict, frozen=True):
    """`[workers.slurm]`: the jobs that `--cluster slurm` submits; each runs one worker a core."""

    queue: str | None = None
    account: str | None = None
    cores: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 8
    memory: str = "16GB"
    """Of a job, for all its workers."""
    walltime: str = "02:00:00"
    jobs: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 4
    """How many at most; there are fewer when there is less to do."""
    least_jobs: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 1
    directives: tuple[str, ...] = ()
    """Further options of sbatch, such as `--constraint=cpu`."""
    prologue: tuple[str, ...] = ()
    """Shell lines before the workers start, such as `module load python`."""
    interface: str | None = None
    """The network that workers and this machine share, such as `ib0`."""
    python: str | None = None
    """The interpreter on the nodes, if it is not at the same path as here."""
    scratch: str | None = None
    """A folder on each node for what workers write aside."""
    wait: str = "1h"
    """How long the queue may take until the first job starts."""


class Workers(_Strict, frozen=True):
    """`[workers]`: who helps."""

    slurm: Slurm = Slurm()


class Settings(_Strict, frozen=True):
    """The whole file, and what the command line adds to it."""

    cluster: Cluster = Cluster()
    time: Time = Time()
    runs: Runs = Runs()
    planned: Planned = Planned()
    signatures: Signatures = Signatures()
    progress: Progress = Progress()
    workers: Workers = Workers()


class Site(msgspec.Struct, frozen=True):
    """Settings together with where they come from; `timezone` and `year` are those of the command line."""

    settings: Settings = Settings()
    file: Path | None = None
    timezone: str | None = None
    year: int | None = None

    def path(self, name: str) -> Path:
        """A path of the file, which is relative to the file's folder."""
        return (self.file.parent if self.file else Path()) / name

    @property
    def is_given(self) -> bool:
        """Whether a file or an option says anything."""
        return (self.file, self.timezone, self.year) != (None, None, None)

    @property
    def signature_files(self) -> tuple[Path, ...]:
        """The site's own signature files."""
        return tuple(self.path(name) for name in self.settings.signatures.paths)


def load_site(file: Path | None = None, timezone: str | None = None, year: int | None = None) -> Site:
    """The settings of `file` (else of ./incidentlab.toml, else the built-in ones) under those of the command line.

    Raises `UsageError` for a missing file, an unknown key, a wrong type, zone, pattern, duration or CSV file.
    """
    if file is None and DEFAULT_FILE.is_file():
        file = DEFAULT_FILE
    site = Site(_read(file) if file else Settings(), file, timezone, year)
    for key, fault in _faults(site):
        raise UsageError(f"{key}: {fault}", str(file) if file else None)
    settings_rows(site)
    return site


def _read(file: Path) -> Settings:
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Settings)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", str(file)) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"is not TOML: {error}", str(file)) from error
    except UnicodeDecodeError as error:
        raise UsageError("is not UTF-8 text", str(file)) from error
    except msgspec.ValidationError as error:
        # msgspec says "Object contains unknown field `nam` - at `$.cluster`"
        fault, _, key = str(error).partition(" - at ")
        raise UsageError(
            f"{key.strip('`').removeprefix('$').lstrip('.') or 'top level'}: {fault}", str(file)
        ) from error


def _faults(site: Site) -> Iterator[tuple[str, str]]:
    """Keys whose values have the right type and make no sense."""
    settings = site.settings
    zones = [("--tz", site.timezone), ("cluster.timezone", settings.cluster.timezone)]
    zones += [(f"time.zones[{place}].timezone", zone.timezone) for place, zone in enumerate(settings.time.zones)]
    yield from ((key, f"there is no time zone {name!r}") for key, name in zones if name and not _zone(name))
    patterns = [
        ("progress.step", settings.progress.step),
        ("progress.checkpoint_done", settings.progress.checkpoint_done),
    ]
    for key, pattern in patterns:
        yield from ((key, fault) for fault in _pattern_faults(pattern)) if pattern else ()
    durations = [("runs.max_gap", settings.runs.max_gap), ("workers.slurm.wait", settings.workers.slurm.wait)]
    for key, text in durations:
        if duration_s(text) is None:
            yield key, f"{text!r} is no duration like 90m, 48h or 7d"
    if settings.workers.slurm.least_jobs > settings.workers.slurm.jobs:
        yield "workers.slurm.least_jobs", "is more than workers.slurm.jobs"


def _zone(name: str) -> tzinfo | None:
    """The zone of an IANA name or an offset, if there is one."""
    try:
        if _OFFSET.fullmatch(name):
            return datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
        return None if _OWN_ZONE.match(name) else ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # an unknown name is a KeyError's child, a folder of zones an OSError
        return None


def _pattern_faults(pattern: str) -> Iterator[str]:
    """Why a pattern of a progress line cannot be used: it is held to the rules of a signature's."""
    found = list(line_faults(pattern))
    yield from found
    if not found and "step" not in re.compile(pattern).groupindex:
        yield f"{pattern!r} has no group (?P<step>...)"


def duration_s(text: str) -> int | None:
    """Seconds of a duration such as `90m`, `48h` or `7d`; None if it is none."""
    found = re.fullmatch(r"(\d{1,9})\s*([smhd])", text)
    return int(found[1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400}[found[2]] if found else None


def settings_rows(site: Site) -> dict[str, list[dict[str, Any]]]:
    """The rows that the settings put into the warehouse: `time_zones`, `maintenance_windows`, `changes` and `meta`."""
    return {
        "time_zones": _zone_rows(site),
        "maintenance_windows": list(_window_rows(site)),
        "changes": list(_change_rows(site)),
        "meta": _meta_rows(site),
    }


def _zone_rows(site: Site) -> list[dict[str, Any]]:
    """Rules by priority: the option fits every path, then the globs in their order, then the cluster's zone."""
    rules = [("*", site.timezone, "option")] if site.timezone else []
    rules += [(zone.path, zone.timezone, "configuration") for zone in site.settings.time.zones]
    if site.settings.cluster.timezone:
        rules.append(("*", site.settings.cluster.timezone, "configuration"))
    keys = ("priority", "pattern", "timezone", "basis")
    return [dict(zip(keys, (priority, *rule), strict=True)) for priority, rule in enumerate(rules, 1)]


def _meta_rows(site: Site) -> list[dict[str, Any]]:
    """Facts for `meta`, as text; what nobody said is not there."""
    cluster, runs = site.settings.cluster, site.settings.runs
    facts = {
        "cluster": cluster.name,
        "dedicated": "true" if cluster.dedicated else None,
        "gpus_per_node": cluster.gpus_per_node,
        "run_group_by": ",".join(runs.group_by) or None,
        "run_max_gap_s": duration_s(runs.max_gap),
        "year": site.year or site.settings.time.year,
    }
    return [{"key": key, "value": str(value)} for key, value in facts.items() if value is not None]


def _window_rows(site: Site) -> Iterator[dict[str, Any]]:
    for where, row in _csv_rows(site, "planned.windows", site.settings.planned.windows, _WINDOW_COLUMNS):
        span = {"start_ts": _instant(site, where, row["from"]), "end_ts": _instant(site, where, row["to"])}
        if span["end_ts"] <= span["start_ts"]:
            raise UsageError("the window ends before it begins", where)
        yield {"scope": row["scope"], **span, "reason": row["reason"]}


def _change_rows(site: Site) -> Iterator[dict[str, Any]]:
    for where, row in _csv_rows(site, "planned.changes", site.settings.planned.changes, _CHANGE_COLUMNS):
        yield {**row, "ts": _instant(site, where, row["ts"])}


def _csv_rows(
    site: Site, key: str, names: Sequence[str], columns: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each row of the files with its `file:line`; the header must be `columns`, in any order."""
    for name in names:
        path = site.path(name)
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file)
                if set(reader.fieldnames or ()) != set(columns):
                    raise UsageError(f"{key}: the header must be {','.join(columns)}", str(path))
                for row in reader:
                    if None in row or None in row.values():
                        raise UsageError(f"{key}: a row needs {len(columns)} cells", f"{path}:{reader.line_num}")
                    yield f"{path}:{reader.line_num}", row
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise UsageError(f"{key}: cannot read {path}: {error}", str(site.file)) from error


def _instant(site: Site, where: str, text: str) -> datetime:
    """`text` in UTC; without an offset it is in the cluster's zone, which must then be known."""
    zone = site.timezone or site.settings.cluster.timezone
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no time like 2026-03-05T14:00:00+01:00", where) from error
    if stamp.tzinfo is None and zone is None:
        raise UsageError(f"{text!r} has no offset, and neither --tz nor cluster.timezone is given", where)
    try:
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=_zone(zone or "UTC"))).astimezone(UTC)
    except OverflowError as error:
        raise UsageError(f"{text!r} is beyond the calendar", where) from error
