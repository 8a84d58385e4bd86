"""What the nodes write: kernel and daemon lines of faults, boots and daily life, as lines with their true time."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import msgspec

from incidentlab.assets import knowledge
from incidentlab.simulate.faults import Trace
from incidentlab.simulate.fleet import process_id, stream
from incidentlab.simulate.scene import gpu_words
from incidentlab.simulate.world import Occurrence, Silence, World

MANAGER = "mgmt01"
"""Host of the fabric manager and of the collector of the BMCs' event logs."""
JOB_WRITERS = ("slurmctld", "rank", "nccl", "job")
"""Writers of a fault's lines that do not write on a node."""
_KERNEL_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class HostLine:
    """One line of a host: when (true seconds since 1970), which host, which program (`kernel` or a syslog tag)."""

    ts: float
    host: str
    tag: str
    text: str


class _Chatter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kernel: tuple[str, ...]
    daemon: tuple[tuple[str, str], ...]
    boot: tuple[str, ...]


@cache
def _chatter() -> _Chatter:
    return msgspec.toml.decode(knowledge("simulate/chatter.toml").read_bytes(), type=_Chatter)


def host_lines(world: World) -> list[HostLine]:
    """All lines of all hosts in order of true time."""
    lines = list(_daily_life(world))
    for occurrence in world.occurrences:
        for trace in occurrence.fault.lines:
            if trace.by not in JOB_WRITERS:
                lines += render(trace, occurrence, world)
    for silence in world.silences:
        lines += _boot(silence, world.scenario.fleet.driver)
    return sorted((line for line in lines if line.ts < world.scenario.end_s), key=lambda line: line.ts)


def render(trace: Trace, occurrence: Occurrence, world: World) -> Iterator[HostLine]:
    """The lines that one trace of a fault makes, on every host that writes it."""
    fleet = world.fleet
    hosts = {
        "leaf": fleet.neighbours(occurrence.node),
        "manager": (MANAGER,),
    }.get(trace.on, (occurrence.node,))
    gpus = fleet.quad(occurrence.gpu) if trace.on == "quad" else (occurrence.gpu,)
    for repeat in range(trace.times):
        for place, host in enumerate(hosts):
            for gpu in gpus:
                known = {**occurrence.words, **gpu_words(fleet.gpu(occurrence.node, gpu))}
                ts = occurrence.ts + trace.t + repeat * trace.every + place * 0.05 + (gpu - gpus[0]) * 0.02
                yield HostLine(ts, host, trace.by.format_map(known), trace.text.format_map(known))


def _boot(silence: Silence, driver: str) -> Iterator[HostLine]:
    for number, text in enumerate(_chatter().boot):
        yield HostLine(silence.boot + number * 1.7, silence.node, "kernel", text.format(driver=driver))
    up = silence.boot + 42
    yield HostLine(up, silence.node, "slurmd[1422]", "slurmd version 23.11.10 started")
    yield HostLine(
        up + 6, silence.node, "systemd[1]", "Startup finished in 9.812s (kernel) + 38.204s (userspace) = 48.016s."
    )


def _daily_life(world: World) -> Iterator[HostLine]:
    """The chatter of each node, evenly over the days, none while it is silent."""
    rng = stream(world.seed, "chatter")
    scenario = world.scenario
    silences: dict[str, list[Silence]] = {}
    for silence in world.silences:
        silences.setdefault(silence.node, []).append(silence)
    number = round(scenario.hours / 24 * scenario.logs.lines_per_node_day)
    span = (scenario.end_s - scenario.start_s) / max(1, number)
    for node in (*world.fleet.nodes, MANAGER):
        quiet = silences.get(node, [])
        for slot in range(number):
            ts = scenario.start_s + (slot + rng.random()) * span
            if not any(silence.start <= ts < silence.boot + 60 for silence in quiet):
                yield _small_talk(node, ts, rng)


def _small_talk(node: str, ts: float, rng: random.Random) -> HostLine:
    tag, text = "kernel", ""
    if rng.random() < _KERNEL_SHARE:
        text = rng.choice(_chatter().kernel)
    else:
        tag, text = rng.choice(_chatter().daemon)
    known = {
        "pid": process_id(node, ts),
        "n8": rng.randrange(8),
        "n99": rng.randrange(10, 100),
        "hex8": f"{rng.getrandbits(32):08x}"[:7],
        "hex12": f"{rng.getrandbits(48):012x}",
        "port": rng.randrange(32768, 60000),
    }
    return HostLine(ts, node, tag.format_map(known), text.format_map(known))
