"""The words that the lines of one fault need: addresses, process ids, and arbitrary numbers."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime

from incidentlab.simulate.fleet import CPUS_PER_NODE, GPUS_PER_NODE, Fleet, Gpu, nic_bdf, process_id, switch_port

_GSP_TIMEOUTS = {
    "535": "Timeout waiting for RPC from GPU{gpu} GSP! Expected function 76 (GSP_RM_CONTROL) (0x20801702 0x4).",
    "550": "Timeout after 6s of waiting for RPC response from GPU{gpu} GSP! Expected function 76 (GSP_RM_CONTROL) "
    "(0x20801702 0x4).",
    "580": "Timeout after 6s of waiting for RPC response from GPU{gpu} GSP! Expected function 76 (GSP_RM_CONTROL) "
    "sequence {n99} (0x20801702 0x4).",
}
"""Xid 119 by driver branch (open-gpu-kernel-modules, rpc.c)."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays in a scene: the place of the fault, the process that was hit, and the state of the training."""

    node: str
    gpu: int
    ts: float
    driver: str
    pid: int
    comm: str = "python3"
    rank: int = 0
    job_id: int = 0
    iteration: int = 0
    cuda_error: str = "RuntimeError"
    memory_error: str = "torch.cuda.OutOfMemoryError"
    nccl_version: str = ""


def _arbitrary(rng: random.Random) -> dict[str, str | int]:
    """Numbers without meaning; hexN has N digits, nN lies between 0 and N."""
    return {
        "hex2": f"{rng.getrandbits(8):02x}",
        "hex2b": f"{rng.getrandbits(8):02x}",
        "hex4": f"{rng.getrandbits(16):04x}",
        "hex7": f"{rng.getrandbits(28):07x}",
        "hex8": f"{rng.getrandbits(32):08x}",
        "hex9": f"{rng.getrandbits(36):09x}",
        "hex12": f"{rng.getrandbits(48):012x}",
        "n2": rng.randrange(2),
        "n2b": rng.randrange(5, 9),
        "n8": rng.randrange(8),
        "n8b": rng.randrange(8),
        "n16": rng.randrange(16),
        "n32": rng.randrange(1, 33),
        "n64": rng.randrange(10, 64),
        "n99": rng.randrange(10, 100),
        "sel": f"{rng.randrange(16, 4096):4x}",
        "lba": rng.randrange(10**8, 10**9),
        "ticket": f"OPS-{rng.randrange(1000, 9999)}",
    }


def words(cast: Cast, fleet: Fleet, rng: random.Random) -> dict[str, str | int]:
    """All words for the lines of one fault."""
    socket = rng.randrange(2)
    when = datetime.fromtimestamp(cast.ts, UTC)
    known: dict[str, str | int] = {
        "node": cast.node,
        "leaf": fleet.leaf(cast.node),
        "pid": cast.pid,
        "comm": cast.comm,
        "rank": cast.rank,
        "job_id": cast.job_id,
        "iteration": cast.iteration,
        "cuda_error": cast.cuda_error,
        "memory_error": cast.memory_error,
        "nccl_version": cast.nccl_version,
        "epoch": int(cast.ts),
        "sel_date": f"{when:%m/%d/%Y}",
        "sel_time": f"{when:%H:%M:%S}",
        "socket": socket,
        "cpu": rng.randrange(CPUS_PER_NODE // 2) + socket * CPUS_PER_NODE // 2,
        "dimm": f"CPU_SrcID#{socket}_MC#{rng.randrange(4)}_Chan#{rng.randrange(2)}_DIMM#0",
        "who": f"pid={cast.pid}, name={cast.comm}, ",
        "nobody": "" if cast.driver == "580" else "pid='<unknown>', name=<unknown>, ",
        "port": switch_port(cast.gpu),
    }
    known |= _arbitrary(rng)
    known |= gpu_words(fleet.gpu(cast.node, cast.gpu))
    known |= adapter_words(cast.gpu)
    known["gsp_timeout"] = _GSP_TIMEOUTS[cast.driver].format_map(known)
    return known


def gpu_words(gpu: Gpu) -> dict[str, str | int]:
    """The words that name one GPU, in the spellings of kernel and nvidia-smi."""
    upper = f"0000{gpu.bdf.upper()}.0"
    return {"gpu": gpu.index, "bdf": gpu.bdf, "bdf8": upper, "uuid": gpu.uuid, "serial": gpu.serial}


def adapter_words(index: int) -> dict[str, str | int]:
    """The words that name one network adapter."""
    return {"nic": f"mlx5_{index}", "nic_bdf": nic_bdf(index), "netdev": f"ib{index}"}


def bystander(node: str, ts: float, driver: str, rng: random.Random) -> Cast:
    """A scene without a job of ours: a spare node, or a fault that no rank noticed."""
    return Cast(node, rng.randrange(GPUS_PER_NODE), ts, driver, process_id(node, ts), comm="pt_main_thread")
