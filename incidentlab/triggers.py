"""What a line must contain for a pattern to match: literal texts, found by walking the pattern's parse tree.

Hundreds of literals are searched several times as fast as hundreds of patterns with repeats, and are compiled in a
hundredth of the time. A pattern without a telling literal is its own trigger.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as ops  # type: ignore[attr-defined] # the only parser of patterns that Python has
from typing import Any

from incidentlab.patterns import UNREADABLE, parsed

LEAST_CHARS = 5
"""Shorter literals (`INFO`, ` error: `) occur everywhere: the pattern itself is the better trigger."""

_BEYOND_ASCII = r"(?:^|[\x00-\x7f])[\x80-\xff]"
"""Begins what is no ASCII. There no pattern is a trigger of its own: it is searched in bytes, and means characters."""

_PRICE = 0.2
"""What each further alternative costs, in characters: more of them are found more often."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """An expression to search for, and the numbers of the patterns that may match where it is found."""

    expression: str
    patterns: tuple[int, ...]


def triggers(patterns: Sequence[str], whole: Collection[int] = ()) -> tuple[Trigger, ...]:
    """Expressions of which at least one matches every line that one of `patterns` matches.

    The patterns whose numbers are in `whole` are searched as they are.
    """
    owners: dict[str, list[int]] = {}
    for number, pattern in enumerate(patterns):
        found = () if number in whole else literals(pattern)
        expressions = [re.escape(literal) for literal in found] or _own(pattern)
        for expression in expressions:
            owners.setdefault(expression, []).append(number)
    return tuple(Trigger(expression, tuple(numbers)) for expression, numbers in owners.items())


def _own(pattern: str) -> list[str]:
    """What finds the lines of a pattern without a telling text: itself, where bytes are characters.

    The ends of lines are left out: a state of a progress bar has them as well, between carriage returns.
    """
    if not pattern.isascii():
        return [re.escape(text) for text in max(needs(pattern), key=_worth, default=())] or [r"\S"]
    return [unnamed(pattern).replace("(?m:^)", "").replace("(?m:$)", ""), _BEYOND_ASCII]


def unnamed(pattern: str) -> str:
    """The pattern without group names, which may occur once in an expression."""
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def literals(pattern: str) -> tuple[str, ...]:
    r"""Texts of which one occurs in whatever `pattern` matches; none if there are no telling ones.

    >>> literals(r"(?:Xid|SXid) \(PCI:(?P<pci>\S+)\): (?P<code>\d+)"), literals(r"\d+ (?:GB|[MK]B)")
    ((' (PCI:',), ())
    """
    found = max(needs(pattern), key=_worth, default=())
    return found if found and min(map(len, found)) >= LEAST_CHARS else ()


@lru_cache(maxsize=4096)
def needs(pattern: str) -> tuple[tuple[str, ...], ...]:
    r"""Choices of texts: whatever `pattern` matches has a text of each choice in it.

    >>> needs(r"Xid \((?P<pci>\S+)\): (?:79|119), (?P<text>.+)")
    (('Xid (',), ('): ',), ('119', '79'), (', ',))
    """
    try:
        tree = parsed(pattern)
    except UNREADABLE:
        return ()
    if tree.state.flags & re.IGNORECASE or "(?i" in pattern:
        return ()
    return tuple(_choices(tree))


def _needed(tree: Iterable[tuple[Any, Any]]) -> tuple[str, ...]:
    """The best of the literals that a sequence cannot do without."""
    return max(_choices(tree), key=_worth, default=())


def _choices(tree: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, ...]]:
    """What a sequence cannot do without, in its order."""
    run = ""
    for op, value in tree:
        text = _text(op, value)
        if text is not None:
            run += text
            continue
        yield from filter(_is_text, ((run,), _alternatives(op, value)))
        run = ""
    if run:
        yield (run,)


def _worth(choice: tuple[str, ...]) -> float:
    return min(map(len, choice), default=0) - _PRICE * len(choice)


def _text(op: Any, value: Any) -> str | None:
    """What an element matches, if that is a single text."""
    if op is ops.LITERAL:
        return chr(value)
    if op is not ops.SUBPATTERN or _has_flags(value):
        return None
    parts = [_text(*element) for element in value[-1]]
    return None if None in parts else "".join(filter(None, parts))


def _alternatives(op: Any, value: Any) -> tuple[str, ...]:
    """The literals that an element cannot do without; none if it can."""
    if op is ops.SUBPATTERN and not _has_flags(value):
        return _needed(value[-1])
    if op in {ops.MAX_REPEAT, ops.MIN_REPEAT} and value[0] > 0:
        return _needed(value[-1])
    if op is ops.BRANCH:
        branches = [_needed(branch) for branch in value[1]]
        return tuple(sorted({text for branch in branches for text in branch})) if all(map(_is_text, branches)) else ()
    return ()


def _has_flags(group: Any) -> bool:
    """Whether a group changes how it is read, as `(?si:...)` does."""
    _, added, removed, _ = group
    return bool(added or removed)


def _is_text(choice: tuple[str, ...]) -> bool:
    """Whether there is a choice, and none of it is empty."""
    return bool(choice) and all(choice)
