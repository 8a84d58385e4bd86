"""What a job writes when it dies: the faulty rank, its peers, the launcher's table, srun and slurmstepd.

Texts: pytorch ProcessGroupNCCL.cpp and torch/distributed/elastic; SchedMD/slurm src/srun/libsrun and
src/slurmd/slurmstepd.
"""

import random
import signal
from collections.abc import Iterator

from incidentlab.simulate import stamps
from incidentlab.simulate.fleet import GPUS_PER_NODE, address
from incidentlab.simulate.scene import adapter_words
from incidentlab.simulate.training import JobLine
from incidentlab.simulate.world import Attempt, Occurrence, World

_REMOTE_ERROR = "remote process exited or there was a network error"
_OPS = ("_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLREDUCE")
_STACK = (
    "Traceback (most recent call last):",
    '  File "/opt/train/pretrain_gpt.py", line 281, in <module>',
    "    pretrain(train_valid_test_datasets_provider, model_provider, forward_step)",
    '  File "/opt/train/megatron/training/training.py", line 1512, in train',
    "    loss_dict, skipped_iter, grad_norm = train_step(forward_step_func, data_iterator, model)",
)
_CUDA_HINTS = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace might be incorrect.",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
)
_BANNERS = {
    "node-lost": " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
    "requeued": " DUE TO JOB REQUEUE",
    "preempted": " DUE TO PREEMPTION",
    "time-limit": " DUE TO TIME LIMIT",
}


class Cascade:
    """The last lines of one attempt that a fault ended."""

    def __init__(self, attempt: Attempt, killer: Occurrence, end: int, world: World, rng: random.Random) -> None:
        self.attempt, self.killer, self.end, self.world, self.rng = attempt, killer, end, world, rng
        self.fault = killer.fault

    def lines(self) -> Iterator[JobLine]:
        """All of them, in no order."""
        yield from self._own_lines()
        match self.fault.death:
            case "crash":
                yield from self._crash()
            case "hang":
                yield from self._hang()
            case "node-lost":
                yield from self._peers_notice(self.killer.ts + 3)
                yield self._slurm(self.end - 0.5, f"srun: error: Node failure on {self.killer.node}")
                yield from self._cancelled()
            case "silent":
                yield from self._srun_failure(self.end - 1.0, 0)
            case _:
                yield from self._asked_to_stop()

    def _own_lines(self) -> Iterator[JobLine]:
        """The lines that the fault itself leaves in the job's output."""
        for trace in self.fault.lines:
            ts, text = self.killer.ts + trace.t, trace.text
            if trace.by == "job":
                yield JobLine(ts, self.attempt.faulty_place, text.format_map(self.killer.words))
            elif trace.by == "nccl":
                text = self._nccl_text(text)
                yield from self._warn(ts, self.attempt.faulty_rank, "transport/net_ib.cc:102", text, is_helper=True)

    def _nccl_text(self, template: str) -> str:
        """A text of the attempt's own NCCL release."""
        nccl = self.attempt.nccl
        known = {
            **self.killer.words,
            "async_event": nccl.port_error,
            "device_fatal": nccl.device_fatal,
            "completion_error": nccl.completion,
        }
        peer = self._address(self._peers(1)[0])
        return template.format_map(known).format(peer=peer, **adapter_words(self.killer.gpu))

    def _peers(self, number: int) -> list[int]:
        """Ranks on other nodes (on the same node, if there is just one)."""
        place = self.attempt.faulty_place
        others = [other for other in range(len(self.attempt.nodes)) if other != place] or [place]
        places = sorted(self.rng.sample(others, min(number, len(others))))
        return [other * GPUS_PER_NODE + self.rng.randrange(GPUS_PER_NODE) for other in places]

    def _address(self, rank: int) -> str:
        place = self.world.fleet.place[self.attempt.nodes[rank // GPUS_PER_NODE]]
        return f"{address(place)}<{self.rng.randrange(32768, 60000)}>"

    def _warn(self, ts: float, rank: int, source: str, text: str, *, is_helper: bool = False) -> Iterator[JobLine]:
        """A warning of NCCL; its helper threads always say device 0."""
        place, device = divmod(rank, GPUS_PER_NODE)
        pid = self.attempt.pid(rank)
        head = f"{self.attempt.nodes[place]}:{pid}:{pid + 307} [{0 if is_helper else device}]"
        for line in self.attempt.nccl.warn(stamps.local(ts, self.world.scenario.tz), head, source, text):
            yield JobLine(ts, place, line)

    def _native(self, ts: float, rank: int, text: str) -> JobLine:
        when = stamps.local(ts + self._skew(rank), self.world.scenario.tz)
        return JobLine(ts, rank // GPUS_PER_NODE, self.attempt.torch.native(when, rank, text))

    def _skew(self, rank: int) -> float:
        return self.world.fleet.skew_s[self.attempt.nodes[rank // GPUS_PER_NODE]]

    def _slurm(self, ts: float, text: str) -> JobLine:
        return JobLine(ts, None, text)

    def _crash(self) -> Iterator[JobLine]:
        """A rank aborts at once; its peers notice within seconds."""
        ts, rank = self.killer.ts + 0.4, self.attempt.faulty_rank
        if self.fault.error:
            for text in self.attempt.torch.trace(rank, self._traceback()):
                yield JobLine(ts, self.attempt.faulty_place, text)
        elif self.fault.exit_code == -signal.SIGABRT:
            yield from self._network_error(ts, rank)
        yield from self._peers_notice(ts + 1.2)
        yield from self._launcher_report(ts + 3.0, rank, self.fault.exit_code)
        yield from self._srun_failure(ts + 8.0, self.attempt.faulty_place)
        yield from self._cancelled()

    def _traceback(self) -> list[str]:
        hints = _CUDA_HINTS if "CUDA error:" in self.fault.error else ()
        return [*_STACK, self.fault.error.format_map(self.killer.words), *hints]

    def _network_error(self, ts: float, rank: int) -> Iterator[JobLine]:
        work = self._work()
        error = f"NCCL error: {_REMOTE_ERROR}, NCCL version {self.attempt.nccl.version}"
        text = f"Collective {work} raised the following async exception: {error}"
        yield self._native(ts, rank, text)

    @property
    def _seq(self) -> int:
        """Number of the collective that does not finish."""
        return self.attempt.last_step * 37 + 11

    def _work(self) -> str:
        return self.attempt.torch.work(self._seq, self.rng.choice(_OPS), self.attempt.job.nccl_timeout_s * 1000)

    def _peers_notice(self, ts: float) -> Iterator[JobLine]:
        """Sockets to the dead process close, or its adapter does not answer."""
        dead = f"{self.killer.node}.cluster.example<{self.rng.randrange(32768, 60000)}>"
        for delay, rank in enumerate(self._peers(2)):
            at = ts + delay * 0.7
            if self.fault.death == "node-lost":
                text = self._completion(rank)
                yield from self._warn(at + 14, rank, "transport/net_ib.cc:2210", text)
            else:
                text = f"socketProgress: Connection closed by remote peer {dead}"
                yield from self._warn(at, rank, "misc/socket.cc:50", text)
            if self.fault.death == "crash":
                yield from self._network_error(at + 0.3, rank)

    def _completion(self, rank: int) -> str:
        place = self.world.fleet.place[self.killer.node]
        return self.attempt.nccl.completion.format(peer=f"{address(place)}<45612>", nic=f"mlx5_{rank % GPUS_PER_NODE}")

    def _hang(self) -> Iterator[JobLine]:
        """All wait for the faulty rank until their watchdogs lose patience."""
        timeout_s = self.attempt.job.nccl_timeout_s
        work = self._work()
        ranks = self._peers(3)
        for delay, rank in enumerate(ranks):
            ts = self.killer.ts + timeout_s + 0.2 + delay * 0.31
            ran_ms = timeout_s * 1000 + self.rng.randrange(5, 96)
            caught = (
                f"Watchdog caught collective operation timeout: {work} ran for {ran_ms} milliseconds before timing out."
            )
            yield self._native(ts, rank, caught)
            progress = self.attempt.torch.progress(self._seq)
            if progress:
                yield self._native(ts + 0.1, rank, progress)
            yield self._native(
                ts + 1.1,
                rank,
                "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, "
                "subsequent GPU operations might run on corrupted/incomplete data.",
            )
            yield self._native(ts + 1.1, rank, "To avoid data inconsistency, we are taking the entire process down.")
        yield from self._launcher_report(self.killer.ts + timeout_s + 4.0, ranks[0], -signal.SIGABRT)
        yield from self._srun_failure(self.killer.ts + timeout_s + 8.0, ranks[0] // GPUS_PER_NODE)
        yield from self._cancelled()

    def _launcher_report(self, ts: float, rank: int, exit_code: int) -> Iterator[JobLine]:
        """Torchelastic stops the other workers of the node and prints its table."""
        place, local_rank = divmod(rank, GPUS_PER_NODE)
        when = stamps.local(ts + self._skew(rank), self.world.scenario.tz)
        agent = self.attempt.pid(-1 - place)
        torch = self.attempt.torch
        for other in range(GPUS_PER_NODE):
            if other != local_rank:
                pid = self.attempt.pid(place * GPUS_PER_NODE + other)
                text = f"Sending process {pid} closing signal SIGTERM"
                yield JobLine(ts, place, torch.agent(when, "W", agent, text))
        failed = f"failed (exitcode: {exit_code}) local_rank: {local_rank} (pid: {self.attempt.pid(rank)})"
        yield JobLine(ts + 0.5, place, torch.agent(when, "E", agent, f"{failed} of binary: /opt/venv/bin/python3"))
        for text in _table(self.attempt, rank, exit_code, when.strftime("%Y-%m-%d_%H:%M:%S")):
            yield JobLine(ts + 0.6, place, text)

    def _srun_failure(self, ts: float, place: int) -> Iterator[JobLine]:
        node = self.attempt.nodes[place]
        yield self._slurm(ts, f"srun: error: {node}: task {place}: Exited with exit code 1")

    def _cancelled(self) -> Iterator[JobLine]:
        """Slurm takes the rest of the step down."""
        when = stamps.iso(stamps.local(self.end - 0.8, self.world.scenario.tz))
        first, job_id = self.attempt.nodes[0], self.attempt.job_id
        why = _BANNERS.get(self.fault.death, "")
        yield self._slurm(self.end - 0.9, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
        yield self._slurm(
            self.end - 0.8, f"slurmstepd: error: *** STEP {job_id}.0 ON {first} CANCELLED AT {when}{why} ***"
        )

    def _asked_to_stop(self) -> Iterator[JobLine]:
        """Slurm signals the job, on somebody's request or by policy."""
        when = stamps.local(self.end - 0.7, self.world.scenario.tz)
        yield from self._cancelled()
        text = "Received 15 death signal, shutting down workers"
        yield JobLine(self.end - 0.7, 0, self.attempt.torch.agent(when, "W", self.attempt.pid(-1), text))
        why = _BANNERS.get(self.fault.death, "")
        banner = f"*** JOB {self.attempt.job_id} ON {self.attempt.nodes[0]} CANCELLED AT {stamps.iso(when)}{why} ***"
        yield self._slurm(self.end - 0.6, f"slurmstepd: error: {banner}")


def _table(attempt: Attempt, rank: int, exit_code: int, stamp: str) -> list[str]:
    """The failure report of torchelastic (multiprocessing/errors)."""
    pid = attempt.pid(rank)
    name = f" ({signal.Signals(-exit_code).name})" if exit_code < 0 else ""
    trace = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    if exit_code < 0:
        trace = f"Signal {-exit_code}{name} received by PID {pid}"
    return [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        "/opt/train/pretrain_gpt.py FAILED",
        "-" * 60,
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        "-" * 60,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : {stamp}",
        f"  host      : {attempt.nodes[rank // GPUS_PER_NODE]}.cluster.example",
        f"  rank      : {rank} (local_rank: {rank % GPUS_PER_NODE})",
        f"  exitcode  : {exit_code} (pid: {pid})",
        "  error_file: <N/A>",
        f"  traceback : {trace}",
        "=" * 60,
    ]
