"""Answer one of the questions that come with incidentlab; `incidentlab list` names them.

incidentlab query root_cause_breakdown
incidentlab query baseline_comparison --param baseline=llama3 --format json
incidentlab query weekly --format markdown
"""

from pathlib import Path

import click

from incidentlab import answers, formats, options, warehouse
from incidentlab.errors import UsageError


@click.command
@click.argument("name")
@click.option(
    "--param", "params", multiple=True, metavar="KEY=VALUE", help="A parameter of the question; may be repeated."
)
@options.warehouse
@options.output_format
def command(name: str, params: tuple[str, ...], warehouse_path: Path, output_format: str) -> None:
    """Show the answer to question `name`."""
    with warehouse.open_readonly(warehouse_path, boxed=True) as con:
        formats.show(answers.ask(con, name, **dict(map(_pair, params))), output_format)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--param {text!r} is not KEY=VALUE")
    return key, value
