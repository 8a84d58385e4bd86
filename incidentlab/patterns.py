"""What patterns of log lines keep to, in signatures as in a site's settings: that all engines find the same lines."""

import re
import warnings
from collections.abc import Iterable, Iterator
from re import _constants as ops  # type: ignore[attr-defined] # the only parser of patterns that Python has
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import re2

_ANCHORS = {
    ops.AT_BEGINNING: "^",
    ops.AT_END: "$",
    ops.AT_BEGINNING_STRING: r"\A",
    ops.AT_END_STRING: r"\Z",
}
_OF_LINES = {ops.AT_BEGINNING, ops.AT_END}
"""With the flag `m` these stand for the ends of a line, and not for those of a page."""

UNREADABLE = (re.error, Warning, OverflowError, RecursionError)
"""What `parsed` raises."""

_LINE_ENDS = {ord("\n"): r"\n", ord("\r"): r"\r"}


def parsed(pattern: str) -> Any:
    """The parse tree of a pattern; one of UNREADABLE where Python refuses it or reads it otherwise than the engines."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # for what Python finds doubtful
        return _parser.parse(pattern)


def faults(pattern: str) -> Iterator[str]:
    """Why a pattern cannot be used, one sentence each."""
    quiet = re2.Options()
    quiet.log_errors = False
    try:
        compiled = re2.compile(pattern, quiet)
        parsed(pattern)
        re.compile(pattern)
    except (re2.error, *UNREADABLE) as error:
        words = error.args[0]
        yield f"{pattern!r} is no regular expression: {words.decode() if isinstance(words, bytes) else words}"
        return
    if compiled.search(""):
        yield f"{pattern!r} matches the empty string"


def line_faults(pattern: str) -> Iterator[str]:
    """The same for a pattern of one line; it is searched in whole pages, where `^`, `$` and line feeds match nothing.

    >>> list(line_faults("^saved"))
    ["'^saved' has ^, but whole pages are searched: leave it out, or write (?m:^) if the raw line begins there"]
    """
    found = list(faults(pattern))
    yield from found
    if found:
        return
    tree = parsed(pattern)
    for place in sorted(set(_places(tree, bool(tree.state.flags & re.MULTILINE)))):
        way_out = ", or write (?m:^) if the raw line begins there" if place == "^" else ""
        yield f"{pattern!r} has {place}, but whole pages are searched: leave it out{way_out}"


def _places(tree: Iterable[tuple[Any, Any]], has_lines: bool) -> Iterator[str]:
    """What a parsed pattern names of a text and a line has not."""
    for op, value in tree:
        if op is ops.AT and value in _ANCHORS and not (has_lines and value in _OF_LINES):
            yield _ANCHORS[value]
        elif op is ops.LITERAL and value in _LINE_ENDS:
            yield _LINE_ENDS[value]
        elif op is ops.SUBPATTERN:
            _, added, removed, inner = value
            yield from _places(inner, bool((has_lines or added & re.MULTILINE) and not removed & re.MULTILINE))
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield from _places(branch, has_lines)
        elif op in {ops.MAX_REPEAT, ops.MIN_REPEAT}:
            yield from _places(value[-1], has_lines)
