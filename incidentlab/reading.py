"""The bytes of a source, or of a range of it, become rows and the account of its lines, in a single pass.

The content decides how it is read: a structured parser takes it whole, else an envelope heads it and its lines are
searched, else it is taken for the plain output of a job.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from msgspec.structs import replace

from incidentlab import envelopes, parsers
from incidentlab.codecs import BLOCK_BYTES, Stream
from incidentlab.content import Content, has_bare_returns, pages_before, ranged, whole
from incidentlab.envelopes import Envelope
from incidentlab.model import REPORT_MARK, Row
from incidentlab.pages import BOM, decoded, pages, plain
from incidentlab.parsers import Parser, Unparsed
from incidentlab.parts import Part, chain, joined
from incidentlab.scan import Scanner
from incidentlab.search import Search
from incidentlab.tally import Tally

Emit = Callable[[Row], None]

BINARY_SHARE = 0.05
"""Content with more control characters than this is no text; random bytes have twice as many."""

_DUCKDB_MARK_AT = 8
"""Where a DuckDB file says what it is, behind a checksum (duckdb src/storage/storage_info.cpp)."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_HOLE = re.compile(rb"\0{64,}")
_TEXT_BYTES = bytes([*b"\a\b\t\n\v\f\r\x1b\x1e", *range(0x20, 0x100)])


def read(stream: Stream, scanner: Scanner, emit: Emit) -> list[Part]:
    """Hand the rows of a whole source to `emit`; what is known of it comes back, a cut of the stream as its reason.

    Rows come without ids, which need the digest of the whole.
    """
    content = whole(stream)
    if reason := _no_log(content.head):
        status = "failed" if stream.cut and not content.head else "unused"
        return [Part(status=status, reason=stream.cut or reason, is_read=status == "unused")]
    parts = _read(content, scanner, emit)
    return [*parts[:-1], replace(parts[-1], reason=stream.cut)]


def read_range(file: IO[bytes], start: int, stop: int | None, scanner: Scanner, emit: Emit) -> list[Part]:
    """The same for a range of a file of plain text that `is_cuttable`; lines are counted from the first.

    The range begins and ends where content may be cut, see `content.ranged`; it may be empty.
    """
    content = ranged(file, start, stop)
    return _read(content, scanner, emit, pages_before(file, content.lead)) if content else []


def is_cuttable(head: bytes) -> bool:
    """Whether content that begins with `head` can be read in ranges: its lines depend on their neighbours at most."""
    text = head.removeprefix(BOM)
    if _no_log(text) or parsers.recognise(text):
        return False
    return not has_bare_returns(head) and _has_own_lines(envelopes.recognise(_shown(text)))


def _has_own_lines(envelope: Envelope | None) -> bool:
    """Whether no record of this format holds several lines."""
    return envelope is None or envelope.is_cuttable


def _read(content: Content, scanner: Scanner, emit: Emit, earlier: Iterable[bytes] = ()) -> list[Part]:
    tally = Tally(emit)
    if parser := parsers.recognise(content.head):
        return _hashed([_read_structured(parser, content, tally)], content)
    envelope = envelopes.recognise(_shown(content.head))
    rewrite = envelope.rewriter() if envelope and envelope.rewriter else None
    search = Search(scanner, envelope, tally, (plain(page, rewrite) for page in earlier))
    parts = list(
        search.read(pages(content, rewrite, start=content.lead, stop=content.stop, leads_in=content.start > 0))
    )
    can_grow = not content.has_bare_returns and _has_own_lines(envelope)
    return _hashed(parts if can_grow else [joined(parts)], content)


def _hashed(parts: Sequence[Part], content: Content) -> list[Part]:
    """The parts with the digests of their blocks: each has those that begin in it or end before the next."""
    if not parts:
        return []
    starts = [content.start, *(-(-part.start // BLOCK_BYTES) * BLOCK_BYTES for part in parts[1:])]
    ends = [*starts[1:], content.start + content.bytes]
    return [_with_digests(part, content, start, end) for part, start, end in zip(parts, starts, ends, strict=True)]


def _with_digests(part: Part, content: Content, start: int, end: int) -> Part:
    first, last = (-(-(place - content.start) // BLOCK_BYTES) for place in (start, end))
    blocks = content.digests[first:last]
    return replace(
        part,
        start=start,
        bytes=end - start,
        heads=() if start else content.heads,
        blocks="".join(blocks) if start else chain("".join(blocks)),
        last_block=blocks[-1] if blocks else "",
    )


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


def _read_structured(parser: Parser, content: Iterable[bytes], tally: Tally) -> Part:
    defaults = {"events": {"channel": parser.channel, "line_count": 1}}
    lines = _Lines(content)
    for result in parser.parse(lines):
        if isinstance(result, Unparsed):
            tally.failed(result)
            tally.settle(result.line_no)
        else:
            tally.settle(result.values["line_no"])
            tally.row(replace(result, values={**defaults.get(result.table, {}), **result.values}))
    tally.done(lines.line_feeds + 1)
    matched, unparsed = tally.taken()
    return Part(
        line_feeds=lines.line_feeds,
        is_open=lines.is_open,
        is_tail=True,
        format=parser.name,
        channel=parser.channel,
        matched=matched,
        unparsed=unparsed,
    )


class _Lines:
    """The lines of content, numbered and decoded, and how many there were."""

    def __init__(self, content: Iterable[bytes]) -> None:
        self._content = content
        self.line_feeds = 0
        self.is_open = False

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for page in pages(self._content):
            lines = page.data.removesuffix(b"\n").split(b"\n")
            yield from ((number, decoded(line)) for number, line in enumerate(lines, page.first_line))
            self.is_open = not page.data.endswith(b"\n")
            self.line_feeds += len(lines) - self.is_open
