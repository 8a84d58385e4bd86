"""Inputs become shards once, whole or not at all, and every file ends as used, unused or failed."""

import gzip
import io
import json
import os
import tarfile
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from blake3 import blake3
from intake_samples import ALL, signature
from worlds import taken_in

from incidentlab import discover, envelopes, parsers, pipeline, shards, spool, units
from incidentlab.discover import Refused
from incidentlab.model import REPORT_MARK, Row
from incidentlab.parsers import Parser, Unparsed
from incidentlab.signatures import load_signatures

SHARED = Path(__file__).parents[1].parent / "shared"
KERNEL = "Mar  5 14:03:22 gpu0412 kernel: [412.000001] NVRM: Xid (PCI:0000:1b:00): 31, pid=45, MMU\n"
CHATTER = "Mar  5 14:03:20 gpu0412 systemd[1]: Started Session 9.\n"


def ingested(tmp_path, *paths, signatures=ALL, jobs=1):
    """Every table's rows after reading `paths` into an empty warehouse, sources by path."""
    inputs, refused = discover.find_inputs([str(path) for path in paths])
    return tables(tmp_path, [*inputs, *refused], signatures, jobs)


def tables(tmp_path, found, signatures=ALL, jobs=1):
    """What schema `intake` holds after reading what was `found`, sources by path."""
    rows = taken_in(found, tmp_path, signatures, jobs)
    return {**rows, "sources": sorted(rows["sources"], key=lambda row: row["path"])}


def different(count):
    """So many kernel lines, none like another."""
    return "".join(KERNEL.replace("pid=45", f"pid={number}") for number in range(count))


def only(rows):
    """The single row of a list."""
    (row,) = rows
    return row


def written(tmp_path, content, name="x.log"):
    """A file with some content."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_log_becomes_events_and_one_source(tmp_path):
    """Lines add up, the source knows its format, host and times, and its id is the hash of its bytes."""
    text = CHATTER + KERNEL * 2 + CHATTER
    found = ingested(tmp_path, written(tmp_path, text))
    source = only(found["sources"])
    digest = blake3(text.encode()).hexdigest()
    expected = {
        "source_id": digest[:16],
        "digest": digest,
        "bytes": len(text),
        "lines": 4,
        "matched_lines": 2,
        "unmatched_lines": 2,
        "unparsed_lines": 0,
        "format": "syslog-rfc3164",
        "channel": "kernel",
        "host": "gpu0412",
        "first_local_ts": datetime.fromisoformat("2000-03-05T14:03:20"),
        "has_year": False,
        "status": "used",
        "reason": None,
    }
    assert {key: source[key] for key in expected} == expected
    assert [event["line_no"] for event in found["events"]] == [2, 3]
    assert len({event["event_id"] for event in found["events"]}) == 2
    assert {event["source_id"] for event in found["events"]} == {digest[:16]}


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        (b"", "unused", "empty"),
        (os.urandom(3000), "unused", "binary"),
        (
            b"\n<!doctype html>\n<html><meta charset=x>" + REPORT_MARK + b' 1.2.3">\n',
            "unused",
            "a report of incidentlab",
        ),
        (bytes(8) + b"DUCK" + bytes(3000), "unused", "a DuckDB file"),
        (KERNEL.encode() + REPORT_MARK + b"\n", "used", None),
        (b"once upon a time\n" * 9, "unused", "unknown format, and no line of it matches a signature"),
        (CHATTER.encode() * 9, "used", None),
        (gzip.compress(KERNEL.encode() * 9999)[:-200], "used", "gzip data is cut or damaged"),
    ],
)
def test_each_file_ends_with_a_status_and_its_reason(tmp_path, content, status, reason):
    """Silence of a known format is evidence; what cannot be used says why; a cut is told."""
    source = only(ingested(tmp_path, written(tmp_path, content))["sources"])
    assert source["status"] == status
    assert source["reason"] == reason or source["reason"].startswith(reason)
    assert source["lines"] == source["matched_lines"] + source["unmatched_lines"] + source["unparsed_lines"]


def test_a_hole_at_the_head_does_not_make_a_log_binary(tmp_path):
    """NUL bytes that a crash left in front of a log are skipped."""
    assert only(ingested(tmp_path, written(tmp_path, bytes(9000) + KERNEL.encode()))["events"])["code"] == "31"


def test_one_bad_file_does_not_stop_the_others(tmp_path, monkeypatch):
    """A parser that raises fails its source with the error's text and leaves no half of it behind."""

    def explode(lines):
        yield Row("events", {"line_no": next(iter(lines))[0], "signature": "x"})
        raise RuntimeError("cannot\nbe")

    broken = Parser("broken", "slurm", lambda head: head.startswith(b"BROKEN"), explode, ())
    monkeypatch.setattr(parsers, "load_parsers", lambda: (broken,))
    found = ingested(tmp_path, written(tmp_path, "BROKEN\n", "a.log"), written(tmp_path, KERNEL, "b.log"))
    assert [(s["status"], s["reason"]) for s in found["sources"]] == [
        ("failed", "RuntimeError: cannot\nbe"),
        ("used", None),
    ]
    assert [event["signature"] for event in found["events"]] == ["xid"]


def test_structured_parsers_go_first_and_their_lines_add_up(tmp_path, monkeypatch):
    """Rows get ids, channel and line count; lines that were not understood are counted as such."""

    def parse(lines):
        for number, line in lines:
            if line.startswith("job"):
                yield Row("job_records", {"line_no": number, "job_id": line, "nodes": ["gpu1", "gpu2"]})
                yield Row("events", {"line_no": number, "signature": "x", "node": "gpu1"})
            elif line == "torn":
                yield Unparsed(number, "torn")

    parser = Parser("table", "accounting", lambda head: head.startswith(b"HEAD"), parse, ())
    monkeypatch.setattr(parsers, "load_parsers", lambda: (parser,))
    found = ingested(tmp_path, written(tmp_path, "HEAD\njob 1\ntorn\njob 2\n"))
    source = only(found["sources"])
    counts = [source[f"{kind}lines"] for kind in ("", "matched_", "unmatched_", "unparsed_")]
    assert (counts, source["format"], source["channel"]) == ([4, 2, 1, 1], "table", "accounting")
    assert [(r["job_id"], r["nodes"]) for r in found["job_records"]] == [(f"job {n}", ["gpu1", "gpu2"]) for n in (1, 2)]
    assert [(e["channel"], e["line_count"]) for e in found["events"]] == [("accounting", 1)] * 2


def test_refused_things_are_sources_too(tmp_path):
    """What was found and cannot be read is not missing from the account."""
    found = tables(tmp_path, [Refused("/x/sock", "not a regular file"), Refused("/x/y", "cannot be read: no")])
    assert [(s["path"], s["status"]) for s in found["sources"]] == [
        ("/x/sock", "unused"),
        ("/x/y", "failed"),
    ]


def test_members_of_an_archive_are_sources(tmp_path):
    """Each member is read by its own content, compressed or not, and the archive itself is named too."""
    path = tmp_path / "logs.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in (
            ("k.log", KERNEL.encode()),
            ("k2.log.gz", gzip.compress(CHATTER.encode() + KERNEL.encode())),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    found = ingested(tmp_path, path)
    assert [(s["path"].rsplit("/", 1)[-1], s["lines"], s["reason"]) for s in found["sources"]] == [
        ("logs.tar.gz", None, "archive of 2 members"),
        ("logs.tar.gz!k.log", 1, None),
        ("logs.tar.gz!k2.log.gz", 2, None),
    ]
    assert len(found["events"]) == 2


def test_a_damaged_archive_keeps_the_members_before_the_damage(tmp_path):
    """What was read stays; the archive is failed with its error."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("k.log")
        info.size = len(KERNEL)
        archive.addfile(info, io.BytesIO(KERNEL.encode()))
        archive.addfile(info, io.BytesIO(KERNEL.encode()))
    for length, whole in ((1400, ["used"]), (1300, ["used"]), (1024, ["used"])):
        archive, *members = ingested(tmp_path, written(tmp_path, buffer.getvalue()[:length], "x.tar"))["sources"]
        assert (archive["status"], [source["status"] for source in members]) == ("failed", whole)
        assert "the end of the archive is missing" in archive["reason"]


def test_reading_twice_changes_no_byte_and_reads_nothing(tmp_path, monkeypatch):
    """A unit that is done is skipped."""
    path = written(tmp_path, KERNEL)
    ingested(tmp_path, path)
    before = {file: file.read_bytes() for file in (tmp_path / "shards").rglob("*.parquet")}
    monkeypatch.setattr(shards, "open_stream", lambda _: pytest.fail("read again"))
    ingested(tmp_path, path)
    assert {file: file.read_bytes() for file in (tmp_path / "shards").rglob("*.parquet")} == before


def test_a_changed_file_is_another_unit(tmp_path):
    """A log that has grown is read again, and its old rows do not count."""
    path = written(tmp_path, KERNEL)
    ingested(tmp_path, path)
    path.write_text(CHATTER + KERNEL + KERNEL)
    found = ingested(tmp_path, path)
    assert only(found["sources"])["lines"] == 3
    assert [event["line_no"] for event in found["events"]] == [2, 3]
    path.write_text(CHATTER * 5)
    assert ingested(tmp_path, path)["events"] == []


def test_new_signatures_read_again(tmp_path):
    """What is known is part of the name of a unit."""
    path = written(tmp_path, KERNEL)
    assert len(ingested(tmp_path, path, signatures=())["events"]) == 0
    assert len(ingested(tmp_path, path)["events"]) == 1


def test_few_large_rows_are_spilled_as_well(tmp_path, monkeypatch):
    """Rows with long lists are written away before they are many."""
    monkeypatch.setattr(spool, "SPILL_SIZE", 3_000)
    lines = "".join(f"{job}|FAILED|n[0001-0200]\n" for job in range(5))
    found = ingested(tmp_path, written(tmp_path, f"JobID|State|NodeList\n{lines}"))
    assert [(record["job_id"], len(record["nodes"])) for record in found["job_records"]] == [
        (str(job), 200) for job in range(5)
    ]
    assert len(list((tmp_path / "shards" / "job_records").rglob("*.parquet"))) == 3


def test_many_rows_are_spilled_and_all_arrive(tmp_path, monkeypatch):
    """Memory is bounded by the size of a part; ids are given when the digest is known."""
    monkeypatch.setattr(spool, "SPILL_ROWS", 10)
    found = ingested(tmp_path, written(tmp_path, different(25)))
    assert [event["line_no"] for event in found["events"]] == list(range(1, 26))
    assert len({event["event_id"] for event in found["events"]}) == 25
    assert sorted(file.name for file in (tmp_path / "shards").rglob(".*")) == []


def test_processes_write_the_same_bytes_as_one(tmp_path, monkeypatch):
    """How many work on it does not show in the result."""
    monkeypatch.setattr(pipeline, "ALONE_BYTES", 0)
    monkeypatch.setattr(units, "UNIT_BYTES", 40_000)
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(4):
        written(folder, CHATTER * number + KERNEL, f"{number}.log")
    contents = []
    for jobs in (1, 2):
        (tmp_path / str(jobs)).mkdir()
        inputs, _ = discover.find_inputs([str(folder)])
        tables(tmp_path / str(jobs), inputs, jobs=jobs)
        files = sorted((tmp_path / str(jobs) / "shards").rglob("*.parquet"))
        contents.append({file.relative_to(tmp_path / str(jobs)): file.read_bytes() for file in files})
    assert contents[0] == contents[1]
    assert len(contents[0]) == 8


def test_a_line_without_a_stamp_borrows_one(tmp_path):
    """NCCL INFO lines take the time before them; how far the next stamp is, is how sure that is."""
    lines = [
        "2026-03-05 14:03:20,000 - INFO - starting",
        "gpu1:1:2 [0] NCCL INFO transport/net.cc:1298 -> 6",
        "2026-03-05 14:03:27,500 - INFO - going on",
        "gpu1:1:2 [0] NCCL INFO transport/net.cc:1298 -> 2",
    ]
    first, last = ingested(tmp_path, written(tmp_path, "\n".join(lines)))["events"]
    assert (first["local_ts"].isoformat(), first["ts_uncertainty_s"]) == ("2026-03-05T14:03:20", 7.5)
    assert (last["local_ts"].isoformat(), last["ts_uncertainty_s"]) == ("2026-03-05T14:03:27.500000", None)


def test_a_line_before_the_first_stamp_takes_that(tmp_path):
    """Without a time before it, the one after it is the best there is."""
    text = "gpu1:1:2 [0] NCCL INFO transport/net.cc:1298 -> 6\n2026-03-05 14:03:27 - INFO - going on\n"
    event = only(ingested(tmp_path, written(tmp_path, text))["events"])
    assert (event["local_ts"].isoformat(), event["ts_uncertainty_s"]) == ("2026-03-05T14:03:27", None)


@pytest.mark.parametrize(
    ("before", "after", "apart"),
    [
        ("2026-03-05 14:03:20,000 - INFO - x", "[rank9]:[E305 14:03:26.000000000 ProcessGroupNCCL.cpp:683] y", 6.0),
        ("[E1231 23:59:59.000000000 a.cpp:1] x", "[E101 00:00:02.000000000 a.cpp:1] y", 3.0),
    ],
)
def test_how_far_stamps_are_apart_does_not_depend_on_a_year_that_one_lacks(
    tmp_path, before: str, after: str, apart: float
):
    """A dated line and one of glog stand seconds apart, not decades; so do two of glog over New Year."""
    text = f"{before}\ngpu1:1:2 [0] NCCL INFO transport/net.cc:1298 -> 6\n{after}\n"
    found = [
        event["ts_uncertainty_s"]
        for event in ingested(tmp_path, written(tmp_path, text))["events"]
        if "net.cc" in event["message"]
    ]
    assert found == [apart]


def test_a_table_of_torchrun_is_one_event(tmp_path):
    """Its lines count as matched, behind whatever label a launcher put in front of each."""
    table = """Root Cause (first observed failure):
[0]:
  time      : 2026-03-05_14:03:25
  host      : gpu0412.cluster.example
  rank      : 3293 (local_rank: 5)
  exitcode  : -6 (pid: 4571)
============"""
    text = "".join(f"[default0]:{line}\n" for line in table.splitlines())
    found = ingested(tmp_path, written(tmp_path, text))
    event = only(found["events"])
    assert (event["node"], event["rank"], event["line_count"]) == ("gpu0412", 3293, 6)
    assert only(found["sources"])["matched_lines"] == 6


def test_joined_files_keep_each_lines_own_header(tmp_path):
    """`tail` and `head` put banners between files; each line still speaks for itself."""
    text = f"==> /logs/worker-0.log <==\ngpu1:1:2 [0] NCCL INFO transport/net.cc:1 -> 6\n\n==> messages <==\n{KERNEL}"
    found = ingested(tmp_path, written(tmp_path, text))
    assert [(e["channel"], e["reporter"]) for e in found["events"]] == [("job", "gpu1"), ("kernel", "gpu0412")]


def test_fields_are_json(tmp_path):
    """What no column holds can be queried."""
    assert json.loads(only(ingested(tmp_path, written(tmp_path, KERNEL))["events"])["fields"]) == {"pid": "45"}


# The journal's `cat` drops the word NVRM, two files hold other lines, and the truth is no log.
OTHERS = {"journalctl-cat.txt", "dmesg-l-err.txt", "journalctl-default-reverse.txt", "truth.csv"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the corpus of real logs beside the checkout")
def test_every_rendering_of_the_same_records_gives_the_same_xid_events(tmp_path):
    """What dmesg, /dev/kmsg, rsyslog and the journal print agrees on code, device, text and channel."""
    xid = [s for s in load_signatures() if s.name.startswith("nvidia-xid")]
    readings = {}
    for path in sorted((SHARED / "corpus" / "real-kmsg" / "host-a").iterdir()):
        if path.name not in OTHERS:
            found = ingested(tmp_path / path.name, path, signatures=xid)["events"]
            readings[path.name] = Counter()
            for e in found:
                said = (e["code"], e["pci_bdf"], e["message"].removeprefix("lab-daemon[77]: "), e["channel"])
                readings[path.name][said] += e["repeat_count"] or 1
    assert len(readings) == 35
    assert readings["dmesg.txt"].total() == 51
    assert {name for name, reading in readings.items() if reading != readings["dmesg.txt"]} == set()


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the corpus of real logs beside the checkout")
def test_every_file_of_the_corpus_is_accounted_for(tmp_path):
    """No real file fails, and its lines add up."""
    found = ingested(tmp_path, SHARED / "corpus")["sources"]
    assert [source["path"] for source in found if source["status"] == "failed"] == []
    assert all(
        source["lines"] == source["matched_lines"] + source["unmatched_lines"] + source["unparsed_lines"]
        for source in found
        if source["lines"] is not None
    )


def test_signatures_of_unknown_formats_make_a_plain_source_used(tmp_path):
    """A line that is caught is worth more than a header that is known."""
    fell = signature("fell", "fell over", channels=("job",))
    source = only(ingested(tmp_path, written(tmp_path, "it fell over\n"), signatures=(fell,))["sources"])
    assert (source["format"], source["channel"], source["status"]) == ("plain", "job", "used")
    assert envelopes.recognise("it fell over\n") is None


def test_an_archive_in_an_archive_is_opened(tmp_path):
    """Whoever packs a node's logs may pack all nodes' archives again; each log is a source of its own."""

    def packed(name, content, mode="w"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=mode) as archive:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        return buffer.getvalue()

    inner = packed("k.log", KERNEL.encode())
    three = written(tmp_path, packed("b.tar", packed("a.tgz", gzip.compress(inner))), "c.tar")
    sources = ingested(tmp_path, three)["sources"]
    assert {source["path"].removeprefix(f"{three}"): source["format"] for source in sources} == {
        "": "tar",
        "!b.tar": "tar",
        "!b.tar!a.tgz": "tar",
        "!b.tar!a.tgz!k.log": "syslog-rfc3164",
    }


@pytest.mark.parametrize(
    ("content", "lines", "events"),
    [
        (b"\xef\xbb\xbf" + KERNEL.encode(), 1, 1),
        ((CHATTER + KERNEL + CHATTER + KERNEL).replace("\n", "\r").encode(), 4, 2),
        ((CHATTER + KERNEL).replace("\n", "\r\n").encode(), 2, 1),
    ],
)
def test_marks_and_line_ends_of_other_systems_are_understood(tmp_path, content, lines, events):
    """A byte order mark is no text, and a carriage return alone ends a line where there is no line feed."""
    found = ingested(tmp_path, written(tmp_path, content))
    assert (only(found["sources"])["lines"], len(found["events"])) == (lines, events)


def test_utf_16_says_what_to_do(tmp_path):
    """What Windows calls Unicode is text, and one command away from being read."""
    source = only(ingested(tmp_path, written(tmp_path, KERNEL.encode("utf-16")))["sources"])
    assert source["reason"] == "UTF-16; make it UTF-8 with: iconv -f UTF-16 -t UTF-8"


def test_earlier_shards_of_a_unit_are_replaced(tmp_path, monkeypatch):
    """A file that shrank leaves no part of what it held before."""
    monkeypatch.setattr(spool, "SPILL_ROWS", 10)
    for count in (35, 5):
        found = ingested(tmp_path, written(tmp_path, different(count)))
        assert len(found["events"]) == count


def test_ids_depend_on_content_line_signature_and_node_only(tmp_path):
    """The same log under another name, in another run, has the same ids; two nodes of one line have different ones."""
    text = KERNEL + "[2026-03-05T14:03:22.123] error: Nodes gpu[1-2] not responding, setting DOWN\n" + KERNEL
    runs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        runs.append(ingested(tmp_path / name, written(tmp_path / name, text, f"{name}.log"))["events"])
    assert len({event["event_id"] for event in runs[0]}) == 4
    assert [event["event_id"] for event in runs[0]] == [event["event_id"] for event in runs[1]]
