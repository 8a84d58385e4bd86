"""Pages to candidate lines: one multi-pattern search over whole pages, lines cut out only where something was found.

Chatter is never decoded. hyperscan searches where it can be imported, google-re2 elsewhere; both only propose lines,
and google-re2 decides on the decoded line, so the answers are the same. Its time grows with the length of the line
alone: no line, however it was made up, can stop the reading.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import re2

try:
    import hyperscan
except ImportError:
    hyperscan = None  # type: ignore[assignment]

from incidentlab.pages import HEAD_BYTES, LINE_BYTES, Page, decoded
from incidentlab.signatures import Signature

_STEP_BYTES = LINE_BYTES // 4
_END_OF_TEXT = re.compile(rb"[\r\n]")


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
