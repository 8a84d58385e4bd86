"""The rows of one unit of work on their way to its shards: TABLE/knowledge=HASH/UNIT-N-DIGEST.parquet.

Shards are written as their rows fill up, with the unit and the span of it that each row belongs to; ids and the line
numbers of the whole source are given when they are loaded. The shard of `parts`, which comes last, commits the unit: it
names the others. The digest is that of the shard's bytes, so one that is damaged is known before it is opened.
"""

import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from blake3 import blake3

from incidentlab.model import INTAKE, Row, Table
from incidentlab.parts import Part
from incidentlab.stores import Store

SPILL_ROWS = 50_000
"""How many rows of one unit are held before they are written away."""

SPILL_SIZE = 16 << 20
"""The same for how large they are together, written out; in memory that is several times as much."""

_DIGEST_CHARS = 16
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
_GIVEN_LATER = {"source_id", "event_id", "record_id"}

PARTS = Table.of(
    "parts",
    "one span of a unit, as it was read",
    """
    unit        VARCHAR    unit of work
    span        INTEGER    number of the span within the unit
    path        VARCHAR    path of the source
    file        VARCHAR    file it was read from
    size        BIGINT     size of that file on the disk
    changed_ns  BIGINT     when its content or name changed last
    start       BIGINT     first byte of the span within the source
    known_id    VARCHAR    source that the span goes on from
    known       VARCHAR    what was known of the source before the span, as JSON
    parts       VARCHAR    what is known of the span, as JSON: a list of parts
    modified_ts TIMESTAMP  modification time of the source, UTC
    shards      VARCHAR[]  shards that hold the unit's rows
    is_outage   BOOLEAN    true if it failed for a reason outside of its content, and must be tried again
    """,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a unit tells of one of its spans."""

    path: str
    parts: Sequence[Part]
    more: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """What this process sees in a store: `parts` of the units that are done, and where the files of their shards lie.

    A unit is done if all its shards are there and whole. `damaged` are the names of shards for which others are not
    done, each with those of its unit that name it; a unit that was never committed has none.
    """

    parts: pl.DataFrame
    files: Mapping[str, Path]
    damaged: Sequence[str]

    @property
    def units(self) -> set[str]:
        """The keys of the units that are done."""
        return set(self.parts["unit"])

    @property
    def outages(self) -> set[str]:
        """The keys of those of them in which something must be tried again."""
        return set(self.parts.filter("is_outage")["unit"])

    def but(self, keys: Collection[str]) -> "Seen":
        """What was seen of other units than these."""
        return replace(self, parts=self.parts.filter(~pl.col("unit").is_in(list(keys))))

    def joined(self, other: "Seen") -> "Seen":
        """What was seen here, and what of other units."""
        parts = pl.concat([self.parts, other.parts]).sort("unit", "span")
        return Seen(parts, {**self.files, **other.files}, [*self.damaged, *other.damaged])


def seen(store: Store, knowledge: str, keys: Sequence[str], folder: Path) -> Seen:
    """What can be seen of these units; a bucket's shards are copied below `folder`.

    Of a unit that was tried again counts the try in which nothing failed.
    """
    wanted = set(keys)
    committed = [name for name in store.names(f"{_place(PARTS.name, knowledge)}/") if _unit(name) in wanted]
    commits = _whole(store, committed, folder)
    told = {name: pl.read_parquet(file.read_bytes()) for name, file in commits.items()}
    named = {name: set(frame["shards"].explode().drop_nulls()) for name, frame in told.items()}
    files = _whole(store, sorted(set().union(*named.values())), folder)
    damaged = [name for name in committed if name not in commits]
    done: dict[str, pl.DataFrame] = {}
    for name, shards in sorted(named.items(), key=lambda item: told[item[0]]["is_outage"].any()):
        if lost := sorted(shards - set(files)):
            damaged += [*lost, name]
        else:
            done.setdefault(_unit(name), told[name])
    return Seen(pl.concat([frame(PARTS, ()), *(done[key] for key in sorted(done))]), files, damaged)


def commit_of(knowledge: str, key: str) -> str:
    """What the shard is called that commits a unit, as a glob."""
    return f"{_place(PARTS.name, knowledge)}/{key}-*.parquet"


def _whole(store: Store, names: Sequence[str], folder: Path) -> dict[str, Path]:
    """The files of those that are there and hold what their name says."""
    files = zip(names, store.fetch(names, folder), strict=True)
    return {name: file for name, file in files if _is_whole(name, file)}


def _is_whole(name: str, file: Path) -> bool:
    try:
        return name.endswith(_ending(file.read_bytes()))
    except OSError:  # not there, or on a broken disk
        return False


def _ending(data: bytes) -> str:
    return f"-{blake3(data).hexdigest()[:_DIGEST_CHARS]}.parquet"


def _place(table: str, knowledge: str) -> str:
    return f"{table}/knowledge={knowledge}"


def _unit(name: str) -> str:
    """The key of the unit that a shard belongs to."""
    return name.rpartition("/")[2].partition("-")[0]


class Spool:
    """The rows of one unit; beyond SPILL_ROWS or SPILL_SIZE they are written away.

    It `is_broken` when the store did not take them: all of the unit is lost then, whatever file was just read.
    """

    def __init__(self, store: Store, knowledge: str, unit: str) -> None:
        self._store = store
        self._knowledge = knowledge
        self._unit = unit
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._weights = Counter[str]()
        self._shards: list[str] = []
        self._told: list[Told] = []
        self.is_broken = False

    @property
    def span(self) -> int:
        """The number of the span that rows belong to: the next one that will be told."""
        return len(self._told)

    def add(self, row: Row) -> None:
        """One row of the present span."""
        rows = self._rows.setdefault(row.table, [])
        rows.append({"span": self.span, **row.values})
        self._weights[row.table] += _weight(row.values)
        if len(rows) >= SPILL_ROWS or self._weights[row.table] >= SPILL_SIZE:
            self._spill(row.table)

    def tell(self, path: str, parts: Sequence[Part], **more: Any) -> None:
        """The present span is done, and this is known of it; `more` are further columns of PARTS."""
        self._told.append(Told(path, parts, more))

    def give_up(self, path: str, part: Part, **more: Any) -> None:
        """The present span failed: its rows, which would be half a source, stay without a part and are not loaded."""
        self.tell("", ())
        self.tell(path, [part], **more)

    def commit(self) -> None:
        """Write what is held; the shard of parts says that the unit is done."""
        for table in sorted(self._rows):
            self._spill(table)
        rows = [
            {
                "unit": self._unit,
                "span": number,
                "path": told.path,
                "parts": msgspec.json.encode(told.parts).decode(),
                "shards": self._shards,
                **told.more,
            }
            for number, told in enumerate(self._told)
            if told.path
        ]
        self._write(PARTS.name, self._unit, frame(PARTS, rows))

    def _spill(self, name: str) -> None:
        rows, self._rows[name] = self._rows[name], []
        self._weights[name] = 0
        if rows:
            spans = pl.DataFrame({"unit": [self._unit] * len(rows), "span": [row["span"] for row in rows]})
            rows_of_spans = pl.concat([spans, frame(_TABLES[name], rows)], how="horizontal")
            self._shards.append(self._write(name, f"{self._unit}-{len(self._shards)}", rows_of_spans))

    def _write(self, table: str, shard: str, rows: pl.DataFrame) -> str:
        """Put a shard into the store; its name."""
        out = io.BytesIO()
        rows.write_parquet(out, compression="zstd", compression_level=1)
        data = out.getvalue()
        name = f"{_place(table, self._knowledge)}/{shard}{_ending(data)}"
        self.is_broken = True
        self._store.put(name, data)
        self.is_broken = False
        return name


def _later(table: Table) -> Table:
    """The table without the columns that are given when it is loaded."""
    return Table(table.name, table.doc, tuple(column for column in table.columns if column.name not in _GIVEN_LATER))


_TABLES = {table.name: _later(table) for table in INTAKE}


def _weight(values: dict[str, Any]) -> int:
    """About how many bytes a row holds: as many as it would take written out."""
    return len(msgspec.json.encode(values))


def frame(table: Table, rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """The rows as a typed frame; absent keys are NULL, and so is a value that does not fit its column."""
    return pl.DataFrame(
        [
            pl.Series(column.name, [row.get(column.name) for row in rows], _TYPES[column.type], strict=False)
            for column in table.columns
        ]
    )
