"""The verbs of ``fanin`` as one command, and how each of its runs ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from fanin.cli.batches import acking, changing, looking, opening, publish, redrive, repairing, watch
from fanin.cli.services import (
    cost,
    dashboard,
    grouping,
    local,
    local_inspection,
    queue,
    queues,
    report,
    work,
    worker,
)
from fanin.cli.terminal.exits import ExitCode, code_of, interruption, sentence_of
from fanin.cli.terminal.output import clean, end_line
from fanin.cli.verbs import VerbCommand
from fanin.cli.version import print_version

UsageException: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for an invalid command line; its own name depends on typer's version."""
NO_ARGUMENTS = "NoArgsIsHelpError"


class Root(TyperGroup):
    """Ends a run with one sentence and an exit code of ``exits``."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> NoReturn:
        """Run the command line *args*, and exit."""
        options["standalone_mode"] = False
        try:
            code = super().main(args, *rest, **options)
        except UsageException as error:
            code = _misused(error)
        except typer.Abort:
            _say("interrupted; nothing was changed")
            code = ExitCode.INTERRUPTED
        sys.exit(code if isinstance(code, int) else ExitCode.DONE)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the verb; its errors become exit codes."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_output()
            raise typer.Exit(ExitCode.BROKEN_PIPE) from None
        except KeyboardInterrupt as error:
            end_line()
            _say(interruption(ctx.invoked_subcommand, error))
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except Exception as error:
            code = code_of(error)
            if code is None:
                raise
            _say(sentence_of(error))
            raise typer.Exit(code) from None
        return result


app = typer.Typer(
    cls=Root,
    help="fanin: reports, exactly once, when all N messages are done.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for verbs in (opening.verb, changing.verb, acking.verb, looking.verb, watch.verb, repairing.verb):
    verbs.add_to(app)
for verbs in (publish.verb, redrive.verb, grouping.verb, queues.verb, dashboard.verb):
    verbs.add_to(app)
app.command()(cost.cost)
app.command(cls=VerbCommand)(report.report)
app.command(cls=VerbCommand)(worker.work)
app.add_typer(queue.app, name="queue")
app.add_typer(local.app, name="local")
local.app.command(cls=VerbCommand)(work.work)
local.app.command(cls=VerbCommand)(local_inspection.logs)
local.app.command(cls=VerbCommand)(local_inspection.bus)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print_version()
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle the options of the command itself."""


def _misused(error: Any) -> ExitCode:
    """Print the sentence of an invalid command line; without any arguments, the help."""
    text = error.format_message().strip()
    if type(error).__name__ == NO_ARGUMENTS:
        _say(text)
    else:
        path = error.ctx.command_path if getattr(error, "ctx", None) else "fanin"
        sentence = " ".join(text.replace("Value error, ", "").split()).rstrip(".")
        if getattr(error, "option_name", None) and path == "fanin":
            sentence += "; options come after the verb"
        _say(f"{sentence}{' See' if sentence.endswith('?') else '; see'} {path} --help")
    return ExitCode.USAGE


def _say(text: str) -> None:
    """Print *text*, which may quote an answer of the API, on standard error."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write("".join(f"{clean(line)}\n" for line in text.split("\n")))


def _discard_output() -> None:
    """Send what is left of standard output to nowhere: the interpreter flushes it at its exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
