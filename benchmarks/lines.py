"""Lines that hit: samples of the signatures put into the chatter of hosts, and storms of the simulated faults."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, product
from zoneinfo import ZoneInfo

from incidentlab import envelopes
from incidentlab.scan import compiled
from incidentlab.signatures import Signature, load_signatures
from incidentlab.simulate import stamps
from incidentlab.simulate.faults import load_faults
from incidentlab.simulate.fleet import GPUS_PER_NODE, Fleet
from incidentlab.simulate.scenario import FleetSpec
from incidentlab.simulate.scene import bystander, words

HOST_CHANNELS = {"kernel", "daemon", "bmc"}
"""Whose lines a host's syslog holds."""

STORM_START_S = 1_768_000_000.0
STORM_LINES_PER_S = 5_000
STORM_HOSTS = 4
"""A storm is a few hosts that say the same, not a fleet that says everything."""

_UTC = ZoneInfo("UTC")
_OWN_CLOCK = re.compile(r"^\[ *[\d.]+\] ")
_ARBITRARY = re.compile(r"(?<=pid=)\d+|\b\d{6,}\b|(?<=0x)[0-9a-f]{6,}")
"""Numbers of a sample that differ from one event to the next."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that `signature` finds, and the tag of the program that writes it."""

    signature: Signature
    tag: str
    text: str

    def line(self, header: str, rng: random.Random) -> str:
        """A line behind `header` (stamp and host), with other numbers each time, if the signature still finds it."""
        clock = f"[{rng.uniform(1e5, 1e6):.6f}] " if self.tag == "kernel" else ""
        begin = f"{header} {self.tag}: {clock}"
        varied = begin + _ARBITRARY.sub(lambda found: _digits(len(found[0]), rng), self.text)
        return varied if compiled(self.signature.pattern).search(varied.encode()) else begin + self.text


def _digits(length: int, rng: random.Random) -> str:
    """A number of as many digits, without a zero in front."""
    return str(rng.randrange(10 ** (length - 1), 10**length))


def sample_hits() -> list[Hit]:
    """One hit for each signature of a host's lines whose record is one line, from the samples that it must catch."""
    found: list[Hit] = []
    for signature in load_signatures():
        if signature.block or not HOST_CHANNELS.intersection(signature.channels):
            continue
        sample = signature.catches[0]
        said = envelopes.peel(sample, envelopes.recognise(sample))
        tag = "kernel" if "kernel" in signature.channels else said.tag or "daemon"
        hit = Hit(signature, tag, _OWN_CLOCK.sub("", said.text))
        if compiled(signature.pattern).search(f"{tag}: {hit.text}".encode()):
            found.append(hit)
    return found


def storm(seed: int, *, is_varied: bool) -> Iterator[str]:
    """Kernel lines without end, each a hit: what every GPU of a few hosts says of its faults, again and again.

    Only the stamps advance, unless the storm `is_varied`: then its numbers are drawn anew for each line.
    """
    rng = random.Random(f"{seed}/storm")
    fleet = Fleet.build(FleetSpec(nodes=STORM_HOSTS, max_skew_s=0.0), seed, STORM_START_S)
    texts = _varied_texts if is_varied else _repeated_texts
    for number, (host, text) in enumerate(texts(fleet, rng)):
        ts = STORM_START_S + number / STORM_LINES_PER_S
        when = stamps.rfc3164(stamps.local(ts, _UTC))
        yield f"{when} {host} kernel: [{fleet.uptime(host, ts):12.6f}] {text}"


def _repeated_texts(fleet: Fleet, rng: random.Random) -> Iterator[tuple[str, str]]:
    """(host, text) of one round over all GPUs and faults, round after round."""
    fixed = [
        (host, text.format_map(words(replace(bystander(host, STORM_START_S, "550", rng), gpu=gpu), fleet, rng)))
        for text, host, gpu in product(_storm_texts(), fleet.nodes, range(GPUS_PER_NODE))
    ]
    rng.shuffle(fixed)
    while True:
        yield from fixed


def _varied_texts(fleet: Fleet, rng: random.Random) -> Iterator[tuple[str, str]]:
    """(host, text), no two of which are the same: each has a number of its own."""
    known = {host: words(bystander(host, STORM_START_S, "550", rng), fleet, rng) for host in fleet.nodes}
    texts = [text for text in _storm_texts() if "{hex9}" in text]
    for number in count():
        host = fleet.nodes[number % len(fleet.nodes)]
        yield host, texts[number % len(texts)].format_map({**known[host], "hex9": f"{number:09x}"})


def _storm_texts() -> list[str]:
    """The templates of the driver's numbered errors in the simulated faults."""
    traces = [trace for fault in load_faults().values() for trace in fault.lines]
    return sorted({trace.text for trace in traces if trace.by == "kernel" and "NVRM: Xid" in trace.text})
