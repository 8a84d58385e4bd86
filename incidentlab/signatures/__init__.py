"""The fault knowledge: what a log line means, kept as data beside this file.

`*.toml` hold the signatures by family, `xid_catalog.csv` and `sxid_catalog.csv` the meaning of the numbered errors.
Code numbers and symbols: NVIDIA open-gpu-kernel-modules, `nverror.h` (releases 515 to 595) and the NVSwitch error
header; grouping and first steps: NVIDIA's Xid catalogue and fabric manager guide; as of November 2026. Names and
meanings are our own words.

A pattern is searched anywhere in the raw line, because prefixes vary and lines are glued. It is written in the common
subset of hyperscan, RE2 and Python's `re`, without `^` and `$`: `(?m:^)` is where a line begins, prefix and all.
`component = "catalog"` stands for the catalogue's row of the event's code: `nvidia-xid` looks into the Xid,
`nvidia-sxid` into the SXid catalogue.
"""

import csv
import dataclasses
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from incidentlab import assets
from incidentlab.errors import DefinitionError
from incidentlab.model import CHANNELS, KINDS, STRENGTHS
from incidentlab.patterns import faults, line_faults

SEVERITIES = ("info", "warning", "error", "fatal")
"""How bad an event is for what it is about."""

SCOPES = ("gpu", "node", "rank", "job", "shared")
"""What an event is about; `shared` is infrastructure of several nodes: a switch, a file system, the scheduler."""

CATALOG = "catalog"
"""The component of signatures whose meaning depends on the code that they read."""

LAST_TIER = 14
"""The weakest rung of the order of precedence; 1 is the strongest, 0 no candidate."""

EVENT_MARKS = (
    *("job_submitted", "job_started", "job_completed", "job_failed", "job_requeued", "job_requeued_node_fail"),
    *("job_killed_node_fail", "job_cancel_requested", "job_cancelled", "job_time_limit", "job_preempted", "job_oom"),
    *("step_failed", "task_failed", "controller_start"),
    *("node_not_responding", "node_down", "node_up", "node_drain", "node_drained", "node_resume", "node_reason"),
    *("node_rebooted", "node_reboot_requested", "node_invalid", "boot", "shutdown_orderly"),
    *("link_down", "link_up", "peer_lost", "collective_timeout", "watchdog_abort"),
    *("rank_failed", "root_cause_rank", "exception", "retried_error"),
    *("run_start", "nan_guard", "checkpoint_failed", "recovery_action", "device_identity"),
    *("driver_loaded", "maintenance_window", "pcie_error", "poison_consumed"),
)
"""What an event means to the life of a job, a node, a link or a rank."""

PROGRESS_MARKS = ("step", "checkpoint_start", "checkpoint_done", "checkpoint_load", "run_start")
"""What a progress line says about the training."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One kind of log record: how to find it, what it is evidence of, and what to tell the reader.

    `channels` are those where the line is evidence; elsewhere it is quoted text. `lookback_s` is how many seconds
    before the record its cause may lie. A name in `refines` loses wherever both match. `block` is a second pattern,
    searched in the first `block_lines` lines of the record, joined by line feeds and without their prefixes. `catches`
    and `ignores` are whole lines that the pattern must and must not find.
    """

    name: str
    channels: tuple[str, ...]
    pattern: str
    kind: str
    severity: Literal["info", "warning", "error", "fatal"]
    scope: Literal["gpu", "node", "rank", "job", "shared"]
    meaning: str
    catches: tuple[str, ...]
    ignores: tuple[str, ...]
    component: str = ""
    strength: str = "none"
    tier: int = 0
    mark: str | None = None
    lookback_s: int | None = None
    refines: tuple[str, ...] = ()
    code: str | None = None
    block: str | None = None
    block_lines: int = 1
    action: str = ""
    refs: tuple[str, ...] = ()
    origin: str = ""


def winner(matched: Sequence[Signature]) -> Signature:
    """The one signature that speaks for a line which all of `matched` (at least one) find.

    A refined signature loses to the one that refines it. Lines on which several remain break the contract of the
    shipped files; for those that nobody foresaw, the stronger evidence wins, then the earlier tier, then the name.
    """
    refined = {name for signature in matched for name in signature.refines}
    left = [signature for signature in matched if signature.name not in refined] or list(matched)
    return min(left, key=lambda s: (STRENGTHS.index(s.strength), s.tier or LAST_TIER, s.name))


def load_signatures(extra: Sequence[Path] = ()) -> tuple[Signature, ...]:
    """All shipped signatures and those of the files in `extra`, sorted by name.

    The patterns and samples of the extra ones are tried; those of the shipped ones were, by the tests. Raises one
    DefinitionError that lists every fault of every file.
    """
    if not extra:
        return _shipped()
    faults: list[str] = []
    own = _read(extra, faults)
    for path, signature in own:
        faults.extend(f"{path}: {signature.name}: {fault}" for fault in pattern_faults(signature))
    return _sorted([*_shipped(), *(signature for _, signature in own)], faults)


@cache
def _shipped() -> tuple[Signature, ...]:
    faults: list[str] = []
    found = _read(sorted(assets.knowledge("signatures").glob("*.toml")), faults)
    return _sorted([signature for _, signature in found], faults)


def _read(paths: Sequence[Path], faults: list[str]) -> list[tuple[Path, Signature]]:
    return [
        (path, signature)
        for path in paths
        for entry in _entries(path, faults)
        for signature in _signature(entry, path, faults)
    ]


def _sorted(found: Sequence[Signature], faults: list[str]) -> tuple[Signature, ...]:
    faults.extend(_conflicts(found))
    if faults:
        raise DefinitionError("\n".join(faults))
    return tuple(sorted(found, key=lambda signature: signature.name))


def load_catalog(name: Literal["xid", "sxid"]) -> list[dict[str, str | None]]:
    """The rows of NVIDIA's numbered errors, by code; `tier` is a number written as text, an empty cell is None."""
    return _rows(assets.knowledge(f"signatures/{name}_catalog.csv"))


def load_components() -> list[dict[str, str | None]]:
    """The parts of a cluster that can be to blame, with their row in the published tables; an empty cell is None."""
    return _rows(assets.knowledge("components.csv"))


def _rows(path: Path) -> list[dict[str, str | None]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]


def _entries(path: Path, faults: list[str]) -> list[dict[str, Any]]:
    """The `[[signature]]` tables of one file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        faults.append(f"{path}: {error}")
        return []
    entries = content.get("signature", [])
    if set(content) - {"signature"} or not isinstance(entries, list):
        faults.append(f"{path}: only [[signature]] tables belong here")
        return []
    return [entry if isinstance(entry, dict) else {} for entry in entries]


def _signature(entry: dict[str, Any], path: Path, faults: list[str]) -> list[Signature]:
    """The signature of one table, or none; what is wrong with it goes to `faults`."""
    where = f"{path}: {entry.get('name', 'signature without a name')}"
    known = {field.name for field in dataclasses.fields(Signature)} - {"origin"}
    try:
        signature = msgspec.convert({**entry, "origin": path.name}, Signature)
    except msgspec.ValidationError as error:
        faults.append(f"{where}: {error}")
        return []
    wrong = [f"unknown key {key}" for key in sorted(set(entry) - known)]
    faults.extend(f"{where}: {fault}" for fault in [*wrong, *_vocabulary(signature)])
    return [signature]


@cache
def _components() -> frozenset[str | None]:
    """What a signature may name as component."""
    return frozenset({"", CATALOG, *(row["component"] for row in load_components())})


def _vocabulary(signature: Signature) -> Iterator[str]:
    """Words of a signature that the house does not know."""
    marks = PROGRESS_MARKS if signature.kind == "progress" else (None, *EVENT_MARKS)
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", signature.name):
        yield "the name is not kebab-case"
    if not signature.channels or set(signature.channels) - set(CHANNELS):
        yield f"channels must be some of {', '.join(CHANNELS)}"
    for word, allowed in (
        (signature.kind, KINDS),
        (signature.strength, STRENGTHS),
        (signature.component, _components()),
        (signature.mark, marks),
        (signature.tier, range(LAST_TIER + 1)),
    ):
        if word not in allowed:
            yield f"{word!r} is none of {', '.join(sorted(map(str, allowed)))}"


def pattern_faults(signature: Signature) -> Iterator[str]:
    """What is wrong with the patterns, and the samples that disagree with them."""
    found = [*line_faults(signature.pattern), *(faults(signature.block) if signature.block else ())]
    yield from found or _samples(signature, re.compile(signature.pattern))


def _samples(signature: Signature, compiled: Any) -> Iterator[str]:
    """Samples that the pattern should find and does not, or the other way round."""
    if not signature.catches or not signature.ignores:
        yield "at least one line in `catches` and one in `ignores` are needed"
    yield from (f"does not catch: {line}" for line in signature.catches if not compiled.search(line))
    yield from (f"does not ignore: {line}" for line in signature.ignores if compiled.search(line))


def _conflicts(signatures: Sequence[Signature]) -> Iterator[str]:
    """Names that are taken twice, and names in `refines` that nobody has."""
    counts = Counter(signature.name for signature in signatures)
    yield from (f"{name}: defined {count} times" for name, count in sorted(counts.items()) if count > 1)
    for signature in signatures:
        for name in signature.refines:
            if name not in counts or name == signature.name:
                yield f"{signature.origin}: {signature.name}: refines {name}, which is no other signature"
