"""Make the report from a warehouse.

incidentlab render
incidentlab render -d spring.duckdb -o spring.html --title "Spring"
incidentlab render --now 2026-03-09T08:00:00Z
"""

from datetime import datetime
from pathlib import Path

import click

from incidentlab import __version__, answers, options, outputs, report, summary, warehouse
from incidentlab.terminal import Talk, size


@click.command
@options.warehouse
@options.rendering
@options.force
@click.pass_obj
def command(talk: Talk, *, warehouse_path: Path, output: Path, title: str | None, now: datetime, force: bool) -> None:
    """Make the report at `output` from the warehouse at `warehouse_path`."""
    outputs.claim_report(output, warehouse_path, force=force)
    write_report(warehouse_path, output, title, now, talk)


def write_report(warehouse_path: Path, output: Path, title: str | None, now: datetime, talk: Talk) -> None:
    """Render the report and say what it shows."""
    with warehouse.open_readonly(warehouse_path) as con:
        outputs.publish(output, report.render(con, title=title, now=now, tool_version=__version__))
        summary.say_result(talk, answers.ask(con, "headline").row(0, named=True))
        files = ", ".join(f"{path} {size(path.stat().st_size)}" for path in (output, warehouse_path))
        talk.say(f"wrote     {files}")
        summary.say_next(talk, answers.ask(con, "interruption_timeline"), warehouse_path)
