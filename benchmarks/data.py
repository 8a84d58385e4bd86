"""The files that are read: simulated ones, a function of size and seed, made once and kept in a folder."""

import gzip
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from benchmarks.lines import sample_hits, storm
from incidentlab.simulate import simulate

GB = 1_000_000_000
HIT_SHARE = 0.005
"""Of the lines of `plain`; `quiet` has the few of the simulated faults alone."""

LONG_LINE_BYTES = 5_000_000
SMALL_BYTES, TINY_BYTES = 20_000, 1_000

_DAY_BYTES = 27_000_000
"""What a day of the scenario below comes to."""

_FIRST_DAY = datetime(2026, 1, 14, tzinfo=UTC)
_SCENARIO = """
title = "Chatter"
story = "A day of 64 nodes whose daemons talk much; one run that a few faults end."
seed = 1
start = {start:%Y-%m-%dT%H:%M:%SZ}
hours = 24.0
zone = "UTC"
[fleet]
nodes = 64
max_skew_s = 0.0
[[jobs]]
name = "pretrain"
nodes = 48
[jobs.causes]
"gpu.hbm" = 1
"gpu.device" = 1
"network.link_switch" = 1
[logs]
hosts = "central"
stamp = "rfc3164"
lines_per_node_day = {lines_per_node_day}
"""
_KNOWN_CHATTER = b" default/read/poll queues"
"""The one line of the simulated chatter that a signature knows: with it, one line in 25 would be a hit."""


@dataclass(frozen=True, slots=True)
class Data:
    """The files of one size (bytes of `plain`; the others follow from it) and seed below `folder`."""

    folder: Path
    size: int
    seed: int = 1

    @property
    def scale(self) -> float:
        """The size relative to that for which the bars are set."""
        return self.size / GB

    def quiet(self) -> Path:
        """Syslog of `size` bytes, day after day of 64 hosts, with next to no hits."""
        return self._made("quiet.log", self._write_quiet)

    def plain(self) -> Path:
        """The same lines with HIT_SHARE of hits of many signatures among them."""
        return self._made("plain.log", self._write_plain)

    def beginning(self, size: int) -> Path:
        """The first `size` bytes of `plain`, cut at a line's end."""
        return self._made(f"plain-{size}.log", lambda path: _write_start(self.plain(), path, size))

    def zipped(self) -> Path:
        """`plain` as logrotate leaves it: gzip at its usual level."""
        return self._made("plain.log.gz", lambda path: _write_zipped(self.plain(), path))

    def pieces(self, number: int) -> Path:
        """A folder with all of `plain` in this many files."""
        return self._made(f"pieces-{number}", lambda path: _write_files(self.plain(), path, number, None))

    def small(self) -> Path:
        """A folder with files of 20 kB: 10,000 at full size."""
        return self._files("small", 10_000, SMALL_BYTES)

    def tiny(self) -> Path:
        """A folder with files of 1 kB: 100,000 at full size."""
        return self._files("tiny", 100_000, TINY_BYTES)

    def _files(self, name: str, number: int, size: int) -> Path:
        scaled = max(1, round(number * self.scale))
        return self._made(name, lambda path: _write_files(self.plain(), path, scaled, size))

    def storm(self, *, is_varied: bool) -> Path:
        """Lines that are all hits: half of `size` of messages that come again, or a tenth of that of ever new ones."""
        name, size = ("storm-varied.log", self.size // 20) if is_varied else ("storm.log", self.size // 2)
        return self._made(name, lambda path: _write(path, _encoded(storm(self.seed, is_varied=is_varied)), size))

    def long_lines(self) -> Path:
        """`plain` with its lines glued together to lines of 5 MB: 20 of them at full size."""
        number = max(1, round(20 * self.scale))
        return self._made("long-lines.log", lambda path: _write_long(self.plain(), path, number))

    def tenfold(self) -> Path:
        """`plain` ten times."""
        return self._made("tenfold.log", lambda path: _write(path, _lines_again(self.plain(), 10), 10 * self.size))

    def _made(self, name: str, write: Callable[[Path], None]) -> Path:
        """The file or folder of this name; made beside its place and renamed, so that what is there is whole."""
        path = self.folder / f"{self.size}-{self.seed}" / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f".{name}.new")
            shutil.rmtree(fresh) if fresh.is_dir() else fresh.unlink(missing_ok=True)
            write(fresh)
            fresh.rename(path)
        return path

    def _write_quiet(self, path: Path) -> None:
        _write(path, self._chatter(), self.size)

    def _chatter(self) -> Iterator[bytes]:
        """Lines of one simulated day after the other, with ever the same job and other faults."""
        lines_per_node_day = 4000.0 * min(1.0, 1.2 * self.size / _DAY_BYTES)
        for day in count():
            with tempfile.TemporaryDirectory() as folder:
                scenario = Path(folder) / "chatter.toml"
                start = _FIRST_DAY + timedelta(days=day)
                scenario.write_text(_SCENARIO.format(start=start, lines_per_node_day=lines_per_node_day))
                simulate(scenario, Path(folder) / "out", seed=self.seed * 1000 + day)
                for file in sorted(Path(folder).glob("out/logs/syslog/*.log")):
                    yield from (line for line in _lines(file) if _KNOWN_CHATTER not in line)

    def _write_plain(self, path: Path) -> None:
        rng = random.Random(f"{self.seed}/hits")
        hits = sample_hits()
        with path.open("wb") as file:
            for line in _lines(self.quiet()):
                file.write(line)
                if rng.random() < HIT_SHARE:
                    # Mar  5 14:03:22 gpu0001 sshd[812]: ...
                    header = line[: line.index(b" ", 16)].decode()
                    file.write(f"{rng.choice(hits).line(header, rng)}\n".encode())


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _lines_again(path: Path, times: int) -> Iterator[bytes]:
    for _ in range(times):
        yield from _lines(path)


def _encoded(lines: Iterator[str]) -> Iterator[bytes]:
    return (f"{line}\n".encode() for line in lines)


def _write(path: Path, lines: Iterator[bytes], size: int) -> None:
    """Whole lines until there are `size` bytes, or none left."""
    written = 0
    with path.open("wb") as file:
        for line in lines:
            written += file.write(line)
            if written >= size:
                return


def _write_start(source: Path, path: Path, size: int) -> None:
    with source.open("rb") as file:
        data = file.read(size)
    path.write_bytes(data[: data.rfind(b"\n") + 1])


def _write_zipped(source: Path, path: Path) -> None:
    with source.open("rb") as file, gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as zipped:
        shutil.copyfileobj(file, zipped, 1 << 20)


def _write_files(source: Path, folder: Path, number: int, size: int | None) -> None:
    """Files of about `size` bytes, or of even parts, one behind the other; from the beginning again at the end."""
    folder.mkdir()
    size = size or -(-source.stat().st_size // number)
    with source.open("rb") as file:
        for place in range(number):
            data = file.read(size) + file.readline()
            if not data:
                file.seek(0)
                data = file.read(size) + file.readline()
            (folder / f"host{place:06d}.log").write_bytes(data)


def _write_long(source: Path, path: Path, number: int) -> None:
    with source.open("rb") as file, path.open("wb") as glued:
        for _ in range(number):
            glued.write(file.read(LONG_LINE_BYTES).replace(b"\n", b" ") + b"\n")
