"""Paths, folders and globs become the inputs to read; what cannot be read is refused with its reason.

Finding opens nothing. The files of an archive are streamed by `members`, without being extracted.
"""

import errno
import glob
import math
import os
import re
import stat
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from incidentlab.codecs import BOMB_BYTES, BOMB_RATIO, Stream, open_stream
from incidentlab.errors import InputError

MAX_MEMBERS = 100_000
"""How many files of one archive are read."""

MAX_HEADER_BYTES = 1 << 20
"""Longer names and attributes are no archiver's: they would be read into memory."""

MAX_MEMBER_BYTES = 1 << 62
"""A header with a larger size, or a negative one, is damaged: no disk holds such a file."""

_READS_AT_END = 8
"""`tarfile` notices the end of an archive in two; it would skip a member's missing bytes for ever."""

_BLOCK_BYTES = 512
"""What `st_blocks` counts."""

_ATTRIBUTES = {
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
}
_NO_SENSE = (ValueError, LookupError, TypeError, RecursionError, tarfile.SubsequentHeaderError)  # type: ignore[attr-defined]
"""What `tarfile` makes of headers whose numbers are none, or that are followed by no member: it would end there."""

_AMBIGUOUS = re.compile(rb"!|\\(?=x[0-9a-f]{2})")
_MAGIC_WORD = 257
"""Where a tar header holds `ustar`."""

ARCHIVE_HEAD_BYTES = tarfile.BLOCKSIZE
"""How much of the beginning of content tells whether it is an archive."""


@dataclass(frozen=True, slots=True)
class Input:
    """One file to read, or one member of an archive; `path` is how it is shown, a member follows a "!"."""

    path: str
    file: Path
    size: int
    modified_ns: int
    member: str | None = None
    changed_ns: int = 0

    @property
    def modified_ts(self) -> datetime | None:
        """When it was written last, in UTC, without a zone as the shards keep it; None if no calendar has it."""
        try:
            return datetime.fromtimestamp(self.modified_ns // 1_000_000_000, UTC).replace(tzinfo=None)
        except (ValueError, OverflowError, OSError):
            return None

    def open(self) -> IO[bytes]:
        """The file, if it still is one; whoever opens a pipe that took its place could wait for ever.

        Raises OSError for that, and as usual.
        """
        file = open(self.file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK))  # noqa: SIM115
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        raise OSError(errno.EINVAL, "no regular file any more")


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
    unique = {_place(found[key]): found[key] for key in sorted(found, reverse=True)}
    kept = sorted(unique.values(), key=lambda item: item.path)
    return [i for i in kept if isinstance(i, Input)], [r for r in kept if isinstance(r, Refused)]


def _place(item: Input | Refused) -> str:
    """Where it lies, whatever links lead to it."""
    return os.path.realpath(item.file if isinstance(item, Input) else item.path)


def _expanded(given: str) -> list[Path]:
    """The paths that one argument stands for; a file whose name looks like a glob is that file."""
    if os.path.lexists(given):
        return [Path(given)]
    matches = _crossed(Path(given)) if "**" in Path(given).parts else map(Path, glob.glob(given))  # noqa: PTH207
    if not (found := sorted(matches)):
        raise InputError("there is no such file or folder", given)
    return found


def _crossed(pattern: Path) -> Iterator[Path]:
    """What a pattern with two stars stands for; unlike `glob.glob`, links to folders are not followed for ever."""
    inner = pattern.relative_to(pattern.anchor)
    hidden = [part for part in inner.parts if part.startswith(".")]
    try:
        for match in Path(pattern.anchor).glob(str(inner)):
            if all(not part.startswith(".") or part in hidden for part in match.parts):
                yield match
    except ValueError as error:
        raise InputError(f"is no pattern: {error}", str(pattern)) from error


def _walk(path: Path) -> Iterator[Input | Refused]:
    """The files of one path at any depth; hidden things and links to folders are refused, not entered."""
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if not os.path.isdir(current):  # noqa: PTH112 - Path.is_dir raises where the way to it is shut
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
    return "link to a folder" if os.path.islink(entry) and os.path.isdir(entry) else None  # noqa: PTH112, PTH114


def _file(path: Path) -> Input | Refused:
    try:
        status = path.stat()
    except OSError as error:
        return Refused(_shown(path), f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Refused(_shown(path), "not a regular file")
    if not os.access(path, os.R_OK):
        return Refused(_shown(path), "cannot be read: Permission denied")
    if status.st_size > max(BOMB_BYTES, BOMB_RATIO * status.st_blocks * _BLOCK_BYTES):
        return Refused(_shown(path), "almost nothing but holes, which no log is")
    return Input(_shown(path), path.absolute(), status.st_size, status.st_mtime_ns, changed_ns=status.st_ctime_ns)


def _shown(path: str | Path) -> str:
    r"""A path as text that every encoding can hold, and as no other path is shown.

    What is no UTF-8 becomes `\xHH`; so does a "!", which sets off members, and a backslash that would look like that.
    """
    raw = _AMBIGUOUS.sub(lambda found: b"\\x%02x" % found[0][0], os.fsencode(path))
    return raw.decode("utf-8", "backslashreplace")


def is_archive(head: bytes) -> bool:
    """Whether content that begins with `head` is a tar archive."""
    return head[_MAGIC_WORD : _MAGIC_WORD + 5] == b"ustar"


def members(source: Input, stream: Stream) -> Iterator[tuple[Input, Stream] | Refused]:
    """The files of a tar archive in their order, each with its bytes, to be read before the next is asked for.

    Links, devices and hidden files are refused; nothing is written and no link is followed. What stands behind a
    damaged place or behind another archive is found again. An archive that is damaged, cut or too long raises
    `tarfile.TarError` when all that is left of it has been given.
    """
    tape = _Tape(stream)
    with tarfile.open(fileobj=cast("Any", tape), mode="r|", tarinfo=tape.header, ignore_zeros=True) as archive:
        names = _Names()
        for number, info in enumerate(archive):
            if number >= MAX_MEMBERS:
                raise tarfile.ReadError(f"only its first {MAX_MEMBERS} members were read")
            path = f"{source.path}!{names.unique(_shown(info.name))}"
            if info.isdir():
                continue
            if reason := _not_read(info):
                yield Refused(path, reason)
            else:
                found = Input(path, source.file, info.size, _nanoseconds(info.mtime), info.name)
                yield _opened(found, archive, info, stream)
    tape.check()


def _opened(
    found: Input, archive: tarfile.TarFile, info: tarfile.TarInfo, stream: Stream
) -> tuple[Input, Stream] | Refused:
    """A member with its bytes; one whose first bytes cannot be had does not hide those behind it."""
    try:
        file: Any = archive.extractfile(info) if info.issparse() else _Member(archive.fileobj, info.size)
        return found, open_stream(file, stream)
    except (tarfile.TarError, OSError, ValueError) as error:
        return Refused(found.path, f"cannot be read: {error}")


def _not_read(info: tarfile.TarInfo) -> str | None:
    if not info.isreg():
        return "a link or device in an archive"
    if any(part.startswith(".") and part not in {".", ".."} for part in info.name.split("/")):
        return "hidden"
    return "almost nothing but holes, which no log is" if info.issparse() and info.size > BOMB_BYTES else None


def _nanoseconds(seconds: float) -> int:
    """A member's time, which its header may give as any number, or as none."""
    return int(seconds) * 1_000_000_000 if math.isfinite(seconds) else 0


class _Tape:
    """A stream that takes note of what `tarfile` passes over: blocks that are no header, and an end that is missing."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._last = b""
        self._reads_at_end = 0
        self._strays = strays = Counter[str]()
        self._allowed = math.inf
        tape = self

        class Header(tarfile.TarInfo):
            """The header of a member."""

            @classmethod
            def fromtarfile(cls, archive: tarfile.TarFile) -> "Header":
                with tape.heading():
                    return super().fromtarfile(archive)

            @classmethod
            def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "Header":
                if any(buf) and not is_archive(bytes(buf)):  # quicker than the checksum, for long damage
                    strays["blocks"] += 1
                    raise tarfile.InvalidHeaderError("no header")  # type: ignore[attr-defined]
                try:
                    info = super().frombuf(buf, encoding, errors)
                except tarfile.InvalidHeaderError:  # type: ignore[attr-defined]
                    strays["blocks"] += 1
                    raise
                if not 0 <= info.size <= MAX_MEMBER_BYTES:
                    strays["blocks"] += 1
                    raise tarfile.InvalidHeaderError("absurd size")  # type: ignore[attr-defined]
                if info.type in _ATTRIBUTES and info.size > MAX_HEADER_BYTES:
                    raise tarfile.ReadError(f"a header of {info.size} bytes")
                return info

        self.header = Header

    @contextmanager
    def heading(self) -> Iterator[None]:
        """While a header is read, with those that belong to it: bounded, and passed over if it makes no sense."""
        before, self._allowed = self._allowed, min(self._allowed, 2 * MAX_HEADER_BYTES)
        try:
            yield
        except _NO_SENSE as error:
            self._strays["blocks"] += 1
            raise tarfile.InvalidHeaderError("no header") from error  # type: ignore[attr-defined]
        finally:
            self._allowed = before

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._allowed -= len(data)
        if self._allowed < 0:
            raise tarfile.ReadError(f"a header of more than {2 * MAX_HEADER_BYTES} bytes")
        self._last = data[-tarfile.BLOCKSIZE :] or self._last
        self._reads_at_end += not data
        if self._reads_at_end > _READS_AT_END:
            raise tarfile.ReadError("unexpected end of data")
        return data

    def check(self) -> None:
        """Raise `tarfile.ReadError` if something was passed over: `tarfile` is content with less than an archive."""
        if self._strays["blocks"]:
            raise tarfile.ReadError(f"damaged: {self._strays['blocks']} blocks belong to no member")
        if self._last.strip(b"\0"):
            raise tarfile.ReadError("the end of the archive is missing")


class _Member:
    """The next `left` bytes of an archive; `tarfile`'s own reader loses what precedes a cut."""

    def __init__(self, archive: Any, left: int) -> None:
        self._archive = archive
        self._left = left

    def read(self, size: int) -> bytes:
        data: bytes = self._archive.read(min(size, self._left))
        self._left -= len(data)
        if self._left and not data:
            raise EOFError("cut, because the archive ends within it")
        return data


class _Names:
    """The names of one archive's members, each given once: a second `x` is `x (2)`, or the next that is free."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}

    def unique(self, name: str) -> str:
        free = name
        while free in self._times:
            self._times[name] += 1
            free = f"{name} ({self._times[name]})"
        self._times[free] = 1
        return free
