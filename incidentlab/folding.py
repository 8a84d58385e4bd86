"""Storms: lines that say the same again and again are folded on the way in, and counted.

Lines are the same if they were written within the same ten minutes of one day, by the clock at their beginning, and
differ in nothing but this clock, and the kernel's own behind it. A line without a date is like no other: nobody could
say when it was written. The first few of a kind stand for themselves, the last for all others, so these keep their
times. Whoever folds may do so in parts: folding the folded gives the same.
"""

import re
from dataclasses import dataclass
from typing import Any

MOST_KEPT = 4
"""So many lines of a kind stand for themselves, so that a few ranks that say the same are no storm."""

MOST_KINDS = 32_000
"""So many kinds of lines are known at a time; then those are told, and it begins anew."""

MOST_BYTES = 8 << 20
"""The same for how long these lines are together."""

# Mar  5 14:03:22 gpu0412 kernel: [412345.678901] NVRM: ...   2026-03-05T14:03:22.123456+01:00 gpu0412 kernel: NVRM: ...
# [Thu Mar  5 14:03:22 2026] NVRM: ...   [2026-03-05T14:03:22.123] error: ...   <4>Mar  5 14:03:22 gpu0412 kernel: ...
_CLOCK = re.compile(
    rb"(\n(?:<\d{1,3}>)?\[?(?:(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]?\d |\d{4}[-/]\d\d[-/]\d\d[T _])[0-2]\d:[0-5])"
    rb"\d:[0-5]\d(?:[.,]\d{1,9})?(?!\d)(\S* \S+ kernel: )?(?:\[ *\d{1,12}\.\d{6}\])?"
)


def alike(lines: bytes) -> bytes:
    """The lines, their clocks cut to tens of minutes; one that has none stays as it is, and is like no other."""
    # What the pattern captures is kept, as `sub` would, but without a call of Python's for each line.
    return b"".join(filter(None, _CLOCK.split(b"\n" + lines)))[1:]


@dataclass(slots=True)
class Kind:
    """What the first of some lines that are alike became, how many were seen, and the last of them."""

    rows: Any
    seen: int = 1
    line_no: int = 0
    line: bytes = b""

    @property
    def others(self) -> int:
        """How many lines the last one stands for."""
        return max(self.seen - MOST_KEPT, 0)


class Storms:
    """The kinds of lines that are known, by what they say.

    `covered` are the numbers of lines that were put aside; `kept` are those of them that stand for themselves.
    """

    def __init__(self) -> None:
        self._kinds: dict[bytes, Kind] = {}
        self._singles: set[bytes] = set()
        self._bytes = 0
        self.covered: list[int] = []
        self.kept: list[tuple[int, bytes, Kind]] = []

    @property
    def is_full(self) -> bool:
        """Whether it is time to tell."""
        return len(self._kinds) + len(self._singles) >= MOST_KINDS or self._bytes >= MOST_BYTES

    def is_single(self, said: bytes) -> bool:
        """Whether lines that say this must be looked at one by one."""
        return said in self._singles

    def add(self, said: bytes, rows: Any) -> None:
        """The first line that says this became `rows`."""
        self._kinds[said] = Kind(rows)
        self._bytes += len(said)

    def add_single(self, said: bytes) -> None:
        """Lines that say this depend on more than what they say."""
        self._singles.add(said)
        self._bytes += len(said)

    def again(self, said: bytes, line_no: int, line: bytes) -> bool:
        """Put one more line of a kind aside; False if no line that says this became anything."""
        kind = self._kinds.get(said)
        if kind is None:
            return False
        self.covered.append(line_no)
        kind.seen += 1
        if kind.seen <= MOST_KEPT:
            self.kept.append((line_no, line, kind))
        else:
            kind.line_no, kind.line = line_no, line
        return True

    def put_aside(self) -> tuple[list[int], list[tuple[int, bytes, Kind]]]:
        """`covered` and `kept` since this was asked last."""
        aside = self.covered, self.kept
        self.covered, self.kept = [], []
        return aside

    def told(self) -> list[Kind]:
        """The kinds whose last line stands for others; all are forgotten."""
        kinds = [kind for kind in self._kinds.values() if kind.others]
        self._kinds = {}
        self._singles = set()
        self._bytes = 0
        return kinds
