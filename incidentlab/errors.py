"""The errors a user can meet, each with its exit code.

    IncidentlabError          70  base; never raised itself
    +-- UsageError             2  a wrong argument or configuration; nothing was written
    +-- InputError             3  nothing recognisable to read, or damaged shards
    +-- DefinitionError        2  a signature, query, envelope or parser file is wrong
    +-- WarehouseError         5  the warehouse is locked, foreign, of another version, or cannot be locked
    +-- OutageError           75  a cluster or store is gone; what was done stays done

A bug is none of these: it keeps its traceback. `cli.main` is the only place that catches them.
"""


class IncidentlabError(Exception):
    """Something the user can act on; `where` is a `file:line` or a path, if one is known."""

    exit_code = 70

    def __init__(self, message: str, where: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    __hash__ = Exception.__hash__


class UsageError(IncidentlabError):
    """An argument, option or configuration value that cannot be used; nothing was written."""

    exit_code = 2


class InputError(IncidentlabError):
    """The given paths hold nothing that can be read as a log, or the given store not all that it should."""

    exit_code = 3


class DefinitionError(IncidentlabError):
    """A definition file (signature, query, envelope, parser) breaks its contract."""

    exit_code = 2


class WarehouseError(IncidentlabError):
    """The warehouse is locked or cannot be, belongs to another program, or has another schema version."""

    exit_code = 5


class OutageError(IncidentlabError):
    """A cluster or a store does not answer any more; what was done stays done, and the same command goes on."""

    exit_code = 75
