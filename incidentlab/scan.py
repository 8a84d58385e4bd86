"""Pages to candidate lines: one multi-pattern search over whole pages, lines cut out only where something was found.

Chatter is never decoded. hyperscan searches where it can be imported, google-re2 elsewhere; both only propose lines,
and google-re2 decides on the decoded line, so the answers are the same. Its time grows with the length of the line
alone: no line, however it was made up, can stop the reading.
"""

import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Protocol

import re2
from blake3 import blake3
from msgspec import Struct

try:
    import hyperscan
except ImportError:
    hyperscan = None  # type: ignore[assignment]

from incidentlab.folding import Storms, alike
from incidentlab.pages import HEAD_BYTES, LINE_BYTES, Page, decoded
from incidentlab.signatures import Signature
from incidentlab.triggers import literals, needs, triggers

PATIENCE = 500
"""So often a trigger may be found in vain: deciding about so many lines costs what compiling anew does."""

_DENSE_BYTES = 512
"""With more than one hit in so many bytes a page is dense: it pays to fold its lines before they are searched."""

_STEP_BYTES = LINE_BYTES // 4
_END_OF_TEXT = re.compile(rb"[\r\n]")


class Match(Struct, frozen=True):
    """Where a pattern matches, in characters, and what those of its groups hold that take part."""

    start: int
    end: int
    groups: dict[str, str]


class Candidate(Struct, frozen=True):
    """A line on which signatures match: its number, its text as decoded, and the place of the text in its page.

    `said` is what the whole line says, see `folding.alike`; None if it has no clock or other texts beside this one.
    """

    line_no: int
    text: str
    place: int
    matches: tuple[tuple[Signature, Match], ...]
    said: bytes | None = None

    @property
    def is_single(self) -> bool:
        """Whether lines that say the same must each be looked at: what becomes of them depends on more."""
        return any(signature.kind == "progress" or signature.block for signature, _ in self.matches)

    @property
    def alike(self) -> str | None:
        """16 hex digits for `said`."""
        return blake3(self.said).hexdigest()[:16] if self.said else None


_NUMBER_BITS = 20
_NUMBER = (1 << _NUMBER_BITS) - 1


class Engine(Protocol):
    """A multi-pattern search."""

    def find(self, data: bytes, most: int) -> list[int] | None:
        """All occurrences, sorted; None if they are more than `most`.

        Each is its last place and the number of the expression in one integer, for a hostile line may hold millions.
        """


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
    """All expressions in one pass by Intel's hyperscan."""

    def __init__(self, expressions: Sequence[str]) -> None:
        count = len(expressions)
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[expression.encode() for expression in expressions],
            ids=list(range(count)),
            elements=count,
            flags=[0] * count,
        )

    def find(self, data: bytes, most: int) -> list[int] | None:
        """See Engine: every occurrence is reported with each of its ends."""
        hits: list[int] = []

        def on_match(number: int, _start: int, end: int, _flags: int, _context: Any) -> bool | None:
            hits.append((end - 1) << _NUMBER_BITS | number)
            return len(hits) > most or None

        try:
            self._database.scan(data, match_event_handler=on_match)
        except hyperscan.ScanTerminated:
            return None
        hits.sort()
        return hits


class Re2:
    """All expressions as one alternation by google-re2, and as a set on the lines that it finds."""

    def __init__(self, expressions: Sequence[str]) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = 1 << 30
        raw = [expression.encode() for expression in expressions]
        self._any = re2.compile(b"|".join(b"(?:" + expression + b")" for expression in raw), options)
        self._each = [re2.compile(expression, options) for expression in raw]
        self._set = re2.Set.SearchSet(options)
        for expression in raw:
            self._set.Add(expression)
        self._set.Compile()

    def find(self, data: bytes, most: int) -> list[int] | None:
        """See Engine: the search goes on behind the text in which a match begins, so one line cannot hide another."""
        hits: list[int] = []
        place = 0
        while found := self._any.search(data, place):
            start, end = _text_bounds(data, found.start())
            text = data[start:end]
            for number in self._set.Match(text) or ():
                found_here = self._each[number].finditer(text)
                hits.extend((start + match.end() - 1) << _NUMBER_BITS | number for match in found_here)
            place = max(end, found.start()) + 1
            if len(hits) > most:
                return None
        hits.sort()
        return hits


class Pattern:
    """A pattern as it decides on text: by google-re2, on bytes, for on text its wrapper counts characters at length."""

    def __init__(self, pattern: str) -> None:
        self._compiled = re2.compile(pattern.encode())
        self._names = [(name.decode(), index) for name, index in self._compiled.groupindex.items()]
        self._needs = [[text.encode() for text in choice] for choice in needs(pattern)]

    def search(self, raw: bytes) -> Match | None:
        """The first match in `raw`, which is valid UTF-8."""
        for choice in self._needs:  # a look for literals is quick, and most of what a trigger proposes fails here
            for text in choice:
                if text in raw:
                    break
            else:
                return None
        found = self._compiled.search(raw)
        if not found:
            return None
        texts = [(name, found[index]) for name, index in self._names]
        start, end = found.span()
        if not raw.isascii():
            start, end = len(raw[:start].decode()), len(raw[:end].decode())
        return Match(start, end, {name: text.decode() for name, text in texts if text is not None})


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> Pattern:
    """The pattern as it decides on text."""
    return Pattern(pattern)


def _best_engine(expressions: Sequence[str]) -> Engine:
    """Hyperscan where it is there and takes all of the expressions; a site's own may be too much for it."""
    try:
        return Hyperscan(expressions) if hyperscan else Re2(expressions)
    except hyperscan.error:
        return Re2(expressions)


class Scanner:
    """The signatures, compiled once; finds their lines in pages.

    Which words are rare depends on the logs. A trigger that was found in vain again and again makes way for its
    pattern, which is slower to search and always right.
    """

    def __init__(
        self, signatures: Sequence[Signature], engine: Callable[[Sequence[str]], Engine] | None = None
    ) -> None:
        self._signatures = tuple(signatures)
        self._make = engine or _best_engine
        self._vain = Counter[int]()
        self._compile()

    def _compile(self) -> None:
        vain = {number for number, count in self._vain.items() if count > PATIENCE}
        found = triggers([signature.pattern for signature in self._signatures], vain)
        self._numbers = [trigger.patterns for trigger in found]
        without = {number for number, known in enumerate(self._signatures) if not literals(known.pattern)}
        self._whole = vain | without
        self._engine = self._make([trigger.expression for trigger in found]) if found else None
        self._is_impatient = False

    def candidates(self, page: Page, storms: Storms) -> Iterator[Candidate]:
        """The lines of `page` on which signatures match; a progress bar's states each for themselves.

        They are in order. A state that is drawn again and again counts once, and lines that are alike go to `storms`.
        """
        if self._is_impatient:
            self._compile()
        if not self._engine:
            return
        hits = self._engine.find(page.data, len(page.data) // _DENSE_BYTES)
        if hits is not None:
            yield from self._decided(page, hits, storms)
        else:
            yield from self._dense(page, storms)

    def _dense(self, page: Page, storms: Storms) -> Iterator[Candidate]:
        """The same for a page of many hits: lines that are known, or alike, are put aside before the search."""
        lines = page.data.split(b"\n")
        said = alike(page.data).split(b"\n")
        fresh, again, met = list[int](), list[int](), set[bytes]()
        for number, (line, text) in enumerate(zip(lines, said, strict=True)):
            if line != text and storms.again(text, page.first_line + number, line):
                continue
            is_foldable = _is_foldable(line, text)
            (again if is_foldable and text in met else fresh).append(number)
            if is_foldable:
                met.add(text)
        found = list(self._on_lines(page, lines, fresh, storms))
        singles = {candidate.said for candidate in found if candidate.is_single}
        alone = [number for number in again if said[number] in singles or storms.is_single(said[number])]
        found += self._on_lines(page, lines, alone, storms)
        yield from sorted(found, key=lambda candidate: candidate.place)
        left = [number for number in again if not storms.again(said[number], page.first_line + number, lines[number])]
        yield from self._on_lines(page, lines, [number for number in left if storms.is_single(said[number])], storms)

    def _on_lines(
        self, page: Page, lines: Sequence[bytes], chosen: Sequence[int], storms: Storms
    ) -> Iterator[Candidate]:
        """The candidates on some lines of a page."""
        if not chosen or not self._engine:
            return
        begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
        text = b"\n".join(lines[number] for number in chosen)
        places = list(accumulate((len(lines[number]) + 1 for number in chosen), initial=0))
        hits = self._engine.find(text, sys.maxsize) or []
        for index, hit in enumerate(hits):
            line = bisect_right(places, hit >> _NUMBER_BITS) - 1
            hits[index] = hit + ((begins[chosen[line]] - places[line]) << _NUMBER_BITS)
        yield from self._decided(page, hits, storms)

    def _decided(self, page: Page, hits: Sequence[int], storms: Storms) -> Iterator[Candidate]:
        last: tuple[int, str, list[int]] | None = None
        for (start, end, low), numbers in self._proposed(page.data, hits):
            said = _said(page.data, start, end)
            if said and storms.again(said, page.line_at(start), page.data[start:end]):
                continue
            text = decoded(_cut(page.data, start, end, low))
            last, before = (page.line_at(start), text, numbers), last
            if last == before:
                continue
            if matches := self._matches(text, numbers):
                yield Candidate(last[0], text, start, matches, said)

    def _matches(self, text: str, numbers: Sequence[int]) -> tuple[tuple[Signature, Match], ...]:
        raw = text.encode()
        named = (self._signatures[number] for number in numbers)
        matches = tuple((signature, found) for signature in named if (found := compiled(signature.pattern).search(raw)))
        if not matches:
            self._vain.update(number for number in numbers if number not in self._whole)
            self._is_impatient = self._is_impatient or any(self._vain[number] == PATIENCE + 1 for number in numbers)
        return matches

    def _proposed(self, data: bytes, hits: Sequence[int]) -> Iterator[tuple[tuple[int, int, int], list[int]]]:
        """The texts to look at, as (begin, end, begin of the part around the hit), and the numbers of signatures."""
        start = end = -1
        windows: dict[int, set[int]] = {}
        for hit in hits:
            place = hit >> _NUMBER_BITS
            if not start <= place <= end:
                yield from _in_order(start, end, windows)
                start, end = _text_bounds(data, place)
                windows = {}
            windows.setdefault(_low(start, end, place), set()).update(self._numbers[hit & _NUMBER])
        yield from _in_order(start, end, windows)


def _in_order(start: int, end: int, windows: dict[int, set[int]]) -> Iterator[tuple[tuple[int, int, int], list[int]]]:
    return (((start, end, low), sorted(numbers)) for low, numbers in sorted(windows.items()))


def _said(data: bytes, start: int, end: int) -> bytes | None:
    """What a whole line says, see `alike`, if such lines may be folded; a state of a progress bar is no line."""
    if end - start > HEAD_BYTES or data[start - 1 : start] not in {b"", b"\n"} or data[end : end + 1] == b"\r":
        return None
    line = data[start:end]
    said = alike(line)
    return said if _is_foldable(line, said) else None


def _is_foldable(line: bytes, said: bytes) -> bool:
    """Whether the line has a clock, is of ordinary length, and is one text."""
    return line != said and len(line) <= HEAD_BYTES and b"\r" not in line


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
