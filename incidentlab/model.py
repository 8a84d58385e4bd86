"""The words of the house, and the tables that Python writes.

A table is declared once, as text: column, DuckDB type, one sentence. From it come the DDL with its comments, the
polars schema of the shards, and the column lists in the docs. Tables that SQL derives are declared in the header of
their own file in `queries/derive/`.

Instants in intake tables are kept as they were written: `local_ts` without a zone, `utc_offset_s` where the line
gave one, `has_year` false where the line gave none (the year is then 2000), `uptime_s` where only seconds since boot
are known. `queries/derive/clocks.sql` resolves them for all sources together.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import Struct

SCHEMA_VERSION = 5
"""Version of the warehouse's tables; another number means: ingest again."""

REPORT_MARK = b'<meta name="generator" content="incidentlab'
"""Stands in the first bytes of every report, so that none is overwritten or read by mistake."""

PLACEHOLDER_YEAR = 2000
"""The year of a stamp that was written without one: a leap year, so 29 February can be read."""

KINDS = ("fault", "symptom", "lifecycle", "recovery", "context", "progress")
"""What an event is: a component failed; something suffered; the scheduler or a person acted; all is well again; worth
knowing; the training moved."""

STRENGTHS = ("direct", "suggestive", "symptom", "none")
"""How much an event says about a cause: its component reports; compatible with several; a consequence; nothing."""

CHANNELS = ("kernel", "daemon", "slurm", "job", "accounting", "bmc")
"""Who wrote a line: the kernel; another program through syslog or its own log; a Slurm daemon; a job and its launcher;
an accounting database; the board management controller."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its DuckDB type, and what it holds."""

    name: str
    type: str
    doc: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name, what one row is, and its columns."""

    name: str
    doc: str
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, name: str, doc: str, text: str) -> "Table":
        """The table that `text` describes: one column a line, as name, type and sentence."""
        rows = (line.split(maxsplit=2) for line in text.splitlines() if line.strip())
        return cls(name, doc, tuple(Column(*row) for row in rows))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)


_STAMP = """
    local_ts         TIMESTAMP  the instant as written, without its zone; NULL if the line has only seconds since boot
    utc_offset_s     INTEGER    seconds east of UTC, if the line says so
    has_year         BOOLEAN    false if the year was not written (local_ts then has the year 2000)
    uptime_s         DOUBLE     seconds since boot, if the line carries the kernel's own clock
    ts_uncertainty_s DOUBLE     resolution of the stamp, or the distance to the neighbour it was taken from
"""

SOURCES = Table.of(
    "sources",
    "one input file or archive member, by content",
    """
    source_id       VARCHAR    first 16 hex digits of the digest
    path            VARCHAR    as given or found; a member of an archive follows a "!"
    digest          VARCHAR    BLAKE3 of the decompressed bytes; beyond 256 KiB the digests of its blocks, chained
    heads           VARCHAR[]  first 16 hex digits of the BLAKE3 of its first 16, 32, ... bytes, up to 256 KiB
    bytes           BIGINT     decompressed size
    lines           BIGINT     physical lines; matched + unmatched + unparsed
    matched_lines   BIGINT     lines that became an event, a record or a progress mark
    unmatched_lines BIGINT     lines that no signature asks for
    unparsed_lines  BIGINT     lines that should have been understood and were not
    format          VARCHAR    envelope or parser that recognised the content
    channel         VARCHAR    who writes this format: kernel, daemon, slurm, job, accounting, bmc
    host            VARCHAR    the one host that the lines name, if they name just one
    first_local_ts  TIMESTAMP  first stamp seen, as written
    last_local_ts   TIMESTAMP  last stamp seen, as written
    utc_offset_s    INTEGER    seconds east of UTC, if all zoned stamps agree
    has_year        BOOLEAN    false if the stamps carry no year
    modified_ts     TIMESTAMP  modification time of the file, UTC
    status          VARCHAR    used, unused or failed
    reason          VARCHAR    why it is unused or failed, or what was cut
    settled_lines   BIGINT     lines that stay as they were read when it grows; NULL if all are read again
    is_found        BOOLEAN    false for what an earlier ingest found, and the last one did not
    """,
)

EVENTS = Table.of(
    "events",
    "one log record that a signature caught, as read",
    """
    event_id         VARCHAR    content hash of source, line, signature and node
    source_id        VARCHAR    the file it stands in
    line_no          BIGINT     its first line, counted from 1
    line_count       INTEGER    how many lines the record spans
    channel          VARCHAR    who wrote the line
    signature        VARCHAR    name of the signature that caught it
    """
    + _STAMP
    + """
    node             VARCHAR    short, lower-case host that the text names
    reporter         VARCHAR    short, lower-case host that wrote the line
    gpu_index        INTEGER    index of the GPU on its node, if named
    pci_bdf          VARCHAR    PCI address as dddd:bb:dd, lower case
    gpu_uuid         VARCHAR    GPU-xxxxxxxx-...
    gpu_serial       VARCHAR    serial number of the board
    job_id           VARCHAR    scheduler's job id as printed, array task or component included
    rank             INTEGER    global rank
    code             VARCHAR    error code within the signature's family (Xid, SXid, exit code, verbs status)
    repeat_count     BIGINT     how many records it stands for: the writer, or the reader in a storm, folded repeats
    alike            VARCHAR    hash of what the line says, and of its ten minutes; NULL if it has no clock
    message          VARCHAR    the text without its prefixes, at most 2,000 characters
    fields           JSON       everything else the signature's groups named
    """,
)

JOB_RECORDS = Table.of(
    "job_records",
    "one accounting record of a job or step, as read",
    """
    record_id     VARCHAR    content hash of source and line
    source_id     VARCHAR    the file it stands in
    line_no       BIGINT     its line, counted from 1
    cluster       VARCHAR    name of the cluster, if the record names it
    job_id        VARCHAR    job id as printed, array task or component included, without the step
    job_number    VARCHAR    plain number of an array task or component, if written beside the id
    step          VARCHAR    step id (batch, extern, 0 ...); NULL on the job's own record
    name          VARCHAR    job name
    user_name     VARCHAR    owner
    account       VARCHAR    account
    partition     VARCHAR    partition or queue
    state         VARCHAR    first word of the state, upper case
    state_by      VARCHAR    uid or name of who cancelled it, if written
    exit_code     INTEGER    exit code
    exit_signal   INTEGER    signal
    derived_exit_code INTEGER highest exit code of the steps
    submit_ts     TIMESTAMP  submitted, as written (local)
    eligible_ts   TIMESTAMP  eligible, as written (local)
    start_ts      TIMESTAMP  started, as written (local)
    end_ts        TIMESTAMP  ended, as written (local); NULL while running
    utc_offset_s  INTEGER    seconds east of UTC, if the record says so
    elapsed_s     BIGINT     run time in seconds
    timelimit_s   BIGINT     time limit in seconds
    node_count    INTEGER    allocated nodes
    gpu_count     INTEGER    allocated GPUs
    nodes         VARCHAR[]  allocated nodes, expanded; NULL on a step, of which there may be very many
    reason        VARCHAR    pending or failure reason
    failed_node   VARCHAR    node whose failure ended it, if written
    restart_count INTEGER    restarts, if written
    work_dir      VARCHAR    working directory
    comment       VARCHAR    comments, joined
    has_duplicates BOOLEAN   true if the dump shows several records of one job id
    """,
)

PROGRESS = Table.of(
    "progress",
    "one mark of a training log, as read",
    """
    source_id        VARCHAR    the file it stands in
    line_no          BIGINT     its line, counted from 1
    """
    + _STAMP
    + """
    kind             VARCHAR    step, checkpoint_start, checkpoint_done, checkpoint_load, run_start
    step             BIGINT     training step or iteration
    step_time_s      DOUBLE     seconds a step, if written
    loss             DOUBLE     loss, if written
    rank             INTEGER    global rank, if known
    node             VARCHAR    host, if known
    job_id           VARCHAR    job id, if the line names it
    """,
)

READINGS = Table.of(
    "readings",
    "one source as it was read last: what a later reading need not read again",
    """
    path        VARCHAR  path of the source
    file        VARCHAR  path of the file it was read from; the members of an archive share one
    size        BIGINT   size of that file on the disk; NULL if it must be read again
    changed_ns  BIGINT   when its content or name changed last, in nanoseconds since 1970; no program can set that
    knowledge   VARCHAR  hash of the program's version and the signatures it was read with
    source_id   VARCHAR  the content it had
    prefix      VARCHAR  what stays when it grows, as JSON; NULL if it must then be read as a whole
    """,
)

INTAKE = (SOURCES, EVENTS, JOB_RECORDS, PROGRESS)
"""The tables that hold what was read; in the warehouse they live in schema `intake`, and READINGS with them."""


class Stamp(Struct, frozen=True):
    """An instant as one line gives it; see the head of this module."""

    local_ts: datetime | None = None
    utc_offset_s: int | None = None
    has_year: bool = True
    uptime_s: float | None = None
    uncertainty_s: float | None = None


class Prefix(Struct, frozen=True):
    """What the envelopes of one line said, outermost first, and the text that is left."""

    text: str
    stamp: Stamp | None = None
    channel: str | None = None
    host: str | None = None
    tag: str | None = None
    job_id: str | None = None
    rank: int | None = None
    gpu_index: int | None = None
    fields: dict[str, Any] = {}


class Row(Struct, frozen=True):
    """One row for one of the intake tables."""

    table: str
    values: dict[str, Any]
