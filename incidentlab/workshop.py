"""The folder beside a warehouse where a new one is made, by one process at a time.

What is finished in it appears by renaming. The shards of a run that was killed or interrupted, or
lost its cluster, stay, so that the next one goes on from there; everything else of it is thrown away.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incidentlab.errors import OutageError, WarehouseError

SHARDS = "shards"
"""The folder of the shards within it."""


@contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """The folder for `target`; two processes that add to one warehouse would lose one's work.

    Raises `WarehouseError` while another process works there, and where nothing can be locked.
    """
    folder = target.with_name(f".{target.name}.unfinished")
    lock = _locked(folder)
    if lock is None:
        raise WarehouseError("another process is writing it; wait for that one, or choose another -d", str(target))
    try:
        _clear(folder)
        yield folder
    except (KeyboardInterrupt, OutageError):
        if not any((folder / SHARDS).rglob("*.parquet")):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    else:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _clear(folder: Path) -> None:
    """Leave nothing but shards; links are taken away, and not followed."""
    for left in folder.iterdir():
        if left.is_symlink() or not left.is_dir():
            left.unlink()
        elif left.name != SHARDS:
            shutil.rmtree(left)


def _locked(folder: Path) -> int | None:
    """The folder, made if need be, as an open file that holds its lock; None if another process has it."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise WarehouseError("stands where the unfinished warehouse is made; move it away", str(folder))
    folder.mkdir(exist_ok=True)
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:  # just taken away by the process that was done with it
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):  # taken, or just taken away
        pass
    except OSError as error:  # some network file systems have no locks
        os.close(lock)
        with suppress(OSError):
            folder.rmdir()
        fault = f"its file system cannot lock a folder ({error.strerror}); choose a -d on another disk"
        raise WarehouseError(fault, str(folder.parent)) from error
    os.close(lock)
    return None
