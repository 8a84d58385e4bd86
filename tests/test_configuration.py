"""What a site may say about itself, and what a mistake in it leads to."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from incidentlab.configuration import duration_s, load_site, settings_rows
from incidentlab.errors import UsageError

WHOLE = r"""
[cluster]
name = "alpha"
timezone = "Europe/Paris"
gpus_per_node = 8
dedicated = true
[time]
year = 2026
[[time.zones]]
path = "*/bmc/*"
timezone = "UTC"
[runs]
group_by = ["name", "user_name"]
max_gap = "36h"
[planned]
windows = ["windows.csv"]
changes = ["changes.csv"]
[signatures]
paths = ["site.toml"]
[progress]
step = 'it (?P<step>\d+)'
"""


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A file with every table, and the files it names."""
    file = tmp_path / "incidentlab.toml"
    file.write_text(WHOLE)
    (tmp_path / "windows.csv").write_text(
        "from,to,scope,reason\n2026-03-05T08:00:00,2026-03-05T12:00:00+00:00,cluster,firmware\n"
    )
    (tmp_path / "changes.csv").write_text(
        "ts,scope,item,from_version,to_version\n2026-03-04T00:00Z,n1,driver,550,570\n"
    )
    return file


def rows(**given: object) -> dict:
    """The rows of the settings that `load_site` finds."""
    return settings_rows(load_site(**given))


def test_nothing_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file there are no zones, windows or changes, and no claim about the cluster."""
    monkeypatch.chdir(tmp_path)

    assert rows() == {
        "time_zones": [],
        "maintenance_windows": [],
        "changes": [],
        "meta": [{"key": "run_max_gap_s", "value": "172800"}],
    }


def test_default_file(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the working folder is read where no other is named."""
    monkeypatch.chdir(whole.parent)

    assert load_site().settings.cluster.name == "alpha"


def test_precedence_of_zones(whole: Path) -> None:
    """The option comes before the globs, and these before the cluster's zone."""
    zones = rows(file=whole, timezone="+05:30")["time_zones"]

    assert [(zone["priority"], zone["pattern"], zone["timezone"], zone["basis"]) for zone in zones] == [
        (1, "*", "+05:30", "option"),
        (2, "*/bmc/*", "UTC", "configuration"),
        (3, "*", "Europe/Paris", "configuration"),
    ]


def test_year_of_the_option(whole: Path) -> None:
    """The year of the command line beats that of the file."""
    assert {"key": "year", "value": "2025"} in rows(file=whole, year=2025)["meta"]
    assert {"key": "year", "value": "2026"} in rows(file=whole)["meta"]


def test_windows_are_utc(whole: Path) -> None:
    """A time without an offset is in the cluster's zone: 8:00 in Paris in March is 7:00 UTC."""
    assert rows(file=whole)["maintenance_windows"] == [
        {
            "scope": "cluster",
            "start_ts": datetime(2026, 3, 5, 7, tzinfo=UTC),
            "end_ts": datetime(2026, 3, 5, 12, tzinfo=UTC),
            "reason": "firmware",
        }
    ]


def test_windows_are_in_the_zone_of_the_option(whole: Path) -> None:
    """The option's zone goes before the file's for times without an offset as well: 8:00 at +05:30 is 2:30 UTC."""
    (window,) = rows(file=whole, timezone="+05:30")["maintenance_windows"]

    assert window["start_ts"] == datetime(2026, 3, 5, 2, 30, tzinfo=UTC)


def test_a_table_of_a_spreadsheet_is_read(whole: Path) -> None:
    """Excel writes a byte order mark before the first heading."""
    file = whole.parent / "windows.csv"
    file.write_text(file.read_text(), encoding="utf-8-sig")

    assert len(rows(file=whole)["maintenance_windows"]) == 1


def test_what_is_said_of_cluster_and_runs_is_known(whole: Path) -> None:
    """Name, GPUs a node, idle waits as loss, what makes a run, and a gap of 36 h are facts of the warehouse."""
    assert {row["key"]: row["value"] for row in rows(file=whole)["meta"]} == {
        "cluster": "alpha",
        "dedicated": "true",
        "gpus_per_node": "8",
        "run_group_by": "name,user_name",
        "run_max_gap_s": "129600",
        "year": "2026",
    }


def test_paths_are_relative_to_the_file(whole: Path) -> None:
    """Signature files lie beside the file that names them."""
    assert load_site(whole).signature_files == (whole.parent / "site.toml",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[cluster", "is not TOML"),
        ("[clutser]", "top level: Object contains unknown field `clutser`"),
        ("[cluster]\nnam = 'a'", "cluster: Object contains unknown field `nam`"),
        ("[cluster]\ngpus_per_node = '8'", "cluster.gpus_per_node: Expected `int | null`, got `str`"),
        ("[cluster]\ntimezone = 'Europe/Pari'", "cluster.timezone: there is no time zone 'Europe/Pari'"),
        ("[cluster]\ntimezone = '/etc/localtime'", "cluster.timezone: there is no time zone"),
        ("[[time.zones]]\npath = '*'\ntimezone = '+25:00'", "time.zones[0].timezone: there is no time zone '+25:00'"),
        ("[progress]\nstep = '('", "progress.step: '(' is no regular expression"),
        ("[progress]\nstep = '(?=x)(?P<step>1)'", "progress.step: '(?=x)(?P<step>1)' is no regular expression"),
        ("[progress]\nstep = 'x*'", "progress.step: 'x*' matches the empty string"),
        ("[progress]\nstep = 'tick'", "progress.step: 'tick' has no group (?P<step>...)"),
        (
            "[progress]\nstep = '^tick (?P<step>1)'",
            "progress.step: '^tick (?P<step>1)' has ^, but whole pages are searched",
        ),
        ("[cluster]\ntimezone = 'posix/UTC'", "cluster.timezone: there is no time zone 'posix/UTC'"),
        ("[cluster]\ngpus_per_node = 0", "cluster.gpus_per_node: Expected `int` >= 1"),
        ("[cluster]\ngpus_per_node = 1025", "cluster.gpus_per_node: Expected `int` <= 1024"),
        ("[time]\nyear = 2101", "time.year: Expected `int` <= 2100"),
        ("[time]\nyear = 1989", "time.year: Expected `int` >= 1990"),
        ("[cluster]\ntimezone = 'Factory'", "cluster.timezone: there is no time zone 'Factory'"),
        ("[cluster]\ntimezone = 'localtime'", "cluster.timezone: there is no time zone 'localtime'"),
        ("[runs]\nmax_gap = '99999999999d'", "runs.max_gap: '99999999999d' is no duration"),
        ("x = " + "[" * 100_000, "is not TOML"),
        ("[runs]\ngroup_by = ['colour']", "runs.group_by"),
        ("[runs]\nmax_gap = '2 weeks'", "runs.max_gap: '2 weeks' is no duration"),
        ("[planned]\nwindows = ['none.csv']", "planned.windows: cannot read"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, fault: str) -> None:
    """A mistake is one line that names the file and the key."""
    file = tmp_path / "site.toml"
    file.write_text(text)

    with pytest.raises(UsageError) as caught:
        load_site(file)

    assert str(caught.value).startswith(f"{file}: {fault}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("from,to,reason\n", ": planned.windows: the header must be scope,from,to,reason"),
        ("scope,from,to,reason\nall,2026-01-01T00:00Z\n", ":2: planned.windows: a row needs 4 cells"),
        (
            "scope,from,to,reason\nall,0001-01-01T00:00+10:00,2026-01-01T00:00Z,x\n",
            ":2: '0001-01-01T00:00+10:00' is beyond",
        ),
        ("scope,from,to,reason\nall,soon,later,x\n", ":2: 'soon' is no time like"),
        ("scope,from,to,reason\nall,2026-01-01,2026-01-02,x\n", ":2: '2026-01-01' has no offset"),
        ("scope,from,to,reason\nall,2026-01-02T00:00Z,2026-01-01T00:00Z,x\n", ":2: the window ends before it begins"),
        ("scope,from,to,reason\nall,2026-01-02T00:00Z,2026-01-02T00:00Z,x\n", ":2: the window ends before it begins"),
    ],
)
def test_mistakes_in_windows(tmp_path: Path, content: str, fault: str) -> None:
    """A mistake in a CSV file names the file and the line."""
    file = tmp_path / "site.toml"
    file.write_text("[planned]\nwindows = ['w.csv']")
    (tmp_path / "w.csv").write_text(content)

    with pytest.raises(UsageError) as caught:
        load_site(file)

    assert str(caught.value).startswith(f"{tmp_path / 'w.csv'}{fault}")


def test_missing_file(tmp_path: Path) -> None:
    """A file that was named and is not there is a mistake."""
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_site(tmp_path / "none.toml")


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("48h", 172800), ("7d", 604800), ("5s", 5), ("5", None)])
def test_duration(text: str, seconds: int | None) -> None:
    """A duration is a number and one unit."""
    assert duration_s(text) == seconds
