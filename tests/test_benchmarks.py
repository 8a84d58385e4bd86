"""The benchmarks measure the same work for all, on data that is what it claims to be."""

import json
import random
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import re2

from benchmarks import __main__ as command
from benchmarks import again, contenders, data, lines, measure, memory, page, patterns, projection, scaling, speed
from benchmarks.bench import Bench, cost_table
from benchmarks.measure import Contender
from incidentlab.signatures import load_signatures

LAUNCHER = Path(measure.__file__).with_name("launch.py")
TINY = 200_000


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench of 200 kB and one run."""
    folder = tmp_path_factory.mktemp("bench")
    return Bench(data.Data(folder / "data", TINY), 1, *contenders.write_patterns(folder))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of incidentlab, a program that ends at once and has found one hit in every ten bytes."""

    def incidentlab(path: Path, _jobs: int = 1, name: str = "incidentlab") -> Contender:
        size = measure.size_of(path)
        found = {"hits": size // 10, "lines": size, "events": size // 10, "bytes": size, "text": 7}
        return Contender(name, ("true",), path, lambda _folder, _stdout: found)

    monkeypatch.setattr(contenders, "incidentlab", incidentlab)
    monkeypatch.setattr(contenders, "incidentlab_told", incidentlab)
    monkeypatch.setattr(contenders, "ripgrep_bytes", lambda path, _patterns: incidentlab(path, 1, "ripgrep, ASCII"))


def bars(section: page.Section) -> dict[str, bool]:
    """Which bars held."""
    return {bar.name: bar.is_held for bar in section.bars}


def test_contenders_count_the_same_lines(bench: Bench) -> None:
    """incidentlab, ripgrep in both ways, GNU grep and Python find as many lines, in the whole file and in the slice."""
    section = speed.comparison(bench)

    agreements = {name: held for name, held in bars(section).items() if name.startswith("matching lines")}
    assert agreements == {
        "matching lines of plain.log": True,
        f"matching lines of plain-{speed.SLICE_BYTES}.log": True,
    }
    hits = {row[0]: row[-1] for table in section.tables[:-1] for row in table.rows}
    assert int(hits["incidentlab"]) >= 5  # 1,900 lines, one hit in 200


def test_disagreement_is_no_bar_held() -> None:
    """Contenders that count differently are shown as such, with both counts."""
    bar = speed._agreement("x.log", [measure.Outcome(found={"hits": 3}), measure.Outcome(found={"hits": 4})])

    assert (bar.measured, bar.is_held) == ("3 / 4", False)


def test_missing_program_is_a_row_without_numbers(bench: Bench) -> None:
    """A contender that is not installed is named as such and never a zero."""
    missing = Contender("nobody", ("no-such-program",), bench.patterns)

    outcomes = measure.race([missing], 1)

    assert outcomes == {}
    assert cost_table([missing], outcomes).rows[0][2] == "not installed"


@pytest.mark.usefixtures("stand_in")
def test_parts_make_tables(bench: Bench) -> None:
    """Every part that runs incidentlab on made files gives its bars and tables, whatever it costs."""
    measured = (speed.compressed, speed.storms, scaling.workers, scaling.sizes, memory.memory)
    parts = {part.__name__: part(replace(bench, is_big=True)) for part in measured}

    expected = {"compressed": 1, "storms": 4, "workers": 4, "sizes": 0, "memory": 2}
    assert {name: len(section.bars) for name, section in parts.items()} == expected
    assert len(parts["memory"].tables[0].rows) == 2 * 8
    assert "| eight files | 2 |" in page.markdown(parts.values())


def test_growth_counts_once(bench: Bench) -> None:
    """The part that comes again compares the lines of the warehouse itself; each run is a row, and reads something."""
    section = again.again(bench)

    rows = section.tables[0].rows
    assert [row[0].split()[-1] for row in rows] == ["time", "again", "time", "it", "MB"]
    assert all(float(row[-1]) > 0 for row in rows)
    assert len(section.bars) == 2


def test_lines_that_count_twice_end_the_part() -> None:
    """A warehouse that holds other lines than were read is no result."""
    with pytest.raises(measure.BenchmarkError, match=r"10.*12"):
        again._compare({10}, {12})


def test_stages_in_order(bench: Bench) -> None:
    """All stages are measured, from the bytes to the report, and the shards have a size."""
    section = command.PARTS["stages"](bench)

    names = ["blocks", "pages", "raw search", "candidates", "rows", "shards", "derive", "render"]
    assert [row[0] for row in section.tables[0].rows] == names
    assert section.figures["shard bytes"] > 0


def test_slopes_of_known_costs() -> None:
    """From 2 s a start, 1 s a MB of chatter and 1 ms a hit, the slopes come out as they went in."""

    def outcome(size: int, hits: int) -> measure.Outcome:
        cost = measure.Cost(2 + size / 1e6 + hits / 1e3, 0, 0, 0, 0)
        return measure.Outcome([cost], {"hits": hits, "lines": size // 100, "events": hits, "bytes": 5000 + 300 * hits})

    grown = [(size, outcome(size, size // 20_000)) for size in (1_000_000, 3_000_000, 10_000_000)]

    figures = scaling._slopes(grown, 10_000_000, outcome(10_000_000, 0))

    expected = {"start": 2, "chatter": 1e-6, "hit": 1e-3, "bytes per line": 100, "warehouse bytes per hit": 300}
    assert {name: figures[name] for name in expected} == pytest.approx(expected)


def test_projection_of_known_slopes() -> None:
    """At 1 s of CPU for 100 MB and free hits, 30 TB are 300,000 s, and a day's TB needs 2.8 workers for an hour."""
    figures = dict.fromkeys(projection.NEEDED, 1.0) | {
        "chatter": 1e-8,
        "hit": 1e-30,
        "bytes per line": 100.0,
        "events": 1e6,
        "shard bytes": 5e7,
        "warehouse bytes per hit": 200.0,
    }

    row = projection.projection(figures).tables[0].rows[0]

    # 3e11 lines, 1.5e9 hits, 50 bytes a hit in shards and 200 in the warehouse
    assert row == ("0.500%", "83.3", "2.78", "1,500.0", "1,500", "75.0", "300.0")


def test_projection_says_what_it_lacks() -> None:
    """Without the slopes nothing is projected, and the missing figures are named; nor from slopes that are noise."""
    noise = dict.fromkeys(projection.NEEDED, 1.0) | {"hit": -1e-6}

    assert "chatter" in projection.projection({}).text
    assert "below the noise" in projection.projection(noise).text


def test_data_is_reproducible(tmp_path: Path) -> None:
    """Size and seed decide all bytes; another seed gives others."""
    made = [data.Data(tmp_path / str(place), 50_000, seed).plain().read_bytes() for place, seed in enumerate((1, 1, 2))]

    assert made[0] == made[1] != made[2]
    assert abs(len(made[0]) - 50_000) < 5_000


def test_files_are_whole_lines(bench: Bench) -> None:
    """Pieces, small files and beginnings end where a line ends, and the pieces make up the whole."""
    pieces = sorted(bench.data.pieces(8).iterdir())

    assert b"".join(piece.read_bytes() for piece in pieces) == bench.data.plain().read_bytes()
    assert all(file.read_bytes().endswith(b"\n") for file in [*pieces, *bench.data.small().iterdir()])
    assert bench.data.beginning(5_000).read_bytes().endswith(b"\n")


def test_long_lines_are_long(bench: Bench) -> None:
    """A line of the file of long lines is as long as the plain file allows."""
    [line] = bench.data.long_lines().read_bytes().splitlines()

    assert len(line) == bench.data.plain().stat().st_size


@pytest.mark.parametrize("is_varied", [False, True])
def test_storm_is_all_hits(is_varied: bool) -> None:
    """Each line of a storm is found by a signature; messages repeat, or no two are alike."""
    storm = list(islice(lines.storm(1, is_varied=is_varied), 30_000))
    messages = {line.partition("] ")[2] + line.split()[3] for line in storm}

    assert _matched(storm[:2000]) == 2000
    assert len(messages) == 30_000 if is_varied else len(messages) < 2_000


def test_sample_hits_hit() -> None:
    """Samples in the dress of a host's syslog are still found, whatever numbers they got."""
    hits = lines.sample_hits()
    written = [hit.line("Jan 14 00:00:00 gpu0001", random.Random(1)) for hit in hits]

    assert len(hits) > 150
    assert _matched(written) == len(written)


def _matched(written: list[str]) -> int:
    """Lines on which the scanner finds a signature."""
    signatures = re2.Set.SearchSet()
    for signature in load_signatures():
        signatures.Add(signature.pattern)
    signatures.Compile()
    return sum(1 for line in written if signatures.Match(line))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"Xid \((?P<pci>[\da-f:]+)\)", r"Xid \(([0-9a-f:]+)\)"),
        (r"(?m:^)a.*?(?:b|c)\d+?\b", r"(^)a.*(b|c)[0-9]+\b"),
        (r"[^\]\-\w]\x41[|\n]", "[^][:alnum:]_-]A[|]"),
    ],
)
def test_extended_expressions(pattern: str, expected: str) -> None:
    """Names, flags and laziness go, classes are spelt out, and what POSIX takes for itself in brackets is moved."""
    assert patterns.extended(pattern) == expected


def test_launcher_counts_children(tmp_path: Path) -> None:
    """CPU, memory and reads of a command's child are the command's; its exit code is handed on."""
    (tmp_path / "read").write_bytes(b"x" * 3_000_000)
    child = "open('read', 'rb').read(); held = bytearray(60_000_000); sum(range(3_000_000)); raise SystemExit(3)"
    parent = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {child!r}]))"

    done = subprocess.run(
        [sys.executable, "-S", LAUNCHER, "cost.json", sys.executable, "-c", parent], cwd=tmp_path, check=False
    )

    cost = json.loads((tmp_path / "cost.json").read_text())
    assert (done.returncode, cost["exit_code"]) == (3, 3)
    assert cost["cpu_s"] > 0.02
    assert cost["together_bytes"] >= cost["largest_bytes"] > 60_000_000
    assert cost["read_bytes"] > 3_000_000


def test_contenders_take_turns(tmp_path: Path) -> None:
    """Each round runs everyone once, so that a busy moment hits all of them; the median of the rounds counts."""
    order = tmp_path / "order"
    outcomes = measure.race([Contender(name, ("sh", "-c", f"echo {name} >> {order}")) for name in "ab"], 3)

    assert order.read_text().split() == ["a", "b"] * 3
    assert outcomes["a"].median.wall_s == sorted(cost.wall_s for cost in outcomes["a"].costs)[1]


def test_failing_command_is_told(tmp_path: Path) -> None:
    """A contender that fails is no fast contender: the call ends with what it said."""
    with pytest.raises(measure.BenchmarkError, match="no such thing"):
        measure.run(("sh", "-c", "echo no such thing >&2; exit 2"), tmp_path)


def test_page_keeps_what_stands_around(tmp_path: Path) -> None:
    """Only what is between the marks is replaced; a page without marks is left alone."""
    kept = tmp_path / "page.md"
    kept.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")

    page.keep(kept, "new")

    assert kept.read_text() == f"before\n{page.BEGIN}\n\nnew\n\n{page.END}\nafter\n"
    kept.write_text("no marks")
    with pytest.raises(ValueError, match="no lines"):
        page.keep(kept, "new")


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One part can be asked for; the page that is named and stdout get the same text."""
    kept = tmp_path / "page.md"
    kept.write_text(f"{page.BEGIN}\n{page.END}\n")

    command.main(["--only", "start", "--size", "50MB", "--data", str(tmp_path / "data"), "--output", str(kept)])

    printed = capsys.readouterr().out
    assert "| incidentlab --help | at most 0.2 s |" in printed
    assert "Not in this run: again, comparison," in printed
    assert printed.strip() in kept.read_text()
    assert not (tmp_path / "data").exists()


def test_a_part_that_fails_does_not_stop_the_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its section says why, and it is a bar that did not hold."""

    def fail(_bench: Bench) -> page.Section:
        raise measure.BenchmarkError("no disk left")

    monkeypatch.setattr(command, "PARTS", {"storms": fail})

    section = command._timed("storms", bench)

    assert "no disk left" in section.text
    assert bars(section) == {"part storms": False}


@pytest.mark.parametrize(("text", "expected"), [("1GB", 10**9), ("300 MB", 3 * 10**8), ("17", 17)])
def test_sizes(text: str, expected: int) -> None:
    """Sizes are decimal, as disks are sold."""
    assert command._size(text) == expected
