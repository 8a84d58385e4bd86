"""The limits of what belongs together - copies, storms, chains, roles: just inside and just outside, by hand."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import duckdb
import pytest
from case_worlds import KNOWLEDGE, Case, line, signature, world
from worlds import Row, derived, event

AT = datetime(2026, 3, 5, 1, 0)


def said(source_id: str, line_no: int, seconds: float, name: str = "gpu-lost", **values: object) -> Row:
    """One text in a source."""
    stamp = AT + timedelta(seconds=seconds)
    return event(source_id, line_no, name, stamp, **{"node": "a", "message": "GPU lost"} | values)


def counts(cases: Sequence[Sequence[Row]]) -> list[tuple[int, int, int]]:
    """Of each case, whose lines are about nodes of its own: records that are no copies, episodes and incidents."""
    lines = [{**row, "node": f"n{number}{row['node']}"} for number, rows in enumerate(cases, 100) for row in rows]
    for number, row in enumerate(lines):
        row |= {"source_id": f"{row['source_id']}-{row['node'][:4]}", "event_id": f"{number:016x}"}
    con = derived(events=lines, knowledge=KNOWLEDGE)
    tables = ("events where duplicate_of is null", "episodes where true", "incidents where true")
    return [
        tuple(con.execute(f"select count(*) from {table} and node like 'n{number}%'").fetchone()[0] for table in tables)
        for number in range(100, 100 + len(cases))
    ]


COPIES = [
    (said("j", 1, 3), 1),
    (said("j", 1, 4), 2),
    (said("j", 1, 0, message="GPU found"), 2),
    (said("j", 1, 0, node="b"), 2),
    (said("j", 1, 0, "gpu-memory"), 2),
    (said("k", 2, 0), 2),
]


def test_a_copy_in_another_source_is_three_seconds_late_at_most():
    """The same text of the same host and kind within 3 s is one record that two sources carry."""
    found = counts([[said("k", 1, 0), copy] for copy, _ in COPIES])

    assert [records for records, *_ in found] == [expected for _, expected in COPIES]


def test_the_kernel_s_own_clock_identifies_a_record():
    """With the same seconds since boot two lines are one record, however their stamps differ."""
    first = said("k", 1, 0, uptime_s=412.5)
    found = counts([[first, said("j", 1, 100, uptime_s=uptime_s)] for uptime_s in (412.5, 412.6)])

    assert [records for records, *_ in found] == [1, 2]


def test_what_two_ranks_print_is_two_facts():
    """The same text in two outputs of a job is a copy only if the same rank printed it."""
    first, copy, other = (
        said(name, 1, 0, "exception", channel="job", job_id="7", rank=rank)
        for name, rank in (("out", 3), ("err", 3), ("err", 4))
    )

    assert [records for records, *_ in counts([[first, copy], [first, other]])] == [1, 2]


STORMS = [
    ([said("k", 2, 600)], (1, 1)),
    ([said("k", 2, 601)], (2, 2)),
    ([said("k", 2, 600, code="79")], (2, 1)),  # another signal of the part is another episode of the incident
    ([said("k", 2, 601, code="79")], (2, 2)),
    ([said("k", 2, 1, "gpu-memory")], (2, 2)),
    ([said("k", 2, 1, node="b")], (2, 2)),
    ([said("k", 2, 1, gpu_index=1, pci_bdf="0000:1c:00")], (2, 2)),
    ([said("k", 2, 600), said("k", 3, 1200)], (1, 1)),  # a storm lasts as long as it repeats
]


def test_repeats_within_ten_minutes_are_one_storm():
    """One signal on one component, ten minutes after its last repeat at most, is one episode and one incident."""
    found = counts([[said("k", 1, 0), *more] for more, _ in STORMS])

    assert [tuple(parts) for _, *parts in found] == [expected for _, expected in STORMS]


CHAINS = {
    # what else the accused host says from a quarter of an hour before the fault to a quarter of an hour after the end
    "before-900-s": (line("aside", -930), 1),
    "before-901-s": (line("aside", -931), 2),
    "after-900-s": (line("aside", 900), 1),
    "after-901-s": (line("aside", 901), 2),
    "of-another-host": (line("aside", -20, "b"), 2),
}


def incidents_of(con: duckdb.DuckDBPyConnection, number: int) -> int:
    """Incidents on the nodes of a case."""
    return con.execute(f"select count(*) from incidents where node like 'n{number}%'").fetchone()[0]


@pytest.fixture(scope="module")
def chains() -> duckdb.DuckDBPyConnection:
    """For each of CHAINS a job that a lost GPU of node a broke half a minute before its end, and that line."""
    return world([Case([line("gpu-lost", -30), other]) for other, _ in CHAINS.values()])


@pytest.mark.parametrize(("number", "name"), list(enumerate(CHAINS, 100)))
def test_what_the_accused_host_says_belongs_to_the_incident(chains: duckdb.DuckDBPyConnection, number: int, name: str):
    """Another fault is part of the incident, or makes one of its own."""
    assert incidents_of(chains, number) == CHAINS[name][1]


def test_the_same_switch_seen_from_elsewhere_belongs_to_the_incident():
    """A link of a node without a job, a quarter of an hour around, is the same trouble if a link was the cause."""
    found = [
        world([Case([line("link", -30), *(line("link", seconds, "z") for seconds in around)])])
        .execute("select count(*) from incidents")
        .fetchone()[0]
        for around in ((-930, 900), (-931, 901))
    ]

    assert found == [1, 3]


ROLES = [
    (line("gpu-lost", -30), "trigger"),
    (line("gpu-lost", -20), "contributing"),
    (line("gpu-memory", -20), "contributing"),
    (line("peer-gone", -20), "symptom"),
    (line("peer-gone", 30), "symptom"),
    (line("peer-gone", 31), "teardown"),
    (line("down", -1), "context"),
    (line("down", 0), "teardown"),
    (line("aside", -20), "context"),
    (line("aside", -2700), "context"),
    (line("aside", -2701), None),
    (line("peer-gone", 900), "teardown"),
    (line("peer-gone", 901), None),
]


def test_lines_around_an_end_have_roles():
    """The cause triggers, faults contribute, complaints are symptoms until 30 s after the end, far lines nothing."""
    con = world([Case([said for said, _ in ROLES])])
    found = dict(
        con.execute("select line_no || channel, role from interruption_events join events using (event_id)").fetchall()
    )

    assert [found.get(f"{number}{said['channel']}") for number, (said, _) in enumerate(ROLES, 1)] == [
        role for _, role in ROLES
    ]


def test_an_event_begins_when_its_watchdog_began_to_wait():
    """A line that says it waited 600,000 ms began ten minutes before it was written."""
    waited = signature("waited", "gpu.device")
    con = derived(
        events=[said("k", 1, 0, "waited", fields='{"ran_for_ms": "600000"}')],
        knowledge={**KNOWLEDGE, "signatures": [waited]},
    )

    assert con.execute("select epoch(ts) - epoch(onset_ts) from events").fetchall() == [(600.0,)]
