"""Write the raw logs of a simulated cluster, and the truth about it, to try things out.

SCENARIO is the name of a scenario that comes with incidentlab, or a TOML file of one's own.

    incidentlab simulate first_hour -o first_hour/
    incidentlab simulate llama3_54d -o llama3/ --seed 7
    incidentlab report first_hour/logs/
"""

from pathlib import Path

import click

from incidentlab import options
from incidentlab.simulate import find_scenario, simulate
from incidentlab.terminal import Talk


@click.command
@click.argument("scenario")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write, new or empty.")
@click.option("--seed", type=click.IntRange(0), help="Another seed than the scenario's own.")
@click.pass_obj
def command(talk: Talk, /, *, scenario: str, output: Path, seed: int | None) -> None:
    """Simulate `scenario` into the folder `output`."""
    file = Path(scenario) if scenario.endswith(".toml") else find_scenario(scenario)
    simulate(file, output, seed)
    talk.say(f"wrote     {output}")
    talk.say(f"next      {options.call('report', str(output / 'logs'))}")
