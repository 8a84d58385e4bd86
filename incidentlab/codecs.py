"""Bytes of a file in blocks, decompressed by what they are and not by what they are called.

gzip, zstd, xz and bzip2 are known by their first bytes, also one inside another. What stands before a cut or a
corrupt place is delivered, and the cut is kept in words.
"""

import bz2
import lzma
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any, Protocol

from isal import igzip_lib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK_BYTES = 2 << 20
"""How much is decompressed at a time."""

MAX_NESTING = 3
"""How many codecs may be wrapped around each other."""

BOMB_BYTES = 256 << 20
"""Below this size, decompressed, nothing is suspected."""

BOMB_RATIO = 1000
"""No log shrinks to less than this part of its size; storms of one line reach a few hundred."""


class _Decoder(Protocol):
    """What the four libraries have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Codec:
    """One compression format: its name, a pattern of its first bytes, and how a decoder of one member is made."""

    name: str
    magic: bytes
    decoder: Callable[[], _Decoder]


_CODECS = (
    Codec("gzip", rb"\x1f\x8b\x08", lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)),
    Codec("zstd", rb"\x28\xb5\x2f\xfd", zstd.ZstdDecompressor),
    Codec("xz", rb"\xfd7zXZ\x00", lzma.LZMADecompressor),
    Codec("bzip2", rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", bz2.BZ2Decompressor),
)
_IGZIP_ERROR: Any = igzip_lib.error  # a class, whatever its stub says
_MAGIC_BYTES = 10
_FAULTS: tuple[type[Exception], ...] = (EOFError, OSError, ValueError, lzma.LZMAError, zstd.ZstdError, _IGZIP_ERROR)


@dataclass(slots=True)
class Stream:
    """Decompressed blocks of one file or member; `cut` says why they end early, once they have been read."""

    blocks: Iterator[bytes]
    codecs: tuple[str, ...] = ()
    cut: str | None = None
    _rest: bytes = field(default=b"", repr=False)

    def peek(self, size: int) -> bytes:
        """The first `size` bytes (fewer at the end of the stream), which stay to be read."""
        held: list[bytes] = []
        while sum(map(len, held)) < size and (block := next(self.blocks, b"")):
            held.append(block)
        self.blocks = chain(held, self.blocks)
        return b"".join(held)[:size]

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end: what `tarfile` asks of a stream."""
        held = [self._rest]
        length = len(self._rest)
        while length < size and (block := next(self.blocks, b"")):
            held.append(block)
            length += len(block)
        joined = b"".join(held)
        self._rest = joined[size:]
        return joined[:size]


def open_stream(file: IO[bytes]) -> Stream:
    """The decompressed bytes of an open file; reading them raises no error of the content, only of the disk."""
    stream = Stream(_raw_blocks(file))
    while len(stream.codecs) < MAX_NESTING and (codec := _recognise(stream.peek(_MAGIC_BYTES))):
        stream = _decoded(stream, codec)
    return stream


def _raw_blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def _recognise(head: bytes) -> Codec | None:
    return next((codec for codec in _CODECS if re.match(codec.magic, head)), None)


def _decoded(inner: Stream, codec: Codec) -> Stream:
    outer = Stream(iter(()), (*inner.codecs, codec.name))
    outer.blocks = _guarded(inner, codec, outer)
    return outer


def _guarded(inner: Stream, codec: Codec, outer: Stream) -> Iterator[bytes]:
    """The decoded blocks; damage, a cut and a bomb end them and leave their reason in `outer.cut`."""
    sizes = [0, 0]
    try:
        for block in _members(_counted(inner.blocks, sizes), codec):
            sizes[1] += len(block)
            yield block
            if sizes[1] > max(BOMB_BYTES, BOMB_RATIO * sizes[0]):
                outer.cut = f"cut at {sizes[1]} bytes: more than {BOMB_RATIO} times its {codec.name} size"
                return
    except _FAULTS as error:
        outer.cut = f"{codec.name} data is cut or damaged after {sizes[1]} bytes: {error}"
    outer.cut = outer.cut or inner.cut


def _counted(blocks: Iterator[bytes], sizes: list[int]) -> Iterator[bytes]:
    for block in blocks:
        sizes[0] += len(block)
        yield block


def _members(blocks: Iterator[bytes], codec: Codec) -> Iterator[bytes]:
    """The content of all members that follow each other; zeros behind a member are padding."""
    decoder: Any = codec.decoder()
    started = False
    for raw in blocks:
        data = raw
        while data or not (decoder.eof or decoder.needs_input):
            if not started and not (data := data.lstrip(b"\0")):
                break
            started = True
            if block := decoder.decompress(data, BLOCK_BYTES):
                yield block
            data = b""
            if decoder.eof:
                data, decoder, started = decoder.unused_data, codec.decoder(), False
    if started:
        raise EOFError("the end of the data is missing")
