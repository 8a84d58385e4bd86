"""Turn the lines of the hosts into files: one central file a day, or files of each node, in the scenario's formats."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from incidentlab.simulate import stamps
from incidentlab.simulate.files import write_archive, write_text
from incidentlab.simulate.hosts import HostLine
from incidentlab.simulate.world import World

_PRIORITY = "<{}>1 "
"""RFC 5424: facility times 8 plus severity, then the version."""


def write_hosts(world: World, lines: list[HostLine], folder: Path) -> None:
    """Write all host files of the scenario below `folder`."""
    files: dict[str, list[tuple[float, str]]] = {}
    for line in lines:
        names, text = _LAYOUTS[world.scenario.logs.hosts](line, world)
        for name in names:
            files.setdefault(name, []).append((_wall(line, world), text))
    texts = {name: [text for _, text in sorted(rows, key=lambda row: row[0])] for name, rows in files.items()}
    logs = world.scenario.logs
    if logs.is_tar:
        write_archive(folder / "hosts.tar", texts, logs.codec)
        return
    for name, rows in texts.items():
        write_text(folder / name, rows, logs.codec)


def _wall(line: HostLine, world: World) -> float:
    """What the clock of the host shows."""
    return line.ts + world.fleet.skew_s.get(line.host, 0.0)


def _syslog(line: HostLine, world: World) -> str:
    """The line as rsyslog writes it; the kernel's own stamp stays in the text."""
    when = stamps.local(_wall(line, world), world.scenario.tz)
    uptime = f"[{world.fleet.uptime(line.host, line.ts):12.6f}] " if line.tag == "kernel" else ""
    match world.scenario.logs.stamp:
        case "rfc5424":
            app, _, rest = line.tag.partition("[")
            head = _PRIORITY.format(4 if line.tag == "kernel" else 30)
            return (
                f"{head}{stamps.rfc3339_us(when)} {line.host} {app} {rest.rstrip(']') or '-'} - - {uptime}{line.text}"
            )
        case "rfc3339":
            return f"{stamps.rfc3339_us(when)} {line.host} {line.tag}: {uptime}{line.text}"
        case _:
            return f"{stamps.rfc3164(when)} {line.host} {line.tag}: {uptime}{line.text}"


def _central(line: HostLine, world: World) -> tuple[tuple[str, ...], str]:
    day = stamps.local(_wall(line, world), world.scenario.tz).date()
    return (f"syslog/{day}.log",), _syslog(line, world)


def _per_node(line: HostLine, world: World) -> tuple[tuple[str, ...], str]:
    """As Debian's rsyslog sorts them: kernel lines go into kern.log and, once more, into syslog."""
    names = ("kern.log", "syslog") if line.tag == "kernel" else ("syslog",)
    return tuple(f"nodes/{line.host}/{name}" for name in names), _syslog(line, world)


def _dmesg(line: HostLine, world: World) -> tuple[tuple[str, ...], str]:
    if line.tag != "kernel":
        return (f"nodes/{line.host}/syslog",), _syslog(line, world)
    when = stamps.local(_wall(line, world), world.scenario.tz)
    return (f"nodes/{line.host}/dmesg.txt",), f"[{stamps.ctime(when)}] {line.text}"


def _journal(line: HostLine, world: World) -> tuple[tuple[str, ...], str]:
    """One object a line, as `journalctl -o json` prints it."""
    uptime = world.fleet.uptime(line.host, line.ts)
    app, _, pid = line.tag.partition("[")
    entry = {
        "__REALTIME_TIMESTAMP": str(round(_wall(line, world) * 1e6)),
        "__MONOTONIC_TIMESTAMP": str(round(uptime * 1e6)),
        "_BOOT_ID": sha256(f"{line.host}/{line.ts - uptime:.0f}".encode()).hexdigest()[:32],
        "_HOSTNAME": line.host,
        "_TRANSPORT": "kernel" if line.tag == "kernel" else "syslog",
        "SYSLOG_IDENTIFIER": app,
        "PRIORITY": "4" if line.tag == "kernel" else "6",
        "MESSAGE": line.text,
    }
    if pid:
        entry["_PID"] = pid.rstrip("]")
    return (f"nodes/{line.host}/journal.json",), json.dumps(entry)


_LAYOUTS: Mapping[str, Callable[[HostLine, World], tuple[tuple[str, ...], str]]] = {
    "central": _central,
    "per-node": _per_node,
    "dmesg": _dmesg,
    "journal": _journal,
}
