"""What derivation and questions cost at size: `python -m benchmarks.large_warehouse [--scale 0.1] [--threads 2]`.

Makes the intake tables of a fleet of 10,000 nodes over 60 days straight in SQL - 20,000 attempts of 16 and some of
2,000 nodes, a million events, the same on every machine - derives everything, asks every question with its defaults,
and prints CPU and wall seconds of each table and question and the peak memory. Nothing is read from logs.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from incidentlab import answers, derive, pipeline, warehouse
from incidentlab.configuration import load_site
from incidentlab.model import INTAKE
from incidentlab.signatures import load_signatures
from incidentlab.sqlfiles import SqlFile

ATTEMPTS, EVENTS, NODES, DAYS = 20_000, 1_000_000, 10_000, 60
TOLD = 15
"""So many of the dearest tables and questions are printed."""

JOBS = """
    create temp table jobs as
    select
        i, (100000 + i)::varchar as job_id, (hash(i) >> 2)::bigint as h,
        timestamp '2026-03-01' + to_seconds((i * {days} * 86400.0 / {attempts})::bigint) as start_ts,
        start_ts + to_seconds(1800 + (h % 20000)::bigint) as end_ts,
        case when i % 500 = 0 then 2000 else 16 end as node_count,
        ['FAILED', 'COMPLETED', 'COMPLETED', 'CANCELLED', 'NODE_FAIL', 'TIMEOUT', 'FAILED'][1 + (h >> 20) % 7] as state,
        list_transform(range(least(node_count, {nodes})),
            lambda k: printf('n%05d', ((hash(i // 20) >> 2)::bigint % {nodes} + k) % {nodes})) as nodes
    from range({attempts}) as t (i)
"""

ROWS = {
    "sources": """
        select path as source_id, path, path as digest, 1000 as bytes, 1000 as lines, 100 as matched_lines,
            900 as unmatched_lines, 0 as unparsed_lines, format, channel, 0 as utc_offset_s, true as has_year,
            first_local_ts, last_local_ts, 'used' as status
        from (
            select 'out-' || job_id as path, 'plain' as format, 'job' as channel, start_ts as first_local_ts,
                end_ts as last_local_ts
            from jobs
            union all
            select 'kern-' || d, 'syslog-iso', 'kernel', timestamp '2026-03-01' + to_days(d::integer),
                timestamp '2026-03-02' + to_days(d::integer)
            from range({days}) as t (d)
            union all
            select name, name, channel, timestamp '2026-03-01', timestamp '2026-03-01' + to_days({days})
            from (values ('sacct', 'accounting'), ('slurm', 'slurm')) as t (name, channel)
        )
    """,
    "job_records": """
        select 'r' || i as record_id, 'sacct' as source_id, i + 1 as line_no, job_id, 'run' || i // 20 as name,
            'user' || i // 20 % 50 as user_name, 'train' as partition, state, (state = 'FAILED')::int as exit_code,
            0 as exit_signal, start_ts - interval 1 minute as submit_ts, start_ts, end_ts, 0 as utc_offset_s,
            epoch(end_ts - start_ts)::bigint as elapsed_s, node_count, node_count * 8 as gpu_count, nodes
        from jobs
    """,
    "progress": """
        select 'out-' || job_id as source_id, 50 + k as line_no, start_ts + (end_ts - start_ts) * k / 10 as local_ts,
            0 as utc_offset_s, true as has_year, 1.0 as ts_uncertainty_s,
            case when k % 5 = 4 then 'checkpoint_done' else 'step' end as kind, i % 20 * 1000 + k * 100 as step, job_id
        from jobs, range(10) as t (k)
    """,
    "events": """
        with kernel as (
            select
                k, (hash(k + 7) >> 2)::bigint as h, (hash(k + 11) >> 2)::bigint as g,
                ['pcie-aer-corrected', 'edac-corrected', 'nvidia-xid', 'link-down', 'link-up', 'nvidia-xid-154',
                    'nvidia-gpu-fallen-off', 'nvidia-xid-48-dram'][1 + (least(h % 11, h % 9) + g % 2) % 8] as signature
            from range({events} * 6 // 10) as t (k)
        ),

        wave as (  -- what the ranks of a failed job say in its last minute
            select j.*, k, (hash(i * 97 + k) >> 2)::bigint as g
            from jobs as j, range({events} * 3 // 10 // ({attempts} * 2 // 7)) as t (k)
            where j.state = 'FAILED'
        ),

        said as (
            select
                'kern-' || (k * {days} // ({events} * 6 // 10)) as source_id, k as line_no, 'kernel' as channel,
                signature,
                timestamp '2026-03-01' + to_milliseconds((k * {days} * 86.4e6 / ({events} * 0.6))::bigint) as local_ts,
                printf('n%05d', g % {nodes}) as node, printf('n%05d', g % {nodes}) as reporter,
                printf('0000:%02x:00', 16 + h % 8 * 16) as pci_bdf, null as job_id, null as rank,
                case when signature like '%xid%' then (31 + h % 64)::varchar end as code
            from kernel
            union all
            select 'out-' || job_id, 100 + k, 'job',
                ['pg-timeout', 'nccl-peer-closed', 'pg-async-exception', 'elastic-worker-failed',
                    'srun-task-exit'][1 + g % 5],
                end_ts - to_milliseconds((g % 60000)::bigint), null, nodes[1 + g % len(nodes)], null, job_id, g % 128,
                null
            from wave
            union all
            select 'slurm', i * 2 + k, 'slurm', ['slurm-job-started', 'slurm-job-done'][1 + k],
                case when k = 0 then start_ts else end_ts end, null, null, null, job_id, null, null
            from jobs, range(2) as t (k)
        )

        select md5(source_id || line_no)[:16] as event_id, *, 1 as line_count, 0 as utc_offset_s, true as has_year,
            0.001 as ts_uncertainty_s, 1 as repeat_count, signature || ' on ' || coalesce(node, job_id) as message,
            '{{}}'::json as fields
        from said
    """,
}


@contextmanager
def timed(name: str, costs: dict[str, tuple[float, float]]) -> Iterator[None]:
    """Put the CPU and wall seconds of the block into `costs`."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    costs[name] = time.process_time() - cpu, time.perf_counter() - wall


def make_intake(con: duckdb.DuckDBPyConnection, scale: float) -> None:
    """Schema `intake`, of `scale` times the full size."""
    size = {"attempts": int(ATTEMPTS * scale), "events": int(EVENTS * scale), "nodes": int(NODES * scale), "days": DAYS}
    con.execute("create schema intake")
    con.execute(JOBS.format(**size))
    for table in INTAKE:
        warehouse.create(con, "intake", table)
        con.execute(f"insert into intake.{table.name} by name {ROWS[table.name].format(**size)}")
    con.execute("drop table jobs")


def watched(costs: dict[str, tuple[float, float]]) -> Callable[..., None]:
    """`derive.fill` that writes down what each table costs."""
    fill = derive.fill

    def watch(con: duckdb.DuckDBPyConnection, file: SqlFile) -> None:
        with timed(file.name, costs):
            fill(con, file)

    return watch


def told(title: str, costs: dict[str, tuple[float, float]]) -> None:
    """Print the dearest, and their sum."""
    cpu, wall = (sum(cost[place] for cost in costs.values()) for place in (0, 1))
    print(f"\n{title}: {cpu:.2f} s CPU, {wall:.2f} s wall; the dearest:")
    for name, cost in sorted(costs.items(), key=lambda item: -item[1][0])[:TOLD]:
        print(f"  {cost[0]:7.2f} {cost[1]:7.2f}  {name}")


def main() -> None:
    """Make, derive, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    knowledge = pipeline.knowledge_rows(load_site(), load_signatures(), "ingest")
    tables: dict[str, tuple[float, float]] = {}
    questions: dict[str, tuple[float, float]] = {}
    whole: dict[str, tuple[float, float]] = {}
    derive.fill = watched(tables)
    with tempfile.TemporaryDirectory(prefix="large-") as folder:
        target = Path(folder) / "large.duckdb"
        with warehouse.publishing(target, None, None) as con:
            con.execute(f"set threads = {options.threads}")
            make_intake(con, options.scale)
            derive.load_knowledge(con, knowledge)
            with timed("all of it", whole):
                derive.derive(con)
        told("derived tables", tables)
        with warehouse.open_readonly(target) as con:
            con.execute(f"set threads = {options.threads}")
            for name in answers.load_queries():
                with timed(name, questions):
                    answers.ask(con, name)
        told("questions", questions)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\nderive with macros, comments and views: {whole['all of it'][1]:.2f} s wall; peak memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
