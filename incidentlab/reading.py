"""One source's bytes become rows and the account of its lines, in a single pass.

The content decides how it is read: a structured parser takes it whole, else an envelope heads it and its lines are
searched, else it is taken for the plain output of a job.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

from incidentlab import envelopes, parsers
from incidentlab.codecs import Stream
from incidentlab.model import REPORT_MARK, Row
from incidentlab.pages import decoded, pages
from incidentlab.parsers import HEAD_BYTES, Parser, Unparsed
from incidentlab.scan import Scanner
from incidentlab.search import Search
from incidentlab.tally import LINE_COLUMNS, Tally

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
        return {"status": status, "reason": stream.cut or reason, **dict.fromkeys(LINE_COLUMNS, 0)}
    content = _Content(stream)
    head = content.cleaned(head.removeprefix(_BOM))
    tally = Tally(emit)
    parser = parsers.recognise(head)
    if parser:
        values = _read_structured(parser, content, tally)
    else:
        envelope = envelopes.recognise(_shown(head))
        rewriter = envelope.rewriter() if envelope and envelope.rewriter else None
        values = Search(scanner, envelope, tally).read(pages(content, rewriter))
    values |= {"digest": content.digest, "heads": content.heads, "bytes": content.bytes, **tally.columns}
    return values | _status(stream, values, tally)


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


def _status(stream: Stream, values: dict[str, Any], tally: Tally) -> dict[str, Any]:
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
