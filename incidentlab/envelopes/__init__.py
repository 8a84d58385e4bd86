"""What stands in front of a message: headers, labels and stamps, one format a file, found by walking the package.

A line in a collected file is wrapped several times. `peel` takes the layers off from the outside in and merges what
each says; `recognise` tells by content which format heads a file.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from msgspec.structs import replace

from incidentlab.model import Prefix, Stamp

MAX_LAYERS = 8
"""More layers than any collector wraps around a line."""

HEAD_LINES = 400
"""How many lines of a file's head are tried."""

LEAST_SHARE = 0.2
"""A format that fits fewer of the head's lines does not head the file: it only occurs in it."""

Rewriter = Callable[[bytes, bool], bytes]
"""Whole lines, and whether they are the last -> as many lines, one record each; some may be held back till then."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """One format of a prefix.

    `peel` gives the line without this prefix, or None if it does not begin with it. `channel` is None where `peel`
    decides it or an inner layer does. A format that is not `outer` never heads a file; one that is `weak` has too
    common a shape to be believed in a file that it does not head. `starts` are the characters it can begin with, if
    they are few. `glue` finds where such a prefix begins within a line. A format whose records span lines is known by
    the `opening` of the file, and `rewriter` makes a function that turns records into lines; `is_line_by_line` says
    that it keeps nothing from one line to the next. `samples`: raw text -> what its prefix must say.
    """

    name: str
    channel: str | None
    outer: bool
    peel: Callable[[str], Prefix | None]
    samples: tuple[tuple[str, dict[str, Any]], ...]
    weak: bool = False
    starts: str = ""
    glue: str = ""
    opening: str = ""
    rewriter: Callable[[], Rewriter] | None = None
    is_line_by_line: bool = False

    @property
    def is_cuttable(self) -> bool:
        """True if a file of this format may be read in parts that begin at any line."""
        return self.rewriter is None or self.is_line_by_line


@cache
def load_envelopes() -> tuple[Envelope, ...]:
    """Every envelope of this package, by name."""
    found: list[Envelope] = []
    for info in iter_modules(__path__):
        module = import_module(f"{__name__}.{info.name}")
        found.extend(getattr(module, "ENVELOPES", ()))
        found.extend([module.ENVELOPE] if hasattr(module, "ENVELOPE") else [])
    return tuple(sorted(found, key=lambda envelope: envelope.name))


def recognise(head: str) -> Envelope | None:
    """The format that heads a file beginning with `head`: it fits most of the lines, then takes most off them."""
    lines = [line.rstrip("\r") for line in head.split("\n")[:HEAD_LINES] if line.strip()]
    outer = [envelope for envelope in load_envelopes() if envelope.outer]
    for envelope in outer:
        if envelope.opening and re.match(envelope.opening, head):
            return envelope
    scores = [(*_fit(envelope, lines), envelope) for envelope in outer if not envelope.opening]
    fitting, _, best = max(scores, key=lambda score: score[:2])
    return best if fitting and fitting >= LEAST_SHARE * len(lines) else None


def _fit(envelope: Envelope, lines: Sequence[str]) -> tuple[int, int]:
    """How many lines begin with this prefix, and how many characters it takes off them."""
    peeled = [(line, prefix) for line in lines if (prefix := envelope.peel(line))]
    return len(peeled), sum(len(line) - len(prefix.text) for line, prefix in peeled)


def peel(line: str, head: Envelope | None = None, hit: int = 0) -> Prefix:
    """All layers taken off `line`, as found in a file headed by `head`.

    `hit` is where the part of interest begins: a prefix that is glued into the line before it (behind a progress bar,
    or quoted by another writer) is taken off too. The outermost layer decides channel, host and stamp, the innermost
    the rank; seconds since boot are kept from the kernel's own stamp.
    """
    said = _layers(line, head)
    before = hit - len(line) + len(said.text)
    if before <= 0 or said.channel == "kernel":
        return said
    glued = _glued(said.text, before)
    if not glued:
        return said
    text = said.text[glued:]
    return _layers(text, None, replace(said, text=text))


def _glued(text: str, hit: int) -> int:
    """Where the last run of adjoining prefixes before `hit` begins within `text`; 0 if there is none."""
    start = end = 0
    for found in _glue().finditer(text, 0, hit):
        start = start if found.start() == end else found.start()
        end = found.end()
    return start


def _layers(text: str, head: Envelope | None, said: Prefix | None = None) -> Prefix:
    """What the layers of `text` say, inside of what was `said` before."""
    for _ in range(MAX_LAYERS):
        inner = head.peel(text) if head else None
        inner = inner or _tightest(text)
        if inner is None:
            break
        said = _merged(said, inner) if said else inner
        if said.channel == "kernel":
            break  # the kernel puts nothing between its header and its text
        text, head = said.text, None
    return said or Prefix(text)


def _tightest(text: str) -> Prefix | None:
    """The reading of the beginning of `text` that takes the most off it."""
    readings = [prefix for peeled in _believed(text[:1]) if (prefix := peeled(text))]
    return min(readings, key=lambda prefix: len(prefix.text), default=None)


@cache
def _believed(first: str) -> tuple[Callable[[str], Prefix | None], ...]:
    """The envelopes that can begin with the character `first` and need not head a file to be believed."""
    fitting = (envelope for envelope in load_envelopes() if not envelope.weak)
    return tuple(envelope.peel for envelope in fitting if not envelope.starts or first in envelope.starts)


@cache
def _glue() -> re.Pattern[str]:
    return re.compile("|".join(envelope.glue for envelope in load_envelopes() if envelope.glue), re.ASCII)


def _merged(outer: Prefix, inner: Prefix) -> Prefix:
    return Prefix(
        text=inner.text,
        stamp=_stamp(outer.stamp, inner.stamp),
        channel=outer.channel or inner.channel,
        host=outer.host or inner.host,
        tag=outer.tag or inner.tag,
        job_id=outer.job_id or inner.job_id,
        rank=outer.rank if inner.rank is None else inner.rank,
        gpu_index=outer.gpu_index if inner.gpu_index is None else inner.gpu_index,
        fields={**inner.fields, **outer.fields},
    )


def _stamp(outer: Stamp | None, inner: Stamp | None) -> Stamp | None:
    """The outer stamp, or the inner one if that alone names an instant; the kernel's clock from either."""
    if outer is None or inner is None:
        return outer or inner
    main, other = (inner, outer) if outer.local_ts is None else (outer, inner)
    return replace(main, uptime_s=other.uptime_s if main.uptime_s is None else main.uptime_s)
