"""A name appears whole or not at all, in a folder and in a bucket alike."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from incidentlab import stores
from incidentlab.errors import OutageError, UsageError
from incidentlab.stores import Store, open_store


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each kind."""
    if request.param == "folder":
        return open_store(tmp_path / "shared" / "shards")
    return open_store(f"{request.getfixturevalue('bucket')}/{tmp_path.name}")


def test_what_was_put_is_there(store: Store) -> None:
    """Names come sorted, all or those below a folder; a name that is put again has its last content."""
    store.put("sources/b.parquet", b"old")
    store.put("sources/b.parquet", b"new")
    store.put("events/day=2026-03-05/a.parquet", bytes(range(256)))

    assert store.names() == ["events/day=2026-03-05/a.parquet", "sources/b.parquet"]
    assert store.names("sources") == ["sources/b.parquet"]
    assert store.names("nothing") == []
    assert store.get("sources/b.parquet") == b"new"
    assert store.get("events/day=2026-03-05/a.parquet") == bytes(range(256))


def test_a_large_object_is_whole(store: Store) -> None:
    """Beyond the size at which S3 clients like to cut, the content is the same."""
    data = os.urandom(1 << 20) * 12

    store.put("large", data)

    assert store.get("large") == data


def test_what_was_deleted_is_gone(store: Store) -> None:
    """A second time does no harm; to get it is an error of its own."""
    store.put("a", b"1")
    store.delete("a")
    store.delete("a")

    assert store.names() == []
    with pytest.raises(FileNotFoundError):
        store.get("a")


def test_files_with_the_content(store: Store, tmp_path: Path) -> None:
    """What is fetched can be read as files, in the order that was asked for."""
    for name in ("events/a", "events/b", "sources/a"):
        store.put(name, name.encode())

    files = store.fetch(["sources/a", "events/b"], tmp_path / "copies")

    assert [file.read_bytes() for file in files] == [b"sources/a", b"events/b"]


def test_a_store_can_be_sent_to_another_process(store: Store) -> None:
    """It opens itself again there, and carries no keys."""
    store.put("a", b"1")
    packed = pickle.dumps(store)

    assert pickle.loads(packed).get("a") == b"1"  # noqa: S301 - it is ours
    assert b"nothing" not in packed


def test_a_put_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before is as it was, and no half file lies about."""
    store = open_store(tmp_path)
    store.put("a", b"old")
    monkeypatch.setattr(os, "fsync", broken(OSError(28, "No space left on device")))

    with pytest.raises(OSError, match="No space left"):
        store.put("a", b"new")

    assert [file.name for file in tmp_path.iterdir()] == ["a"]
    assert store.get("a") == b"old"


def broken(error: Exception) -> Callable[..., None]:
    """A function that raises."""

    def function(*_: object) -> None:
        raise error

    return function


def test_a_put_that_was_killed_is_no_name(tmp_path: Path) -> None:
    """What a killed process was writing is not listed."""
    kill = (
        "import os, signal; from incidentlab import stores; "
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL); stores.open_store({!r}).put('a/b', b'1')"
    )
    done = subprocess.run([sys.executable, "-c", kill.format(str(tmp_path))], check=False)

    assert done.returncode == -9
    assert len(list((tmp_path / "a").iterdir())) == 1
    assert open_store(tmp_path).names() == []


def test_no_such_bucket(bucket: str) -> None:
    """A wrong name is a wrong argument, told in one line."""
    with pytest.raises(UsageError, match=r"^s3://nowhere/logs: there is no such bucket$"):
        open_store(f"{bucket.replace('shards', 'nowhere')}/logs")


@pytest.mark.parametrize(
    ("url", "fault"),
    [("s3://", "names no bucket"), ("s3:///logs", "names no bucket"), ("ftp://a/b", "a store is a folder or s3://")],
)
def test_no_store(url: str, fault: str) -> None:
    """What is neither a folder nor a bucket is a wrong argument."""
    with pytest.raises(UsageError, match=fault):
        open_store(url)


def test_a_file_is_no_store(tmp_path: Path) -> None:
    """Shards cannot lie in a file."""
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match="cannot hold shards: File exists"):
        open_store(tmp_path / "file")


@pytest.mark.parametrize(("name", "kind"), [("PermissionDeniedError", UsageError), ("GenericError", OutageError)])
def test_a_refusal_and_an_outage_are_told_apart(name: str, kind: type[Exception]) -> None:
    """Keys without rights are for the user to mend; a server that fails is not."""
    exceptions = pytest.importorskip("obstore.exceptions")

    with pytest.raises(kind, match=r"^s3://a/b: "), stores._said("s3://a/b"):
        raise getattr(exceptions, name)("one\ntwo")


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without obstore, the way to it is said."""
    monkeypatch.setitem(sys.modules, "obstore", None)

    with pytest.raises(UsageError, match=r"pip install 'incidentlab\[s3\]'"):
        open_store("s3://shards/logs")
