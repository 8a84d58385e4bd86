"""Paths in, warehouse out: has the inputs read into shards, and the warehouse built from these and the knowledge.

`report` makes a warehouse of exactly its paths; `ingest` adds to one. Both work beside the target and rename at the
end, so that whatever goes wrong, the target is as it was.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
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
from incidentlab.executors import Where, WorkerLost
from incidentlab.manifest import MANIFEST, Manifest, assembled, named, save, unit_keys
from incidentlab.model import SOURCES
from incidentlab.shards import Recipe
from incidentlab.signatures import Signature
from incidentlab.spool import Seen
from incidentlab.stores import open_store
from incidentlab.terminal import Talk
from incidentlab.units import Plan, Reading, Unit
from incidentlab.workshop import SHARDS, workshop

ALONE_BYTES = 16 << 20
"""Below this size, all units together, this process reads alone."""


def make_warehouse(paths: Sequence[str], target: Path, site: Site, *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Replace `target` by a warehouse of `paths` alone; the sources that were read."""
    target, found = _settled(target), find(paths)
    with _run(target, site, talk) as run:
        plan = units.plan(found, run.how.knowledge, known_readings(target, run.how.knowledge))
        manifest = read(plan, run.how, Where(jobs), talk, run.folder)
        sources = _all_sources(manifest, plan, target)
        run.build(manifest, "report", target if plan.unchanged or manifest.kept.height else None, plan.unchanged)
    return sources


def add_to_warehouse(
    paths: Sequence[str], target: Path, site: Site, *, where: Where, talk: Talk, store: str | None = None
) -> pl.DataFrame:
    """Add `paths` to what `target` holds, if it exists; the sources that were read.

    The shards are kept in `store`, if there is one. What is in it need not be read again, but all that it needs is in
    it, whatever the warehouse knows.
    """
    target, found = _settled(target), find(paths)
    with _run(target, site, talk, store) as run:
        knowledge = run.how.knowledge
        plan = units.plan(found, knowledge, () if store else known_readings(target, knowledge))
        manifest = read(plan, run.how, where, talk, run.folder)
        sources = _all_sources(manifest, plan, target)
        if store:
            run.how.store.put(MANIFEST, named(manifest, knowledge))
        if plan.units or plan.has_lost_names or site.is_given:
            run.add(manifest, plan.unchanged)
    return sources


def add_shards(store: str, target: Path, site: Site, *, talk: Talk) -> pl.DataFrame:
    """Add what lies in `store`, where others have read it, to what `target` holds; the sources that were read.

    Raises `InputError` without a manifest or where shards are damaged, and `UsageError` for shards of another version
    or other signatures.
    """
    with _run(_settled(target), site, talk, store) as run:
        try:
            text = run.how.store.get(MANIFEST)
        except FileNotFoundError as error:
            raise InputError(f"holds no shards; fill it with: {_filling(store)}", store) from error
        keys = unit_keys(text, run.how.knowledge, store)
        seen = spool.seen(run.how.store, run.how.knowledge, keys, run.folder)
        if lost := sorted(set(keys) - seen.units):
            name = next(iter(seen.damaged), spool.commit_of(run.how.knowledge, lost[0]))
            counted = f"{len(lost)} of {len(keys)} units must be read again"
            fault = f"is damaged or missing ({counted}); mend it with: {_filling(store)}"
            raise InputError(fault, run.how.store.url(name))
        manifest = _manifest(seen, run.how)
        _check_used(manifest.sources)
        run.add(manifest)
    return manifest.sources


def _filling(store: str) -> str:
    return f"ingest PATH... --shards {store}"


@dataclass(frozen=True, slots=True)
class _Run:
    """One making of a warehouse: for whom, from which signatures, and in which folder."""

    target: Path
    site: Site
    patterns: tuple[Signature, ...]
    folder: Path
    how: Recipe
    talk: Talk

    def add(self, manifest: Manifest, unchanged: Sequence[str] = ()) -> None:
        """Build the warehouse from what it holds and what was read now."""
        self.build(manifest, "ingest", self.target if self.target.exists() else None, unchanged)

    def build(
        self,
        manifest: Manifest,
        command: Literal["report", "ingest"],
        old: Path | None,
        unchanged: Sequence[str],
    ) -> None:
        """Build it; see `derive.build`. Settings that nobody gives now stay for what is added."""
        self.talk.say("building  the warehouse", level=1)
        save(manifest, self.folder)
        rows = knowledge_rows(self.site, self.patterns, command)
        keeps_settings = command == "ingest" and not self.site.is_given
        derive.build(
            self.target,
            self.folder,
            manifest.shards,
            rows,
            old=old,
            unchanged=unchanged,
            is_alone=command == "report",
            keeps_settings=keeps_settings,
        )


@contextmanager
def _run(target: Path, site: Site, talk: Talk, store: str | None = None) -> Iterator[_Run]:
    patterns = site_signatures(site)
    with workshop(target) as folder:
        how = shards.recipe(open_store(store or folder / SHARDS), patterns)
        yield _Run(target, site, patterns, folder, how, talk)


def _all_sources(manifest: Manifest, plan: Plan, target: Path) -> pl.DataFrame:
    """What was read now and what need not be read again; `InputError` if nothing of it can be used."""
    sources = pl.concat([manifest.sources, known_sources(target, plan.unchanged)]).sort("path")
    _check_used(sources)
    return sources


def _settled(target: Path) -> Path:
    """The file that `target` names, links followed so that they stay; `UsageError` for what DuckDB cannot name."""
    if target.name == ":memory:" or os.fsencode(target).decode("utf-8", "ignore") != str(target):
        raise UsageError("cannot be the name of a warehouse; choose another -d", str(target))
    return target.resolve()


def known_sources(target: Path, files: Sequence[str]) -> pl.DataFrame:
    """The sources that were read from `files` and need not be read again, as the warehouse at `target` has them."""
    if not files:
        return spool.frame(SOURCES, ())
    with warehouse.open_readonly(target) as con:
        rows = intake.sources_of(con, files)
    return spool.frame(SOURCES, [dict(zip(SOURCES.names, row, strict=True)) for row in rows])


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


def read(plan: Plan, how: Recipe, where: Where, talk: Talk, folder: Path) -> Manifest:
    """Have the units of `plan` read into shards, but for those that are done; what they say together.

    The manifest's shards are files; those of a bucket are copied below `folder`. Shards that were damaged are replaced.
    """
    seen = spool.seen(how.store, how.knowledge, [unit.key for unit in plan.units], folder)
    for name in seen.damaged:
        talk.say(f"again     {how.store.url(name)}: damaged, missing, or it names one that is", level=1)
        how.store.delete(name)
    seen = seen.but(seen.outages)
    done = seen.units
    fresh = list[str]()
    with talk.progress("reading", sum(unit.size for unit in plan.units)) as advance:
        advance(sum(unit.size for unit in plan.units if unit.key in done))
        for unit in _carried_out([unit for unit in plan.units if unit.key not in done], how, where):
            fresh.append(unit.key)
            advance(unit.size)
    return _manifest(seen.joined(_just_read(fresh, how, folder)) if fresh else seen, how)


def _just_read(keys: Sequence[str], how: Recipe, folder: Path) -> Seen:
    seen = spool.seen(how.store, how.knowledge, keys, folder)
    if set(keys) - seen.units:
        raise UsageError("a worker's shards cannot be seen here; give --shards a place that all share")
    return seen


def _manifest(seen: Seen, how: Recipe) -> Manifest:
    """What units say together, with files in the place of the names of their shards."""
    made = assembled(seen.parts, how.knowledge)
    files = {table: [str(seen.files[name]) for name in names] for table, names in made.shards.items()}
    return replace(made, shards=files)


def _carried_out(todo: Sequence[Unit], how: Recipe, where: Where) -> Iterator[Unit]:
    """The units as they are done; what nobody can read is done as well, as a failure."""
    if not todo:
        return
    here = Where(_workers(todo, where.jobs))
    with executors.opened(where if where.cluster else here, partial(shards.kitchen, how)) as workers:
        for unit, _, error in executors.run(workers, shards.read_unit, todo, units.split):
            if isinstance(error, WorkerLost):
                shards.fail_unit(how, unit, error)
            elif error:
                raise error
            yield unit


def _workers(todo: Sequence[Unit], jobs: int) -> int:
    """How many processes; below ALONE_BYTES others would take longer to start than to work."""
    weight = sum(unit.weight for unit in todo)
    return 1 if weight < ALONE_BYTES else min(jobs or os.cpu_count() or 1, len(todo))


def look(paths: Sequence[str], folder: Path, patterns: Sequence[Signature], *, jobs: int, talk: Talk) -> pl.DataFrame:
    """What a reading of `paths` finds: their rows of `sources`; the shards are left in `folder`."""
    how = shards.recipe(open_store(folder), patterns)
    return read(units.plan(find(paths), how.knowledge), how, Where(jobs), talk, folder).sources


def has_used(sources: pl.DataFrame) -> bool:
    """Whether at least one file was recognised; an archive (without lines of its own) is as good as its members."""
    return bool(((sources["status"] == "used") & sources["lines"].is_not_null()).any())


def _check_used(sources: pl.DataFrame) -> None:
    """Raise `InputError` with the first reasons by file if a reading came to nothing."""
    if has_used(sources):
        return
    reasons = [f"{path}: {reason}" for path, reason in sources.select("path", "reason").head(3).iter_rows()]
    more = f"; and {sources.height - 3} more" if sources.height > 3 else ""  # noqa: PLR2004 - as many as are shown
    raise InputError(f"nothing recognisable to read ({'; '.join(reasons)}{more})")


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
