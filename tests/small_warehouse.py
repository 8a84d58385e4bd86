"""A warehouse of two runs and eleven interruptions, in memory, for tests of questions and report.

Run `run-70b` on gpu-a01..a04 (32 GPUs) from 2 to 16 March 2026: eight unplanned ends, one planned, one by policy, and
an eleventh attempt that still runs. Run `run-eval` on gpu-b01 (8 GPUs): one end without any log of the node.
Window: 336 h. Exposure: 472 GPU-days. Nine unplanned interruptions, four of them confirmed.
"""

from pathlib import Path

import duckdb

from incidentlab import assets, baselines, derive, sqlfiles, warehouse
from incidentlab.model import Table
from incidentlab.signatures import load_components

STORY = Path(__file__).with_suffix(".sql")


def empty_warehouse(**knowledge: list[dict]) -> duckdb.DuckDBPyConnection:
    """Every table as derivation makes it, but without a row; `knowledge` fills tables of that kind."""
    con = duckdb.connect(":memory:")
    con.execute("set TimeZone = 'UTC'")
    derive.load_knowledge(con, knowledge)
    queries = assets.folder("queries")
    derive.make_macros(con)
    for file in sqlfiles.read_folder(queries / "derive").values():
        warehouse.create(con, "main", Table(file.name, file.purpose, file.columns))
    for question in sqlfiles.read_folder(queries).values():
        derive.store(con, question)
    return con


def known_warehouse() -> duckdb.DuckDBPyConnection:
    """The empty warehouse with the components and published fleets that every warehouse carries."""
    return empty_warehouse(
        components=load_components(),
        baselines=baselines.load_baselines(),
        baseline_causes=baselines.load_causes(),
    )


def small_warehouse() -> duckdb.DuckDBPyConnection:
    """The story told at the head of this module."""
    con = known_warehouse()
    con.execute(STORY.read_text(encoding="utf-8"))
    return con
