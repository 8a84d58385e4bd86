"""Records that span lines or are objects, turned into one line each; not an envelope itself.

A record's text stands on the line that holds its message; its other lines become blank, so line numbers stay true.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from incidentlab.envelopes import Rewriter

MAX_RECORD_LINES = 10_000
"""A record that does not end by then is taken as it is so far."""

MAX_RECORD_BYTES = 4 << 20
"""The same for its size; a line that does not end by then is given back as it is."""

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
    return lambda: _Records(begins, compose)


class _Records:
    """The rewriter of one source: holds the record that is not complete yet, within the limits above."""

    def __init__(self, begins: re.Pattern[bytes], compose: Compose) -> None:
        self._begins = begins
        self._compose = compose
        self._held: list[bytes] = []
        self._size = 0
        self._tail = b""
        self._is_endless = False

    def __call__(self, data: bytes, is_last: bool) -> bytes:
        *lines, tail = (self._tail + data).split(b"\n")
        out: list[bytes] = []
        if self._is_endless and lines:  # the end of a line whose beginning was given back
            out.append(lines.pop(0))
            self._is_endless = False
        for line in [*lines, tail] if is_last and tail else lines:
            out.extend(self._next(line))
        if is_last:
            out.extend(self._done())
            return b"\n".join(out) if tail else _ended(out)
        self._is_endless = self._is_endless or len(tail) > MAX_RECORD_BYTES
        self._tail = b"" if self._is_endless else tail
        return _ended([*out, *self._done()]) + tail if self._is_endless else _ended(out)

    def _next(self, line: bytes) -> list[bytes]:
        """What is complete now that `line` is known."""
        is_full = len(self._held) >= MAX_RECORD_LINES or self._size > MAX_RECORD_BYTES
        done = self._done() if is_full or self._begins.match(line) else []
        self._held.append(line)
        self._size += len(line)
        return done

    def _done(self) -> list[bytes]:
        """The record that is held, as lines."""
        record, self._held, self._size = self._held, [], 0
        composed = self._compose(record) if record else None
        if composed is None:
            return record
        place, text = composed
        return [text if number == place else b" " for number in range(len(record))]


def _ended(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


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
