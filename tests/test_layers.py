"""Who may import whom, as one small table, and how long files and functions may be.

The floors, from the ground up: a module imports only from floors below its own. Modules of one floor do not know each
other, except on the ground and in a wing.
"""

import ast
import statistics
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "incidentlab"

GROUND = {
    *("errors", "model", "assets", "sqlfiles", "configuration", "knowledge", "hosts", "stamps", "codecs", "neutral"),
    *("parts", "stores", "workers", "clusters", "executors", "triggers", "folding", "patterns"),
}
FAMILIES = {"envelopes", "parsers", "signatures", "baselines"}
STAGES = {"discover", "pages", "scan", "neighbours", "events", "spool", "warehouse", "simulate"}
STRINGS = {"content", "tally", "search", "reading", "units", "shards", "manifest", "intake", "derive"}
REPORT_WING = {"answers", "canvas", "charts", "pictures", "figures", "report"}
COMMAND_WING = {
    "cli",
    "commands",
    "options",
    "outputs",
    "pipeline",
    "workshop",
    "summary",
    "verdicts",
    "formats",
    "terminal",
}

MAY_IMPORT = {
    **dict.fromkeys(GROUND, GROUND),
    **dict.fromkeys(FAMILIES, GROUND),
    **dict.fromkeys(STAGES, GROUND | FAMILIES),
    # These take what one of the others makes: pages, and the candidates on them.
    **dict.fromkeys(("scan", "neighbours"), GROUND | FAMILIES | {"pages"}),
    "events": GROUND | FAMILIES | {"scan"},
    **dict.fromkeys(STRINGS, GROUND | FAMILIES | STAGES),
    "search": GROUND | FAMILIES | STAGES | {"tally"},
    "reading": GROUND | FAMILIES | STAGES | {"content", "tally", "search"},
    "units": GROUND | FAMILIES | STAGES | {"content", "reading"},
    "shards": GROUND | FAMILIES | STAGES | {"reading", "units"},
    "derive": GROUND | FAMILIES | STAGES | {"intake"},
    **dict.fromkeys(REPORT_WING, GROUND | REPORT_WING),
    **dict.fromkeys(COMMAND_WING, GROUND | FAMILIES | STAGES | STRINGS | REPORT_WING | COMMAND_WING),
    "__main__": {"cli"},
    "__init__": set(),
}
"""Module (or folder) of the package -> those that it may know."""

ONLY = {
    "duckdb": {"warehouse", "intake", "derive", "answers"},
    "altair": {"canvas", "charts"},
    "vl_convert": {"pictures"},
    "jinja2": {"report"},
    "click": {"cli", "commands", "options"},
    "rich": {"terminal", "formats"},
    "dask": {"clusters"},
    "distributed": {"clusters"},
    "dask_jobqueue": {"clusters"},
    "obstore": {"stores"},
}
"""Library -> the modules that may know it."""

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_OF_NINE_IN_TEN = 35
MOST_MEDIAN = 10

FILES = sorted(PACKAGE.rglob("*.py"))


def room(file: Path) -> str:
    """The module or folder of the package that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import that is carried out; those for type checkers are not."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = {child for node in for_types for child in ast.walk(node)}
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def rooms_known(file: Path) -> Iterator[tuple[int, str]]:
    """Line and room of each import from the package; its version is nobody's room."""
    for line, name in imports(file):
        top, _, rest = name.partition(".")
        if top == "incidentlab" and rest != "__version__":
            yield line, rest.partition(".")[0]


def test_every_room_is_on_a_floor() -> None:
    """A new module says on which floor it lives."""
    assert sorted({room(file) for file in FILES} - set(MAY_IMPORT)) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_point_down(file: Path) -> None:
    """No module knows one of its own floor or above; what a folder holds may know its folder."""
    allowed = MAY_IMPORT[room(file)] | {room(file)}

    assert [f"{file.name}:{line}: {name}" for line, name in rooms_known(file) if name not in allowed] == []


def test_no_circle() -> None:
    """The modules of the ground and of the wings, which may know each other, form no circle."""
    graph: dict[str, set[str]] = {}
    for file in FILES:
        graph.setdefault(room(file), set()).update(name for _, name in rooms_known(file) if name != room(file))

    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("library", ONLY)
def test_library_stays_in_its_rooms(library: str) -> None:
    """A library is known to the few modules whose trade it is."""
    strangers = [
        f"{file.name}:{line}"
        for file in FILES
        for line, name in imports(file)
        if name.partition(".")[0] == library and room(file) not in ONLY[library]
    ]

    assert strangers == []


def functions() -> Iterator[tuple[str, int]]:
    """Place and length in lines of each function."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield f"{file.relative_to(PACKAGE)}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1


def test_files_are_short() -> None:
    """No file has more than 400 lines."""
    lengths = {file.relative_to(PACKAGE): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}

    assert {str(file): length for file, length in lengths.items() if length > MOST_FILE_LINES} == {}


def test_functions_are_short() -> None:
    """No function has more than 60 lines, nine in ten fewer than 35, and half of them fewer than 10."""
    lengths = dict(functions())

    assert {place: length for place, length in lengths.items() if length > MOST_FUNCTION_LINES} == {}
    assert statistics.quantiles(lengths.values(), n=10)[-1] < MOST_OF_NINE_IN_TEN
    assert statistics.median(lengths.values()) < MOST_MEDIAN
