"""The hardware: nodes, GPUs, adapters and their addresses, leaf switches, clocks that are off."""

import random
from dataclasses import dataclass, field
from hashlib import sha256
from zlib import crc32

from incidentlab.simulate.scenario import FleetSpec

GPUS_PER_NODE = 8
CPUS_PER_NODE = 192
_GPU_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
_NIC_BUSES = ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")
_SWITCH_PORTS = ("0000:17:01", "0000:97:01")
"""PCIe switch ports above GPUs 0-3 and 4-7 of an eight-way board."""
_LEMON_WEIGHT = 20
_OLDEST_BOOT_S = 90 * 86400


def stream(seed: int, concern: str) -> random.Random:
    """A stream of random numbers of its own for each concern, so that one change does not move all others."""
    return random.Random(f"{seed}/{concern}")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its index on the node, PCI address without function, UUID and serial number."""

    index: int
    bdf: str
    uuid: str
    serial: str


@dataclass
class Fleet:
    """All nodes, in order, with what is particular about each."""

    nodes: tuple[str, ...]
    nodes_per_leaf: int
    seed: int
    skew_s: dict[str, float]
    weights: dict[str, int]
    boots: dict[str, list[float]]
    """Instants at which a node booted, ascending; the first lies before the period."""
    place: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.place = {node: number for number, node in enumerate(self.nodes)}

    @classmethod
    def build(cls, spec: FleetSpec, seed: int, start_s: float) -> "Fleet":
        """The fleet of a scenario; the nodes are numbered from 1."""
        rng = stream(seed, "fleet")
        nodes = tuple(f"{spec.prefix}{number:0{spec.digits}d}" for number in range(1, spec.nodes + 1))
        lemons = set(rng.sample(nodes, spec.lemons))
        skew = {node: round(rng.uniform(-spec.max_skew_s, spec.max_skew_s), 3) for node in nodes}
        skew.update(dict.fromkeys(rng.sample(nodes, spec.skewed_nodes), 40.0))
        boots = {node: [start_s - rng.uniform(86400, _OLDEST_BOOT_S)] for node in nodes}
        weights = {node: _LEMON_WEIGHT if node in lemons else 1 for node in nodes}
        return cls(nodes, spec.nodes_per_leaf, seed, skew, weights, boots)

    def gpu(self, node: str, index: int) -> Gpu:
        """A GPU of a node; the same board for the whole period."""
        text = sha256(f"{self.seed}/{node}/{index}".encode()).hexdigest()
        uuid = f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"
        return Gpu(index, f"0000:{_GPU_BUSES[index]}:00", uuid, f"16532{int(text[32:40], 16) % 10**8:08d}")

    def quad(self, index: int) -> range:
        """The GPUs behind the same PCIe switch as `index`."""
        first = index // 4 * 4
        return range(first, first + 4)

    def leaf(self, node: str) -> int:
        """Number of the leaf switch of a node, from 1."""
        return self.place[node] // self.nodes_per_leaf + 1

    def neighbours(self, node: str) -> tuple[str, ...]:
        """All nodes at the leaf switch of `node`, itself included."""
        first = (self.leaf(node) - 1) * self.nodes_per_leaf
        return self.nodes[first : first + self.nodes_per_leaf]

    def uptime(self, node: str, ts: float) -> float:
        """Seconds since the last boot of a node; hosts that are no nodes booted long ago."""
        return ts - max((boot for boot in self.boots.get(node, ()) if boot <= ts), default=1.7e9)


def nic_bdf(index: int) -> str:
    """PCI address of an adapter, without function."""
    return f"0000:{_NIC_BUSES[index]}:00"


def switch_port(gpu: int) -> str:
    """PCI address of the switch port above a GPU, without function."""
    return _SWITCH_PORTS[gpu // 4]


def address(place: int) -> str:
    """IP address of a node by its place in the fleet."""
    return f"10.8.{place // 250}.{place % 250 + 1}"


def process_id(*owner: object) -> int:
    """A process id that stays the same for the same owner."""
    return 4000 + crc32("/".join(map(str, owner)).encode()) % 90000
