"""Patterns that would match nothing, or not everywhere the same, are refused with the reason."""

import pytest

from incidentlab.patterns import faults, line_faults


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        (r"^step \d+", ["^"]),
        (r"step \d+$", ["$"]),
        (r"(?:^|\])step \d+", ["^"]),
        (r"(?:x(?:y|^z)+)?step", ["^"]),
        (r"\Astep", [r"\A"]),
        (r"(?m)\Astep", [r"\A"]),
        (r"(?m:^)step$", ["$"]),
        (r"(?m:(?-m:^)step)", ["^"]),
        (r"saved\r", [r"\r"]),
        ("one\ntwo", [r"\n"]),
        (r"(?m)^step (\d+)$", []),
        (r"[^^$\]\n]step", []),
        (r"costs \$5 \^ \\", []),
        (r"\bstep\b \d+\b", []),
    ],
)
def test_places_that_a_page_does_not_have_are_named(pattern: str, places: list[str]) -> None:
    """Anchors of a text and line ends are refused at any depth; those of a line, and what only looks alike, are not."""
    found = [fault.removeprefix(f"{pattern!r} has ").partition(",")[0] for fault in line_faults(pattern)]

    assert found == places


@pytest.mark.parametrize(
    "pattern", ["(", "(?=x)", "a{99999999999}", "(" * 5000 + "x" + ")" * 5000, r"x\z", r"x\Z", "[[:alpha:]]"]
)
def test_what_one_engine_does_not_take_is_refused(pattern: str) -> None:
    """Look-ahead, absurd counts and depths, and what Python reads otherwise end in one sentence."""
    (fault,) = line_faults(pattern)

    assert "is no regular expression: " in fault


def test_a_block_may_have_lines() -> None:
    """What is searched in several lines may name their ends."""
    assert list(faults("^rank: \\d+\ncode: \\d+$")) == []
