"""What the macros of `queries/macros/` say of single values."""

import duckdb
import pytest
from small_warehouse import empty_warehouse

PLANNED = [
    "scheduled maintenance: BIOS update",
    "scheduled maintenance: replace failed PSU",  # a plan that stands first tells what the fault is about
    "Quarterly maintenance",
    "Maint",
    "MAINT-2026-03 rack 7",
    "sys_maint",
    "Maint20260305",
    "maintenance: leaf switch firmware OPS-5904",
    "node taken for maintainance",  # as people write it
    "fw upgrade",
    "fw_upgrade_h100",
    "driver upgrade 550.127 -> 550.144",
    "upgrading OFED",
    "kernel update",
    "patching, back at 18:00",
    "security patches",
    "BIOS settings",
    "nic firmware 28.39",
    "planned outage of cooling loop 2",
    "planned",
    "scheduled power work rack 12",
    "scheduled downtime",
    "Reboot ASAP",
    "re-boot into new kernel",
    "recabling rack 12",
    "reimage",
    "re-imaging to 22.04",
    "reinstall OS",
    "decommissioned",
    "relocation to hall B",
    "update_node: node gpu01 reason set to: fw upgrade",
]

NOT_PLANNED = [
    "",
    "unplanned maintenance",
    "Unscheduled maintenance",
    "non-scheduled outage",
    "not planned",
    "emergency maintenance",
    "urgent: leaking coolant hose, power off now",
    "urgent firmware fix, GPUs at 90 C",
    # a repair follows a fault; endings has a rule of its own for it, which asks whether anything was wrong
    "RMA GPU 3",
    "swap gpu2 (RMA 7013)",
    "HW fault, awaiting scheduled vendor visit",
    "GPU 3 fell off the bus, RMA planned",
    "Xid 79 on gpu 2, reboot",
    "xid79, needs fw update",
    "ECC errors, planned swap",
    "GSP firmware dead",
    "bios: uncorrectable memory",
    "hung in fw init",
    "failed to come back from reboot",
    "bad cable, recabled",
    "leaking hose, planned shutdown",
    # what a health check or the scheduler sets by itself
    "NHC: GPU not scheduled",
    "NHC: check_fw_version: firmware 28.36",
    "check_hw_ib: fw differs",
    "Node unexpectedly rebooted",
    "reboot timed out",
    "reboot complete",
    "Not responding",
    "Kill task failed",
    "batch job complete failure",
    # words that only look like it
    "dispatch error",
    "dispatch queue full",
    "biosafety door open, node off",
    "mainthread at 100 %",
    "patch panel port 12 loose",
    "jobs rescheduled elsewhere",
    "jobs not scheduled here",
    "scheduled job eats memory",
    "low bandwidth after firmware upgrade",
    "7 of 8 GPUs after the last reboot",
    "PCIe link downgraded",
    "update_node: node gpu01 state set to DRAINING",
    "holding for ada",
]


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    """A warehouse of macros."""
    return empty_warehouse()


@pytest.mark.parametrize(
    ("reason", "expected"), [*((text, True) for text in PLANNED), *((text, False) for text in NOT_PLANNED)]
)
def test_a_reason_speaks_of_maintenance(con: duckdb.DuckDBPyConnection, reason: str, expected: bool) -> None:
    """Planned work is named by whole words, and not beside a fault, a health check or a denial."""
    assert con.execute("select is_maintenance($1)", [reason]).fetchone() == (expected,)


def test_no_reason_is_no_maintenance(con: duckdb.DuckDBPyConnection) -> None:
    """Of a reason that is missing nothing is known."""
    assert con.execute("select coalesce(is_maintenance(null), false)").fetchone() == (False,)
