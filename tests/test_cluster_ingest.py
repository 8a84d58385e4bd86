"""Logs that a cluster reads make the warehouse that they make here, whatever happens to its workers."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from dask_site import DaskSite

from incidentlab import pipeline, shards, units, warehouse
from incidentlab.configuration import Site
from incidentlab.errors import InputError, UsageError
from incidentlab.executors import Where
from incidentlab.stores import open_store
from incidentlab.terminal import Talk

QUIET = Talk(verbosity=-1, shows_progress=False)
read = shards.read_unit

KERNEL = "Mar  5 14:03:22 gpu{number:04d} kernel: [412.000001] NVRM: Xid (PCI:0000:1b:00): 79, pid={pid}, lost\n"
CHATTER = "Mar  5 14:03:20 gpu0001 systemd[1]: Started Session 9.\n"
TABLES = ("intake.sources", "intake.events", "events", "incidents", "intake.readings")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A dozen files of which each is a unit of work."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(12):
        faults = "".join(KERNEL.format(number=number, pid=pid) for pid in range(5))
        (folder / f"{number:02d}.log").write_text(faults + CHATTER * 40_000)
    return folder


def content(file: Path) -> dict[str, list[tuple]]:
    """All rows of some tables, in their order."""
    with warehouse.open_readonly(file) as con:
        return {table: con.execute(f"from {table}").fetchall() for table in TABLES}


@pytest.fixture
def here(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple]]:
    """What one process makes of the logs, each file a unit."""
    monkeypatch.setattr(units, "UNIT_FILES", 1)
    ingest(logs, tmp_path / "here.duckdb", Where(1))
    return content(tmp_path / "here.duckdb")


def ingest(logs: Path, target: Path, where: Where, store: str | None = None) -> None:
    """Read the logs into a new warehouse."""
    pipeline.add_to_warehouse([str(logs)], target, Site(timezone="UTC"), where=where, talk=QUIET, store=store)


def test_a_worker_that_is_killed_shows_nowhere(
    site: DaskSite, logs: Path, here: dict[str, list[tuple]], tmp_path: Path
) -> None:
    """Of two workers one dies in the middle of it; every row is that of one process, also in a third place."""
    victim, _ = site.hire("--no-nanny"), site.hire("--no-nanny")
    store, target = tmp_path / "shards", tmp_path / "cluster.duckdb"

    def kill_when_begun() -> None:
        deadline = time.monotonic() + 60
        while not any(store.rglob("*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.01)
        victim.kill()

    killer = threading.Thread(target=kill_when_begun)
    killer.start()
    ingest(logs, target, Where(cluster=str(site.file)), str(store))
    killer.join()
    pipeline.add_shards(str(store), tmp_path / "third.duckdb", Site(timezone="UTC"), talk=QUIET)

    assert victim.wait() != 0
    assert content(target) == here
    assert content(tmp_path / "third.duckdb") == here


def test_a_file_that_kills_its_worker_fails_alone(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process survives one file, that file is named, and all others are read."""
    monkeypatch.setattr(pipeline, "ALONE_BYTES", 0)
    monkeypatch.setattr(units, "UNIT_FILES", 4)
    monkeypatch.setattr(shards, "read_unit", poisoned)
    ingest(logs, tmp_path / "w.duckdb", Where(2))

    with warehouse.open_readonly(tmp_path / "w.duckdb") as con:
        sources = con.execute("select path, status, reason from sources order by path").fetchall()
    (failed,) = [source for source in sources if source[1] == "failed"]
    assert failed[0].endswith("05.log")
    assert "died twice" in failed[2]
    assert [source[1] for source in sources].count("used") == 11


def poisoned(where: shards.Kitchen, unit: units.Unit) -> str:
    """Reading that ends the process at one file."""
    if any(span.item.path.endswith("05.log") for span in unit.spans):
        os.kill(os.getpid(), signal.SIGKILL)
    return read(where, unit)


def test_a_bucket_holds_what_a_folder_holds(
    bucket: str, logs: Path, here: dict[str, list[tuple]], tmp_path: Path
) -> None:
    """Shards in S3 make the same warehouse, at once and later, and a second run reads nothing."""
    store = f"{bucket}/{tmp_path.name}"
    ingest(logs, tmp_path / "one.duckdb", Where(1), store)
    pipeline.add_shards(store, tmp_path / "two.duckdb", Site(timezone="UTC"), talk=QUIET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "read_unit", lambda *_: pytest.fail("read again"))
        ingest(logs, tmp_path / "three.duckdb", Where(1), store)

    assert [content(tmp_path / f"{name}.duckdb") for name in ("one", "two", "three")] == [here] * 3


def test_shards_of_other_signatures_are_refused(tmp_path: Path) -> None:
    """A store says with what it was filled; one that was never filled says that."""
    store = open_store(tmp_path / "shards")
    with pytest.raises(InputError, match="holds no shards"):
        pipeline.add_shards(str(tmp_path / "shards"), tmp_path / "w.duckdb", Site(), talk=QUIET)
    store.put("manifest.json", b'{"knowledge": "0", "version": "9.9", "units": []}')
    with pytest.raises(UsageError, match=r"version 9\.9"):
        pipeline.add_shards(str(tmp_path / "shards"), tmp_path / "w.duckdb", Site(), talk=QUIET)
    store.put("manifest.json", b"{")
    with pytest.raises(UsageError, match="damaged"):
        pipeline.add_shards(str(tmp_path / "shards"), tmp_path / "w.duckdb", Site(), talk=QUIET)
