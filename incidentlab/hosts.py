"""Host names as the warehouse spells them, and host lists of any nesting expanded within a limit."""

import re
from functools import lru_cache
from ipaddress import ip_address
from itertools import pairwise
from math import prod

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

MAX_HOSTS = 16_384
"""A list that stands for more hosts is kept unexpanded: no real record names so many, a hostile one may."""

_NOBODY = {"", "(null)", "none", "none assigned", "n/a", "unknown"}
MAX_CHARS = 1 << 20
"""A longer list is kept unexpanded, too."""

_HOSTLIST = re.compile(r"(?:[\w.,\-]|\[[\w.,\-]*\])+", re.ASCII)
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_ITEM = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")
_RANGE = re.compile(r"(\d+)-(\d+)", re.ASCII)
_MAX_DIGITS = 9
_PLAIN = re.compile(r"([a-z][a-z_\-]*)\[(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\]", re.ASCII | re.IGNORECASE)


@lru_cache(maxsize=65_536)
def short(name: str) -> str:
    """The first label of a host name, lower case; an IP address stays whole."""
    name = name.strip().lower()
    try:
        return str(ip_address(name))
    except ValueError:
        return name.partition(".")[0]


@lru_cache(maxsize=256)
def expand(hostlist: str) -> tuple[str, ...]:
    """The hosts of a Slurm host list, short, lower case, in numerical order; none for `(null)` and its like.

    What is no host list, is longer than MAX_CHARS or stands for more than MAX_HOSTS comes back as one name, as it was
    written.
    """
    text = hostlist.strip()
    if text.lower() in _NOBODY:
        return ()
    if len(text) > MAX_CHARS or not _HOSTLIST.fullmatch(text):
        return (text,)
    if "[" not in text and "," not in text:
        return (short(text),)
    if _size(text) > MAX_HOSTS:
        return (text,)
    return _plain(text) or _by_library(text)


def _by_library(text: str) -> tuple[str, ...]:
    try:
        nodes = NodeSet(text, resolver=RESOLVER_NOGROUP)
    except (NodeSetException, AssertionError):  # the latter for a range that it finds too large
        return (text,)
    return tuple(dict.fromkeys(short(node) for node in nodes))


def _plain(text: str) -> tuple[str, ...] | None:
    """The hosts of `gpu[001-004,007]` without the library, which takes longer; None for any other form.

    Ranges have to rise and all numbers to have as many digits, so that order and padding leave no doubt.
    """
    found = _PLAIN.fullmatch(text)
    if not found:
        return None
    ranges = [part.partition("-") for part in found[2].split(",")]
    ends = [end for first, _, last in ranges for end in (first, last or first)]
    width = len(ends[0])
    if width > _MAX_DIGITS or any(len(end) != width for end in ends):
        return None
    spans = list(zip(ends[::2], ends[1::2], strict=True))
    if ends != sorted(ends) or any(last == first for (_, last), (first, _) in pairwise(spans)):
        return None
    numbers = (n for first, last in spans for n in range(int(first), int(last) + 1))
    prefix = found[1].lower()
    return tuple([f"{prefix}{number:0{width}}" for number in numbers])


def _size(text: str) -> int:
    """An upper bound of how many hosts `text` stands for, found without expanding it."""
    return sum(prod(map(_choices, _BRACKET.findall(item))) for item in _ITEM.findall(text))


def _choices(bracket: str) -> int:
    return sum(_span(found) if (found := _RANGE.fullmatch(part)) else 1 for part in bracket.split(","))


def _span(found: re.Match[str]) -> int:
    """How many numbers a range holds; one of more digits than any cluster's is too many."""
    if len(found[0]) > 2 * _MAX_DIGITS + 1:
        return MAX_HOSTS + 1
    return abs(int(found[2]) - int(found[1])) + 1
