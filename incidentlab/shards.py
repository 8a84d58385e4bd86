"""One unit of work becomes its shards; the same function on every executor, here and on other machines.

A unit is idempotent: its shards are named by what it reads and with which knowledge, appear by renaming, and hold the
same bytes whoever writes them. Whatever goes wrong with one file is written down as its failure, and the others go on.
"""

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from incidentlab import __version__, discover, reading
from incidentlab.codecs import MAX_NESTING, Stream, open_stream
from incidentlab.discover import Input, Refused
from incidentlab.errors import UsageError
from incidentlab.parts import Part
from incidentlab.scan import Scanner
from incidentlab.signatures import Signature, load_signatures
from incidentlab.spool import Spool
from incidentlab.stores import Store
from incidentlab.units import Reading, Span, Unit


@dataclass(frozen=True, slots=True)
class Recipe:
    """With what and where units are read: the store of the shards, and signatures.

    These are `own`, and those that each worker has `shipped`, which need not travel. `knowledge` is the hash of the
    version and of all signatures; a worker with another version refuses to work.
    """

    store: Store
    knowledge: str
    own: tuple[Signature, ...]
    shipped: bool


def recipe(store: Store, signatures: Sequence[Signature]) -> Recipe:
    """The recipe for these signatures."""
    known = {signature.name: signature for signature in load_signatures()}
    given = {signature.name: signature for signature in signatures}
    shipped = all(given.get(name) is signature for name, signature in known.items())
    own = tuple(found for found in signatures if not shipped or found.name not in known)
    return Recipe(store, knowledge_of(signatures), own, shipped)


def knowledge_of(signatures: Sequence[Signature]) -> str:
    """16 hex digits for the program's version and the signatures: what was read with others is read again."""
    known = sorted(map(repr, signatures))
    return sha256("\n".join([__version__, *known]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Kitchen:
    """A recipe and the scanner for it, which is built once in each process."""

    how: Recipe
    scanner: Scanner


def kitchen(how: Recipe) -> Kitchen:
    """Make ready to read units; `UsageError` where the signatures are not those of the recipe."""
    known = (*load_signatures(), *how.own) if how.shipped else how.own
    signatures = sorted(known, key=lambda signature: signature.name)
    if knowledge_of(signatures) != how.knowledge:
        raise UsageError("a worker has another version of incidentlab; install the same one everywhere")
    return Kitchen(how, Scanner(signatures))


def read_unit(where: Kitchen, unit: Unit) -> str:
    """Write the shards of `unit`; its key comes back."""
    intake = _Intake(where.scanner, Spool(where.how.store, where.how.knowledge, unit.key))
    for span in unit.spans:
        intake.read(span)
    intake.spool.commit()
    return unit.key


def fail_unit(how: Recipe, unit: Unit, error: Exception) -> None:
    """Write down that `unit` could not be read, for a reason that lies outside of its files' content."""
    spool = Spool(how.store, how.knowledge, unit.key)
    for span in unit.spans:
        path = span.path if isinstance(span, Refused) else span.item.path
        spool.tell(path, [_not_read("failed", str(error))], file=path, is_outage=True)
    spool.commit()


class _Intake:
    """Reads the spans of one unit into its spool."""

    def __init__(self, scanner: Scanner, spool: Spool) -> None:
        self._scanner = scanner
        self.spool = spool
        self._file: dict[str, Any] = {}

    def read(self, span: Span | Refused) -> None:
        """Read a span; an archive becomes several sources."""
        if isinstance(span, Refused):
            self._file = {"file": span.path}
            self._refused(span)
            return
        item = span.item
        self._file = {"file": item.path, "size": item.size, "changed_ns": item.changed_ns}
        try:
            with item.open() as file:
                if span.start or span.stop is not None:
                    parts = reading.read_range(file, span.start, span.stop, self._scanner, self.spool.add)
                    self._told(item, parts, start=span.start, **_known(span.known))
                    return
                stream = open_stream(file)
                if discover.is_archive(stream.peek(discover.ARCHIVE_HEAD_BYTES)):
                    self._archive(item, stream)
                else:
                    self._source(item, stream)
        except Exception as error:  # noqa: BLE001 - one bad file must not stop the others
            self._failed(item, error)

    def _archive(self, item: Input, stream: Stream, depth: int = 1) -> None:
        """Each member is a source; the archive's own row says how many there were and whether it ended early."""
        found = 0
        fault = None
        is_outage = False
        try:
            for member in discover.members(item, stream):
                found += 1
                if isinstance(member, Refused):
                    self._refused(member)
                else:
                    self._member(*member, depth)
        except Exception as error:  # noqa: BLE001 - it ends this archive, and not the one that it may lie in
            fault, is_outage = self._fault(error), _is_outage(error)
        status = "failed" if fault else "used"
        reason = "; ".join(filter(None, (f"archive of {found} members", fault, stream.cut)))
        self._told(item, [Part(format="tar", status=status, reason=reason, is_read=False)], is_outage=is_outage)

    def _member(self, item: Input, stream: Stream, depth: int) -> None:
        try:
            if not discover.is_archive(stream.peek(discover.ARCHIVE_HEAD_BYTES)):
                self._source(item, stream)
            elif depth < MAX_NESTING:
                self._archive(item, stream, depth + 1)
            else:
                self._told(item, [_not_read("unused", "an archive in an archive; unpack it first")])
        except Exception as error:  # noqa: BLE001 - one bad member must not stop the others
            self._failed(item, error)

    def _source(self, item: Input, stream: Stream) -> None:
        self._told(item, reading.read(stream, self._scanner, self.spool.add))

    def _told(self, item: Input, parts: Sequence[Part], **more: Any) -> None:
        self.spool.tell(item.path, parts, modified_ts=item.modified_ts, **self._file, **more)

    def _failed(self, item: Input, error: Exception) -> None:
        part = _not_read("failed", self._fault(error))
        more = {"modified_ts": item.modified_ts, "is_outage": _is_outage(error)}
        self.spool.give_up(item.path, part, **more, **self._file)

    def _fault(self, error: Exception) -> str:
        """The error of a file in words; that of a store which takes no rows is no file's, and is raised."""
        if self.spool.is_broken:
            raise error
        if isinstance(error, OSError) and error.strerror:
            return f"cannot be read: {error.strerror}"
        words = str(error) if isinstance(error, tarfile.TarError) else f"{type(error).__name__}: {error}"
        return words.encode(errors="backslashreplace").decode()

    def _refused(self, item: Refused) -> None:
        status = "failed" if item.reason.startswith("cannot be read") else "unused"
        self.spool.tell(item.path, [_not_read(status, item.reason)], **self._file)


def _is_outage(error: Exception) -> bool:
    """Whether it lies outside of the content: the machine refused a read or had no memory left."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None)


def _not_read(status: str, reason: str) -> Part:
    return Part(status=status, reason=reason, is_read=False)


def _known(known: Reading | None) -> dict[str, Any]:
    """The columns of PARTS that say what the span goes on from."""
    if known is None:
        return {}
    return {"known_id": known.source_id, "known": msgspec.json.encode(known.prefix).decode()}
