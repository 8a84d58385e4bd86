"""Blocks of bytes become pages of whole lines, which know their place, their line numbers and their neighbours."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

WINDOW_BYTES = 64 << 10
"""How much of the neighbouring pages a page carries along."""

LINE_BYTES = 64 << 10
"""How much of one line is decoded; a longer one is cut to its beginning and the place of the hit."""

HEAD_BYTES = 4 << 10
"""How much of the beginning of a longer line is kept: room for any prefix."""

OPEN_LINE_BYTES = 16 << 20
"""A line without an end is searched in parts of this size, which overlap by HEAD_BYTES."""

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(slots=True)
class Page:
    """Whole lines of a source; `first_line` is the number of the first, `offset` its place in the text as searched.

    `before` and `after` are the ends of the neighbouring pages. Only a part of an endless line has no end.
    """

    data: bytes
    first_line: int
    offset: int
    before: bytes = b""
    after: bytes = b""
    _counted: tuple[int, int] = (0, 0)

    def line_at(self, place: int) -> int:
        """The number of the line that `place` is in; quick for ascending places, for it counts on from the last."""
        start, newlines = self._counted if self._counted[0] <= place else (0, 0)
        self._counted = (place, newlines + self.data.count(b"\n", start, place))
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
        """The lines of this page from the one that begins at `start`, and those known of the next page."""
        for data, offset in ((self.data, self.offset), (self.after, self.offset + len(self.data))):
            while start < len(data):
                end = _end_of_line(data, start) + 1
                yield offset + start, data[start:end]
                start = end
            start = 0


def pages(blocks: Iterable[bytes], rewrite: Callable[[bytes, bool], bytes] | None = None) -> Iterator[Page]:
    """The blocks of a source as pages of whole lines, terminal colours removed and records rewritten to lines."""
    held: Page | None = None
    for data in _rewritten(_whole_lines(blocks), rewrite):
        if held is None:
            held = Page(data, first_line=1, offset=0)
            continue
        held.after = _first_lines(data)
        yield held
        end = len(held.data)
        held = Page(data, held.line_at(end), held.offset + end, before=_last_lines(held.data))
    if held:
        yield held


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*held, memoryview(block)[:cut]])
            held = [block[cut:]]
        else:
            held.append(block)
            if sum(map(len, held)) >= OPEN_LINE_BYTES:
                yield b"".join(held)
                held = [block[-HEAD_BYTES:]]
    if rest := b"".join(held):
        yield rest


def _rewritten(parts: Iterable[bytes], rewrite: Callable[[bytes, bool], bytes] | None) -> Iterator[bytes]:
    for part in parts:
        plain = _without_colours(part) if b"\x1b" in part else part
        if data := rewrite(plain, False) if rewrite else plain:
            yield data
    if rewrite and (data := rewrite(b"", True)):
        yield data


def _without_colours(part: bytes) -> bytes:
    plain = _ANSI.sub(b"", part)
    # An unfinished last line of colours alone stays a line: a blank holds its place.
    vanished = not part.endswith(b"\n") and (not plain or plain.endswith(b"\n"))
    return plain + b" " if vanished else plain


def _first_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n", 0, WINDOW_BYTES) + 1]


def _last_lines(data: bytes) -> bytes:
    start = max(len(data) - WINDOW_BYTES, 0)
    return data[data.find(b"\n", start) + 1 :] if start else data


def _end_of_line(data: bytes, place: int) -> int:
    end = data.find(b"\n", place)
    return len(data) if end < 0 else end


def decoded(text: bytes) -> str:
    """A line as text, without its end and holes of NUL bytes; what is no UTF-8 is spelt out as backslash escapes."""
    return text.rstrip(b"\r\n").replace(b"\0", b"").decode("utf-8", "backslashreplace")
