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

BLOCK_BYTES = 256 << 10
"""How much is handed on at a time: every block but the last has this size, so that content is cut the same way
however it is stored. It stays in a core's cache while it is hashed, searched and counted."""

MAX_NESTING = 3
"""How many codecs may be wrapped around each other."""

BOMB_BYTES = 256 << 20
"""Below this size, decompressed, nothing is suspected."""

BOMB_RATIO = 1000
"""No log shrinks to less than this part of its size; storms of one line reach a few hundred."""

MAX_MEMORY = 256 << 20
"""What an xz file may ask for; `xz -9` asks for 65 MB. Zstandard's own limit is 128 MB."""

_FED_BYTES = 64 << 10
"""How much a decoder gets at a time: at the end of each member it copies what it did not need."""

_MADE_BYTES = 128 << 10
"""How much a decoder gives at a time: what it has not given yet when it finds damage is lost."""


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
    Codec("xz", rb"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_MEMORY)),
    Codec("bzip2", rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", bz2.BZ2Decompressor),
)
_IGZIP_ERROR: Any = igzip_lib.error  # a class, whatever its stub says
_MAGIC_BYTES = 10
_FAULTS: tuple[type[Exception], ...] = (EOFError, OSError, ValueError, lzma.LZMAError, zstd.ZstdError, _IGZIP_ERROR)


@dataclass(slots=True)
class Budget:
    """How many bytes of a file were taken from the disk, and how many all layers and members made of them."""

    taken: int = 0
    made: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether the file has grown as no log does."""
        return self.made > max(BOMB_BYTES, BOMB_RATIO * self.taken)


@dataclass(slots=True)
class Stream:
    """Decompressed blocks of one file or member; `cut` says why they end early, once they have been read."""

    blocks: Iterator[bytes]
    budget: Budget
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


def open_stream(file: IO[bytes], archive: Stream | None = None) -> Stream:
    """The decompressed bytes of an open file; reading them raises no error of the content, only of the disk.

    A `file` that is a member of an `archive` shares its budget, and may raise EOFError where the archive ends early.
    """
    stream = Stream(iter(()), archive.budget if archive else Budget())
    stream.blocks = _joined(_raw_blocks(file, stream, is_member=archive is not None))
    while len(stream.codecs) < MAX_NESTING and (codec := _recognise(stream.peek(_MAGIC_BYTES))):
        stream = _decoded(stream, codec)
    return stream


def _raw_blocks(file: IO[bytes], stream: Stream, *, is_member: bool) -> Iterator[bytes]:
    try:
        while block := file.read(BLOCK_BYTES):
            stream.budget.taken += 0 if is_member else len(block)
            yield block
    except EOFError as error:
        stream.cut = str(error)


def _joined(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of BLOCK_BYTES, but for the last; what precedes an error is delivered."""
    held: list[bytes] = []
    size = 0
    try:
        for part in parts:
            held.append(part)
            size += len(part)
            while size >= BLOCK_BYTES:
                joined = held[0] if len(held) == 1 else b"".join(held)
                yield joined[:BLOCK_BYTES]
                held = [joined[BLOCK_BYTES:]] if size > BLOCK_BYTES else []
                size -= BLOCK_BYTES
    except _FAULTS:
        yield b"".join(held)
        raise
    if size:
        yield b"".join(held)


def _recognise(head: bytes) -> Codec | None:
    return next((codec for codec in _CODECS if re.match(codec.magic, head)), None)


def _decoded(inner: Stream, codec: Codec) -> Stream:
    outer = Stream(iter(()), inner.budget, (*inner.codecs, codec.name))
    outer.blocks = _guarded(inner, codec, outer)
    return outer


def _guarded(inner: Stream, codec: Codec, outer: Stream) -> Iterator[bytes]:
    """The decoded blocks; damage, a cut and a bomb end them and leave their reason in `outer.cut`."""
    made = 0
    try:
        for block in _joined(_members(inner.blocks, codec)):
            made += len(block)
            outer.budget.made += len(block)
            yield block
            if outer.budget.is_spent:
                outer.cut = f"cut at {made} bytes: {codec.name} data of more than {BOMB_RATIO} times the file's size"
                return
    except _FAULTS as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's, not the data's
            raise
        outer.cut = f"{codec.name} data is cut or damaged after {made} bytes: {error}"
    outer.cut = outer.cut or inner.cut


def _members(blocks: Iterator[bytes], codec: Codec) -> Iterator[bytes]:
    """The content of all members that follow each other; zeros behind a member are padding."""
    decoder: Any = codec.decoder()
    started = False
    for fed in _slices(blocks):
        data = fed
        while data or not (decoder.eof or decoder.needs_input):
            if not started and not (data := data.lstrip(b"\0")):
                break
            started = True
            if block := decoder.decompress(data, _MADE_BYTES):
                yield block
            data = b""
            if decoder.eof:
                data, decoder, started = decoder.unused_data, codec.decoder(), False
    if started:
        raise EOFError("the end of the data is missing")


def _slices(blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in blocks:
        yield from (block[start : start + _FED_BYTES] for start in range(0, len(block), _FED_BYTES))
