"""Paths in, warehouse out: has the inputs read into shards, and the warehouse built from these and the knowledge.

`report` makes a warehouse of exactly its paths; `ingest` adds to one. Both work beside the target and rename at the
end, so that whatever goes wrong, the target is as it was.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import polars as pl

from incidentlab import __version__, baselines, derive, discover, hosts, shards, signatures
from incidentlab.configuration import Site, settings_rows
from incidentlab.discover import Input, Refused
from incidentlab.errors import InputError, UsageError, WarehouseError
from incidentlab.signatures import Signature
from incidentlab.terminal import Talk

_FILES_AT_ONCE = 256
"""How many shards are read together: each of them takes memory as long as the others are open."""


def make_warehouse(paths: Sequence[str], target: Path, site: Site, *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Replace `target` by a warehouse of `paths` alone; the sources that were read."""
    target, found = _settled(target), find(paths)
    with workshop(target) as folder:
        fresh = folder / target.name
        sources = _build(found, fresh, folder / "shards", site, command="report", jobs=jobs, talk=talk)
        fresh.replace(target)
    return sources


def add_to_warehouse(paths: Sequence[str], target: Path, site: Site, *, jobs: int, talk: Talk) -> pl.DataFrame:
    """Add `paths` to what `target` holds, if it exists; the sources that were read."""
    target, found = _settled(target), find(paths)
    with workshop(target) as folder:
        return _build(found, target, folder / "shards", site, command="ingest", jobs=jobs, talk=talk)


def _settled(target: Path) -> Path:
    """The file that `target` names, links followed so that they stay; `UsageError` for what DuckDB cannot name."""
    if target.name == ":memory:" or os.fsencode(target).decode("utf-8", "ignore") != str(target):
        raise UsageError("cannot be the name of a warehouse; choose another -d", str(target))
    return target.resolve()


@contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """An empty folder beside `target` for one process at a time; two that add to one warehouse would lose one's work.

    What a killed process left in it is thrown away. Raises `WarehouseError` while another process works there.
    """
    folder = target.with_name(f".{target.name}.unfinished")
    lock = _locked(folder)
    if lock is None:
        raise WarehouseError("another process is writing it; wait for that one, or choose another -d", str(target))
    try:
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked(folder: Path) -> int | None:
    """The folder, made if need be, as an open file that holds its lock; None if another process has it."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise WarehouseError("stands where the unfinished warehouse is made; move it away", str(folder))
    folder.mkdir(exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):  # taken, or just taken away by the process that was done with it
        pass
    os.close(lock)
    return None


def _build(
    found: Sequence[Input | Refused],
    target: Path,
    folder: Path,
    site: Site,
    *,
    command: Literal["report", "ingest"],
    jobs: int,
    talk: Talk,
) -> pl.DataFrame:
    patterns = site_signatures(site)
    sources = read(found, folder, patterns, jobs=jobs, talk=talk)
    if not has_used(sources):
        raise InputError(_nothing_used(sources))
    talk.say("building  the warehouse", level=1)
    derive.build(target, folder, knowledge_rows(site, patterns, command), keeps_settings=not site.is_given)
    return sources


def find(paths: Sequence[str]) -> list[Input | Refused]:
    """Every file below `paths`; to be asked before anything is made beside a target, which may lie among them.

    Raises `InputError` for a path that does not exist, and where there is no file at all.
    """
    inputs, refused = discover.find_inputs(paths)
    if not inputs and not refused:
        raise InputError("there is no file in it", " ".join(paths))
    return [*inputs, *refused]


def read(
    found: Sequence[Input | Refused], folder: Path, patterns: Sequence[Signature], *, jobs: int, talk: Talk
) -> pl.DataFrame:
    """Have every file that was found read into shards in `folder`; one row a source, by path."""
    with talk.progress("reading", sum(item.size for item in found if isinstance(item, Input))) as advance:
        shards.ingest(found, folder, patterns, jobs=jobs, on_progress=advance)
    files = sorted((folder / "sources").glob("*.parquet"))
    parts = range(0, len(files), _FILES_AT_ONCE)
    return pl.concat([pl.read_parquet(files[part : part + _FILES_AT_ONCE]) for part in parts]).sort("path")


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
