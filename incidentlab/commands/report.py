"""Read logs and make the warehouse and the report.

PATH is a file, a folder or a glob; archives and compressed files are read as they are. The warehouse and the report of
an earlier run are replaced. A warehouse that was filled with `ingest` is not, because it may hold logs that are gone.

    incidentlab report logs/
    incidentlab report logs/ -o monday.html --title "Week 10" --tz Europe/Paris
    incidentlab report sacct.txt /var/log/nodes/*.gz -d week10.duckdb
"""

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from incidentlab import answers, options, outputs, pipeline, summary, warehouse
from incidentlab.commands import render
from incidentlab.configuration import load_site
from incidentlab.errors import UsageError
from incidentlab.terminal import Talk


@click.command
@options.reading
@options.warehouse
@options.rendering
@options.force
@click.pass_obj
def command(
    talk: Talk,
    /,
    *,
    paths: tuple[str, ...],
    warehouse_path: Path,
    output: Path,
    title: str | None,
    now: datetime,
    force: bool,
    jobs: int,
    **site: Any,
) -> None:
    """Make the warehouse at `warehouse_path` from `paths`, and the report at `output` from the warehouse."""
    outputs.claim_report(output, warehouse_path, force=force)
    outputs.claim_file(warehouse_path)
    if warehouse_path.exists() and not force:
        _refuse_ingested(warehouse_path)
    sources = pipeline.make_warehouse(paths, warehouse_path, load_site(**site), jobs=jobs, talk=talk)
    summary.say_files(talk, sources)
    summary.say_reading(talk, sources)
    summary.say_zones(talk, warehouse_path)
    render.write_report(warehouse_path, output, title, now, talk)


def _refuse_ingested(path: Path) -> None:
    """A warehouse that `report` did not make is not thrown away without being told so."""
    with warehouse.open_readonly(path) as con:
        made_by = answers.select(con, "select value from meta where key = 'command'")
    if made_by.rows() != [("report",)]:
        raise UsageError(
            "was filled with `ingest`; add to it with `ingest` and `render`, choose another -d, or use --force",
            str(path),
        )
