"""Read logs into the warehouse, beside what it holds already.

What was read before is not counted twice. A file that has grown replaces what was read of it. Time zones and other
settings count for everything in the warehouse; without any, those that it was made with stay.

    incidentlab ingest /var/log/nodes/2026-03-*.gz -d spring.duckdb --tz America/Chicago
    incidentlab ingest /shared/logs --cluster slurm --shards /shared/shards
    incidentlab ingest --from-shards s3://logs/shards
"""

from pathlib import Path
from typing import Any

import click

from incidentlab import options, outputs, pipeline, summary, warehouse
from incidentlab.configuration import load_site
from incidentlab.errors import UsageError
from incidentlab.executors import Where
from incidentlab.terminal import Talk, size


@click.command
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@options.settings
@options.elsewhere
@options.warehouse
@click.pass_obj
def command(
    talk: Talk,
    /,
    *,
    paths: tuple[str, ...],
    warehouse_path: Path,
    jobs: int,
    cluster: str | None,
    shards: str | None,
    from_shards: str | None,
    **site: Any,
) -> None:
    """Add `paths` to the warehouse at `warehouse_path`; a file that is none is refused before anything is read."""
    if bool(paths) == bool(from_shards) or (from_shards and (cluster or shards)):
        raise UsageError("give either PATH..., if need be with --cluster and --shards, or --from-shards alone")
    outputs.claim_file(warehouse_path)
    if warehouse_path.exists():
        warehouse.open_readonly(warehouse_path).close()
    settings = load_site(**site)
    if from_shards:
        sources = pipeline.add_shards(from_shards, warehouse_path, settings, talk=talk)
    else:
        where = Where(jobs, cluster, settings.settings.workers.slurm)
        sources = pipeline.add_to_warehouse(paths, warehouse_path, settings, where=where, talk=talk, store=shards)
    summary.say_files(talk, sources)
    summary.say_reading(talk, sources)
    summary.say_zones(talk, warehouse_path)
    talk.say(f"wrote     {warehouse_path} {size(warehouse_path.stat().st_size)}")
    talk.say(f"next      {options.call('render', warehouse_path=warehouse_path)}")
