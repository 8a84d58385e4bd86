"""Bytes to candidate lines: one multi-pattern search over whole blocks, lines cut out only where something was found.

Chatter is never decoded. hyperscan searches where it can be imported, google-re2 elsewhere; both only propose lines,
and google-re2 decides on the decoded line, so the answers are the same. Its time grows with the length of the line
alone: no line, however it was made up, can stop the reading.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import re2

try:
    import hyperscan
except ImportError:
    hyperscan = None  # type: ignore[assignment]

from incidentlab.signatures import Signature

WINDOW_BYTES = 64 << 10
"""How much of the neighbouring pages a page carries along."""

LINE_BYTES = 64 << 10
"""How much of one line is decoded; a longer one is cut to its beginning and the place of the hit."""

HEAD_BYTES = 4 << 10
"""How much of the beginning of a longer line is kept: room for any prefix."""

OPEN_LINE_BYTES = 16 << 20
"""A line without an end is searched in parts of this size, which overlap by HEAD_BYTES."""

_STEP_BYTES = LINE_BYTES // 4
_END_OF_TEXT = re.compile(rb"[\r\n]")
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line on which signatures match: its number, its text as decoded, and the place of the text in its page.

    A match is google-re2's, which has the methods of Python's.
    """

    line_no: int
    text: str
    place: int
    matches: tuple[tuple[Signature, Any], ...]


class Engine(Protocol):
    """A multi-pattern search that may propose too much, but never too little."""

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """(place within a matching line, number of the pattern), at least one a line and pattern, in order."""


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


def _text_bounds(data: bytes, place: int) -> tuple[int, int]:
    """Begin and end of the text that `place` is in: of a line, and of one state of a progress bar within it."""
    end = _END_OF_TEXT.search(data, place)
    return _begin_of_text(data, place), end.start() if end else len(data)


def _begin_of_text(data: bytes, place: int) -> int:
    """Looks back in steps that grow: each of the two ends may be rare, and neither may cost a whole page a text."""
    near, step = place, HEAD_BYTES
    while near > 0:
        far, near = near, max(near - step, 0)
        start = max(data.rfind(b"\n", near, far), data.rfind(b"\r", near, far))
        if start >= 0:
            return start + 1
        step *= 2
    return 0


class Hyperscan:
    """All patterns in one pass by Intel's hyperscan."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._count = len(patterns)
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        expressions = [pattern.encode() for pattern in patterns]
        self._database.compile(
            expressions=expressions, ids=list(range(self._count)), elements=self._count, flags=[0] * self._count
        )

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """See Engine: every match is reported with each of its ends; one a text is kept."""
        hits: list[tuple[int, int]] = []
        ends = [-1] * self._count

        def on_match(number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            if end > ends[number]:
                hits.append((end - 1, number))
                ends[number] = _text_bounds(data, end - 1)[1] + 1

        self._database.scan(data, match_event_handler=on_match)
        return sorted(hits)


class Re2:
    """All patterns as one alternation by google-re2, and as a set on the lines that it finds."""

    def __init__(self, patterns: Sequence[str]) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = 1 << 30
        self._any = re2.compile("|".join(f"(?:{_unnamed(pattern)})" for pattern in patterns).encode(), options)
        self._each = [re2.compile(_unnamed(pattern).encode(), options) for pattern in patterns]
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(_unnamed(pattern).encode())
        self._set.Compile()

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """See Engine: the search goes on behind the text in which a match begins, so one line cannot hide another."""
        hits: list[tuple[int, int]] = []
        place = 0
        while found := self._any.search(data, place):
            start, end = _text_bounds(data, found.start())
            text = data[start:end]
            numbers = self._set.Match(text) or ()
            hits.extend((start + self._each[number].search(text).end() - 1, number) for number in numbers)
            place = max(end, found.start()) + 1
        return sorted(hits)


def _unnamed(pattern: str) -> str:
    """The pattern without group names, which may occur once in an expression."""
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> Any:
    """The pattern as it decides on text, with its groups."""
    return re2.compile(pattern)


def _best_engine(patterns: Sequence[str]) -> Engine:
    """Hyperscan where it is there and takes all of the patterns; a site's own may be too much for it."""
    try:
        return Hyperscan(patterns) if hyperscan else Re2(patterns)
    except hyperscan.error:
        return Re2(patterns)


class Scanner:
    """The signatures, compiled once; finds their lines in pages."""

    def __init__(
        self, signatures: Sequence[Signature], engine: Callable[[Sequence[str]], Engine] | None = None
    ) -> None:
        self._signatures = [(signature, compiled(signature.pattern)) for signature in signatures]
        patterns = [signature.pattern for signature in signatures]
        self._engine = (engine or _best_engine)(patterns) if signatures else None

    def candidates(self, page: Page) -> Iterator[Candidate]:
        """The lines of `page` on which signatures match, in order; a progress bar's states each for themselves.

        A state that is drawn again and again counts once.
        """
        last: tuple[int, str, list[int]] | None = None
        for (start, end, low), numbers in self._proposed(page.data).items():
            text = decoded(_cut(page.data, start, end, low))
            last, before = (page.line_at(start), text, numbers), last
            if last == before:
                continue
            named = (self._signatures[number] for number in numbers)
            matches = tuple((signature, found) for signature, rx in named if (found := rx.search(text)))
            if matches:
                yield Candidate(last[0], text, start, matches)

    def _proposed(self, data: bytes) -> dict[tuple[int, int, int], list[int]]:
        """The texts to look at, as (begin, end, begin of the part around the hit) -> numbers of signatures."""
        proposed: dict[tuple[int, int, int], list[int]] = {}
        start = end = -1
        for place, number in self._engine.find(data) if self._engine else ():
            if not start <= place < end:
                start, end = _text_bounds(data, place)
            proposed.setdefault((start, end, _low(start, end, place)), []).append(number)
        return proposed


def _low(start: int, end: int, place: int) -> int:
    """Where the part of a text around `place` begins: at its beginning, unless the text is too long."""
    if end - start <= LINE_BYTES:
        return start
    steps = (place - start - LINE_BYTES // 2) // _STEP_BYTES
    return start + max(steps, 0) * _STEP_BYTES


def _cut(data: bytes, start: int, end: int, low: int) -> bytes:
    if low == start:
        return data[start : min(end, start + LINE_BYTES)]
    head = data[start : min(low, start + HEAD_BYTES)]
    return head + b" ... " + data[low : min(end, low + LINE_BYTES)]


def decoded(text: bytes) -> str:
    """A line as text, without its end and holes of NUL bytes; what is no UTF-8 is spelt out as backslash escapes."""
    return text.rstrip(b"\r\n").replace(b"\0", b"").decode("utf-8", "backslashreplace")
