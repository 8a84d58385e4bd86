"""In which zone the outputs of jobs are read: hosts and containers on one node need not agree."""

from datetime import datetime, timedelta

from worlds import derived, event, job, source

START = datetime(2026, 3, 5, 1, 0)  # 01:00 at a site of +09:00 is 16:00 UTC of the day before
BANNER = "slurm-banner-job-cancelled"
KNOWLEDGE = {
    "signatures": [
        {"name": name, "channels": ["job"], "kind": kind, "component": "", "strength": "none", "severity": "info",
         "tier": 0, "scope": "job", "meaning": name}
        for name, kind in (("note", "context"), (BANNER, "lifecycle"))
    ],
}  # fmt: skip


def site(*lines: dict[str, object], hours: int = 3):
    """Job 7 from 01:00 local time on, at a site whose kernel logs say +09:00; the instants of the output's lines."""
    kernel = event("kern", 1, "note", START, utc_offset_s=32400, node="n1")
    record = job("acct", 1, "7", "FAILED", start_ts=START, end_ts=START + timedelta(hours=hours))
    con = derived(
        job_records=[record],
        events=[kernel, *lines],
        sources=[
            source("kern", "kernel", [START], utc_offset_s=32400),
            source("acct", "accounting", [START]),
            source("logs/train-7.out", "job", [START]),
            source("logs/rank3-7.err", "job", [START]),
        ],
        knowledge=KNOWLEDGE,
    )
    return [
        row[0].strftime("%d %H:%M")
        for row in con.execute(
            "select ts from events where channel = 'job' order by source_id desc, line_no"
        ).fetchall()
    ]


def line(number: int, ts: datetime, signature: str = "note", output: str = "logs/train-7.out") -> dict[str, object]:
    """A line of an output with a stamp that names no zone."""
    return event(output, number, signature, ts, channel="job")


def test_an_output_that_fits_its_job_only_as_utc_is_read_as_utc():
    """A container writes 16:30 for what the site's records call half past one."""
    assert site(line(1, datetime(2026, 3, 4, 16, 30))) == ["04 16:30"]


def test_an_output_that_fits_its_job_in_the_zone_of_the_site_is_read_so():
    """The same half hour, written by the host."""
    assert site(line(1, datetime(2026, 3, 5, 1, 30))) == ["04 16:30"]


def test_an_output_that_fits_nowhere_keeps_the_zone_of_the_site():
    """A stamp of another week proves nothing about zones."""
    assert site(line(1, datetime(2026, 2, 20, 1, 30))) == ["19 16:30"]


def test_a_banner_of_the_host_in_a_container_s_output_keeps_the_zone_of_the_site():
    """The step daemon writes into the same file, and what follows without a stamp took over its time."""
    cancelled = datetime(2026, 3, 5, 3, 59)
    lines = [line(1, datetime(2026, 3, 4, 16, 30)), line(2, cancelled, BANNER), line(3, cancelled)]

    assert site(*lines) == ["04 16:30", "04 18:59", "04 18:59"]


def test_an_output_that_fits_both_ways_follows_the_others_of_its_job():
    """In a job of a whole day the last line of a rank fits as local time too; its sibling's first line decides."""
    lines = [line(1, datetime(2026, 3, 4, 16, 30)), line(1, datetime(2026, 3, 5, 8, 0), output="logs/rank3-7.err")]

    assert site(*lines, hours=24) == ["04 16:30", "05 08:00"]
