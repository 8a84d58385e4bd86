"""Where the unfinished warehouse is made: locks that fail, and folders that vanish."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from incidentlab.errors import WarehouseError
from incidentlab.workshop import workshop


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EBADF])
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, incidentlab: Callable, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Where nothing keeps two processes apart, nothing is made, and the way out is said."""

    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    (tmp_path / "kern.log").write_text("Mar  5 14:03:22 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, lost\n")

    outcome = incidentlab("ingest", "kern.log")

    assert outcome.code == WarehouseError.exit_code
    said = f"its file system cannot lock a folder ({os.strerror(number)}); choose a -d on another disk\n"
    assert outcome.err == f"incidentlab: {tmp_path}: {said}"
    assert [path.name for path in tmp_path.iterdir()] == ["kern.log"]


def test_a_folder_that_another_process_takes_away_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between making the folder and opening it, the process that was just done with it may remove it."""
    opened = os.open

    def too_late(path: Path, *flags: int) -> int:
        Path(path).rmdir()
        return opened(path, *flags)

    monkeypatch.setattr(os, "open", too_late)
    with pytest.raises(WarehouseError, match="another process is writing it"), workshop(tmp_path / "w.duckdb"):
        pass
