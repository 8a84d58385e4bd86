"""Paths in, warehouse out: has the inputs read into shards, and the warehouse built from these and the knowledge.

`report` makes a warehouse of exactly its paths; `ingest` adds to one. Both work beside the target and rename at the
end, so that whatever goes wrong, the target is as it was.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import polars as pl

from incidentlab import (
    __version__,
    baselines,
    derive,
    discover,
    executors,
    hosts,
    intake,
    shards,
    signatures,
    spool,
    units,
    warehouse,
)
from incidentlab.configuration import Site, settings_rows
from incidentlab.discover import Input, Refused
from incidentlab.errors import InputError, UsageError, WarehouseError
from incidentlab.manifest import Manifest, assembled, save
from incidentlab.model import SOURCES
from incidentlab.shards import Recipe
from incidentlab.signatures import Signature
from incidentlab.stores import Store
from incidentlab.terminal import Talk
from incidentlab.units import Plan, Reading, Unit
from incidentlab.workshop import SHARDS, workshop

ALONE_BYTES = 16 << 20
"""Below this size, all units together, this process reads alone."""


def make_warehouse(paths: Sequence[str], target: Path, site: Site, *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Replace `target` by a warehouse of `paths` alone; the sources that were read."""
    return _build(paths, target, site, command="report", jobs=jobs, talk=talk)


def add_to_warehouse(paths: Sequence[str], target: Path, site: Site, *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Add `paths` to what `target` holds, if it exists; the sources that were read."""
    return _build(paths, target, site, command="ingest", jobs=jobs, talk=talk)


def _settled(target: Path) -> Path:
    """The file that `target` names, links followed so that they stay; `UsageError` for what DuckDB cannot name."""
    if target.name == ":memory:" or os.fsencode(target).decode("utf-8", "ignore") != str(target):
        raise UsageError("cannot be the name of a warehouse; choose another -d", str(target))
    return target.resolve()


def _build(
    paths: Sequence[str],
    target: Path,
    site: Site,
    *,
    command: Literal["report", "ingest"],
    jobs: int,
    talk: Talk,
) -> pl.DataFrame:
    target, found = _settled(target), find(paths)
    patterns = site_signatures(site)
    with workshop(target) as folder:
        how = shards.recipe(Store(folder / SHARDS), patterns)
        plan = units.plan(found, how.knowledge, known_readings(target, how.knowledge))
        manifest = read(plan, how, jobs=jobs, talk=talk)
        sources = pl.concat([manifest.sources, known_sources(target, plan.unchanged)]).sort("path")
        if not has_used(sources):
            raise InputError(_nothing_used(sources))
        if plan.units or command == "report" or site.is_given:
            talk.say("building  the warehouse", level=1)
            save(manifest, folder)
            derive.build(
                target,
                folder,
                {table: [how.store.url(name) for name in names] for table, names in manifest.shards.items()},
                knowledge_rows(site, patterns, command),
                old=target if _is_needed(target, plan, manifest, command) else None,
                unchanged=plan.unchanged if command == "report" else None,
                keeps_settings=command == "ingest" and not site.is_given,
            )
    return sources


def known_sources(target: Path, files: Sequence[str]) -> pl.DataFrame:
    """The sources that were read from `files` and need not be read again, as the warehouse at `target` has them."""
    if not files:
        return spool.frame(SOURCES, ())
    with warehouse.open_readonly(target) as con:
        rows = intake.sources_of(con, files)
    return spool.frame(SOURCES, [dict(zip(SOURCES.names, row, strict=True)) for row in rows])


def _is_needed(target: Path, plan: Plan, manifest: Manifest, command: str) -> bool:
    """Whether what the warehouse holds is a part of what it will hold."""
    return target.exists() and bool(command == "ingest" or plan.unchanged or manifest.kept.height)


def known_readings(target: Path, knowledge: str) -> list[Reading]:
    """What the warehouse at `target` says of what it has read; nothing if there is none, or one of other tables."""
    try:
        with warehouse.open_readonly(target) as con:
            return units.readings_of(intake.readings(con, knowledge))
    except WarehouseError:
        return []


def find(paths: Sequence[str]) -> list[Input | Refused]:
    """Every file below `paths`; to be asked before anything is made beside a target, which may lie among them.

    Raises `InputError` for a path that does not exist, and where there is no file at all.
    """
    inputs, refused = discover.find_inputs(paths)
    if not inputs and not refused:
        raise InputError("there is no file in it", " ".join(paths))
    return [*inputs, *refused]


def read(plan: Plan, how: Recipe, *, jobs: int, talk: Talk) -> Manifest:
    """Have the units of `plan` read into shards, but for those that are done; what they say together."""
    done = spool.committed(how.store, how.knowledge)
    open_units = [unit for unit in plan.units if unit.key not in done]
    with talk.progress("reading", sum(unit.size for unit in plan.units)) as advance:
        advance(sum(unit.size for unit in plan.units if unit.key in done))
        for unit in executors.run(shards.read_unit, open_units, how, jobs=_workers(open_units, jobs)):
            advance(unit.size)
    return assembled(spool.told(how.store, how.knowledge, [unit.key for unit in plan.units]), how.knowledge)


def _workers(todo: Sequence[Unit], jobs: int) -> int:
    """How many processes; below ALONE_BYTES others would take longer to start than to work."""
    weight = sum(unit.weight for unit in todo)
    return 1 if weight < ALONE_BYTES else min(jobs or os.cpu_count() or 1, len(todo))


def look(paths: Sequence[str], folder: Path, patterns: Sequence[Signature], *, jobs: int, talk: Talk) -> pl.DataFrame:
    """What a reading of `paths` finds: their rows of `sources`; the shards are left in `folder`."""
    how = shards.recipe(Store(folder), patterns)
    return read(units.plan(find(paths), how.knowledge), how, jobs=jobs, talk=talk).sources


def has_used(sources: pl.DataFrame) -> bool:
    """Whether at least one file was recognised; an archive (without lines of its own) is as good as its members."""
    return bool(((sources["status"] == "used") & sources["lines"].is_not_null()).any())


def _nothing_used(sources: pl.DataFrame) -> str:
    """Why a reading came to nothing: the first reasons by file."""
    reasons = [f"{path}: {reason}" for path, reason in sources.select("path", "reason").head(3).iter_rows()]
    more = f"; and {sources.height - 3} more" if sources.height > 3 else ""  # noqa: PLR2004 - as many as are shown
    return f"nothing recognisable to read ({'; '.join(reasons)}{more})"


def site_signatures(site: Site) -> tuple[Signature, ...]:
    """The shipped signatures, those of the site's files, and those of its progress patterns."""
    shipped = signatures.load_signatures(site.signature_files)
    progress = site.settings.progress
    own = (("step", progress.step), ("checkpoint_done", progress.checkpoint_done))
    return (*shipped, *(_progress_signature(mark, pattern, shipped) for mark, pattern in own if pattern))


def _progress_signature(mark: str, pattern: str, shipped: Iterable[Signature]) -> Signature:
    """A progress line as the site writes it; it wins over what is shipped for the same mark."""
    return Signature(
        name=f"site-{mark.replace('_', '-')}",
        channels=("job",),
        pattern=pattern,
        kind="progress",
        severity="info",
        scope="job",
        meaning="A progress line as the site's configuration describes it.",
        catches=(),
        ignores=(),
        mark=mark,
        refines=tuple(other.name for other in shipped if other.kind == "progress" and other.mark == mark),
        origin="incidentlab.toml",
    )


def knowledge_rows(
    site: Site, patterns: Sequence[Signature], command: Literal["report", "ingest"]
) -> dict[str, list[dict[str, Any]]]:
    """The rows of all knowledge tables by table; `meta` says which command and version made the warehouse."""
    rows = settings_rows(site)
    rows["meta"] += [{"key": "command", "value": command}, {"key": "version", "value": __version__}]
    rows["maintenance_windows"] = list(_by_host(rows["maintenance_windows"]))
    rows["changes"] = list(_by_host(rows["changes"]))
    return {
        **rows,
        "signatures": [_signature_row(signature) for signature in patterns],
        "components": signatures.load_components(),
        "xid_catalog": signatures.load_catalog("xid"),
        "sxid_catalog": signatures.load_catalog("sxid"),
        "baselines": baselines.load_baselines(),
        "baseline_causes": baselines.load_causes(),
    }


def _by_host(rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """One row a host of the row's scope, which may be a host list."""
    return ({**row, "scope": host} for row in rows for host in hosts.expand(row["scope"]))


def _signature_row(signature: Signature) -> dict[str, Any]:
    return {**asdict(signature), "channels": list(signature.channels), "refines": ", ".join(signature.refines) or None}
