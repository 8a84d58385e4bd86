"""The error file that a rank leaves behind: `{"message": {"message": ..., "extraInfo": {...}}}`, one object a file.

Written by pytorch torch/distributed/elastic/multiprocessing/errors/error_handler.py; without `@record` the message is
a plain string.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from incidentlab import stamps
from incidentlab.model import Row, Stamp
from incidentlab.parsers import Lines, Parser, Sample, Unparsed, as_json

_MAX_MESSAGE = 2_000
_MAX_FILE = 4_000_000


class _Extra(msgspec.Struct):
    py_callstack: str = ""
    timestamp: int | str = ""


class _Message(msgspec.Struct):
    message: str = ""
    extraInfo: _Extra | None = None  # noqa: N815 - the name in the file


class _ErrorFile(msgspec.Struct):
    message: _Message | str


_DECODER = msgspec.json.Decoder(_ErrorFile)


def _recognise(head: bytes) -> bool:
    return head.lstrip().startswith((b'{"message": {"message": ', b'{"message":{"message":'))


def _parse(lines: Lines) -> Iterator[Row | Unparsed]:
    kept, size = [], 0
    for line_no, line in lines:
        size += len(line)
        if size > _MAX_FILE:
            yield Unparsed(line_no, "the file is larger than any error file")
        else:
            kept.append((line_no, line))
    try:
        content = _DECODER.decode("\n".join(line for _, line in kept)) if kept else None
    except (msgspec.MsgspecError, RecursionError) as error:
        yield from (Unparsed(line_no, f"not an error file: {error}") for line_no, _ in kept)
        return
    if content:
        yield Row("events", {"line_no": kept[0][0], "line_count": len(kept), **_values(content.message)})


def _values(error: _Message | str) -> dict[str, Any]:
    message = error if isinstance(error, str) else error.message
    extra = (None if isinstance(error, str) else error.extraInfo) or _Extra()
    stamp = stamps.from_epoch(str(extra.timestamp)) or Stamp()
    last = extra.py_callstack.strip().rpartition("\n")[2].strip()
    fields = {"exception": message.partition(":")[0], "py_callstack": last}
    return {
        "signature": "torchelastic-error-file",
        "local_ts": stamp.local_ts,
        "utc_offset_s": stamp.utc_offset_s,
        "has_year": True,
        "ts_uncertainty_s": stamp.uncertainty_s,
        "message": f"torchelastic-error-file: {message}"[:_MAX_MESSAGE],
        "fields": as_json({name: value[:_MAX_MESSAGE] for name, value in fields.items() if value}),
    }


_SAMPLE = (
    '{"message": {"message": "ValueError: loss is nan", "extraInfo": {"py_callstack": "Traceback (most recent call '
    'last):\\n  File \\"train.py\\", line 8, in main\\nValueError: loss is nan\\n", "timestamp": "1772525411"}}}'
)

PARSER = Parser(
    name="torchelastic-error",
    channel="job",
    recognise=_recognise,
    parse=_parse,
    samples=(
        Sample(
            _SAMPLE,
            (
                Row(
                    "events",
                    {
                        "line_no": 1,
                        "signature": "torchelastic-error-file",
                        "local_ts": datetime.fromisoformat("2026-03-03T08:10:11"),
                        "utc_offset_s": 0,
                        "message": "torchelastic-error-file: ValueError: loss is nan",
                        "fields": '{"exception": "ValueError", "py_callstack": "ValueError: loss is nan"}',
                    },
                ),
            ),
        ),
    ),
)
