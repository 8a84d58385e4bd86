"""A storm is folded: its first and its last line stand for it, nothing is lost of how many there were."""

import io
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intake_samples import ALL, folded
from worlds import taken_in

from incidentlab import codecs, content, discover, folding, pages, parts, reading, scan, units
from incidentlab.folding import Storms, alike
from incidentlab.pages import Page
from incidentlab.scan import Re2, Scanner
from incidentlab.signatures import load_signatures

SCANNER = Scanner(ALL)
XID = "NVRM: Xid (PCI:0000:1b:00): 79, x"
LINES = st.sampled_from(
    [
        *(f"Mar  5 14:03:{second:02d} gpu1 kernel: [412345.{second:06d}] {XID}" for second in range(4)),
        f"Mar  5 14:04:01 gpu1 kernel: [412399.000001] {XID}",
        f"[412351.000001] {XID}",
        "Mar  5 14:03:01 gpu2 kernel: [412345.000001] NVRM: Xid (PCI:0000:1b:00): 31, pid=4, y",
        "Root Cause (first observed failure):",
        "[0]:",
        "chatter",
        "step 5 loss 2.5",
        "a\rstep 5 loss 2.5\rstep 6 loss 2",
    ]
)
STORMS = st.lists(st.tuples(LINES, st.integers(1, 24)), max_size=12).map(
    lambda runs: "".join(f"{line}\n" * count for line, count in runs).encode()
)


def rows_of(data, scanner=SCANNER):
    """The rows of some text as they are emitted, and what is known of the source."""
    rows = []
    found = reading.read(codecs.open_stream(io.BytesIO(data)), scanner, rows.append)
    return [row.values for row in rows], parts.joined(found)


def loaded(data, tmp_path, monkeypatch, unit_bytes):
    """How many units a file was read in, its events in the warehouse, and how many of its lines matched."""
    monkeypatch.setattr(units, "UNIT_BYTES", unit_bytes)
    (tmp_path / "kern.log").write_bytes(data)
    inputs, _ = discover.find_inputs([str(tmp_path / "kern.log")])
    folder = tmp_path / str(unit_bytes)
    folder.mkdir()
    tables = taken_in(inputs, folder, load_signatures())
    told = [
        tuple(event[name] for name in ("line_no", "repeat_count", "event_id", "local_ts")) for event in tables["events"]
    ]
    (source,) = tables["sources"]
    return len(list((folder / "shards" / "parts").rglob("*.parquet"))), told, source["matched_lines"]


def test_a_storm_is_its_first_lines_and_its_last():
    """Of 100 lines within ten minutes four stand for themselves and the last for 96; times and lines are theirs."""
    lines = [f"Mar  5 14:03:{n // 2:02d} gpu1 kernel: [{412345 + n / 2:.6f}] {XID}\n" for n in range(100)]
    rows, source = rows_of("".join(lines).encode())
    told = [(row["line_no"], row["repeat_count"], row["local_ts"].second) for row in rows]
    assert told == [*((n + 1, None, n // 2) for n in range(4)), (100, 96, 49)]
    assert (source.lines, source.matched) == (100, 100)


def test_a_record_that_counts_itself_is_counted_as_often():
    """Twenty lines that each stand for five stand for a hundred."""
    line = "Mar  5 14:03:01 n1 kernel: EDAC MC0: 5 CE memory read error on CPU_SrcID#0_DIMM#0 (channel:0)\n"
    scanner = Scanner([found for found in load_signatures() if found.name == "edac-corrected"])
    assert [row["repeat_count"] for row in rows_of((line * 20).encode(), scanner)[0]] == [5] * 4 + [80]


def test_lines_without_a_clock_are_never_folded():
    """Nobody could say when the others were."""
    assert [row["line_no"] for row in rows_of(f"{XID}\n".encode() * 20)[0]] == list(range(1, 21))


@pytest.mark.parametrize(
    "line",
    [
        "Feb 31 14:03:{:02d} gpu1 kernel: " + XID,
        "2026-02-30T14:03:{:02d} gpu1 kernel: " + XID,
        "14:03:{:02d} " + XID,
        "[  412.{:06d}] " + XID,
    ],
)
def test_what_names_no_instant_of_a_day_is_never_folded(line):
    """Such a clock is that of every boot, or of every day, or of none."""
    data = "".join(line.format(second) + "\n" for second in range(20)).encode()
    assert [row["line_no"] for row in rows_of(data)[0]] == list(range(1, 21))


def test_a_repetition_has_its_own_time_behind_a_quotation():
    """What is glued into another line keeps the clock of the glued one, first as last."""
    bar = " 12%|#         | 5/40 " + "Mar  5 14:03:{:02d} gpu1 kernel: " + XID
    data = "".join(f"Mar  5 14:00:{n:02d} n1 train: " + bar.format(n) + "\n" for n in range(20)).encode()
    rows, _ = rows_of(data)
    assert [(row["line_no"], row["local_ts"].second) for row in rows] == [(n + 1, n) for n in range(20)]


def test_where_a_storm_is_cut_does_not_show(tmp_path, monkeypatch):
    """Ranges fold for themselves; in the warehouse a storm that lies in several of them is one."""
    monkeypatch.setattr(pages, "GRID_BYTES", 4 * codecs.BLOCK_BYTES)
    monkeypatch.setattr(content, "GRID_BYTES", 4 * codecs.BLOCK_BYTES)
    lines = [
        f"Mar  5 14:{n // 2_000:02d}:{n // 40 % 50:02d} gpu{n % 3} kernel: [{412345 + n / 40:.6f}] {XID}\n"
        for n in range(60_000)
    ]
    data = "".join(lines).encode()
    one, whole, counted = loaded(data, tmp_path, monkeypatch, 1 << 30)
    several, cut, counted_again = loaded(data, tmp_path, monkeypatch, 4 * codecs.BLOCK_BYTES)
    assert (one, several > 3) == (1, True)
    assert cut == whole
    assert counted == counted_again == 60_000
    assert sum(count or 1 for _, count, *_ in whole) == 60_000
    # five rows for each of three hosts in each of three times ten minutes, of which the last lies in prefix and tail
    assert len(whole) == 5 * 3 * (3 + 1)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Mar  5 14:03:22 g kernel: [1.000001] x", "Mar  5 14:03:59 g kernel: [38.000002] x", True),
        ("Mar  5 14:03:22 g kernel: x", "Mar  5 14:09:59 g kernel: x", True),
        ("Mar  5 14:03:22 g kernel: x", "Mar  5 14:13:22 g kernel: x", False),
        ("Mar  5 14:03:22 g kernel: x", "Mar  5 14:03:22 h kernel: x", False),
        ("2026-03-05T14:03:22.5+01:00 g a[1]: x", "2026-03-05T14:03:23.123+01:00 g a[1]: x", True),
        ("2026-03-05T14:03:22.5+01:00 g a[1]: x", "2026-03-05T14:03:22.5+01:00 g a[2]: x", False),
        ("[ 1234.000001] x", "[ 1235.000001] x", False),
        ("14:03:22 x", "14:03:23 x", False),
        ("job 5 ran 10:00:12 of 12:00:00", "job 5 ran 10:00:13 of 12:00:00", False),
        ("health says Mar  5 14:03:01 g kernel: x", "health says Mar  5 14:03:02 g kernel: x", False),
        ("nvidia 0000:18:00.0: x", "nvidia 0000:19:00.0: x", False),
        ("[ 5264.2 <    0.010291>] nvidia 0000:18:00.0: x", "[ 5264.2 <    0.010291>] nvidia 0000:19:01.0: x", False),
        ("port 10:22:33:03:aa:01 x", "port 10:23:34:03:aa:01 x", False),
        ("Mar  5 14:03:22.123 g kernel: x", "Mar  5 14:03:22,5 g kernel: x", True),
        ("Mar  5 14:03:22 g s: at 14:05:01", "Mar  5 14:03:22 g s: at 14:05:02", False),
        ("[Thu Mar  5 14:03:22 2026] x", "[Thu Mar  5 14:03:23 2026] x", True),
    ],
)
def test_only_the_clock_at_the_beginning_does_not_count(one, other, same):
    """Host, process, minute, message and clocks within it tell lines apart."""
    assert (alike(one.encode()) == alike(other.encode())) is same


@given(STORMS)
@settings(max_examples=200, deadline=None)
def test_nothing_is_lost_in_folding(data):
    """Matched lines, and how many records of each message there are, are what looking at each line gives."""
    rows, source = rows_of(data)
    expected = {}
    matched = 0
    for line in data.decode().split("\n"):
        texts = [] if "Root Cause" in line or "\r" in line else rows_of(line.encode() + b"\n")[0]
        matched += bool(texts)
        for row in texts:
            if "signature" in row:
                expected[row["message"]] = expected.get(row["message"], 0) + 1
    totals = {}
    for row in rows:
        if "signature" in row and row["message"] in expected:
            totals[row["message"]] = totals.get(row["message"], 0) + (row["repeat_count"] or 1)
    assert totals == expected
    assert matched <= source.matched <= source.lines


def test_lines_of_a_dense_page_come_in_their_order(monkeypatch):
    """Progress lines that are alike are each looked at, and stand where they stood among the others."""
    monkeypatch.setattr(scan, "_DENSE_BYTES", sys.maxsize)
    step, fault = "Mar  5 14:03:0{} n1 train: step 5 loss 2.5\n", "OutOfMemoryError: CUDA out of memory\n"
    page = Page("".join(step.format(second) + fault for second in range(4)).encode(), 1, 0)
    found = [candidate.line_no for candidate in SCANNER.candidates(page, Storms())]
    assert found == list(range(1, 9))


def test_long_lines_are_forgotten_before_they_are_many(monkeypatch):
    """What is known of storms is bounded by its size as well as by its number."""
    monkeypatch.setattr(folding, "MOST_BYTES", 100)
    storms = Storms()
    storms.add(b"x" * 60, None)
    assert not storms.is_full
    storms.add_single(b"y" * 60)
    assert storms.is_full
    storms.told()
    assert not storms.is_full


@given(STORMS)
@settings(max_examples=200, deadline=None)
def test_how_it_is_found_changes_nothing(data):
    """A page that is folded before the search gives what one gives that is folded after it, with either engine."""
    results = []
    for dense in (1, sys.maxsize):
        for engine in (scan.Hyperscan, Re2):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(scan, "_DENSE_BYTES", dense)
                rows, source = rows_of(data, Scanner(ALL, engine))
                results.append((folded(rows), source))
    assert all(result == results[0] for result in results)
