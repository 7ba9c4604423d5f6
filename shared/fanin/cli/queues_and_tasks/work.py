"""``fanin work``: works on the messages of an SQS queue outside of Lambda, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer

from fanin.aws.messaging.queue_urls import queue_url
from fanin.cli.arguments.where import use_profile
from fanin.cli.local_run.local_work import SPEC
from fanin.cli.terminal.exits import ExitCode, UsageError
from fanin.cli.verbs import Profile, Region, VerbCommand
from fanin.errors import InvalidRequest

Spec = Annotated[
    str, typer.Argument(metavar="APP:HANDLER", help="A module, and its handler of @fanin.acks or function.")
]
Queue = Annotated[str, typer.Option("--queue", metavar="QUEUE", help="The URL or the name of the SQS queue.")]
Concurrency = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Messages under work at once; default: 10, of a coroutine 100."),
]
Visibility = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS", min=5, help="A message is hidden for so long at a time; default: as the queue."
    ),
]
Grace = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="How long a stop takes at most; default: 20.")
]
FailAfter = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="An exception at this receive fails the item."),
]
Results = Annotated[
    bool, typer.Option("--results", help="What a plain function returns is the result of its item.")
]
OF_HANDLER = {"handler", "handle", "work", "each", "fail_after", "results"}
"""The arguments of ``Fanin.work`` and ``Fanin.acks`` whose refusal means that the command line is wrong."""
Each = Annotated[bool, typer.Option("--each", help="Messages are chunks: the plain function gets each item.")]


def work(
    spec: Spec,
    queue: Queue,
    concurrency: Concurrency = None,
    visibility: Visibility = None,
    grace: Grace = None,
    fail_after: FailAfter = None,
    each: Each = False,
    results: Results = False,
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Work on the messages of a queue by APP:HANDLER, in this process.

    SIGTERM and Ctrl-C finish or return what is in flight; a second one returns it at once. A function without
    @fanin.acks acks as Fanin() does. The module is imported from this directory.
    """
    use_profile(profile, region)
    _log_to_stderr()
    given = {"concurrency": concurrency, "visibility": visibility, "grace_seconds": grace}
    given |= {"fail_after": fail_after, "each": each or None, "results": results or None}
    _work(spec, queue, {name: value for name, value in given.items() if value is not None})


def add_to(app: typer.Typer) -> None:
    """Make it a command of *app*."""
    app.command(cls=VerbCommand)(work)


def _work(spec: str, queue: str, options: Any) -> None:
    """Run the worker, and end with the exit code of its summary. Raises UsageError for a wrong handler."""
    from fanin import Fanin  # noqa: PLC0415  # `--help` needs no client
    from fanin.aws import clients  # noqa: PLC0415  # with boto3 it takes 0.2 s

    try:
        handler = handler_of(spec)
        summary = Fanin().work(queue_url(clients.sqs(), queue), handler, **options)
    except InvalidRequest as error:
        if error.field in OF_HANDLER:
            raise UsageError(str(error)) from None
        raise
    if summary.unfinished:
        raise typer.Exit(ExitCode.TIMED_OUT)
    if summary.interrupted:
        raise KeyboardInterrupt


def handler_of(spec: str) -> Callable[..., object]:
    """Return the handler ``module:name``, imported from this directory. Raises UsageError."""
    if not SPEC.fullmatch(spec):
        raise UsageError(f"APP:HANDLER is a module and a name in it, as app:handler, not {spec!r}")
    module, _, name = spec.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        app = importlib.import_module(module)
    except Exception as error:  # of any code of the app
        name_of = error.name if isinstance(error, ModuleNotFoundError) else None
        if name_of is not None and f"{module}.".startswith(f"{name_of}."):
            raise UsageError(f"there is no module {module} in {os.getcwd()}; check APP:HANDLER") from None
        own = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error.with_traceback(own))
        why = f"{module} was not loaded by {sys.executable}: {type(error).__name__}: {error}"
        needs = "; install fanin[cli] into the environment of your app" if name_of else ""
        raise UsageError(why + needs) from None
    if not hasattr(app, name):
        raise UsageError(f"{module} has no {name}; check APP:HANDLER")
    handler: Callable[..., object] = getattr(app, name)
    return handler


def _log_to_stderr() -> None:
    """Log warnings, and the progress of the worker, unless the app has set up its logging."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("fanin").setLevel(logging.INFO)
