"""What is searched for first must be in every line that a pattern matches."""

import re

import pytest

from incidentlab import scan
from incidentlab.folding import Storms
from incidentlab.pages import Page
from incidentlab.scan import Hyperscan, Scanner
from incidentlab.signatures import load_signatures
from incidentlab.triggers import literals, needs, triggers, unnamed


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"NVRM: Xid \((?P<pci>\S+)\): (?P<code>\d+)", ("NVRM: Xid (",)),
        (r"(?:Bus error|Segmentation fault) on \d", ("Bus error", "Segmentation fault")),
        (r"(?:watchdog )?timed out after \d+ seconds", ("timed out after ",)),
        (r"(?:link failed ){2,3}\d", ("link failed ",)),
        (r"(?P<a>a longer literal)(?P<b> goes on)\b!", ("a longer literal goes on",)),
        (r"\berr: ", ("err: ",)),
        (r"\b(?:rank|gpu):", ()),
        (r"(?i)case does not matter", ()),
        (r"(?si:nor does it here)", ()),
        (r"[a-z]+ or nothing|", ()),
        (r"[[:alpha:]] that Python reads otherwise", ()),
        (r"(", ()),
    ],
)
def test_the_longest_text_that_a_match_needs_is_its_trigger(pattern, expected):
    """Alternatives need all their texts, what may be absent needs none, and what is short or doubtful is no trigger."""
    assert literals(pattern) == expected


def test_every_line_that_a_signature_catches_has_its_trigger():
    """Triggers propose too much, never too little."""
    signatures = load_signatures()
    found = triggers([signature.pattern for signature in signatures])
    for number, signature in enumerate(signatures):
        expressions = [re.compile(trigger.expression) for trigger in found if number in trigger.patterns]
        assert expressions
        for line in signature.catches:
            assert any(expression.search(line) for expression in expressions), (signature.name, line)


def test_every_line_that_a_signature_catches_has_all_that_its_pattern_needs():
    """A line is only refused without a search where no search could find anything."""
    for signature in load_signatures():
        for choice in needs(signature.pattern):
            for line in signature.catches:
                assert any(text in line for text in choice), (signature.name, choice, line)


def test_most_patterns_have_one():
    """What has none is searched as it is, which is slow."""
    without = [signature.name for signature in load_signatures() if not literals(signature.pattern)]
    assert len(without) < 0.1 * len(load_signatures())


def test_a_scanner_without_signatures_finds_nothing():
    """A site may have none."""
    assert list(Scanner([]).candidates(Page(b"NVRM: Xid (PCI:0000:1b:00): 79, x\n", 1, 0), Storms())) == []


def test_a_trigger_that_is_found_in_vain_makes_way(monkeypatch):
    """Chatter that holds a trigger is not looked at for ever; the lines that match are found as before."""
    monkeypatch.setattr(scan, "PATIENCE", 10)
    made = []

    def engine(expressions):
        made.append(expressions)
        return Hyperscan(expressions)

    signature = next(signature for signature in load_signatures() if signature.name == "log-hole")
    scanner = Scanner([signature], engine)
    (trigger,) = literals(signature.pattern)[:1]
    chatter = f"Mar  5 14:03:22 n1 {trigger} chatter {{}}\n"
    text = "".join(map(chatter.format, range(20))) + signature.catches[0] + "\n"
    page = Page(text.encode(), 1, 0)
    first, second = ([found.line_no for found in scanner.candidates(page, Storms())] for _ in range(2))
    assert first == second == [21]
    assert made[-1][0] == unnamed(signature.pattern)
    assert len(made) == 2
