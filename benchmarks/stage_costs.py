"""The stages of one ingestion, one after the other in this process: `python -m benchmarks.stage_costs FILE`.

Each stage of the reading does again what the one before it did and goes one step further, so a stage's own cost is
the difference. Prints JSON: [name, CPU seconds] a stage, and the size of the shards.
"""

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from incidentlab import __version__, derive, manifest, pipeline, reading, report, shards, units, warehouse
from incidentlab.codecs import open_stream
from incidentlab.configuration import load_site
from incidentlab.executors import Where
from incidentlab.folding import Storms
from incidentlab.pages import pages
from incidentlab.scan import Hyperscan, Scanner
from incidentlab.signatures import load_signatures
from incidentlab.stores import open_store
from incidentlab.terminal import Talk
from incidentlab.triggers import triggers


def main() -> None:
    """Measure all stages on the file that the command line names."""
    path = Path(sys.argv[1])
    with TemporaryDirectory(prefix="benchmark-") as folder:
        costs = [*_reading(path), *_storing(path, Path(folder))]
        stored = sum(file.stat().st_size for file in Path(folder).glob("shards/events/**/*.parquet"))
    print(json.dumps({"costs": costs, "shard_bytes": stored}))


def _reading(path: Path) -> list[tuple[str, float]]:
    """From the bytes to rows that nobody keeps."""
    signatures = load_signatures()
    engine = Hyperscan([found.expression for found in triggers([signature.pattern for signature in signatures])])
    scanner = Scanner(signatures)

    def consume(stage: Callable[[Iterable[bytes]], Iterable[object]]) -> None:
        with path.open("rb") as file:
            deque(stage(open_stream(file).blocks), maxlen=0)

    def search(blocks: Iterable[bytes]) -> Iterable[object]:
        return (engine.find(page.data, sys.maxsize) for page in pages(blocks))

    def decide(blocks: Iterable[bytes]) -> Iterable[object]:
        return (list(scanner.candidates(page, Storms())) for page in pages(blocks))

    def read() -> None:
        with path.open("rb") as file:
            reading.read(open_stream(file), scanner, lambda _row: None)

    return [
        ("blocks", _cpu(lambda: consume(lambda blocks: blocks))),
        ("pages", _cpu(lambda: consume(pages))),
        (
            "raw search",
            _cpu(lambda: consume(search)),
        ),
        (
            "candidates",
            _cpu(lambda: consume(decide)),
        ),
        ("rows", _cpu(read)),
    ]


def _storing(path: Path, folder: Path) -> list[tuple[str, float]]:
    """The reading again, into shards; then the warehouse and the report."""
    site, signatures = load_site(), load_signatures()
    how = shards.recipe(open_store(folder / "shards"), signatures)
    target = folder / "stages.duckdb"
    rows = pipeline.knowledge_rows(site, signatures, "ingest")
    files: dict[str, Sequence[str]] = {}

    def store() -> None:
        plan = units.plan(pipeline.find([str(path)]), how.knowledge)
        made = pipeline.read(plan, how, Where(1), Talk(shows_progress=False), folder)
        files.update(made.shards)
        manifest.save(made, folder)

    def build() -> None:
        derive.build(target, folder, files, rows)

    def render() -> None:
        with warehouse.open_readonly(target) as con:
            report.render(con, title=None, now=datetime.now(UTC), tool_version=__version__)

    return [
        ("shards", _cpu(store)),
        ("derive", _cpu(build)),
        ("render", _cpu(render)),
    ]


def _cpu(work: Callable[[], object]) -> float:
    """CPU seconds of all threads of this process while it does `work`."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
