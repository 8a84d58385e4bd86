"""Laws of the intake that hold for any bytes: lines add up, nothing crashes, cuts and codecs change nothing."""

import gzip
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intake_samples import ALL

from incidentlab import codecs, envelopes, parts, reading, scan
from incidentlab import pages as pages_module
from incidentlab.folding import Storms
from incidentlab.pages import decoded, pages
from incidentlab.scan import Re2, Scanner

SCANNER = Scanner(ALL)
FALLBACK = Scanner(ALL, Re2)
PIECES = st.sampled_from(
    [
        b"NVRM: Xid (PCI:0000:1b:00): 79, x",
        b"NVRM: Xid (PCI:0000:1b:00): 31, pid=4, y",
        b"step 5 loss 2.5",
        b"Root Cause (first observed failure):",
        b"Mar  5 14:03:22 gpu1 kernel: [12.000001] ",
        b"[2026-03-05T14:03:22.123] error: Nodes gpu[1-3] not responding, setting DOWN",
        b"gpu1:1:2 [0] NCCL INFO transport/net.cc:1298 -> 6",
        b'{"__REALTIME_TIMESTAMP":"1772719402123456","MESSAGE":"x"}',
        b"__REALTIME_TIMESTAMP=1772719402123456\nMESSAGE\n",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\r",
        b"\0\0\0",
        b"\x1b[31m",
        b"\xff\xfe",
        b"JobID|State|Start\n",
    ]
)
NO_TEXT = ("binary", "UTF-16; make it UTF-8 with: iconv -f UTF-16 -t UTF-8")
LOGS = st.lists(PIECES | st.binary(max_size=20), max_size=40).map(b"".join)


def unfolded(scanner, blocks):
    """Every candidate, also those that a page would fold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_DENSE_BYTES", 1)
        return [candidate for page in pages(blocks) for candidate in scanner.candidates(page, Storms())]


def read(data):
    """The rows and source columns of some bytes."""
    rows = []
    found = reading.read(codecs.open_stream(io.BytesIO(data)), SCANNER, rows.append)
    return rows, parts.row(parts.joined(found))


@given(LOGS | st.binary(max_size=2000))
@settings(max_examples=200, deadline=None)
def test_lines_add_up_for_any_bytes(data):
    """Matched, unmatched and unparsed are all lines: line ends plus an unfinished last line; none is negative.

    A carriage return ends a line where there is no line feed at all; a byte order mark is no text.
    """
    _, values = read(data)
    if values["status"] == "failed":
        return
    counts = [values[f"{kind}_lines"] for kind in ("matched", "unmatched", "unparsed")]
    assert sum(counts) == values["lines"]
    assert min(counts) >= 0
    if values["reason"] not in NO_TEXT and not codecs._recognise(data):
        end = b"\n" if b"\n" in data else b"\r"
        text = data.removeprefix(b"\xef\xbb\xbf")
        assert values["lines"] == text.count(end) + (text != b"" and not text.endswith(end))
        assert values["bytes"] == (len(data) if values["digest"] else None)


@given(LOGS)
@settings(max_examples=100, deadline=None)
def test_every_line_that_python_finds_is_found_by_both_engines(data):
    """The searches agree with asking every text every pattern."""
    expected = {
        (number, decoded(text), signature.name)
        for number, line in enumerate(pages_module._ANSI.sub(b"", data.removeprefix(pages_module.BOM)).split(b"\n"), 1)
        for text in line.split(b"\r")
        for signature in ALL
        if re.search(signature.pattern, decoded(text), re.ASCII)
    }
    for scanner in (SCANNER, FALLBACK):
        found = {
            (candidate.line_no, candidate.text, signature.name)
            for candidate in unfolded(scanner, [data])
            for signature, _ in candidate.matches
        }
        assert found <= expected
        assert {item for item in expected - found if "\0" not in data.decode("latin-1")} == set()


@given(LOGS, st.integers(1, 64))
@settings(max_examples=100, deadline=None)
def test_where_blocks_are_cut_changes_nothing(data, size):
    """Candidates are the same for any size of block."""

    def candidates(blocks):
        return [(c.line_no, c.text) for c in unfolded(SCANNER, blocks)]

    assert candidates(data[n : n + size] for n in range(0, len(data), size)) == candidates([data])


@given(LOGS)
@settings(max_examples=50, deadline=None)
def test_compression_changes_nothing(data):
    """A log and its .gz give the same rows and the same digest."""
    assert read(gzip.compress(data)) == read(data) or codecs._recognise(data)


@given(LOGS)
@settings(max_examples=50, deadline=None)
def test_ids_of_a_source_are_unique(data):
    """No two events of one source share line, signature and node."""
    rows, _ = read(data)
    keys = ("line_no", "signature", "node")
    ids = [tuple(row.values.get(key) for key in keys) for row in rows if row.table == "events"]
    assert len(ids) == len(set(ids))


@given(st.text(max_size=200), st.integers(0, 200))
@settings(max_examples=300, deadline=None)
def test_peeling_keeps_the_end_of_any_text(line, hit):
    """A prefix is taken off the front; what is left ends as the line does."""
    prefix = envelopes.peel(line, None, hit)
    assert prefix.text == "" or line.endswith(prefix.text[-1])
    assert len(prefix.text) <= len(line)
