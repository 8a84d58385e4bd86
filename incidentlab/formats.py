"""A frame as text: a table for people, and JSON, CSV, TSV, Markdown or Parquet for programs.

Whatever the format, times are RFC 3339 in UTC, what is absent is `null` (in tables a dash, in CSV nothing; never 0),
and no text from a log reaches a terminal or a spreadsheet as anything but text.
"""

import csv
import io
import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
from rich.cells import cell_len, set_cell_size

from incidentlab.errors import UsageError
from incidentlab.model import SCHEMA_VERSION
from incidentlab.neutral import neutral
from incidentlab.terminal import counted, emit

_MARKDOWN = re.compile(r"[\\`|<\[]|:(?=//)")
"""What begins code, a cell, an element or a link; behind a backslash it is itself."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_UNESCAPED_BY_JSON = re.compile(r"[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_WIDEST_CELL = 48
_NARROWEST_CUT = 12
_SENTENCES = ("why", "message", "meaning", "detail", "reason", "against", "about")
"""Columns whose cells read as sentences; where a table has several, the first of these tells most."""

_SMALLEST_SHOWN = 0.001


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: RFC 3339 for instants, null for what is no number."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | pl.Series):
        return [plain(item) for item in value]
    if isinstance(value, Decimal):
        value = float(value) if value.as_tuple().exponent else int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else _spelled(value)


def _spelled(value: Any) -> str:
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    return value.isoformat() if isinstance(value, date) else str(value)


def as_json(frame: pl.DataFrame) -> str:
    """One document: the schema version and the rows."""
    return _json({"schema_version": SCHEMA_VERSION, "rows": [plain(row) for row in frame.iter_rows(named=True)]}) + "\n"


def as_jsonl(frame: pl.DataFrame) -> str:
    """One object a line."""
    return "".join(_json(plain(row)) + "\n" for row in frame.iter_rows(named=True))


def _json(value: Any) -> str:
    """JSON without raw control or bidirectional characters: they stand in strings only, where an escape is the same."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNESCAPED_BY_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def as_csv(frame: pl.DataFrame) -> str:
    """Comma-separated, with a header; a cell that a spreadsheet would run as a formula begins with an apostrophe."""
    return _separated(frame, ",")


def as_tsv(frame: pl.DataFrame) -> str:
    """As CSV, separated by tabs."""
    return _separated(frame, "\t")


def _separated(frame: pl.DataFrame, separator: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows([_cell(value) for value in row] for row in frame.iter_rows())
    return out.getvalue()


def _cell(value: Any) -> str:
    text = _text(value)
    return "'" + text if isinstance(value, str) and text.startswith(_FORMULA_STARTS) else text


def _text(value: Any) -> str:
    """`value` in one neutral line; nothing if it is absent."""
    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, str):
        return neutral(value)
    return _json(value)


def as_markdown(frame: pl.DataFrame) -> str:
    """A table for an issue or a wiki; numbers stand to the right."""
    marks = ["---:" if kind.is_numeric() else "---" for kind in frame.dtypes]
    head, *rows = [
        [_MARKDOWN.sub(r"\\\g<0>", _shown(value)) for value in row] for row in (frame.columns, *frame.iter_rows())
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, marks, *rows))


def _shown(value: Any) -> str:
    """`value` for people: thousands separated, three decimals, a dash for what is absent."""
    if value is None:
        return "-"
    if isinstance(value, float) and math.isfinite(value):
        if 0 < abs(value) < _SMALLEST_SHOWN:
            return f"{value:.1e}"
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return _text(value) or ("-" if isinstance(value, float) else "")


def as_table(frame: pl.DataFrame, width: int | None = None) -> str:
    """Columns side by side; on a terminal of `width` cells, where they do not fit, as many as do.

    A column of sentences then stands below the rows, and the last line says what is left out.
    """
    columns = [_column(series) for series in frame]
    if width is None or sum(len(rule) + 1 for _, rule, *_ in columns) - 1 <= width:
        return "".join(f"{line}\n" for line in _side_by_side(columns))
    below = next((name for name in _SENTENCES if name in frame.columns), None)
    beside = frame.drop(below) if below else frame
    fitting = _fitting(beside, width)
    head, rule, *lines = _side_by_side(fitting)
    notes = [_note(value, width) for value in frame[below]] if below else [""] * frame.height
    body = "".join(f"{line}\n{note}" for line, note in zip(lines, notes, strict=True))
    left = beside.columns[len(fitting) :]
    missing = f"(no room for {counted(len(left), 'column')}: {', '.join(left)})\n" if left else ""
    return f"{head}\n{rule}\n{body}{missing}"


def _side_by_side(columns: Sequence[list[str]]) -> list[str]:
    return [" ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _note(value: Any, width: int) -> str:
    """A sentence below its row, set in; nothing where it is absent."""
    return textwrap.indent(textwrap.fill(_shown(value), width - 4), "    ") + "\n" if value else ""


def _column(series: pl.Series, widest: int | None = None) -> list[str]:
    """Header, rule and cells of one column, all of one width."""
    cells = [series.name, *map(_shown, series)]
    longest = max(map(cell_len, cells))
    width = min(longest, widest or longest)
    header, *body = [_sized(cell, width, right=series.dtype.is_numeric()) for cell in cells]
    return [header, "-" * width, *body]


def _sized(cell: str, width: int, *, right: bool) -> str:
    if cell_len(cell) > width:
        return set_cell_size(cell, width - 2) + ".."
    gap = " " * (width - cell_len(cell))
    return gap + cell if right else cell + gap


def _fitting(frame: pl.DataFrame, width: int) -> list[list[str]]:
    """The first columns that fit into `width` cells, at least one; long cells are cut, more so those of the last."""
    columns: list[list[str]] = []
    room = width
    for series in frame:
        is_cut = series.dtype == pl.String and room >= _NARROWEST_CUT
        column = _column(series, min(_WIDEST_CELL, room) if is_cut else _WIDEST_CELL)
        if columns and len(column[1]) > room:
            break
        columns.append(column)
        room -= len(column[1]) + 1
    return columns


def as_parquet(frame: pl.DataFrame) -> bytes:
    """The frame itself, with its types; the only format that keeps text as it was in the log."""
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


WRITERS: dict[str, Callable[[pl.DataFrame], str | bytes]] = {
    "table": as_table,
    "json": as_json,
    "jsonl": as_jsonl,
    "csv": as_csv,
    "tsv": as_tsv,
    "markdown": as_markdown,
    "parquet": as_parquet,
}


def show(frame: pl.DataFrame, name: str) -> None:
    """Write the frame to stdout in the format called `name`; a table on a terminal takes its width."""
    is_terminal = sys.stdout.isatty()
    if name == "parquet" and is_terminal:
        raise UsageError("parquet is not for a terminal; redirect it: --format parquet > rows.parquet")
    if name == "table" and is_terminal:
        emit(as_table(frame, shutil.get_terminal_size().columns))
    else:
        emit(WRITERS[name](frame))
