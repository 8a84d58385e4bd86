"""What was measured as Markdown: tables, bars and the machine, kept in a page between two marks."""

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

_LIBRARIES = ("duckdb", "polars", "hyperscan", "google-re2", "isal")
_PROGRAMS = (("ripgrep", "rg", "--version"), ("lnav", "lnav", "-V"), ("GNU grep", "grep", "--version"))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a head; unless it `is_text`, all columns but the first are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """What must hold, by our own word: the limit, what was measured, and whether it held."""

    name: str
    limit: str
    measured: str
    is_held: bool


@dataclass(slots=True)
class Section:
    """One part's outcome; `figures` are numbers that a later part builds on."""

    title: str
    text: str = ""
    tables: list[Table] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)

    def at_most(self, name: str, value: float, limit: float, unit: str) -> None:
        """Take down a bar that a value must not exceed."""
        self.bars.append(Bar(name, f"at most {limit:g}{unit}", f"{value:.3g}{unit}", value <= limit))

    def at_least(self, name: str, value: float, limit: float, unit: str) -> None:
        """Take down a bar that a value must reach."""
        self.bars.append(Bar(name, f"at least {limit:g}{unit}", f"{value:.3g}{unit}", value >= limit))


def markdown(sections: Iterable[Section]) -> str:
    """The sections, each with its tables."""
    return "\n\n".join(block for section in sections for block in _blocks(section))


def _blocks(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    if section.text:
        yield section.text
    yield from map(_table, section.tables)


def bar_section(sections: Iterable[Section]) -> Section:
    """The bars of all sections with what became of them."""
    bars = [bar for section in sections for bar in section.bars]
    rows = [(bar.name, bar.limit, bar.measured, "yes" if bar.is_held else "**no**") for bar in bars]
    return Section("The bars", tables=[Table(("bar", "limit", "measured", "held"), rows, is_text=True)])


def _table(table: Table) -> str:
    rule = ["---", *["---" if table.is_text else "---:"] * (len(table.head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (table.head, rule, *table.rows))


def machine() -> Section:
    """Where it was measured; how busy the machine was with other things says how far wall times can be trusted."""
    facts = {
        "processor": f"{_field('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, {_vectors()}",
        "memory": f"{int(_field('/proc/meminfo', 'MemTotal').split()[0]) / 1e6:.1f} GB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "libraries": ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        "programs": ", ".join(_programs()),
        "load at the start": " ".join(f"{load:.1f}" for load in os.getloadavg()) + " (1, 5, 15 minutes)",
    }
    return Section("The machine", tables=[Table(("what", "is"), list(facts.items()), is_text=True)])


def _field(file: str, name: str) -> str:
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", Path(file).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "unknown"


def _vectors() -> str:
    flags = _field("/proc/cpuinfo", "flags").split()
    return " ".join(flag for flag in ("avx2", "avx512f") if flag in flags) or "no vector extensions that we look for"


def _programs() -> Iterator[str]:
    for name, program, option in _PROGRAMS:
        try:
            said = subprocess.run((program, option), capture_output=True, text=True, check=True).stdout
        except FileNotFoundError:
            yield f"{name} is not installed"
        else:
            yield f"{name} {re.findall(r'[0-9]+(?:[.][0-9]+)+', said)[0]}"


def keep(page: Path, measured: str) -> None:
    """Put what was measured between the marks of the page, in place of what stood there."""
    before, after = around(page)
    page.write_text(f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}", encoding="utf-8")


def around(page: Path) -> tuple[str, str]:
    """What stands before and behind the marks of the page; `ValueError` if it has none."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{page} has no lines {BEGIN} and {END}")
    return before, after


def megabytes(size: float) -> str:
    """A size in MB, as in 1,048."""
    return f"{size / 1e6:,.0f}"


def seconds(value: float) -> str:
    """A duration with three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"  # noqa: PLR2004 - beyond it, three digits would round


def merged(sections: Iterable[Section]) -> Mapping[str, float]:
    """The figures of all sections together."""
    return {name: value for section in sections for name, value in section.figures.items()}
