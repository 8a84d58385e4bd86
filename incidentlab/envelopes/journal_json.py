"""`journalctl -o json`, `json-seq`, `json-pretty`, `export` and `verbose`, read as its `short-unix` lines.

Source: systemd `docs/JOURNAL_EXPORT_FORMATS.md`. The journal keeps a program's name apart from its message, and may
give a message as an array of bytes: a signature is searched only after both have been put together.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict

import msgspec

from incidentlab.envelopes import Envelope
from incidentlab.envelopes._records import SHOWN_FIELDS, by_records, line_by_line, short_unix
from incidentlab.envelopes.syslog import unix

# Mon 2026-11-30 16:45:22.707810 CET [s=0e11...;i=433;b=bf5c...;m=138a51cf7;t=661804c37f562;x=b715...]
_VERBOSE = r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d [^\n\[]+\[s=[0-9a-f]+;[^\n]*;t=([0-9a-f]{12,15});"
_VERBOSE_HEAD = re.compile(_VERBOSE.encode())
_FIELD = re.compile(rb"\s*([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)
_BINARY_FIELD = re.compile(rb"\s*[A-Z_][A-Z0-9_]*")
_LENGTH_BYTES = 8
# Keys that it does not know are skipped by the decoder, which makes it three times as fast.
_DECODER: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(
    TypedDict("Fields", dict.fromkeys(SHOWN_FIELDS, Any), total=False)  # type: ignore[operator]
)


def _entry(text: bytes) -> dict[str, Any]:
    """The fields of one JSON object that the short form shows; none if it is no object."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _object(line: bytes) -> bytes:
    """One object of json, json-sse (`data: {`) or json-seq (RS in front); what is none is left alone."""
    return short_unix(_entry(line.lstrip(b"\x1e").removeprefix(b"data: "))) or line


def _pretty(record: Sequence[bytes]) -> tuple[int, bytes] | None:
    return _placed(record, _entry(b"\n".join(record)), rb'\s*"MESSAGE"')


def _fields(record: Sequence[bytes]) -> tuple[int, bytes] | None:
    """Lines `KEY=value`, or `KEY`, then eight bytes of length and the value; verbose has its time in its head."""
    entry: dict[str, str] = {}
    if found := _VERBOSE_HEAD.match(record[0]):
        entry["__REALTIME_TIMESTAMP"] = str(int(found[1], 16))
    binary = ""
    for line in record:
        if binary and len(line) > _LENGTH_BYTES:
            entry[binary], binary = line[_LENGTH_BYTES:].decode("utf-8", "backslashreplace"), ""
        elif found := _FIELD.match(line):
            entry.setdefault(found[1].decode(), found[2].decode("utf-8", "backslashreplace"))
        elif _BINARY_FIELD.fullmatch(line):
            binary = line.strip().decode()
    return _placed(record, entry, rb"\s*MESSAGE(?:=|$)")


def _placed(record: Sequence[bytes], entry: dict[str, Any], message: bytes) -> tuple[int, bytes] | None:
    text = short_unix(entry)
    place = next((number for number, line in enumerate(record) if re.match(message, line)), None)
    return None if text is None or place is None else (place, text)


_ENTRY = (
    '"__REALTIME_TIMESTAMP":"1772719402123456","_HOSTNAME":"gpu0412","_TRANSPORT":"kernel",'
    '"_SOURCE_MONOTONIC_TIMESTAMP":"412345678901","SYSLOG_IDENTIFIER":"NVRM","MESSAGE":'
)
_EXPECTED = {
    "text": "NVRM: Xid (PCI:0000:1b:00): 79, x",
    "channel": "kernel",
    "host": "gpu0412",
    "local_ts": datetime.fromisoformat("2026-03-05T14:03:22.123456"),
    "utc_offset_s": 0,
    "uptime_s": 412345.678901,
}
_BYTES = list(b"Xid (PCI:0000:1b:00): 79, x")
_EXPORT = """__REALTIME_TIMESTAMP=1772719402123456
_HOSTNAME=gpu0412
_TRANSPORT=kernel
_SOURCE_MONOTONIC_TIMESTAMP=412345678901
SYSLOG_IDENTIFIER=NVRM
MESSAGE=Xid (PCI:0000:1b:00): 79, x"""
_PRETTY = ("{" + _ENTRY).replace(',"', ',\n"').replace("{", "{\n") + '"Xid (PCI:0000:1b:00): 79, x"\n}'
_VERBOSE_ENTRY = f"Thu 2026-03-05 14:03:22.123456 UTC [s=0e;i=4;t={1772719402123456:x};x=b7]" + "".join(
    f"\n    {field}" for field in _EXPORT.split("\n")[1:]
)
_DAEMON_ENTRY = (
    '{"__REALTIME_TIMESTAMP":"1772719402123456","_HOSTNAME":"gpu0412","_PID":"77",'
    '"SYSLOG_IDENTIFIER":"sshd","MESSAGE":"a\\nb"}'
)

ENVELOPES = (
    Envelope(
        "journal-json",
        None,
        outer=True,
        peel=unix,
        opening=r'(?:\x1e|data: )?\{(?=[^\n]*"__REALTIME_TIMESTAMP" ?:)',
        rewriter=line_by_line(_object),
        is_line_by_line=True,
        samples=(
            (f'{{{_ENTRY}"Xid (PCI:0000:1b:00): 79, x"}}', _EXPECTED),
            (f"\x1e{{{_ENTRY}{_BYTES}}}", _EXPECTED),
            (
                _DAEMON_ENTRY,
                {"text": "a#012b", "channel": "daemon", "tag": "sshd"},
            ),
        ),
    ),
    Envelope(
        "journal-json-pretty",
        None,
        outer=True,
        peel=unix,
        opening=r'\{[ \t\r]*\n\s*"[A-Z_]+" ?: ?',
        rewriter=by_records(re.compile(rb"\{"), _pretty),
        samples=((_PRETTY, _EXPECTED),),
    ),
    Envelope(
        "journal-export",
        None,
        outer=True,
        peel=unix,
        opening=r"__(?:CURSOR|REALTIME_TIMESTAMP)=",
        rewriter=by_records(re.compile(rb"$"), _fields),
        samples=((_EXPORT, _EXPECTED),),
    ),
    Envelope(
        "journal-verbose",
        None,
        outer=True,
        peel=unix,
        opening=_VERBOSE,
        rewriter=by_records(_VERBOSE_HEAD, _fields),
        samples=((_VERBOSE_ENTRY, _EXPECTED),),
    ),
)
