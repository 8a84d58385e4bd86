"""The README names what there is, and its examples work."""

import re
import types
from pathlib import Path

import polars as pl
import pytest
from small_warehouse import small_warehouse

from incidentlab import answers, charts, cli, configuration, errors, pictures, report, sqlfiles
from incidentlab.parsers import Parser, Unparsed
from incidentlab.signatures import load_signatures

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(path.stem for path in Path(cli.__file__).parent.glob("commands/[!_]*.py"))


def example(path: str) -> str:
    """The code block of the README whose first line names this file."""
    blocks = re.findall(r"```\w+\n(.*?)```", README, flags=re.DOTALL)
    [found] = [block for block in blocks if path in block.partition("\n")[0]]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_readme_names_every_command(name: str) -> None:
    """Whoever adds a command says what it is for."""
    assert f"incidentlab {name} " in README


def test_readme_names_every_exit_code() -> None:
    """The table of exit codes has each code that the program can end with, and no other."""
    kinds = errors.IncidentlabError.__subclasses__()
    codes = {0, cli.INTERNAL_ERROR, cli.CANNOT_WRITE, cli.INTERRUPTED, *(kind.exit_code for kind in kinds)}

    assert {int(code) for code in re.findall(r"^\| (\d+) \|", README, flags=re.MULTILINE)} == codes


def test_readme_links_lead_somewhere() -> None:
    """Each file that the documents point to is there."""
    targets = re.findall(r"\]\(([^)#]+)\)", README)

    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/performance.md", "Makefile", ".ci/run"]
)
def test_documents_stand_alone(name: str) -> None:
    """No document leans on a place outside the repository."""
    text = (ROOT / name).read_text(encoding="utf-8")

    assert re.findall(r"\.\./|https?://\S+", text) == []


def test_make_help_names_every_target() -> None:
    """Each target says what it does."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [phony] = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)

    assert set(re.findall(r"^(\w+):.*## \w", makefile, flags=re.MULTILINE)) == set(phony.split())


def test_example_settings(tmp_path: Path) -> None:
    """The example of incidentlab.toml has every table and key that there is."""
    (tmp_path / "windows.csv").write_text("scope,from,to,reason\n")
    (tmp_path / "changes.csv").write_text("ts,scope,item,from_version,to_version\n")
    file = tmp_path / "incidentlab.toml"
    file.write_text(re.findall(r"```toml\n(\[cluster\].*?)```", README, flags=re.DOTALL)[0])

    settings = configuration.load_site(file).settings

    untouched = configuration.Settings()
    tables = untouched.__struct_fields__
    assert [table for table in tables if getattr(settings, table) == getattr(untouched, table)] == []


def test_example_signature(tmp_path: Path) -> None:
    """The example signature loads together with the shipped ones, so its samples hold."""
    file = tmp_path / "site.toml"
    file.write_text(example("incidentlab/signatures/site.toml"))

    assert "site-coolant-leak" in {signature.name for signature in load_signatures([file])}


def test_example_parser() -> None:
    """The example parser reads its sample, and says what it could not read."""
    module = types.ModuleType("metrics_csv")
    exec(example("incidentlab/parsers/metrics_csv.py"), module.__dict__)  # noqa: S102 - the README is ours
    parser: Parser = module.PARSER
    [sample] = parser.samples

    rows = list(parser.parse(enumerate(sample.text.splitlines(), 1)))

    assert parser.recognise(sample.text.encode())
    assert [(row.table, row.values["step"], row.values["line_no"]) for row in rows] == [("progress", 41882, 2)]
    assert [type(row) for row in parser.parse([(2, "soon,1,2")])] == [Unparsed]


@pytest.fixture
def example_answer(tmp_path: Path) -> pl.DataFrame:
    """The answer to the example query; its columns must be those of its head."""
    file = tmp_path / "interruptions_by_user.sql"
    file.write_text(example("queries/interruptions_by_user.sql"))
    query = sqlfiles.read(file)
    frame = answers.select(small_warehouse(), query.body)
    assert frame.columns == [column.name for column in query.columns]
    return frame


def test_example_query(example_answer: pl.DataFrame) -> None:
    """The example query counts the nine unplanned interruptions of the small warehouse by owner."""
    assert example_answer.select("user_name", "interruptions").rows() == [("ada", 8), ("bob", 1)]


def test_example_chart(example_answer: pl.DataFrame) -> None:
    """The example chart, put into its file, draws the example answer for the page."""
    names = {**vars(charts), "draws": lambda _query: lambda draw: draw}
    exec(example("incidentlab/charts.py"), names)  # noqa: S102 - the README is ours
    chart = names["interruptions_by_user"](example_answer)

    assert set(re.findall(r">(ada|bob|8|1)<", pictures.svg(chart.to_dict()))) >= {"ada", "bob", "8", "1"}


def test_example_section(example_answer: pl.DataFrame) -> None:
    """The example section is a template that uses the parts that all sections use."""
    environment = report._environment()
    source = example("templates/sections/65-owners.html")
    used = re.findall(r'{% from "parts.html" import ([\w, ]+) %}', source)[0].split(", ")
    parts = environment.get_template("parts.html").module

    assert environment.parse(source)
    assert [name for name in used if not hasattr(parts, name)] == []
    assert set(re.findall(r'\("(\w+)", "', source)) <= set(example_answer.columns)
