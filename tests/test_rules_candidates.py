"""The limits of what may be the cause of an interruption: each just inside and just outside, worked out by hand."""

from datetime import timedelta

import pytest
from case_worlds import END, Case, interruptions, line

LOST = {"code": "79", "pci_bdf": "0000:1b:00"}
OTHER = {"code": "79", "pci_bdf": "0000:1c:00"}
POISON, REMAP = {"code": "94", "pci_bdf": "0000:1b:00"}, {"code": "63", "pci_bdf": "0000:1b:00"}
EVERY_10_S, EVERY_60_S = range(-600, -9, 10), range(-1260, -59, 60)  # the last step 10 s or 60 s before the end


def reason(text: str, seconds: float) -> dict:
    """A reason that is set for node a."""
    return line("reason", seconds, fields=f'{{"reason": "{text}"}}')


def server(name: str, seconds: float) -> dict:
    """A word about one file server."""
    return line(name, seconds, fields='{"server": "nas-1"}')


CASES = {
    # ports of three hosts within a minute are the far end; of two, or a second later, each may be its own
    "links-of-two": (Case([line("link", -20, "a"), line("link", -20, "b")]), ("network.link_switch", "suspected", "a")),
    "links-of-three": (
        Case([line("link", -80, "a"), line("link", -80, "b"), line("link", -20, "c")]),
        ("network.link_switch", "confirmed", None),
    ),
    "links-after-a-minute": (
        Case([line("link", -81, "a"), line("link", -81, "b"), line("link", -20, "c")]),
        ("network.link_switch", "suspected", "a"),
    ),
    "links-of-one-twice": (
        Case([line("link", -20, "a"), line("link", -19, "a"), line("link", -18, "b")]),
        ("network.link_switch", "suspected", "a"),
    ),
    # a host that boots finds its ports down for some minutes
    "link-10-min-after-boot": (
        Case([line("boot", -800), line("link", -200)]),
        ("unattributed", "unattributed", None),
    ),
    "link-11-min-after-boot": (
        Case([line("boot", -861), line("link", -200)]),
        ("network.link_switch", "suspected", "a"),
    ),
    # a dying host may speak a minute and a half late
    "late-90-s": (Case([line("gpu-lost", 90)]), ("gpu.device", "confirmed", "a")),
    "late-91-s": (Case([line("gpu-lost", 91)]), ("unattributed", "unattributed", None)),
    # a unit met bad data, and the same GPU took a row out of use within ten seconds
    "poison-of-a-row-after-10-s": (
        Case([line("poison", -30, **POISON), line("row-remap", -20, **REMAP)]),
        ("gpu.hbm", "confirmed", "a"),
    ),
    "poison-of-a-row-after-11-s": (
        Case([line("poison", -31, **POISON), line("row-remap", -20, **REMAP)]),
        ("gpu.sram", "confirmed", "a"),
    ),
    "poison-and-a-row-of-another-gpu": (
        Case([line("poison", -30, **POISON), line("row-remap", -29, **REMAP | {"pci_bdf": "0000:1c:00"})]),
        ("gpu.sram", "confirmed", "a"),
    ),
    # people explain two minutes later
    "told-after-120-s": (Case([reason("Xid 79 on gpu 3", 120)]), ("gpu.device", "suspected", "a")),
    "told-after-121-s": (Case([reason("Xid 79 on gpu 3", 121)]), ("unattributed", "unattributed", None)),
    "taken-ten-minutes-later": (Case([reason("fw upgrade", 600)]), ("maintenance.unplanned", "suspected", "a")),
    # two GPUs of one node within ten seconds share a board; one GPU twice does not, nor do GPUs of two nodes
    "gpus-within-10-s": (
        Case([line("gpu-lost", -30, **LOST), line("gpu-lost", -20, **OTHER)]),
        ("host.io_board", "confirmed", "a"),
    ),
    "gpus-within-11-s": (
        Case([line("gpu-lost", -31, **LOST), line("gpu-lost", -20, **OTHER)]),
        ("gpu.device", "confirmed", "a"),
    ),
    "one-gpu-twice": (
        Case([line("gpu-lost", -30, **LOST), line("gpu-lost", -20, **LOST)]),
        ("gpu.device", "confirmed", "a"),
    ),
    "gpus-of-two-nodes": (
        Case([line("gpu-lost", -30, **LOST), line("gpu-lost", -20, "b", **OTHER)]),
        ("gpu.device", "confirmed", "a"),
    ),
    # a broken link explains a GPU that is lost up to five minutes later, on the same node
    "link-300-s-before": (
        Case([line("pcie", -320), line("gpu-lost", -20, **LOST)]),
        ("host.io_board", "confirmed", "a"),
    ),
    "link-301-s-before": (Case([line("pcie", -321), line("gpu-lost", -20, **LOST)]), ("gpu.device", "confirmed", "a")),
    "link-after-the-loss": (Case([line("pcie", -19), line("gpu-lost", -20, **LOST)]), ("gpu.device", "confirmed", "a")),
    "link-elsewhere": (Case([line("pcie", -30, "b"), line("gpu-lost", -20, **LOST)]), ("gpu.device", "confirmed", "a")),
    # of two faults of one rank, the host's own word goes before what the job says that it felt, even if that came first
    "own-word-first": (Case([line("job-memory", -40), line("gpu-link", -20)]), ("gpu.nvlink", "suspected", "a")),
    "own-word-of-one-part": (
        Case([line("job-memory", -40, "a"), line("gpu-memory", -20, "a")]),
        ("gpu.hbm", "confirmed", "a"),
    ),
    # after two minutes of further steps a fault was survived; slow steps get five of their own length
    "worked-on-120-s": (Case([line("gpu-memory", -130)], steps=EVERY_10_S), ("gpu.hbm", "confirmed", "a")),
    "worked-on-121-s": (Case([line("gpu-memory", -131)], steps=EVERY_10_S), ("unattributed", "unattributed", None)),
    "slow-steps-300-s": (Case([line("gpu-memory", -360)], steps=EVERY_60_S), ("gpu.hbm", "confirmed", "a")),
    "slow-steps-301-s": (Case([line("gpu-memory", -361)], steps=EVERY_60_S), ("unattributed", "unattributed", None)),
    # three quarters of an hour before the end is too old, unless the job stood still since
    "old-2700-s": (Case([line("gpu-memory", -2700)]), ("gpu.hbm", "confirmed", "a")),
    "old-2701-s": (Case([line("gpu-memory", -2701)]), ("unattributed", "unattributed", None)),
    "old-at-a-standstill": (
        Case([line("gpu-memory", -5000)], steps=range(-5060, -4999, 10)),
        ("gpu.hbm", "confirmed", "a"),
    ),
    # a fault comes before the first complaint if it is no later than the clocks may differ: 1 s of its stamp and 2 s
    "three-s-after-a-complaint": (
        Case([line("peer-gone", -30), line("gpu-memory", -27)]),
        ("gpu.hbm", "confirmed", "a"),
    ),
    "four-s-after-a-complaint": (
        Case([line("peer-gone", -30), line("gpu-memory", -26)]),
        ("gpu.hbm", "suspected", "a"),
    ),
    "a-stamp-lent-from-299-s": (Case([line("gpu-memory", -400, ts_uncertainty_s=299)]), ("gpu.hbm", "confirmed", "a")),
    "a-stamp-lent-from-300-s": (Case([line("gpu-memory", -400, ts_uncertainty_s=300)]), ("gpu.hbm", "suspected", "a")),
    # a complaint that borrows its time from more than 10 s away may be that much later than it says
    "a-complaint-sure-to-10-s": (
        Case([line("peer-gone", -100, ts_uncertainty_s=10.0), line("gpu-memory", -95)]),
        ("gpu.hbm", "suspected", "a"),
    ),
    "a-complaint-sure-to-11-s": (
        Case([line("peer-gone", -100, ts_uncertainty_s=11.0), line("gpu-memory", -95)]),
        ("gpu.hbm", "confirmed", "a"),
    ),
    # a program that a host's kernel stops is the job's if the job ends within two minutes
    "a-program-119-s-before": (Case([line("segfault", -119)]), ("software.user_code", "suspected", "a")),
    "a-program-121-s-before": (Case([line("segfault", -121)]), ("unattributed", "unattributed", None)),
    # the controller's last word on a node names it: from a quarter of an hour before to ten minutes after the end
    "down-900-s-before": (Case([line("down", -900)]), ("unknown.node_unresponsive", "unattributed", "a")),
    "down-901-s-before": (Case([line("down", -901)]), ("unattributed", "unattributed", None)),
    "down-600-s-after": (Case([line("down", 600)]), ("unknown.node_unresponsive", "unattributed", "a")),
    "down-601-s-after": (Case([line("down", 601)]), ("unattributed", "unattributed", None)),
    "node-fail-of-no-node": (Case(state="NODE_FAIL"), ("unknown.node_unresponsive", "unattributed", None)),
    # a file server that is back within two minutes, half a minute before the end, stopped nothing
    "server-away-120-s": (
        Case([server("server-away", -200), server("server-back", -80)]),
        ("unattributed", "unattributed", None),
    ),
    "server-away-121-s": (
        Case([server("server-away", -200), server("server-back", -79)]),
        ("dependency.filesystem", "suspected", "a"),
    ),
    "server-back-30-s-before": (
        Case([server("server-away", -90), server("server-back", -30)]),
        ("unattributed", "unattributed", None),
    ),
    "server-back-29-s-before": (
        Case([server("server-away", -90), server("server-back", -29)]),
        ("dependency.filesystem", "suspected", "a"),
    ),
    # people who shut a node down stop the job then and there: from ten minutes before to 90 s after its end
    "shut-down-600-s-before": (Case([line("shutdown", -600)]), ("maintenance.unplanned", "confirmed", "a")),
    "shut-down-601-s-before": (Case([line("shutdown", -601)]), ("unattributed", "unattributed", None)),
    "shut-down-just-started": (
        Case([line("shutdown", -6900), line("peer-gone", -6890)], steps=[-6901]),
        ("maintenance.unplanned", "confirmed", "a"),
    ),
    "shut-down-as-it-started": (
        Case([line("shutdown", -6901), line("peer-gone", -6890)], steps=[-6902]),
        ("unattributed", "unattributed", None),
    ),
    "shut-down-90-s-after": (Case([line("shutdown", 90)]), ("maintenance.unplanned", "confirmed", "a")),
    "shut-down-91-s-after": (Case([line("shutdown", 91)]), ("unattributed", "unattributed", None)),
    # a boot explains a driver that is loaded up to a quarter of an hour later
    "driver-900-s-after-boot": (
        Case([line("boot", -930), line("driver-loaded", -30)]),
        ("unattributed", "unattributed", None),
    ),
    "driver-901-s-after-boot": (
        Case([line("boot", -931), line("driver-loaded", -30)]),
        ("maintenance.unplanned", "confirmed", "a"),
    ),
    # one kind of fault on two nodes within two seconds: no clock tells which was first
    "two-nodes-within-2-s": (
        Case([line("gpu-lost", -30, "a"), line("gpu-lost", -28, "b")]),
        ("gpu.device", "suspected", "a"),
    ),
    "two-nodes-within-3-s": (
        Case([line("gpu-lost", -30, "a"), line("gpu-lost", -27, "b")]),
        ("gpu.device", "confirmed", "a"),
    ),
    "software-on-two-nodes": (
        Case([line("lockup", -30, "a"), line("lockup", -30, "b")]),
        ("software.system", "confirmed", "a"),
    ),
    "two-gpus-of-one-node": (
        Case([line("gpu-memory", -30, pci_bdf="0000:1b:00"), line("gpu-memory", -30, pci_bdf="0000:1c:00")]),
        ("gpu.hbm", "confirmed", "a"),
    ),
    "two-parts-of-one-rank": (Case([line("gpu-link", -40), line("gpu-memory", -20)]), ("gpu.nvlink", "suspected", "a")),
}


@pytest.fixture(scope="module")
def found() -> dict[str, dict]:
    """The interruption of each case."""
    return interruptions({name: case for name, (case, _) in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_limits_of_causes(found: dict[str, dict], name: str):
    """Component, confidence and node of each case are those that the rule beside it gives."""
    assert tuple(found[name][key] for key in ("component", "confidence", "node")) == CASES[name][1]


def test_a_part_is_accused_by_the_host_s_own_word(found: dict[str, dict]):
    """Where kernel and job accuse the same part, the verdict rests on the kernel's line, although it came later."""
    assert found["own-word-of-one-part"]["rule"] == "state FAILED / gpu-memory: its own line"


def test_a_shared_service_is_no_cause_after_the_end():
    """A stamp may be 1 s off, and clocks 2 s: 3 s after the end it may be the cause, 4 s after it not."""
    a_second_before = {"end_ts": END - timedelta(seconds=1), "elapsed_s": 7199}
    cases = {"ends": Case([line("login", 3, "x")]), "ends-before": Case(record=a_second_before)}

    assert [row["component"] for row in interruptions(cases).values()] == ["dependency.service", "unattributed"]
