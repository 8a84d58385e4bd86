"""The account of a source's lines: each of them is matched, unparsed or unmatched, and counted once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from incidentlab.model import Row
from incidentlab.parsers import Unparsed

_IDENTITIES = {"events": ("signature", "node"), "progress": ("kind", "step", "loss", "step_time_s", "local_ts")}
"""What makes a second row of one line another one; parts of a line without an end overlap."""

OPEN_LINES = 20_000
"""So many lines may be open at a time, where nobody says when a page is done."""


@dataclass(slots=True)
class Tally:
    """Takes rows, in about the order of their lines, and hands them to `emit`.

    Lines before the first lead in: their rows are another range's, which counts the lines up to its own last one.
    """

    emit: Callable[[Row], None]
    matched: int = 0
    unparsed: int = 0
    _covered: set[int] = field(default_factory=set)
    _failed: set[int] = field(default_factory=set)
    _line_no: int = 0
    _seen: set[tuple[Any, ...]] = field(default_factory=set)

    def row(self, row: Row) -> None:
        """A row that was made; one that says again what another of its line says is a repetition of that."""
        line_no = row.values["line_no"]
        if line_no != self._line_no:
            self._line_no = line_no
            self._seen.clear()
        if row.table in _IDENTITIES:
            identity = tuple(map(row.values.get, _IDENTITIES[row.table]))
            if identity in self._seen:
                return
            self._seen.add(identity)
        lines = range(line_no, line_no + (row.values.get("line_count") or 1))
        self._covered.update(lines)
        if line_no > 0:
            self.emit(row)

    def repeated(self, line_nos: Iterable[int]) -> None:
        """Lines that a row stands for which is still to come."""
        self._covered.update(line_nos)

    def failed(self, unparsed: Unparsed) -> None:
        """A line that should have been understood."""
        self._failed.add(unparsed.line_no)

    def done(self, until: int) -> None:
        """Count the lines up to this one: no row that is still to come covers them."""
        covered, failed = ({line for line in lines if line <= until} for lines in (self._covered, self._failed))
        self._covered -= covered
        self._failed -= failed
        self.matched += sum(line > 0 for line in covered)
        self.unparsed += len(failed - covered)

    def settle(self, line_no: int) -> None:
        """The same before `line_no`, when enough lines are open that it pays."""
        if len(self._covered) + len(self._failed) > OPEN_LINES:
            self.done(line_no - 1)

    def taken(self) -> tuple[int, int]:
        """How many lines matched, and how many could not be parsed, since this was asked last."""
        counts = self.matched, self.unparsed
        self.matched = self.unparsed = 0
        return counts
