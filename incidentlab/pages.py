"""Blocks of bytes become pages of whole lines, which know their place, their line numbers and their neighbours.

Pages lie on a grid: one ends with the last line feed before each multiple of `BLOCK_BYTES`. What a page holds therefore
depends on the content alone, not on where reading began, and a reader may begin at any such place.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from incidentlab.codecs import BLOCK_BYTES

LINE_BYTES = 64 << 10
"""How much of one line is decoded; a longer one is cut to its beginning and the place of the hit."""

HEAD_BYTES = 4 << 10
"""How much of the beginning of a longer line is kept: room for any prefix."""

GRID_BYTES = 32 * BLOCK_BYTES
"""A line without an end is searched in parts that end at multiples of this and overlap by HEAD_BYTES.

Content is cut into ranges at such places alone: looking at one block tells whether a page ends there.
"""

LOOK_AHEAD = 2
"""What a page becomes may depend on the next one; only with two behind it will nothing change when the file grows."""

BOM = b"\xef\xbb\xbf"
"""What some editors put in front of text in UTF-8."""

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_COUNTED_BYTES = 128 << 10
_SHORT_BYTES = 64 << 10
_LINE_FEED = 10

Rewrite = Callable[[bytes, bool], bytes]


@dataclass(slots=True)
class Page:
    """Whole lines of a source; `first_line` is the number of the first, `offset` its place in the text as searched.

    `start` is its place in the content as stored, which has colours and records that the text has not. `before` and
    `after` are the texts of the neighbouring pages, `following` is how many pages are known to follow, up to
    LOOK_AHEAD. Only a part of an endless line has no end.
    """

    data: bytes
    first_line: int
    offset: int
    start: int = 0
    before: bytes = b""
    after: bytes = b""
    following: int = LOOK_AHEAD
    _counted: tuple[int, int] = (0, 0)

    def line_at(self, place: int) -> int:
        """The number of the line that `place` is in; quick for ascending places, for it counts on from the last."""
        start, newlines = self._counted if self._counted[0] <= place else (0, 0)
        self._counted = (place, newlines + line_feeds(self.data, start, place))
        return self.first_line + self._counted[1]

    @property
    def last_line(self) -> int:
        """The number of the last line that begins on this page."""
        return self.line_at(len(self.data)) - self.data.endswith(b"\n")

    def lines_before(self, place: int, since: int = 0) -> Iterator[tuple[int, bytes]]:
        """The lines in front of `place`, nearest first, each with its offset in the text, down to offset `since`."""
        parts = ((self.data, self.offset, place), (self.before, self.offset - len(self.before), len(self.before)))
        for data, offset, until in parts:
            end, lowest = until, max(since - offset, 0)
            while end > lowest:
                start = data.rfind(b"\n", max(lowest - 1, 0), end - 1) + 1
                if start < lowest:
                    return
                yield offset + start, data[start:end]
                end = start

    def lines_after(self, place: int) -> Iterator[tuple[int, bytes]]:
        """The lines behind the one that `place` is in, nearest first, each with its offset in the text."""
        yield from self.lines_from(_end_of_line(self.data, place) + 1)

    def lines_from(self, start: int) -> Iterator[tuple[int, bytes]]:
        """The lines of this page from the one that begins at `start`, and those of the next page."""
        for data, offset in ((self.data, self.offset), (self.after, self.offset + len(self.data))):
            while start < len(data):
                end = _end_of_line(data, start) + 1
                yield offset + start, data[start:end]
                start = end
            start = 0


def line_feeds(data: bytes, start: int, end: int) -> int:
    """How many line feeds `data` has between two places; numpy counts a long stretch at three times Python's speed."""
    if end - start < _SHORT_BYTES:
        return data.count(b"\n", start, end)
    import numpy as np  # noqa: PLC0415 - a tenth of a second, which short logs need not wait for

    octets = np.frombuffer(data, np.uint8)
    scratch = np.empty(min(end - start, _COUNTED_BYTES), bool)
    parts = (octets[part : min(part + _COUNTED_BYTES, end)] for part in range(start, end, _COUNTED_BYTES))
    return sum(int(np.count_nonzero(np.equal(part, _LINE_FEED, out=scratch[: len(part)]))) for part in parts)


def pages(
    blocks: Iterable[bytes],
    rewrite: Rewrite | None = None,
    *,
    start: int = 0,
    stop: int | None = None,
    leads_in: bool = False,
) -> Iterator[Page]:
    """The blocks of a source as pages, terminal colours removed and records rewritten to lines.

    `blocks` begin at `start`, which is where a page begins, and go on at multiples of BLOCK_BYTES. Lines are counted
    from 1, but if the first page only `leads_in`, those of the second are. Beyond `stop`, a
    multiple of GRID_BYTES, reading ends at the first place where content may be cut; LOOK_AHEAD pages more are seen.
    """
    held = deque[Page]()
    beyond = 0
    for place, text, is_beyond in _rewritten(_whole_lines(blocks, start, stop), rewrite):
        held.append(_next_page(held[-1] if held else None, text, place, is_lead=leads_in and not held))
        beyond += is_beyond
        if len(held) > LOOK_AHEAD:
            yield held.popleft()
        if beyond == LOOK_AHEAD:
            break
    while len(held) > beyond:
        held[0].following = len(held) - 1
        yield held.popleft()


def _next_page(last: Page | None, text: bytes, place: int, *, is_lead: bool) -> Page:
    if last is None:
        return Page(text, 1 - line_feeds(text, 0, len(text)) if is_lead else 1, place, place)
    last.after = text
    end = len(last.data)
    return Page(text, last.line_at(end), last.offset + end, place, before=last.data)


def is_cut(block: bytes, end: int) -> bool:
    """Whether content may be cut behind `block`, which ends at `end`: a page ends in it, and not within a line."""
    return end % GRID_BYTES == 0 and b"\n" in block


def _whole_lines(blocks: Iterable[bytes], start: int, stop: int | None) -> Iterator[tuple[int, bytes, bool]]:
    """Where each page begins, its bytes, and whether that is beyond the place where reading ends.

    The last block of all ends no page: what follows it when the file grows belongs to the same one.
    """
    held: list[bytes] = []
    place = end = start
    is_beyond = False
    for block, is_last in _until_last(blocks):
        end += len(block)
        cut = 0 if is_last else block.rfind(b"\n") + 1
        if not cut and (is_last or end % GRID_BYTES):
            held.append(block)
            continue
        yield place, b"".join([*held, memoryview(block)[: cut or len(block)]]), is_beyond
        held = [block[cut or -HEAD_BYTES :]]
        place = end - len(held[0])
        is_beyond = is_beyond or (stop is not None and end >= stop and is_cut(block, end))
    if rest := b"".join(held):
        yield place, rest, is_beyond


def _until_last(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    held: bytes | None = None
    for block in blocks:
        if held is not None:
            yield held, False
        held = block
    if held is not None:
        yield held, True


def _rewritten(parts: Iterable[tuple[int, bytes, bool]], rewrite: Rewrite | None) -> Iterator[tuple[int, bytes, bool]]:
    place = 0
    for place, part, is_beyond in parts:
        if data := plain(part if place else part.removeprefix(BOM), rewrite):
            yield place, data, is_beyond
    if rewrite and (data := rewrite(b"", True)):
        yield place, data, False


def plain(part: bytes, rewrite: Rewrite | None) -> bytes:
    """Whole lines as they are searched."""
    text = _without_colours(part) if b"\x1b" in part else part
    return rewrite(text, False) if rewrite else text


def _without_colours(part: bytes) -> bytes:
    text = _ANSI.sub(b"", part)
    # An unfinished last line of colours alone stays a line: a blank holds its place.
    vanished = not part.endswith(b"\n") and (not text or text.endswith(b"\n"))
    return text + b" " if vanished else text


def _end_of_line(data: bytes, place: int) -> int:
    end = data.find(b"\n", place)
    return len(data) if end < 0 else end


def decoded(text: bytes) -> str:
    """A line as text, without its end and holes of NUL bytes; what is no UTF-8 is spelt out as backslash escapes."""
    return text.rstrip(b"\r\n").replace(b"\0", b"").decode("utf-8", "backslashreplace")
