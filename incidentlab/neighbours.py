"""Stamps for lines that have none, lent by the lines around them.

NCCL's INFO lines, tracebacks and the tables of torchrun carry no time. Each takes that of the nearest stamped line
before it, or else after it; how far apart those two are is how uncertain it is. Lines of the same page and of the pages
next to it are looked at; further back, only the ends of pages are.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from msgspec.structs import replace

from incidentlab.model import PLACEHOLDER_YEAR, Stamp
from incidentlab.pages import Page, decoded

MOST_PAGES = 256
"""How many pages back a stamp may lie: beyond that it says nothing about when a line was written."""

MOST_END_LINES = 64
"""How many lines at the end of a page are looked at."""

END_BYTES = 16 << 10
"""The same for their size."""

_STAMPISH = re.compile(rb"\d\d:\d\d|\[ *\d+\.\d{6}|^\d{9,10}\.\d|^\d+,\d+,\d+,")
_LOOK_AT = 400


class Neighbours:
    """Lends stamps within one source; asked for places in ascending order, it looks at each line at most once a way.

    `read` gives the stamp of a line's text, or None. `earlier` gives the texts of the pages before the first one that
    is seen here, nearest first.
    """

    def __init__(self, read: Callable[[str], Stamp | None], earlier: Iterable[bytes]) -> None:
        self._read = read
        self._earlier = iter(earlier)
        self._seen_until = 0
        self._last: Stamp | None = None
        self._last_at = 0
        self._next_at = -1
        self._next: Stamp | None = None
        self._ends = deque[bytes | Stamp](maxlen=MOST_PAGES)  # of the pages before this one, nearest first

    def note(self, place: int, stamp: Stamp) -> None:
        """The line at `place` (offset in the whole text) has a stamp of its own."""
        self._seen_until = self._last_at = place
        self._last = stamp

    def end(self, page: Page) -> None:
        """`page` is done: its end is kept for later pages, and only looked at when one of them asks."""
        self._ends.appendleft(_end_of(page.data))

    def lend(self, page: Page, place: int) -> Stamp | None:
        """A stamp for the line that begins at `place` of `page`, or None if no line nearby has one.

        Its uncertainty is the time between the stamps around the line; NULL if only one side has one.
        """
        before, after = self._before(page, place), self._after(page, place)
        lender = before or after
        if lender is None:
            return None
        return replace(lender, uncertainty_s=_apart(before, after) if before and after else None)

    def _before(self, page: Page, place: int) -> Stamp | None:
        for offset, line in page.lines_before(place, self._seen_until):
            if stamp := self._stamp(line):
                self._last, self._last_at = stamp, offset
                break
        self._seen_until = page.offset + place
        is_near = self._last and self._last_at >= page.offset - len(page.before)
        return self._last if is_near else self._from_afar()

    def _from_afar(self) -> Stamp | None:
        """The stamp at the end of the nearest page that has one there; what was looked at in vain is emptied."""
        for place, end in enumerate(self._ends):
            if end:
                found = end if isinstance(end, Stamp) else self._at_end(end)
                self._ends[place] = found or b""
                if found:
                    return found
        while len(self._ends) < MOST_PAGES and (page := next(self._earlier, None)) is not None:
            found = self._at_end(_end_of(page))
            self._ends.append(found or b"")
            if found:
                return found
        return None

    def _at_end(self, text: bytes) -> Stamp | None:
        lines = text.rstrip(b"\n").rsplit(b"\n", MOST_END_LINES)[-MOST_END_LINES:]
        return next(filter(None, map(self._stamp, reversed(lines))), None)

    def _after(self, page: Page, place: int) -> Stamp | None:
        if self._next_at <= page.offset + place:
            self._next_at, self._next = page.offset + len(page.data), None
            for offset, line in page.lines_after(place):
                if stamp := self._stamp(line):
                    self._next_at, self._next = offset, stamp
                    break
        return self._next

    def _stamp(self, line: bytes) -> Stamp | None:
        return self._read(decoded(line[:_LOOK_AT])) if _STAMPISH.search(line, 0, _LOOK_AT) else None


def _end_of(text: bytes) -> bytes:
    """The last END_BYTES, without the line that they cut."""
    return text if len(text) <= END_BYTES else text[-END_BYTES:].partition(b"\n")[2]


def _apart(before: Stamp, after: Stamp) -> float | None:
    """Seconds between two stamps of one clock, at least their resolution."""
    if before.local_ts and after.local_ts and before.utc_offset_s == after.utc_offset_s:
        distance = _between(before.local_ts, after.local_ts, in_years=before.has_year and after.has_year)
    elif before.uptime_s is not None and after.uptime_s is not None:
        distance = abs(after.uptime_s - before.uptime_s)
    else:
        return None
    return max(distance, before.uncertainty_s or 0.0)


def _between(one: datetime, other: datetime, *, in_years: bool) -> float:
    """Seconds between two local times; where one has no year, the shorter way round the year counts."""
    if in_years:
        return abs((other - one).total_seconds())
    distance = abs((other.replace(year=PLACEHOLDER_YEAR) - one.replace(year=PLACEHOLDER_YEAR)).total_seconds())
    return min(distance, timedelta(days=366).total_seconds() - distance)
