"""CPU beside other programs: plain logs, compressed ones, and storms."""

from collections.abc import Iterable

from benchmarks import contenders
from benchmarks.bench import Bench, cost_table
from benchmarks.measure import Contender, Outcome, race
from benchmarks.page import Bar, Section, Table

ONCE = "whole file, once"
SLICE_BYTES = 1_000_000
"""What the slow ones read: they need seconds for it."""


def comparison(bench: Bench) -> Section:
    """Plain syslog into the warehouse, beside others that find the same lines or load all of them."""
    section = Section("Beside other programs", _COMPARISON)
    per_byte: dict[str, float] = {}
    counted: dict[str, list[Outcome]] = {}
    for what, field in _fields(bench).items():
        outcomes = race(field, 1 if what == ONCE else bench.runs)
        section.tables.append(cost_table(field, outcomes))
        counted.setdefault(field[0].input, []).extend(outcomes.values())
        for one in field:
            if one.name in outcomes:
                per_byte.setdefault(one.name, outcomes[one.name].median.cpu_s / one.size)
    section.bars += [_agreement(name, outcomes) for name, outcomes in counted.items()]
    ratios = {name: cost / per_byte["incidentlab"] for name, cost in per_byte.items()}
    rows = [(name, f"{ratio:.3g}") for name, ratio in ratios.items()]
    section.tables.append(Table(("CPU a byte", "x incidentlab's"), rows))
    for name in ("ripgrep, ASCII", "ripgrep"):
        if name in ratios:
            section.at_most(f"CPU against {name}", 1 / ratios[name], 1.0, " x")
    if lnav := ratios.get("lnav, into a table"):
        section.at_least("speed per CPU second against lnav, into a table", lnav, 12.0, " x")
    return section


def _fields(bench: Bench) -> dict[str, list[Contender]]:
    """Who reads the whole file, who takes minutes for it, and who reads a slice; the quickest of the others twice."""
    whole, piece = bench.data.plain(), bench.data.beginning(SLICE_BYTES)
    return {
        "whole file": [
            contenders.incidentlab(whole),
            contenders.ripgrep_bytes(whole, bench.patterns),
            contenders.lnav_view(whole),
            contenders.lnav_table(whole),
        ],
        ONCE: [contenders.ripgrep(whole, bench.patterns)],
        "slice": [
            contenders.ripgrep_bytes(piece, bench.patterns),
            contenders.grep(piece, bench.extended),
            contenders.plain_python(piece, bench.patterns),
        ],
    }


_COMPARISON = """\
One plain syslog of many hosts, one line in 200 a hit of one of some 200 signatures. incidentlab does all its work, up
to a warehouse with its answers, in one worker. ripgrep and grep count the lines that match one of all patterns; the
pages of the file that ripgrep maps count as its memory. lnav matches nothing: it splits all lines into columns, read
from its view or stored in a table. ripgrep as one would call it, with Unicode's sets of characters, runs once, because
so many patterns outgrow its caches. GNU grep and Python's `re` get the file's beginning alone: what they need before
the first line weighs more there, so their ratios are those of a slice. A search for literals would be quicker than
either, but finds other lines."""


def _agreement(what: str, outcomes: Iterable[Outcome]) -> Bar:
    """Whether all that match lines found as many."""
    hits = {outcome.found["hits"] for outcome in outcomes if "hits" in outcome.found}
    counts = " / ".join(f"{count:,}" for count in sorted(hits))
    return Bar(f"matching lines of {what}", "the same for all", counts, len(hits) == 1)


def compressed(bench: Bench) -> Section:
    """The same log from .gz, beside what decompression and reading cost on their own."""
    plain, zipped = bench.data.plain(), bench.data.zipped()
    field = [
        contenders.incidentlab(zipped, name="incidentlab, .gz"),
        contenders.inflate(zipped),
        contenders.incidentlab(plain, name="incidentlab, plain"),
    ]
    outcomes = race(field, bench.runs)
    ours, inflating, reading = (outcomes[one.name].median.cpu_s for one in field)
    section = Section(
        "From .gz",
        "The plain syslog again, as `gzip` packs it; what is read is the packed size.",
        [cost_table(field, outcomes)],
    )
    section.at_most("CPU of .gz against isal alone plus plain", ours / (inflating + reading), 1.5, " x")
    return section


def storms(bench: Bench) -> Section:
    """Files in which every line is a hit."""
    section = Section("Storms", _STORMS)
    for name, is_varied in (("repeated", False), ("no two alike", True)):
        path = bench.data.storm(is_varied=is_varied)
        field = [contenders.incidentlab(path), contenders.ripgrep_bytes(path, bench.patterns)]
        outcomes = race(field, bench.runs)
        section.tables.append(cost_table(field, outcomes))
        section.bars.append(_agreement(path.name, outcomes.values()))
        speed = field[0].size / 1e6 / outcomes["incidentlab"].median.cpu_s
        section.at_least(f"storm, {name}", speed, 40.0, " MB per CPU s")
    return section


_STORMS = """\
Every line is a numbered error of the GPU driver, from 4 hosts with 8 GPUs each. In the first storm the same messages
come again and again and only their stamps advance, as real storms do; in the second, a tenth as long, no two messages
are alike, and each becomes a row."""
