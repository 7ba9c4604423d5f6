"""``fanin local work``: feeds the messages of a queue of the local run to a function, and reloads it."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from fanin.cli.services.local import chosen
from fanin.cli.terminal.exits import UsageError
from fanin.local import LocalRunError
from fanin.local.emulation.connection import Connection
from fanin.local.environment import environment_of
from fanin.local.run_directories import State

if TYPE_CHECKING:
    from fanin.local.work.feeding import Feeder

NAME = re.compile(r"[A-Za-z0-9_-]{1,50}(\.fifo)?")
SPEC = re.compile(r"\w+(\.\w+)*:\w+")
LAMBDA_SECONDS = 900
"""The longest timeout of a function, and with it the longest useful one here."""

Spec = Annotated[str, typer.Argument(metavar="APP:HANDLER", help="The module and its Lambda handler.")]
Queue = Annotated[
    str,
    typer.Option("--queue", metavar="QUEUE", help="The name of the SQS queue; created if it does not exist."),
]
Port = Annotated[
    int | None, typer.Option(metavar="PORT", help="The run on this port; else the one that `up` started.")
]
Batch = Annotated[
    int, typer.Option("--batch-size", metavar="N", min=1, max=10_000, help="Messages of a delivery, at most.")
]
Visibility = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS", min=0, max=43_200, help="The queue's visibility timeout in seconds; new: 30."
    ),
]
Receives = Annotated[
    int | None,
    typer.Option("--max-receives", metavar="N", min=1, max=1000, help="The queue's maxReceiveCount; new: 3."),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0.1,
        max=LAMBDA_SECONDS,
        help="Seconds of an invocation; default: the visibility timeout.",
    ),
]
PythonOption = Annotated[
    Path | None,
    typer.Option(
        "--python",
        metavar="PATH",
        exists=True,
        dir_okay=False,
        help="The Python of the app; default: $VIRTUAL_ENV's.",
    ),
]
Loops = Annotated[
    bool,
    typer.Option("--allow-loops", help="The function's RecursiveLoop is Allow: its messages may come back."),
]


def work(
    spec: Spec,
    queue: Queue,
    port: Port = None,
    batch_size: Batch = 10,
    visibility: Visibility = None,
    max_receives: Receives = None,
    timeout: Timeout = None,
    python: PythonOption = None,
    allow_loops: Loops = False,
) -> None:
    """Feed a queue of the local run to APP:HANDLER as Lambda does.

    It runs until Ctrl-C, and reloads the app when it changes. The module is imported from this directory. A
    second Ctrl-C ends a delivery under work.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # other commands need no AWS

    _check(spec, queue)
    state = chosen(port)
    try:
        times = (visibility, max_receives, timeout)
        _run(_feeder(state, spec, queue, python, times, batch_size, allow_loops))
    except (BotoCoreError, ClientError) as error:
        raise LocalRunError(f"the local run at {state.url} answers no more: {error}") from error
    _progress("stopped")


def _feeder(
    state: State,
    spec: str,
    queue: str,
    python: Path | None,
    times: tuple[int | None, int | None, float | None],
    batch_size: int,
    loops: bool,
) -> Feeder:
    """Return what feeds the messages of *queue*; *times*: of the queue, and of the function."""
    from fanin.local.work.feeding import Feeder, FunctionPerformer, environment_of_function  # noqa: PLC0415
    from fanin.local.work.function_process import FunctionProcess  # noqa: PLC0415
    from fanin.local.work.source import source_of  # noqa: PLC0415

    visibility, receives, timeout = times
    source = source_of(Connection(state.endpoint).client("sqs"), queue, visibility, receives)
    run = environment_of(state.url, state.endpoint, state.outputs)
    environment = environment_of_function(os.environ, run)
    function = FunctionProcess(spec, python_of(python, os.environ.get("VIRTUAL_ENV")), environment)
    dead = f", dead-letter queue {source.dead}" if source.dead else ", which has no dead-letter queue"
    _progress(f"{spec} under {function.python} works on {queue} of {state.url}{dead}; stop with Ctrl-C")
    seconds = timeout or min(source.visibility or LAMBDA_SECONDS, LAMBDA_SECONDS)
    if short := too_short(seconds):
        _progress(short)
    return Feeder(source, FunctionPerformer(function, seconds, _progress, loops), Path.cwd(), batch_size)


def too_short(seconds: float) -> str | None:
    """Return a warning about an invocation of *seconds*, if it leaves no time to start a second message."""
    from fanin.client.consuming.consumer import MARGIN_SECONDS  # noqa: PLC0415  # only where it is fed

    if seconds > MARGIN_SECONDS:
        return None
    return (
        f"an invocation has {seconds:g} s, and @fanin.acks starts no further message with less than"
        f" {MARGIN_SECONDS:g} s left: the others of a delivery return not started, and become"
        " dead-letter messages. Give a longer --visibility or --timeout, or lower margin_seconds"
    )


def python_of(given: Path | None, environment: str | None) -> str:
    """Return the Python that runs the app: the *given* one, that of an active *environment*, or this one."""
    if given is not None:
        return str(given)
    python = Path(environment, "bin", "python") if environment else None
    return str(python) if python is not None and python.exists() else sys.executable


def _check(spec: str, queue: str) -> None:
    """Raise UsageError for what is no handler or no name of a queue."""
    if not SPEC.fullmatch(spec):
        raise UsageError(f"APP:HANDLER is a module and a name in it, as app:handler, not {spec!r}")
    if not NAME.fullmatch(queue):
        raise UsageError(f"--queue takes a name: letters, digits, _ and -, at most 50, not {queue!r}")


def _run(feeder: Feeder) -> None:
    """Run *feeder* until a signal; the second one interrupts what it does."""
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        _progress("stopping after this delivery; Ctrl-C again stops it now")

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ask)
    with suppress(KeyboardInterrupt):
        feeder.run(stop)


def _progress(text: str) -> None:
    typer.echo(text, err=True)
