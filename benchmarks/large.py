"""The derivation and the questions at size: told by `python -m benchmarks.large_warehouse`, which prints Markdown."""

import sys
import tempfile
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measure import output, run
from benchmarks.page import Section

SCRIPT = Path(__file__).with_name("large_warehouse.py")


def large(_bench: Bench) -> Section:
    """What the script says of a million events, word for word."""
    if not SCRIPT.exists():
        return Section("A million events", "Not measured: there is no `large_warehouse.py` beside the benchmarks.")
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        run((sys.executable, "-m", "benchmarks.large_warehouse"), Path(folder))
        return Section("A million events", output(Path(folder)).strip())
