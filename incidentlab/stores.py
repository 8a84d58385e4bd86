"""Where shards lie: a folder, or a bucket that speaks S3 (extra `[s3]`).

A name appears in a store whole or not at all, and one that is put again is replaced. A bucket's keys, region and
endpoint are those of the usual AWS_* variables. A store can be sent to another process, which opens it by its own
environment.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import ENOENT
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from incidentlab.errors import OutageError, UsageError

_SCHEME = "s3://"

_AT_ONCE = 8
"""How many objects are fetched together: one alone mostly waits for the answer."""

_LEFT_FREE = "."
"""Names that begin so are not yet, or not, part of a store."""

_unfinished = count()


class Store(Protocol):
    """A flat set of named byte strings; a name may have folders in it, parted by `/`."""

    def put(self, name: str, data: bytes) -> None:
        """Put `data` under `name`, at once and whole."""

    def get(self, name: str) -> bytes:
        """What lies under `name`; `FileNotFoundError` if nothing does."""

    def names(self, folder: str = "") -> list[str]:
        """All names below `folder`, sorted."""

    def delete(self, name: str) -> None:
        """Forget `name`; one that is not there is fine."""

    def url(self, name: str) -> str:
        """`name` as a path, or as the URL of an object, for people to read."""

    def fetch(self, names: Sequence[str], folder: Path) -> list[Path]:
        """Files with the content of `names`, in their order; a bucket's are copied below `folder` first.

        Where a name is not there, its file is not either.
        """


def open_store(url: str | Path) -> Store:
    """The store at a path, which is made, or at `s3://BUCKET/PREFIX`, whose bucket must be there.

    Raises `UsageError` where it cannot be used: not a folder, no such bucket, no rights, the extra is missing.
    """
    if isinstance(url, str) and url.startswith(_SCHEME):
        bucket = Bucket(_SCHEME + url.removeprefix(_SCHEME).rstrip("/"))
        bucket.check()
        return bucket
    if isinstance(url, str) and "://" in url:
        raise UsageError("a store is a folder or s3://BUCKET/PREFIX", url)
    folder = Folder(Path(url).absolute())
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot hold shards: {error.strerror}", str(url)) from error
    return folder


@dataclass(frozen=True)
class Folder:
    """A store in a folder, which may be shared by many machines."""

    path: Path

    def put(self, name: str, data: bytes) -> None:
        """Write beside the place of `name`, have it on the disk, and rename."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        # Of this machine and process alone: two workers may put the same name.
        fresh = place.with_name(f"{_LEFT_FREE}{place.name}.{os.uname().nodename}.{os.getpid()}.{next(_unfinished)}")
        try:
            with fresh.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())  # else a power failure could leave the name without its content
            fresh.replace(place)
        except BaseException as error:
            fresh.unlink(missing_ok=True)
            if isinstance(error, OSError):
                error.filename = str(place)  # a full disk does not say where it is
            raise

    def get(self, name: str) -> bytes:
        """The file's content."""
        return (self.path / name).read_bytes()

    def names(self, folder: str = "") -> list[str]:
        """The files below, but those that are being written."""
        found = (
            (Path(top) / file).relative_to(self.path).as_posix()
            for top, _, files in os.walk(self.path / folder)
            for file in files
            if not file.startswith(_LEFT_FREE)
        )
        return sorted(found)

    def delete(self, name: str) -> None:
        """Remove the file."""
        (self.path / name).unlink(missing_ok=True)

    def url(self, name: str) -> str:
        """The file's path."""
        return str(self.path / name)

    def fetch(self, names: Sequence[str], folder: Path) -> list[Path]:  # noqa: ARG002 - nothing has to be copied
        """The files as they lie."""
        return [self.path / name for name in names]


@dataclass(frozen=True)
class Bucket:
    """A store in a bucket below a prefix; `root` is `s3://BUCKET/PREFIX`."""

    root: str

    def check(self) -> None:
        """Raise `UsageError` unless the bucket is there and may be listed."""
        if not self.root.removeprefix(_SCHEME).partition("/")[0]:
            raise UsageError("names no bucket; a store is s3://BUCKET/PREFIX", self.root)
        with _said(self.root):
            next(iter(_library().list(_opened(self.root), chunk_size=1)), None)

    def put(self, name: str, data: bytes) -> None:
        """Put the object with one request, of which a failure leaves nothing."""
        with _said(self.url(name)):
            _library().put(_opened(self.root), name, data, use_multipart=False)

    def get(self, name: str) -> bytes:
        """The object's content."""
        with _said(self.url(name)):
            return bytes(_library().get(_opened(self.root), name).bytes())

    def names(self, folder: str = "") -> list[str]:
        """The objects below."""
        with _said(self.url(folder)):
            chunks = _library().list(_opened(self.root), prefix=folder or None)
            return sorted(entry["path"] for chunk in chunks for entry in chunk)

    def delete(self, name: str) -> None:
        """Delete the object."""
        with _said(self.url(name)):
            _library().delete(_opened(self.root), name)

    def url(self, name: str) -> str:
        """The object's URL."""
        return f"{self.root}/{name}"

    def fetch(self, names: Sequence[str], folder: Path) -> list[Path]:
        """Copies of the objects, several at a time.

        DuckDB could read them in place, but through Python and piece by piece: five times the CPU for small ones.
        """
        copies = Folder(folder)
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(lambda name: _copy(self, copies, name), names))
        return copies.fetch(names, folder)


def _copy(bucket: Bucket, copies: Folder, name: str) -> None:
    place = copies.path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        place.write_bytes(bucket.get(name))


def _library() -> Any:
    try:
        import obstore.exceptions  # noqa: PLC0415 - an extra, and slow to import
        import obstore.store  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("s3:// needs the extra: pip install 'incidentlab[s3]'") from error
    return obstore


@cache
def _opened(root: str) -> Any:
    """The connection of this process to the bucket of `root`, by its environment."""
    bucket, _, prefix = root.removeprefix(_SCHEME).partition("/")
    return _library().store.S3Store(bucket, prefix=prefix or None)


@contextmanager
def _said(where: str) -> Iterator[None]:
    """The library's errors in words of ours; an object that is not there is a `FileNotFoundError`."""
    exceptions = _library().exceptions
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), where) from error
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
        raise UsageError("the keys of the AWS_* variables have no right to it", where) from error
    except exceptions.BaseError as error:
        if "NoSuchBucket" in str(error):
            raise UsageError("there is no such bucket", where) from error
        raise OutageError(f"does not answer: {str(error).strip().splitlines()[0]}", where) from error
