"""Where a source is cut into ranges, and when it is read on, does not show: not in rows, counts or digest."""

import io
from itertools import takewhile

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st
from intake_samples import ALL, folded

from incidentlab import codecs, content, pages, parts, reading
from incidentlab.scan import Scanner

BLOCK, GRID = 64, 256
SCANNER = Scanner(ALL)
XID = b"NVRM: Xid (PCI:0000:1b:00): 79, x"
ENTRY = b'{"__REALTIME_TIMESTAMP":"1772719402123456","_HOSTNAME":"g1","_TRANSPORT":"kernel","MESSAGE":"%s"}' % XID
LINES = st.sampled_from(
    [
        XID,
        b"Mar  5 14:03:22 gpu1 kernel: [12.000001] " + XID,
        b"Mar  5 14:03:23 gpu2 sshd[5]: hello",
        b"Mar  5 14:03:24 gpu2 systemd[1]: \x1b[31mStarted\x1b[0m Session",
        b"[2026-03-05T14:03:22.123] error: Nodes gpu[1-3] not responding, setting DOWN",
        b"Root Cause (first observed failure):",
        b"[0]:",
        b"  time      : 2026-03-05_14:03:22",
        b"  rank      : 12 (local_rank: 4)",
        b"chatter without a time",
        b"x" * 150,
        b"y" * 700 + XID,
        b'{"__REALTIME_TIMESTAMP":"1772719402123456","_HOSTNAME":"gpu1","_TRANSPORT":"kernel","MESSAGE":"'
        + XID
        + b'"}',
        b"a\rstep 5 loss 2.5\rstep 6 loss 2.4",
        b"",
    ]
)
LOGS = st.tuples(st.lists(LINES, min_size=1, max_size=60).map(b"\n".join), st.sampled_from([b"", b"\n"])).map(b"".join)


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """A grid that small texts cross many times."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (codecs, content, pages, reading):
            patch.setattr(module, "BLOCK_BYTES", BLOCK)
        for module in (content, pages):
            patch.setattr(module, "GRID_BYTES", GRID)
            patch.setattr(module, "HEAD_BYTES", 16)
        yield


def whole(data):
    """Rows and parts of a source that is read at once."""
    rows = []
    found = reading.read(codecs.open_stream(io.BytesIO(data)), SCANNER, rows.append)
    return [row.values for row in rows], found


def by_ranges(data, cuts, known=()):
    """The same, read in ranges; rows get the lines before their range."""
    rows, found = [], list(known)
    for start, stop in zip(cuts, [*cuts[1:], None], strict=True):
        some = []
        lines = sum(part.line_feeds for part in found)
        found += reading.read_range(io.BytesIO(data), start, stop, SCANNER, some.append)
        rows += [{**row.values, "line_no": row.values["line_no"] + lines} for row in some]
    return rows, found


@given(LOGS, st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_ranges_together_are_the_whole(data, grids):
    """Rows, lines, hosts, times and digest are those of one reading."""
    if not reading.is_cuttable(data):
        return
    rows, found = whole(data)
    cuts = [0, *range(grids * GRID, len(data), grids * GRID)]
    cut_rows, cut_found = by_ranges(data, cuts)
    assert folded(cut_rows) == folded(rows)
    assert parts.joined(cut_found) == parts.joined(found)


@given(LOGS, st.data())
@settings(max_examples=300, deadline=None)
def test_a_source_that_has_grown_is_read_on(data, draw):
    """What was known of the beginning and the new range give what a reading of everything gives."""
    before = data[: draw.draw(st.integers(0, len(data)))]
    if not reading.is_cuttable(data) or not reading.is_cuttable(before):
        return
    old_rows, old = whole(before)
    known = list(takewhile(lambda part: not part.is_tail, old))
    if not known or old[0].format != whole(data)[1][0].format:
        return
    prefix = parts.joined(known)
    rows, found = by_ranges(data, [prefix.bytes], [prefix])
    kept = [row for row in old_rows if row["line_no"] <= prefix.line_feeds]
    everything, expected = whole(data)
    assert folded(kept + rows) == folded(everything)
    assert parts.joined(found) == parts.joined(expected)


def test_the_digest_of_a_small_source_is_that_of_its_bytes():
    """People can check it with `b3sum`; a longer one is the chain of the digests of its blocks."""
    one, two = b"a\n" * 20, b"b\n" * (BLOCK // 2) + b"c\n"
    assert parts.row(parts.joined(whole(one)[1]))["digest"] == blake3(one).hexdigest()
    first, last = blake3(two[:BLOCK]).digest(), blake3(two[BLOCK:]).digest()
    assert parts.row(parts.joined(whole(two)[1]))["digest"] == blake3(first + last).hexdigest()


@given(LOGS)
@settings(max_examples=50, deadline=None)
def test_joining_is_the_same_in_any_grouping(data):
    """Parts can be joined as they come."""
    if not reading.is_cuttable(data):
        return
    _, found = by_ranges(data, [0, *range(GRID, len(data), GRID)])
    left = found[0]
    for part in found[1:]:
        left = parts.joined([left, part])
    right = parts.joined([found[0], parts.joined(found[1:])]) if len(found) > 1 else found[0]
    assert left == right == parts.joined(found)
