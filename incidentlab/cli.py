"""The command line: finds the commands, runs one, and turns what goes wrong into a message and an exit code.

A command is a file in `commands/` with a click command named `command`; its module's docstring is the help text. It is
imported only when it is called, so `incidentlab --help` is quick however heavy the libraries behind a command are.
"""

import ast
import errno
import importlib
import importlib.abc
import os
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from importlib.util import find_spec

import click

from incidentlab import __version__, commands
from incidentlab.errors import IncidentlabError, UsageError
from incidentlab.neutral import neutral
from incidentlab.terminal import Talk, open_missing_streams

INTERNAL_ERROR = 70
CANNOT_WRITE = 74
INTERRUPTED = 130

_DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO, errno.EACCES, errno.ENAMETOOLONG)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_TALK_OPTIONS = (
    click.Option(["-q", "--quiet", "quiet"], is_flag=True, help="Say nothing but errors."),
    click.Option(["-v", "--verbose", "verbose"], count=True, help="Say more; -vv also shows tracebacks."),
    click.Option(["--no-progress", "no_progress"], is_flag=True, help="Show no progress."),
)


class _Commands(click.Group):
    """The commands of the folder `commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [module.name for module in pkgutil.iter_modules(commands.__path__)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name}")
        return _Command.of(cmd_name, module.__doc__ or "", module.command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(name)) for name in self.list_commands(ctx)])


class _Command(click.Command):
    """A command with its help text, and the options that every command has."""

    @classmethod
    def of(cls, name: str, doc: str, command: click.Command) -> "_Command":
        return cls(name, callback=command.callback, params=[*command.params, *_TALK_OPTIONS], help=doc.strip())

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Paragraphs are filled, but calls keep their lines."""
        for paragraph in (self.help or "").split("\n\n"):
            calls = [line.strip() for line in paragraph.splitlines() if line.lstrip().startswith("incidentlab ")]
            formatter.write_paragraph()
            with formatter.indentation():
                if calls:
                    formatter.write("".join(f"    {call}\n" for call in calls))
                else:
                    formatter.write_text(paragraph)

    def invoke(self, ctx: click.Context) -> object:
        talk = ctx.find_object(Talk) or Talk()
        quiet, verbose, no_progress = (ctx.params.pop(option.name or "") for option in _TALK_OPTIONS)
        talk.verbosity = -1 if quiet else verbose
        talk.shows_progress = not (quiet or no_progress)
        return super().invoke(ctx)


def _first_sentence(name: str) -> str:
    """The first sentence of a command's docstring, read without importing it."""
    spec = find_spec(f"{commands.__name__}.{name}")
    loader = spec and spec.loader
    source = loader.get_source(spec.name) if spec and isinstance(loader, importlib.abc.InspectLoader) else ""
    return (ast.get_docstring(ast.parse(source or "")) or "").partition("\n")[0]


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with: incidentlab report PATH...",
)
@click.version_option(__version__, prog_name="incidentlab")
def group() -> None:
    """From raw cluster logs to charged interruptions, with the lines that prove them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what went wrong is said on stderr."""
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    talk = Talk()
    try:
        result = group.main(arguments, prog_name="incidentlab", standalone_mode=False, obj=talk)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        talk.error("interrupted; what was there before is as it was")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place where an error becomes an exit code
        return _said(talk, error)
    return result if isinstance(result, int) else 0


def _said(talk: Talk, error: Exception) -> int:
    """Say what went wrong; its exit code."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if not isinstance(error, UsageError) and (fault := _disk_fault(error)):
        talk.error(f"{fault}; what was there before is as it was")
        return CANNOT_WRITE
    if isinstance(error, IncidentlabError):
        talk.error(str(error))
        return error.exit_code
    return _bug(talk, error)


def _disk_fault(error: Exception) -> str | None:
    """What is wrong with the disk, if that is what is wrong; DuckDB and polars say so in words alone."""
    if isinstance(error, OSError) and error.errno in _DISK_FAULTS:
        return ": ".join(filter(None, (error.filename and str(error.filename), error.strerror)))
    return next((words for words in map(os.strerror, _FULL) if words in str(error)), None)


def _bug(talk: Talk, error: Exception) -> int:
    """Say that this program is wrong; the traceback is for those who ask for it."""
    if talk.verbosity > 1:
        talk.error(neutral("".join(traceback.format_exception(error)), keep="\n"))
    else:
        talk.error(f"internal error: {type(error).__name__}: {error} (-vv shows the traceback)")
    return INTERNAL_ERROR
