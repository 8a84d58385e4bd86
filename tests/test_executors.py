"""Whatever the executor: every unit comes back once, and whoever dies takes nobody along."""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from chores import Chore, Tools, apart, square
from dask_site import DaskSite

from incidentlab.errors import OutageError, UsageError
from incidentlab.executors import Where, WorkerLost, opened, run

CHORES = [Chore((number, number + 1)) for number in range(0, 24, 2)]
SQUARES = [(number, number * number) for number in range(24)]


def results(where: Where, make: partial, chores: list[Chore] = CHORES) -> tuple[list, dict[str, Exception]]:
    """All squares in order, and the errors by unit."""
    with opened(where, make) as workers:
        done = list(run(workers, square, chores, apart))
    squares = sorted(pair for one in done if one.error is None for pair in one.result)
    return squares, {one.unit.key: one.error for one in done if one.error}


@pytest.mark.parametrize(
    "where", [Where(1), Where(2), Where(2, "local")], ids=lambda where: f"{where.jobs}-{where.cluster}"
)
def test_every_unit_comes_back_once(where: Where, tmp_path: Path) -> None:
    """In this process, in two, and on a cluster of this machine the results are the same."""
    assert results(where, partial(Tools, tmp_path)) == (SQUARES, {})


@pytest.mark.parametrize("where", [Where(1), Where(2)], ids=lambda where: f"{where.jobs}-{where.cluster}")
def test_an_error_is_that_of_its_unit(where: Where, tmp_path: Path) -> None:
    """The others are done, and the one says what was wrong; it is not split, as it would be wrong again."""
    squares, errors = results(where, partial(Tools, tmp_path, wrong=8))

    assert squares == [pair for pair in SQUARES if pair[0] not in {8, 9}]
    assert {key: str(error) for key, error in errors.items()} == {"8-9": "seven ate nine"}


def test_a_unit_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    """Its neighbour in the same unit is done, and it is tried a second time before it is given up."""
    squares, errors = results(Where(2), partial(Tools, tmp_path, poison=8))

    assert squares == [pair for pair in SQUARES if pair[0] != 8]
    assert {key: type(error) for key, error in errors.items()} == {"8": WorkerLost}
    assert len(list(tmp_path.glob("8.*"))) == 2


def test_a_process_that_is_killed_costs_nothing(tmp_path: Path) -> None:
    """Who is shot in the middle of its work is replaced, and that work done again."""
    chores = [Chore((number,), 0.2) for number in range(8)]
    with opened(Where(2), partial(Tools, tmp_path)) as workers:
        coming = run(workers, square, chores)
        first = next(coming)
        victim = next(iter(tmp_path.glob(f"{first.unit.key}.*")))
        os.kill(int(victim.suffix[1:]), signal.SIGKILL)
        rest = list(coming)

    assert sorted(pair for one in (first, *rest) for pair in one.result) == SQUARES[:8]


def test_units_are_read_as_there_is_room(tmp_path: Path) -> None:
    """Two processes never have more than two units, so that a list without end is no trouble."""
    taken = []
    chores = (taken.append(number) or Chore((number,)) for number in range(1_000_000))

    with opened(Where(2), partial(Tools, tmp_path)) as workers:
        next(run(workers, square, chores))

    assert len(taken) <= 4


def interrupt_when_busy(folder: Path) -> None:
    """Ctrl-C for this process, as soon as two chores have begun."""
    deadline = time.monotonic() + 20
    while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def interrupted(where: Where, folder: Path) -> None:
    """An interrupt while two processes are busy for a minute."""
    with opened(where, partial(Tools, folder)) as workers:
        Thread(target=interrupt_when_busy, args=(folder,)).start()
        list(run(workers, square, [Chore((number,), 60) for number in range(4)]))


@pytest.mark.parametrize("where", [Where(2), Where(2, "local")], ids=lambda where: str(where.cluster))
def test_an_interrupt_ends_all_at_once(where: Where, tmp_path: Path) -> None:
    """Work that is under way is not waited for."""
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted(where, tmp_path)

    assert time.monotonic() - began < 40


def test_a_worker_of_a_cluster_that_is_killed_costs_nothing(site: DaskSite, tmp_path: Path) -> None:
    """One of two real workers dies in the middle; the results are those of one process."""
    victim = site.hire("--no-nanny")
    site.hire("--no-nanny")
    chores = [Chore((number,), 0.1) for number in range(24)]
    with opened(Where(cluster=str(site.file)), partial(Tools, tmp_path)) as workers:
        coming = run(workers, square, chores)
        done = [next(coming)]
        while not any(tmp_path.glob(f"*.{victim.pid}")):
            done.append(next(coming))
        victim.kill()
        done += coming

    assert [one.error for one in done if one.error] == []
    assert sorted(pair for one in done for pair in one.result) == SQUARES


def test_a_unit_that_kills_workers_of_a_cluster_fails_alone(site: DaskSite, tmp_path: Path) -> None:
    """Its neighbours are done, even those that waited at a worker that died."""
    site.hire("--nanny")
    site.hire("--nanny")

    squares, errors = results(Where(cluster=str(site.file)), partial(Tools, tmp_path, poison=8))

    assert squares == [pair for pair in SQUARES if pair[0] != 8]
    assert {key: type(error) for key, error in errors.items()} == {"8": WorkerLost}


def test_a_local_cluster_survives_its_workers(tmp_path: Path) -> None:
    """It is ended without a word even while a worker that died is coming back."""
    squares, errors = results(Where(2, "local"), partial(Tools, tmp_path, poison=8), CHORES[:5])

    assert squares == [pair for pair in SQUARES[:10] if pair[0] != 8]
    assert list(errors) == ["8"]


def test_a_scheduler_that_dies_is_said(site: DaskSite, tmp_path: Path) -> None:
    """Nobody waits for it for ever."""
    site.hire("--no-nanny")
    with opened(Where(cluster=str(site.file)), partial(Tools, tmp_path)) as workers:
        coming = run(workers, square, [Chore((number,), 0.5) for number in range(40)])
        next(coming)
        site.scheduler.kill()

        with pytest.raises(OutageError, match="what was done stays done"):
            list(coming)


@pytest.mark.parametrize("cluster", ["nowhere.json", "tcp://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_said(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong address or file is a wrong argument."""
    clusters = pytest.importorskip("incidentlab.clusters")
    monkeypatch.setattr(clusters, "_CONNECT_S", 1)

    with pytest.raises(UsageError, match=cluster), opened(Where(cluster=cluster), partial(Tools, tmp_path)):
        pass


def test_a_scheduler_without_workers_is_said(site: DaskSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for workers that never come."""
    clusters = pytest.importorskip("incidentlab.clusters")
    monkeypatch.setattr(clusters, "_CONNECT_S", 1)

    with (
        pytest.raises(UsageError, match="no worker within 1 s"),
        opened(Where(cluster=str(site.file)), partial(Tools, tmp_path)),
    ):
        pass


def test_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Dask, the way to it is said."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "incidentlab.clusters", raising=False)
    monkeypatch.delattr("incidentlab.clusters", raising=False)

    with pytest.raises(UsageError, match=r"pip install 'incidentlab\[dask\]'"):
        opened(Where(cluster="local"), partial(Tools, tmp_path)).__enter__()
