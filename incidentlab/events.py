"""A candidate line becomes rows of `events` or `progress`: one signature speaks, its groups become columns.

Signatures for the line's channel go before those that only quote (`channels`); among them the refining one wins, then
the stronger evidence, the earlier tier, the name (`signatures.winner`). What matches on a channel where it is no
evidence is kept with its name: the derivation compares channels and takes its weight away.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from incidentlab import hosts, stamps
from incidentlab.model import Prefix, Row, Stamp
from incidentlab.scan import Candidate, Match, compiled
from incidentlab.signatures import Signature, winner

MESSAGE_CHARS = 2_000
"""How much of a text is kept."""

_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_MILLI = 1e-3

_WHOLE = re.compile(r"-?\d{1,19}", re.ASCII)
# 0000:1b:00   00000000:1B:00.0   1b:00.0
_PCI = re.compile(r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})(?:\.[0-7])?")
# NCCL's busId: 1b000, with its domain 100000001b000
_BUS_ID = re.compile(r"(?:0x)?(?P<domain>[0-9a-f]{0,8}?)(?P<bus>[0-9a-f]{2})(?P<device>[0-9a-f]{2})[0-7]")

Following = Callable[[int], Sequence[str]]
"""How many lines -> that many, from the candidate on, without their prefixes."""


def rows(candidate: Candidate, prefix: Prefix, channel: str, following: Following) -> list[Row]:
    """The rows that one line stands for: several if it names several nodes; ids are added by who stores them.

    `channel` is who wrote the line, `prefix` what its envelopes said, with a stamp of its own or a lent one.
    """
    signature, found = _speaker(candidate.matches, channel)
    groups = dict(found.groups)
    line_count = 1
    if signature.block:
        text = "\n".join(following(signature.block_lines))
        if block := compiled(signature.block).search(text.encode()):
            groups.update(block.groups)
            line_count += text.count("\n", 0, block.end)
    written = groups.pop("stamp", None)
    stamp = (stamps.read(written) if written else None) or prefix.stamp
    common = {"line_no": candidate.line_no, **_stamp_columns(stamp), "job_id": groups.pop("job", prefix.job_id)}
    rank = _integer(groups.pop("rank", None), _INT32)
    common["rank"] = prefix.rank if rank is None else rank
    if signature.kind == "progress":
        return [_progress(signature, groups, common, prefix)]
    common |= {"line_count": line_count, "channel": channel, "signature": signature.name}
    common["alike"] = candidate.alike
    return list(_events(signature, groups, common, prefix))


def repeated(row: Row, line_no: int, stamp: Stamp | None, count: int) -> Row:
    """The row of an event on another line that says the same, and stands for `count` such lines."""
    values = {**row.values, "line_no": line_no, **_stamp_columns(stamp)}
    if count > 1:
        values["repeat_count"] = min((values["repeat_count"] or 1) * count, _INT64)
    return Row(row.table, values)


def _speaker(matches: Sequence[tuple[Signature, Match]], channel: str) -> tuple[Signature, Match]:
    at_home = [match for match in matches if channel in match[0].channels] or matches
    chosen = winner([signature for signature, _ in at_home])
    return next(match for match in at_home if match[0] is chosen)


def _progress(signature: Signature, groups: dict[str, str], common: dict[str, Any], prefix: Prefix) -> Row:
    """One mark of a training log; `step_time_ms` is brought to seconds."""
    millis, seconds = _number(groups.get("step_time_ms")), _number(groups.get("step_time_s"))
    values = {
        "kind": signature.mark,
        "step": _integer(groups.get("step"), _INT64),
        "step_time_s": millis * _MILLI if seconds is None and millis is not None else seconds,
        "loss": _number(groups.get("loss")),
        "node": node_name(groups.get("node") or prefix.host),
    }
    return Row("progress", {**common, **values})


def _events(signature: Signature, groups: dict[str, str], common: dict[str, Any], prefix: Prefix) -> Iterator[Row]:
    """One row a node that the text names; where it names none, the derivation says which is meant."""
    named = hosts.expand(groups.pop("node", "")) or (None,)
    listed = {"nodes": hosts.expand(groups.pop("nodes"))} if "nodes" in groups else {}
    index = _integer(groups.pop("gpu_index", None), _INT32)
    values = {
        **common,
        "reporter": node_name(prefix.host),
        "gpu_index": prefix.gpu_index if index is None else index,
        "pci_bdf": pci_bdf(groups.pop("pci", "")),
        "gpu_uuid": groups.pop("uuid", None),
        "gpu_serial": groups.pop("serial", None),
        "code": groups.pop("code", signature.code),
        "repeat_count": _integer(groups.pop("repeat", None), _INT64),
        "message": prefix.text[:MESSAGE_CHARS],
        "fields": _json({**prefix.fields, **groups, **listed}),
    }
    for node in named:
        yield Row("events", {**values, "node": node})


def _stamp_columns(stamp: Stamp | None) -> dict[str, Any]:
    if stamp is None:
        return {}
    return {
        "local_ts": stamp.local_ts,
        "utc_offset_s": stamp.utc_offset_s,
        "has_year": stamp.has_year if stamp.local_ts else None,
        "uptime_s": stamp.uptime_s,
        "ts_uncertainty_s": stamp.uncertainty_s,
    }


def pci_bdf(text: str) -> str | None:
    """Any spelling of a PCI address as dddd:bb:dd; None if it is none.

    >>> pci_bdf("00000000:1B:00.0"), pci_bdf("1b000"), pci_bdf("0008:01:00")
    ('0000:1b:00', '0000:1b:00', '0008:01:00')
    """
    lowered = text.strip().lower()
    found = _PCI.fullmatch(lowered) or _BUS_ID.fullmatch(lowered)
    if not found:
        return None
    domain = (found["domain"] or "").lstrip("0").rjust(4, "0")
    return f"{domain}:{found['bus']}:{found['device']}"


def node_name(name: str | None) -> str | None:
    """A host as the warehouse spells it, or None without one."""
    return hosts.short(name) or None if name else None


def _integer(text: str | None, limit: int) -> int | None:
    """A whole number, thousands separators allowed; None if it is none or does not fit the column."""
    digits = text.replace(",", "").strip() if text else ""
    if not _WHOLE.fullmatch(digits):
        return None
    return int(digits) if abs(int(digits)) <= limit else None


def _number(text: str | None) -> float | None:
    """A finite number; what is no number, `nan` and infinities are None: they are no measurement."""
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _json(fields: dict[str, Any]) -> str | None:
    kept = {name: value[:MESSAGE_CHARS] if isinstance(value, str) else value for name, value in fields.items()}
    return msgspec.json.encode(kept, order="sorted").decode() if kept else None
