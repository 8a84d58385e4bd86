"""Where a disk takes no more, one line says so, and everything is as it was."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from incidentlab import cli

XID = "Mar  5 14:03:22 n{} kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n"


def ingest(folder: Path, name: str, *options: str, limit: str = "unlimited") -> subprocess.CompletedProcess[str]:
    """Add one log to a warehouse, with files of at most `limit` KiB."""
    call = [sys.executable, "-m", "incidentlab", "ingest", name, "-d", "w.duckdb", "--no-progress", *options]
    limited = ["bash", "-c", f'ulimit -f {limit}; exec "$@"', "bash", *call]
    return subprocess.run(limited, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("limit", "options", "said"),
    [("1", ["--shards", "store"], "{place}/store/"), ("4000", [], "File too large")],
    ids=["store", "warehouse"],
)
def test_a_limit_that_is_reached_changes_nothing(tmp_path: Path, limit: str, options: list[str], said: str) -> None:
    """Neither the warehouse nor the folder shows that it was tried; with room, the same command succeeds."""
    for name in "ab":
        (tmp_path / f"{name}.log").write_text(XID.format(name))
    (tmp_path / "store").mkdir()
    assert ingest(tmp_path, "a.log").returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    done = ingest(tmp_path, "b.log", *options, limit=limit)

    assert (done.returncode, done.stderr.count("\n")) == (cli.CANNOT_WRITE, 1)
    assert done.stderr.startswith(f"incidentlab: {said.format(place=tmp_path)}")
    assert done.stderr.endswith("File too large; what was there before is as it was\n")
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert ingest(tmp_path, "b.log", *options).returncode == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("options", [[], ["--shards", "store"]], ids=["own", "store"])
def test_whatever_is_wrong_with_the_disk_is_said(
    incidentlab: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, options: list[str]
) -> None:
    """Full, read-only or broken: one line with the place, one exit code, and no warehouse."""
    (tmp_path / "a.log").write_text(XID.format("a"))

    def fsync(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    outcome = incidentlab("ingest", "a.log", *options)

    assert outcome.code == cli.CANNOT_WRITE
    assert outcome.err.startswith(f"incidentlab: {tmp_path}")
    assert outcome.err.endswith(f".parquet: {os.strerror(number)}; what was there before is as it was\n")
    assert outcome.err.count("\n") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "a.log"]
