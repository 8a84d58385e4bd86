"""Records that span lines or are objects, turned into one line each; not an envelope itself.

A record's text stands on the line that holds its message; its other lines become blank, so line numbers stay true.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from incidentlab.envelopes import Rewriter

MAX_RECORD_LINES = 10_000
"""A record that does not end by then is given back as it is."""

SHOWN_FIELDS = (
    *("__REALTIME_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP", "_HOSTNAME", "_TRANSPORT", "SYSLOG_IDENTIFIER", "_COMM"),
    *("_PID", "SYSLOG_PID", "MESSAGE"),
)
"""The fields of a journal entry that `short_unix` asks for."""

Compose = Callable[[Sequence[bytes]], tuple[int, bytes] | None]
"""The lines of one record -> the place of its message, and the line to put there."""


def line_by_line(compose: Callable[[bytes], bytes]) -> Callable[[], Rewriter]:
    """A maker of rewriters for formats with one record a line."""

    def rewrite(data: bytes, _is_last: bool) -> bytes:
        return b"\n".join([compose(line) if line else line for line in data.split(b"\n")])

    return lambda: rewrite


def by_records(begins: re.Pattern[bytes], compose: Compose) -> Callable[[], Rewriter]:
    """A maker of rewriters for records whose first line `begins` matches."""

    def make() -> Rewriter:
        held: list[bytes] = []
        open_line: list[bytes] = []

        def rewrite(data: bytes, is_last: bool) -> bytes:
            lines = b"".join([*open_line, data]).split(b"\n")
            tail = lines.pop()
            open_line[:] = [tail]
            out: list[bytes] = []
            for line in [*lines, tail] if is_last and tail else lines:
                if held and (begins.match(line) or len(held) >= MAX_RECORD_LINES):
                    out.extend(_one_line(held, compose))
                    held.clear()
                held.append(line)
            if is_last:
                out.extend(_one_line(held, compose))
            text = b"".join(line + b"\n" for line in out)
            return text[:-1] if is_last and tail else text

        return rewrite

    return make


def _one_line(record: Sequence[bytes], compose: Compose) -> list[bytes]:
    composed = compose(record)
    if composed is None:
        return list(record)
    place, text = composed
    return [text if number == place else b" " for number in range(len(record))]


def short_unix(entry: dict[str, Any]) -> bytes | None:
    """A journal entry as `journalctl -o short-unix` shows it, with the kernel's own clock; None without a time."""
    micros = _text(entry.get("__REALTIME_TIMESTAMP"))
    if not micros.isdecimal() or len(micros) < 15:  # noqa: PLR2004 - microseconds since 1970 have 15 digits or more
        return None
    tag = _text(entry.get("SYSLOG_IDENTIFIER")) or _text(entry.get("_COMM")) or "unknown"
    pid = _text(entry.get("_PID")) or _text(entry.get("SYSLOG_PID"))
    head = f"{micros[:-6]}.{micros[-6:]} {_text(entry.get('_HOSTNAME')) or 'localhost'} "
    if pid or _text(entry.get("_TRANSPORT")) != "kernel":
        head += f"{tag}[{pid or '-'}]: "
    else:
        head += "kernel: " + _kernel_clock(_text(entry.get("_SOURCE_MONOTONIC_TIMESTAMP")))
        head += "" if tag in {"kernel", "unknown"} else f"{tag}: "
    message = _text(entry.get("MESSAGE"))
    return (head + message.replace("\n", "#012")).encode("utf-8", "backslashreplace")


def _kernel_clock(micros: str) -> str:
    return f"[{int(micros) / 1e6:12.6f}] " if micros.isdecimal() and len(micros) <= 18 else ""  # noqa: PLR2004


def _text(value: Any) -> str:
    """A field's text: binary values are arrays of numbers, repeated ones arrays of texts, too large ones null."""
    if isinstance(value, list):
        if value and all(isinstance(item, int) and 0 <= item < 256 for item in value):  # noqa: PLR2004 - bytes
            return bytes(value).decode("utf-8", "backslashreplace")
        return _text(value[0]) if value else ""
    return value if isinstance(value, str) else ""
