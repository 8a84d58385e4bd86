"""The wheel carries everything that the checkout has, and nothing else; the source archive can be worked on."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ASSETS = ("queries", "templates", "sample_logs")


def files_of(folder: Path) -> set[str]:
    """The files of a folder by their path in the repository, but what Python leaves behind."""
    found = (path.relative_to(ROOT) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel that was built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = folder.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_source_archive_can_be_worked_on(tmp_path: Path) -> None:
    """Who unpacks it has what `make test` and `bash .ci/run` need."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}

    assert {"Makefile", ".ci/run", "requirements-dev.lock", "pyproject.toml", "tests/conftest.py"} <= names


def test_wheel_has_the_assets(shipped: set[str]) -> None:
    """Queries, templates and sample logs of the wheel are those of the checkout, `*.log` included."""
    expected = {f"incidentlab/_shipped/{name}" for asset in ASSETS for name in files_of(ROOT / asset)}

    assert {name for name in shipped if name.startswith("incidentlab/_shipped/")} == expected


def test_wheel_has_the_package(shipped: set[str]) -> None:
    """Modules, signatures, catalogues and scenarios of the wheel are those of the checkout."""
    package = {name for name in shipped if name.startswith("incidentlab/") and "/_shipped/" not in name}

    assert package == files_of(ROOT / "incidentlab")


def test_wheel_has_nothing_else(shipped: set[str]) -> None:
    """Nothing lands beside the package but its metadata with the licence."""
    others = {name for name in shipped if not name.startswith("incidentlab/")}

    assert {name.partition("/")[0] for name in others} == {f"incidentlab-{version('incidentlab')}.dist-info"}
    assert any(name.endswith("licenses/LICENSE") for name in others)


def needs() -> list[str]:
    """What the program and its extras need; an extra that names others of ours needs what these do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return [need for group in groups for need in group if not need.startswith("incidentlab[")]


def test_every_dependency_is_bounded() -> None:
    """Each dependency says the oldest version that was tried, and the next that may break."""
    assert [need for need in needs() if not re.match(r"[\w.-]+(\[\w+\])?>=[\d.]+,<[\d.]+(;|$)", need)] == []


def test_lock_names_every_dependency() -> None:
    """The lock file pins what `pyproject.toml` asks for, and names no place to fetch it from."""
    pins = [line for line in (ROOT / "requirements-dev.lock").read_text().splitlines() if not line.startswith("#")]
    pinned = {canonical(pin.partition("==")[0]) for pin in pins}

    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    assert {canonical(re.match(r"[\w.-]+", need)[0]) for need in needs()} <= pinned


def canonical(name: str) -> str:
    """A project's name in the one spelling that compares."""
    return re.sub(r"[-_.]+", "-", name).lower()
