"""Published figures of other fleets, to compare with.

`fleets.csv` has one row a fleet; a file named for a fleet has the rows of its published table of causes. Figures are
as printed: a count and a percentage that disagree both stay, and `count_lo`, `count_hi` bracket the row.
"""

import csv
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_FLEETS = _FOLDER / "fleets.csv"


def load_baselines() -> list[dict[str, Any]]:
    """Rows of table `baselines`, as text; an empty cell is None (not published)."""
    return _read(_FLEETS)


def load_causes() -> list[dict[str, Any]]:
    """Rows of table `baseline_causes` of all fleets, as text; the file's name is the fleet's."""
    files = sorted(path for path in _FOLDER.glob("*.csv") if path != _FLEETS)
    return [{"baseline": path.stem, **row} for path in files for row in _read(path)]


def _read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]
