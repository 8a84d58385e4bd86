"""The command line keeps its promises: exit codes, data on stdout, talk on stderr, nothing of others overwritten."""

import errno
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import duckdb
import pytest
from small_warehouse import small_warehouse

from incidentlab import cli, errors, options
from incidentlab.commands import list as list_command
from incidentlab.model import EVENTS, READINGS, SCHEMA_VERSION

Run = Callable[..., object]

COMMANDS = sorted(path.stem for path in Path(cli.__file__).parent.glob("commands/[!_]*.py"))

XID = "Mar  5 14:03:22 gpu-a01 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=2113, GPU has fallen off the bus.\n"


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """The small warehouse as a file."""
    file = tmp_path / "small.duckdb"
    con = small_warehouse()
    con.execute("create schema intake")
    con.execute("create table intake.sources as from sources")
    con.execute("create table intake.job_records (source_id text, line_no int, job_id text, step text, state text)")
    con.execute("insert into intake.job_records values ('s1', 7, '4101', null, 'FAILED')")
    for table in (EVENTS, READINGS):
        con.execute(f"create table intake.{table.name} ({', '.join(f'{c.name} {c.type}' for c in table.columns)})")
    con.execute(f"insert into meta values ('schema_version', '{SCHEMA_VERSION}')")
    con.execute(f"attach '{file}' as file")
    con.execute("copy from database memory to file")
    con.close()
    return file


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with one line of a kernel log."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "messages").write_text(XID)
    return folder


def test_import_is_light() -> None:
    """`--help` waits for none of the heavy libraries, nor for the commands that need them."""
    heavy = ("duckdb", "polars", "altair", "hyperscan", "scipy", "rich", "jinja2", "incidentlab.commands.report")
    code = f"""
import sys
from incidentlab.cli import main
assert main(["--help"]) == 0
sys.exit(" ".join(set(sys.modules) & set({heavy})) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == ""
    assert done.returncode == 0


def test_help_is_what_it_was(incidentlab: Run, golden: Callable[[str, str], None]) -> None:
    """The help pages are looked at before they change."""
    pages = [incidentlab("--help"), *(incidentlab(name, "--help") for name in COMMANDS)]

    assert {page.code for page in pages} == {0}
    golden("help.txt", "\n".join(page.out for page in pages))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples(incidentlab: Run, name: str) -> None:
    """Each help page shows three calls."""
    page = incidentlab(name, "--help").out

    assert page.partition("Options:")[0].count("\n    incidentlab ") == 3


def test_version(incidentlab: Run) -> None:
    """The version is data."""
    assert incidentlab("--version").out == "incidentlab, version 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nonsense",), 2, "No such command"),
        (("report",), 2, "Missing argument"),
        (("report", "none"), 3, "incidentlab: none: there is no such file or folder"),
        (("report", "empty"), 3, "incidentlab: empty: there is no file in it"),
        (("report", "empty", "--tz", "Mars/Olympus"), 2, "there is no time zone 'Mars/Olympus'"),
        (("report", "empty", "-c", "none.toml"), 2, "incidentlab: none.toml: cannot be read"),
        (("report", "empty", "--now", "2026-03-05T14:00"), 2, "has no zone"),
        (("report", "empty", "-o", "none/report.html"), 2, "there is no folder none"),
        (("report", "empty", "-o", "empty"), 2, "is a folder"),
        (
            ("report", "empty", "-o", "same.x", "-d", "./same.x"),
            2,
            "cannot be both the warehouse (-d) and the report (-o)",
        ),
        (("render", "-o", "same.x", "-d", "same.x", "--force"), 2, "cannot be both the warehouse (-d) and the report"),
        (("report", "empty", "-o", "x" * 300), 2, "cannot be written (File name too long); choose another"),
        (
            ("report", "empty", "-d", "/proc/x.duckdb"),
            2,
            "cannot be written (No such file or directory); choose another",
        ),
        (("ingest", "empty", "-d", "/dev/null/x.duckdb"), 2, "there is no folder /dev/null"),
        (("simulate", "first_hour", "-o", "/dev/null"), 2, "cannot be a folder (File exists); choose another -o"),
        (("simulate", "first_hour", "-o", "/dev/null/x"), 2, "cannot be a folder (Not a directory); choose another -o"),
        (("render", "-d", "none.duckdb"), 5, "incidentlab: none.duckdb: there is no warehouse"),
        (("simulate", "nonsense", "-o", "x"), 2, "no scenario is called 'nonsense'; there are"),
    ],
)
def test_mistakes(incidentlab: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    """A mistake has its exit code and one message on stderr, and leaves nothing behind."""
    (tmp_path / "empty").mkdir()

    outcome = incidentlab(*arguments)

    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


@pytest.mark.parametrize("name", ["report", "ingest"])
def test_binary_file_is_no_log(incidentlab: Run, tmp_path: Path, name: str) -> None:
    """Where nothing can be recognised, the reason is said and no warehouse is made."""
    (tmp_path / "photo").write_bytes(bytes(range(256)) * 50)

    outcome = incidentlab(name, "photo")

    assert outcome.code == errors.InputError.exit_code
    assert "nothing recognisable to read (photo: " in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["photo"]


def test_report(incidentlab: Run, logs: Path, tmp_path: Path) -> None:
    """One command makes a warehouse and a report of its paths alone, says so on stderr, and leaves nothing else.

    What an earlier run made is replaced, and the same logs with the same `--now` give the same bytes.
    """
    other = tmp_path / "other"
    other.write_text(XID.replace("gpu-a01", "gpu-b02"))
    reports = []
    for path in ("other", "logs", "logs"):
        outcome = incidentlab("report", path, "--now", "2026-03-06T00:00:00Z", "--year", "2026")
        assert (outcome.code, outcome.out) == (0, "")
        assert "wrote     incidentlab-report.html" in outcome.err
        reports.append((tmp_path / "incidentlab-report.html").read_bytes())

    assert reports[0] != reports[1] == reports[2]
    assert incidentlab("sql", "select path from sources", "--format", "csv").out == "path\nlogs/messages\n"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"logs", "other", "incidentlab.duckdb", "incidentlab-report.html"}
    assert [path.name for path in logs.iterdir()] == ["messages"]


def test_ingest_adds(incidentlab: Run, logs: Path, tmp_path: Path) -> None:
    """`ingest` keeps what is there, and the same folder again adds nothing."""
    (tmp_path / "other").write_text(XID.replace("gpu-a01", "gpu-b02"))
    for paths in (["other"], ["logs"], ["logs", "other"]):
        assert incidentlab("ingest", *paths).code == 0
    events = incidentlab("sql", "select node, count(*) as n from events group by 1 order by 1", "--format", "csv")

    assert logs
    assert events.out == "node,n\ngpu-a01,1\ngpu-b02,1\n"


def test_report_does_not_throw_a_gathered_warehouse_away(incidentlab: Run, logs: Path, warehouse: Path) -> None:
    """A warehouse that `report` did not make is replaced only by force."""
    outcome = incidentlab("report", logs, "-d", warehouse)

    assert outcome.code == errors.UsageError.exit_code
    assert "was filled with `ingest`" in outcome.err
    assert incidentlab("report", logs, "-d", warehouse, "--force").code == 0


@pytest.mark.parametrize("content", [b"", b"my thesis", gzip.compress(b"x", mtime=0)])
def test_foreign_report_is_kept(incidentlab: Run, logs: Path, tmp_path: Path, content: bytes) -> None:
    """A file that is not our report is not overwritten, and nothing is read before that is known."""
    (tmp_path / "thesis.html").write_bytes(content)
    outcome = incidentlab("report", logs, "-o", "thesis.html")

    assert outcome.code == errors.UsageError.exit_code
    assert "is not a report of incidentlab; choose another -o" in outcome.err
    assert (tmp_path / "thesis.html").read_bytes() == content
    assert not (tmp_path / "incidentlab.duckdb").exists()


@pytest.mark.parametrize("name", ["report", "ingest", "render", "list"])
def test_foreign_warehouse_is_kept(incidentlab: Run, logs: Path, tmp_path: Path, name: str) -> None:
    """A file that is not our warehouse is neither read nor overwritten."""
    (tmp_path / "thesis.duckdb").write_text("my thesis")
    paths = [logs] if name in {"report", "ingest"} else []
    outcome = incidentlab(name, *paths, "-d", "thesis.duckdb")

    assert outcome.code == errors.WarehouseError.exit_code
    assert (tmp_path / "thesis.duckdb").read_text() == "my thesis"


@pytest.mark.parametrize("name", ["report", "ingest"])
def test_foreign_warehouse_is_refused_before_the_work(
    incidentlab: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Hours of reading are not thrown away at a target that was wrong from the beginning."""
    read: list[object] = []
    monkeypatch.setattr("incidentlab.shards.read_unit", lambda *_args, **_options: read.append(1))
    (tmp_path / "thesis.duckdb").write_text("my thesis")

    assert incidentlab(name, logs, "-d", "thesis.duckdb").code == errors.WarehouseError.exit_code
    assert read == []


def test_own_outputs_are_no_logs(incidentlab: Run, logs: Path, tmp_path: Path) -> None:
    """Where the outputs lie among the logs, a second run says what they are, and finds what the first one found."""
    seen = []
    for _ in range(3):
        assert incidentlab("report", ".", "--now", "2026-03-06T00:00:00Z", "--year", "2026").code == 0
        sources = incidentlab("sql", "select path, status, reason from sources order by path", "--format", "csv").out
        seen.append(sources.splitlines()[1:])

    assert logs.parent == tmp_path
    assert seen[0] == ["logs/messages,used,"]
    assert (
        seen[1]
        == seen[2]
        == [
            "incidentlab-report.html,unused,a report of incidentlab",
            "incidentlab.duckdb,unused,a DuckDB file",
            "logs/messages,used,",
        ]
    )


def test_scan_writes_nothing(incidentlab: Run, logs: Path, tmp_path: Path) -> None:
    """A dry run shows the sources as data and leaves no file."""
    (logs / "photo").write_bytes(bytes(range(256)) * 50)
    outcome = incidentlab("scan", "logs", "--format", "json")

    assert outcome.code == 0
    assert [(row["path"], row["status"]) for row in json.loads(outcome.out)["rows"]] == [
        ("logs/messages", "used"),
        ("logs/photo", "unused"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_verbose_names_every_file(incidentlab: Run, logs: Path) -> None:
    """`-v` says one line a file on stderr; `scan`, whose data says it, does not say it again."""
    quiet = incidentlab("ingest", logs, "-q")
    loud = incidentlab("ingest", logs, "-v")
    scan = incidentlab("scan", logs, "-v", "--format", "csv")

    assert quiet.err == ""
    assert loud.err.count(f"used      {logs}/messages: ") == 1
    assert (scan.out.count("messages"), scan.err.count("messages")) == (1, 0)


def test_few_unused_files_are_named(incidentlab: Run, logs: Path) -> None:
    """Up to three files that share a reason are named beside it; more are counted."""
    said = []
    for number in range(4):
        (logs / f"photo{number}").write_bytes(bytes(range(256)) * 50)
        said.append([line for line in incidentlab("scan", "logs").err.splitlines() if line.startswith("unused")])

    assert [line.endswith("(logs/photo0, logs/photo1, logs/photo2)") for [line] in said] == [False, False, True, False]
    assert said[0][0].endswith("(logs/photo0)")
    assert "photo" not in said[3][0]


@pytest.mark.parametrize("name", ["report", "ingest"])
def test_assumed_zone_is_said(incidentlab: Run, logs: Path, name: str) -> None:
    """Where nothing tells the zone of stamps without one, it is said which was taken and how to give it."""
    said = "assumed   time zone of 1 file: UTC; give --tz or [cluster] timezone\n"

    assert said in incidentlab(name, logs, "-d", "a.duckdb").err
    assert "assumed" not in incidentlab(name, logs, "-d", "b.duckdb", "--tz", "Europe/Paris").err


def test_list_names_tables_and_questions(incidentlab: Run, warehouse: Path) -> None:
    """Without an argument `list` says what there is, what people ask for first, also without a warehouse."""
    rows, unfilled = (
        json.loads(incidentlab("list", "-d", path, "--format", "json").out)["rows"]
        for path in (warehouse, "none.duckdb")
    )
    con = duckdb.connect(str(warehouse), read_only=True)
    tables = con.execute("select table_name from duckdb_tables() where schema_name = 'main'").fetchall()
    con.close()

    assert (rows[0]["name"], rows[0]["kind"], rows[0]["rows"]) == ("interruptions", "table", 11)
    assert list(dict.fromkeys(row["kind"] for row in rows)) == ["table", "question", "knowledge", "step"]
    assert sorted(row["name"] for row in rows if row["kind"] != "question") == sorted(name for (name,) in tables)
    assert [{**row, "rows": None} for row in rows] == unfilled


def test_list_puts_first_what_people_want(incidentlab: Run, warehouse: Path) -> None:
    """In each table for people the columns that are put in front exist; data keeps the declared order."""
    heads = {name: incidentlab("list", name, "-d", warehouse).out.split("\n")[0] for name in list_command._FIRST}
    data = incidentlab("list", "interruptions", "-d", warehouse, "--format", "csv").out

    assert {name: tuple(head.split()[: len(list_command._FIRST[name])]) for name, head in heads.items()} == (
        list_command._FIRST
    )
    assert data.startswith("interruption_id,attempt_id,run_id,job_id,ts,")


def test_list_limits_tables_only(incidentlab: Run, warehouse: Path) -> None:
    """Of 60 rows a table for people shows 50 and says so; data is complete, unless a limit is given."""
    con = duckdb.connect(str(warehouse))
    con.execute("insert into node_states (node, state) select 'n' || n, 'IDLE' from range(59) as more (n)")
    con.close()
    shown, saved, cut = (
        incidentlab("list", "node_states", "-d", warehouse, *more)
        for more in ((), ("--format", "csv"), ("--format", "csv", "--limit", "3"))
    )

    assert (shown.out.count("\n"), shown.err) == (2 + 50, "showing 50 of 60; --limit 0 shows all\n")
    assert (saved.out.count("\n"), saved.err) == (1 + 60, "")
    assert (cut.out.count("\n"), cut.err) == (1 + 3, "showing 3 of 60; --limit 0 shows all\n")


def test_list_says_what_it_leaves_out(incidentlab: Run, warehouse: Path) -> None:
    """A limit is announced; rows come in the order of time."""
    outcome = incidentlab("list", "interruptions", "-d", warehouse, "--limit", "2", "--format", "json")

    assert [row["ts"] for row in json.loads(outcome.out)["rows"]] == ["2026-03-03T06:00:00Z", "2026-03-04T12:00:00Z"]
    assert outcome.err == "showing 2 of 11; --limit 0 shows all\n"


def test_list_filters(incidentlab: Run, warehouse: Path) -> None:
    """A condition is SQL."""
    outcome = incidentlab("list", "sources", "-d", warehouse, "--where", "status <> 'used'", "--format", "csv")

    assert [line.split(",")[1] for line in outcome.out.splitlines()[1:]] == ["logs/photo.jpg", "logs/old.gz"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "nonsense"), "there is no table 'nonsense'; there are: "),
        (("query", "nonsense"), "no question is called 'nonsense'; there are: "),
        (("query", "weekly", "--param", "x"), "--param 'x' is not KEY=VALUE"),
        (("query", "weekly", "--param", "x=1"), "weekly has no parameter x"),
        (("sql", "selec 1"), "Parser Error"),
        (("sql", "drop table runs"), "read-only mode"),
        (("sql", "from read_csv('/etc/hostname')"), "disabled"),
        (("sql", "set enable_external_access = true"), "locked"),
        (("sql", ""), "the statement selects nothing"),
        (("sql", "select 1; select 2"), "one statement at a time; these are 2"),
        (("list", "runs", "--where", "true) --"), "Parser Error"),
        (("query", "baseline_comparison", "--param", "baseline=lama3"), "there is no baseline 'lama3'; there are: "),
        (("show", "nonsense"), "no interruption or incident has the id 'nonsense'"),
        (("show", "i1x"), "no interruption"),
        (("explain", "nonsense"), "is neither FILE:LINE nor the id"),
        (("explain", "nonsense:1"), "nonsense: was not read"),
        (("explain", "logs/sacct.txt:41"), "has 40 lines, so there is no line 41"),
        (("explain", f"logs/sacct.txt:{'9' * 5000}"), "is neither FILE:LINE nor the id"),
        (("sql", "select '\udcff'"), "the statement is not UTF-8 text"),
    ],
)
def test_wrong_questions(incidentlab: Run, warehouse: Path, arguments: tuple[str, ...], said: str) -> None:
    """A question that cannot be answered is a usage error that says what can be."""
    outcome = incidentlab(*arguments, "-d", warehouse)

    assert (outcome.code, outcome.out) == (errors.UsageError.exit_code, "")
    assert said in outcome.err


def test_query_takes_parameters(incidentlab: Run, warehouse: Path) -> None:
    """A parameter reaches the question."""
    outcome = incidentlab("query", "line_fate", "-d", warehouse, "--param", "of_line=120", "--format", "json")

    assert [row["event_id"] for row in json.loads(outcome.out)["rows"]] == ["e1"]


def test_sql_shows_every_type(incidentlab: Run, warehouse: Path) -> None:
    """Types that a frame cannot hold come as text."""
    outcome = incidentlab("sql", "select interval 1 day as a, 1::hugeint as b", "-d", warehouse, "--format", "jsonl")

    assert json.loads(outcome.out) == {"a": "1 day", "b": 1}


def test_sql_shows_every_column(incidentlab: Run, warehouse: Path) -> None:
    """Columns of one name are told apart, whatever their case and whatever else is called so."""
    statement = 'select 1 as a, 2 as "A", 3 as a_2, interval 4 day as a from (select 5);'
    outcome = incidentlab("sql", statement, "-d", warehouse, "--format", "jsonl")

    assert json.loads(outcome.out) == {"a": 1, "A_3": 2, "a_2": 3, "a_4": "4 days"}


def test_show_fits_one_screen(incidentlab: Run, warehouse: Path, golden: Callable[[str, str], None]) -> None:
    """An interruption stands on 80 columns and 24 lines, found by the beginning of its id."""
    screens = [incidentlab("show", identity, "-d", warehouse.name).out for identity in ("i2", "i8", "n1")]

    lines = [line for screen in screens for line in screen.splitlines()]
    assert max(map(len, lines)) <= 80
    assert max(screen.count("\n") for screen in screens) <= 24
    golden("show.txt", "\n".join(screens))


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("20", 40), ("300", 100)])
def test_screens_take_the_terminal(
    incidentlab: Run, warehouse: Path, monkeypatch: pytest.MonkeyPatch, columns: str, widest: int
) -> None:
    """What is filled, is filled to the width of the terminal, from 40 to 100 cells."""
    con = duckdb.connect(str(warehouse))
    con.execute("update interruptions set why = repeat('because ', 50)")
    con.close()
    monkeypatch.setenv("COLUMNS", columns)
    lengths = [len(line) for line in incidentlab("show", "i2", "-d", warehouse).out.splitlines() if "because" in line]

    assert widest - len("because ") < max(lengths) <= widest


def test_ambiguous_beginning(incidentlab: Run, warehouse: Path) -> None:
    """The beginning of several ids names none of them."""
    assert "'i' is the beginning of several: " in incidentlab("show", "i", "-d", warehouse).err


def test_id_is_known_by_its_beginning(incidentlab: Run, warehouse: Path) -> None:
    """With or without its prefix, in any case, the beginning of an id is enough, if it is that of one."""
    con = duckdb.connect(str(warehouse))
    con.execute("update interruptions set interruption_id = 'INT-3f9a41d2' where interruption_id = 'i3'")
    con.execute("update interruptions set interruption_id = 'INT-26aa41d2' where interruption_id = 'i4'")
    con.execute("update incidents set incident_id = 'INC-260305-ca88de' where incident_id = 'n5'")
    con.close()
    titles = {
        text: incidentlab("show", text, "-d", warehouse).out.partition("  ")[0].strip()
        for text in ("3f9a", "INT-3F9A", "int-3", "INT-3f9a41d2", "ca88", "inc-2603", "260305-CA", "f9a")
    }

    assert titles == {
        **dict.fromkeys(("3f9a", "INT-3F9A", "int-3", "INT-3f9a41d2"), "INT-3f9a41d2"),
        **dict.fromkeys(("ca88", "inc-2603", "260305-CA"), "INC-260305-ca88de"),
        "f9a": "",
    }
    several = incidentlab("show", "26", "-d", warehouse).err
    assert "'26' is the beginning of several: INT-26aa41d2, INC-260305-ca88de" in several


def test_explain(incidentlab: Run, warehouse: Path, golden: Callable[[str, str], None]) -> None:
    """A verdict says what speaks for it, what was ruled out and what could not be checked; a line says its fate."""
    subjects = ("i2", "n1", "logs/messages-gpu-a01:120", "messages-gpu-a01:121", "logs/sacct.txt:7")
    pages = [incidentlab("explain", subject, "-d", warehouse.name).out for subject in subjects]

    assert max(len(line) for page in pages for line in page.splitlines()) <= 80
    golden("explain.txt", "\n".join(pages))


def test_explain_all(incidentlab: Run, warehouse: Path) -> None:
    """`explain` shows the most telling twelve lines and how to see all; `show` names the same command."""
    con = duckdb.connect(str(warehouse))
    con.execute("insert into interruption_events select 'i2', 'e1', 'symptom', n from range(20) as more (n)")
    con.close()
    shown, explained = (incidentlab(name, "i2", "-d", "small.duckdb").out for name in ("show", "explain"))
    call = ("explain", "i2", "--all", "-d", "small.duckdb")
    places = [page.count("logs/messages-gpu-a01:") for page in (shown, explained, incidentlab(*call).out)]

    assert places == [4, 12, 21]
    assert f"and 17 lines more: incidentlab {' '.join(call)}\n" in shown
    assert f"and 9 lines more: incidentlab {' '.join(call)}\n" in explained


def test_show_bounds_a_loss(incidentlab: Run, warehouse: Path) -> None:
    """A loss that is not known exactly has its bounds, as on the page; one that nothing bounds is not known."""
    bounded, unknown = (incidentlab("show", identity, "-d", warehouse).out for identity in ("i4", "i11"))

    assert "lost      0\N{EN DASH}24 GPU-h, grade B\n" in bounded
    assert "lost      not known\n" in unknown


def test_hint_names_the_warehouse(incidentlab: Run, warehouse: Path, logs: Path, tmp_path: Path) -> None:
    """The next step can be typed as it stands: the warehouse is named, unless it is the usual one."""
    warehouse.rename(tmp_path / "my lab.duckdb")
    chosen = incidentlab("show", "i2", "-d", "my lab.duckdb").out
    ingested = incidentlab("ingest", logs, "-d", "week 10.duckdb").err
    (tmp_path / "my lab.duckdb").rename(tmp_path / "incidentlab.duckdb")

    assert chosen.splitlines()[-1] == "next      incidentlab explain i2 -d 'my lab.duckdb'"
    assert ingested.splitlines()[-1] == "next      incidentlab render -d 'week 10.duckdb'"
    assert incidentlab("show", "i2").out.splitlines()[-1] == "next      incidentlab explain i2"
    assert incidentlab("render").err.splitlines()[-1] == "next      incidentlab show i7   # the costliest"


@pytest.mark.parametrize(
    ("called", "program"),
    [
        ("on path/incidentlab", "incidentlab"),
        (".venv/bin/incidentlab", ".venv/bin/incidentlab"),
        ("my lab/incidentlab", "'my lab/incidentlab'"),
        ("site-packages/incidentlab/__main__.py", "python3 -m incidentlab"),
    ],
)
def test_hint_names_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, program: str) -> None:
    """A hint begins with what finds the program again: its name, the path it was called by, or its Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "on path")
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "incidentlab"])
    Path("on path").mkdir()
    Path("on path/incidentlab").touch(mode=0o755)

    assert options.call("list", "a b") == f"{program} list 'a b'"


def test_bug_has_its_exit_code(incidentlab: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of ours is one line and exit code 70; the traceback is for those who ask."""

    @click.command("broken")
    def broken() -> None:
        raise ZeroDivisionError("oops\x1b[31m")

    monkeypatch.setattr(cli._Commands, "get_command", lambda _self, _ctx, name: cli._Command.of(name, "Break.", broken))

    short, long = incidentlab("broken"), incidentlab("broken", "-vv")

    assert short.code == long.code == cli.INTERNAL_ERROR
    assert short.err == "incidentlab: internal error: ZeroDivisionError: oops\\x1b[31m (-vv shows the traceback)\n"
    assert "Traceback" in long.err
    assert "\x1b" not in long.err


def test_interrupted(incidentlab: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130 and leaves nothing half-made."""

    def interrupt(*_args: object, **_kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("incidentlab.shards.read_unit", interrupt)

    assert incidentlab("report", "logs").code == cli.INTERRUPTED
    assert logs.parent == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_closed_pipe_is_silent(warehouse: Path) -> None:
    """A reader that has seen enough gets no complaint."""
    command = f"{sys.executable} -m incidentlab sql 'from range(1000000)' -d {warehouse} --format csv | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "range\n", "")


def test_environment_stands_in_for_options(incidentlab: Run, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """INCIDENTLAB_WAREHOUSE is the warehouse, unless an option names another."""
    monkeypatch.setenv("INCIDENTLAB_WAREHOUSE", str(warehouse))

    assert incidentlab("query", "weekly").code == 0
    assert incidentlab("query", "weekly", "-d", "none.duckdb").code == errors.WarehouseError.exit_code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk(warehouse: Path) -> None:
    """A disk without room is no bug: it has its own exit code and one line."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "incidentlab", "list", "interruptions", "-d", warehouse],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == cli.CANNOT_WRITE
    assert done.stderr == "incidentlab: No space left on device; what was there before is as it was\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_in_words_alone(number: int) -> None:
    """DuckDB and polars tell of a disk, quota or file limit that is reached in their own exceptions."""
    said = RuntimeError(f'IO Error: Could not write file "w": {os.strerror(number)}')
    assert cli._disk_fault(said) == os.strerror(number)


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams(logs: Path, tmp_path: Path, streams: str) -> None:
    """Whoever shuts the standard streams wants no talk, but does want the warehouse."""
    call = f'exec "{sys.executable}" -m incidentlab ingest "{logs}" -d w.duckdb {streams}'
    done = subprocess.run(["bash", "-c", call], cwd=tmp_path, capture_output=True, check=False)

    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert (tmp_path / "w.duckdb").is_file()


@pytest.mark.parametrize("option", ["-o", "-d"])
def test_device_is_not_replaced(incidentlab: Run, logs: Path, tmp_path: Path, option: str) -> None:
    """Not even by force: it may be /dev/null."""
    os.mkfifo(tmp_path / "pipe")

    outcome = incidentlab("report", logs, option, "pipe", "--force")

    assert (outcome.code, "is a device, pipe or socket" in outcome.err) == (errors.UsageError.exit_code, True)
    assert (tmp_path / "pipe").is_fifo()


def test_time_beyond_the_calendar(incidentlab: Run, logs: Path) -> None:
    """An instant that has no equal in UTC is a wrong argument."""
    outcome = incidentlab("report", logs, "--now", "0001-01-01T00:00:00+10:00")

    assert (outcome.code, "is no time like" in outcome.err) == (errors.UsageError.exit_code, True)
