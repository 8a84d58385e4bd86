"""Select from the warehouse with SQL of your own; it can read the warehouse and nothing else.

incidentlab sql "from root_cause_breakdown"
incidentlab sql "select node, count(*) from interruptions group by all order by 2 desc, 1"
incidentlab sql "from weekly" --format markdown | tee -a weekly.md
"""

from pathlib import Path

import click

from incidentlab import answers, formats, options, warehouse


@click.command
@click.argument("statement")
@options.warehouse
@options.output_format
def command(statement: str, warehouse_path: Path, output_format: str) -> None:
    """Show what `statement` selects; files, network and settings are out of its reach."""
    with warehouse.open_readonly(warehouse_path, boxed=True) as con:
        formats.show(answers.select(con, statement), output_format)
