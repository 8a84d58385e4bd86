"""A warehouse that is fed again and again while logs grow, rotate, shrink and move says what a new one says.

Content that was ingested and is gone stays; what is only the beginning of another state of its log counts once.
"""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st
from intake_samples import ALL

from incidentlab import (
    assets,
    codecs,
    configuration,
    content,
    derive,
    pages,
    pipeline,
    reading,
    sqlfiles,
    units,
    warehouse,
)
from incidentlab.executors import Where
from incidentlab.knowledge import META, SIGNATURES
from incidentlab.model import Table
from incidentlab.parts import chain
from incidentlab.terminal import Talk

BLOCK = 256
STAMP = "Mar  5 {hour:02d}:{minute:02d}:01 gpu{host} "
LINES = (
    STAMP + "kernel: [12.{number:06d}] NVRM: Xid (PCI:0000:1b:00): 79, pid={number}",
    STAMP + "kernel: [12.{number:06d}] NVRM: Xid (PCI:0000:1b:00): 31, pid=4, y",
    STAMP + "sshd[{number}]: hello",
    STAMP + "trainer: step {number} loss 2.5",
)
KINDS = ("append", "rotate", "compress", "copy", "rename", "rewrite", "shrink", "pack", "unpack", "touch")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.integers(1, 60)), min_size=2, max_size=4)
EXAMPLES = 4
"""Each takes seconds; hundreds were tried once."""


class Folder:
    """A folder of logs, what each held at the last ingest, and what is held no more."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.logs: dict[str, bytes] = {}
        self.packed: dict[str, bytes] = {}
        self.gone: dict[bytes, set[str]] = {}
        self._clock = 1_772_000_000
        self._number = 0
        for host in range(2):
            self.logs[f"{host}.log"] = self.lines(host, 40)

    def lines(self, host: int, count: int) -> bytes:
        """So many lines as nobody wrote before; some are alike but for their seconds."""
        made = []
        for _ in range(count):
            self._number += 1
            hour, minute = divmod(self._number // 8, 60)
            kind = 1 if self._number % 100 > 70 else self._number * 7 % 4
            made.append(LINES[kind].format(hour=hour % 24, minute=minute, host=host, number=self._number))
        return "".join(f"{line}\n" for line in made).encode()

    def change(self, kind: str, which: int, size: int) -> None:
        """One change of the log that `which` stands for."""
        names = sorted(self.logs)
        name = names[which % len(names)]
        getattr(self, f"_{kind}")(name, size)

    def _append(self, name: str, size: int) -> None:
        self.logs[name] += self.lines(which(name), size)

    def _rotate(self, name: str, size: int) -> None:
        if f"{name}.1" in self.logs:
            self.logs[f"{name}.2"] = self.logs[f"{name}.1"]
        self.logs[f"{name}.1"] = self.logs[name] + (self.lines(which(name), size) if size % 2 else b"")
        self.logs[name] = self.lines(which(name), size)

    def _compress(self, name: str, _size: int) -> None:
        if not name.endswith(".gz"):
            self.logs[f"{name}.gz"] = self.logs.pop(name)

    def _copy(self, name: str, size: int) -> None:
        self.logs[f"{size % 3}{name}"] = self.logs[name]

    def _rename(self, name: str, size: int) -> None:
        self.logs[f"{size % 3}{name}"] = self.logs.pop(name)

    def _rewrite(self, name: str, size: int) -> None:
        self.logs[name] = self.lines(which(name), size)

    def _shrink(self, name: str, size: int) -> None:
        self.logs[name] = self.logs[name][: len(self.logs[name]) * size // 64]

    def _pack(self, name: str, _size: int) -> None:
        self.packed[name] = self.logs[name]

    def _unpack(self, _name: str, _size: int) -> None:
        self.packed.pop(min(self.packed, default=""), None)

    def _touch(self, name: str, _size: int) -> None:
        (self.root / name).touch()
        self._clock += 1
        os.utime(self.root / name, (self._clock, self._clock))

    @property
    def held(self) -> dict[str, bytes]:
        """The content of every log and member by path."""
        return {**self.logs, **{f"all.tar!{name}": data for name, data in self.packed.items()}}

    def write(self) -> None:
        """Have the disk say so; what changed has a new time."""
        files = {name: gzip.compress(data) if name.endswith(".gz") else data for name, data in self.logs.items()}
        if self.packed:
            files["all.tar"] = archive(self.packed)
        for old in {path.name for path in self.root.iterdir()} - set(files):
            (self.root / old).unlink()
        for name, data in files.items():
            path = self.root / name
            if not path.exists() or path.read_bytes() != data:
                self._clock += 1
                path.write_bytes(data)
                os.utime(path, (self._clock, self._clock))

    def settle(self, before: dict[str, bytes]) -> None:
        """What an ingest remembers of what was there `before`: it is gone, unless it is found or has grown."""
        for path, data in before.items():
            self.gone.setdefault(data, set()).add(path)
        now = self.held
        for data in set(self.gone) & set(now.values()):
            del self.gone[data]
        later = [*now.items(), *((path, data) for data, paths in self.gone.items() for path in paths)]
        for data, paths in self.gone.items():
            paths -= {
                old
                for old in paths
                for path, longer in later
                if is_longer(longer, data) and (path == old or (path in now and path.startswith(f"{old}.")))
            }
        self.gone = {data: paths for data, paths in self.gone.items() if paths}


def which(name: str) -> int:
    """The host that writes a log."""
    return int(name.partition(".log")[0][-1])


def is_longer(longer: bytes, data: bytes) -> bool:
    """Whether one is the other grown."""
    return len(longer) > len(data) and longer.startswith(data)


def archive(members: dict[str, bytes]) -> bytes:
    """A tar of these."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in sorted(members.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def only_fates(con) -> None:
    """What is derived: here no more than which sources count."""
    file = sqlfiles.read(assets.folder("queries") / "derive" / "source_fates.sql")
    warehouse.create(con, "main", Table(file.name, file.purpose, file.columns))
    derive.fill(con, file)


@pytest.fixture(scope="module")
def quick():
    """Small blocks, few signatures, and no more derived than is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (codecs, content, pages, reading, units):
            patch.setattr(module, "BLOCK_BYTES", BLOCK)
        for module in (content, pages):
            patch.setattr(module, "GRID_BYTES", 4 * BLOCK)
            patch.setattr(module, "HEAD_BYTES", 64)
        patch.setattr(units, "HEAD_BYTES", 64)
        patch.setattr(units, "_HEAD", 2)
        patch.setattr(units, "UNIT_BYTES", 8 * BLOCK)
        patch.setattr(pipeline, "site_signatures", lambda _: ALL)
        patch.setattr(derive, "derive", only_fates)
        patch.setattr(derive, "KNOWLEDGE", (META, SIGNATURES))
        patch.setattr(derive, "SETTINGS", (META,))
        patch.setattr(warehouse, "comment", lambda *_: None)
        yield


def ingest(target: Path, *folders: Path) -> None:
    """Add folders to a warehouse."""
    site = configuration.Site()
    pipeline.add_to_warehouse(
        [str(folder) for folder in folders], target, site, where=Where(1), talk=Talk(shows_progress=False)
    )


def told(target: Path) -> tuple[dict[str, list], dict[str, tuple]]:
    """The rows that count by the digest of their source, and what is said of each source by path and digest."""
    with warehouse.open_readonly(target) as con:
        rows: dict[str, list] = {}
        for digest, *values in con.execute("""
            select s.digest, e.event_id, e.line_no, e.signature, e.node, e.repeat_count, e.local_ts, e.message
            from intake.events as e
            inner join (from intake.sources semi join main.source_fates using (path, source_id)) as s using (source_id)
            inner join (from main.source_fates where status = 'used') as f using (path, source_id)
            union all by name
            select s.digest, '' as event_id, p.line_no, p.kind as signature, '' as node, p.step as repeat_count,
                p.local_ts, '' as message
            from intake.progress as p
            inner join intake.sources as s using (source_id)
            inner join (from main.source_fates where status = 'used') as f using (path, source_id)
            order by all
        """).fetchall():
            rows.setdefault(digest, []).append(values)
        sources = con.execute("""
            select s.path, s.digest, f.status, f.reason, s.lines, s.matched_lines, s.unparsed_lines, s.format, s.host
            from intake.sources as s inner join main.source_fates as f using (path, source_id)
        """).fetchall()
    return rows, {(path, digest): tuple(values) for path, digest, *values in sources}


def digest_of(data: bytes) -> str:
    """How the warehouse knows this content."""
    return chain("".join(blake3(data[place : place + BLOCK]).hexdigest() for place in range(0, len(data), BLOCK)))


def check(folder: Folder, target: Path, scratch: Path) -> None:
    """Compare with a new warehouse of what is there and, in a folder of its own, what is there no more."""
    (scratch / "gone").mkdir(parents=True)
    for number, data in enumerate(folder.gone):
        (scratch / "gone" / f"{number}.log").write_bytes(data)
    ingest(scratch / "new.duckdb", folder.root, scratch / "gone")
    rows, sources = told(target)
    new_rows, new_sources = told(scratch / "new.duckdb")
    held = {f"{folder.root}/{path}": data for path, data in folder.held.items()}
    cut = {
        path: data
        for path, data in held.items()
        if any(is_longer(longer, data) and path.removeprefix(f"{folder.root}/") in paths
               for longer, paths in folder.gone.items())
    }  # fmt: skip
    for path, data in held.items():
        key = (path, digest_of(data) if data else None)
        if data not in cut.values():
            assert sources[key] == new_sources[key]
        elif path in cut and new_sources[key][0] == "used":
            assert sources[key][0] == "unused"
    every = [*held.values(), *folder.gone]
    counted = {digest_of(data) for path, data in held.items() if data and path not in cut}
    must = counted | {digest_of(data) for data in folder.gone if not any(is_longer(more, data) for more in every)}
    may = must | {digest_of(data) for data in folder.gone}
    assert {digest: found for digest, found in rows.items() if digest in must} == {
        digest: found for digest, found in new_rows.items() if digest in must
    }
    assert {digest for digest in rows if rows[digest] != new_rows.get(digest) or digest not in may} == set()


@pytest.mark.usefixtures("quick")
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(STEPS)
def test_after_any_changes_it_says_what_a_new_warehouse_says(tmp_path_factory, steps):
    """Events, counts, lines and reasons are those of the folder's last state; what is gone stays, and counts once."""
    place = tmp_path_factory.mktemp("sequence")
    (place / "logs").mkdir()
    folder, target = Folder(place / "logs"), place / "w.duckdb"
    folder.write()
    ingest(target, folder.root)
    for kind, log, size in steps:
        before = folder.held
        folder.change(kind, log, size)
        folder.write()
        ingest(target, folder.root)
        folder.settle(before)
    check(folder, target, place / "scratch")
