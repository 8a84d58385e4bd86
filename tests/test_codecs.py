"""Bytes come out of every codec, recognised by content, and what precedes damage is kept."""

import bz2
import gzip
import io
import lzma
import tracemalloc

import pytest

from incidentlab import codecs
from incidentlab.codecs import zstd

TEXT = b"".join(b"line %d of a log that goes on for a while\n" % n for n in range(20_000))
PACKERS = {
    "gzip": gzip.compress,
    "zstd": zstd.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


def opened(data):
    """The stream of some bytes in memory."""
    return codecs.open_stream(io.BytesIO(data))


def content(stream):
    """All bytes of a stream."""
    return b"".join(stream.blocks)


def test_plain_bytes_pass_unchanged():
    """What is not compressed is handed on as it is."""
    stream = opened(TEXT)
    assert (content(stream), stream.codecs, stream.cut) == (TEXT, (), None)


@pytest.mark.parametrize("codec", PACKERS)
def test_a_codec_is_known_by_its_first_bytes(codec):
    """No name is needed to decompress."""
    stream = opened(PACKERS[codec](TEXT))
    assert (content(stream), stream.codecs, stream.cut) == (TEXT, (codec,), None)


@pytest.mark.parametrize("codec", PACKERS)
def test_members_that_follow_each_other_are_one_text(codec):
    """Files that were compressed apart and then joined give all their content."""
    pack = PACKERS[codec]
    assert content(opened(pack(b"one\n") + pack(b"") + pack(b"two\n"))) == b"one\ntwo\n"


@pytest.mark.parametrize("codec", PACKERS)
def test_zeros_behind_the_end_are_padding(codec):
    """Tapes and block devices fill up with zeros; that is no damage."""
    stream = opened(PACKERS[codec](TEXT) + bytes(5000))
    assert (content(stream), stream.cut) == (TEXT, None)


@pytest.mark.parametrize("codec", PACKERS)
def test_what_precedes_a_cut_is_kept(codec):
    """A truncated file gives its beginning, and says that it was cut."""
    packed = PACKERS[codec](TEXT * 3)
    stream = opened(packed[: len(packed) * 9 // 10])
    kept = content(stream)
    assert (TEXT * 3).startswith(kept)
    assert len(kept) > len(TEXT) // 2
    assert codec in stream.cut


def test_what_precedes_damage_is_kept():
    """A flipped byte in the second member leaves the first member whole."""
    second = bytearray(gzip.compress(TEXT))
    second[len(second) // 2] ^= 0xFF
    stream = opened(gzip.compress(b"first\n") + bytes(second))
    assert content(stream).startswith(b"first\n")
    assert stream.cut


def test_one_codec_inside_another_is_undone():
    """A zstd file of a gzip file is two layers."""
    stream = opened(zstd.compress(gzip.compress(TEXT)))
    assert (content(stream), stream.codecs) == (TEXT, ("zstd", "gzip"))


def test_a_cut_inside_another_codec_is_told():
    """The damage of the inner layer is not hidden by the sound outer one."""
    stream = opened(zstd.compress(gzip.compress(TEXT)[:-100]))
    assert TEXT.startswith(content(stream))
    assert "gzip" in stream.cut


def test_a_bomb_is_cut(monkeypatch):
    """Data that grows beyond every log's ratio is not followed to its end."""
    monkeypatch.setattr(codecs, "BOMB_BYTES", 1 << 20)
    monkeypatch.setattr(codecs, "BOMB_RATIO", 100)
    stream = opened(bz2.compress(bytes(50 << 20)))
    assert len(content(stream)) < 10 << 20
    assert "more than 100 times" in stream.cut


def test_peeking_leaves_everything_to_be_read():
    """Looking at the head takes nothing away."""
    stream = opened(TEXT)
    assert stream.peek(10) == TEXT[:10]
    assert stream.peek(5) == TEXT[:5]
    assert content(stream) == TEXT


def test_a_stream_reads_like_a_file():
    """Archives ask for exact numbers of bytes."""
    stream = opened(gzip.compress(b"abcdefgh"))
    assert [stream.read(3), stream.read(3), stream.read(3), stream.read(3)] == [b"abc", b"def", b"gh", b""]


def test_an_empty_file_is_empty():
    """No bytes, no codec, no cut."""
    stream = opened(b"")
    assert (content(stream), stream.codecs, stream.cut) == (b"", (), None)


def test_nested_bombs_have_one_budget(monkeypatch):
    """Two layers that each grow as much as they may are one file that grows too much."""
    monkeypatch.setattr(codecs, "BOMB_BYTES", 1 << 20)
    stream = opened(gzip.compress(gzip.compress(bytes(300 << 20))))
    assert len(content(stream)) < 10 << 20
    assert "more than 1000 times" in stream.cut


def test_what_a_decoder_made_before_damage_is_delivered():
    """A wrong checksum at the end of a small file costs its end, not all of it."""
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 0xFF
    stream = opened(bytes(packed))
    assert len(content(stream)) > len(TEXT) // 2
    assert "damaged" in stream.cut


def test_many_empty_members_take_no_time():
    """What is behind the end of a member is not copied once a member: 200,000 are read in a moment."""
    assert content(opened(gzip.compress(b"") * 200_000 + gzip.compress(b"x\n"))) == b"x\n"


def test_a_dictionary_beyond_the_memory_is_refused():
    """An xz file may ask for 1.5 GB; it does not get it."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    stream = opened(lzma.compress(b"x\n", filters=filters))
    assert content(stream) == b""
    assert "emory" in stream.cut


def test_a_window_beyond_the_memory_is_refused():
    """A zstd frame may ask for a gigabyte behind it, however little it holds."""
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
    stream = opened(packer.compress(b"x\n") + packer.flush())
    assert content(stream) == b""
    assert "too much memory" in stream.cut


@pytest.mark.parametrize("codec", PACKERS)
def test_no_more_is_held_of_a_bomb_than_a_few_blocks(monkeypatch, codec):
    """What is decompressed is handed on as it comes: 50 MB never lie in memory at once."""
    monkeypatch.setattr(codecs, "BOMB_BYTES", 50 << 20)
    packed = PACKERS[codec](bytes(64 << 20))
    tracemalloc.start()
    try:
        sizes = [len(block) for block in opened(packed).blocks]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(sizes) > 49 << 20
    assert peak < 16 << 20  # of which an xz dictionary is 8
