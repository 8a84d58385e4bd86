"""What the units of a reading say together: the rows of `sources`, the lines that spans begin with, what to keep.

A source may have been read in several spans, by several workers, and in part long ago. Here they become one again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby, islice, takewhile
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from incidentlab import __version__
from incidentlab.errors import UsageError
from incidentlab.model import READINGS, SOURCES, Table
from incidentlab.parts import Part, joined, row
from incidentlab.spool import frame

SPANS = Table.of(
    "spans",
    "one span of a unit whose rows count",
    """
    unit      VARCHAR  unit of work
    span      INTEGER  number of the span within the unit
    path      VARCHAR  path of the source
    source_id VARCHAR  the source it belongs to
    add_lines BIGINT   lines of the source before the span
    """,
)

KEPT = Table.of(
    "kept",
    "one source that goes on from one that was read before",
    """
    path        VARCHAR  path of the source
    source_id   VARCHAR  the source
    known_id    VARCHAR  the source it goes on from
    known_lines BIGINT   how many of its lines stay as they were read
    """,
)

BATCH_SOURCES = 2_000
"""So many sources are held as objects, which take some kilobytes each, before they become rows of a table."""

_PARTS = msgspec.json.Decoder(list[Part])
_PART = msgspec.json.Decoder(Part)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All sources of a reading, see the tables above, the names or files of the shards by table, and the units."""

    sources: pl.DataFrame
    spans: pl.DataFrame
    kept: pl.DataFrame
    readings: pl.DataFrame
    shards: Mapping[str, Sequence[str]]
    units: Sequence[str]


def assembled(parts: pl.DataFrame, knowledge: str) -> Manifest:
    """The manifest from the `parts` of all units; sources are in the order of their paths."""
    rows = parts.sort("path", "start", nulls_last=False).iter_rows(named=True)
    made = (_source(path, list(spans), knowledge) for path, spans in groupby(rows, key=lambda span: span["path"]))
    batches = [_tables(()), *map(_tables, iter(lambda: list(islice(made, BATCH_SOURCES)), []))]
    sources, spans, kept, readings = map(pl.concat, zip(*batches, strict=True))
    names = sorted(set(parts["shards"].explode().drop_nulls()))
    return Manifest(
        sources,
        spans,
        kept,
        readings,
        {table: list(group) for table, group in groupby(names, key=lambda name: name.partition("/")[0])},
        sorted(set(parts["unit"])),
    )


def _tables(made: Sequence["_Source"]) -> tuple[pl.DataFrame, ...]:
    """The tables of some sources, in the order of the manifest's."""
    return (
        frame(SOURCES, [source.row for source in made]),
        frame(SPANS, [span for source in made for span in source.spans]),
        frame(KEPT, [source.kept for source in made if source.kept]),
        frame(READINGS, [source.reading for source in made]),
    )


_VANISHED = Part(status="failed", reason="became shorter while it was read; ingest it again", is_read=False)


@dataclass(frozen=True, slots=True)
class _Source:
    row: dict[str, Any]
    spans: list[dict[str, Any]]
    kept: dict[str, Any] | None
    reading: dict[str, Any]


def _source(path: str, spans: Sequence[Mapping[str, Any]], knowledge: str) -> _Source:
    first = spans[0]
    known = [_PART.decode(first["known"])] if first["known"] else []
    parts = [_PARTS.decode(span["parts"]) for span in spans]
    every = [*known, *(part for some in parts for part in some)]
    failed = next((part for part in every if part.status == "failed"), None)
    values = row(failed or (joined(every) if every else _VANISHED))
    source_id = (values["digest"] or sha256(path.encode()).hexdigest())[:16]
    lines = sum(part.line_feeds for part in known)
    identity = {"path": path, "source_id": source_id}
    kept = {**identity, "known_id": first["known_id"], "known_lines": lines}
    prefix = None if failed else _prefix(every)
    settled = prefix.line_feeds if prefix else None
    return _Source(
        {**identity, **values, "modified_ts": first["modified_ts"], "settled_lines": settled},
        [] if failed else list(_numbered(identity, spans, parts, lines)),
        kept if known and not failed else None,
        {**_seen(spans), **identity, "knowledge": knowledge, "prefix": _text(prefix)},
    )


def _seen(spans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The file that the spans were read from, as it was then; without its size if it must be tried again."""
    first = spans[0]
    is_over = any(span["is_outage"] for span in spans)
    return {"file": first["file"], "size": None if is_over else first["size"], "changed_ns": first["changed_ns"]}


def _numbered(
    identity: Mapping[str, Any], spans: Sequence[Mapping[str, Any]], parts: Sequence[Sequence[Part]], lines: int
) -> Iterator[dict[str, Any]]:
    """Each span with the lines before it."""
    for span, told in zip(spans, parts, strict=True):
        yield {**identity, "unit": span["unit"], "span": span["span"], "add_lines": lines}
        lines += sum(part.line_feeds for part in told)


def _prefix(parts: Sequence[Part]) -> Part | None:
    """What stays when the source grows: all before its tail."""
    stays = list(takewhile(lambda part: not part.is_tail, parts))
    return joined(stays) if stays and len(stays) < len(parts) else None


def _text(part: Part | None) -> str | None:
    return msgspec.json.encode(part).decode() if part else None


MANIFEST = "manifest.json"
"""The name in a store of what `named` gives."""


def named(manifest: Manifest, knowledge: str) -> bytes:
    """Which units a store holds a whole reading in, and with which knowledge they were read, as JSON."""
    said = _Named(knowledge, __version__, list(manifest.units))
    return msgspec.json.format(msgspec.json.encode(said))


def unit_keys(text: bytes, knowledge: str, where: str) -> list[str]:
    """The units that a store's manifest names; `UsageError` for one of other knowledge, or that is damaged."""
    try:
        said = msgspec.json.decode(text, type=_Named)
    except msgspec.DecodeError as error:
        raise UsageError(f"its {MANIFEST} is damaged ({error}); fill it again", where) from error
    if said.knowledge != knowledge:
        made = f"its shards were made by version {said.version}, or with other signatures"
        raise UsageError(f"{made}; give the same -c, or fill it again", where)
    return said.units


class _Named(msgspec.Struct):
    knowledge: str
    version: str
    units: list[str]


def save(manifest: Manifest, folder: Path) -> None:
    """Write its tables where the warehouse reads them."""
    for name in ("sources", "spans", "kept", "readings"):
        getattr(manifest, name).write_parquet(folder / f"{name}.parquet")
