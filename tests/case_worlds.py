"""One world for many cases: each is a job on nodes of its own, so that a whole table of rules is derived at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import duckdb
from worlds import Row, derived, event, job, signature

from incidentlab.signatures import load_components

START = datetime(2026, 3, 5, 1, 0)
END = datetime(2026, 3, 5, 3, 0)


def neutral(name: str, mark: str | None, channel: str = "slurm", kind: str = "lifecycle", **values: object) -> Row:
    """What accuses no part."""
    return signature(name, "", channels=[channel], kind=kind, tier=0, strength="none", mark=mark, **values)


SIGNATURES = {row["name"]: row for row in [
    signature("gpu-lost", "gpu.device", tier=3, scope="gpu"),
    signature("gpu-memory", "gpu.hbm", scope="gpu"),
    signature("gpu-link", "gpu.nvlink"),
    signature("poison", "gpu.sram", tier=5, scope="gpu", mark="poison_consumed"),
    neutral("row-remap", None, "kernel", "context", scope="gpu"),
    signature("lockup", "software.system"),
    signature("pcie", "host.io_board", tier=2, strength="suggestive", mark="pcie_error"),
    signature("link", "network.link_switch", tier=8, strength="suggestive", mark="link_down"),
    signature("aside", "host.psu", tier=0),
    signature("server-away", "dependency.filesystem", tier=9, strength="suggestive"),
    signature("server-back", "dependency.filesystem", kind="recovery", tier=0, strength="none"),
    signature("job-memory", "gpu.hbm", channels=["job"], scope="rank"),
    signature("exception", "software.user_code", channels=["job"], tier=11, strength="suggestive", mark="exception",
              scope="rank"),
    signature("segfault", "software.user_code", tier=11, strength="suggestive"),
    signature("login", "dependency.service", channels=["slurm"], tier=8, scope="shared"),
    neutral("peer-gone", None, "job", "symptom", scope="rank"),
    neutral("watchdog", "collective_timeout", "job", "symptom", scope="rank"),
    neutral("boot", "boot", "kernel"),
    neutral("shutdown", "shutdown_orderly", "kernel"),
    neutral("driver-loaded", "driver_loaded", "kernel", "context"),
    neutral("reason", "node_reason"),
    neutral("down", "node_down"),
    neutral("reboot", "node_reboot_requested"),
    neutral("preempted", "job_preempted"),
    neutral("cancel", "job_cancel_requested"),
    neutral("reservation", "maintenance_window"),
]}  # fmt: skip

KNOWLEDGE: Mapping[str, Sequence[Row]] = {
    "signatures": list(SIGNATURES.values()),
    "components": load_components(),
    "xid_catalog": [{"code": 79, "component": "gpu.device", "tier": 3}],
}


def line(name: str, seconds: float, host: str = "", **values: object) -> Row:
    """A record so many seconds after the end of its case's job (before it if negative).

    It is about its node `host`; without one, a job's output names none, and everything else speaks of node a.
    """
    channel = SIGNATURES[name]["channels"][0]
    host = host or ("" if channel == "job" else "a")
    return {"signature": name, "seconds": seconds, "host": host, "channel": channel, **values}


@dataclass(frozen=True)
class Case:
    """A job that ran from START to END on nodes a, b and c, what was said about it, and steps relative to its end."""

    lines: Sequence[Row] = ()
    state: str = "FAILED"
    steps: Sequence[float] = ()
    record: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, number: int) -> dict[str, list[Row]]:
        """The rows of intake; the case's job is `number`, its nodes are n<number>a to n<number>c."""
        name = str(number)
        events = [
            event(
                f"{said['channel']}-{name}", line_no, said["signature"], END + timedelta(seconds=said["seconds"]),
                node=f"n{name}{said['host']}" if said["host"] else None, channel=said["channel"],
                **{"job_id": name} if said["signature"] in {"preempted", "cancel"} or said["channel"] == "job" else {},
                **{key: value for key, value in said.items() if key not in {"signature", "seconds", "host", "channel"}},
            )
            for line_no, said in enumerate(self.lines, 1)
        ]  # fmt: skip
        progress = [
            {
                "source_id": f"job-{name}", "line_no": 1000 + step, "local_ts": END + timedelta(seconds=seconds),
                "has_year": True, "ts_uncertainty_s": 1.0, "kind": "step", "step": step, "job_id": name,
            }
            for step, seconds in enumerate(self.steps, 1)
        ]  # fmt: skip
        values = {
            "job_id": name, "state": self.state, "start_ts": START, "end_ts": END, "elapsed_s": 7200,
            "name": f"train-{name}", "node_count": 3,
            "nodes": [f"n{name}{host}" for host in "abc"],
        } | self.record  # fmt: skip
        return {"events": events, "progress": progress, "job_records": [job("acct", number, **values)]}


def world(cases: Sequence[Case], knowledge: Mapping[str, Sequence[Row]] | None = None) -> duckdb.DuckDBPyConnection:
    """All cases in one warehouse; the first one's job is 100."""
    tables: dict[str, list[Row]] = {"events": [], "progress": [], "job_records": []}
    for number, case in enumerate(cases, 100):
        for table, rows in case.rows(number).items():
            tables[table].extend(rows)
    return derived(**tables, knowledge={**KNOWLEDGE, **(knowledge or {})})


def interruptions(cases: Mapping[str, Case], knowledge: Mapping[str, Sequence[Row]] | None = None) -> dict[str, Row]:
    """The interruption of each case by the case's name, its node as a, b or c."""
    con = world(list(cases.values()), knowledge)
    rows = con.execute("select * replace (right(node, 1) as node) from interruptions").fetchall()
    found = {row["job_id"]: row for row in (dict(zip((c[0] for c in con.description), r, strict=True)) for r in rows)}
    return {name: found.get(str(number), {}) for number, name in enumerate(cases, 100)}
