"""A scenario says which fleet to simulate: one TOML file, read strictly."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from incidentlab.assets import knowledge
from incidentlab.errors import UsageError

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Name = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_-]*$")]


class FleetSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The nodes: how many, their names, and how far their clocks are off."""

    nodes: Positive
    prefix: Name = "gpu"
    digits: Positive = 4
    nodes_per_leaf: Positive = 16
    driver: Literal["535", "550", "580"] = "550"
    lemons: Count = 0
    """Nodes that draw a fault twenty times as often as the others."""
    repair_h: Seconds = 24.0
    """Mean time that a drained node stays out."""
    max_skew_s: Annotated[float, msgspec.Meta(ge=0)] = 0.5
    skewed_nodes: Count = 0
    """Nodes whose clock is 40 s off."""


class JobSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One training run, and how often each cause ends one of its attempts."""

    name: Name
    nodes: Positive
    user: Name = "mara"
    account: Name = "llm"
    partition: Name = "train"
    framework: Literal["megatron", "torchtitan"] = "megatron"
    torch: Literal["1.13", "2.1", "2.4", "2.9"] = "2.4"
    nccl: Literal["2.18", "2.21", "2.27", "2.29"] = "2.21"
    nccl_timeout_s: Positive = 600
    step_s: Seconds = 6.0
    steps_per_line: Positive = 10
    steps_per_checkpoint: Positive = 100
    restore_s: Seconds = 90.0
    """From the start of an attempt to its first step."""
    restart_s: Seconds = 180.0
    """Mean time from the end of an attempt to the start of the next."""
    restart: Literal["requeue", "resubmit"] = "requeue"
    """Whether the next attempt keeps the job id; after a cancel it never does."""
    still_running: bool = False
    causes: dict[str, Count] = {}
    """Interruptions by cause: an id of components.csv, `planned`, `policy.preemption` or `policy.time_limit`."""


class Placed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fault at a given hour of the period; with several jobs named, all of them suffer from it."""

    fault: Name
    at_h: Annotated[float, msgspec.Meta(ge=0)]
    jobs: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]


class LogSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files the fleet writes, and in which formats."""

    hosts: Literal["central", "per-node", "journal", "dmesg"] = "per-node"
    stamp: Literal["rfc3164", "rfc3339", "rfc5424"] = "rfc3339"
    codec: Literal["", "gz", "zst", "xz"] = ""
    slurm_codec: Literal["", "gz", "zst", "xz"] = ""
    is_tar: bool = False
    """Whether the files of the nodes are packed into one archive."""
    slurm_stamp: Literal["iso8601_ms", "iso8601", "rfc3339", "rfc5424_ms"] = "iso8601_ms"
    sacct: Literal["standard", "minimal", "wide"] = "standard"
    has_steps: bool = True
    has_duplicates: bool = True
    label: Literal["", "srun"] = ""
    lines_per_node_day: Annotated[float, msgspec.Meta(ge=0)] = 4.0


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fleet, its jobs, what goes wrong, and what is written about it."""

    title: str
    story: str
    seed: int
    start: datetime
    """UTC."""
    hours: Seconds
    zone: str
    fleet: FleetSpec
    jobs: Annotated[tuple[JobSpec, ...], msgspec.Meta(min_length=1)]
    logs: LogSpec
    placed: tuple[Placed, ...] = ()
    harmless: dict[str, Count] = {}
    """Occurrences that no interruption may be charged to, by name of the fault."""
    small_jobs_per_day: Count = 0

    @property
    def start_s(self) -> float:
        """Begin of the period in seconds since 1970."""
        return self.start.timestamp()

    @property
    def end_s(self) -> float:
        """End of the period in seconds since 1970."""
        return self.start_s + self.hours * 3600

    @property
    def tz(self) -> ZoneInfo:
        """The zone of all clocks of the cluster."""
        return ZoneInfo(self.zone)


def find_scenario(name: str) -> Path:
    """The file of a shipped scenario, such as `first_hour`.

    Raises `UsageError` if there is none of that name.
    """
    path = knowledge("simulate/scenarios") / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.toml")))
        raise UsageError(f"no scenario is called {name!r}; there are {known}")
    return path


def load_scenario(path: Path) -> Scenario:
    """The scenario in a file.

    Raises `UsageError`, which names the key, if the file does not fit.
    """
    try:
        scenario = msgspec.toml.decode(path.read_bytes(), type=Scenario)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", str(path)) from error
    except msgspec.DecodeError as error:
        raise UsageError(str(error), str(path)) from error
    for complaint in _complaints(scenario):
        raise UsageError(complaint, str(path))
    return scenario


def _complaints(scenario: Scenario) -> list[str]:
    """What msgspec cannot see: values that contradict each other."""
    found = []
    names = {job.name for job in scenario.jobs}
    if scenario.zone not in available_timezones():
        found.append(f"no such time zone: {scenario.zone!r} - at `$.zone`")
    if scenario.start.utcoffset() != timedelta():
        found.append("the start must be in UTC - at `$.start`")
    if len(names) < len(scenario.jobs):
        found.append("two jobs have one name - at `$.jobs`")
    if sum(job.nodes for job in scenario.jobs) > scenario.fleet.nodes:
        found.append("the jobs need more nodes than there are - at `$.fleet.nodes`")
    for place in scenario.placed:
        if not names.issuperset(place.jobs):
            found.append(f"no such job: {', '.join(sorted({*place.jobs} - names))} - at `$.placed[...].jobs`")
        if place.at_h >= scenario.hours:
            found.append(f"{place.at_h} h is after the end of the period - at `$.placed[...].at_h`")
    return found
