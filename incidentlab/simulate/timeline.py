"""Let the period of a scenario happen: who starts where, what ends it, which node is out, who comes next."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from incidentlab.errors import UsageError
from incidentlab.simulate import bystanders
from incidentlab.simulate.faults import Death, load_faults
from incidentlab.simulate.fleet import GPUS_PER_NODE, Fleet, process_id, stream
from incidentlab.simulate.plan import Strike, plan
from incidentlab.simulate.scenario import JobSpec, Scenario
from incidentlab.simulate.scene import Cast, words
from incidentlab.simulate.wording import NCCL, Torch
from incidentlab.simulate.world import Attempt, Occurrence, Outage, Silence, World

_FIRST_JOB_ID = 88123
_DRAIN_DELAY_S = 45
_LATENCY_S: dict[Death, tuple[float, float]] = {
    "crash": (20, 70),
    "hang": (15, 60),
    "hang-cancelled": (900, 1200),
    "node-lost": (305, 400),
    "silent": (5, 30),
    "cancelled": (2, 10),
    "requeued": (2, 10),
    "preempted": (31, 60),
    "time-limit": (1, 30),
}
"""From the fault (of a hang: from the watchdog's time-out) to the end of the attempt.
A lost node is noticed after SlurmdTimeout, 300 s by default (slurm.conf)."""
_KEEPS_ID = ("crash", "hang", "silent", "node-lost", "requeued", "preempted")
_CHECKPOINT_LAG_STEPS = 3
"""An asynchronous save is complete this many steps later."""
_POWER_CYCLE_S = (1200, 2400)
_REBOOT_S = (240, 420)


@dataclass
class _Run:
    """A job on its way: what will strike it, and the attempt that runs now."""

    job: JobSpec
    strikes: list[Strike]
    """The last comes first."""
    job_id: int = 0
    number: int = 0
    submit: int = 0
    start: int = 0
    nodes: tuple[str, ...] = ()
    first_step_ts: float = 0.0
    saved_step: int = 0

    def step_at(self, ts: float) -> int:
        """The last step that is done at `ts`."""
        return self.saved_step + int(max(0.0, ts - self.first_step_ts) / self.job.step_s)


class Director:
    """Plays a scenario in order of time."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.rng = stream(seed, "timeline")
        self.text = stream(seed, "words")
        self.faults = load_faults()
        self.world = World(scenario, seed, Fleet.build(scenario.fleet, seed, scenario.start_s))
        self.runs = [_Run(job, plan(job, scenario, self.faults, self.rng)) for job in scenario.jobs]
        self._agenda: list[tuple[float, int, Callable[[_Run, float], None], _Run]] = []
        self._serial = count()
        self._last_job_id = _FIRST_JOB_ID
        self._shared: dict[float, Occurrence] = {}

    def direct(self) -> World:
        """The finished world.

        Raises `UsageError` if nodes run out or the interruptions do not fit.
        """
        for run in self.runs:
            self._at(self.scenario.start_s, self._submit, run)
        while self._agenda:
            ts, _, action, run = heapq.heappop(self._agenda)
            action(run, ts)
        self.world.attempts.sort(key=lambda attempt: (attempt.start, attempt.job_id))
        bystanders.add_harmless(self.world, self.faults)
        bystanders.add_small_jobs(self.world, self._last_job_id)
        return self.world

    def _at(self, ts: float, action: Callable[[_Run, float], None], run: _Run) -> None:
        heapq.heappush(self._agenda, (ts, next(self._serial), action, run))

    def _submit(self, run: _Run, now: float) -> None:
        """A new job id starts."""
        self._last_job_id += self.rng.randint(1, 9)
        run.job_id, run.number = self._last_job_id, 0
        self._start(run, now)

    def _start(self, run: _Run, now: float) -> None:
        """An attempt starts; what ends it goes onto the agenda."""
        run.number += 1
        run.submit, run.start = int(now) - 30, int(now)
        run.nodes = self._allocate(run, now)
        run.first_step_ts = now + run.job.restore_s * self.rng.uniform(0.9, 1.2)
        if run.strikes:
            self._at(run.strikes[-1].ts, self._strike, run)
        else:
            self._finish(run)

    def _allocate(self, run: _Run, now: float) -> tuple[str, ...]:
        """The nodes it had before where they are in service, then the first that are free."""
        taken = {node for other in self.runs if other is not run for node in other.nodes}
        taken |= {outage.node for outage in self.world.outages if outage.start <= now < outage.end}
        free = [node for node in self.world.fleet.nodes if node not in taken]
        if len(free) < run.job.nodes:
            raise UsageError(f"job {run.job.name!r} finds {len(free)} of {run.job.nodes} nodes in service: add spares")
        known = set(run.nodes)
        free.sort(key=lambda node: node not in known)
        return tuple(sorted(free[: run.job.nodes], key=self.world.fleet.place.__getitem__))

    def _finish(self, run: _Run) -> None:
        """The last attempt is done, or still runs, at the end of the period."""
        end = None if run.job.still_running else int(self.scenario.end_s)
        self._record(run, end, run.step_at(self.scenario.end_s - 30), None, is_requeued=False)

    def _strike(self, run: _Run, ts: float) -> None:
        """A fault happens: the attempt ends, its node may go, and the next attempt is due."""
        strike = run.strikes.pop()
        fault = strike.fault
        killer = self._occur(run, strike)
        wait = run.job.nccl_timeout_s if fault.death == "hang" else 0
        end = int(ts + wait + self.rng.uniform(*_LATENCY_S[fault.death])) + 1
        keeps_id = fault.death in _KEEPS_ID and run.job.restart == "requeue"
        last_step = run.step_at(ts if fault.bucket == "unplanned" else end)
        self._record(run, end, last_step, killer, is_requeued=keeps_id)
        if not killer.is_echo:
            self._take_out(killer, end)
        due = end + int(run.job.restart_s * self.rng.uniform(0.7, 1.3))
        if due < self.scenario.end_s:
            self._at(due, self._start if keeps_id else self._submit, run)

    def _occur(self, run: _Run, strike: Strike) -> Occurrence:
        """The fault at a node of the attempt; a shared one at the leaf switch where it struck first."""
        first = self._shared.get(strike.ts)
        node = self._pick_node(run, strike, first)
        gpu = self.rng.randrange(GPUS_PER_NODE)
        rank = run.nodes.index(node) * GPUS_PER_NODE + gpu
        torch = Torch(run.job.torch)
        cast = Cast(
            node,
            gpu,
            strike.ts,
            self.scenario.fleet.driver,
            process_id(run.job_id, run.number, rank),
            rank=rank,
            job_id=run.job_id,
            iteration=run.step_at(strike.ts),
            cuda_error=torch.cuda_error,
            memory_error=torch.memory_error,
            nccl_version=NCCL[run.job.nccl].version,
        )
        all_words = words(cast, self.world.fleet, self.text)
        occurrence = Occurrence(strike.fault, strike.ts, node, gpu, all_words, is_echo=first is not None)
        if strike.is_shared:
            self._shared.setdefault(strike.ts, occurrence)
        return occurrence

    def _pick_node(self, run: _Run, strike: Strike, first: Occurrence | None) -> str:
        """A node of the attempt: lemons break more often, and a shared fault needs a switch that all jobs share."""
        fleet = self.world.fleet
        candidates = list(run.nodes)
        if strike.is_shared:
            others = [other.nodes for other in self.runs if other is not run]
            leaves = {fleet.leaf(node) for nodes in others for node in nodes}
            leaves = {fleet.leaf(first.node)} if first else leaves
            candidates = [node for node in run.nodes if fleet.leaf(node) in leaves] or candidates
        if strike.fault.bucket != "unplanned" or not strike.fault.drain:
            return self.rng.choice(candidates)
        return self.rng.choices(candidates, [fleet.weights[node] for node in candidates])[0]

    def _record(
        self, run: _Run, end: int | None, last_step: int, killer: Occurrence | None, *, is_requeued: bool
    ) -> None:
        """The attempt is over; the next begins at its last complete checkpoint."""
        attempt = Attempt(
            run.job,
            run.job_id,
            run.number,
            run.submit,
            run.start,
            end,
            run.nodes,
            run.first_step_ts,
            run.saved_step,
            last_step,
            killer,
            is_requeued,
        )
        self.world.attempts.append(attempt)
        every = run.job.steps_per_checkpoint
        run.saved_step = max(run.saved_step, (last_step - _CHECKPOINT_LAG_STEPS) // every * every)

    def _take_out(self, killer: Occurrence, end: int) -> None:
        """The node is drained, falls silent, or boots again, as the fault demands."""
        fault, node = killer.fault, killer.node
        boot = killer.ts + self.rng.uniform(*(_POWER_CYCLE_S if fault.death == "node-lost" else _REBOOT_S))
        if fault.reboots:
            silent_from = killer.ts + (0.5 if fault.death == "node-lost" else 20.0)
            self.world.fleet.boots[node].append(boot)
            self.world.silences.append(Silence(node, silent_from, boot, fault.bucket == "planned"))
        if fault.drain:
            start = killer.ts - fault.notice_s if fault.notice_s else end + _DRAIN_DELAY_S
            back = boot + self.scenario.fleet.repair_h * 3600 * self.rng.uniform(0.3, 1.7)
            is_announced = fault.notice_s > 0
            self.world.outages.append(Outage(node, start, back, killer.drain_reason, fault.drained_by, is_announced))
        elif fault.reboots:
            self.world.outages.append(Outage(node, killer.ts + 12, boot + 30, "reboot issued", "slurm"))
