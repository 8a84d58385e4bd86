"""Paths in, warehouse out: has the inputs read into shards, and the warehouse built from these and the knowledge.

`report` makes a warehouse of exactly its paths; `ingest` adds to one. Both work beside the target and rename at the
end, so that whatever goes wrong, the target is as it was.
"""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import polars as pl

from incidentlab import __version__, baselines, derive, discover, hosts, shards, signatures
from incidentlab.configuration import Site, settings_rows
from incidentlab.errors import InputError
from incidentlab.signatures import Signature
from incidentlab.terminal import Talk


def make_warehouse(paths: Sequence[str], target: Path, site: Site, *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Replace `target` by a warehouse of `paths` alone; the sources that were read."""
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        fresh = Path(folder) / target.name
        sources = _build(paths, fresh, Path(folder) / "shards", site, command="report", jobs=jobs, talk=talk)
        fresh.replace(target)
    return sources


def add_to_warehouse(paths: Sequence[str], target: Path, site: Site, *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Add `paths` to what `target` holds, if it exists; the sources that were read."""
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        return _build(paths, target, Path(folder), site, command="ingest", jobs=jobs, talk=talk)


def _build(
    paths: Sequence[str],
    target: Path,
    folder: Path,
    site: Site,
    *,
    command: Literal["report", "ingest"],
    jobs: int,
    talk: Talk,
) -> pl.DataFrame:
    patterns = site_signatures(site)
    sources = read(paths, folder, patterns, jobs=jobs, talk=talk)
    if not has_used(sources):
        raise InputError(_nothing_used(sources))
    talk.say("building  the warehouse", level=1)
    derive.build(target, folder, knowledge_rows(site, patterns, command))
    return sources


def read(paths: Sequence[str], folder: Path, patterns: Sequence[Signature], *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Have every file below `paths` read into shards in `folder`; one row a source, by path.

    Raises `InputError` for a path that does not exist, and where there is no file at all.
    """
    inputs, refused = discover.find_inputs(paths)
    if not inputs and not refused:
        raise InputError("there is no file in it", " ".join(paths))
    with talk.progress("reading", sum(found.size for found in inputs)) as advance:
        shards.ingest([*inputs, *refused], folder, patterns, jobs=jobs, on_progress=advance)
    return pl.read_parquet(folder / "sources" / "*.parquet").sort("path")


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
