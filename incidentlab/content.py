"""The decompressed bytes of a source, or of a range of it, on their way to its pages: hashed and counted.

A file of plain text can be read in ranges. Each range begins where a page begins, and reads the page before it as well:
so it knows of an open record, and what its first lines may borrow from those before.
"""

from collections.abc import Iterator
from typing import IO

from blake3 import blake3

from incidentlab.codecs import BLOCK_BYTES, Stream
from incidentlab.pages import BOM, GRID_BYTES, HEAD_BYTES, is_cut
from incidentlab.parsers import HEAD_BYTES as RECOGNISED_BYTES

FIRST_HEAD_BYTES = 16
LAST_HEAD_BYTES = BLOCK_BYTES
"""How much of the beginning of a source is hashed on its own, doubling: a file that grows keeps these digests."""


class Content:
    """The blocks of content from `start` on, which pass once; `digests` of those that belong to the range.

    What lies before `start` leads in. A range ends behind `stop`, at the first place where content may be cut.
    """

    def __init__(
        self, blocks: Iterator[bytes], head: bytes, *, lead: int = 0, start: int = 0, stop: int | None = None
    ) -> None:
        self._blocks = blocks
        self.has_bare_returns = has_bare_returns(head)
        self._is_over = False
        self.head = self.cleaned(head.removeprefix(BOM))
        self.lead = lead
        self.start = start
        self.stop = stop
        self.heads: tuple[str, ...] = ()
        self.digests: list[str] = []
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        place = self.lead
        for block in self._blocks:
            if place >= self.start and not self._is_over:
                self._take(block)
            place += len(block)
            self._is_over = self._is_over or (self.stop is not None and place >= self.stop and is_cut(block, place))
            yield self.cleaned(block)

    def _take(self, block: bytes) -> None:
        if not self.start and not self.bytes:
            self.heads = heads(block)
        self.digests.append(blake3(block).hexdigest())
        self.bytes += len(block)

    def cleaned(self, data: bytes) -> bytes:
        """`data` with line feeds, where a carriage return alone ends the lines."""
        return data.replace(b"\r", b"\n") if self.has_bare_returns else data


def has_bare_returns(head: bytes) -> bool:
    """Whether carriage returns alone end the lines of content that begins with `head`; such content cannot be cut."""
    return b"\r" in head and b"\n" not in head


def heads(block: bytes) -> tuple[str, ...]:
    """16 hex digits of the digests of the first 16, 32, ... bytes of content that begins with `block`."""
    sizes = (FIRST_HEAD_BYTES << doubled for doubled in range((LAST_HEAD_BYTES // FIRST_HEAD_BYTES).bit_length()))
    return tuple(blake3(block[:size]).hexdigest()[:16] for size in sizes if size <= len(block))


def whole(stream: Stream) -> Content:
    """All content of a stream."""
    head = stream.peek(RECOGNISED_BYTES)
    return Content(stream.blocks, head)


def ranged(file: IO[bytes], start: int, stop: int | None) -> Content | None:
    """The range of a plain file from the first cut at or behind `start`; None if that is no sooner than `stop`.

    `start` is a multiple of GRID_BYTES, or one of BLOCK_BYTES behind which content may be cut.
    """
    while start and b"\n" not in _read(file, start - BLOCK_BYTES, start):
        start += GRID_BYTES - start % GRID_BYTES
        if (stop is not None and start >= stop) or not _read(file, start, start + 1):
            return None
    lead = page_begin(file, start - BLOCK_BYTES) if start else 0
    return Content(_blocks(file, lead), _read(file, 0, RECOGNISED_BYTES), lead=lead, start=start, stop=stop)


def pages_before(file: IO[bytes], end: int) -> Iterator[bytes]:
    """The pages before `end`, where one begins, as they are stored, nearest first."""
    while end:
        begin = page_begin(file, (end - 1) // BLOCK_BYTES * BLOCK_BYTES)
        yield _read(file, begin, end)
        end = begin


def page_begin(file: IO[bytes], grid: int) -> int:
    """Where the page begins that is the first to end behind `grid`, a multiple of BLOCK_BYTES."""
    for end in range(grid, 0, -BLOCK_BYTES):
        block = _read(file, end - BLOCK_BYTES, end)
        if cut := block.rfind(b"\n") + 1:
            return end - len(block) + cut
        if not end % GRID_BYTES:
            return end - HEAD_BYTES
    return 0


def _blocks(file: IO[bytes], start: int) -> Iterator[bytes]:
    """A file from where a page begins; the first block holds what is left of the one that the page before ended in."""
    file.seek(start)
    size = BLOCK_BYTES + -start % BLOCK_BYTES
    while block := file.read(size):
        yield block
        size = BLOCK_BYTES


def _read(file: IO[bytes], start: int, stop: int) -> bytes:
    """A look elsewhere; whoever reads the file goes on where he was."""
    place = file.tell()
    file.seek(start)
    data = file.read(stop - start)
    file.seek(place)
    return data
