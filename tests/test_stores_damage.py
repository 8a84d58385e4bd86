"""A store in which shards are damaged or missing is mended by reading, and told where there is nothing to read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from incidentlab import pipeline, units, warehouse
from incidentlab.configuration import Site
from incidentlab.errors import InputError
from incidentlab.executors import Where
from incidentlab.stores import Store, open_store
from incidentlab.terminal import Talk

QUIET = Talk(verbosity=-1, shows_progress=False)
XID = "Mar  5 14:03:22 gpu{:04d} kernel: [412.000001] NVRM: Xid (PCI:0000:1b:00): 79, pid=45, lost\n"
HARM: dict[str, Callable[[bytes], bytes | None]] = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda _: b"",
    "flipped": lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    "another": lambda _: b"PAR1 is no shard PAR1",
    "missing": lambda _: None,
}


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of which each is a unit of work."""
    monkeypatch.setattr(units, "UNIT_FILES", 1)
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.log").write_text(XID.format(number))
    return folder


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store of each kind lies."""
    if request.param == "folder":
        return str(tmp_path / "shards")
    return f"{request.getfixturevalue('bucket')}/{tmp_path.name}"


def filled(logs: Path, place: str) -> list[tuple]:
    """Read the logs with a store into a new warehouse; its events."""
    target = logs.parent / "filled.duckdb"
    target.unlink(missing_ok=True)
    pipeline.add_to_warehouse([str(logs)], target, Site(timezone="UTC"), where=Where(1), talk=QUIET, store=place)
    return events(target)


def events(target: Path) -> list[tuple]:
    """The events of a warehouse."""
    with warehouse.open_readonly(target) as con:
        return con.execute("select node, ts, event_id from events order by node").fetchall()


def harm(store: Store, table: str, how: str) -> str:
    """Damage one shard of a table; its name."""
    name = next(name for name in store.names() if name.startswith(f"{table}/"))
    data = HARM[how](store.get(name))
    if data is None:
        store.delete(name)
    else:
        store.put(name, data)
    return name


@pytest.mark.parametrize("table", ["parts", "events"])
@pytest.mark.parametrize("how", HARM)
def test_what_is_damaged_is_read_again(logs: Path, place: str, table: str, how: str) -> None:
    """A second ingest reads the one unit whose shard is damaged; then the store is as it was and serves others."""
    expected = filled(logs, place)
    store = open_store(place)
    before = {name: store.get(name) for name in store.names()}
    harm(store, table, how)
    read = list[str]()
    with pytest.MonkeyPatch.context() as patch:
        reads(patch, read)
        assert filled(logs, place) == expected
        assert filled(logs, place) == expected

    assert len(read) == 1
    assert {name: store.get(name) for name in store.names()} == before
    pipeline.add_shards(place, logs.parent / "third.duckdb", Site(timezone="UTC"), talk=QUIET)
    assert events(logs.parent / "third.duckdb") == expected


def reads(patch: pytest.MonkeyPatch, read: list[str]) -> None:
    """Have the keys of units noted as they are read."""
    whole = pipeline.shards.read_unit

    def noted(where: object, unit: units.Unit) -> str:
        read.append(unit.key)
        return whole(where, unit)

    patch.setattr(pipeline.shards, "read_unit", noted)


@pytest.mark.parametrize("table", ["parts", "events"])
@pytest.mark.parametrize("how", HARM)
def test_who_only_takes_shards_is_told_which_one_is_damaged(logs: Path, place: str, table: str, how: str) -> None:
    """One line names it and how it is mended; no warehouse is made, and nothing is taken from the store."""
    filled(logs, place)
    store = open_store(place)
    name = harm(store, table, how)
    before = store.names()

    with pytest.raises(InputError) as caught:
        pipeline.add_shards(place, logs.parent / "third.duckdb", Site(), talk=QUIET)

    where, told = (name.rpartition("-")[0], "-*.parquet") if (table, how) == ("parts", "missing") else (name, "")
    assert str(caught.value) == (
        f"{place}/{where}{told}: is damaged or missing (1 of 3 units must be read again); "
        f"mend it with: ingest PATH... --shards {place}"
    )
    assert store.names() == before
    assert not (logs.parent / "third.duckdb").exists()


def test_a_damaged_account_beside_a_whole_one_is_taken_away(logs: Path, place: str) -> None:
    """Machines may write one unit in different bytes: as long as one account of it is whole, it is not read again."""
    expected = filled(logs, place)
    store = open_store(place)
    whole = [name for name in store.names() if name.startswith("parts/")]
    store.put(f"{whole[0].rpartition('-')[0]}-{'0' * 16}.parquet", b"no shard")
    with pytest.MonkeyPatch.context() as patch:
        reads(patch, read := list[str]())
        assert filled(logs, place) == expected

    assert read == []
    assert [name for name in store.names() if name.startswith("parts/")] == whole
