"""Sources of lines: where signatures match, a line becomes rows; the headers of its lines tell about the source."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from incidentlab import envelopes, events
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix, Stamp
from incidentlab.neighbours import Neighbours
from incidentlab.pages import HEAD_BYTES, LINE_BYTES, Page, decoded
from incidentlab.scan import Candidate, Scanner
from incidentlab.tally import Tally

SAMPLE_LINES = 200
"""How many lines at both ends of a source are asked for hosts, stamps and channels."""


class Search:
    """Reading a source line by line where signatures match."""

    def __init__(self, scanner: Scanner, head: Envelope | None, tally: Tally) -> None:
        self._scanner = scanner
        self._head = head
        self._tally = tally
        self._channel = (head.channel or "daemon") if head else "job"
        self._witness = Witness()
        self._neighbours = Neighbours(lambda text: envelopes.peel(text, head).stamp)

    def read(self, found: Iterable[Page]) -> dict[str, Any]:
        """Make rows of the pages of the source; what its lines say of it as a whole comes back."""
        page = None
        for page in found:
            if page.first_line == 1:
                self._sample(line for _, line in islice(page.lines_from(0), SAMPLE_LINES))
            for candidate in self._scanner.candidates(page):
                self._candidate(page, candidate)
            self._tally.page(page)
        if page:
            self._sample(reversed([line for _, line in islice(page.lines_before(len(page.data)), SAMPLE_LINES)]))
        channel = self._witness.channel or self._channel
        return {
            "format": self._head.name if self._head else "plain",
            "channel": self._head.channel or channel if self._head else "job",
            **self._witness.columns,
        }

    def _sample(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._witness.hear(envelopes.peel(decoded(line[:HEAD_BYTES]), self._head))

    def _candidate(self, page: Page, candidate: Candidate) -> None:
        hit = min(found.start() for _, found in candidate.matches)
        prefix = envelopes.peel(candidate.text, self._head, hit)
        self._witness.hear(prefix)
        if prefix.stamp:
            self._neighbours.note(page.offset + candidate.place, prefix.stamp)
        else:
            prefix = replace(prefix, stamp=self._neighbours.lend(page, candidate.place))

        def following(count: int) -> list[str]:
            lines = (decoded(line[:LINE_BYTES]) for _, line in islice(page.lines_after(candidate.place), count - 1))
            return [prefix.text, *(envelopes.peel(line, self._head).text for line in lines)]

        for row in events.rows(candidate, prefix, prefix.channel or self._channel, following):
            self._tally.row(row)


class Witness:
    """What the headers of a source's lines say about the source."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        self._channels: Counter[str] = Counter()
        self._offsets: set[int] = set()
        self._first: Stamp | None = None
        self._last: Stamp | None = None

    def hear(self, prefix: Prefix) -> None:
        """Take note of one line, in the order of the file."""
        if prefix.host:
            self._hosts.add(events.node_name(prefix.host) or prefix.host)
        if prefix.channel:
            self._channels[prefix.channel] += 1
        if prefix.stamp and prefix.stamp.local_ts:
            self._first = self._first or prefix.stamp
            self._last = prefix.stamp
            if prefix.stamp.utc_offset_s is not None:
                self._offsets.add(prefix.stamp.utc_offset_s)

    @property
    def channel(self) -> str | None:
        """The kernel's if it was heard, for its silence counts; else the most frequent."""
        ranked = sorted(self._channels.items(), key=lambda item: (item[0] != "kernel", -item[1], item[0]))
        return ranked[0][0] if ranked else None

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of `sources`; a host or offset only if all lines agree."""
        return {
            "host": next(iter(self._hosts)) if len(self._hosts) == 1 else None,
            "first_local_ts": self._first.local_ts if self._first else None,
            "last_local_ts": self._last.local_ts if self._last else None,
            "utc_offset_s": next(iter(self._offsets)) if len(self._offsets) == 1 else None,
            "has_year": self._first.has_year if self._first else None,
        }
