"""What is said of a file is said of what it holds now, whatever it, its copies and its neighbours held before."""

import errno
import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from incidentlab import discover, pipeline, shards, units
from incidentlab.codecs import BLOCK_BYTES
from incidentlab.parsers import HEAD_BYTES
from incidentlab.signatures import load_signatures

Run = Callable[..., object]

KERNEL = "Mar  5 14:03:22 gpu0412 kernel: [412.{number:06}] NVRM: Xid (PCI:0000:1b:00): 31, pid={number}, MMU\n"


def lines(first: int, last: int) -> str:
    """Kernel lines with an event each, none like another."""
    return "".join(KERNEL.format(number=number) for number in range(first, last))


def rows(run: Run, statement: str) -> list[list]:
    """What a statement selects from the default warehouse."""
    return [list(row.values()) for row in json.loads(run("sql", statement, "--format", "json").out)["rows"]]


def sources(run: Run) -> list[list]:
    """What is said of each source."""
    return rows(run, "select path, status, reason, lines, matched_lines from sources order by path, lines")


def test_a_copy_is_one_no_more_when_the_other_has_grown(incidentlab: Run, tmp_path: Path) -> None:
    """While two files hold the same, one of them counts; when one goes on, both do, as in a new warehouse."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(lines(0, 3))
    assert incidentlab("ingest", "a.log", "b.log").code == 0
    assert sources(incidentlab) == [
        ["a.log", "used", None, 3, 3],
        ["b.log", "unused", "same content as a.log", 3, 0],
    ]

    (tmp_path / "a.log").write_text(lines(0, 5))
    assert incidentlab("ingest", "a.log", "b.log").code == 0
    assert sources(incidentlab) == [["a.log", "used", None, 5, 5], ["b.log", "used", None, 3, 3]]


def test_a_log_that_was_renamed_has_its_new_name(incidentlab: Run, tmp_path: Path) -> None:
    """Its lines are found where they are, and the old name is not listed."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(lines(0, 3))
    assert incidentlab("ingest", "logs").code == 0
    (tmp_path / "logs" / "a.log").rename(tmp_path / "logs" / "b.log")
    assert incidentlab("ingest", "logs").code == 0

    assert sources(incidentlab) == [["logs/b.log", "used", None, 3, 3]]


def test_a_copy_counts_when_the_other_one_is_gone(incidentlab: Run, tmp_path: Path) -> None:
    """Nothing has to be read for that, and still the warehouse names the file that is there."""
    (tmp_path / "logs").mkdir()
    for name in ("a.log", "b.log"):
        (tmp_path / "logs" / name).write_text(lines(0, 3))
    assert incidentlab("ingest", "logs").code == 0
    (tmp_path / "logs" / "a.log").unlink()
    assert incidentlab("ingest", "logs").code == 0

    assert sources(incidentlab) == [["logs/b.log", "used", None, 3, 3]]


def test_a_log_that_was_cut_counts_once(incidentlab: Run, tmp_path: Path) -> None:
    """What it held stays, and what is left of it is a part of that; when it goes on otherwise, it is another one."""
    for text in (lines(0, 9), lines(0, 5)[:-20]):
        (tmp_path / "a.log").write_text(text)
        assert incidentlab("ingest", "a.log").code == 0
    assert sources(incidentlab) == [
        ["a.log", "unused", "the beginning of a longer reading of the same log", 5, 0],
        ["a.log", "used", None, 9, 9],
    ]

    (tmp_path / "a.log").write_text(lines(0, 4) + lines(20, 30))
    assert incidentlab("ingest", "a.log").code == 0
    assert sources(incidentlab) == [["a.log", "used", None, 9, 9], ["a.log", "used", None, 14, 14]]


@pytest.mark.parametrize("jobs", [(2, 3), (3, 2)])
def test_tables_that_share_their_head_both_count(incidentlab: Run, tmp_path: Path, jobs: tuple[int, int]) -> None:
    """Two dumps of accounting begin alike over more than half of their bytes, and name other jobs: none is lost."""
    head = f"JobID|State|Start|End|{'|'.join(f'SomethingMore{number}' for number in range(32))}\n"
    for day, count in enumerate(jobs):
        made = (f"{day}{number}|FAILED|2026-03-05T10:00:00|2026-03-05T12:00:00|{31 * '|'}\n" for number in range(count))
        (tmp_path / "sacct.txt").write_text(head + "".join(made))
        assert incidentlab("ingest", "sacct.txt").code == 0

    assert rows(incidentlab, "select count(distinct job_id) from intake.job_records") == [[5]]
    assert [source[1] for source in sources(incidentlab)] == ["used", "used"]


def test_an_archive_that_lost_a_member_is_read_once(incidentlab: Run, tmp_path: Path) -> None:
    """The member's content stays, what it was read from is no reason to read the archive again."""
    for names in (("a.log", "b.log"), ("a.log",)):
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            for number, name in enumerate(names):
                (tmp_path / name).write_text(lines(number, number + 1))
                archive.add(tmp_path / name, name)
        assert incidentlab("ingest", "x.tar").code == 0
    made = (tmp_path / "incidentlab.duckdb").stat().st_ino
    assert incidentlab("ingest", "x.tar").code == 0

    assert (tmp_path / "incidentlab.duckdb").stat().st_ino == made
    assert [source[:2] for source in sources(incidentlab)] == [
        ["x.tar", "used"],
        ["x.tar!a.log", "used"],
        ["x.tar!b.log", "used"],
    ]


def test_logs_that_begin_alike_are_each_read_on(incidentlab: Run, tmp_path: Path) -> None:
    """The same lines of a boot in front do not hide one log behind the other."""
    banner = "Mar  5 14:03:20 gpu0412 kernel: booting\n" * (HEAD_BYTES // 30)
    chatter = "Mar  5 14:04:00 gpu0412 sshd[{}]: hello {}\n"
    texts = {
        f"{name}.log": banner + "".join(chatter.format(name, number) for number in range(40_000)) for name in range(3)
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert incidentlab("ingest", *texts).code == 0
    for name, text in texts.items():
        (tmp_path / name).write_text(text + lines(0, 3 * BLOCK_BYTES // 80))
    found, _ = discover.find_inputs(list(texts))
    knowledge = shards.knowledge_of(load_signatures())
    plan = units.plan(found, knowledge, pipeline.known_readings(tmp_path / "incidentlab.duckdb", knowledge))

    spans = [span for unit in plan.units for span in unit.spans]
    assert {span.item.path: span.known.path for span in spans} == {name: name for name in texts}
    assert all(len(texts[span.item.path]) - span.start < 3 * BLOCK_BYTES for span in spans)


def test_what_only_begins_as_an_earlier_log_takes_nothing_from_it(incidentlab: Run, tmp_path: Path) -> None:
    """A large log that is cut near its end and goes on otherwise shares its blocks, not its last lines: both count."""
    chatter = "".join(f"Mar  5 14:04:00 gpu0412 sshd[{number}]: hello\n" for number in range(60_000))
    for end in (lines(0, 3), lines(10, 3 * BLOCK_BYTES // 80)):
        (tmp_path / "a.log").write_text(chatter + end)
        assert incidentlab("ingest", "a.log").code == 0

    assert [source[1] for source in sources(incidentlab)] == ["used", "used"]
    assert rows(incidentlab, "select count(*) from events where message like '%pid=2,%'") == [[1]]


@pytest.mark.parametrize("store", [(), ("--shards", "shards")])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), MemoryError()])
def test_what_could_not_be_read_is_tried_again(
    incidentlab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: tuple[str, ...], error: Exception
) -> None:
    """A failure of the disk or for want of memory is not the file's: the next ingest reads it."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(lines(ord(name[0]), ord(name[0]) + 3))

    def fails(item: discover.Input) -> object:
        if item.path == "b.log":
            raise error
        return item.file.open("rb")

    with monkeypatch.context() as patch:
        patch.setattr(discover.Input, "open", fails)
        assert incidentlab("ingest", "a.log", "b.log", *store).code == 0
    assert [source[:2] for source in sources(incidentlab)] == [["a.log", "used"], ["b.log", "failed"]]

    assert incidentlab("ingest", "a.log", "b.log", *store).code == 0
    assert sources(incidentlab) == [["a.log", "used", None, 3, 3], ["b.log", "used", None, 3, 3]]


def test_a_failing_disk_is_no_cut(incidentlab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks off a compressed file from below says nothing of its content: it failed, and is tried again."""
    (tmp_path / "a.log").write_text(lines(0, 3))
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(lines(3, 9_999).encode(), 0))

    class Broken(io.FileIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 2 * BLOCK_BYTES:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    with monkeypatch.context() as patch:
        patch.setattr(discover.Input, "open", lambda item: Broken(item.file))
        assert incidentlab("ingest", "a.log", "b.log.gz").code == 0
    assert sources(incidentlab)[1][:3] == ["b.log.gz", "failed", "cannot be read: Input/output error"]

    assert incidentlab("ingest", "a.log", "b.log.gz").code == 0
    assert sources(incidentlab)[1] == ["b.log.gz", "used", None, 9_996, 9_996]
