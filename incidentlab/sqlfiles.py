"""One SQL file: its contract (the comments in its head) and its one statement.

-- title: Lost time by cause                    a question (queries/)
-- asks: which causes cost most GPU time?
-- param since timestamptz = null: start of the period
-- column cause varchar: component the time is charged to

-- table: one row per recognised log record     a derived table (queries/derive/)
-- macro: lower 95 % limit of a Poisson mean    a stored macro (queries/macros/)
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from incidentlab.errors import DefinitionError
from incidentlab.model import Column

_ENTRY = re.compile(r"--\s*(?P<key>title|asks|table|macro|param|column):?\s+(?P<text>.*\S)")
_PARAM = re.compile(r"(?P<name>\w+)\s+(?P<type>[\w()\[\], ]+?)(?:\s*=\s*(?P<default>[^:]+?))?\s*:\s+(?P<doc>.+)")
_COLUMN = re.compile(r"(?P<name>\w+)\s+(?P<type>[\w()\[\]]+):\s+(?P<doc>.+)")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: name, type, default as SQL text, and what it means."""

    name: str
    type: str
    default: str
    doc: str


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A file of `queries/`: `purpose` is the text after title:, table: or macro:."""

    name: str
    path: Path
    purpose: str
    asks: str
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    body: str


@dataclass(slots=True)
class _Head:
    purpose: str = ""
    asks: str = ""
    params: list[Param] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)

    def add(self, key: str, text: str) -> bool:
        """Take one entry; false if it does not read as the contract says."""
        if key == "param":
            match = _PARAM.fullmatch(text)
            if match:
                default = match["default"] or "null"
                self.params.append(Param(match["name"], match["type"].strip(), default, match["doc"]))
            return bool(match)
        if key == "column":
            match = _COLUMN.fullmatch(text)
            if match:
                self.columns.append(Column(match["name"], match["type"].upper(), match["doc"]))
            return bool(match)
        if key == "asks":
            self.asks = text
        else:
            self.purpose = text
        return True


def read(path: Path) -> SqlFile:
    """The file's contract and statement; `DefinitionError` names the line that breaks the form."""
    head = _Head()
    lines = path.read_text(encoding="utf-8").splitlines()
    start = 0
    for start, line in enumerate(lines):
        if not line.startswith("--"):
            break
        entry = _ENTRY.match(line)
        if entry and not head.add(entry["key"], entry["text"]):
            raise DefinitionError(f"cannot read this {entry['key']}: {entry['text']}", f"{path.name}:{start + 1}")
    body = "\n".join(lines[start:]).strip().rstrip(";")
    if not head.purpose or not body:
        raise DefinitionError("a head with title:, table: or macro: and one statement are needed", path.name)
    return SqlFile(path.stem, path, head.purpose, head.asks, tuple(head.params), tuple(head.columns), body)


def read_folder(folder: Path) -> dict[str, SqlFile]:
    """Every SQL file of a folder by name, in alphabetical order."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.sql"))}


def reads(body: str, names: set[str]) -> set[str]:
    """Those of `names` that the statement reads: they follow FROM or JOIN, or a comma in a FROM list."""
    return names.intersection(re.findall(r"(?:\bfrom|\bjoin|,)\s+(?:main\.)?(\w+)", _code(body), flags=re.IGNORECASE))


def calls(body: str, names: set[str]) -> set[str]:
    """Those of `names` that the statement calls."""
    return names.intersection(re.findall(r"\b(\w+)\(", _code(body)))


def _code(body: str) -> str:
    """The statement without comments and strings."""
    return re.sub(r"--[^\n]*|'(?:[^']|'')*'", " ", body)
