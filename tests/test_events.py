"""A matching line becomes the right row: who speaks, what its groups say, whose time it has."""

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intake_samples import ALL, BUS, NODES, STEP, TABLE, TRACEBACK, WATCHDOG, XID, signature

from incidentlab import envelopes, events, hosts, stamps
from incidentlab.scan import Candidate, compiled


def rows(line, signatures=ALL, channel=None, following=()):
    """The rows that a line becomes, peeled and searched as the intake does."""
    matches = tuple((s, found) for s in signatures if (found := compiled(s.pattern).search(line.encode())))
    prefix = envelopes.peel(line, None, min(found.start for _, found in matches))
    candidate = Candidate(7, line, 0, matches)
    said = channel or prefix.channel or "job"
    return events.rows(candidate, prefix, said, lambda count: [prefix.text, *following][:count])


def test_a_kernel_line_becomes_an_event_of_its_host():
    """Reporter, device, code, text, both clocks and the remaining groups find their columns."""
    (row,) = rows("Mar  5 14:03:22 GPU0412.cluster kernel: [412.000001] NVRM: Xid (PCI:0000:1B:00): 31, pid=45, MMU")
    assert row.table == "events"
    assert row.values == {
        "line_no": 7,
        "line_count": 1,
        "channel": "kernel",
        "signature": "xid",
        "alike": None,
        "local_ts": datetime.fromisoformat("2000-03-05T14:03:22"),
        "utc_offset_s": None,
        "has_year": False,
        "uptime_s": 412.000001,
        "ts_uncertainty_s": 1.0,
        "node": None,
        "reporter": "gpu0412",
        "gpu_index": None,
        "pci_bdf": "0000:1b:00",
        "gpu_uuid": None,
        "gpu_serial": None,
        "job_id": None,
        "rank": None,
        "code": "31",
        "repeat_count": None,
        "message": "NVRM: Xid (PCI:0000:1B:00): 31, pid=45, MMU",
        "fields": '{"pid":"45"}',
    }


def test_the_refining_signature_speaks():
    """Where two match, the one that refines the other has the line."""
    (row,) = rows("[1.000001] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.")
    assert row.values["signature"] == BUS.name


def test_a_signature_of_the_channel_goes_before_one_that_quotes():
    """The stronger signature does not speak on a channel where it is no evidence, if another is at home there."""
    strong = signature("strong", "fell", strength="direct", tier=1)
    at_home = signature("at-home", "fell off", channels=("job",))
    (row,) = rows("it fell off", (strong, at_home), channel="job")
    assert row.values["signature"] == "at-home"


def test_a_line_on_a_foreign_channel_is_kept_under_its_name():
    """Quoted evidence stays visible; the channel tells that it is quoted."""
    (row,) = rows("Mar  5 14:03:22 gpu1 monitor[3]: saw NVRM: Xid (PCI:0000:1b:00): 31, pid=45, x")
    assert (row.values["signature"], row.values["channel"]) == (XID.name, "daemon")


def test_a_host_list_makes_one_event_a_node():
    """The record is about the nodes that it names, in their short form, not about the controller."""
    line = "Mar  5 14:03:22 ctl01 slurmctld[12]: error: Nodes gpu[008-010],login1.x not responding, setting DOWN"
    made = rows(line, (NODES,))
    assert [row.values["node"] for row in made] == ["gpu008", "gpu009", "gpu010", "login1"]
    assert {row.values["reporter"] for row in made} == {"ctl01"}


def test_only_what_the_text_names_is_the_node():
    """Who wrote a line is its reporter; whether it is the place as well is not for one line to say."""
    lifecycle = signature("x", "Running job(?: on (?P<node>\\S+))?", channels=("slurm",))
    (row,) = rows("Mar  5 14:03:22 ctl01 slurmctld[12]: Running job", (lifecycle,))
    assert (row.values["node"], row.values["reporter"]) == (None, "ctl01")
    (row,) = rows("Mar  5 14:03:22 ctl01 slurmctld[12]: Running job on gpu7", (lifecycle,))
    assert (row.values["node"], row.values["reporter"]) == ("gpu7", "ctl01")


def test_an_allocation_list_is_expanded_in_its_field():
    """A host list that is not the place of the event becomes a list, not an event a host."""
    started = signature("x", "Allocate NodeList=(?P<nodes>\\S+)", channels=("slurm",))
    (row,) = rows("Mar  5 14:03:22 ctl01 slurmctld[12]: Allocate NodeList=gpu[07-09]", (started,))
    assert json.loads(row.values["fields"])["nodes"] == ["gpu07", "gpu08", "gpu09"]


def test_rank_and_stamp_of_the_prefix_are_columns():
    """`[rank9]:` is the global rank, and milliseconds stay a field."""
    line = (
        "[rank9]:[E305 14:33:24.218400317 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=88121, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600014 milliseconds"
    )
    (row,) = rows(line, (WATCHDOG,))
    assert (row.values["rank"], row.values["local_ts"].month, row.values["has_year"]) == (9, 3, False)
    said = json.loads(row.values["fields"])
    assert said == {"op": "ALLREDUCE", "ran_for_ms": "600014", "source": "ProcessGroupNCCL.cpp:683"}


def test_a_block_adds_groups_and_its_time_replaces_the_lines():
    """The failure table of torchrun spans lines; its own time, host and rank count."""
    table = [
        "[0]:",
        "  time      : 2026-03-05_14:03:25",
        "  host      : gpu0412.cluster.example",
        "  rank      : 3293 (local_rank: 5)",
        "  exitcode  : -6 (pid: 4571)",
        "  error_file: <N/A>",
    ]
    (row,) = rows("Root Cause (first observed failure):", (TABLE,), following=table)
    values = row.values
    assert (values["node"], values["rank"], values["line_count"]) == ("gpu0412", 3293, 6)
    assert (values["local_ts"], values["ts_uncertainty_s"]) == (datetime.fromisoformat("2026-03-05T14:03:25"), 1.0)
    assert json.loads(values["fields"]) == {"exit_code": "-6"}


def test_a_block_that_does_not_follow_leaves_the_line_alone():
    """A table torn by other writers is still an event."""
    (row,) = rows("Root Cause (first observed failure):", (TABLE,), following=["something else"])
    assert (row.values["line_count"], row.values["node"]) == (1, None)


def test_a_progress_line_becomes_a_mark():
    """Thousands separators are digits; the mark is the kind."""
    (row,) = rows("[titan] 2026-03-05 14:03:22,123 - root - INFO - step: 1,024  loss: 2.5 step_time 0.25", (STEP,))
    assert row.table == "progress"
    assert (row.values["kind"], row.values["step"], row.values["loss"], row.values["step_time_s"]) == (
        "step",
        1024,
        2.5,
        0.25,
    )


@pytest.mark.parametrize("loss", ["nan", "inf", "-nan", "none"])
def test_a_loss_that_is_no_number_is_missing(loss):
    """NaN is no measurement, and never a zero."""
    (row,) = rows(f"step 5 loss {loss}", (STEP,))
    assert row.values["loss"] is None


def test_milliseconds_a_step_become_seconds():
    """Megatron prints milliseconds."""
    mark = signature("m", r"iteration (?P<step>\d+).*ms\): (?P<step_time_ms>[\d.]+)", kind="progress", mark="step")
    (row,) = rows("iteration 10/ 20 | elapsed time per iteration (ms): 1500.5 |", (mark,))
    assert row.values["step_time_s"] == pytest.approx(1.5005)


def test_a_number_that_fits_no_column_is_missing():
    """A hostile line cannot break the shard."""
    absurd = signature("r", r"rank (?P<rank>\d+) x(?P<repeat>\d+)", channels=("job",))
    (row,) = rows("rank 99999999999 x99999999999999999999", (absurd,))
    assert (row.values["rank"], row.values["repeat_count"]) == (None, None)


def test_a_long_text_is_cut():
    """A message holds 2,000 characters at most."""
    (row,) = rows("OutOfMemoryError: CUDA out of memory" + "x" * 5000, (TRACEBACK,))
    assert len(row.values["message"]) == 2000
    assert row.values["code"] == "oom"


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("0000:1b:00", "0000:1b:00"),
        ("00000000:1B:00.0", "0000:1b:00"),
        ("0000:c1:00.0", "0000:c1:00"),
        ("0008:01:00", "0008:01:00"),
        ("1b:00.0", "0000:1b:00"),
        ("1b000", "0000:1b:00"),
        ("0x1b000", "0000:1b:00"),
        ("100000001b000", "10000000:1b:00"),
        ("GPU-0f1e", None),
        ("", None),
    ],
)
def test_every_spelling_of_a_pci_address_is_one(written, normal):
    """Driver, nvidia-smi and NCCL write the same device differently."""
    assert events.pci_bdf(written) == normal


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7))
def test_pci_spellings_agree(domain, bus, device, function):
    """Eight digits of domain, upper case and a function change nothing."""
    plain = f"{domain:04x}:{bus:02x}:{device:02x}"
    assert events.pci_bdf(plain) == events.pci_bdf(f"{domain:08X}:{bus:02X}:{device:02X}.{function}") == plain


@pytest.mark.parametrize(
    ("hostlist", "expected"),
    [
        ("gpu[001-003,007],b-[1-2]-[3-4]", "b-1-3 b-1-4 b-2-3 b-2-4 gpu001 gpu002 gpu003 gpu007"),
        ("n[8-12]", "n8 n9 n10 n11 n12"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("GPU7.cluster.example", "gpu7"),
        ("(null)", ""),
        ("None assigned", ""),
        ("n[1-99999999]", "n[1-99999999]"),
        ("n[0-99999999999]", "n[0-99999999999]"),
        ("n[2-1]", "n[2-1]"),
        ("n[999999999-0,0-999999999]", "n[999999999-0,0-999999999]"),
        ("n[00000000001-9]", "n[00000000001-9]"),
        ("n[1-3", "n[1-3"),
        ("@all", "@all"),
        ("10.1.2.3", "10.1.2.3"),
    ],
)
def test_host_lists_are_expanded_within_a_limit(hostlist, expected):
    """Nested brackets and padding are understood; what is no list, or too long, stays as written."""
    assert sorted(hosts.expand(hostlist)) == sorted(expected.split())


@pytest.mark.parametrize(
    ("text", "local", "offset", "uncertainty"),
    [
        ("2026-03-05T14:03:22", "2026-03-05T14:03:22", None, 1.0),
        ("2026-03-05_14:03:22", "2026-03-05T14:03:22", None, 1.0),
        ("2026-03-05 14:03:22,123", "2026-03-05T14:03:22.123", None, 1e-3),
        ("2026-03-05T14:03:22.123456789Z", "2026-03-05T14:03:22.123456", 0, 1e-6),
        ("2026-03-05T14:03:22-0330", "2026-03-05T14:03:22", -12600, 1.0),
        ("1772719402", "2026-03-05T14:03:22", 0, 1.0),
        ("1772719402.5", "2026-03-05T14:03:22.5", 0, 0.1),
    ],
)
def test_stamps_are_read_as_written(text, local, offset, uncertainty):
    """Date, fraction, zone and resolution; no zone is invented."""
    stamp = stamps.read(text)
    assert (stamp.local_ts, stamp.utc_offset_s) == (datetime.fromisoformat(local), offset)
    assert stamp.uncertainty_s == pytest.approx(uncertainty)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30T10:00:00", "12345", "2026-03-05T25:00:00"])
def test_what_is_no_instant_is_no_stamp(text):
    """A day or hour that does not exist is not corrected."""
    assert stamps.read(text) is None
