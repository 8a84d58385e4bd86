"""Faults are data: what breaks, which lines the programs write about it, and how the job dies of it."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from incidentlab.assets import knowledge
from incidentlab.errors import DefinitionError

Death = Literal[
    "crash", "hang", "hang-cancelled", "node-lost", "silent", "cancelled", "requeued", "preempted", "time-limit", "none"
]
"""How an attempt ends: a rank aborts; all wait until the watchdog; all wait until the owner cancels; the node falls
silent; the job exits without a word; an operator cancels or requeues; another job takes its place; its time is up."""

KIND_OF_DEATH: Mapping[Death, str] = {
    "crash": "fault",
    "silent": "fault",
    "hang": "hang",
    "hang-cancelled": "hang",
    "node-lost": "node_fail",
    "cancelled": "maintenance",
    "requeued": "maintenance",
    "preempted": "preempt",
    "time-limit": "time_limit",
}
"""The kind of interruption that a death is."""


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line that a fault leaves, `t` seconds after it; `{name}` in the text is a word of the scene."""

    text: str
    t: float = 0.0
    by: str = "kernel"
    """`kernel`, `slurmctld`, `rank` (traceback of the faulty rank), `nccl` (its library), `job` (the job's own output)
    or the syslog tag of another program."""
    on: Literal["node", "quad", "leaf", "manager"] = "node"
    """The faulty node; once for each GPU behind its PCIe switch; each node of its leaf switch; the fabric manager."""
    times: int = 1
    every: float = 0.001


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that can happen to a node, a link, a program or a service."""

    name: str
    cause: str
    """A component of components.csv, `planned`, `policy.*`, or `harmless`."""
    evidence: Literal["direct", "indirect", "symptom", "none"]
    death: Death
    lines: tuple[Trace, ...] = ()
    error: str = ""
    """The exception that the faulty rank prints; without one it dies by a signal."""
    exit_code: int = 1
    """Exit code of the faulty rank; negative: signal."""
    drain: str = ""
    """Reason with which the node is drained afterwards; empty: it stays in service."""
    notice_s: float = 0.0
    """How long before the end the drain is announced; 0: the drain follows the fault."""
    drained_by: Literal["slurm", "root", "nhc", "ops"] = "root"
    reboots: bool = False
    """Whether the node boots again (at once, or after its repair)."""
    has_gpu: bool = False
    """Whether one GPU of the node is at fault."""
    where: Literal["job", "idle"] = "job"
    """For a harmless fault: on a node of a running job, or on a spare."""
    weight: int = 1
    """How often it is drawn, relative to the other faults of its cause."""

    @property
    def bucket(self) -> str:
        """`unplanned`, `planned`, `policy`, or `harmless`."""
        head = self.cause.partition(".")[0]
        return head if head in ("planned", "policy", "harmless") else "unplanned"

    @property
    def component(self) -> str:
        """Component at fault; empty if the end was wanted."""
        return self.cause if self.bucket == "unplanned" else ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fault: Annotated[tuple[Fault, ...], msgspec.Meta(min_length=1)]


def load_faults() -> dict[str, Fault]:
    """All faults of `faults/*.toml` by name, in the order of files and lines.

    Raises `DefinitionError` if a file is malformed or a name occurs twice.
    """
    found: dict[str, Fault] = {}
    for path in sorted(knowledge("simulate/faults").glob("*.toml")):
        try:
            faults = msgspec.toml.decode(path.read_bytes(), type=_File).fault
        except msgspec.DecodeError as error:
            raise DefinitionError(str(error), str(path)) from error
        for fault in faults:
            if fault.name in found:
                raise DefinitionError(f"the fault {fault.name!r} occurs twice", str(path))
            found[fault.name] = fault
    return found
