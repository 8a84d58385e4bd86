"""The real logs beside the checkout: folders of them as warehouses, and the truth files that stand with them.

Nothing of them is part of the project; where they are absent, the tests that need them are skipped.
"""

import atexit
import csv
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from incidentlab import pipeline, warehouse
from incidentlab.configuration import load_site
from incidentlab.terminal import Talk

CORPUS = Path(__file__).parents[1].parent / "shared" / "corpus"
"""Where the real logs lie, if they are here."""

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the real logs are not here (../shared/corpus)")
"""Marks tests that read them."""

_NOTES = {"README.md", "SOURCE.md", "truth.csv", "runs.csv"}
_folder = tempfile.TemporaryDirectory(prefix="incidentlab-corpus-")
atexit.register(_folder.cleanup)


def truth(path: str) -> list[dict[str, str]]:
    """The rows of a truth file; none where it is absent."""
    if not (CORPUS / path).is_file():
        return []
    with (CORPUS / path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def logs(place: str) -> list[Path]:
    """The files of a folder, or the one file, without the notes and scripts about them."""
    root = CORPUS / place
    files = [root] if root.is_file() else root.rglob("*")
    return sorted(path for path in files if path.is_file() and path.name not in _NOTES and "scripts" not in path.parts)


@cache
def opened(*places: str, timezone: str | None = None) -> duckdb.DuckDBPyConnection:
    """The warehouse of these places, made once a session."""
    target = Path(tempfile.mkdtemp(dir=_folder.name)) / "w.duckdb"
    pipeline.make_warehouse(
        [str(path) for place in places for path in logs(place)],
        target,
        load_site(timezone=timezone),
        jobs=1,
        talk=Talk(verbosity=-1, shows_progress=False),
    )
    return warehouse.open_readonly(target)


def rows(statement: str, *places: str, timezone: str | None = None) -> list[tuple[Any, ...]]:
    """What a statement selects from the warehouse of these places."""
    return opened(*places, timezone=timezone).cursor().execute(statement).fetchall()
