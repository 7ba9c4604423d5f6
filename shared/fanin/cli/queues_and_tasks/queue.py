"""The verbs that administer one work queue: pause, resume, raise, revive, remove."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fanin.cli.queues_and_tasks.queues import Queue
from fanin.cli.terminal.exits import Refused, UsageError
from fanin.cli.terminal.output import clean
from fanin.cli.verbs import Invocation, Verbs
from fanin.errors import InvalidRequest

app = typer.Typer(help="Administer a work queue.", no_args_is_help=True)
verb = Verbs()

Parts = Annotated[int, typer.Argument(metavar="PARTS", min=1, help="The number of its parts, at most 256.")]
Dead = Annotated[list[str] | None, typer.Argument(metavar="[DEAD_ID]...", help="Ids of dead jobs.")]
Every = Annotated[bool, typer.Option("--all", help="All dead jobs of the queue.")]
Force = Annotated[bool, typer.Option("--force", help="Also with jobs that are queued or in progress.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; needed without a terminal.")]


@verb("pause", writes=True)
def pause(call: Invocation, queue: Queue) -> None:
    """Pause QUEUE: it takes adds and acks, and within a second no job of it is taken."""
    call.fanin.queue(queue).pause()
    call.output.value({"queue": queue, "paused": True}, "paused")


@verb("resume", writes=True)
def resume(call: Invocation, queue: Queue) -> None:
    """Resume QUEUE after a pause."""
    call.fanin.queue(queue).resume()
    call.output.value({"queue": queue, "paused": False}, "resumed")


@verb("raise", writes=True)
def raise_(call: Invocation, queue: Queue, parts: Parts) -> None:
    """Raise the PARTS of QUEUE, or create it with them; a raise takes over two hours."""
    found = call.fanin.queue(queue).ensure(parts=parts)
    call.output.value({"queue": queue, "parts": found.parts}, f"{found.parts} parts")


@verb("revive", writes=True)
def revive(call: Invocation, queue: Queue, dead: Dead = None, every: Every = False) -> None:
    """Return dead jobs of QUEUE, by their dead ids or --all, to it; print how many."""
    if bool(dead) is every:
        raise UsageError("give the ids of dead jobs (fanin jobs QUEUE --state dead prints them), or --all")
    of_queue = call.fanin.queue(queue)
    try:
        found = of_queue.revive_all() if every else of_queue.revive(dead or ())
    except InvalidRequest as error:
        if error.field != "dead_ids":
            raise
        text = f"one DEAD_ID is not that of a dead job; `fanin jobs {queue} --state dead` prints them"
        raise Refused(text) from None
    call.output.value({"revived": found.revived, "notRevived": found.not_revived}, f"{found.revived} revived")
    if found.not_revived:
        reasons = "; ".join(f"{dead_id}: {reason}" for dead_id, reason in found.not_revived.items())
        raise Refused(f"{len(found.not_revived)} not revived: {reasons}")


@verb("remove", writes=True)
def remove(call: Invocation, queue: Queue, force: Force = False, yes: Yes = False) -> None:
    """Remove QUEUE with what is in it; asks first. Without a terminal it takes --yes."""
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("remove asks on a terminal, and there is none; give --yes")
        if not typer.confirm(clean(f"Remove the queue {queue} at {call.site.host}?"), err=True):
            raise Refused(f"queue {queue} was not removed")
    call.fanin.queue(queue).remove(force=force)
    call.output.value({"queue": queue, "state": "removing"}, "removing")


def add_to(root: typer.Typer) -> None:
    """Make them commands of *root*."""
    verb.add_to(app)
    root.add_typer(app, name="queue")
