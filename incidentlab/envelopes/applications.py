"""Lines of programs that begin with an ISO stamp: Python's logging in its usual layouts, and any other.

Sources: Python `logging` (asctime), Megatron-LM `megatron/training/training.py`, DeepSpeed
`deepspeed/utils/logging.py`, the loggers of NeMo, transformers and torchtitan.
"""

import re
from datetime import datetime

from incidentlab import stamps
from incidentlab.envelopes import Envelope
from incidentlab.model import Prefix

_LEVEL = r"(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|TRACE)"
# 2026-03-05 14:03:22,123 - root - INFO - ...   2026-03-05T14:03:22.123Z [ERROR] ...   2026-03-05 14:03:22 ...
_STAMPED = re.compile(
    # Comma and zone together are dmesg's own.
    rf"(?!\S{{19}},\d{{6}}{stamps.ZONE})(?P<stamp>\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?{stamps.ZONE}?)"
    rf"(?:(?: - [\w.]{{1,80}})?(?: -|:)? +\[?{_LEVEL}\]?(?: - |: ?| |$)| - |: | )",
)
#  [2026-03-05 14:03:22.123456] iteration ...   [2026-03-05 14:03:22,123] [INFO] [engine.py:12:step] ...
_BRACKETED = re.compile(
    rf" ?\[(?P<stamp>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?)\] ?"
    rf"(?:\[{_LEVEL}\] )?(?:\[[\w.]{{1,80}}:\d+:\w{{1,80}}\] )?(?:[\w.]{{1,120}}: \[{_LEVEL}\] )?",
)
# [NeMo I 2026-03-05 14:03:22 nemo_logging:393] ...
_NEMO = re.compile(rf"\[NeMo [A-Z] (?P<stamp>{stamps.ISO}) [\w.]{{1,80}}:\d+\] ?")
# [INFO|trainer.py:2421] 2026-03-05 14:03:22,123 >> ...
_TRANSFORMERS = re.compile(rf"\[{_LEVEL}\|[\w.]{{1,80}}:\d+\] (?P<stamp>{stamps.ISO}) >> ?")
# ERROR:torch.distributed.elastic.multiprocessing.api:failed ...
_BASIC = re.compile(rf"{_LEVEL}:[\w.]{{1,120}}: ?")
# 2026-03-05_14:03:22.123+0100: [E] ...
_GPFS = re.compile(rf"(?P<stamp>\d{{4}}-\d\d-\d\d_\d\d:\d\d:\d\d\.\d{{3}}{stamps.ZONE}): ")


def _stamped(pattern: re.Pattern[str], channel: str, line: str) -> Prefix | None:
    """The prefix that `pattern` finds, with its group `stamp`; a date that does not exist is no prefix."""
    if not (found := pattern.match(line)):
        return None
    stamp = stamps.from_iso(found["stamp"])
    return Prefix(line[found.end() :], stamp, channel) if stamp else None


def _titan(line: str) -> Prefix | None:
    return Prefix(line[len("[titan] ") :], channel="job") if line.startswith("[titan] ") else None


def _basic(line: str) -> Prefix | None:
    found = _BASIC.match(line)
    return Prefix(line[found.end() :], channel="job") if found else None


_AT = datetime.fromisoformat("2026-03-05T14:03:22")
_AT_MS = _AT.replace(microsecond=123000)

ENVELOPES = (
    Envelope(
        "python-logging",
        "job",
        outer=True,
        peel=lambda line: _stamped(_STAMPED, "job", line),
        starts="0123456789",
        samples=(
            ("2026-03-05 14:03:22,123 - INFO - step 2/20", {"text": "step 2/20", "local_ts": _AT_MS, "channel": "job"}),
            ("[titan] 2026-03-05 14:03:22,123 - root - INFO - step:  1", {"text": "step:  1", "local_ts": _AT_MS}),
            ("2026-03-05T14:03:22.123Z [ERROR] lost", {"text": "lost", "local_ts": _AT_MS, "utc_offset_s": 0}),
            ("2026-03-05 14:03:22 lost", {"text": "lost", "local_ts": _AT, "uncertainty_s": 1.0}),
        ),
    ),
    Envelope(
        "bracketed-stamp",
        "job",
        outer=True,
        peel=lambda line: _stamped(_BRACKETED, "job", line),
        starts=" [",
        samples=(
            (" [2026-03-05 14:03:22.123000] iteration 1/ 9", {"text": "iteration 1/ 9", "local_ts": _AT_MS}),
            ("[2026-03-05 14:03:22,123] [INFO] [engine.py:12:step] lost", {"text": "lost", "local_ts": _AT_MS}),
            ("[rank3]:[2026-03-05 14:03:22,123] torch.a.b: [ERROR] lost", {"text": "lost", "rank": 3}),
        ),
    ),
    Envelope(
        "nemo",
        "job",
        outer=True,
        peel=lambda line: _stamped(_NEMO, "job", line),
        starts="[",
        samples=(("[NeMo I 2026-03-05 14:03:22 nemo_logging:393] lost", {"text": "lost", "local_ts": _AT}),),
    ),
    Envelope(
        "transformers",
        "job",
        outer=True,
        peel=lambda line: _stamped(_TRANSFORMERS, "job", line),
        starts="[",
        samples=(("[INFO|trainer.py:2421] 2026-03-05 14:03:22,123 >> lost", {"text": "lost", "local_ts": _AT_MS}),),
    ),
    Envelope(
        "torchtitan",
        "job",
        outer=True,
        peel=_titan,
        starts="[",
        glue=r"\[titan\] ",
        samples=(("[titan] text", {"text": "text", "stamp": None, "channel": "job"}),),
    ),
    Envelope(
        "python-basic",
        "job",
        outer=True,
        peel=_basic,
        starts="DIWECFT",
        samples=(("ERROR:torch.distributed.elastic.multiprocessing.api:failed", {"text": "failed", "channel": "job"}),),
    ),
    Envelope(
        "gpfs",
        "daemon",
        outer=True,
        peel=lambda line: _stamped(_GPFS, "daemon", line),
        starts="0123456789",
        samples=(
            (
                "2026-03-05_14:03:22.123+0100: [E] Disk failure",
                {"text": "[E] Disk failure", "local_ts": _AT_MS, "utc_offset_s": 3600, "channel": "daemon"},
            ),
        ),
    ),
)
