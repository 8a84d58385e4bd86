"""Paths, folders, globs and archives become inputs, and nothing odd goes unsaid."""

import io
import os
import socket
import tarfile

import pytest

from incidentlab import discover
from incidentlab.codecs import open_stream
from incidentlab.discover import Input, Refused
from incidentlab.errors import InputError


@pytest.fixture
def logs(tmp_path):
    """A folder with two logs, one of them deeper."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "b.log").write_text("b\n")
    (tmp_path / "deep" / "er" / "a.log").write_text("a\n")
    return tmp_path


def names(inputs):
    """The last parts of the shown paths."""
    return [item.path.rsplit("/", 1)[-1] for item in inputs]


def test_a_folder_gives_all_its_files_sorted(logs):
    """Files are found at any depth, in the order of their paths."""
    inputs, refused = discover.find_inputs([str(logs)])
    assert (names(inputs), refused) == (["b.log", "a.log"], [])


def test_a_file_named_twice_is_found_once(logs):
    """The same file as itself, through its folder, a glob and a link is one input."""
    (logs / "z-link.log").symlink_to(logs / "b.log")
    inputs, _ = discover.find_inputs([str(logs / "b.log"), str(logs), str(logs / "*.log")])
    assert names(inputs) == ["b.log", "a.log"]


def test_a_glob_finds_files_at_any_depth(logs):
    """Two stars cross folders."""
    inputs, _ = discover.find_inputs([str(logs / "**" / "a*")])
    assert names(inputs) == ["a.log"]


def test_a_name_that_looks_like_a_glob_is_a_name_first(logs):
    """Brackets in a file's own name are not a pattern."""
    (logs / "gpu[1-2].log").write_text("x\n")
    inputs, _ = discover.find_inputs([str(logs / "gpu[1-2].log")])
    assert names(inputs) == ["gpu[1-2].log"]


@pytest.mark.parametrize("missing", ["nothing.log", "*.nothing"])
def test_a_missing_path_is_an_error_that_names_it(logs, missing):
    """A typing error must not look like a healthy cluster."""
    with pytest.raises(InputError, match="no such file") as caught:
        discover.find_inputs([str(logs / missing)])
    assert missing in str(caught.value)


def test_hidden_files_are_refused_with_a_reason(logs):
    """A hidden folder is named once and not entered."""
    (logs / ".git").mkdir()
    (logs / ".git" / "HEAD").write_text("x")
    inputs, refused = discover.find_inputs([str(logs)])
    assert names(inputs) == ["b.log", "a.log"]
    assert refused == [Refused(str(logs / ".git"), "hidden")]


def test_sockets_pipes_and_dangling_links_are_refused(logs):
    """What is no file is not opened, for opening it could block for ever."""
    os.mkfifo(logs / "pipe")
    (logs / "gone").symlink_to(logs / "nowhere")
    (logs / "loop").symlink_to(logs / "loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(logs / "sock"))
        _, refused = discover.find_inputs([str(logs)])
    assert {item.path.rsplit("/", 1)[-1]: item.reason for item in refused} == {
        "pipe": "not a regular file",
        "sock": "not a regular file",
        "gone": "cannot be read: No such file or directory",
        "loop": "cannot be read: Too many levels of symbolic links",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["b.log", "deep"])
def test_what_is_shut_is_refused(logs, name):
    """Permissions of files and folders are told, not raised."""
    (logs / name).chmod(0)
    _, refused = discover.find_inputs([str(logs)])
    (logs / name).chmod(0o700)
    assert refused == [Refused(str(logs / name), "cannot be read: Permission denied")]


def test_links_to_folders_are_not_followed(logs):
    """A link back to its own folder would never end."""
    (logs / "deep" / "loop").symlink_to(logs)
    inputs, refused = discover.find_inputs([str(logs)])
    assert names(inputs) == ["b.log", "a.log"]
    assert [item.reason for item in refused] == ["link to a folder"]


def test_a_very_deep_folder_is_walked(tmp_path):
    """Depth is limited by the file system alone."""
    folder = tmp_path
    for _ in range(500):
        folder /= "d"
    folder.mkdir(parents=True)
    (folder / "x.log").write_text("x\n")
    assert names(discover.find_inputs([str(tmp_path)])[0]) == ["x.log"]


def test_a_name_that_is_no_utf8_is_shown(tmp_path):
    """Any bytes that a file system allows can be printed and stored."""
    (tmp_path / os.fsdecode(b"caf\xe9.log")).write_text("x\n")
    inputs, _ = discover.find_inputs([str(tmp_path)])
    assert names(inputs) == ["caf\\xe9.log"]
    assert inputs[0].file.read_text() == "x\n"


def packed(members, mode="w:gz"):
    """A tar archive of (TarInfo, content) pairs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def unpacked(data):
    """The members that discover finds in an archive: name -> content or reason."""
    source = Input("logs.tar", None, len(data), 0)
    found = {}
    for member in discover.members(source, open_stream(io.BytesIO(data))):
        if isinstance(member, Refused):
            found[member.path] = member.reason
        else:
            found[member[0].path] = b"".join(member[1].blocks)
    return found


def info(name, **attributes):
    """The header of one member."""
    header = tarfile.TarInfo(name)
    for key, value in attributes.items():
        setattr(header, key, value)
    return header


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_members_of_an_archive_are_streamed(mode):
    """Each file of an archive is an input of its own, whatever the archive is packed with."""
    data = packed([(info("a/x.log"), b"x\n"), (info("y.log"), b"y\n")], mode)
    assert discover.is_archive(open_stream(io.BytesIO(data)).peek(512))
    assert unpacked(data) == {"logs.tar!a/x.log": b"x\n", "logs.tar!y.log": b"y\n"}


def test_links_devices_and_hidden_members_are_refused():
    """An archive from a stranger cannot point to the reader's own files."""
    found = unpacked(
        packed(
            [
                (info("passwd", type=tarfile.SYMTYPE, linkname="/etc/passwd"), b""),
                (info("hard", type=tarfile.LNKTYPE, linkname="../x"), b""),
                (info("null", type=tarfile.CHRTYPE), b""),
                (info(".ssh/id"), b"secret"),
                (info("../../up.log"), b"up\n"),
            ]
        )
    )
    assert found == {
        "logs.tar!passwd": "a link or device in an archive",
        "logs.tar!hard": "a link or device in an archive",
        "logs.tar!null": "a link or device in an archive",
        "logs.tar!.ssh/id": "hidden",
        "logs.tar!../../up.log": b"up\n",
    }


def test_members_of_one_name_are_told_apart():
    """A tar file that was appended to holds a name twice; neither hides the other."""
    found = unpacked(packed([(info("x.log"), b"old\n"), (info("x.log"), b"new\n")]))
    assert found == {"logs.tar!x.log": b"old\n", "logs.tar!x.log (2)": b"new\n"}


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2)])
def test_a_name_that_looks_like_a_repetition_hides_nothing(order):
    """A member may be called as a second one of another name is shown: each still has its own path."""
    members = [("x.log", b"1"), ("x.log", b"2"), ("x.log (2)", b"3"), ("x.log (2)", b"4")]
    found = unpacked(packed([(info(members[place][0]), members[place][1]) for place in order]))
    assert sorted(found.values()) == [b"1", b"2", b"3", b"4"]


def test_names_that_look_alike_when_shown_are_told_apart(tmp_path):
    """Bytes that are no text, a name that spells such bytes out, and one that looks like a member stay three files."""
    for name in (b"a\xff.log", b"a\\xff.log", b"a\\x5cxff.log", b"logs.tar!x.log", b"back\\slash.log"):
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    inputs, _ = discover.find_inputs([str(tmp_path)])
    assert names(inputs) == [
        r"a\x5cx5cxff.log",
        r"a\x5cxff.log",
        r"a\xff.log",
        r"back\slash.log",
        r"logs.tar\x21x.log",
    ]
    assert len({item.file.read_bytes() for item in inputs}) == 5


def test_an_archive_of_too_many_members_is_cut_and_says_so(monkeypatch):
    """A limit that was reached is told like damage, not passed over."""
    monkeypatch.setattr(discover, "MAX_MEMBERS", 1)
    found, error = partly(packed([(info("x.log"), b"x\n"), (info("y.log"), b"y\n")]))
    assert found == {"logs.tar!x.log": (b"x\n", None)}
    assert error == "only its first 1 members were read"


def test_a_glob_does_not_follow_links_in_circles(logs):
    """Two links back would be followed 2 to the 40th ways; hidden folders are not crossed either."""
    for name in ("one", "two"):
        (logs / "deep" / name).symlink_to(logs)
    (logs / ".old").mkdir()
    (logs / ".old" / "a.log").write_text("old\n")
    inputs, _ = discover.find_inputs([str(logs / "**" / "a.log")])
    assert names(inputs) == ["a.log"]


def test_a_pattern_that_cannot_be_is_an_error(logs):
    """Two stars stand alone between slashes."""
    with pytest.raises(InputError, match="is no pattern"):
        discover.find_inputs([str(logs / "**" / "x**")])


def test_a_file_of_holes_is_refused(tmp_path):
    """/var/log/lastlog claims hundreds of gigabytes and has a few kilobytes."""
    with (tmp_path / "lastlog").open("wb") as file:
        file.truncate(1 << 40)
    _, refused = discover.find_inputs([str(tmp_path)])
    assert [item.reason for item in refused] == ["almost nothing but holes, which no log is"]


@pytest.mark.parametrize("seconds", [10**13, -(10**13)])
def test_a_time_beyond_the_calendar_is_none(seconds):
    """A file system and an archive may hold any number."""
    assert Input("x", None, 0, seconds * 10**9).modified_ts is None


@pytest.mark.parametrize("mtime", ["nan", "inf", "1e30"])
def test_a_member_of_any_time_is_read(mtime):
    """A header that gives no sensible time does not hide its file."""
    assert unpacked(packed([(info("x.log", pax_headers={"mtime": mtime}), b"x\n")])) == {"logs.tar!x.log": b"x\n"}


def test_archives_that_follow_each_other_are_one():
    """`cat a.tar b.tar` loses no file."""
    first, second = packed([(info("x.log"), b"x\n")], "w"), packed([(info("y.log"), b"y\n")], "w")
    assert unpacked(first + second) == {"logs.tar!x.log": b"x\n", "logs.tar!y.log": b"y\n"}


def partly(data):
    """The members before an archive's damage is raised, with why the last one ended early, and the error."""
    found = {}
    with pytest.raises(tarfile.TarError) as caught:  # noqa: PT012 - what was found before it matters
        for member, stream in discover.members(Input("logs.tar", None, len(data), 0), open_stream(io.BytesIO(data))):
            found[member.path] = (b"".join(stream.blocks), stream.cut)
    return found, str(caught.value)


def test_members_behind_a_damaged_header_are_found():
    """One broken block costs one file, and is told."""
    data = bytearray(packed([(info(name), name.encode()) for name in ("a", "b", "c")], "w"))
    data[1024] ^= 0xFF
    found, error = partly(bytes(data))
    assert found == {"logs.tar!a": (b"a", None), "logs.tar!c": (b"c", None)}
    assert error == "damaged: 2 blocks belong to no member"


def test_a_member_that_is_cut_gives_all_that_is_there():
    """The bytes before the end of the archive are read, and the cut is told."""
    data = packed([(info("x.log"), b"x\n" * 5000)], "w")
    found, _ = partly(data[: 512 + 4001])
    assert found == {"logs.tar!x.log": ((b"x\n" * 5000)[:4001], "cut, because the archive ends within it")}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("size", "found", "error"),
    [
        (1 << 60, ["logs.tar!a", "logs.tar!b"], "unexpected end of data"),
        ((1 << 88) - 1, ["logs.tar!a", "logs.tar!c"], "damaged: 2 blocks belong to no member"),
        (-600, ["logs.tar!a", "logs.tar!c"], "damaged: 2 blocks belong to no member"),
    ],
)
def test_a_member_of_absurd_size_is_damage(size, found, error):
    """An archive whose header promises more bytes than any disk holds is read to its end and no further."""
    data = packed([(info(name), name.encode()) for name in ("a", "b", "c")], "w")
    odd = info("b", size=size).tobuf(tarfile.GNU_FORMAT)
    members, said = partly(data[:1024] + odd + data[1536:])
    assert (list(members), said) == (found, error)


def test_a_header_that_would_fill_the_memory_is_not_read():
    """A name of a gigabyte is an attack."""
    header = info("././@PaxHeader", type=tarfile.XHDTYPE, size=1 << 30).tobuf()
    _, error = partly(header + bytes(10_240))
    assert error == "a header of 1073741824 bytes"
