"""The account of a source's lines: each of them is matched, unparsed or unmatched, and counted once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from incidentlab.model import Row
from incidentlab.pages import Page
from incidentlab.parsers import Unparsed

LINE_COLUMNS = ("lines", "matched_lines", "unmatched_lines", "unparsed_lines")


@dataclass(slots=True)
class Tally:
    """The account of a source's lines: each is matched, unparsed or unmatched, and counted once."""

    emit: Callable[[Row], None]
    lines: int = 0
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
        self.matched += self._advance(line_no, row.values.get("line_count") or 1)
        self.emit(row)

    def failed(self, unparsed: Unparsed) -> None:
        """A line that should have been understood."""
        self.unparsed += self._advance(unparsed.line_no, 1)

    def page(self, page: Page) -> None:
        """A page that was read."""
        self.lines = page.last_line

    def _advance(self, line_no: int, count: int) -> int:
        """How many of these lines were not accounted for yet."""
        fresh = max(line_no + count - 1 - max(self._until, line_no - 1), 0)
        self._until = max(self._until, line_no + count - 1)
        return fresh

    @property
    def columns(self) -> dict[str, int]:
        """The line columns of `sources`; they add up."""
        unmatched = self.lines - self.matched - self.unparsed
        return dict(zip(LINE_COLUMNS, (self.lines, self.matched, unmatched, self.unparsed), strict=True))
