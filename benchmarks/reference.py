"""The plainest ways in Python, to compare with: `reference.py count PATTERNS FILE`, `reference.py inflate FILE`."""

import re
import sys
from pathlib import Path

_BLOCK_BYTES = 2 << 20


def count(patterns: Path, file: Path) -> int:
    """Lines of `file` in which one of the patterns, one a line, is found: one expression, asked for each line."""
    alternatives = patterns.read_bytes().split(b"\n")[:-1]
    found = re.compile(b"|".join(b"(?:" + pattern + b")" for pattern in alternatives)).search
    with file.open("rb") as lines:
        return sum(1 for line in lines if found(line))


def inflate(file: Path) -> int:
    """Bytes in a gzip file, by isal."""
    from isal import igzip  # noqa: PLC0415 - the other way needs the standard library alone

    with igzip.open(file, "rb") as stream:  # type: ignore[no-untyped-call]  # it has no annotations
        return sum(iter(lambda: len(stream.read(_BLOCK_BYTES)), 0))


if __name__ == "__main__":
    way, *files = sys.argv[1:]
    print(count(*map(Path, files)) if way == "count" else inflate(*map(Path, files)))
