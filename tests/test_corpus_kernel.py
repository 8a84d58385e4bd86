"""Kernel lines of real machines, in every form in which real tools print them."""

import re
from collections import Counter
from datetime import datetime, timedelta

import pytest
from corpus import needs_corpus, rows, truth

pytestmark = needs_corpus

SERIOUS = "kind in ('fault', 'symptom') and strength in ('direct', 'suggestive') and duplicate_of is null"


def utc(text: str) -> datetime:
    """An instant of a truth file."""
    return datetime.fromisoformat(text)


def near(first: datetime, second: datetime, seconds: float) -> bool:
    """Whether two instants are that close."""
    return abs(first - second) <= timedelta(seconds=seconds)


# -- excerpts of other people's machines


def test_five_gsp_timeouts_of_one_gpu_are_one_incident():
    """The RPC history and the stack below a time-out are no events, and the tool that waited is not blamed."""
    place = "gpud/dmesg-with-xid-119.log"
    found = rows(f"select ts, code, pci_bdf, component from events where {SERIOUS} order by ts, line_no", place)

    day = datetime.fromisoformat("2025-02-23T00:00:00+00:00")
    clocks = [(16, 24, 18), (16, 24, 24), (16, 24, 30), (16, 27, 12), (16, 30, 13)]
    assert found == [(day.replace(hour=h, minute=m, second=s), "119", "0000:9b:00", "gpu.gsp") for h, m, s in clocks]
    assert rows("select component, event_count from incidents", place) == [("gpu.gsp", 5)]


def test_the_board_is_known_by_uuid_and_serial():
    """The identity that the driver prints beside the time-out is kept."""
    found = rows(
        "select distinct gpu_uuid[:12], gpu_serial from events where mark = 'device_identity' order by all",
        "gpud/dmesg-with-xid-119.log",
    )

    assert found == [("GPU-509665ad", None), (None, "1650124014249")]


def test_segfaults_in_a_library_are_software():
    """Two crashes inside libnccl accuse no GPU."""
    found = rows(
        f"select strftime(ts, '%Y-%m-%dT%T'), component, fields ->> 'pid' from events where {SERIOUS} order by ts",
        "gpud/nccl-dmesg.decode.iso.log",
    )

    assert found == [
        ("2025-01-21T04:41:44", "software.user_code", "2536443"),
        ("2025-01-21T04:42:44", "software.user_code", "2536443"),
    ]


def test_a_healthy_ring_buffer_is_silent():
    """46 raw records of a healthy node hold no fault and no symptom."""
    assert rows("select signature from events where kind in ('fault', 'symptom')", "gpud/kmsg.1.log") == []


def test_the_fabric_manager_reports_one_error():
    """Of its hundred lines one is an error, and a non-fatal one: no cause of anything."""
    found = rows(
        "select strftime(ts, '%Y-%m-%dT%H:%M:%S'), code, pci_bdf, kind, fields ->> 'link' from events",
        "gpud/fabricmanager.log",
    )

    assert found == [("2025-02-27T15:10:02", "12028", "0000:86:00", "context", "61")]


def test_an_oops_saved_over_a_reboot_has_no_wall_time():
    """One crash, known by the kernel's own clock only."""
    found = rows(f"select ts, uptime_s from events where {SERIOUS}", "gpud/pstore/dmesg-erst.txt")

    assert [ts for ts, _ in found] == [None]
    assert found[0][1] == pytest.approx(201.65, abs=0.05)


def test_a_hung_script_is_no_gpu_fault():
    """A boot with its driver messages and one hung task: a symptom, and nothing is blamed."""
    place = "m4-logs"
    symptoms = rows(
        "select strftime(ts, '%Y-%m-%dT%H:%M:%S'), signature, fields ->> 'pid' from events where kind = 'symptom'",
        place,
    )

    assert symptoms == [("2023-03-02T15:59:56", "hung-task", "76609")]
    assert rows("select * from events where kind = 'fault'", place) == []
    assert rows("select * from incidents", place) == []


def test_faults_of_an_amd_node():
    """Poison consumed, too many bad pages and a PCIe error of 13 lines, at their UTC times; boot lines are silent."""
    found = rows(
        f"select strftime(ts, '%H:%M:%S'), signature, pci_bdf from events where {SERIOUS} order by ts",
        "amd-node-scraper/dmesg_sample.log",
    )

    assert found == [
        ("16:02:00", "amdgpu-poison-consumed", "0000:01:00"),
        ("16:02:01", "amdgpu-bad-page-limit", "0000:02:00"),
        ("16:03:00", "ghes-severe", None),
    ]


# -- host-a: 107 lines through real tools

HOST = "real-kmsg/host-a"
WROTE = truth(f"{HOST}/truth.csv")
# What the tools leave out: the identifier before the text, levels below error, or all lines but the last.
CUT = {"journalctl-cat.txt", "dmesg-l-err.txt", "journalctl-default-reverse.txt"}

# Codes of the truth file that are no Xid or SXid, with the signature that stands for them.
SIGNATURES = {
    "dpc": "pcie-containment",
    "mlx5:unplugged": "mlx5-module-unplugged",
    "mlx5:health": "mlx5-health-compromised",
    "edac:ue": "edac-uncorrected",
    "nvme:down": "nvme-controller-down",
    "nfs": "nfs-not-responding",
    "amdgpu:ue": "amdgpu-ras-hbm",
    "oom": "oom-killed-old",
    "lustre": "lustre-eviction",
}


def renderings() -> dict[str, Counter]:
    """By file of host-a: its faults, symptoms and recoveries, and how often each stands in it."""
    found: dict[str, Counter] = {}
    for path, times, *event in rows(
        """
        select split_part(s.path, '/', -1), coalesce(e.repeat_count, 1), e.kind, e.signature, e.code, e.pci_bdf
        from events as e inner join sources as s using (source_id)
        where e.kind in ('fault', 'symptom', 'recovery')
        """,
        HOST,
    ):
        found.setdefault(path, Counter())[tuple(event)] += times
    return found


def test_every_rendering_tells_the_same_events():
    """What the kernel holds reads the same through dmesg, rsyslog and the journal, in any of their formats."""
    found = renderings()
    reference = found["dev-kmsg.txt"]
    different = {
        path: ((events - reference) + (reference - events))
        for path, events in found.items()
        if path not in CUT and events != reference
    }

    assert len(found) >= 36
    assert not different


def is_told(row: dict[str, str], found: list[tuple]) -> bool:
    """Whether a root row of host-a is among (signature, code, PCI address) of the faults."""
    family, _, code = row["code"].partition(":")
    if family in {"xid", "sxid"}:
        return any(event[1] == code and event[2] == row["device"][:10] for event in found)
    return any(event[0] == SIGNATURES.get(row["code"], row["code"]) for event in found)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row['code']}-{row['device']}",
            marks=[pytest.mark.xfail(strict=True, reason="an import delay of Lustre says only that a request waits")]
            if row["code"] == "lustre"
            else [],
        )
        for row in WROTE
        if row["role"] == "root"
    ],
)
def test_every_root_of_host_a_is_a_fault(row: dict[str, str]):
    """Each line that is the beginning of a fault is one, with its code and device."""
    found = rows("select distinct signature, code, pci_bdf from events where kind = 'fault' and node = 'hgx-k02'", HOST)

    assert is_told(row, found)


def test_noise_of_host_a_is_no_fault():
    """An all-clear, a quoted, a test and a forged code are no fault where the file shows who wrote it."""
    texts = ("%health sweep ok%", "%Fake error%", "%xxxxxxxx%", "%forged%", "%no uncorrectable%", "%ACCESS_REG%")
    found = rows(
        f"""
        select split_part(s.path, '/', -1), e.message
        from events as e inner join sources as s using (source_id)
        where e.kind = 'fault' and ({" or ".join(f"e.message like '{text}'" for text in texts)})
        """,
        HOST,
    )

    assert [path for path, _ in found if path not in CUT] == []


def test_host_a_begins_at_the_instant_of_the_truth_file():
    """Berlin's local stamps, the journal's UTC and the kernel's own clock meet at the first Xid."""
    [written] = [row for row in WROTE if row["what"] == "Xid 31"]
    found = rows(
        "select ts, ts_uncertainty_s from events where code = '31' and kind = 'fault' and ts is not null", HOST
    )

    assert found
    assert all(near(ts, utc(written["utc_time"]), uncertainty + 2) for ts, uncertainty in found)


# -- a virtual machine with three boots

VM = "real-kmsg/vm-three-boots"
HAPPENED = truth(f"{VM}/truth.csv")
CODES = {
    "oom": ["oom-cgroup", "oom-killed"],
    "mlx5:flap": ["link-down", "mlx5-module-unplugged"],
    "hung": ["hung-task"],
    "md": ["md-disk-failed"],
    "ext4": ["ext4-stopped", "ext4-error"],
    "aer:fatal": ["pcie-aer-fatal"],
    "pciehp": ["pcie-slot-powered-off"],
    "softlockup": ["soft-lockup"],
    "oops": ["kernel-oops"],
    "reboot": ["shutdown-systemd"],
}
SILENT = {
    "segfault": "the kernel printed no line about it: none of the files holds the word",
    "trap": "the kernel printed no line about it: none of the files holds the word",
}


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row['code']}-boot{row['boot']}",
            marks=[pytest.mark.xfail(strict=True, reason=SILENT[row["code"]])] if row["code"] in SILENT else [],
        )
        for row in HAPPENED
        if row["role"] == "root"
    ],
)
def test_every_root_of_the_machine_is_found(row: dict[str, str]):
    """What was caused in the kernel stands among the events of the machine, at its time."""
    family, _, code = row["code"].partition(":")
    asked = f"code = '{code}'" if family == "xid" else f"signature in ({str(CODES.get(row['code'], ['-']))[1:-1]})"
    # A hung task and a lockup are reported later than they began; the clock was seven minutes ahead for the Xid 13.
    seconds = 430 if "clock stepped" in row["what"] else 40
    found = rows(f"select ts from events where {asked} and kind <> 'context' and ts is not null", VM)

    assert [ts for (ts,) in found if near(ts, utc(row["utc_time"]), seconds)]


def test_noise_of_the_machine_is_no_direct_fault():
    """A warning with its stack and corrected errors accuse nobody."""
    quiet = ("mce-corrected", "pcie-aer-corrected", "kernel-warning")
    assert rows(f"select * from events where signature in {quiet} and kind = 'fault'", VM) == []


@pytest.mark.xfail(
    strict=True, reason="a line sent with facility kern differs from the kernel's only by its missing stamp"
)
def test_forged_lines_are_no_fault():
    """Xid lines that a program sent under the kernel's name accuse no GPU."""
    assert rows("select distinct pci_bdf from events where message like '%forged%' and kind = 'fault'", VM) == []


def test_a_zone_written_as_a_word_counts():
    """The journal printed for New York tells the same instants as the one printed for Berlin."""
    found = rows(
        """
        select s.path like '%newyork%', min(e.ts) from events as e inner join sources as s using (source_id)
        where s.format = 'journal-short-full' and e.code = '79' and e.kind = 'fault' and e.message like '%fallen%'
        group by 1 order by 1
        """,
        VM,
    )

    assert [ts for _, ts in found] == [utc("2026-11-30T15:58:51+00:00")] * 2


def test_one_lost_gpu_in_sixteen_files_is_one_event():
    """The same record in syslog, journal, ring buffer and on the console is counted once."""
    found = rows(f"select count(*) from events where {SERIOUS} and code = '79' and message like '%fallen off%'", VM)

    assert found == [(1,)]


# -- clocks


@pytest.mark.parametrize("place", ["new-year", "summer-time-ends"])
def test_local_stamps_become_the_instants_of_the_truth_file(place: str):
    """Without a year over New Year, or in an hour that comes twice, each line has its instant in all formats."""
    folder = f"real-kmsg/clock/{place}"
    wanted = {
        re.sub(r"^<\d>", "", row["line"])[:40]: utc(row["shown_utc"])
        for row in truth(f"{folder}/truth.csv")
        if "clocksource" not in row["line"] and "lab:" not in row["line"]
    }
    found = rows(
        "select s.path, e.message[:40], e.ts from events as e inner join sources as s using (source_id)", folder
    )

    assert len(found) == 3 * len(wanted)
    assert [row for row in found if not near(row[2], wanted[row[1]], 1)] == []
