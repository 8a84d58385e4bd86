"""Tables that Slurm's commands print: a header, then rows whose cells may hold the delimiter or line ends, unescaped.

A row that does not fit its header is mended if there is a way to read it: lines are joined until all columns are
there, and surplus parts go to a free-text column if every other column then reads as what it is. What cannot be
mended is reported line by line.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

from incidentlab.parsers import Unparsed

MAX_LINES = 100
"""A record over more lines is given up: something else is wrong."""

MAX_RECORD_CHARS = 1_000_000
"""The same for its size; each line that is joined is read anew with all before it."""

MAX_COLUMNS = 250
"""A line of more names is no header; sacct knows about 120 columns."""

MAX_SURPLUS = 32
"""A row with more surplus parts than this is given up; mending is a search."""

MAX_TRIES = 5_000
"""How many ways to join a row's parts are tried: the widest real table with a few surplus parts takes a thousand."""

MAX_REMEMBERED = 4_096
"""How many cells of a column are remembered with what they say, before all are forgotten."""

MAX_REMEMBERED_CHARS = 200
"""A longer cell is read each time: a hostile table cannot fill the memory."""

Readers = Mapping[str, Callable[[str], Any]]
"""How the cells of typed columns are read (lower-case column name to reader that raises `ValueError`)."""

_FIRST_NAME = re.compile(r"[A-Za-z]\w*(?P<delimiter>[^\w\s]+|\t)")
_DASHES = re.compile(r"-+(?: +-+)+ *")


@dataclass(frozen=True, slots=True)
class Grammar:
    """What is known of a table's columns, by lower-case name; one that is neither typed nor free holds one word."""

    readers: Readers
    free: frozenset[str]

    def read(self, column: str, cell: str) -> Any:
        """The cell's value; `ValueError` if its type refuses it."""
        reader = self.readers.get(column, str)
        try:
            return reader(cell.strip())
        except ValueError as error:
            raise ValueError(f"{column}: {error}") from error

    def can_hold(self, column: str, cell: str) -> bool:
        """True if the cell is as one expects it in the column, which decides where surplus parts go."""
        if column not in self.readers:
            return column in self.free or len(cell.split()) <= 1
        try:
            self.read(column, cell)
        except ValueError:
            return False
        return True


class _Column(dict[str, Any]):
    """One column's cells and what they say: a table repeats many of them, and looking up is quicker."""

    def __init__(self, grammar: Grammar, name: str) -> None:
        super().__init__()
        self._grammar = grammar
        self._name = name

    def __missing__(self, cell: str) -> Any:
        value = self._grammar.read(self._name, cell)
        if len(cell) <= MAX_REMEMBERED_CHARS:
            if len(self) >= MAX_REMEMBERED:
                self.clear()
            self[cell] = value
        return value


@dataclass(frozen=True, slots=True)
class Delimited:
    """A table whose cells are joined by `delimiter`."""

    grammar: Grammar
    columns: tuple[str, ...]
    delimiter: str
    is_closed: bool
    """True if every row ends in a delimiter."""
    known: tuple[_Column, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known = tuple(_Column(self.grammar, column) for column in self.columns)
        object.__setattr__(self, "known", known)  # what is remembered is no part of a table that never changes

    def read(self, text: str) -> dict[str, Any]:
        """One record (of one or more lines) as column to value; `ValueError` says what does not fit."""
        parts = text.split(self.delimiter)
        if self.is_closed and not parts[-1].strip():
            parts.pop()
        surplus = len(parts) - len(self.columns)
        if not 0 <= surplus <= MAX_SURPLUS:
            raise ValueError(f"{len(parts)} cells for {len(self.columns)} columns")
        return self._fit(self._mend(parts) if surplus else parts)

    def begins(self, text: str) -> bool:
        """True if the line, whole or cut, begins as only a record does: its first column has a type and holds it."""
        first = self.columns[0]
        return first in self.grammar.readers and self.grammar.can_hold(first, text.partition(self.delimiter)[0])

    def continues(self, text: str) -> bool:
        """True if the line can only belong to the free text that ends the record before it."""
        if self.columns[-1] not in self.grammar.free:
            return False
        return self.delimiter not in text or self.columns[0] in self.grammar.readers

    def _fit(self, cells: Sequence[str]) -> dict[str, Any]:
        read = [known[cell] for known, cell in zip(self.known, cells, strict=True)]
        return dict(zip(self.columns, read, strict=True))

    def _mend(self, parts: list[str]) -> tuple[str, ...]:
        """The cells if surplus parts go to free-text columns, the last ones first, so that all others can be read."""
        tries = count()

        @cache
        def cells(place: int, start: int) -> tuple[str, ...] | None:
            if place == len(self.columns):
                return () if start == len(parts) else None
            column = self.columns[place]
            most = len(parts) - start - (len(self.columns) - place - 1)
            for taken in range(1, (most if column in self.grammar.free else 1) + 1):
                if next(tries) == MAX_TRIES:
                    raise ValueError(
                        f"{len(parts)} cells for {len(self.columns)} columns, and too many ways to join them"
                    )
                cell = self.delimiter.join(parts[start : start + taken])
                rest = cells(place + 1, start + taken) if self.grammar.can_hold(column, cell) else None
                if rest is not None:
                    return (cell, *rest)
            return None

        found = cells(0, 0)
        if found is None:
            raise ValueError(f"{len(parts)} cells for {len(self.columns)} columns, and no way to join them")
        return found


@dataclass(frozen=True, slots=True)
class FixedWidth:
    """A table with a line of dashes (or a header) that shows where each column begins and ends."""

    grammar: Grammar
    columns: tuple[str, ...]
    spans: tuple[tuple[int, int | None], ...]

    def read(self, text: str) -> dict[str, Any]:
        """One line as column to value; `ValueError` says what does not fit. A cell that was cut is None."""
        values = {}
        padded = text.encode("utf-8", "replace")  # Slurm pads by bytes, not by characters
        for column, (start, end) in zip(self.columns, self.spans, strict=True):
            cell = padded[start:end].decode("utf-8", "replace").strip()
            is_cut = end is not None and cell.endswith("+") and len(cell) == end - start
            values[column] = (
                None if is_cut and not self.grammar.can_hold(column, cell) else self.grammar.read(column, cell)
            )
        return values

    def begins(self, _text: str) -> bool:
        """True: a line is a record."""
        return True

    def continues(self, _text: str) -> bool:
        """False: a line is a record."""
        return False


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table: its first line, how many lines it takes, and its values by column."""

    line_no: int
    line_count: int
    values: dict[str, Any]


@dataclass(slots=True)
class _Pending:
    """The lines of a record that may not be complete yet."""

    table: Delimited | FixedWidth
    line_no: int
    lines: list[str] = field(default_factory=list)
    values: dict[str, Any] | None = None
    trouble: str = ""

    def add(self, line: str) -> None:
        self.lines.append(line)
        try:
            self.values = self.table.read("\n".join(self.lines))
        except ValueError as error:
            self.values, self.trouble = None, str(error)

    def wants(self, line: str) -> bool:
        """True if the line, which is no record by itself, may be the next of this one."""
        is_full = len(self.lines) >= MAX_LINES or sum(map(len, self.lines)) > MAX_RECORD_CHARS
        if is_full or self.table.begins(line):
            return False
        return self.values is None or self.table.continues(line)

    def results(self) -> Iterator[Record | Unparsed]:
        if self.values is not None:
            yield Record(self.line_no, len(self.lines), self.values)
        elif "".join(self.lines).strip():
            yield from (Unparsed(self.line_no + place, self.trouble) for place in range(len(self.lines)))


def delimited(header: str, grammar: Grammar) -> Delimited | None:
    """The table that the line would head: names, joined by what follows the first of them."""
    match = _FIRST_NAME.match(header)
    if not match:
        return None
    names = [name.strip().lower() for name in header.strip().split(match["delimiter"])]
    is_closed = not names[-1]
    columns = tuple(names[:-1] if is_closed else names)
    is_header = all(columns) and len(columns) <= MAX_COLUMNS
    return Delimited(grammar, columns, match["delimiter"], is_closed) if is_header else None


def dashed(header: str, dashes: str, grammar: Grammar) -> FixedWidth | None:
    """The table of fixed columns that a header and its line of dashes open."""
    if not _DASHES.fullmatch(dashes):
        return None
    spans = tuple(match.span() for match in re.finditer("-+", dashes))
    return FixedWidth(grammar, tuple(header[start:end].strip().lower() for start, end in spans), spans)


def records(
    lines: Iterable[tuple[int, str]], head: Callable[[str, str], Delimited | FixedWidth | None]
) -> Iterator[Record | Unparsed]:
    """The records of a text with one or more tables; `head` gets each line and the one before it, and knows headers."""
    table: Delimited | FixedWidth | None = None
    pending: _Pending | None = None
    before = ""
    for line_no, line in lines:
        opened = head(line, before)
        if opened:
            yield from _finish(pending, is_header=isinstance(opened, FixedWidth))
            table, pending = opened, None
        elif table:
            candidate = _Pending(table, line_no)
            candidate.add(line)
            if candidate.values is None and pending and pending.wants(line):
                pending.add(line)
            else:
                yield from _finish(pending)
                pending = candidate
        before = line
    yield from _finish(pending)


def _finish(pending: _Pending | None, *, is_header: bool = False) -> Iterator[Record | Unparsed]:
    if pending and not is_header:
        yield from pending.results()
