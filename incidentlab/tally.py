"""The account of a source's lines: each of them is matched, unparsed or unmatched, and counted once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from incidentlab.model import Row
from incidentlab.parsers import Unparsed


@dataclass(slots=True)
class Tally:
    """The account of a source's lines: each is matched, unparsed or unmatched, and counted once.

    Lines before the first lead in: what is found on them goes to whoever reads them, and is not counted here.
    """

    emit: Callable[[Row], None]
    matched: int = 0
    unparsed: int = 0
    _until: int = 0
    _line_no: int = 0
    _seen: set[tuple[Any, ...]] = field(default_factory=set)

    def row(self, row: Row) -> None:
        """A row that was made; the second of one signature and node on one line is a repetition of the first."""
        line_no = row.values["line_no"]
        if line_no != self._line_no:
            self._line_no = line_no
            self._seen.clear()
        if row.table == "events":
            identity = (row.values.get("signature"), row.values.get("node"))
            if identity in self._seen:
                return
            self._seen.add(identity)
        fresh = self._advance(line_no, row.values.get("line_count") or 1)
        if line_no > 0:
            self.matched += fresh
            self.emit(row)

    def failed(self, unparsed: Unparsed) -> None:
        """A line that should have been understood."""
        self.unparsed += self._advance(unparsed.line_no, 1)

    def taken(self) -> tuple[int, int]:
        """How many lines matched, and how many could not be parsed, since this was asked last."""
        counts = self.matched, self.unparsed
        self.matched = self.unparsed = 0
        return counts

    def _advance(self, line_no: int, count: int) -> int:
        """How many of these lines were not accounted for yet."""
        fresh = max(line_no + count - 1 - max(self._until, line_no - 1), 0)
        self._until = max(self._until, line_no + count - 1)
        return fresh
