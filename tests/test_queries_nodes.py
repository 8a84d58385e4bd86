"""Nodes are tested against chance: the figures are those of scipy, and a verdict needs proof."""

import duckdb
import pytest
from scipy.stats import poisson
from small_warehouse import known_warehouse, small_warehouse

from incidentlab import answers


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    """The warehouse of two runs and eleven interruptions."""
    return small_warehouse()


def nodes_of(*interruptions: int, confidence: str = "confirmed") -> duckdb.DuckDBPyConnection:
    """Nodes n0, n1 ... of equal exposure with so many interruptions each."""
    con = known_warehouse()
    for place, count in enumerate(interruptions):
        con.execute(f"""
            insert into exposure_daily (day, node, gpu_count, allocated_gpu_h)
            values ('2026-01-01', 'n{place}', 8, 192);
            insert into interruptions (interruption_id, ts, bucket, component, confidence, node)
            select 'i{place}-' || n, '2026-01-01 00:00Z', 'unplanned', 'gpu.hbm', '{confidence}', 'n{place}'
            from range({count}) as numbers (n);
        """)
    return con


def test_a_lemon_beats_chance() -> None:
    """Six of ten interruptions on one of 41 nodes: expected 4/40 = 0.1, p as scipy says, q = 41 p."""
    row = answers.ask(nodes_of(6, *[1] * 4, *[0] * 36), "node_ranking").row(0, named=True)
    assert (row["node"], row["verdict"], row["causes"]) == ("n0", "lemon", "GPU HBM3 Memory 6")
    assert row["expected"] == pytest.approx(0.1)
    assert row["p_value"] == pytest.approx(poisson.sf(5, 0.1), rel=1e-6)
    assert row["q_value"] == pytest.approx(41 * row["p_value"])


@pytest.mark.parametrize(("others", "p_value"), [(198, 0.09), (20, 0.0012)])
def test_two_on_one_node_of_a_large_fleet_prove_nothing(others: int, p_value: float) -> None:
    """Among 400 nodes, two interruptions on one are chance even where that node alone would stand out."""
    frame = answers.ask(nodes_of(2, *[1] * others, *[0] * (399 - others)), "node_ranking")
    assert frame["p_value"][0] == pytest.approx(poisson.sf(1, others / 399)) == pytest.approx(p_value, rel=0.1)
    assert frame["verdict"].value_counts(sort=True).rows() == [("one-off", others), ("chance", 1)]


def test_no_lemon_without_confirmed_causes() -> None:
    """The same six interruptions, only suspected, are something to watch."""
    frame = answers.ask(nodes_of(6, *[1] * 4, *[0] * 36, confidence="suspected"), "node_ranking")
    assert frame["verdict"][0] == "watch"


@pytest.mark.parametrize(("confirmed", "verdict"), [(1, "watch"), (2, "lemon")])
def test_a_lemon_needs_two_confirmed_causes(confirmed: int, verdict: str) -> None:
    """Of six interruptions that chance does not explain, one with direct evidence may be an accident, two are not."""
    con = nodes_of(6, *[1] * 4, *[0] * 36, confidence="suspected")
    con.execute(f"update interruptions set confidence = 'confirmed' where interruption_id < 'i0-{confirmed}'")
    row = answers.ask(con, "node_ranking").row(0, named=True)
    assert (row["confirmed"], row["suspected"], row["verdict"]) == (confirmed, 6 - confirmed, verdict)


@pytest.mark.parametrize(("others", "q_value", "verdict"), [(19, 0.0499, "lemon"), (18, 0.0552, "chance")])
def test_a_lemon_is_beyond_one_chance_in_twenty(others: int, q_value: float, verdict: str) -> None:
    """Three on one node, five on the others: 5/19 or 5/18 are expected, and scipy gives 20 or 19 times the tail."""
    frame = answers.ask(nodes_of(3, *[1] * 5, *[0] * (others - 5)), "node_ranking")
    assert frame["q_value"][0] == pytest.approx((others + 1) * poisson.sf(2, 5 / others))
    assert (round(frame["q_value"][0], 4), frame["verdict"][0]) == (q_value, verdict)


def test_software_accuses_no_node() -> None:
    """A script that crashed five times on one node makes no ranking of nodes."""
    con = nodes_of(5, 1, 1)
    con.execute("update interruptions set component = 'software.user_code'")
    assert answers.ask(con, "node_ranking").is_empty()


def test_a_rate_of_others_that_is_unknown_gives_no_chance() -> None:
    """Where no other node was ever accused, there is no rate to compare with: no p, and never a lemon."""
    row = answers.ask(nodes_of(5, 0), "node_ranking").row(0, named=True)
    assert (row["p_value"], row["q_value"], row["verdict"]) == (None, None, "watch")


def test_adjusted_chances_are_monotone() -> None:
    """Benjamini and Hochberg's q never falls below p, never above 1, and keeps the order of p."""
    frame = answers.ask(nodes_of(5, 4, 3, 2, 1, 1, *[0] * 30), "node_ranking").sort("p_value")
    assert frame["q_value"].is_sorted()
    assert (frame["q_value"] >= frame["p_value"]).all()
    assert frame["q_value"].max() <= 1


def test_episodes_without_logs_are_unknown(con: duckdb.DuckDBPyConnection) -> None:
    """A node whose logs are missing has no number of episodes; one with silent logs has none of them."""
    episodes = dict(answers.ask(con, "node_ranking").select("node", "episodes").iter_rows())
    assert episodes == {"gpu-a01": 2, "gpu-a02": 1, "gpu-a03": 0, "gpu-a04": 1, "gpu-b01": None}


@pytest.mark.parametrize("count", [20, 60, 300])
def test_the_chance_of_a_strong_lemon_is_small_and_not_zero(count: int) -> None:
    """However many there are, p is the upper tail as scipy gives it: 1 minus the rest would be 0."""
    row = answers.ask(nodes_of(count, *[1] * 4, *[0] * 36), "node_ranking").row(0, named=True)
    assert row["p_value"] == pytest.approx(poisson.sf(count - 1, 0.1), rel=1e-9, abs=1e-310)


def test_the_chance_of_what_is_expected_is_the_tail_too() -> None:
    """On a node with fewer interruptions than the rest predicts, p is large and still right."""
    frame = answers.ask(nodes_of(40, 50, 60), "node_ranking").sort("node")
    assert frame["p_value"].to_list() == pytest.approx([poisson.sf(39, 55), poisson.sf(49, 50), poisson.sf(59, 45)])
