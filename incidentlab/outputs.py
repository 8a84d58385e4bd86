"""Files that commands write: our own are replaced, those of others never; none is ever seen half-written."""

import tempfile
from pathlib import Path

from incidentlab.errors import UsageError
from incidentlab.model import REPORT_MARK

_HEAD_BYTES = 4_096


def claim_report(path: Path, warehouse_path: Path, *, force: bool = False) -> None:
    """Raise `UsageError` if a report cannot or must not be written to `path`: before the work, not after it."""
    claim_file(path)
    if path.resolve() == warehouse_path.resolve():
        raise UsageError("cannot be both the warehouse (-d) and the report (-o); choose another -o", str(path))
    if path.exists() and not force and not _is_report(path):
        raise UsageError("is not a report of incidentlab; choose another -o, or replace it with --force", str(path))


def claim_file(path: Path) -> None:
    """Raise `UsageError` if no file can be made at `path`; tried out, for rights alone do not tell."""
    try:
        if path.is_dir():
            raise UsageError("is a folder; name a file", str(path))
        if path.exists() and not path.is_file():
            raise UsageError("is a device, pipe or socket; name a file", str(path))
        if not path.parent.is_dir():
            raise UsageError(f"there is no folder {path.parent}", str(path))
        tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent).cleanup()
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror}); choose another place or name", str(path)) from error


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
