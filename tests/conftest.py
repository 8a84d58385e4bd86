"""What all tests share: golden files and a run of the command line."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import golden as golden_files
from dask_site import site  # noqa: F401 - a fixture
from s3_bucket import bucket  # noqa: F401 - a fixture

from incidentlab.cli import main


def pytest_addoption(parser: pytest.Parser) -> None:
    """The switches of this suite."""
    parser.addoption("--accept", action="store_true", help="write the golden files again and show what changed")
    parser.addoption("--slurm", action="store_true", help="run the tests that start a real Slurm, as root")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without its switch no test starts a Slurm."""
    if item.get_closest_marker("slurm") and not item.config.getoption("--slurm"):
        pytest.skip("needs --slurm, Debian's slurm-wlm and munge, and root")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` fails if the text differs from the golden file of that name."""
    return partial(golden_files.check, accept=request.config.getoption("--accept"))


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def incidentlab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """`incidentlab("report", "logs")` runs the command in the test's own empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str | Path) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return run
