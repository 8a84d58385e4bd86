"""Write log files reproducibly: no clock, no owner, no random names inside the containers."""

import gzip
import io
import lzma
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MTIME = 1_700_000_000
"""Modification time of archive members: fixed, so that the bytes are."""

_CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gz": lambda data: gzip.compress(data, 9, mtime=0),
    "zst": zstd.compress,
    "xz": lzma.compress,
}


def write_text(path: Path, lines: Iterable[str], codec: str = "") -> None:
    """Write lines to `path`, with the codec's ending added to its name."""
    full = path.with_name(path.name + (f".{codec}" if codec else ""))
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(_CODECS[codec](_encode(lines)))


def write_archive(path: Path, members: Mapping[str, Iterable[str]], codec: str = "") -> None:
    """Write one tar file with a member for each name, sorted."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(members):
            data = _encode(members[name])
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), _MTIME
            archive.addfile(info, io.BytesIO(data))
    full = path.with_name(path.name + (f".{codec}" if codec else ""))
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(_CODECS[codec](buffer.getvalue()))


def _encode(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
