"""Signatures of the intake's own tests: small, and independent of the shipped fault knowledge."""

from typing import Any

from incidentlab.signatures import Signature

PCI = r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})"


def signature(name: str, pattern: str, **more: Any) -> Signature:
    """A signature with everything that a test does not care about filled in."""
    base: dict[str, Any] = {
        "channels": ("kernel",),
        "kind": "fault",
        "severity": "error",
        "scope": "gpu",
        "meaning": "x",
        "catches": ("x",),
        "ignores": ("y",),
        "strength": "suggestive",
        "tier": 11,
    }
    return Signature(name=name, pattern=pattern, **{**base, **more})


XID = signature("xid", rf"NVRM: Xid \(PCI:{PCI}[^)]*\): (?P<code>\d+),(?: pid=(?P<pid>\d+),)?")
BUS = signature("xid-bus", rf"NVRM: Xid \(PCI:{PCI}[^)]*\): (?P<code>79),", refines=("xid",), strength="direct", tier=3)
WATCHDOG = signature(
    "watchdog",
    r"Watchdog caught collective operation timeout: WorkNCCL\(.*OpType=(?P<op>\w+).* ran for (?P<ran_for_ms>\d+) milli",
    channels=("job",),
    kind="symptom",
    scope="rank",
)
NODES = signature(
    "nodes-down",
    r"Nodes (?P<node>\S+) not responding, setting DOWN",
    channels=("slurm",),
    kind="lifecycle",
    scope="node",
)
NCCL = signature("nccl-net", r"NCCL INFO transport/net\.cc:\d+ -> (?P<code>\d+)", channels=("job",), kind="symptom")
TRACEBACK = signature("oom", r"OutOfMemoryError: CUDA out of memory", channels=("job",), scope="rank", code="oom")
TABLE = signature(
    "root-cause",
    r"Root Cause \(first observed failure\):",
    channels=("job",),
    scope="rank",
    block=r"time +: (?P<stamp>\S+)\n.*host +: (?P<node>\S+)\n"
    r".*rank +: (?P<rank>\d+).*\n.*exitcode +: (?P<exit_code>-?\d+)",
    block_lines=7,
)
STEP = signature(
    "step",
    r"step[ :]+(?P<step>[\d,]+).* loss[ :]+(?P<loss>\S+)(?: step_time (?P<step_time_s>[\d.]+))?",
    channels=("job",),
    kind="progress",
    mark="step",
    strength="none",
    tier=0,
)
ALL = (XID, BUS, WATCHDOG, NODES, NCCL, TRACEBACK, TABLE, STEP)


def folded(rows):
    """What the warehouse makes of rows: of those that are alike the first four and the last stay."""
    groups = {}
    for row in sorted(rows, key=lambda row: row["line_no"]):
        key = (row.get("alike"), row.get("signature"), row.get("node"))
        groups.setdefault(key if row.get("alike") else len(groups), []).append(row)
    kept = []
    for group in groups.values():
        others = sum(row["repeat_count"] or 1 for row in group[4:]) if len(group) > 5 else None
        kept += [*group[:4], {**group[-1], "repeat_count": others}] if others else group
    return sorted(kept, key=lambda row: (row["line_no"], row.get("signature", "")))
