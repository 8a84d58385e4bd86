"""What a site says reaches the warehouse, and what cannot be used makes none."""

import gzip
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from incidentlab import cli, pipeline, shards, warehouse
from incidentlab.errors import InputError, WarehouseError
from incidentlab.shards import Kitchen
from incidentlab.signatures import load_signatures
from incidentlab.units import Unit
from incidentlab.workshop import workshop

Run = Callable[..., object]

JOB = """
2026-03-05T14:03:22Z trainer ready
2026-03-05T14:03:24Z tick 7 took 1.5 s
2026-03-05T14:03:26Z checkpoint of tick 8 is safe
"""

KERNEL = "Mar  5 14:03:22 gpu0412 kernel: [412.000001] NVRM: Xid (PCI:0000:1b:00): 31, pid=45, MMU\n"

SITE = r"""
[cluster]
name = "alpha"
timezone = "Europe/Paris"
[planned]
windows = ["windows.csv"]
[progress]
step = 'tick (?P<step>\d+) took'
checkpoint_done = 'checkpoint of tick (?P<step>\d+) is safe'
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a log of a trainer that nobody else has, and the site's file about it."""
    (tmp_path / "job.out").write_text(JOB)
    (tmp_path / "incidentlab.toml").write_text(SITE)
    (tmp_path / "windows.csv").write_text("scope,from,to,reason\nn[1-2],2026-03-05T08:00,2026-03-05T09:00,firmware\n")
    return tmp_path


def rows(run: Run, statement: str) -> list[dict]:
    """What a statement selects from the default warehouse."""
    return json.loads(run("sql", statement, "--format", "json").out)["rows"]


def test_days_of_one_log_are_told_apart(incidentlab: Run, tmp_path: Path) -> None:
    """A line of a log that is replaced every day is explained for each of its days, the older first."""
    for day, code in ((5, 79), (6, 48)):
        (tmp_path / "messages").write_text(
            f"2026-03-0{day}T14:03:22+00:00 n1 kernel: NVRM: Xid (PCI:0000:1b:00): {code}, pid=1, trouble\n" * 3
        )
        incidentlab("ingest", tmp_path / "messages")

    told = incidentlab("explain", "messages:1").out

    assert 0 < told.index("79, pid=1") < told.index("48, pid=1")


def test_a_later_ingest_keeps_the_settings(incidentlab: Run, site: Path) -> None:
    """Without settings of its own it changes neither the instants nor the events of what was read before."""
    log = site / "kern.log"
    log.write_text("Mar  5 14:03:22 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n")
    asked = "select ts, (select count(*) from progress) as marks from events"
    incidentlab("ingest", log, site / "job.out", "--tz", "Europe/Paris", "--year", "2025")
    before = rows(incidentlab, asked)
    (site / "incidentlab.toml").unlink()
    (site / "other.out").write_text(JOB.replace("trainer", "other"))

    assert incidentlab("ingest", site / "other.out").code == 0
    assert before == [{"ts": "2025-03-05T13:03:22Z", "marks": 2}]
    assert rows(incidentlab, asked) == before

    incidentlab("ingest", site / "other.out", "--year", "2026")
    assert [row["ts"] for row in rows(incidentlab, asked)] == ["2026-03-05T14:03:22Z"]


def test_what_the_site_says(incidentlab: Run, site: Path) -> None:
    """Lines that only the site knows become marks, a window covers each host of its list, `meta` names who made it."""
    assert incidentlab("ingest", site / "job.out").code == 0

    assert rows(incidentlab, "select kind, step from intake.progress order by line_no") == [
        {"kind": "step", "step": 7},
        {"kind": "checkpoint_done", "step": 8},
    ]
    assert rows(incidentlab, "select scope, start_ts from maintenance_windows order by scope") == [
        {"scope": "n1", "start_ts": "2026-03-05T07:00:00Z"},
        {"scope": "n2", "start_ts": "2026-03-05T07:00:00Z"},
    ]
    meta = {row["key"]: row["value"] for row in rows(incidentlab, "from meta")}
    assert {key: meta[key] for key in ("command", "version", "cluster")} == {
        "command": "ingest",
        "version": "0.1.0",
        "cluster": "alpha",
    }


def test_a_pattern_may_begin_with_the_line(incidentlab: Run, tmp_path: Path) -> None:
    """`(?m:^)` holds at the first line and at later ones, and not within a line; a literal is not needed for that."""
    (tmp_path / "incidentlab.toml").write_text(r"progress.step = '(?m:^)it +(?P<step>\d+)'")
    (tmp_path / "job.out").write_text("it 7 ok\nwait 8 ok\n2026-03-05T14:03:24Z it 9 ok\nit 10 ok\n" + KERNEL)

    assert incidentlab("ingest", "job.out").code == 0
    assert [row["step"] for row in rows(incidentlab, "select step from intake.progress order by line_no")] == [7, 10]


def test_site_pattern_wins_over_the_shipped_ones() -> None:
    """A site's pattern refines whatever is shipped for the same mark, so that a line has one winner."""
    shipped = [signature for signature in load_signatures() if signature.mark == "step"]
    own = pipeline._progress_signature("step", "x", shipped)

    assert set(own.refines) == {signature.name for signature in shipped if signature.kind == "progress"}


def test_archive_of_photos_is_no_log(incidentlab: Run, tmp_path: Path) -> None:
    """An archive is as good as its members: one of binary files ends with exit code 3."""
    (tmp_path / "photo").write_bytes(bytes(range(256)) * 50)
    with tarfile.open(tmp_path / "photos.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "photo", "photo")

    outcome = incidentlab("report", "photos.tar.gz")

    assert outcome.code == InputError.exit_code
    assert not (tmp_path / "incidentlab.duckdb").exists()


def test_cut_gzip_is_used(incidentlab: Run, tmp_path: Path) -> None:
    """What comes before the cut of a compressed file is read, and the cut is said."""
    line = "Mar  5 14:03:22 gpu-a01 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=2113, GPU has fallen off the bus.\n"
    chatter = "".join(f"Mar  5 14:04:00 gpu-a01 sshd[{number}]: hello {number * number}\n" for number in range(9999))
    whole = gzip.compress(f"{line}{chatter}".encode())
    (tmp_path / "messages.gz").write_bytes(whole[: len(whole) // 2])

    assert incidentlab("ingest", "messages.gz").code == 0
    [source] = rows(incidentlab, "select status, reason, matched_lines from sources")
    assert (source["status"], source["matched_lines"]) == ("used", 1)
    assert source["reason"]


def test_hostile_name_is_neutral(incidentlab: Run, tmp_path: Path) -> None:
    """A file name with escapes does not reach the terminal as it is."""
    (tmp_path / "\x1b[31mred").write_text("Mar  5 14:03:22 gpu-a01 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n")
    outcome = incidentlab("scan", ".", "-v")

    assert outcome.code == 0
    assert "\x1b" not in outcome.out + outcome.err
    assert "\\x1b[31mred" in outcome.out


def test_every_row_of_a_large_file_arrives(incidentlab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose rows fill several shards is loaded whole, and once where it lies twice."""
    monkeypatch.setattr("incidentlab.spool.SPILL_ROWS", 4)
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("".join(KERNEL.replace("pid=", f"pid={number}") for number in range(10)))

    assert incidentlab("ingest", "a.log", "b.log").code == 0

    found = rows(incidentlab, "select line_no from intake.events order by line_no")
    assert [row["line_no"] for row in found] == list(range(1, 11))


def test_one_process_at_a_time_works_on_a_warehouse(tmp_path: Path) -> None:
    """The second one of two that add to one warehouse would undo the first one's work: it is told to wait."""
    target = tmp_path / "w.duckdb"
    with (
        workshop(target),
        pytest.raises(WarehouseError, match="another process is writing it"),
        workshop(target),
    ):
        pass
    with workshop(target), workshop(tmp_path / "other.duckdb"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_gone_on_from(
    incidentlab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Units that were done before Ctrl-C are not read again, and afterwards nothing lies beside the warehouse."""
    monkeypatch.setattr("incidentlab.units.UNIT_FILES", 1)
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(KERNEL + name)
    whole, read = shards.read_unit, list[str]()

    def interrupted(where: Kitchen, unit: Unit) -> str:
        if read:
            raise KeyboardInterrupt
        return noted(where, unit)

    def noted(where: Kitchen, unit: Unit) -> str:
        read.append(unit.spans[0].item.path)
        return whole(where, unit)

    monkeypatch.setattr(shards, "read_unit", interrupted)
    assert incidentlab("ingest", "a.log", "b.log").code == cli.INTERRUPTED
    monkeypatch.setattr(shards, "read_unit", noted)
    assert incidentlab("ingest", "a.log", "b.log").code == 0

    assert sorted(read) == ["a.log", "b.log"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.log", "b.log", "incidentlab.duckdb"]
    assert len(rows(incidentlab, "select * from intake.events")) == 2


def test_what_a_killed_process_left_half_made_is_thrown_away(tmp_path: Path) -> None:
    """Nothing but shards is used or kept of a run that was killed."""
    left = tmp_path / ".w.duckdb.unfinished" / "half"
    left.mkdir(parents=True)
    (left / "x.duckdb").write_bytes(b"half")
    with workshop(tmp_path / "w.duckdb") as folder:
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


ABSURD = """JobID|JobName|User|State|Start|End|ElapsedRaw|NNodes|AllocTRES|NodeList
1|tr|mia|FAILED|0001-01-01T00:00:00|9999-12-31T23:59:59|7200|2|gres/gpu=16|gpu[01-02]
2|tr|mia|FAILED|0001-01-01T00:00:00+1400|2026-03-05T12:00:00+1400|7200|2|gres/gpu=16|gpu[01-02]
3|tr|mia|FAILED|1970-01-01T00:00:00|2199-12-31T00:00:00|7200|2|gres/gpu=16|gpu[01-02]
4|tr|mia|FAILED|2026-03-05T12:00:00|2026-03-05T10:00:00|9000000000000000000|2|gres/gpu=16|gpu[01-02]
5|tr|mia|FAILED|2026-03-05T10:00:00|2026-03-05T12:00:00|7200|2|gres/gpu=16|gpu[01-02]
"""


def test_absurd_dates_cost_their_own_record_alone(incidentlab: Run, tmp_path: Path) -> None:
    """Dates from the ends of the calendar neither stop the build nor fill its tables; the sane record is counted."""
    (tmp_path / "sacct.txt").write_text(ABSURD)

    assert incidentlab("ingest", "sacct.txt").code == 0

    assert rows(incidentlab, "select day, node, allocated_h from exposure_daily order by all") == [
        {"day": "2026-03-05", "node": "gpu01", "allocated_h": 2.0},
        {"day": "2026-03-05", "node": "gpu02", "allocated_h": 2.0},
    ]
    assert rows(incidentlab, "select unparsed_lines as n from sources") == [{"n": 2}]


BOOT = "[    0.000000] Linux version 5.15.0-105-generic (buildd@lcy02) #115-Ubuntu SMP\n"
LOST = "[  412.{0:06}] NVRM: Xid (PCI:0000:1b:00): 79, pid={0}, GPU has fallen off the bus.\n"


def xids(run: Run) -> list[dict]:
    """The Xid events of the default warehouse, by line."""
    return rows(run, "select line_no from intake.events where message like '%Xid%' order by all")


def test_a_file_that_has_grown_replaces_its_earlier_content(incidentlab: Run, tmp_path: Path) -> None:
    """A dmesg, whose lines have no date by which to know it again, counts once however often it is read and grows."""
    for faults in (1, 1, 3):
        (tmp_path / "dmesg").write_text(BOOT + "".join(map(LOST.format, range(faults))))
        assert incidentlab("ingest", "dmesg").code == 0

    assert [event["line_no"] for event in xids(incidentlab)] == [2, 3, 4]
    assert rows(incidentlab, "select status, lines from sources") == [{"status": "used", "lines": 4}]


def test_the_log_of_another_boot_comes_beside_the_first(incidentlab: Run, tmp_path: Path) -> None:
    """The kernel begins each boot with the same line: a file of one name that goes on differently is another."""
    for faults in (range(10), range(20, 30)):
        (tmp_path / "dmesg").write_text(BOOT + "".join(map(LOST.format, faults)))
        assert incidentlab("ingest", "dmesg").code == 0

    assert len(xids(incidentlab)) == 20


def test_a_file_that_became_readable_leaves_no_trace_of_its_past(incidentlab: Run, tmp_path: Path) -> None:
    """What was no log when it was read first is listed once, as what it is now."""
    (tmp_path / "kern.log").write_text(KERNEL)
    for content in (bytes(range(256)) * 50, KERNEL.encode() * 2):
        (tmp_path / "late.log").write_bytes(content)
        assert incidentlab("ingest", "kern.log", "late.log").code == 0

    assert rows(incidentlab, "select path, status from sources order by path") == [
        {"path": "kern.log", "status": "used"},
        {"path": "late.log", "status": "used"},
    ]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_stands_in_the_way_of_the_workshop_is_named(tmp_path: Path, kind: str) -> None:
    """A file or link where the unfinished warehouse is made is nobody's bug, and is left alone."""
    way = tmp_path / ".w.duckdb.unfinished"
    way.write_text("mine") if kind == "file" else way.symlink_to(tmp_path)

    with pytest.raises(WarehouseError, match="move it away"), workshop(tmp_path / "w.duckdb"):
        pass


def test_links_that_were_left_in_the_workshop_are_not_followed(tmp_path: Path) -> None:
    """Cleaning up removes a link to a folder, and nothing in the folder."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "kern.log").write_text(KERNEL)
    (tmp_path / ".w.duckdb.unfinished").mkdir()
    (tmp_path / ".w.duckdb.unfinished" / "link").symlink_to(tmp_path / "logs")

    with workshop(tmp_path / "w.duckdb") as folder:
        assert list(folder.iterdir()) == []

    assert (tmp_path / "logs" / "kern.log").read_text() == KERNEL


@pytest.mark.parametrize("name", [":memory:", "b\udcff.duckdb"])
def test_a_name_that_duckdb_cannot_have_is_refused(incidentlab: Run, tmp_path: Path, name: str) -> None:
    """DuckDB would keep the one in memory and cannot spell the other."""
    (tmp_path / "kern.log").write_text(KERNEL)

    assert incidentlab("ingest", "kern.log", "-d", name).code == 2


def test_a_link_to_a_warehouse_stays_a_link(incidentlab: Run, tmp_path: Path) -> None:
    """What is read goes into the file that the link leads to."""
    (tmp_path / "kern.log").write_text(KERNEL)
    (tmp_path / "link.duckdb").symlink_to(tmp_path / "real.duckdb")

    assert incidentlab("ingest", "kern.log", "-d", "link.duckdb").code == 0

    assert (tmp_path / "link.duckdb").is_symlink()
    assert (tmp_path / "real.duckdb").is_file()


def test_a_line_that_a_storm_swallowed_says_which_line_stands_for_it(incidentlab: Run, tmp_path: Path) -> None:
    """Of forty lines that say alike the thirtieth has no event; the fortieth counts for it."""
    (tmp_path / "kern.log").write_text(KERNEL * 40)
    assert incidentlab("ingest", "kern.log").code == 0

    folded, last = (incidentlab("explain", f"kern.log:{number}").out for number in (30, 40))
    assert "if it says what line 1 says, line 40 stands for it and 35 more" in " ".join(folded.split())
    assert "nvidia-xid" in last


def test_what_folders_are_called_is_no_evidence(incidentlab: Run, tmp_path: Path) -> None:
    """A store or warehouse below `node=n99` or `code=31` changes no column."""
    (tmp_path / "kern.log").write_text(KERNEL)
    place = tmp_path / "node=n99" / "code=94"
    place.mkdir(parents=True)
    assert incidentlab("ingest", "kern.log", "-d", place / "lines=7.duckdb", "--shards", place / "shards").code == 0
    with warehouse.open_readonly(place / "lines=7.duckdb") as con:
        assert con.execute("select node, code from intake.events").fetchall() == [(None, "31")]


@pytest.mark.parametrize("size", [3, 4_000])
def test_a_log_that_grew_and_was_rotated_counts_once(incidentlab: Run, tmp_path: Path, size: int) -> None:
    """What was read before the rotation is a part of what is read after it, whether or not it is read on."""
    lines = [KERNEL.replace("pid=45", f"pid={number}") for number in range(size + 3)]
    (tmp_path / "a.log").write_text("".join(lines[:size]))
    assert incidentlab("ingest", "a.log").code == 0
    (tmp_path / "a.log.1").write_text("".join(lines))
    (tmp_path / "a.log").write_text(KERNEL.replace("31", "94"))
    assert incidentlab("ingest", "a.log", "a.log.1").code == 0

    assert len(rows(incidentlab, "select * from intake.events")) == size + 4
    assert len(rows(incidentlab, "select * from sources")) == 2


def test_a_copy_that_grows_leaves_the_other_one_alone(incidentlab: Run, tmp_path: Path) -> None:
    """As in a new warehouse: two files with different content both count."""
    for name in ("a.log", "a.log.1"):
        (tmp_path / name).write_text(KERNEL)
    assert incidentlab("ingest", "a.log", "a.log.1").code == 0
    (tmp_path / "a.log.1").write_text(KERNEL + KERNEL.replace("31", "94"))
    assert incidentlab("ingest", "a.log", "a.log.1").code == 0

    assert len(rows(incidentlab, "select * from intake.events")) == 3


def test_a_storm_that_grows_keeps_its_count(incidentlab: Run, tmp_path: Path) -> None:
    """Read in two steps or at once, a storm stands for as many records."""
    lines = [KERNEL.replace("22 ", f"{number // 1000:02d} ") for number in range(30_030)]
    totals = []
    for steps in ((30_000, 30_030), (30_030,)):
        for count in steps:
            (tmp_path / "kern.log").write_text("".join(lines[:count]))
            assert incidentlab("ingest", "kern.log", "-d", f"{len(steps)}.duckdb").code == 0
        with warehouse.open_readonly(tmp_path / f"{len(steps)}.duckdb") as con:
            totals.append(con.execute("select line_no, repeat_count, event_id from intake.events").fetchall())
    assert totals[0] == totals[1]
    assert sum(count or 1 for _, count, _ in totals[0]) == 30_030
