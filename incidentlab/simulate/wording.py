"""What NCCL and PyTorch of different releases call the same thing.

Sources: nccl src/debug.cc, src/transport/net_ib.cc, src/misc/socket.cc; pytorch c10/util/Logging.cpp,
torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, torch/distributed/elastic/multiprocessing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from incidentlab.simulate import stamps


@dataclass(frozen=True, slots=True)
class Nccl:
    """The words of one NCCL release; `{nic}` and `{peer}` are filled in."""

    version: str
    is_stamped: bool
    """From 2.26 on, warnings carry a time."""
    port_error: str
    device_fatal: str
    completion: str
    init: str

    def warn(self, when: datetime, place: str, source: str, text: str) -> list[str]:
        """A warning as it stands in the output: an empty line comes first."""
        stamp = f"[{stamps.blank(when)}] " if self.is_stamped else ""
        return ["", f"{stamp}{place} {source} NCCL WARN {text}"]


_COMM = "comm 0x{comm} rank {rank} nranks {world} cudaDev {dev} nvmlDev {dev} busId {bus} commId 0x{id} - Init COMPLETE"
NCCL: Mapping[str, Nccl] = {
    "2.18": Nccl(
        "2.18.5",
        False,
        "NET/IB : Got async event : port error",
        "NET/IB : Got async event : device fatal",
        "NET/IB : Got completion from peer {peer} with error 12, opcode 0, len 0, vendor err 129 (Send)",
        _COMM,
    ),
    "2.21": Nccl(
        "2.21.5",
        False,
        "NET/IB : {nic}:1 Got async event : port error",
        "NET/IB : {nic}:1 Got async event : device fatal",
        "NET/IB : Got completion from peer {peer} with status=12 opcode=0 len=0 vendor err 129 (Send)",
        "ncclCommInitRank " + _COMM,
    ),
    "2.27": Nccl(
        "2.27.3",
        True,
        "NET/IB : {nic}:1 Got async fatal event: port error",
        "NET/IB : {nic}:1 Got async fatal event: device fatal",
        "NET/IB: Got completion from peer {peer} with status=12 opcode=0 len=0 vendor err 129 (Send) hca {nic}",
        "ncclCommInitRankConfig " + _COMM,
    ),
    "2.29": Nccl(
        "2.29.2",
        True,
        "NET/IB : {nic}:1 Got non-fatal async event: port error(10)",
        "NET/IB : {nic}:1 Got async fatal event: device fatal",
        "NET/IB: Got completion from peer {peer} with status=IBV_WC_RETRY_EXC_ERR(12) opcode=SEND(0) vendor_err=129"
        " hca {nic}",
        "ncclCommInitRankConfig " + _COMM,
    ),
}
"""By release."""

_SOURCE_LINES = {"1.13": 587, "2.1": 474, "2.4": 607, "2.9": 683}
_GROUPS = {
    "1.13": "[Rank {rank}] ",
    "2.1": "[Rank {rank}] ",
    "2.4": "[PG 0 (default_pg) Rank {rank}] ",
    "2.9": "[PG ID 0 PG GUID 0(default_pg) Rank {rank}] ",
}
_API = "torch/distributed/elastic/multiprocessing/api.py"
_API_LINES = {"W": 900, "E": 874}
_LEVELS = {"W": "WARNING", "E": "ERROR"}


@dataclass(frozen=True, slots=True)
class Torch:
    """The words of one PyTorch release."""

    release: str

    @property
    def is_recent(self) -> bool:
        """From 2.3 on, lines carry the rank and a time."""
        return self.release in ("2.4", "2.9")

    @property
    def cuda_error(self) -> str:
        """The class of CUDA errors."""
        return "torch.AcceleratorError" if self.release == "2.9" else "RuntimeError"

    @property
    def memory_error(self) -> str:
        """The class of the error that says that the GPU's memory is full."""
        return "torch.OutOfMemoryError" if self.release == "2.9" else "torch.cuda.OutOfMemoryError"

    def native(self, when: datetime, rank: int, text: str) -> str:
        """A line of ProcessGroupNCCL at level error."""
        source = f"ProcessGroupNCCL.cpp:{_SOURCE_LINES[self.release]}]"
        group = _GROUPS[self.release].format(rank=rank)
        if self.is_recent:
            return f"[rank{rank}]:[{stamps.glog(when, 'E')} {source} {group}{text}"
        return f"[E {source} {group}{text}"

    def agent(self, when: datetime, level: str, pid: int, text: str) -> str:
        """A line of torchelastic's agent; `level` is W or E."""
        if self.is_recent:
            return f"{stamps.padded_glog(when, level)} {pid} {_API}:{_API_LINES[level]}] {text}"
        if self.release == "2.1":
            stamp = f"{stamps.blank(when)},{when.microsecond // 1000:03d}"
            return f"[{stamp}] torch.distributed.elastic.multiprocessing.api: [{_LEVELS[level]}] {text}"
        return f"{_LEVELS[level]}:torch.distributed.elastic.multiprocessing.api:{text}"

    def trace(self, rank: int, lines: list[str]) -> list[str]:
        """A traceback as a rank prints it."""
        return [f"[rank{rank}]: {line}" for line in lines] if self.is_recent else lines

    def progress(self, seq: int) -> str:
        """What the watchdog says about the process group beside the time-out; older releases say nothing."""
        if self.release == "2.9":
            status = f"last enqueued work: {seq + 2}, last completed work: {seq - 1}"
            return f" failure detected by watchdog at work sequence id: {seq} PG status: {status}"
        if self.release == "2.4":
            status = f"last enqueued NCCL work: {seq + 2}, last completed NCCL work: {seq - 1}."
            return f"Exception (either an error or timeout) detected by watchdog at work: {seq}, {status}"
        return ""

    def work(self, seq: int, op: str, timeout_ms: int) -> str:
        """A collective as ProcessGroupNCCL renders it."""
        sizes = "" if self.release == "1.13" else "NumelIn=67108864, NumelOut=67108864, "
        return f"WorkNCCL(SeqNum={seq}, OpType={op}, {sizes}Timeout(ms)={timeout_ms})"
