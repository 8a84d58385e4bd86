"""Host names as the warehouse spells them, and host lists of any nesting expanded within a limit."""

import re
from functools import lru_cache
from ipaddress import ip_address
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
    try:
        nodes = NodeSet(text, resolver=RESOLVER_NOGROUP)
    except (NodeSetException, AssertionError):  # the latter for a range that it finds too large
        return (text,)
    return tuple(dict.fromkeys(short(node) for node in nodes))


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
