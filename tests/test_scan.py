"""The scan finds the lines that matter, numbers them rightly, and survives what files hold."""

import re

import pytest
from intake_samples import ALL, STEP, WATCHDOG, XID, signature

from incidentlab import pages as pages_module
from incidentlab import scan
from incidentlab.folding import Storms
from incidentlab.pages import HEAD_BYTES, LINE_BYTES, Page, pages
from incidentlab.scan import Re2, Scanner

ENGINES = [pytest.param(scan.Hyperscan, id="hyperscan"), pytest.param(Re2, id="re2")]
HIT = b"NVRM: Xid (PCI:0000:1b:00): 79, x"


def found(data, signatures=ALL, engine=None, block=None):
    """(line number, text, names of signatures) of every candidate in `data`, read in blocks of `block` bytes."""
    size = block or len(data) or 1
    blocks = [data[place : place + size] for place in range(0, len(data), size)]
    scanner = Scanner(signatures, engine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_DENSE_BYTES", 1)
        return [
            (candidate.line_no, candidate.text, sorted(found[0].name for found in candidate.matches))
            for page in pages(blocks)
            for candidate in scanner.candidates(page, Storms())
        ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_is_found_with_its_number_and_all_its_signatures(engine):
    """Chatter is passed over; a hit has the number of its line and every signature that matches it."""
    data = b"chatter\n" * 3 + HIT + b"\n" + b"chatter\n"
    assert found(data, engine=engine) == [(4, HIT.decode(), ["xid", "xid-bus"])]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("block", [1, 7, 40, 4096])
def test_lines_that_straddle_blocks_are_whole(engine, block):
    """Where the blocks are cut changes nothing."""
    data = b"".join(b"chatter %d\n" % n + HIT + b"\n" for n in range(20)) + HIT
    assert found(data, engine=engine, block=block) == found(data)
    assert [line for line, _, _ in found(data, engine=engine, block=block)] == [*range(2, 41, 2), 41]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pattern_does_not_reach_into_the_next_line(engine):
    """A class like `[^x]` matches line ends in bytes; a record is one line all the same, and hides no other."""
    across = signature("across", r"begin[^x]*end")
    assert found(b"begin\nend\nbegin end\n", [across], engine) == [(3, "begin end", ["across"])]


@pytest.mark.parametrize("engine", ENGINES)
def test_line_ends_of_windows_and_missing_last_ones(engine):
    """CR before LF is part of the line end, and a last line needs none."""
    assert found(HIT + b"\r\n" + HIT, engine=engine) == [(n, HIT.decode(), ["xid", "xid-bus"]) for n in (1, 2)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_drawn_again_and_again_is_one(engine):
    """A bar that stands still costs no row a drawing; the same text on another line is another."""
    data = b"step 1 loss 2\r" * 100 + b"step 2 loss 2\r\n" + b"step 2 loss 2\n"
    assert [(line, text) for line, text, _ in found(data, engine=engine)] == [
        (1, "step 1 loss 2"),
        (1, "step 2 loss 2"),
        (2, "step 2 loss 2"),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_states_of_a_progress_bar_are_texts_of_one_line(engine):
    """Each state between carriage returns stands for itself; what follows the last one is the message."""
    data = b"chatter\n 1%|  | step 1 loss 2.5\r 2%|  | step 2 loss 2.4\r" + HIT + b"\nchatter\n"
    assert found(data, engine=engine) == [
        (2, " 1%|  | step 1 loss 2.5", ["step"]),
        (2, " 2%|  | step 2 loss 2.4", ["step"]),
        (2, HIT.decode(), ["xid", "xid-bus"]),
    ]


def test_holes_and_bytes_that_are_no_utf8():
    """NUL bytes of a crash vanish from the text, other odd bytes are shown."""
    assert found(bytes(300) + HIT + b" caf\xe9\n") == [(1, HIT.decode() + " caf\\xe9", ["xid", "xid-bus"])]


def test_terminal_colours_are_removed_before_the_search():
    """`dmesg --color` puts escapes between the words of a message."""
    data = b"\x1b[32m[ 1.000000] \x1b[0m\x1b[33mNVRM: \x1b[0m\x1b[31mXid (PCI:0000:1b:00): 79, x\x1b[0m\n"
    assert [text for _, text, _ in found(data)] == ["[ 1.000000] NVRM: Xid (PCI:0000:1b:00): 79, x"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_huge_line_is_cut_and_counted_once(engine):
    """Of 5 MB the beginning and the place of the hit are kept."""
    data = b"head of line " + b"a" * 3_000_000 + HIT + b"b" * 2_000_000 + b"\n" + HIT + b"\n"
    (first, text, names), (second, _, _) = found(data, engine=engine, block=1 << 20)
    assert (first, second, names) == (1, 2, ["xid", "xid-bus"])
    assert text.startswith("head of line aaa")
    assert HIT.decode() in text
    assert len(text) <= HEAD_BYTES + LINE_BYTES + 5


def test_a_line_without_an_end_takes_bounded_memory(monkeypatch):
    """An endless line is searched in parts, and what lies across two parts is found."""
    monkeypatch.setattr(pages_module, "GRID_BYTES", 100_000)
    data = b"a" * 99_990 + HIT + b"c" * 300_000 + b"\n" + HIT
    assert {line for line, _, _ in found(data, block=50_000)} == {1, 2}
    assert max(len(page.data) for page in pages(data[n : n + 50_000] for n in range(0, len(data), 50_000))) < 200_000


def test_neighbouring_lines_are_seen_across_pages():
    """Both directions end where the window ends, not where the page does."""
    first, second, third = pages([b"one\ntwo\n", b"three\nfour\n", b"five\n"])
    assert [line for _, line in second.lines_before(0)] == [b"two\n", b"one\n"]
    assert [line for _, line in second.lines_after(0)] == [b"four\n", b"five\n"]
    assert (first.first_line, second.first_line, third.first_line, third.last_line) == (1, 3, 5, 5)


def test_both_engines_propose_the_same_on_every_sample():
    """Where hyperscan cannot be installed the answers are the same."""
    data = b"\n".join(
        [
            HIT,
            b"step: 1,024 loss: 2.5",
            b"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 99 milli",
            b"Nodes gpu[1-3] not responding, setting DOWN",
            b"gpu1:1:2 [0] NCCL INFO transport/net.cc:1298 -> 6",
        ]
        * 3
    )
    assert found(data, engine=scan.Hyperscan) == found(data, engine=Re2)
    assert len(found(data)) == 15


def test_the_patterns_of_these_tests_are_matched_as_python_does():
    """The scan is an optimisation of asking each line each pattern."""
    lines = [HIT, b"step 1 loss 2", b"NVRM: Xid (PCI:0000:1b:00): , x", b"WorkNCCL(OpType=A ran for 1 milli"]
    expected = [
        number
        for number, line in enumerate(lines, 1)
        if any(re.search(s.pattern, line.decode(), re.ASCII) for s in (XID, STEP, WATCHDOG))
    ]
    assert [line for line, _, _ in found(b"\n".join(lines), (XID, STEP, WATCHDOG))] == expected == [1, 2]


def test_where_hyperscan_is_missing_re2_serves(monkeypatch):
    """The choice is made by what can be imported."""
    monkeypatch.setattr(scan, "hyperscan", None)
    assert isinstance(Scanner(ALL)._engine, Re2)
    assert found(HIT) == [(1, HIT.decode(), ["xid", "xid-bus"])]


def test_without_signatures_nothing_is_found():
    """An empty set of patterns is no error."""
    assert found(HIT, ()) == []


def test_a_pattern_that_would_take_for_ever_decides_at_once():
    """The time of the decision grows with the line alone: a backtracking search would need 2 to the 60th steps."""
    slow = signature("slow", r"(a+)+b|stop")
    assert found(b"a" * 60 + b" stop\n", (slow,)) == [(1, "a" * 60 + " stop", ["slow"])]


def test_a_pattern_beyond_hyperscan_is_searched_by_re2():
    """A site's own pattern that only one of the engines takes is no reason to stop."""
    end = signature("end", r"(?:stop$)\s")
    assert isinstance(Scanner((end,))._engine, Re2)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?m:^)[0-9]+ of [0-9]+ lost", "bar 3%\r5 of 8 lost"),
        (r"tep \d+.{1,20}?oss", "Step 45 |██████████| loss"),
        (r"(?i)übertemperatur", "die ÜBERTEMPERATUR"),
        (r"\d ?°?C!", "85 C!"),
    ],
)
def test_a_pattern_without_a_trigger_finds_what_it_means(engine, pattern, text):
    """It is meant in characters, and begins where a state of a progress bar begins."""
    chosen = Scanner((signature("own", pattern),), engine)
    assert [candidate.line_no for candidate in chosen.candidates(Page(f"x\n{text}\n".encode(), 1, 0), Storms())] == [2]


def test_lines_before_a_place_stop_where_they_are_known():
    """Lines that were looked at before are not cut out again; one that begins before the limit is left out."""
    page = Page(b"one\ntwo\nthree\n", first_line=1, offset=100)
    assert list(page.lines_before(14, 104)) == [(108, b"three\n"), (104, b"two\n")]
    assert list(page.lines_before(14, 105)) == [(108, b"three\n")]


@pytest.mark.parametrize(("place", "start"), [(0, 0), (3, 0), (4, 4), (50_000, 9), (99_999, 9)])
def test_the_begin_of_a_text_is_found_however_far_it_is(place, start):
    """Either end of a line may be rare; a place on a line end belongs to the line that it ends."""
    data = b"abc\nabcd\r" + b"x" * 100_000
    assert scan._begin_of_text(data, place) == start
