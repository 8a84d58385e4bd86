"""What is known of a range of a source, and how ranges that adjoin become one: the row of `sources` in the end.

A source is read in one or several ranges, by one or several processes. Joining them gives the same account and the same
digest wherever it was cut, and a file that has grown is the range that was read before with the new one behind it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import Any

import msgspec
from blake3 import blake3

_DIGEST_BYTES = blake3.digest_size
_MOST_HEARD = 2
"""One host or offset is a fact, two already say that there is none in common."""


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One range of a source, from byte `start` of its decompressed content.

    `blocks` are the hex digests of its blocks, one after the other, `last_block` is that of the last, and `heads` are
    known of the beginning of a source alone. `line_feeds` number what follows; `is_open` if the last line has no end,
    `is_tail` if the range ends the source and may change when that grows. What was not read, such as an archive as
    such, has no counts. `channels` says how many lines spoke for each channel. Of hosts and UTC offsets that the lines
    name, two are kept.
    """

    start: int = 0
    bytes: int = 0
    blocks: str = ""
    last_block: str = ""
    heads: tuple[str, ...] = ()
    line_feeds: int = 0
    is_open: bool = False
    is_tail: bool = False
    is_read: bool = True
    matched: int = 0
    unparsed: int = 0
    format: str | None = None
    channel: str | None = None
    channels: dict[str, int] = {}
    hosts: tuple[str, ...] = ()
    offsets: tuple[int, ...] = ()
    first_local_ts: datetime | None = None
    last_local_ts: datetime | None = None
    has_year: bool | None = None
    status: str = "used"
    reason: str | None = None

    @property
    def lines(self) -> int:
        """Physical lines, the last one with or without its end."""
        return self.line_feeds + self.is_open


def joined(parts: Iterable[Part]) -> Part:
    """Adjoining ranges, in order, as one; their blocks are chained into one digest, see `chain`."""
    return reduce(_with, parts)


def _with(left: Part, right: Part) -> Part:
    return Part(
        start=left.start,
        bytes=left.bytes + right.bytes,
        blocks=chain(left.blocks + right.blocks) if not left.start else left.blocks + right.blocks,
        last_block=right.last_block or left.last_block,
        heads=left.heads,
        line_feeds=left.line_feeds + right.line_feeds,
        is_open=right.is_open,
        is_tail=right.is_tail,
        matched=left.matched + right.matched,
        unparsed=left.unparsed + right.unparsed,
        format=left.format,
        channel=left.channel,
        channels=dict(sorted((Counter(left.channels) + Counter(right.channels)).items())),
        hosts=heard(left.hosts + right.hosts),
        offsets=heard(left.offsets + right.offsets),
        first_local_ts=left.first_local_ts or right.first_local_ts,
        last_local_ts=right.last_local_ts or left.last_local_ts,
        has_year=right.has_year if left.first_local_ts is None else left.has_year,
        status=left.status,
        reason=right.reason or left.reason,
    )


def heard(values: Iterable[Any]) -> tuple[Any, ...]:
    """Different values in order, as many of them as it takes to know that they differ."""
    return tuple(sorted(set(values))[:_MOST_HEARD])


def chain(blocks: str) -> str:
    """The digest (hex) of content from the digests of its blocks: that of the first, and of each with what precedes it.

    Content of a single block has the plain BLAKE3 digest of its bytes. The digest of what precedes may take the place
    of the first blocks, so content that grows is not read again.
    """
    digests = bytes.fromhex(blocks)
    each = (digests[place : place + _DIGEST_BYTES] for place in range(0, len(digests), _DIGEST_BYTES))
    return reduce(lambda before, block: blake3(before + block).digest(), each, next(each, b"")).hex()


def row(part: Part) -> dict[str, Any]:
    """The whole of a source as its row of `sources`, but for path and time: silence of a known format is used too."""
    digest = chain(part.blocks) if part.blocks else None
    counts = {
        "bytes": part.bytes if part.blocks else None,  # what is no log is not read to its end
        "lines": part.lines,
        "matched_lines": part.matched,
        "unmatched_lines": part.lines - part.matched - part.unparsed,
        "unparsed_lines": part.unparsed,
    }
    is_silent = part.status == "used" and part.format == "plain" and not part.matched
    return {
        "digest": digest,
        "heads": list(part.heads),
        **(counts if part.is_read else {}),
        "format": part.format,
        "channel": _channel(part),
        "host": _single(part.hosts),
        "first_local_ts": part.first_local_ts,
        "last_local_ts": part.last_local_ts,
        "utc_offset_s": _single(part.offsets),
        "has_year": part.has_year,
        "status": "unused" if is_silent else part.status,
        "reason": "; ".join(filter(None, (_SILENT if is_silent else None, part.reason))) or None,
    }


_SILENT = "unknown format, and no line of it matches a signature"


def _channel(part: Part) -> str | None:
    """That of the format; else the kernel's if it was heard, for its silence counts; else the most frequent."""
    ranked = sorted(part.channels.items(), key=lambda item: (item[0] != "kernel", -item[1], item[0]))
    return ranked[0][0] if ranked else part.channel


def _single(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else None
