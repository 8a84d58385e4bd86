"""Files that commands write: our own are replaced, those of others never; none is ever seen half-written."""

import os
import tempfile
from pathlib import Path

from incidentlab.errors import UsageError

REPORT_MARK = b'<meta name="generator" content="incidentlab'
"""Stands in the first bytes of every report."""

_HEAD_BYTES = 4_096


def claim_report(path: Path, *, force: bool = False) -> None:
    """Raise `UsageError` if a report cannot or must not be written to `path`: before the work, not after it."""
    _claim_folder(path)
    if path.exists() and not force and not _is_report(path):
        raise UsageError("is not a report of incidentlab; choose another -o, or replace it with --force", str(path))


def claim_warehouse(path: Path) -> None:
    """Raise `UsageError` if no file can be written to `path`."""
    _claim_folder(path)


def _claim_folder(path: Path) -> None:
    if path.is_dir():
        raise UsageError("is a folder; name a file", str(path))
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", str(path))
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the folder {path.parent} is not writable", str(path))


def _is_report(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return REPORT_MARK in file.read(_HEAD_BYTES)


def publish(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it over `path`."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        fresh = Path(folder) / path.name
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
