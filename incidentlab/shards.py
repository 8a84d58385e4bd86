"""Inputs become Parquet shards: folder/TABLE/KEY.parquet, one key an input or archive member.

The key is the hash of the shown path. A shard appears by renaming, that of `sources` last: it commits the unit, and
carries a mark of the file's size and time and of this program's knowledge. A unit whose mark still holds is not read
again. Whatever goes wrong with one input is written down as its failure, and the others go on.
"""

import os
import signal
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from hashlib import sha256
from itertools import chain, count
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl

from incidentlab import __version__, discover, events, reading
from incidentlab.codecs import MAX_NESTING, Stream, open_stream
from incidentlab.discover import Input, Refused
from incidentlab.model import INTAKE, SOURCES, Row, Table
from incidentlab.scan import Scanner
from incidentlab.signatures import Signature

SPILL_ROWS = 100_000
"""How many rows of one unit are held before they are written away."""

SPILL_SIZE = 64 << 20
"""The same for how large they are together; see `_weight`."""

ALONE_BYTES = 16 << 20
"""Below this size, all inputs together, other processes would take longer to start than to work."""

FILE_BYTES = 32 << 10
"""What opening and storing one input costs, as if it were so much longer."""

_ITEM_BYTES = 32
_TAR_HEADER = 512
_MARK = "incidentlab.mark"
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "VARCHAR": pl.String,
    "JSON": pl.String,
    "BIGINT": pl.Int64,
    "INTEGER": pl.Int32,
    "DOUBLE": pl.Float64,
    "BOOLEAN": pl.Boolean,
    "TIMESTAMP": pl.Datetime("us"),
    "VARCHAR[]": pl.List(pl.String),
}
_TABLES = {table.name: table for table in INTAKE}


def ingest(
    inputs: Sequence[Input | Refused],
    folder: Path,
    signatures: Sequence[Signature],
    *,
    jobs: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> None:
    """Write the shards of all `inputs` below `folder`; what was refused gets its row of `sources` too.

    `jobs` is the number of processes, 0 for one a core. `on_progress` gets the size of each input as it is done, in
    bytes on the disk.
    """
    for table in INTAKE:
        (folder / table.name).mkdir(parents=True, exist_ok=True)
    ordered = sorted(inputs, key=lambda item: (-_size(item), item.path))
    report = on_progress or (lambda _: None)
    workers = min(jobs or os.cpu_count() or 1, len(ordered))
    if workers <= 1 or sum(_size(item) + FILE_BYTES for item in ordered) < ALONE_BYTES:
        intake = Intake(folder, signatures)
        for item in ordered:
            report(intake.unit(item))
        return
    context = get_context("spawn")  # not forked: polars runs threads, and a fork with threads may hang
    ours, theirs = context.Pipe()
    with ours, ProcessPoolExecutor(workers, context, _start, (folder, tuple(signatures), theirs)) as pool:
        try:
            for size in _run(pool, ordered):
                report(size)
        except BaseException:
            ours.close()
            pool.shutdown(cancel_futures=True)
            raise


def _size(item: Input | Refused) -> int:
    return item.size if isinstance(item, Input) else 0


def _run(pool: Executor, items: Sequence[Input | Refused]) -> Iterator[int]:
    with _held_interrupts():
        futures = [pool.submit(_unit, item) for item in items]
    for future in as_completed(futures):
        yield future.result()


@contextmanager
def _held_interrupts() -> Iterator[None]:
    """Processes started here never hear Ctrl-C, which a terminal sends to all; this one hears it at the end.

    The others end with this one, so that it alone speaks.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_started: list["Intake"] = []


def _start(folder: Path, signatures: tuple[Signature, ...], first: Connection | None = None) -> None:
    """Build the engine of a worker process, once; it ends with the `first` process, however that one ends."""
    if first:
        Thread(target=_end_with, args=(first,), daemon=True).start()
    _started[:] = [Intake(folder, signatures)]


def _end_with(first: Connection) -> None:
    wait([first])
    os._exit(1)


def _unit(item: Input | Refused) -> int:
    return _started[0].unit(item)


class Intake:
    """Turns inputs into shards of one folder, with one set of signatures."""

    def __init__(self, folder: Path, signatures: Sequence[Signature]) -> None:
        self._folder = folder
        self._scanner = Scanner(signatures)
        self._knowledge = sha256(repr((__version__, list(signatures))).encode()).hexdigest()[:16]

    def unit(self, item: Input | Refused) -> int:
        """Write the shards of one input, or of all members of an archive; the size of the input comes back."""
        if isinstance(item, Refused):
            self._store_refused(item)
        elif not self._is_done(item):
            self._read_file(item)
        return _size(item)

    def _read_file(self, item: Input) -> None:
        try:
            with item.file.open("rb") as file:
                stream = open_stream(file)
                if discover.is_archive(stream.peek(_TAR_HEADER)):
                    self._store_archive(item, stream)
                else:
                    self._store_source(item, stream)
        except Exception as error:  # noqa: BLE001 - one bad file must not stop the others
            self._store_values(item, _failure(error))

    def _store_archive(self, item: Input, stream: Stream, depth: int = 1) -> None:
        """Each member is a source; the archive's own row says how many there were and whether it ended early."""
        found = 0
        status, fault = "used", None
        try:
            for member in discover.members(item, stream):
                found += 1
                if isinstance(member, Refused):
                    self._store_refused(member)
                else:
                    self._store_member(*member, depth)
        except tarfile.TarError as error:
            status, fault = "failed", str(error)
        reason = "; ".join(filter(None, (f"archive of {found} members", fault, stream.cut)))
        self._store_values(item, {"format": "tar", "status": status, "reason": reason})

    def _store_member(self, item: Input, stream: Stream, depth: int) -> None:
        if discover.is_archive(stream.peek(_TAR_HEADER)):
            if depth < MAX_NESTING:
                self._store_archive(item, stream, depth + 1)
            else:
                self._store_values(item, {"status": "unused", "reason": "an archive in an archive; unpack it first"})
        elif not self._is_done(item):
            self._store_source(item, stream)

    def _store_source(self, item: Input, stream: Stream) -> None:
        spool = Spool(self._folder, _key(item.path))
        try:
            values = reading.read(stream, self._scanner, spool.add)
        except Exception as error:  # noqa: BLE001 - as above; rows before the error would be half a source
            spool.discard()
            values = _failure(error)
        self._commit(spool, item, values)

    def _store_values(self, item: Input, values: dict[str, Any]) -> None:
        self._commit(Spool(self._folder, _key(item.path)), item, values)

    def _commit(self, spool: "Spool", item: Input, values: dict[str, Any]) -> None:
        spool.commit({"path": item.path, "modified_ts": item.modified_ts, **values}, self._mark(item))

    def _store_refused(self, item: Refused) -> None:
        status = "failed" if item.reason.startswith("cannot be read") else "unused"
        values = {"path": item.path, "status": status, "reason": item.reason}
        Spool(self._folder, _key(item.path)).commit(values, "")

    def _mark(self, item: Input) -> str:
        return f"{item.size} {item.modified_ns} {self._knowledge}"

    def _is_done(self, item: Input) -> bool:
        path = self._folder / SOURCES.name / f"{_key(item.path)}.parquet"
        return path.exists() and pl.read_parquet_metadata(path).get(_MARK) == self._mark(item)


def _failure(error: Exception) -> dict[str, Any]:
    return {"status": "failed", "reason": f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()}


def _key(path: str) -> str:
    return sha256(path.encode()).hexdigest()[:16]


class Spool:
    """The rows of one unit on their way to its shards; beyond SPILL_ROWS or SPILL_SIZE they wait on the disk."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._key = key
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._weights = Counter[str]()
        self._spilled: dict[str, list[Path]] = {}

    def add(self, row: Row) -> None:
        """One row without ids."""
        rows = self._rows.setdefault(row.table, [])
        rows.append(row.values)
        self._weights[row.table] += _weight(row.values)
        if len(rows) >= SPILL_ROWS or self._weights[row.table] >= SPILL_SIZE:
            waiting = self._spilled.setdefault(row.table, [])
            waiting.append(self._folder / row.table / f".{self._key}-{len(waiting)}.rows")
            _frame(_TABLES[row.table], rows).write_parquet(waiting[-1])
            rows.clear()
            self._weights[row.table] = 0

    def discard(self) -> None:
        """Forget all rows."""
        for path in chain.from_iterable(self._spilled.values()):
            path.unlink()
        self._rows.clear()
        self._spilled.clear()

    def commit(self, source: dict[str, Any], mark: str) -> None:
        """Write the shards with their ids, in place of those of an earlier reading; `sources` says it is done."""
        for table in reversed(_TABLES):
            if table != SOURCES.name:
                self._remove(table)
        digest = source.get("digest") or sha256(source["path"].encode()).hexdigest()
        for name in sorted({*self._rows, *self._spilled}):
            for number, frame in enumerate(self._frames(name)):
                self._write(_identified(frame, name, digest), self._path(name, number))
        row = _frame(SOURCES, [{"source_id": digest[:16], **source}])
        self._write(row, self._path(SOURCES.name, 0), mark)
        self.discard()

    def _remove(self, table: str) -> None:
        """The shards of an earlier reading, by name: looking through a folder of many would take longer each time."""
        for number in count():
            try:
                self._path(table, number).unlink()
            except FileNotFoundError:
                return

    def _path(self, table: str, number: int) -> Path:
        return self._folder / table / f"{self._key}{f'-{number}' if number else ''}.parquet"

    def _frames(self, name: str) -> Iterator[pl.DataFrame]:
        yield from map(pl.read_parquet, self._spilled.get(name, ()))
        if rows := self._rows.get(name):
            yield _frame(_TABLES[name], rows)

    def _write(self, frame: pl.DataFrame, path: Path, mark: str = "") -> None:
        fresh = path.with_name(f".{path.name}.new")
        frame.write_parquet(fresh, metadata={_MARK: mark})
        fresh.replace(path)


def _weight(values: dict[str, Any]) -> int:
    """About how many bytes a row's texts and lists hold; what else it has is small."""
    texts = sum(len(value) for value in values.values() if isinstance(value, str))
    return texts + sum(_ITEM_BYTES * len(value) for value in values.values() if isinstance(value, list))


def _frame(table: Table, rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """The rows as a typed frame; absent keys are NULL, and so is a value that does not fit its column."""
    return pl.DataFrame(
        [
            pl.Series(column.name, [row.get(column.name) for row in rows], _TYPES[column.type], strict=False)
            for column in table.columns
        ]
    )


def _identified(frame: pl.DataFrame, table: str, digest: str) -> pl.DataFrame:
    """The frame with its ids, which need the digest of the whole source."""
    frame = frame.with_columns(pl.lit(digest[:16]).alias("source_id"))
    if table == "progress":
        return frame
    column, make = ("event_id", events.event_id) if table == "events" else ("record_id", events.record_id)
    keys = frame.select(name for name in ("line_no", "signature", "node") if name in frame.columns)
    return frame.with_columns(pl.Series(column, [make(digest, row) for row in keys.iter_rows(named=True)], pl.String))
