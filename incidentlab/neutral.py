"""Text of strangers, made harmless: what would steer a terminal or turn and hide text is spelled out."""

import re

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters, and the invisible ones that reorder or hide text: bidirectional marks, zero-width characters."""


def neutral(text: str, keep: str = "") -> str:
    r"""`text` with control and invisible characters spelled out (`\x1b`, `\u202e`), except those in `keep`."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] in keep else _spelled(found[0]), text)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
