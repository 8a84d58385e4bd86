"""Say what would be read and what not, and why, without writing anything.

incidentlab scan logs/
incidentlab scan sacct.txt /var/log/nodes/*.gz
incidentlab scan logs/ --format json
"""

import tempfile
from pathlib import Path
from typing import Any

import click

from incidentlab import formats, options, pipeline, summary
from incidentlab.configuration import load_site
from incidentlab.errors import InputError
from incidentlab.terminal import Talk

_SHOWN = ("path", "status", "format", "lines", "matched_lines", "unparsed_lines", "channel", "host", "reason")


@click.command
@options.reading
@options.output_format
@click.pass_obj
def command(talk: Talk, /, *, paths: tuple[str, ...], jobs: int, output_format: str, **site: Any) -> None:
    """Read `paths` into a temporary folder and show the sources; `InputError` if none of them can be used."""
    with tempfile.TemporaryDirectory(prefix="incidentlab-") as folder:
        patterns = pipeline.site_signatures(load_site(**site))
        sources = pipeline.look(paths, Path(folder), patterns, jobs=jobs, talk=talk)
    summary.say_reading(talk, sources)
    formats.show(sources.select(_SHOWN), output_format)
    if not pipeline.has_used(sources):
        raise InputError("nothing recognisable to read")
