"""What is damaged, vanishes or changes costs its own row; what the store refuses is no file's fault."""

import bz2
import errno
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from intake_samples import ALL
from worlds import taken_in

from incidentlab import discover, spool
from incidentlab.codecs import zstd
from incidentlab.stores import Folder

KERNEL = b"Mar  5 14:03:22 gpu0412 kernel: [412.000001] NVRM: Xid (PCI:0000:1b:00): 31, pid=45, MMU\n"
PACKERS = {"gzip": gzip.compress, "zstd": zstd.compress, "xz": lzma.compress, "bzip2": bz2.compress}


def sources(folder: Path, change: Callable[[Path], None] = lambda _: None) -> dict[str, tuple[str, str | None]]:
    """Status and reason by path of all sources below `folder`/logs, which a `change` befalls before they are read."""
    logs = folder / "logs"
    inputs, refused = discover.find_inputs([str(logs)])
    change(logs)
    tables = taken_in([*inputs, *refused], folder, ALL)
    return {row["path"].removeprefix(f"{logs}/"): (row["status"], row["reason"]) for row in tables["sources"]}


def written(folder: Path, name: str, content: bytes) -> Path:
    """A file below `folder`/logs."""
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / name).write_bytes(content)
    return folder / "logs" / name


def packed(**members: bytes) -> bytes:
    """A tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize("codec", PACKERS)
def test_an_inner_archive_that_is_damaged_costs_itself_alone(tmp_path: Path, codec: str) -> None:
    """Data that break off in the middle of a member end that member, with the reason; the one behind it is read."""
    inner = PACKERS[codec](packed(k=KERNEL * 12_000, late=os.urandom(200_000)))
    written(tmp_path, "o.tar", packed(a=KERNEL, inner=inner[: len(inner) // 2], z=KERNEL * 2))

    found = sources(tmp_path)

    assert {path: status for path, (status, _) in found.items() if "late" not in path} == {
        "o.tar": "used",
        "o.tar!a": "used",
        "o.tar!inner": "failed",
        "o.tar!inner!k": "used",
        "o.tar!z": "used",
    }
    assert f"{codec} data is cut or damaged" in str(found["o.tar!inner"][1])


ODD = {
    "no number": b"12 size=abc\n",
    "no sparse map": b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n",
    "no pairs": b"19 GNU.sparse.map=x\n",
    "no text": b"11 path=\xff\xfe\n",
}


@pytest.mark.parametrize("words", ODD.values(), ids=ODD)
def test_attributes_that_make_no_sense_cost_their_own_member(tmp_path: Path, words: bytes) -> None:
    """What an archiver says of a member may be anything: those before and behind it are read, also of the outer one."""
    header = tarfile.TarInfo("PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, len(words)
    odd = header.tobuf() + words.ljust(512, b"\0")
    first, last = packed(k=KERNEL)[:1024], packed(b=KERNEL * 3, l=KERNEL * 2)
    written(tmp_path, "o.tar", packed(inner=first + odd + last, z=KERNEL * 4))

    found = sources(tmp_path)

    assert [path for path in ("o.tar!inner!k", "o.tar!inner!l", "o.tar!z") if found[path] != ("used", None)] == []
    assert found["o.tar"] == ("used", "archive of 2 members")


def test_headers_without_a_member_cost_no_other_member(tmp_path: Path) -> None:
    """Thousands of attributes one after the other are no recursion without end."""
    header = tarfile.TarInfo("PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 11
    attributes = header.tobuf() + b"11 path=xy\n".ljust(512, b"\0")
    written(tmp_path, "o.tar", packed(a=KERNEL)[:1024] + attributes * 3000 + packed(b=KERNEL, z=KERNEL * 2))

    found = sources(tmp_path)

    assert (found["o.tar!a"], found["o.tar!z"]) == (("used", None), ("used", None))
    assert "belong to no member" in str(found["o.tar"][1])


def test_a_map_of_holes_without_end_is_not_kept_in_memory(tmp_path: Path) -> None:
    """An old sparse header says of each block that another follows; where that takes megabytes, the archive ends."""
    header = tarfile.TarInfo("holes")
    header.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[482] = 1
    block[148:156] = b"%06o\0 " % sum(block[:148] + b" " * 8 + block[156:])
    more = (b"00000000001\0" * 42).ljust(504, b"\0") + b"\1".ljust(8, b"\0")
    written(tmp_path, "o.tar", packed(a=KERNEL)[:1024] + bytes(block) + more * 9000 + packed(z=KERNEL))

    assert sources(tmp_path) == {
        "o.tar": ("failed", "archive of 1 members; a header of more than 2097152 bytes"),
        "o.tar!a": ("used", None),
    }


def test_a_file_that_vanishes_is_one_row(tmp_path: Path) -> None:
    """What was rotated away between finding and reading is told; the other file is read."""
    for name in ("a.log", "b.log"):
        written(tmp_path, name, KERNEL)

    found = sources(tmp_path, lambda logs: (logs / "a.log").unlink())

    assert found == {"a.log": ("failed", "cannot be read: No such file or directory"), "b.log": ("used", None)}


@pytest.mark.timeout(60)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write into it."""
    written(tmp_path, "a.log", KERNEL)

    def change(logs: Path) -> None:
        (logs / "a.log").unlink()
        os.mkfifo(logs / "a.log")

    assert sources(tmp_path, change) == {"a.log": ("failed", "cannot be read: no regular file any more")}


@pytest.mark.parametrize("content", [b"", KERNEL, KERNEL * 300])
def test_a_file_that_changes_is_what_it_is_when_it_is_read(tmp_path: Path, content: bytes) -> None:
    """Shorter or longer than it was found, it is one row."""
    path = written(tmp_path, "a.log", KERNEL * 30)

    found = sources(tmp_path, lambda _: path.write_bytes(content) and None)

    assert found == {"a.log": ("used", None) if content else ("unused", "empty")}


@pytest.mark.parametrize("is_member", [False, True])
def test_a_full_store_is_no_failure_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_member: bool
) -> None:
    """Rows that cannot be stored end the command; the file must not stay listed as one that cannot be read."""
    monkeypatch.setattr(spool, "SPILL_ROWS", 10)
    lines = b"".join(KERNEL.replace(b"45", b"%d" % number) for number in range(25))
    written(tmp_path, "a", packed(x=lines) if is_member else lines)
    put = Folder.put

    def full(store: Folder, name: str, data: bytes) -> None:
        if name.startswith("events/"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(store, name, data)

    monkeypatch.setattr(Folder, "put", full)
    with pytest.raises(OSError, match="No space left on device"):
        sources(tmp_path)
    monkeypatch.setattr(Folder, "put", put)

    assert list((tmp_path / "shards").rglob("parts/**/*.parquet")) == []
    assert set(sources(tmp_path).values()) >= {("used", None)}
