"""``fanin local work``: feeds the messages of a queue of the local run to a function, and reloads it."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from fanin.cli.arguments.options import PortOfRun
from fanin.cli.terminal.exits import UsageError
from fanin.local import LocalRunError
from fanin.local.emulator_process.connection import Connection
from fanin.local.environment import environment_of
from fanin.local.failures import FailureLog
from fanin.local.run_directories import State, chosen, directory_of
from fanin.names import EVENTS

if TYPE_CHECKING:
    from fanin.local.user_function.feeding import Feeder, FunctionPerformer
    from fanin.local.user_function.function_process import FunctionProcess
    from fanin.local.user_function.source import WorkSource

NAME_MAX = 50
NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{NAME_MAX}}}(\.fifo)?")
SPEC = re.compile(r"\w+(\.\w+)*:\w+")
LAMBDA_SECONDS = 900
"""The longest timeout of a function, and with it the longest useful one here."""

Spec = Annotated[str, typer.Argument(metavar="APP:HANDLER", help="The module and its Lambda handler.")]
Queue = Annotated[
    str | None,
    typer.Option("--queue", metavar="QUEUE", help="The name of the SQS queue; created if it does not exist."),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        "--on", metavar="EVENT", help="Events of the bus to feed it, as BatchCompleted; repeatable."
    ),
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
    typer.Option("--allow-loops", help="The function's RecursiveLoop is Allow."),
]


def work(
    spec: Spec,
    queue: Queue = None,
    on: On = None,
    port: PortOfRun = None,
    batch_size: Batch = 10,
    visibility: Visibility = None,
    max_receives: Receives = None,
    timeout: Timeout = None,
    python: PythonOption = None,
    allow_loops: Loops = False,
) -> None:
    """Feed a queue of the local run, or its events, to APP:HANDLER as Lambda does.

    It runs until Ctrl-C, and reloads the app, which is imported from this directory, when it changes.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # other commands need no AWS

    _check(spec, queue, on or ())
    state = chosen(port)
    feed = Feed(spec, queue or queue_of_events(spec, on or ()), tuple(on or ()))
    try:
        times = (visibility, max_receives, timeout)
        _run(_feeder(state, feed, python, times, batch_size, allow_loops))
    except (BotoCoreError, ClientError) as error:
        raise LocalRunError(f"the local run at {state.url} answers no more: {error}") from error
    _progress("stopped")


@dataclass(frozen=True, slots=True)
class Feed:
    """What is fed from which queue: its messages, or the events of the bus *on* which it is invoked."""

    spec: str
    queue: str
    on: tuple[str, ...] = ()


def _feeder(
    state: State,
    feed: Feed,
    python: Path | None,
    times: tuple[int | None, int | None, float | None],
    batch_size: int,
    loops: bool,
) -> Feeder:
    """Return what feeds the messages of a queue; *times*: of the queue, and of the function."""
    from fanin.local.user_function.feeding import Feeder, environment_of_function  # noqa: PLC0415  # with boto3 it takes 0.3 s
    from fanin.local.user_function.function_process import FunctionProcess  # noqa: PLC0415  # other verbs start none

    visibility, receives, timeout = times
    source = _source(state, feed, visibility, receives)
    run = environment_of(state.url, state.endpoint, state.outputs)
    environment = environment_of_function(os.environ, run)
    function = FunctionProcess(feed.spec, python_of(python, os.environ.get("VIRTUAL_ENV")), environment)
    _progress(_first_line(feed, function.python, state, source.dead))
    seconds = timeout or min(source.visibility or LAMBDA_SECONDS, LAMBDA_SECONDS)
    if not feed.on and (short := too_short(seconds)):
        _progress(short)
    performer = _performer(state, feed, function, seconds, loops)
    return Feeder(source, performer, Path.cwd(), 1 if feed.on else batch_size)


def _source(state: State, feed: Feed, visibility: int | None, receives: int | None) -> WorkSource:
    """Return the queue of *feed*, which the bus sends its events to, if it is about events."""
    from fanin.local.bus_listener import send_to_queue  # noqa: PLC0415  # other runs feed no events
    from fanin.local.user_function.source import source_of  # noqa: PLC0415  # with boto3 it takes 0.2 s

    aws = Connection(state.endpoint)
    source = source_of(aws.client("sqs"), feed.queue, visibility, receives)
    if feed.on:
        send_to_queue(aws.client("events"), state.outputs["BusName"], feed.queue, source.arn, feed.on)
    return source


def _performer(
    state: State, feed: Feed, function: FunctionProcess, seconds: float, loops: bool
) -> FunctionPerformer:
    from fanin.local.user_function.feeding import EventPerformer, FunctionPerformer  # noqa: PLC0415  # with boto3 it takes 0.3 s

    failures = FailureLog(directory_of(state.port).path)
    kind = EventPerformer if feed.on else FunctionPerformer
    return kind(function, seconds, _progress, loops, failures.add)


def _first_line(feed: Feed, python: str, state: State, dead: str | None) -> str:
    work = f"works on {feed.queue}" if not feed.on else f"gets {', '.join(feed.on)} by the queue {feed.queue}"
    after = f", dead-letter queue {dead}" if dead else ", which has no dead-letter queue"
    return f"{feed.spec} under {python} {work} of {state.url}{after}; stop with Ctrl-C"


def queue_of_events(spec: str, types: Sequence[str]) -> str:
    """Return the name of the queue by which a handler gets events, if none is given."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", "-".join((spec, *types)))
    return name[:NAME_MAX]


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


def _check(spec: str, queue: str | None, types: Sequence[str]) -> None:
    """Raise UsageError for what is no handler, queue or event, and without a queue and an event."""
    if not SPEC.fullmatch(spec):
        raise UsageError(f"APP:HANDLER is a module and a name in it, as app:handler, not {spec!r}")
    if queue is None and not types:
        raise UsageError("give --queue QUEUE, or --on EVENT for the events of the run")
    if unknown := set(types).difference(EVENTS):
        raise UsageError(f"--on takes {', '.join(EVENTS)}, not {min(unknown)!r}")
    if queue is not None and not NAME.fullmatch(queue):
        raise UsageError(f"--queue takes a name: letters, digits, _ and -, at most 50, not {queue!r}")
    if types and queue is not None and queue.endswith(".fifo"):
        raise UsageError(f"--on feeds events by a standard queue, and {queue!r} is a FIFO queue")


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
