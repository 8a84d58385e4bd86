"""What truly happened: attempts, faults, nodes out of service. The writers turn it into logs, truth.py into a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ClusterShell.NodeSet import NodeSet

from incidentlab.simulate.faults import Fault
from incidentlab.simulate.fleet import GPUS_PER_NODE, Fleet, process_id
from incidentlab.simulate.scenario import JobSpec, Scenario
from incidentlab.simulate.wording import NCCL, Nccl, Torch


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One fault that happened: when (seconds since 1970), where, and the words that its lines need."""

    fault: Fault
    ts: float
    node: str
    gpu: int
    """Index of the GPU; the lines use it only where the fault is one of a GPU."""
    words: Mapping[str, str | int]
    is_echo: bool = False
    """True if it is the same physical fault as another occurrence, felt by a second job."""

    @property
    def drain_reason(self) -> str:
        """The reason with which the node is drained; empty if it is not."""
        return self.fault.drain.format_map(self.words)


@dataclass(frozen=True)
class Attempt:
    """One run of a job from start to end, both whole seconds since 1970."""

    job: JobSpec
    job_id: int
    number: int
    """Counted from 1 for each job id."""
    submit: int
    start: int
    end: int | None
    """None: it still runs at the end of the period."""
    nodes: tuple[str, ...]
    first_step_ts: float
    first_step: int
    """The step before the first that this attempt makes."""
    last_step: int
    killer: Occurrence | None
    is_requeued: bool
    """Whether the next attempt has the same job id."""

    @property
    def state(self) -> str:
        """As sacct shows it."""
        if self.end is None:
            return "RUNNING"
        if self.killer is None:
            return "COMPLETED"
        return {
            "node-lost": "NODE_FAIL",
            "cancelled": "CANCELLED by 0",
            "hang-cancelled": "CANCELLED by 20011",
            "requeued": "REQUEUED",
            "preempted": "PREEMPTED",
            "time-limit": "TIMEOUT",
        }.get(self.killer.fault.death, "FAILED")

    @property
    def exit_code(self) -> str:
        """As sacct shows it."""
        return "1:0" if self.state == "FAILED" else "0:0"

    @cached_property
    def hostlist(self) -> str:
        """The nodes in Slurm's notation."""
        return str(NodeSet.fromlist(list(self.nodes)))

    @property
    def world_size(self) -> int:
        """Number of ranks."""
        return len(self.nodes) * GPUS_PER_NODE

    @property
    def faulty_place(self) -> int:
        """Place of the faulty node among the nodes; 0 without one."""
        return self.nodes.index(self.killer.node) if self.killer else 0

    @property
    def faulty_rank(self) -> int:
        """Global rank that runs on the faulty GPU."""
        return self.faulty_place * GPUS_PER_NODE + (self.killer.gpu if self.killer else 0)

    @property
    def nccl(self) -> Nccl:
        """The words of its NCCL."""
        return NCCL[self.job.nccl]

    @property
    def torch(self) -> Torch:
        """The words of its PyTorch."""
        return Torch(self.job.torch)

    def pid(self, rank: int) -> int:
        """Process id of a rank."""
        return process_id(self.job_id, self.number, rank)

    def step_ts(self, step: int) -> float:
        """When a step of this attempt is done."""
        return self.first_step_ts + (step - self.first_step) * self.job.step_s


@dataclass(frozen=True, slots=True)
class Outage:
    """A node out of service; `end` lies after the period if the repair takes longer."""

    node: str
    start: float
    end: float
    reason: str
    set_by: str
    is_announced: bool = False
    """Whether the node still worked for a job when it began."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A node that writes nothing, from its death or shutdown to its next boot."""

    node: str
    start: float
    boot: float
    is_orderly: bool
    """Whether the scheduler knew of it."""


@dataclass(frozen=True, slots=True)
class SmallJob:
    """A job of another user on one spare node; it ends well."""

    job_id: int
    name: str
    user: str
    node: str
    start: int
    end: int


@dataclass
class World:
    """Everything that happened in the period of a scenario."""

    scenario: Scenario
    seed: int
    fleet: Fleet
    attempts: list[Attempt] = field(default_factory=list)
    harmless: list[Occurrence] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    silences: list[Silence] = field(default_factory=list)
    small_jobs: list[SmallJob] = field(default_factory=list)

    @property
    def occurrences(self) -> list[Occurrence]:
        """All faults, each physical one once, in order of time."""
        killers = [attempt.killer for attempt in self.attempts if attempt.killer and not attempt.killer.is_echo]
        return sorted([*killers, *self.harmless], key=lambda occurrence: (occurrence.ts, occurrence.node))
