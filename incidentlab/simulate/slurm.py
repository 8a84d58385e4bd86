"""What the scheduler writes: slurmctld.log and the drain reasons of sinfo.

Texts: SchedMD/slurm src/slurmctld/{job_mgr,node_mgr,job_scheduler,node_scheduler}.c, src/sinfo.
"""

from collections.abc import Iterator
from pathlib import Path

from incidentlab.simulate import stamps
from incidentlab.simulate.files import write_text
from incidentlab.simulate.fleet import CPUS_PER_NODE, stream
from incidentlab.simulate.world import Attempt, Outage, SmallJob, World

_WEEK_S = 7 * 86400
_PINGS_S = (95.0, 195.0)
"""When the controller complains about a silent node before it gives it up."""
_CHATTER = (
    "agent msg_type=1008 ran for 1{n8} seconds",
    "Processing RPC: REQUEST_RECONFIGURE from UID=0",
    "reconfigure_slurm: completed usec=1{n}112",
    "Received log-rotate signal SIGUSR2",
    "sched/backfill: _attempt_backfill: completed testing {n}(1) jobs, usec={n}4122",
)


def write_controller_log(world: World, folder: Path) -> None:
    """Write slurmctld.log, rotated weekly; the newest file is `slurmctld.log`."""
    stamp = stamps.SLURM[world.scenario.logs.slurm_stamp]
    start, end = world.scenario.start_s, world.scenario.end_s
    weeks: dict[int, list[str]] = {}
    for ts, text in sorted(controller_lines(world)):
        if ts < end + 1:
            line = f"[{stamp(stamps.local(ts, world.scenario.tz))}] {text}"
            weeks.setdefault(int(max(0.0, ts - start) // _WEEK_S), []).append(line)
    newest = max(weeks)
    for week, lines in weeks.items():
        age = newest - week
        write_text(
            folder / f"slurmctld.log{f'.{age}' if age else ''}", lines, world.scenario.logs.slurm_codec if age else ""
        )


def controller_lines(world: World) -> Iterator[tuple[float, str]]:
    """All lines of slurmctld with their times, in no order."""
    start = world.scenario.start_s
    yield start - 600, "slurmctld version 23.11.10 started on cluster demo"
    yield start - 599, "Running as primary controller"
    for attempt in world.attempts:
        yield from _begin(attempt)
        yield from _end(attempt)
    for outage in world.outages:
        yield from _drain(outage)
    for silence in world.silences:
        if not silence.is_orderly:
            boot, last = int(silence.boot), int(silence.start)
            text = (
                f"validate_node_specs: Node {silence.node} unexpectedly rebooted boot_time={boot} last response={last}"
            )
            yield silence.boot + 50, text
    for occurrence in world.occurrences:
        for trace in occurrence.fault.lines:
            if trace.by == "slurmctld":
                yield occurrence.ts + trace.t, trace.text.format_map(occurrence.words)
    for job in world.small_jobs:
        yield from _small(job)
    yield from _routine(world)


def _begin(attempt: Attempt) -> Iterator[tuple[float, str]]:
    if attempt.number == 1:
        yield (
            attempt.submit,
            f"_slurm_rpc_submit_batch_job: JobId={attempt.job_id} InitPrio=4294901{attempt.job_id % 1000:03d} usec=912",
        )
    cpus, partition = len(attempt.nodes) * CPUS_PER_NODE, attempt.job.partition
    text = f"sched: Allocate JobId={attempt.job_id} NodeList={attempt.hostlist} #CPUs={cpus} Partition={partition}"
    yield attempt.start, text


def _end(attempt: Attempt) -> Iterator[tuple[float, str]]:
    """How the controller tells the end of an attempt."""
    if attempt.end is None:
        return
    ts, job = attempt.end + 0.2, f"JobId={attempt.job_id}"
    killer = attempt.killer
    death = killer.fault.death if killer else "done"
    match death:
        case "done":
            yield ts, f"_job_complete: {job} WEXITSTATUS 0"
        case "node-lost":
            yield from _lost(attempt)
        case "cancelled" | "hang-cancelled":
            yield ts - 0.9, f"_slurm_rpc_kill_job: REQUEST_KILL_JOB {job} uid {0 if death == 'cancelled' else 20011}"
            yield ts, f"_job_complete: {job} WTERMSIG 15"
        case "requeued":
            yield ts, f"_job_complete: requeue {job} per user/system request"
        case "preempted":
            yield ts - 31, f"preempted {job} has been requeued to reclaim resources for JobId={attempt.job_id + 1}"
        case "time-limit":
            yield ts - 30, f"Time limit exhausted for {job}"
            yield ts, f"_job_complete: {job} WTERMSIG 15"
        case _:
            yield ts, f"_job_complete: {job} WEXITSTATUS 1"
    if death not in ("node-lost", "preempted"):
        yield ts + 0.001, f"_job_complete: {job} done"
    if attempt.is_requeued:
        yield ts + 20, f"Requeuing {job}"


def _lost(attempt: Attempt) -> Iterator[tuple[float, str]]:
    """A node does not answer until the controller gives it up; the job's line comes first."""
    if not attempt.killer or attempt.end is None:
        return
    node = attempt.killer.node
    for after in _PINGS_S:
        yield attempt.killer.ts + after, f"error: Nodes {node} not responding"
    if attempt.is_requeued:
        yield attempt.end, f"requeue job JobId={attempt.job_id} due to failure of node {node}"
    else:
        yield attempt.end, f"Killing JobId={attempt.job_id} on failed node {node}"
    yield attempt.end + 0.001, f"error: Nodes {node} not responding, setting DOWN"


def _drain(outage: Outage) -> Iterator[tuple[float, str]]:
    """A node goes out of service and comes back; the reason stands before the state."""
    if outage.reason == "reboot issued":
        yield outage.end, f"node {outage.node} returned to service"
        return
    if outage.set_by == "slurm":
        yield outage.start, f"drain_nodes: node {outage.node} state set to DRAIN"
    else:
        state = "DRAINING" if outage.is_announced else "DRAINED"
        yield outage.start, f"update_node: node {outage.node} reason set to: {outage.reason}"
        yield outage.start + 0.001, f"update_node: node {outage.node} state set to {state}"
    yield outage.end, f"update_node: node {outage.node} state set to IDLE"


def _small(job: SmallJob) -> Iterator[tuple[float, str]]:
    yield job.start - 1, f"_slurm_rpc_submit_batch_job: JobId={job.job_id} InitPrio=4294901001 usec=711"
    yield job.start, f"sched: Allocate JobId={job.job_id} NodeList={job.node} #CPUs=16 Partition=dev"
    yield job.end, f"_job_complete: JobId={job.job_id} WEXITSTATUS 0"
    yield job.end + 0.001, f"_job_complete: JobId={job.job_id} done"


def _routine(world: World) -> Iterator[tuple[float, str]]:
    rng = stream(world.seed, "slurmctld")
    number = round(world.scenario.hours * 2)
    for _ in range(number):
        ts = rng.uniform(world.scenario.start_s, world.scenario.end_s)
        yield ts, rng.choice(_CHATTER).format(n=rng.randrange(10, 99), n8=rng.randrange(8))


def write_drain_reasons(world: World, folder: Path) -> None:
    """Write the answer of `sinfo -R -o "%E|%u|%H|%N"` at the end of the period."""
    end = world.scenario.end_s
    rows = ["REASON|USER|TIMESTAMP|NODELIST"]
    for outage in sorted(world.outages, key=lambda outage: (outage.start, outage.node)):
        if outage.start < end < outage.end:
            when = stamps.iso(stamps.local(outage.start, world.scenario.tz))
            rows.append(f"{outage.reason}|{outage.set_by}|{when}|{outage.node}")
    write_text(folder / "sinfo-R.txt", rows)
