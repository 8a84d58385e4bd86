"""Golden files: what a command, chart or answer looked like when somebody last looked at it and said yes.

`pytest --accept` writes them again and prints what changed; otherwise a difference fails the test and the actual text
is kept in `tests/actual/`, so that both can be compared.
"""

import difflib
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
ACTUAL = Path(__file__).parent / "actual"


def check(name: str, actual: str, *, accept: bool = False) -> None:
    """Fail if `actual` differs from the golden file `name`; with `accept` make it the golden file."""
    golden = GOLDEN / name
    expected = golden.read_text(encoding="utf-8") if golden.exists() else ""
    if actual == expected:
        return
    change = "".join(
        difflib.unified_diff(expected.splitlines(True), actual.splitlines(True), f"golden/{name}", "actual")
    )
    target = golden if accept else ACTUAL / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(actual, encoding="utf-8")
    if not accept:
        raise AssertionError(f"{name} changed (look at tests/actual/{name}; `make accept` takes it over):\n{change}")
    print(change)  # noqa: T201 - whoever accepts must see what
