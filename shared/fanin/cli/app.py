"""The verbs of ``fanin`` as one command, and how each of its runs ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from fanin.cli.terminal.exits import ExitCode, code_of, interruption, sentence_of
from fanin.cli.terminal.output import clean, end_line
from fanin.cli.version import print_version

UsageException: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for an invalid command line; its own name depends on typer's version."""
NO_ARGUMENTS = "NoArgsIsHelpError"


class Root(TyperGroup):
    """Ends a run with one sentence and an exit code of ``exits``."""

    def main(self, args: Sequence[str] | None = None, *arguments: Any, **options: Any) -> NoReturn:
        """Run the command line *args*, and exit."""
        options["standalone_mode"] = False
        try:
            code = super().main(args, *arguments, **options)
        except UsageException as error:
            code = _misused(error)
        except OSError as error:  # of --install-completion, which writes a file
            _say(sentence_of(error))
            code = ExitCode.REFUSED
        except typer.Abort:
            _say("interrupted; nothing was changed")
            code = ExitCode.INTERRUPTED
        sys.exit(code if isinstance(code, int) else ExitCode.SUCCESS)

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


VERBS: Mapping[str, tuple[str, ...]] = {
    "batches.opening": ("open",),
    "batches.changing": ("add", "close", "cancel", "notify", "token"),
    "batches.acking": ("ack", "fail"),
    "batches.looking": (
        "where",
        "status",
        "publication",
        "list",
        "children",
        "outstanding",
        "failures",
        "results",
    ),
    "batches.watch": ("watch", "wait"),
    "batches.repairing": ("end", "reopen", "delete", "map"),
    "batches.publish": ("publish",),
    "batches.redrive": ("redrive",),
    "queues_and_tasks.targets": ("tasks", "bundles"),
    "queues_and_tasks.queues": ("queues", "jobs"),
    "dashboard_and_reports.dashboard": ("dashboard",),
    "dashboard_and_reports.cost": ("cost",),
    "dashboard_and_reports.report": ("report",),
    "queues_and_tasks.work": ("work",),
    "pipeline_jobs": ("bulk-ack", "fan-out", "reconcile"),
    "mcp": ("mcp",),
    "template": ("template",),
    "queues_and_tasks.queue": ("queue",),
    "local_run.local": ("local",),
}
"""The verbs of each module of ``fanin.cli``, so that a run loads one module, and not all."""


def app_of(arguments: Sequence[str]) -> typer.Typer:
    """Return the command for these *arguments*: with the module of their verb, or with all for any other."""
    verb = arguments[0] if arguments else ""
    return built([module for module, verbs in VERBS.items() if verb in verbs] or VERBS)


def built(modules: Iterable[str]) -> typer.Typer:
    """Return the command with the verbs of these *modules*."""
    command = typer.Typer(
        cls=Root,
        help="fanin: reports, exactly once, when all N messages are done.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    command.callback()(options)
    for name in modules:
        module = import_module(f"fanin.cli.{name}")
        add_to = module.add_to if hasattr(module, "add_to") else module.verb.add_to
        add_to(command)
    return command


def __getattr__(name: str) -> Any:
    # The command with all verbs, for tests and the reference; a run of it loads fewer.
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = whole = built(VERBS)
    return whole


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print_version()
        raise typer.Exit


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
