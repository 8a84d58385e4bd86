"""Nothing that stands in a log can steer a terminal, a spreadsheet or a table."""

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest

from incidentlab import formats
from incidentlab.model import SCHEMA_VERSION
from incidentlab.neutral import neutral
from incidentlab.terminal import Talk, size

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202egpj.exe\u200b\r\n|=cmd()"
"""A title escape, a C1 colour escape, a right-to-left override, a zero-width space, a new line, and a formula."""

FRAME = pl.DataFrame(
    {
        "text": [HOSTILE, "=1+1", None],
        "ts": [datetime(2026, 3, 5, 14, 3, 22, 500_000, tzinfo=UTC), None, datetime(2026, 3, 5, tzinfo=UTC)],
        "hours": [3.0945, float("nan"), 1234.5],
        "count": [-1, None, 419],
    }
)


def is_unsafe(character: str) -> bool:
    """Whether a character is a control character other than a line feed, or turns or hides text."""
    return character != "\n" and (not character.isprintable() or "\u202a" <= character <= "\u202e")


@pytest.mark.parametrize("name", [name for name in formats.WRITERS if name != "parquet"])
def test_no_format_lets_control_characters_through(name: str) -> None:
    """Whatever text format is asked for, no control or bidirectional character of a cell reaches the output."""
    assert [c for c in formats.WRITERS[name](FRAME) if is_unsafe(c) and c != "\t"] == []


def test_neutral_spells_out() -> None:
    """What is taken out is still readable."""
    assert neutral("\x1b[31m\u202eä\n") == r"\x1b[31m\u202eä\n"
    assert neutral("a\nb", keep="\n") == "a\nb"


def test_json_is_lossless() -> None:
    """JSON gives every character back, times in UTC, and null for what is absent or no number."""
    document = json.loads(formats.as_json(FRAME))

    assert document["schema_version"] == SCHEMA_VERSION
    assert document["rows"] == [
        {"text": HOSTILE, "ts": "2026-03-05T14:03:22.500000Z", "hours": 3.0945, "count": -1},
        {"text": "=1+1", "ts": None, "hours": None, "count": None},
        {"text": None, "ts": "2026-03-05T00:00:00Z", "hours": 1234.5, "count": 419},
    ]


def test_jsonl_is_one_object_a_line() -> None:
    """Each line is a document of its own."""
    assert [json.loads(line)["count"] for line in formats.as_jsonl(FRAME).splitlines()] == [-1, None, 419]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a"])
def test_csv_runs_no_formula(text: str) -> None:
    """A text that a spreadsheet would run begins with an apostrophe; a negative number stays a number."""
    rows = list(csv.reader(io.StringIO(formats.as_csv(pl.DataFrame({"a": [text], "b": [-1]})))))

    assert rows == [["a", "b"], [f"'{text}", "-1"]]


def test_nested_values_are_json_in_a_cell() -> None:
    """Lists and structures survive in formats that have no place for them."""
    frame = pl.DataFrame({"a": [[1, 2]], "b": [{"x": "y"}], "c": [Decimal("1.50")]})

    assert formats.as_csv(frame) == 'a,b,c\n"[1, 2]","{""x"": ""y""}",1.5\n'


def test_table_aligns_numbers_right() -> None:
    """Numbers end in one column, absent values are a dash, thousands are separated."""
    assert formats.as_table(FRAME.select("hours", "count")) == (
        "  hours count\n"
        "------- -----\n"
        "  3.095    -1\n"
        "      -     -\n"
        "1,234.5   419\n"
    )  # fmt: skip


def test_table_fits_a_terminal() -> None:
    """On a terminal wide cells are cut, and columns that do not fit are named instead of wrapped."""
    frame = pl.DataFrame({"first": ["x" * 60], "second": ["y" * 30], "third": ["z" * 30]})

    lines = formats.as_table(frame, width=80).splitlines()

    assert max(map(len, lines)) <= 80
    assert lines[2] == "x" * 46 + ".. " + "y" * 30
    assert lines[-1] == "(no room for 1 column: third)"


def test_sentences_stand_below_their_rows() -> None:
    """Where the terminal has no room for all columns, the sentences are kept, and the next text is cut to fit."""
    frame = pl.DataFrame(
        {
            "node": ["a01", "a02"],
            "why": ["the GPU fell off the bus, and nobody knows why", None],
            "part": ["p" * 40, "q"],
        }
    )

    assert formats.as_table(frame, width=30) == (
        "node part\n"
        "---- -------------------------\n"
        "a01  ppppppppppppppppppppppp..\n"
        "    the GPU fell off the bus,\n"
        "    and nobody knows why\n"
        "a02  q\n"
    )
    assert formats.as_table(frame, width=100) == formats.as_table(frame)


def test_markdown_keeps_its_columns() -> None:
    """A bar in a cell does not open another column."""
    assert formats.as_markdown(pl.DataFrame({"a": ["x|y"], "n": [1]})) == "| a | n |\n| --- | ---: |\n| x\\|y | 1 |\n"


def test_markdown_is_inert() -> None:
    """Elements, links, code and escapes of a log, also in a column's name, are shown as they stand."""
    frame = pl.DataFrame({"<b>": ["<img src=x onerror=alert(1)> [x](javascript:1) https://x.y `c` a\\b"]})
    head, _, row = formats.as_markdown(frame).splitlines()

    assert head == "| \\<b> |"
    assert row == "| \\<img src=x onerror=alert(1)> \\[x](javascript:1) https\\://x.y \\`c\\` a\\\\b |"


def test_parquet_keeps_types() -> None:
    """Parquet is the frame itself."""
    assert pl.read_parquet(io.BytesIO(formats.as_parquet(FRAME))).equals(FRAME)


@pytest.mark.parametrize(("count", "text"), [(999, "999 B"), (41_200_000_000, "41.2 GB"), (5e15, "5,000.0 TB")])
def test_size(count: float, text: str) -> None:
    """Bytes have a unit of a thousand."""
    assert size(count) == text


def test_progress_speaks_every_ten_seconds(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from a terminal progress is a plain line each ten seconds: how much, how fast, how long to go."""
    clock = iter([0.0, 4.0, 10.0, 19.0])
    monkeypatch.setattr("incidentlab.terminal.time.monotonic", lambda: next(clock))

    with Talk().progress("reading", 4_000_000) as advance:
        for _ in range(3):
            advance(1_000_000)

    assert capsys.readouterr().err == "reading   2.0 MB of 4.0 MB, 200.0 kB/s, 10 s left\n"


def test_no_progress_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """Who wants no progress gets none."""
    with Talk(shows_progress=False).progress("reading", 1) as advance:
        advance(1)

    assert capsys.readouterr().err == ""
