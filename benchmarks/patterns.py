"""The signatures' patterns as other programs take them; each finds the same lines."""

import re

_TOKEN = re.compile(r"\(\?(?:P<\w+>|[a-z]*:)|\\x[0-9a-f]{2}|\\.|\[\^?(?:\\.|[^\]\\])*\]|[*+?}]\?|.", re.DOTALL)
_MEMBER = re.compile(r"\\x[0-9a-f]{2}|\\.|.", re.DOTALL)
_CLASSES = {r"\d": "0-9", r"\w": "[:alnum:]_", r"\s": "[:space:]", r"\r": "\r", r"\t": "\t", r"\n": ""}
_AMBIGUOUS = {"]", "-"}
"""What POSIX takes for itself inside brackets unless it stands first or last."""


def unnamed(pattern: str) -> str:
    """The pattern without group names, which ripgrep refuses to see twice in one list."""
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def extended(pattern: str) -> str:
    r"""The pattern as an extended regular expression of POSIX with GNU's \w, \s, \S and \b.

    Groups lose their names and flags, which matter only to texts of several lines; lazy repeats become greedy ones,
    which find the same lines.
    """
    return "".join(map(_translated, _TOKEN.findall(pattern)))


def _translated(part: str) -> str:
    if part.startswith("(?"):
        return "("
    if part.startswith("["):
        return _brackets(part)
    if part.startswith(r"\x"):
        return _character(part)
    if part == r"\d":
        return "[0-9]"
    is_lazy = len(part) > 1 and part.endswith("?") and not part.startswith("\\")
    return part[0] if is_lazy else part


def _character(escape: str) -> str:
    r"""What \x1b stands for."""
    return bytes.fromhex(escape[2:]).decode("latin-1")


def _brackets(part: str) -> str:
    """A set of characters: a backslash is itself there, so what was escaped is spelt out or moved."""
    negation = "^" if part.startswith("[^") else ""
    members = [_member(member) for member in _MEMBER.findall(part[1 + len(negation) : -1])]
    kept = "".join(member for member, is_moved in members if not is_moved)
    moved = {member for member, is_moved in members if is_moved}
    return f"[{negation}{']' if ']' in moved else ''}{kept}{'-' if '-' in moved else ''}]"


def _member(member: str) -> tuple[str, bool]:
    """One member as POSIX writes it, and whether its place matters."""
    if member in _CLASSES:
        return _CLASSES[member], False
    if member.startswith(r"\x"):
        return _character(member), False
    if not member.startswith("\\"):
        return member, False
    if member[1].isalnum():
        raise ValueError(f"no member of a POSIX set: {member}")
    return member[1], member[1] in _AMBIGUOUS
