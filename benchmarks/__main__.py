"""`python -m benchmarks`: runs the parts, prints what they measured, and keeps it in a page if one is named."""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import again, large, memory, scaling, speed, stages
from benchmarks.bench import Bench
from benchmarks.contenders import write_patterns
from benchmarks.data import Data
from benchmarks.measure import ROOT, BenchmarkError
from benchmarks.page import Bar, Section, around, bar_section, keep, machine, markdown, merged
from benchmarks.projection import projection

PARTS: Mapping[str, Callable[[Bench], Section]] = {
    "comparison": speed.comparison,
    "compressed": speed.compressed,
    "storms": speed.storms,
    "workers": scaling.workers,
    "sizes": scaling.sizes,
    "stages": stages.stages,
    "memory": memory.memory,
    "again": again.again,
    "start": again.start,
    "large": large.large,
}

_UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for; what goes on is told on stderr."""
    asked = _parser().parse_args(arguments)
    if asked.output:
        around(asked.output)
    data = Data(asked.data.resolve(), asked.size)
    about = machine()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        bench = Bench(data, asked.runs, *write_patterns(Path(folder)), asked.big)
        parts = [_timed(name, bench) for name in asked.only or PARTS]
    bars = bar_section(parts)
    bars.text = _what_was_run(asked.size, asked.runs, asked.only or PARTS)
    measured = markdown([about, bars, *parts, projection(merged(parts))])
    print(measured)
    if asked.output:
        keep(asked.output, measured)


def _what_was_run(size: int, runs: int, parts: Iterable[str]) -> str:
    """The sentence above the bars; what was left out is no bar that held."""
    said = f"With {size / 1e6:,.0f} MB of plain syslog; each command ran {runs} time(s), and medians count."
    left = sorted(set(PARTS) - set(parts))
    return f"{said} Not in this run: {', '.join(left)}." if left else said


def _timed(name: str, bench: Bench) -> Section:
    """One part; one that fails is a bar that did not hold, and the others go on."""
    started = time.perf_counter()
    try:
        section = PARTS[name](bench)
    except BenchmarkError as error:
        section = Section(name.capitalize(), f"Failed: {error}", bars=[Bar(f"part {name}", "runs", "failed", False)])
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return section


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", type=_size, default=10**9, help="bytes of the plain file, as 50MB [default: 1GB]")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command, of which the median counts")
    parser.add_argument("--only", action="append", choices=PARTS, metavar="NAME", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--big", action="store_true", help="read ten times the plain file, too, for its memory")
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "benchmarks", help="where the data is kept")
    parser.add_argument("--output", type=Path, help="a page that keeps the result between its marks")
    return parser


def _size(text: str) -> int:
    """A number of bytes, with a unit or none."""
    found = re.fullmatch(r"(\d+)\s*([kMG]?B?)", text)
    if not found or found[2] not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no size like 300MB")
    return int(found[1]) * _UNITS[found[2]]


if __name__ == "__main__":
    main()
