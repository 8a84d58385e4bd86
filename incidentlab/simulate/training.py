"""What the training program writes while all is well: start, collectives, checkpoints, steps.

Texts: NVIDIA/Megatron-LM megatron/training/{training,checkpointing}.py; pytorch/torchtitan; nccl src/init.cc.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from incidentlab.simulate import stamps
from incidentlab.simulate.fleet import GPUS_PER_NODE, address
from incidentlab.simulate.world import Attempt, World

_BATCH = 2048
_TOTAL_STEPS = 1_200_000
_SAVE_S = 14.0
_SHOWN_RANKS = 3


@dataclass(frozen=True, slots=True)
class JobLine:
    """One line of a job's output: when (true time), by the task on which node (its place; None: by Slurm), what."""

    ts: float
    place: int | None
    text: str


def life(attempt: Attempt, world: World, rng: random.Random) -> Iterator[JobLine]:
    """The lines of an attempt until its last step."""
    yield from _launch(attempt, world, rng)
    yield from _restore(attempt, world)
    job = attempt.job
    step_line = _megatron_step if job.framework == "megatron" else _titan_step
    for step in range(attempt.first_step + 1, attempt.last_step + 1):
        ts = attempt.step_ts(step)
        if step % job.steps_per_line == 0 or step == attempt.first_step + 1:
            yield step_line(attempt, world, step, ts, rng)
        if step % job.steps_per_checkpoint == 0:
            yield from _save(attempt, world, step, ts)
    if attempt.state == "COMPLETED":
        yield _finish(attempt, world)


def _launch(attempt: Attempt, world: World, rng: random.Random) -> Iterator[JobLine]:
    """The batch script and NCCL's start, of a few ranks."""
    start = attempt.start + 1.0
    yield JobLine(start, None, f"SLURM_JOB_ID={attempt.job_id} SLURM_RESTART_COUNT={attempt.number - 1}")
    yield JobLine(start, None, f"SLURM_JOB_NODELIST={attempt.hostlist} SLURM_NNODES={len(attempt.nodes)}")
    version = attempt.nccl.version
    yield JobLine(start + 11, 0, f"NCCL version {version}+cuda12.4")
    comm_id = f"{rng.getrandbits(64):016x}"
    size = attempt.world_size
    for rank in sorted({0, size // 2, size - 1})[:_SHOWN_RANKS]:
        yield from _collective_start(attempt, world, rank, comm_id, start + 12 + rng.random() * 4)


def _collective_start(attempt: Attempt, world: World, rank: int, comm_id: str, ts: float) -> Iterator[JobLine]:
    place, device = divmod(rank, GPUS_PER_NODE)
    node, pid = attempt.nodes[place], attempt.pid(rank)
    head = f"{node}:{pid}:{pid + 211} [{device}] NCCL INFO"
    gpu = world.fleet.gpu(node, device)
    init = attempt.nccl.init.format(
        comm=f"55{pid:010x}",
        rank=rank,
        world=attempt.world_size,
        dev=device,
        bus=gpu.bdf[5:7] + "000",
        id=comm_id,
    )
    host = address(world.fleet.place[node])
    yield JobLine(ts, place, f"{head} Bootstrap : Using eth0:{host}<0>")
    yield JobLine(ts + 0.4, place, f"{head} NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:{host}<0>")
    yield JobLine(ts + 0.5, place, f"{head} Using network IB")
    yield JobLine(ts + 6.0, place, f"{head} {init}")


def _restore(attempt: Attempt, world: World) -> Iterator[JobLine]:
    """The checkpoint is loaded, or there is none yet."""
    begin = attempt.start + 0.35 * (attempt.first_step_ts - attempt.start)
    done = attempt.first_step_ts - 1.0
    folder, step = f"/lustre/ckpt/{attempt.job.name}", attempt.first_step
    if attempt.job.framework == "torchtitan":
        if step:
            yield JobLine(begin, 0, _titan(begin, world, f"Loading the checkpoint from {folder}/step-{step}."))
            yield JobLine(
                done, 0, _titan(done, world, f"Finished loading the checkpoint in {done - begin:.2f} seconds.")
            )
        yield JobLine(done, 0, _titan(done, world, f"Training starts at step {step + 1}"))
    elif step:
        yield JobLine(begin, 0, f" loading distributed checkpoint from {folder} at iteration {step}")
        yield JobLine(done, 0, f"  successfully loaded checkpoint from {folder} [ t 1/8, p 1/16 ] at iteration {step}")
    else:
        yield JobLine(begin, 0, f"WARNING: could not find the metadata file {folder}/latest_checkpointed_iteration.txt")
        yield JobLine(begin, 0, "    will not load any checkpoints and will start from random")


def _save(attempt: Attempt, world: World, step: int, ts: float) -> Iterator[JobLine]:
    """A checkpoint is written; it is complete only if the attempt lives long enough."""
    folder = f"/lustre/ckpt/{attempt.job.name}"
    done = ts + _SAVE_S
    is_complete = done < attempt.step_ts(attempt.last_step) or attempt.killer is None
    if attempt.job.framework == "torchtitan":
        yield JobLine(ts, 0, _titan(ts, world, "Saving the checkpoint (or staging if async is enabled)."))
        if is_complete:
            text = f"Finished saving the checkpoint (or staging if async is enabled) in {_SAVE_S:.2f} seconds."
            yield JobLine(done, 0, _titan(done, world, text))
        return
    yield JobLine(ts, 0, f"saving checkpoint at iteration {step:7d} to {folder} in torch_dist format")
    if is_complete:
        yield JobLine(
            done, 0, f"  successfully saved checkpoint from iteration {step:7d} to {folder} [ t 1/8, p 1/16 ]"
        )


def _finish(attempt: Attempt, world: World) -> JobLine:
    """The program leaves in good order."""
    ts = attempt.step_ts(attempt.last_step) + 2
    if attempt.job.framework == "torchtitan":
        return JobLine(ts, 0, _titan(ts, world, "Training completed"))
    when = stamps.blank(stamps.local(ts, world.scenario.tz))
    return JobLine(ts, 0, f"[exiting program at iteration {attempt.last_step}] datetime: {when} ")


def _megatron_step(attempt: Attempt, world: World, step: int, ts: float, rng: random.Random) -> JobLine:
    """A progress line; Megatron prints it on the last rank, E+00 style exponents and all."""
    stamp = stamps.blank(stamps.local(ts, world.scenario.tz))
    elapsed = attempt.job.step_s * 1000 * rng.uniform(0.995, 1.005)
    text = (
        f" [{stamp}] iteration {step:8d}/{_TOTAL_STEPS:8d} | consumed samples: {step * _BATCH:12d} |"
        f" elapsed time per iteration (ms): {elapsed:.1f} | throughput per GPU (TFLOP/s/GPU): {2.46e6 / elapsed:.1f} |"
        f" learning rate: 8.000000E-05 | global batch size: {_BATCH:5d} | lm loss: {_loss(step, rng):.6E} |"
        f" loss scale: 1.0 | grad norm: {rng.uniform(0.2, 0.4):.3f} | number of skipped iterations:   0 |"
        " number of nan iterations:   0 |"
    )
    return JobLine(ts, len(attempt.nodes) - 1, text)


def _titan_step(attempt: Attempt, world: World, step: int, ts: float, rng: random.Random) -> JobLine:
    """A progress line of torchtitan, colours included."""
    speed = rng.randrange(6900, 7100) * 6 / attempt.job.step_s
    text = (
        f"\x1b[31mstep: {step:2d}  \x1b[32mloss: {_loss(step, rng):7.4f}"
        f"  \x1b[38;2;180;60;0mgrad_norm: {rng.uniform(0.2, 0.4):.4f}"
        f"  \x1b[38;2;54;234;195mmemory: 61.{rng.randrange(10, 99)}GiB(77.{rng.randrange(10, 99)}%)"
        f"  \x1b[34mtps: {speed:,.0f}  \x1b[36mtflops: 40{rng.randrange(10)}.{rng.randrange(10, 99)}"
        "  \x1b[35mmfu: 41.02%\x1b[39m"
    )
    return JobLine(ts, 0, _titan(ts, world, text))


def _titan(ts: float, world: World, text: str) -> str:
    when = stamps.local(ts, world.scenario.tz)
    return f"[titan] {stamps.blank(when)},{when.microsecond // 1000:03d} - root - INFO - {text}"


def _loss(step: int, rng: random.Random) -> float:
    return 1.75 + 9.0 * math.exp(-step / 2500) + 30 / (step + 300) + rng.gauss(0, 0.01)
