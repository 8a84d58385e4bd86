"""Every parser keeps its contract, and accounting text of every kind becomes records or is reported."""

from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given, settings
from hypothesis import strategies as st

from incidentlab import hosts
from incidentlab.model import CHANNELS, INTAKE, Row
from incidentlab.parsers import HEAD_BYTES, Parser, Sample, Unparsed, load_parsers, recognise, slurm_table, slurm_values

PARSERS = {parser.name: parser for parser in load_parsers()}
SAMPLES = [
    pytest.param(parser, sample, id=f"{parser.name}-{place}")
    for parser in load_parsers()
    for place, sample in enumerate(parser.samples, 1)
]
TABLES = {table.name: {*table.names, "line_count"} for table in INTAKE}
CORPUS = Path(__file__).parents[1].parent / "shared" / "corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real logs is not here")

HEADER = "JobID|JobName|State|ExitCode|Start|End|Comment"


def parsed(parser: Parser, text: str) -> list[Row | Unparsed]:
    """What the parser makes of a text."""
    return list(parser.parse(enumerate(text.splitlines(), 1)))


def accounted(text: str) -> list[dict]:
    """The values of the rows that sacct's parser makes of a text without a flaw."""
    results = parsed(PARSERS["sacct"], text)
    assert not [result for result in results if isinstance(result, Unparsed)]
    return [result.values for result in results]


@pytest.mark.parametrize("parser", load_parsers(), ids=lambda parser: parser.name)
def test_a_parser_has_a_channel_and_samples(parser: Parser) -> None:
    """Each parser names a known channel and proves itself with at least one sample."""
    assert parser.channel in CHANNELS
    assert parser.samples


@pytest.mark.parametrize(("parser", "sample"), SAMPLES)
def test_only_its_own_parser_recognises_a_sample(parser: Parser, sample: Sample) -> None:
    """A sample is recognised by the parser that ships it and by no other."""
    head = sample.text.encode()
    assert [known.name for known in load_parsers() if known.recognise(head)] == [parser.name]
    assert recognise(head) is parser


@pytest.mark.parametrize(("parser", "sample"), SAMPLES)
def test_a_sample_becomes_its_rows(parser: Parser, sample: Sample) -> None:
    """A sample becomes exactly its rows, equal in every value that the sample names."""
    results = parsed(parser, sample.text)
    assert len(results) == len(sample.rows)
    for result, expected in zip(results, sample.rows, strict=True):
        assert type(result) is type(expected)
        if isinstance(expected, Row):
            assert {name: result.values[name] for name in expected.values} == expected.values


@pytest.mark.parametrize(("parser", "sample"), SAMPLES)
def test_rows_have_columns_of_their_table(parser: Parser, sample: Sample) -> None:
    """A row names columns of its table only, and the line it begins on."""
    for row in parsed(parser, sample.text):
        assert set(row.values) <= TABLES[row.table]
        assert row.values["line_no"] >= 1


@pytest.mark.parametrize(("parser", "sample"), SAMPLES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_damage_is_reported_and_never_raises(parser: Parser, sample: Sample, data: st.DataObject) -> None:
    """A text cut and overwritten at random still parses, and no line is told twice."""
    noise = data.draw(st.text(max_size=30))
    start = data.draw(st.integers(0, len(sample.text)))
    stop = data.draw(st.integers(start, min(len(sample.text), start + 60)))
    lines = (sample.text[:start] + noise + sample.text[stop:]).split("\n")
    told = Counter()
    for result in parser.parse(enumerate(lines, 1)):
        if isinstance(result, Unparsed):
            told[result.line_no] += 1
        elif result.table == "job_records":
            told.update(range(result.values["line_no"], result.values["line_no"] + result.values.get("line_count", 1)))
    assert all(count == 1 for count in told.values())
    assert all(1 <= line_no <= len(lines) for line_no in told)


def test_recognise_needs_a_known_head() -> None:
    """Prose, squeue's table and an empty file are no structured source."""
    for text in ("", "JobID is a word\n", "JOBID|PARTITION|NAME|USER|STATE\n7|gpu|x|mia|RUNNING\n", '{"message": 3}\n'):
        assert recognise(text.encode()[:HEAD_BYTES]) is None


@pytest.mark.parametrize(
    ("cell", "local", "offset"),
    [
        ("2026-03-03T08:00:11", datetime.fromisoformat("2026-03-03T08:00:11"), None),
        ("2026-03-03T08:00:11+0100", datetime.fromisoformat("2026-03-03T08:00:11"), 3600),
        ("1772524811", datetime.fromisoformat("2026-03-03T08:00:11"), 0),
        ("Unknown", None, None),
        ("None", None, None),
    ],
)
def test_an_instant_is_read_as_written(cell: str, local: datetime | None, offset: int | None) -> None:
    """Local times stay local, a written offset is kept, epoch seconds are UTC, and words mean not set."""
    (values,) = accounted(f"{HEADER}\n7|x|FAILED|1:0|{cell}|Unknown|\n")
    assert (values["start_ts"], values["utc_offset_s"]) == (local, offset)


def test_times_on_both_sides_of_a_clock_change_become_utc() -> None:
    """02:30+02:00 and 02:10+01:00 are 40 minutes apart, which one offset for both could not say."""
    (values,) = accounted(f"{HEADER}\n7|x|FAILED|1:0|2026-10-25T02:30:00+0200|2026-10-25T02:10:00+0100|\n")
    assert values["start_ts"] == datetime.fromisoformat("2026-10-25T00:30:00")
    assert values["end_ts"] == datetime.fromisoformat("2026-10-25T01:10:00")
    assert values["utc_offset_s"] == 0


def test_times_without_a_date_are_reported() -> None:
    """SLURM_TIME_FORMAT=relative prints 16:16:09; the row is reported, since no instant can be made of it."""
    (result,) = parsed(PARSERS["sacct"], f"{HEADER}\n7|x|FAILED|1:0|16:16:09|16:18:00|\n")
    assert result == Unparsed(2, "start: not a time with its date: '16:16:09'")


@pytest.mark.parametrize("delimiter", ["|", "|#", ";", "\t", "~~"])
@pytest.mark.parametrize("closing", [False, True])
def test_any_delimiter_is_read(delimiter: str, closing: bool) -> None:
    """`--delimiter` may be several characters, and -p ends every line with one."""
    end = delimiter if closing else ""
    head, row = (delimiter.join(cells) + end for cells in (HEADER.split("|"), ["7", "x", "FAILED", "0:9", "", "", ""]))
    (values,) = accounted(f"{head}\n{row}\n")
    assert (values["job_id"], values["state"], values["exit_signal"]) == ("7", "FAILED", 9)


def test_a_delimiter_in_two_free_texts_is_mended() -> None:
    """Name and comment both hold the delimiter; the typed columns between them say where they end."""
    (values,) = accounted(f"{HEADER}\n7|a|FAILED|b|TIMEOUT|0:15|Unknown|Unknown|c|d\n")
    assert (values["name"], values["state"], values["comment"]) == ("a|FAILED|b", "TIMEOUT", "c|d")


def test_a_record_over_several_lines_is_joined() -> None:
    """A line end in the name or in the last column belongs to the record before it."""
    first, second = accounted(f"{HEADER}\n7|one\ntwo|FAILED|1:0|None|None|\n8|x|FAILED|1:0|None|None|c1\nc2 | c3\n")
    assert (first["line_no"], first["line_count"], first["name"]) == (2, 2, "one\ntwo")
    assert (second["line_no"], second["line_count"], second["comment"]) == (4, 2, "c1\nc2 | c3")


def test_a_cut_row_is_reported_and_the_next_one_read() -> None:
    """A row that ends early is one unparsed line and does not swallow its neighbour."""
    cut, whole = parsed(PARSERS["sacct"], f"{HEADER}\n7|x|FAIL\n8|y|FAILED|1:0|None|None|\n")
    assert cut == Unparsed(2, "3 cells for 7 columns")
    assert whole.values["job_id"] == "8"


def test_a_second_header_changes_the_columns() -> None:
    """Dumps that were put into one file are read each by its own header."""
    first, second = accounted(f"{HEADER}\n7|x|FAILED|1:0|None|None|\nState|JobID\nTIMEOUT|8\n")
    assert (first["job_id"], second["job_id"], second["state"]) == ("7", "8", "TIMEOUT")


@pytest.mark.parametrize(
    ("cell", "job_id", "step"),
    [
        ("88123", "88123", None),
        ("88123.extern", "88123", "extern"),
        ("88200_7.0", "88200_7", "0"),
        ("88200_[8-99%4]", "88200_[8-99%4]", None),
        ("88300+1.0", "88300+1", "0"),
        ("88123.0+1", "88123", "0+1"),
    ],
)
def test_ids_of_arrays_components_and_steps(cell: str, job_id: str, step: str | None) -> None:
    """Array task and component stay with the job, the step is apart."""
    assert slurm_values.job_and_step(cell) == (job_id, step)


@pytest.mark.parametrize(
    ("cell", "count"),
    [
        ("cpu=8,gres/gpu:h100=8,gres/gpu=8", 8),
        ("cpu=8,gres/gpu:a100=1,gres/gpu:h100=2", 3),
        ("cpu=8,gres/gpumem=4,gres/gpuutil=5", 0),
        ("", None),
    ],
)
def test_typed_and_untyped_gpus_are_not_added(cell: str, count: int | None) -> None:
    """`gres/gpu` is the sum already; without it the typed ones are summed; without resources nothing is known."""
    assert slurm_values.gpus(cell) == count


@pytest.mark.parametrize(
    ("cell", "seconds"), [("2-06:08:11", 194891), ("00:01:51", 111), ("01:31.654", 91), ("UNLIMITED", None)]
)
def test_durations(cell: str, seconds: int | None) -> None:
    """Days, hours and fractions count as Slurm prints them; words mean no limit."""
    assert slurm_values.duration(cell) == seconds


def test_a_hostile_host_list_is_not_expanded() -> None:
    """Brackets that stand for a thousand million hosts cost nothing."""
    assert slurm_values.nodes("n[1-99999],m[1-99999]-[1-99999]") == ("n[1-99999],m[1-99999]-[1-99999]",)


@pytest.mark.parametrize("columns", [200, 20_000])
def test_a_hostile_header_is_survived(columns: int) -> None:
    """A header of 200 columns is read, with its surplus mended; one of 20,000 is none."""
    text = "JobID|State|" + "|".join(f"c{place}" for place in range(columns - 3)) + "|Comment\n"
    results = parsed(PARSERS["sacct"], text + "7|FAILED|" + "|" * columns + "x\n")
    assert [result.values["comment"] for result in results] == (["|||x"] if columns == 200 else [])


def test_a_cell_cut_by_a_fixed_column_is_null() -> None:
    """A host list that ends in + says nothing reliable, while the record stays."""
    text = "JobID        NodeList      State\n------------ -------- ----------\n7            n[01-05+    TIMEOUT\n"
    (values,) = accounted(text)
    assert (values["job_id"], values["nodes"], values["state"]) == ("7", None, "TIMEOUT")


@needs_corpus
def test_real_dumps_of_one_cluster_agree() -> None:
    """Thirteen ways to print one accounting give the same job states: 60 records with -D, 48 without."""
    states = {}
    for path in sorted((CORPUS / "real-slurm/alpha/snap/99-final").glob("sacct-*.txt")):
        parser = recognise(path.read_bytes()[:HEAD_BYTES])
        if parser is None:
            assert path.name == "sacct-P-noheader-noD.txt"
            continue
        results = parsed(parser, path.read_text(encoding="utf-8", errors="replace"))
        records = [result.values for result in results if isinstance(result, Row)]
        states[path.stem] = Counter(record["state"] for record in records if record["step"] is None)
    assert not states.pop("sacct-relative")
    without = {name: counted for name, counted in states.items() if counted.total() == 48}
    assert set(without) == {"sacct-X", "sacct-default", "sacct-l"}
    complete = [counted for name, counted in states.items() if name not in without]
    assert complete == [complete[0]] * 10
    assert complete[0]["NODE_FAIL"] == 5
    assert complete[0].total() == 60


@needs_corpus
@pytest.mark.parametrize("name", ["fake-line-break", "one-multiline"])
def test_repaired_records_equal_the_repaired_text(name: str) -> None:
    """Broken dumps give the records of the dumps that their owner repaired by hand."""
    broken, repaired = (
        accounted((CORPUS / f"gcm/sample-sacct-{name}{suffix}.txt").read_text(encoding="utf-8", errors="replace"))
        for suffix in ("", "-expected")
    )
    unlike = ("line_no", "line_count")
    assert [{k: v for k, v in row.items() if k not in unlike} for row in broken] == [
        {k: v for k, v in row.items() if k not in unlike} for row in repaired
    ]


def test_a_finished_run_that_is_pending_was_requeued() -> None:
    """A completion log has lines of runs that are over; PENDING is what their job became."""
    (sample,) = PARSERS["jobcomp"].samples
    (row,) = parsed(PARSERS["jobcomp"], sample.text.replace("=FAILED", "=PENDING"))
    assert row.values["state"] == "REQUEUED"


@needs_corpus
def test_completion_log_and_accounting_agree() -> None:
    """Of jobs that were requeued, the controller's completion log shows as many runs as its accounting."""
    folder = CORPUS / "real-slurm/alpha"
    logged = parsed(PARSERS["jobcomp"], (folder / "log/jobcomp.log").read_text(encoding="utf-8"))
    dumped = accounted((folder / "snap/99-final/sacct-P-D-X.txt").read_text(encoding="utf-8"))
    assert [row.values["state"] for row in logged].count("REQUEUED") == 7
    assert [values["state"] for values in dumped].count("REQUEUED") == 7


@needs_corpus
def test_every_finished_job_of_a_real_log_is_read() -> None:
    """All lines of two controllers' completion logs become records."""
    for path in [*CORPUS.glob("real-slurm/*/log/jobcomp.log"), CORPUS / "data_cluster/jobcomp.until-2024-03-01.log"]:
        text = path.read_text(encoding="utf-8", errors="replace")
        assert [type(result) for result in parsed(PARSERS["jobcomp"], text)] == [Row] * len(text.splitlines())


def test_a_record_that_goes_on_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not joined beyond a size, since each is read anew with all before it."""
    monkeypatch.setattr(slurm_table, "MAX_RECORD_CHARS", 50)
    text = "JobID|State|Comment|Start\n7|FAILED|" + "x" * 60 + "\nrest|Unknown\n8|FAILED|y|Unknown\n"
    results = parsed(PARSERS["sacct"], text)
    assert [result.line_no for result in results if isinstance(result, Unparsed)] == [2, 3]
    assert [result.values["job_id"] for result in results if isinstance(result, Row)] == ["8"]


def test_an_error_file_of_endless_depth_is_reported() -> None:
    """A text made to exhaust the reader is one line that was not understood."""
    text = '{"message": {"message": "x", "more": ' + "[" * 100_000
    assert [type(result) for result in parsed(PARSERS["torchelastic-error"], text)] == [Unparsed]


def test_a_completion_record_made_to_be_slow_is_not() -> None:
    """Keys that repeat make a backtracking search try all pairs of them."""
    block = "JobId=1 UserId=u GroupId=g Name= JobState=X Partition=p TimeLimit=1 StartTime= EndTime= NodeList= "
    assert [type(result) for result in parsed(PARSERS["jobcomp"], block * 20_000)] == [Unparsed]


@pytest.mark.parametrize(
    "absurd",
    [
        *("0001-01-01T00:00:00", "1969-12-31T23:59:59", "2200-01-01T00:00:00", "9999-12-31T23:59:59", "9999999999"),
        *("0001-01-01T00:00:00+1400", "9999-12-31T23:59:59-1400", "2026-03-05T12:00:00+9999"),
    ],
)
def test_an_instant_that_no_log_can_carry_is_refused(absurd: str) -> None:
    """A record with a date outside 1970 to 2199, or a zone beyond a day, is reported as not understood."""
    text = f"JobID|State|Start\n7301|FAILED|{absurd}\n7302|FAILED|1970-01-02T00:00:00\n"

    refused, kept = parsed(PARSERS["sacct"], text)

    assert isinstance(refused, Unparsed)
    assert "not a time" in refused.reason
    assert isinstance(kept, Row)


@pytest.mark.parametrize("column", ["ElapsedRaw", "Elapsed", "TimelimitRaw", "Timelimit"])
def test_a_duration_beyond_the_calendar_is_none(column: str) -> None:
    """A run time that no instant can be moved by is as good as none, and costs the record nothing else."""
    absurd = "9000000000-00:00:00" if column in {"Elapsed", "Timelimit"} else "9000000000000000000"

    (values,) = accounted(f"JobID|State|{column}\n7301|FAILED|{absurd}\n")

    assert values["elapsed_s"] is None
    assert values["timelimit_s"] is None


def test_only_the_jobs_own_record_lists_its_nodes() -> None:
    """A job of very many steps would else repeat its hosts with each; a list beyond any cluster stays as written."""
    text = "JobID|State|NodeList\n7|FAILED|n[1-2]\n7.0|FAILED|n[1-2]\n8|FAILED|n[1-1000000000]\n"

    assert [row["nodes"] for row in accounted(text)] == [["n1", "n2"], None, ["n[1-1000000000]"]]


@pytest.mark.timeout(60)
def test_a_row_with_very_many_readings_is_given_up() -> None:
    """A table of nothing but free text has more ways to join surplus parts than anybody may wait for."""
    header = "|".join(["JobID", "State", *["Comment"] * 246, "Start"])
    row = "|".join(["7", "FAILED", *"x" * 267, "nonsense"])

    results = parsed(PARSERS["sacct"], f"{header}\n" + f"{row}\n" * 400)

    assert len(results) == 400
    assert {result.reason for result in results if isinstance(result, Unparsed)} == {
        "270 cells for 249 columns, and too many ways to join them"
    }


_CELLS = {
    "JobID": ["7301", "7301.batch", "7302_4", "730x", ""],
    "JobName": ["a", "a|b", "a b", ""],
    "State": ["FAILED", "CANCELLED by 7", "NONSENSE", " RUNNING "],
    "Elapsed": ["00:01:00", "1-00:00:00", "soon", ""],
    "NodeList": ["n[1-2]", "n1", "n 1", "None assigned"],
}


@given(st.lists(st.tuples(*map(st.sampled_from, _CELLS.values())), max_size=12))
def test_what_is_remembered_of_cells_changes_no_row(rows: list[tuple[str, ...]]) -> None:
    """A table reads the same whether cells are remembered, forgotten at once, or never kept."""
    text = "\n".join("|".join(row) for row in [tuple(_CELLS), *rows])
    sacct = next(parser for parser in load_parsers() if parser.name == "sacct")
    readings = []
    for name, value in (("MAX_REMEMBERED", 4_096), ("MAX_REMEMBERED", 1), ("MAX_REMEMBERED_CHARS", -1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(slurm_table, name, value)
            readings.append(list(sacct.parse(enumerate(text.split("\n"), 1))))
    assert readings[0] == readings[1] == readings[2]


_NUMBERS = st.tuples(st.integers(0, 120), st.integers(0, 20), st.integers(1, 3))


@given(st.sampled_from(["n", "GPU", "a-b-", "x_"]), st.lists(_NUMBERS, min_size=1, max_size=4), st.booleans())
def test_a_plain_host_list_is_expanded_as_the_library_does(
    prefix: str, spans: list[tuple[int, int, int]], rise: bool
) -> None:
    """The short way of a host list with one bracket gives the library's hosts in the library's order, or none."""
    parts = [f"{first:0{width}}-{first + more:0{width}}" for first, more, width in (sorted(spans) if rise else spans)]
    text = f"{prefix}[{','.join(parts)}]"
    nodes = NodeSet(text, resolver=RESOLVER_NOGROUP) if hosts._plain(text) is not None else None
    assert hosts._plain(text) == (None if nodes is None else tuple(str(node).lower() for node in nodes))
    assert hosts._plain("n[08-10,12]") == ("n08", "n09", "n10", "n12")
