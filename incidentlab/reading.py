"""One source's bytes become rows and the account of its lines, in a single pass.

The content decides how it is read: a structured parser takes it whole, else an envelope heads it and its lines are
searched, else it is taken for the plain output of a job.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from typing import Any

from incidentlab import envelopes, events, parsers
from incidentlab.codecs import Stream
from incidentlab.envelopes import Envelope
from incidentlab.model import REPORT_MARK, Prefix, Row, Stamp
from incidentlab.neighbours import Neighbours
from incidentlab.parsers import HEAD_BYTES, Parser, Unparsed
from incidentlab.scan import HEAD_BYTES as PREFIX_BYTES
from incidentlab.scan import LINE_BYTES, Candidate, Page, Scanner, decoded, pages

SAMPLE_LINES = 200
"""How many lines at both ends of a source are asked for hosts, stamps and channels."""

FIRST_HEAD_BYTES = 64
LAST_HEAD_BYTES = 1 << 20
"""How much of the beginning of a source is hashed on its own, doubling: a file that grows keeps these digests."""

BINARY_SHARE = 0.05
"""Content with more control characters than this is no text; random bytes have twice as many."""

_DUCKDB_MARK_AT = 8
"""Where a DuckDB file says what it is, behind a checksum (duckdb src/storage/storage_info.cpp)."""

_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_HOLE = re.compile(rb"\0{64,}")
_TEXT_BYTES = bytes([*b"\a\b\t\n\v\f\r\x1b\x1e", *range(0x20, 0x100)])


def read(stream: Stream, scanner: Scanner, emit: Callable[[Row], None]) -> dict[str, Any]:
    """Hand the rows of `stream` to `emit` and return its columns of `sources`, but for path and time.

    Rows come without ids, which need the digest of the whole. A cut of the stream is told as the reason.
    """
    head = stream.peek(HEAD_BYTES)
    if reason := _no_log(head):
        status = "failed" if stream.cut and not head else "unused"
        return {"status": status, "reason": stream.cut or reason, **dict.fromkeys(_LINE_COLUMNS, 0)}
    content = _Content(stream)
    head = content.cleaned(head.removeprefix(_BOM))
    tally = Tally(emit)
    parser = parsers.recognise(head)
    if parser:
        values = _read_structured(parser, content, tally)
    else:
        values = _Search(scanner, envelopes.recognise(_shown(head)), tally).read(content)
    values |= {"digest": content.digest, "heads": content.heads, "bytes": content.bytes, **tally.columns}
    return values | _status(stream, values, tally)


_LINE_COLUMNS = ("lines", "matched_lines", "unmatched_lines", "unparsed_lines")


def _no_log(head: bytes) -> str | None:
    """Why content that begins with `head` is no log; what this program wrote itself would quote logs as if it were."""
    if not head:
        return "empty"
    if head.lstrip().startswith(b"<!doctype html>") and REPORT_MARK in head:
        return "a report of incidentlab"
    if head[_DUCKDB_MARK_AT:].startswith(b"DUCK"):
        return "a DuckDB file"
    if _is_binary(head):
        return "UTF-16; make it UTF-8 with: iconv -f UTF-16 -t UTF-8" if head.startswith(_UTF_16) else "binary"
    return None


def _is_binary(head: bytes) -> bool:
    """Whether `head` is no text; a hole of NUL bytes, which a crash leaves in a log, does not count."""
    solid = _HOLE.sub(b"", head)
    return len(solid.translate(None, _TEXT_BYTES)) > BINARY_SHARE * len(solid)


def _shown(head: bytes) -> str:
    return "\n".join(decoded(line) for page in pages([head]) for line in page.data.split(b"\n"))


def _status(stream: Stream, values: dict[str, Any], tally: "Tally") -> dict[str, Any]:
    """Used, if anything was caught or the format is known: then silence is evidence too."""
    if values["format"] == "plain" and not tally.matched:
        silent = "unknown format, and no line of it matches a signature"
        return {"status": "unused", "reason": f"{silent}; {stream.cut}" if stream.cut else silent}
    return {"status": "used", "reason": stream.cut}


class _Content:
    """The blocks of a stream, counted and hashed as they pass; then without byte order mark, and in lines."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._hash = sha256()
        head = stream.peek(HEAD_BYTES)
        self._has_bare_returns = b"\r" in head and b"\n" not in head
        self._next_head = FIRST_HEAD_BYTES
        self.heads: list[str] = []
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for block in self._stream.blocks:
            text = block if self.bytes else block.removeprefix(_BOM)
            self._pass(memoryview(block))
            yield self.cleaned(text)

    def _pass(self, block: memoryview) -> None:
        """Count and hash a block, part by part where a head ends within it."""
        while self.bytes + len(block) >= self._next_head <= LAST_HEAD_BYTES:
            left = self._next_head - self.bytes
            self._hash.update(block[:left])
            self.heads.append(self.digest[:16])
            self.bytes, block, self._next_head = self._next_head, block[left:], 2 * self._next_head
        self._hash.update(block)
        self.bytes += len(block)

    def cleaned(self, data: bytes) -> bytes:
        """`data` with line feeds, where a carriage return alone ends the lines."""
        return data.replace(b"\r", b"\n") if self._has_bare_returns else data

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


@dataclass(slots=True)
class Tally:
    """The account of a source's lines: each is matched, unparsed or unmatched, and counted once."""

    emit: Callable[[Row], None]
    lines: int = 0
    matched: int = 0
    unparsed: int = 0
    _until: int = 0
    _line_no: int = 0
    _seen: set[tuple[Any, ...]] = field(default_factory=set)

    def row(self, row: Row) -> None:
        """A row that was made; the second of one signature and node on one line is a repetition of the first."""
        line_no = row.values["line_no"]
        if line_no != self._line_no:
            self._line_no = line_no
            self._seen.clear()
        if row.table == "events":
            identity = (row.values.get("signature"), row.values.get("node"))
            if identity in self._seen:
                return
            self._seen.add(identity)
        self.matched += self._advance(line_no, row.values.get("line_count") or 1)
        self.emit(row)

    def failed(self, unparsed: Unparsed) -> None:
        """A line that should have been understood."""
        self.unparsed += self._advance(unparsed.line_no, 1)

    def page(self, page: Page) -> None:
        """A page that was read."""
        self.lines = page.last_line

    def _advance(self, line_no: int, count: int) -> int:
        """How many of these lines were not accounted for yet."""
        fresh = max(line_no + count - 1 - max(self._until, line_no - 1), 0)
        self._until = max(self._until, line_no + count - 1)
        return fresh

    @property
    def columns(self) -> dict[str, int]:
        """The line columns of `sources`; they add up."""
        unmatched = self.lines - self.matched - self.unparsed
        return dict(zip(_LINE_COLUMNS, (self.lines, self.matched, unmatched, self.unparsed), strict=True))


def _read_structured(parser: Parser, content: Iterable[bytes], tally: Tally) -> dict[str, Any]:
    defaults = {"events": {"channel": parser.channel, "line_count": 1}}
    for result in parser.parse(_numbered(content, tally)):
        if isinstance(result, Unparsed):
            tally.failed(result)
        else:
            tally.row(replace(result, values={**defaults.get(result.table, {}), **result.values}))
    return {"format": parser.name, "channel": parser.channel}


def _numbered(content: Iterable[bytes], tally: Tally) -> Iterator[tuple[int, str]]:
    for page in pages(content):
        tally.page(page)
        lines = page.data.removesuffix(b"\n").split(b"\n")
        yield from ((number, decoded(line)) for number, line in enumerate(lines, page.first_line))


class _Search:
    """Reading a source line by line where signatures match."""

    def __init__(self, scanner: Scanner, head: Envelope | None, tally: Tally) -> None:
        self._scanner = scanner
        self._head = head
        self._tally = tally
        self._channel = (head.channel or "daemon") if head else "job"
        self._witness = Witness()
        self._neighbours = Neighbours(lambda text: envelopes.peel(text, head).stamp)

    def read(self, content: Iterable[bytes]) -> dict[str, Any]:
        page = None
        for page in pages(content, self._head.rewriter() if self._head and self._head.rewriter else None):
            if page.first_line == 1:
                self._sample(line for _, line in islice(page.lines_from(0), SAMPLE_LINES))
            for candidate in self._scanner.candidates(page):
                self._candidate(page, candidate)
            self._tally.page(page)
        if page:
            self._sample(reversed([line for _, line in islice(page.lines_before(len(page.data)), SAMPLE_LINES)]))
        channel = self._witness.channel or self._channel
        return {
            "format": self._head.name if self._head else "plain",
            "channel": self._head.channel or channel if self._head else "job",
            **self._witness.columns,
        }

    def _sample(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._witness.hear(envelopes.peel(decoded(line[:PREFIX_BYTES]), self._head))

    def _candidate(self, page: Page, candidate: Candidate) -> None:
        hit = min(found.start() for _, found in candidate.matches)
        prefix = envelopes.peel(candidate.text, self._head, hit)
        self._witness.hear(prefix)
        if prefix.stamp:
            self._neighbours.note(page.offset + candidate.place, prefix.stamp)
        else:
            prefix = replace(prefix, stamp=self._neighbours.lend(page, candidate.place))

        def following(count: int) -> list[str]:
            lines = (decoded(line[:LINE_BYTES]) for _, line in islice(page.lines_after(candidate.place), count - 1))
            return [prefix.text, *(envelopes.peel(line, self._head).text for line in lines)]

        for row in events.rows(candidate, prefix, prefix.channel or self._channel, following):
            self._tally.row(row)


class Witness:
    """What the headers of a source's lines say about the source."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        self._channels: Counter[str] = Counter()
        self._offsets: set[int] = set()
        self._first: Stamp | None = None
        self._last: Stamp | None = None

    def hear(self, prefix: Prefix) -> None:
        """Take note of one line, in the order of the file."""
        if prefix.host:
            self._hosts.add(events.node_name(prefix.host) or prefix.host)
        if prefix.channel:
            self._channels[prefix.channel] += 1
        if prefix.stamp and prefix.stamp.local_ts:
            self._first = self._first or prefix.stamp
            self._last = prefix.stamp
            if prefix.stamp.utc_offset_s is not None:
                self._offsets.add(prefix.stamp.utc_offset_s)

    @property
    def channel(self) -> str | None:
        """The kernel's if it was heard, for its silence counts; else the most frequent."""
        ranked = sorted(self._channels.items(), key=lambda item: (item[0] != "kernel", -item[1], item[0]))
        return ranked[0][0] if ranked else None

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of `sources`; a host or offset only if all lines agree."""
        return {
            "host": next(iter(self._hosts)) if len(self._hosts) == 1 else None,
            "first_local_ts": self._first.local_ts if self._first else None,
            "last_local_ts": self._last.local_ts if self._last else None,
            "utc_offset_s": next(iter(self._offsets)) if len(self._offsets) == 1 else None,
            "has_year": self._first.has_year if self._first else None,
        }
