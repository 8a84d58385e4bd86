"""Sources of lines: where signatures match, a line becomes rows; the headers of its lines tell about the source."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from msgspec.structs import replace

from incidentlab import envelopes, events
from incidentlab.envelopes import Envelope
from incidentlab.folding import Kind, Storms
from incidentlab.model import Prefix, Stamp
from incidentlab.neighbours import Neighbours
from incidentlab.pages import HEAD_BYTES, LINE_BYTES, LOOK_AHEAD, Page, decoded
from incidentlab.parts import Part, heard
from incidentlab.scan import Candidate, Scanner
from incidentlab.tally import Tally

SAMPLE_LINES = 200
"""How many lines at both ends of a source are asked for hosts, stamps and channels."""


class Search:
    """Reading a source line by line where signatures match."""

    def __init__(self, scanner: Scanner, head: Envelope | None, tally: Tally, earlier: Iterable[bytes] = ()) -> None:
        self._scanner = scanner
        self._head = head
        self._tally = tally
        self._channel = (head.channel or "daemon") if head else "job"
        self._witness = Witness()
        self._storms = Storms()
        self._neighbours = Neighbours(lambda text: envelopes.peel(text, head).stamp, earlier)

    def read(self, found: Iterable[Page]) -> Iterator[Part]:
        """Make rows of the pages; what they say of the source, in parts, of which the last may change when it grows."""
        page = None
        account = Account()
        for page in found:
            if page.following < LOOK_AHEAD and not account.is_tail:
                if account.first and not account.is_open:  # within an endless line nothing can be cut
                    yield self._part(account)
                    account = Account()
                account.is_tail = True
            if page.first_line == 1 and not page.start:
                self._sample([line for _, line in islice(page.lines_from(0), SAMPLE_LINES)], 1)
            self._page(page)
            if page.first_line > 0:
                account.add(page)
            else:
                self._witness, self._storms = Witness(), Storms()
        if page and not page.following:
            fresh = SAMPLE_LINES if page.start else max(page.last_line - SAMPLE_LINES, 0)
            count = min(fresh, SAMPLE_LINES)
            self._tell()
            lines = [line for _, line in islice(page.lines_before(len(page.data)), count)][::-1]
            self._sample(lines, page.last_line - len(lines) + 1)
        if account.first:
            yield self._part(account)

    def _page(self, page: Page) -> None:
        for candidate in self._scanner.candidates(page, self._storms):
            self._candidate(page, candidate)
        covered, kept = self._storms.put_aside()
        self._tally.repeated(covered)
        for line_no, line, kind in kept:
            self._again(kind, line_no, line, 1)
        # A line without an end may go on, and is counted once.
        self._tally.done(page.last_line - (not page.data.endswith(b"\n")))
        self._neighbours.end(page)
        if self._storms.is_full:
            self._tell()

    def _part(self, account: "Account") -> Part:
        self._tell()
        self._tally.done(sys.maxsize)
        said, self._witness = self._witness, Witness()
        matched, unparsed = self._tally.taken()
        name = self._head.name if self._head else "plain"
        channel = self._head.channel if self._head else "job"
        return Part(
            start=account.first.start if account.first else 0,
            line_feeds=account.line_feeds,
            is_open=account.is_open,
            is_tail=account.is_tail,
            format=name,
            channel=self._channel,
            channels={} if channel else said.channels,
            matched=matched,
            unparsed=unparsed,
            **said.columns,
        )

    def _sample(self, lines: Iterable[bytes], first_line: int) -> None:
        for line_no, line in enumerate(lines, first_line):
            self._witness.hear(envelopes.peel(decoded(line[:HEAD_BYTES]), self._head), line_no)

    def _candidate(self, page: Page, candidate: Candidate) -> None:
        hit = min(found.start for _, found in candidate.matches)
        prefix = envelopes.peel(candidate.text, self._head, hit)
        self._witness.hear(prefix, candidate.line_no)
        own = prefix.stamp
        if own:
            self._neighbours.note(page.offset + candidate.place, own)
        else:
            prefix = replace(prefix, stamp=self._neighbours.lend(page, candidate.place))

        def following(count: int) -> list[str]:
            lines = (decoded(line[:LINE_BYTES]) for _, line in islice(page.lines_after(candidate.place), count - 1))
            return [prefix.text, *(envelopes.peel(line, self._head).text for line in lines)]

        rows = events.rows(candidate, prefix, prefix.channel or self._channel, following)
        for row in rows:
            self._tally.row(row)
        if not candidate.said:
            return
        if candidate.is_single or not own:
            self._storms.add_single(candidate.said)
        else:
            self._storms.add(candidate.said, (prefix.channel, rows, len(candidate.text) - hit))

    def _tell(self) -> None:
        """The last line of each kind becomes the rows of the first, at its own time, and stands for the others."""
        for kind in self._storms.told():
            self._again(kind, kind.line_no, kind.line, kind.others)

    def _again(self, kind: Kind, line_no: int, line: bytes, count: int) -> None:
        """A line that is like the first of its kind, and stands for `count` such lines."""
        channel, rows, behind = kind.rows
        text = decoded(line)
        stamp = envelopes.peel(text, self._head, len(text) - behind).stamp
        self._witness.count(channel, stamp, line_no, count)
        if line_no > 0:
            for row in rows:
                self._tally.emit(events.repeated(row, line_no, stamp, count))


@dataclass(slots=True)
class Account:
    """The pages of a part as they are read: the first, their line feeds, and whether the last line has no end."""

    is_tail: bool = False
    first: Page | None = None
    line_feeds: int = 0
    is_open: bool = False

    def add(self, page: Page) -> None:
        """The next page."""
        self.first = self.first or page
        self.line_feeds += page.line_at(len(page.data)) - page.first_line
        self.is_open = not page.data.endswith(b"\n")


class Witness:
    """What the headers of a source's lines say about the source."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        self._channels: Counter[str] = Counter()
        self._offsets: set[int] = set()
        self._first: tuple[int, Stamp] | None = None
        self._last: tuple[int, Stamp] | None = None

    def hear(self, prefix: Prefix, line_no: int) -> None:
        """Take note of one line."""
        if prefix.host:
            self._hosts.add(events.node_name(prefix.host) or prefix.host)
        self.count(prefix.channel, prefix.stamp, line_no, 1)
        if prefix.stamp and prefix.stamp.local_ts and prefix.stamp.utc_offset_s is not None:
            self._offsets.add(prefix.stamp.utc_offset_s)

    def count(self, channel: str | None, stamp: Stamp | None, line_no: int, lines: int) -> None:
        """Take note of so many lines that say alike, of which this is the last."""
        if channel:
            self._channels[channel] += lines
        if stamp and stamp.local_ts:
            if not self._first or line_no <= self._first[0]:
                self._first = line_no, stamp
            if not self._last or line_no >= self._last[0]:
                self._last = line_no, stamp

    @property
    def channels(self) -> dict[str, int]:
        """How many lines spoke for each channel."""
        return dict(sorted(self._channels.items()))

    @property
    def columns(self) -> dict[str, Any]:
        """What a `Part` keeps of it."""
        return {
            "hosts": heard(self._hosts),
            "offsets": heard(self._offsets),
            "first_local_ts": self._first[1].local_ts if self._first else None,
            "last_local_ts": self._last[1].local_ts if self._last else None,
            "has_year": self._first[1].has_year if self._first else None,
        }
