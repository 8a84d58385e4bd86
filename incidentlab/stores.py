"""Where shards lie: a folder. A name appears with all of its bytes or not at all."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of named bytes; names are relative paths with slashes."""

    folder: Path

    def put(self, name: str, data: bytes) -> None:
        """Write `data` beside its place and rename it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_bytes(data)
        fresh.replace(path)

    def get(self, name: str) -> bytes:
        """The bytes of a name."""
        return (self.folder / name).read_bytes()

    def names(self, prefix: str) -> list[str]:
        """All names that begin with `prefix`, a folder, in order."""
        return sorted(str(path.relative_to(self.folder)) for path in (self.folder / prefix).glob("*.parquet"))

    def url(self, name: str) -> str:
        """How other programs name it."""
        return str(self.folder / name)
