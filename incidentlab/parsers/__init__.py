"""Structured sources: texts with columns or fields, read whole instead of searched line by line.

One file here is one parser (its `PARSER`), found by walking the package. It turns numbered lines into rows of the
intake tables; `source_id`, `event_id` and `record_id` are added by whoever stores them. A line that should have been
understood and was not becomes an `Unparsed`, so that the lines of a source still add up.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from incidentlab.model import Row

HEAD_BYTES = 65_536
"""How much of a source's decompressed content `recognise` gets to see."""


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A line (counted from 1) that should have been understood, and why it was not."""

    line_no: int
    reason: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A text as it stands in a file, and what it must become; a row may name just some of its values."""

    text: str
    rows: tuple[Row | Unparsed, ...]


Lines = Iterable[tuple[int, str]]
"""Decoded lines without their ends, each with its number in the file, counted from 1."""


@dataclass(frozen=True, slots=True)
class Parser:
    """One structured format: its name, the channel it is evidence of, how it is known, and how it is read."""

    name: str
    channel: str
    recognise: Callable[[bytes], bool]
    parse: Callable[[Lines], Iterator[Row | Unparsed]]
    samples: tuple[Sample, ...]


def as_json(fields: dict[str, Any]) -> str:
    """The text of column `fields`, the same for the same fields."""
    return json.dumps(fields, sort_keys=True, ensure_ascii=False)


@cache
def load_parsers() -> tuple[Parser, ...]:
    """Every parser of this package, by name."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return tuple(sorted((module.PARSER for module in modules if hasattr(module, "PARSER")), key=lambda p: p.name))


def recognise(head: bytes) -> Parser | None:
    """The parser that knows content beginning with `head`, or None."""
    return next((parser for parser in load_parsers() if parser.recognise(head)), None)
