"""The edges of what is read from folders and archives: dots, holes, headers, times and ends."""

import io
import tarfile

import pytest
from test_discover import info, names, packed, partly, unpacked

from incidentlab import discover
from incidentlab.codecs import open_stream
from incidentlab.discover import Input


def test_a_member_that_begins_with_a_dot_and_a_slash_is_not_hidden():
    """`tar cf logs.tar .` names every file so; only a name that itself begins with a dot is hidden."""
    found = unpacked(packed([(info("./a/./x.log"), b"x\n"), (info("./.old/y.log"), b"y\n")]))
    assert found == {"logs.tar!./a/./x.log": b"x\n", "logs.tar!./.old/y.log": "hidden"}


def test_a_pattern_that_names_a_hidden_folder_means_it(tmp_path):
    """Stars do not cross hidden folders, but one that is spelt out is wanted."""
    (tmp_path / ".old").mkdir()
    (tmp_path / ".old" / "x.log").write_text("x\n")
    (tmp_path / "y.log").write_text("y\n")
    assert names(discover.find_inputs([str(tmp_path / "**" / ".old" / "*.log")])[0]) == ["x.log"]


def test_of_a_file_and_its_link_the_first_by_name_is_shown(tmp_path):
    """One file under two names is read once, under the name that comes first, whichever is the link."""
    (tmp_path / "b.log").write_text("b\n")
    (tmp_path / "a.log").symlink_to(tmp_path / "b.log")
    assert names(discover.find_inputs([str(tmp_path)])[0]) == ["a.log"]


def test_a_small_file_with_holes_is_read(tmp_path):
    """A megabyte of which little is stored bursts nothing."""
    with (tmp_path / "x.log").open("wb") as file:
        file.truncate(1 << 20)
    assert names(discover.find_inputs([str(tmp_path)])[0]) == ["x.log"]


def test_folders_in_an_archive_are_neither_read_nor_refused():
    """A folder has no content of which anything could be said."""
    assert unpacked(packed([(info("a", type=tarfile.DIRTYPE), b""), (info("a/x.log"), b"x\n")])) == {
        "logs.tar!a/x.log": b"x\n"
    }


def test_a_member_has_the_time_of_its_header():
    """Years of undated lines are told by it, to the second."""
    data = packed([(info("x.log", mtime=1_772_719_402), b"x\n")])
    ((member, _),) = discover.members(Input("logs.tar", None, len(data), 0), open_stream(io.BytesIO(data)))
    assert member.modified_ns == 1_772_719_402_000_000_000
    assert member.modified_ts.isoformat() == "2026-03-05T14:03:22"


@pytest.mark.parametrize(("size", "limit"), [(discover.MAX_HEADER_BYTES + 1, True), (discover.MAX_HEADER_BYTES, False)])
def test_a_header_is_no_longer_than_a_megabyte(size, limit):
    """A longer name is no archiver's; one of just a megabyte is only missing here."""
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, size
    _, error = partly(header.tobuf() + bytes(10_240))
    assert (error == f"a header of {size} bytes") == limit


def test_an_archive_without_its_end_says_so():
    """An archive that stops right behind a member looks whole, but its closing blocks are missing."""
    data = packed([(info("x.log"), b"x" * 512)], "w")[:1024]
    assert partly(data) == ({"logs.tar!x.log": (b"x" * 512, None)}, "the end of the archive is missing")


@pytest.mark.parametrize("is_bomb", [False, True])
def test_a_member_of_holes_is_read_if_it_is_small(is_bomb):
    """GNU tar stores a sparse file as a map and its data; a map that stands for more than a bomb's size is refused."""
    size = discover.BOMB_BYTES + 1 if is_bomb else 4096
    sparse = {"major": "1", "minor": "0", "name": "x.log", "realsize": str(size)}
    header = info("GNUSparseFile.0/x.log", pax_headers={f"GNU.sparse.{key}": value for key, value in sparse.items()})
    found = unpacked(packed([(header, b"1\n4094\n2\n".ljust(512, b"\0") + b"x\n")], "w"))

    assert found == {"logs.tar!x.log": "almost nothing but holes, which no log is" if is_bomb else bytes(4094) + b"x\n"}
