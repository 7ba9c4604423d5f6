"""``fanin local logs`` and ``bus``: what functions of a run log, and a queue that receives its events."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from fanin.aws.messaging.queue_urls import NAME
from fanin.cli.arguments.options import PortOfRun
from fanin.cli.terminal.exits import UsageError
from fanin.cli.terminal.output import clean
from fanin.errors import NotFound
from fanin.local.emulator_process.connection import Connection
from fanin.local.run_directories import chosen

FOLLOW_SECONDS = 0.5
EVENTS_QUEUE = "events"

Function = Annotated[
    str | None, typer.Argument(metavar="[FUNCTION]", help="Its name; without it, the names are printed.")
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")]
Queue = Annotated[
    str,
    typer.Option("--queue", metavar="QUEUE", help="The queue of the events; created if it does not exist."),
]


def logs(function: Function = None, follow: Follow = False, port: PortOfRun = None) -> None:
    """Print what FUNCTION of a run has logged, oldest first."""
    from fanin.local.function_processes.deployed import by_name  # noqa: PLC0415  # other commands need no AWS

    aws = Connection(chosen(port).endpoint)
    known = by_name(aws.client("lambda"))
    if function is None:
        for name in sorted(known):
            typer.echo(name)
        return
    if function not in known:
        raise NotFound(f"there is no function {function!r}; fanin local logs prints the names")
    group = known[function]["LoggingConfig"]["LogGroup"]
    for line in _lines(aws.client("logs"), group, follow):
        typer.echo(clean(line))


def bus(queue: Queue = EVENTS_QUEUE, port: PortOfRun = None) -> None:
    """Print the bus of a run, and the URL of a queue that receives all its events from now on.

    A handler gets events by: fanin local work APP:HANDLER --on BatchCompleted.
    """
    from fanin.local.bus_listener import send_to_queue  # noqa: PLC0415  # see logs
    from fanin.local.user_function.source import source_of  # noqa: PLC0415  # with boto3 it takes 0.2 s

    if not NAME.fullmatch(queue):
        raise UsageError(f"--queue takes the name of a queue: letters, digits, _ and -, not {queue!r}")
    state = chosen(port)
    aws = Connection(state.endpoint)
    source = source_of(aws.client("sqs"), queue)
    send_to_queue(aws.client("events"), state.outputs["BusName"], queue, source.arn)
    typer.echo(f"bus\t{state.outputs['BusName']}\nqueue\t{source.url}")


def _lines(client: Any, group: str, follow: bool) -> Iterator[str]:
    """Yield the lines of a log group; with *follow*, also what comes later."""
    seen: Counter[tuple[int, str]] = Counter()
    while True:
        since = max((at for at, _ in seen), default=0)
        # Of the last millisecond, all lines come again; two may be equal.
        found = Counter((event["timestamp"], event["message"]) for event in _events(client, group, since))
        for _, message in (found - seen).elements():
            yield message.rstrip()
        seen = Counter({key: count for key, count in found.items() if key[0] >= since}) or seen
        if not follow:
            return
        time.sleep(FOLLOW_SECONDS)


def _events(client: Any, group: str, since: int) -> Iterator[dict[str, Any]]:
    pages = client.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=since)
    yield from sorted((each for page in pages for each in page["events"]), key=lambda each: each["timestamp"])
