"""Options and arguments that several commands take, each said once; what is not given may come from INCIDENTLAB_*."""

import shlex
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from incidentlab.formats import WRITERS

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

_USUAL_WAREHOUSE = "incidentlab.duckdb"


class _Instant(click.ParamType[datetime]):
    """An instant with its zone, or seconds since 1970 (as SOURCE_DATE_EPOCH has it)."""

    name = "instant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """`value` in UTC."""
        if isinstance(value, datetime):
            return value
        try:
            stamp = datetime.fromtimestamp(int(value), UTC) if value.isdecimal() else datetime.fromisoformat(value)
            in_utc = stamp.astimezone(UTC)
        except (ValueError, OverflowError, OSError):
            self.fail(f"{value!r} is no time like 2026-03-05T14:00:00Z", param, ctx)
        if stamp.tzinfo is None:
            self.fail(f"{value!r} has no zone; 2026-03-05T14:00:00Z has one", param, ctx)
        return in_utc


def _together(*decorators: Callable[[Any], Any]) -> Callable[[_Decorated], _Decorated]:
    """One decorator out of several, in the order in which their options are listed."""

    def decorate(command: _Decorated) -> _Decorated:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


force = click.option("--force", is_flag=True, help="Replace what stands at the outputs, whoever made it.")

output_format = click.option(
    "--format",
    "output_format",
    type=click.Choice(list(WRITERS)),
    default="table",
    show_default=True,
    help="How rows are written.",
)

settings = _together(
    click.option(
        "-c",
        "--config",
        "file",
        type=click.Path(path_type=Path),
        envvar="INCIDENTLAB_CONFIG",
        help="Settings of the site [default: incidentlab.toml, if it is there].",
    ),
    click.option("--tz", "timezone", envvar="INCIDENTLAB_TZ", help="Zone of stamps that carry none: a name or +HH:MM."),
    click.option(
        "--year", type=click.IntRange(1990, 2100), envvar="INCIDENTLAB_YEAR", help="Year of stamps that carry none."
    ),
    click.option(
        "--jobs",
        type=click.IntRange(0),
        default=0,
        envvar="INCIDENTLAB_JOBS",
        help="Processes that read; 0 is one a processor.",
    ),
)
"""What a command takes that has logs read."""

reading = _together(click.argument("paths", nargs=-1, required=True, metavar="PATH..."), settings)
"""The same with the paths that it must be given."""

elsewhere = _together(
    click.option(
        "--cluster",
        envvar="INCIDENTLAB_CLUSTER",
        metavar="WHERE",
        help="Have a Dask cluster read: a scheduler's address or file, local, or slurm.",
    ),
    click.option(
        "--shards",
        envvar="INCIDENTLAB_SHARDS",
        metavar="STORE",
        help="Keep the shards in this folder or s3://BUCKET/PREFIX, and read only what is not in it.",
    ),
    click.option("--from-shards", metavar="STORE", help="Read no logs, but shards that others have made."),
)
"""How `ingest` shares its work and its results with other machines."""

warehouse = click.option(
    "-d",
    "--warehouse",
    "warehouse_path",
    type=click.Path(path_type=Path),
    default=_USUAL_WAREHOUSE,
    show_default=True,
    envvar="INCIDENTLAB_WAREHOUSE",
    help="The DuckDB file.",
)

rendering = _together(
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        default="incidentlab-report.html",
        show_default=True,
        help="The report.",
    ),
    click.option("--title", help="Title of the report."),
    click.option(
        "--now",
        type=_Instant(),
        envvar=["INCIDENTLAB_NOW", "SOURCE_DATE_EPOCH"],
        default=lambda: datetime.now(UTC),
        help="Time that the report says it was made [default: the clock's].",
    ),
)
"""What a command takes that makes a report."""


def call(*words: str, warehouse_path: Path = Path(_USUAL_WAREHOUSE)) -> str:
    """A command as it can be typed here; `-d` is named where the warehouse is not the usual one."""
    chosen = () if str(warehouse_path) == _USUAL_WAREHOUSE else ("-d", str(warehouse_path))
    return f"{_program()} {shlex.join((*words, *chosen))}"


def _program() -> str:
    """`incidentlab` where the shell finds it, else what it was called by: `.venv/bin/incidentlab`."""
    called = Path(sys.argv[0])
    if called.parts[-2:] == ("incidentlab", "__main__.py"):
        return f"{shlex.quote(sys.orig_argv[0])} -m incidentlab"
    is_elsewhere = called.name == "incidentlab" and str(called) != shutil.which("incidentlab")
    return shlex.quote(str(called)) if is_elsewhere else "incidentlab"
