"""Who wins where a line and its envelopes both speak, and what fits into a column: events, hosts and stamps."""

import json
from datetime import datetime

import pytest
from intake_samples import signature

from incidentlab import events, hosts, stamps
from incidentlab.model import Prefix, Stamp
from incidentlab.scan import Candidate, compiled

SAID = signature(
    "said",
    r"said(?: rank (?P<rank>\d+))?(?: gpu (?P<gpu_index>\d+))?(?: job (?P<job>\d+))?(?: code (?P<code>\d+))?"
    r"(?: node (?P<node>\S+))?(?: tag (?P<tag>\S+))?(?: x(?P<repeat>[\d,]+))?",
    channels=("job",),
    code="own",
)
TIMES = signature(
    "times",
    r"step (?P<step>\d+)(?: (?P<step_time_ms>\S+) ms)?(?: (?P<step_time_s>\S+) s)?",
    channels=("job",),
    kind="progress",
    mark="step",
)
ENVELOPE = {"rank": 9, "gpu_index": 7, "job_id": "41", "fields": {"tag": "outer", "file": "a.py"}}


def values(text, speaker=SAID, **prefix):
    """The columns of the one row that a text becomes."""
    candidate = Candidate(1, text, 0, ((speaker, compiled(speaker.pattern).search(text.encode())),))
    (row,) = events.rows(candidate, Prefix(text, **prefix), "job", lambda count: [text][:count])
    return row.values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("said", (9, 7, "41", "own")),
        ("said rank 0 gpu 0 job 7 code 5", (0, 0, "7", "5")),
        ("said rank 99999999999 gpu 99999999999", (9, 7, "41", "own")),  # no rank is as high
    ],
)
def test_the_line_goes_before_its_envelopes(text, expected):
    """Rank, GPU, job and code are those that the text names, zero included, else those around it."""
    found = values(text, **ENVELOPE)
    assert tuple(found[name] for name in ("rank", "gpu_index", "job_id", "code")) == expected


def test_a_field_of_the_line_goes_before_one_around_it():
    """Two that say `tag`: the text's stays, and what only the envelope says is kept beside it."""
    assert json.loads(values("said tag inner", **ENVELOPE)["fields"]) == {"tag": "inner", "file": "a.py"}


@pytest.mark.parametrize(
    ("rank", "expected"), [("2147483647", 2**31 - 1), ("2147483648", None), ("0", 0), ("00000000000000000001", None)]
)
def test_the_largest_number_of_a_column_fits(rank, expected):
    """A column of 32 bits holds 2^31 - 1."""
    assert values(f"said rank {rank}")["rank"] == expected


def test_thousands_are_separated_by_commas():
    """`x1,024` is so many repeats."""
    assert values("said x1,024")["repeat_count"] == 1024


def test_a_long_field_is_cut():
    """A field holds no more than a message: 2,000 characters."""
    assert len(json.loads(values("said tag " + "x" * 5000)["fields"])["tag"]) == 2000


@pytest.mark.parametrize(
    ("text", "expected"), [("step 5 1500 ms 2.5 s", 2.5), ("step 5 1500 ms", 1.5), ("step 5", None)]
)
def test_seconds_a_step_go_before_milliseconds(text, expected):
    """Where a line has both, no conversion is needed."""
    assert values(text, TIMES)["step_time_s"] == expected


@pytest.mark.parametrize("node", ["(null)", "N/A", "none", "unknown", "None assigned"])
def test_a_line_about_nobody_is_one_event(node):
    """A record that names no node is kept, for the derivation may know which is meant."""
    assert values(f"said node {node}")["node"] is None
    assert hosts.expand(node) == ()


def test_a_host_that_is_named_twice_is_one_event():
    """One node in two ranges, or with and without its domain, is one place."""
    assert sorted(hosts.expand("n[1-2],n[2-3],N2.cluster.example")) == ["n1", "n2", "n3"]


def test_as_many_hosts_as_the_largest_cluster_has_are_expanded():
    """16,384 hosts are a list, one more is none."""
    assert len(hosts.expand("n[1-16384]")) == 16_384
    assert hosts.expand("n[0-16384]") == ("n[0-16384]",)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GPU7.cluster.example", "gpu7"),
        (" gpu7 ", "gpu7"),
        ("10.1.2.3", "10.1.2.3"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
    ],
)
def test_a_host_has_one_spelling(name, expected):
    """The first label in lower case; of an address, the shortest form of all of it."""
    assert hosts.short(name) == expected


def test_only_a_calendar_stamp_can_lack_a_year():
    """Seconds since boot have no year to lack; a stamp of the envelope that has none says so."""
    undated = Stamp(datetime(2000, 3, 5), has_year=False)

    assert values("said", stamp=Stamp(uptime_s=4.5))["has_year"] is None
    assert values("said", stamp=undated)["has_year"] is False


@pytest.mark.parametrize(
    ("text", "local"), [("999999999", "2001-09-09T01:46:39"), ("99999999", None), ("99999999999", None)]
)
def test_seconds_since_1970_have_nine_or_ten_digits(text, local):
    """Shorter numbers are no instants of any log, longer ones are milliseconds or ids."""
    stamp = stamps.from_epoch(text)
    assert (stamp and stamp.local_ts) == (local and datetime.fromisoformat(local))


@pytest.mark.parametrize(
    ("month", "clock", "expected"),
    [
        ("Mar", "14:03:22", ("2000-03-05T14:03:22", 1.0)),
        ("3", "14:03", ("2000-03-05T14:03:00", 60.0)),
        ("Mai", "14:03:22", None),
        ("13", "14:03:22", None),
        ("Mar", "24:00:00", None),
    ],
)
def test_parts_of_a_stamp_must_fit_the_calendar(month, clock, expected):
    """A month that no program writes is none; without seconds a stamp is only sure to the minute."""
    stamp = stamps.of_parts((None, month, "5"), clock)
    assert (stamp and (stamp.local_ts.isoformat(), stamp.uncertainty_s)) == expected
