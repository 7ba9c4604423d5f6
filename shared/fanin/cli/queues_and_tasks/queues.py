"""The verbs of the work queue: queues, and the jobs of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, get_args
from urllib.parse import quote

import typer

from fanin.cli.terminal.columns import number, time_ago
from fanin.cli.terminal.listing import Every, Limit, print_list
from fanin.cli.terminal.output import Column
from fanin.cli.terminal.rate import duration_text
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies.codec import Document
from fanin.types import ListedStateText

verb = Verbs()

Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="The name of a work queue.")]
InState = Annotated[
    ListedStateText,
    typer.Option("--state", metavar="STATE", help=f"One of {', '.join(get_args(ListedStateText))}."),
]


def _depth(name: str) -> Callable[[Document], Any]:
    return lambda queue: queue["depth"][name]


def _depth_shown(name: str) -> Callable[[Document], str]:
    """Return what shows a number of jobs, with ≥ where more were not counted."""
    return lambda queue: f"{BOUNDS.get(queue['depth']['accuracy'], '')}{queue['depth'][name]:,}"


def _seconds(name: str) -> Callable[[Document], str | None]:
    return lambda row: duration_text(row[name]) if row.get(name) else None


BOUNDS = {"atLeast": "≥ ", "approximate": "≈ "}
QUEUES = (
    Column("Queue", "queue"),
    Column("Queued", _depth("queued"), _depth_shown("queued"), right=True),
    Column("In progress", _depth("inProgress"), _depth_shown("inProgress"), right=True),
    Column("Delayed", _depth("delayed"), _depth_shown("delayed"), right=True),
    Column("Dead", _depth("dead"), _depth_shown("dead"), right=True),
    Column("Oldest", "oldestSeconds", _seconds("oldestSeconds"), right=True),
    Column("Parts", "parts", number("parts"), right=True),
    Column("Paused", "paused", lambda queue: "paused" if queue["paused"] else ""),
    Column("Activity", "activity"),
    Column("Phase", "phase", lambda queue: "" if queue["phase"] == "steady" else queue["phase"]),
)
JOBS = (
    Column("Key", "key"),
    Column("State", "state", hidden=True),
    Column("Priority", "priority", right=True),
    Column("Added", "addedAt", time_ago("addedAt")),
    Column("Due", "dueAt", time_ago("dueAt")),
    Column("Deliveries", "deliveries", number("deliveries"), right=True),
    Column("Failures", "failures", number("failures"), right=True),
    Column("Item", "itemId"),
    Column("Died", "diedAt", time_ago("diedAt")),
    Column("Error", "error"),
    Column("Dead id", "deadId"),
)


@verb("queues")
def queues(call: Invocation, limit: Limit = 50, every: Every = False) -> None:
    """List the work queues, with their jobs by state."""
    print_list(call, QUEUES, "/v1/queues", "queues", None if every else limit)


@verb("jobs")
def jobs(
    call: Invocation, queue: Queue, state: InState = "queued", limit: Limit = 50, every: Every = False
) -> None:
    """List the jobs of a work QUEUE, by default queued ones."""
    path = f"/v1/queues/{quote(queue, safe='')}/jobs"
    print_list(call, JOBS, path, "jobs", None if every else limit, state=state)
