"""What is to be read, cut into units of work of about the same size: a range of a large file, or many small files.

What was read before is not read again: a file that looks as it did is passed over, and one that has grown, under its
own name or one it was rotated to, is read on from where it ended.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import IO, Any

import msgspec
from blake3 import blake3

from incidentlab import content, discover, reading
from incidentlab.codecs import BLOCK_BYTES, open_stream
from incidentlab.discover import Input, Refused
from incidentlab.pages import LOOK_AHEAD
from incidentlab.parsers import HEAD_BYTES
from incidentlab.parts import Part, chain

UNIT_BYTES = 64 << 20
"""About how much one unit reads; a multiple of the grid that content is cut by."""

UNIT_FILES = 2_000
"""The most files of a unit: what a lost worker costs stays small."""

FILE_BYTES = 32 << 10
"""What opening and storing one file costs, as if it were so much longer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A source as it was read last; see `model.READINGS`. `bytes` are those of its content."""

    path: str
    file: str
    size: int | None
    changed_ns: int | None
    source_id: str
    prefix: Part | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A file to read, or its range from `start` to the first cut behind `stop`.

    `known` is what was read before `start`, and of which source, if that is known.
    """

    item: Input
    start: int = 0
    stop: int | None = None
    known: Reading | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """What one worker reads at a time; `key` names what it reads and with which knowledge."""

    key: str
    spans: tuple[Span | Refused, ...]

    @property
    def weight(self) -> int:
        """How much work it is, in bytes."""
        return sum(_weight(span) for span in self.spans)

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self.weight - FILE_BYTES * len(self.spans)


@dataclass(frozen=True, slots=True)
class Plan:
    """The units to read, and the paths of files that need not be read; whether content of these has lost a name."""

    units: tuple[Unit, ...]
    unchanged: tuple[str, ...] = ()
    has_lost_names: bool = False


@dataclass(slots=True)
class _Known:
    """Earlier readings by file, and by the beginning of their content and the place and digest of their prefix's end.

    What several logs begin with alike, such as the lines of a boot, tells nothing of how they go on.
    """

    by_file: dict[str, list[Reading]] = field(default_factory=dict)
    by_head: dict[str, dict[tuple[int, str], dict[str, Reading]]] = field(default_factory=dict)

    def add(self, known: Reading) -> None:
        self.by_file.setdefault(known.file, []).append(known)
        if known.prefix:
            end = (known.prefix.bytes, known.prefix.last_block)
            ends = self.by_head.setdefault(known.prefix.heads[_HEAD], {})
            ends.setdefault(end, {})[known.source_id] = known

    def lost_names(self, unchanged: Collection[str]) -> bool:
        """Whether content of the `unchanged` files had names of which none is among them."""
        kept = {old.source_id for path in unchanged for old in self.by_file[path]}
        return any(old.source_id in kept for path in self.by_file.keys() - unchanged for old in self.by_file[path])


_HEAD = (HEAD_BYTES // content.FIRST_HEAD_BYTES).bit_length() - 1
"""Which of the heads of a source is that of its first HEAD_BYTES."""


def plan(found: Sequence[Input | Refused], knowledge: str, readings: Iterable[Reading] = ()) -> Plan:
    """Units for everything that was `found`, small files together in the order of their paths."""
    known = _Known()
    for earlier in readings:
        known.add(earlier)
    fresh = [item for item in found if not _is_unchanged(item, known)]
    spans = [span for item in fresh for span in _spans(item, known)]
    units = [_unit(knowledge, group) for group in _grouped(spans)]
    unchanged = {item.path for item in found} - {item.path for item in fresh}
    by_size = sorted(units, key=lambda unit: (-unit.size, unit.key))
    return Plan(tuple(by_size), tuple(sorted(unchanged)), known.lost_names(unchanged))


def _is_unchanged(item: Input | Refused, known: _Known) -> bool:
    if isinstance(item, Refused):
        return False
    earlier = known.by_file.get(item.path, ())
    return bool(earlier) and all((old.size, old.changed_ns) == (item.size, item.changed_ns) for old in earlier)


def _spans(item: Input | Refused, known: _Known) -> Iterator[Span | Refused]:
    if isinstance(item, Refused):
        yield item
        return
    earlier = _earlier(item, known)
    start = earlier.prefix.bytes if earlier and earlier.prefix else 0
    is_long = item.size - start > UNIT_BYTES + UNIT_BYTES // 2
    if not start and not (is_long and _is_cuttable(item)):
        yield Span(item)
        return
    cuts = [start, *range((start // UNIT_BYTES + 1) * UNIT_BYTES, item.size - UNIT_BYTES // 2, UNIT_BYTES)]
    for begin, end in zip(cuts, [*cuts[1:], None], strict=True):
        yield Span(item, begin, end, earlier if begin == start else None)


def _earlier(item: Input, known: _Known) -> Reading | None:
    """The longest reading of content that `item` begins with."""
    if item.size < HEAD_BYTES or not known.by_head:
        return None
    try:
        with item.open() as file:
            ends = known.by_head.get(content.heads(file.read(HEAD_BYTES))[-1], {})
            most = item.size - LOOK_AHEAD * BLOCK_BYTES
            for end in sorted({end for end, _ in ends if end <= most}, reverse=True):
                file.seek(end - BLOCK_BYTES)
                for old in ends.get((end, blake3(file.read(BLOCK_BYTES)).hexdigest()), {}).values():
                    if _goes_on(file, old):
                        return old
    except OSError:
        pass
    return None


def _goes_on(file: IO[bytes], old: Reading) -> bool:
    """Whether a file that begins with the prefix of a reading begins with all of its content."""
    if not old.prefix or old.bytes is None:
        return False
    file.seek(old.prefix.bytes)
    sizes = (min(BLOCK_BYTES, old.bytes - place) for place in range(old.prefix.bytes, old.bytes, BLOCK_BYTES))
    blocks = (blake3(file.read(size)).hexdigest() for size in sizes)
    return chain(old.prefix.blocks + "".join(blocks)).startswith(old.source_id)


def _is_cuttable(item: Input) -> bool:
    """Whether the file is plain text, neither compressed nor archived, in a format that can be cut."""
    try:
        with item.open() as file:
            stream = open_stream(file)
            head = stream.peek(HEAD_BYTES)
            return not stream.codecs and not discover.is_archive(head) and reading.is_cuttable(head)
    except OSError:
        return False


def _grouped(spans: Iterable[Span | Refused]) -> Iterator[list[Span | Refused]]:
    """Spans one after the other, as many as make up a unit; one that is as large or larger is one for itself."""
    held: list[Span | Refused] = []
    weight = 0
    for span in spans:
        heavy = _weight(span)
        if held and (weight + heavy > UNIT_BYTES or len(held) == UNIT_FILES):
            yield held
            held, weight = [], 0
        held.append(span)
        weight += heavy
    if held:
        yield held


def _weight(span: Span | Refused) -> int:
    if isinstance(span, Refused):
        return FILE_BYTES
    end = span.item.size if span.stop is None else span.stop
    return max(end - span.start, 0) + FILE_BYTES


def split(unit: Unit) -> tuple[Unit, ...]:
    """The unit as units of one span each; nothing if that is what it is."""
    if len(unit.spans) == 1:
        return ()
    return tuple(_unit(unit.key, [span]) for span in unit.spans)


def _unit(basis: str, spans: Sequence[Span | Refused]) -> Unit:
    parts = (repr(span) if isinstance(span, Refused) else _identity(span) for span in spans)
    return Unit(sha256("\n".join([basis, *parts]).encode()).hexdigest()[:16], tuple(spans))


def _identity(span: Span) -> str:
    item = span.item
    known = (span.known.source_id, msgspec.json.encode(span.known.prefix).decode()) if span.known else None
    return repr((item.path, item.size, item.changed_ns, span.start, span.stop, known))


def readings_of(rows: Iterable[Sequence[Any]]) -> list[Reading]:
    """Readings from the rows that `intake.readings` gives."""
    return [
        Reading(path, file, size, time, source, msgspec.json.decode(prefix, type=Part) if prefix else None, length)
        for path, file, size, time, source, prefix, length in rows
    ]
