"""Paths, folders and globs become the inputs to read; what cannot be read is refused with its reason.

Nothing is opened here but archives, by `members`, whose files are streamed without being extracted.
"""

import glob
import os
import stat
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from incidentlab.codecs import Stream, open_stream
from incidentlab.errors import InputError

MAX_MEMBERS = 100_000
"""How many files of one archive are read."""

_MAGIC_WORD = 257
"""Where a tar header holds `ustar`."""


@dataclass(frozen=True, slots=True)
class Input:
    """One file to read, or one member of an archive; `path` is how it is shown, a member follows a "!"."""

    path: str
    file: Path
    size: int
    modified_ns: int
    member: str | None = None

    @property
    def modified_ts(self) -> datetime:
        """When it was written last, in UTC, without a zone as the shards keep it."""
        return datetime.fromtimestamp(self.modified_ns // 1_000_000_000, UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that was found and cannot be read, and why."""

    path: str
    reason: str


def find_inputs(paths: Sequence[str]) -> tuple[list[Input], list[Refused]]:
    """All files below `paths` (files, folders, globs), each once, by path, and what was refused.

    Raises InputError for a path that does not exist and a glob that finds nothing.
    """
    found: dict[str, Input | Refused] = {}
    for given in paths:
        for path in _expanded(given):
            found.update((item.path, item) for item in _walk(path))
    unique: dict[str, Input | Refused] = {os.path.realpath(key): found[key] for key in sorted(found, reverse=True)}
    kept = sorted(unique.values(), key=lambda item: item.path)
    return [i for i in kept if isinstance(i, Input)], [r for r in kept if isinstance(r, Refused)]


def _expanded(given: str) -> list[Path]:
    """The paths that one argument stands for; a file whose name looks like a glob is that file."""
    if os.path.lexists(given):
        return [Path(given)]
    matches = sorted(glob.glob(given, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
    if not matches:
        raise InputError("there is no such file or folder", given)
    return [Path(match) for match in matches]


def _walk(path: Path) -> Iterator[Input | Refused]:
    """The files of one path at any depth; hidden things and links to folders are refused, not entered."""
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if not current.is_dir():
            yield _file(current)
            continue
        try:
            entries = sorted(current.iterdir())
        except OSError as error:
            yield Refused(_shown(current), f"cannot be read: {error.strerror}")
            continue
        for entry in entries:
            if reason := _not_entered(entry):
                yield Refused(_shown(entry), reason)
            else:
                waiting.append(entry)


def _not_entered(entry: Path) -> str | None:
    if entry.name.startswith("."):
        return "hidden"
    return "link to a folder" if entry.is_symlink() and entry.is_dir() else None


def _file(path: Path) -> Input | Refused:
    try:
        status = path.stat()
    except OSError as error:
        return Refused(_shown(path), f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Refused(_shown(path), "not a regular file")
    if not os.access(path, os.R_OK):
        return Refused(_shown(path), "cannot be read: Permission denied")
    return Input(_shown(path), path, status.st_size, status.st_mtime_ns)


def _shown(path: Path) -> str:
    """A path as text that every encoding can hold."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def is_archive(head: bytes) -> bool:
    """Whether content that begins with `head` is a tar archive."""
    return head[_MAGIC_WORD : _MAGIC_WORD + 5] == b"ustar"


def members(source: Input, stream: Stream) -> Iterator[tuple[Input, Stream] | Refused]:
    """The files of a tar archive in their order, each with its bytes, to be read before the next is asked for.

    Links, devices and hidden files are refused; nothing is written and no link is followed. A damaged archive raises
    `tarfile.TarError`.
    """
    tape = _Tape(stream)
    with tarfile.open(fileobj=cast("Any", tape), mode="r|") as archive:
        times = Counter[str]()
        for number, info in enumerate(archive):
            times[info.name] += 1
            again = f" ({times[info.name]})" if times[info.name] > 1 else ""
            path = f"{source.path}!{_printable(info.name)}{again}"
            if number >= MAX_MEMBERS:
                yield Refused(source.path, f"only its first {MAX_MEMBERS} members were read")
                return
            if info.isdir():
                continue
            file = archive.extractfile(info) if info.isreg() else None
            if file is None:
                yield Refused(path, "a link or device in an archive")
            elif any(part.startswith(".") and part not in {".", ".."} for part in info.name.split("/")):
                yield Refused(path, "hidden")
            else:
                found = Input(path, source.file, info.size, int(info.mtime) * 1_000_000_000, info.name)
                yield found, open_stream(file)
    if tape.last.strip(b"\0"):
        raise tarfile.ReadError("the end of the archive is missing")


class _Tape:
    """A stream that remembers its last bytes: an archive that ends between two members looks whole to `tarfile`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.last = b""

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.last = data[-tarfile.BLOCKSIZE :] or self.last
        return data


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
