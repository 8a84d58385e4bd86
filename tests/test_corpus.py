"""All real logs at once, and those that must stay silent."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from corpus import CORPUS, logs, needs_corpus, rows

from incidentlab import pipeline
from incidentlab.cli import main
from incidentlab.configuration import load_site
from incidentlab.terminal import Talk
from incidentlab.warehouse import open_readonly

pytestmark = needs_corpus

QUIET = Talk(verbosity=-1, shows_progress=False)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """The exit code of a report of all real logs, and the folder with what it wrote."""
    folder = tmp_path_factory.mktemp("everything")
    outputs = ("-d", str(folder / "w.duckdb"), "-o", str(folder / "corpus.html"))
    return main(["report", str(CORPUS), *outputs, "-q"]), folder


@pytest.fixture(scope="module")
def sources(everything: tuple[int, Path]) -> list[dict]:
    """What became of each file."""
    with open_readonly(everything[1] / "w.duckdb") as con:
        found = con.execute(
            "select path, status, reason, lines, matched_lines, unmatched_lines, unparsed_lines from sources"
        )
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_a_report_of_everything_is_written(everything: tuple[int, Path]):
    """748 files of dozens of programs, among them pickles, scripts and prose, end with exit code 0 and a page."""
    code, folder = everything

    assert code == 0
    assert (folder / "corpus.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_every_file_has_a_fate(sources: list[dict]):
    """Each file of the tree is listed once, as used, or as unused or failed with a reason."""
    listed = sorted(Path(source["path"]).relative_to(CORPUS) for source in sources)

    assert listed == sorted(path.relative_to(CORPUS) for path in CORPUS.rglob("*") if path.is_file())
    assert {source["status"] for source in sources} <= {"used", "unused", "failed"}
    assert not [source["path"] for source in sources if source["status"] != "used" and not source["reason"]]


def test_the_lines_of_every_file_add_up(sources: list[dict]):
    """Matched, unmatched and unparsed lines are all lines."""
    parts = ("matched_lines", "unmatched_lines", "unparsed_lines")
    wrong = [source["path"] for source in sources if source["lines"] != sum(source[part] for part in parts)]

    assert not wrong


def test_pickles_are_not_opened(sources: list[dict]):
    """Flight-recorder dumps are binary for this reader."""
    dumps = [source for source in sources if "nvrx-flight-recorder" in source["path"] and "_dump_" in source["path"]]

    assert {(source["status"], source["reason"]) for source in dumps} == {("unused", "binary")}


def scanned(folder: Path, *places: str) -> pl.DataFrame:
    """What the reader says of these places, without a warehouse."""
    return pipeline.look(
        [str(path) for place in places for path in logs(place)],
        folder,
        pipeline.site_signatures(load_site(timezone=None)),
        jobs=1,
        talk=QUIET,
    )


@pytest.mark.parametrize(
    "place",
    [
        "loghub/Thunderbird",
        "loghub/HPC",
        "superbenchmark",
        "prometheus-slurm-exporter",
        "m4-logs/gpu.query.0.txt",
        "lnav/logfile_procstate.0",
        "lnav/logfile_invalid_utf8.0",
    ],
)
def test_logs_of_others_and_of_healthy_machines_are_silent(tmp_path: Path, place: str):
    """No line of an old supercomputer, of a clean benchmark or of a status table is an event."""
    assert scanned(tmp_path, place)["matched_lines"].sum() == 0


def test_dmesg_files_of_its_own_test_suite_hold_no_fault():
    """What the authors of dmesg print from a healthy laptop is silent but for its boot line, in every format."""
    found = rows("select distinct signature, kind from events", "util-linux-dmesg")

    assert found == [("boot-kernel", "lifecycle")]


@pytest.mark.parametrize(
    ("name", "host"),
    [("cid-kmsg-input", "kmsg"), ("cid-kmsg-decode", "dmesg-decoded"), ("cid-kmsg-json", "dmesg-json")],
)
def test_dmesg_formats_are_recognised(name: str, host: str):
    """The kernel's own record and two renderings of it are told apart by their content."""
    assert rows(f"select format from sources where path like '%/{name}'", "util-linux-dmesg") == [(host,)]


def test_a_journal_record_has_the_journals_time():
    """The instant of a JSON record is its realtime stamp in microseconds, and its host is the record's."""
    path = CORPUS / "lnav/logfile_journald.json"
    [(first, host)] = rows("select first_ts, host from sources", "lnav/logfile_journald.json")
    record = json.loads(path.read_text(encoding="utf-8").splitlines()[0])

    assert first == datetime.fromtimestamp(int(record["__REALTIME_TIMESTAMP"]) / 1e6, UTC)
    assert host == record["_HOSTNAME"]


def test_an_export_without_a_header_is_said_to_be_unknown(incidentlab: Callable):
    """Accounting without column names cannot be read with certainty; the command says so."""
    outcome = incidentlab("report", *logs("xdmod"))

    assert outcome.code == 3
    assert "unknown format" in outcome.err
