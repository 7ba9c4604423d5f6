"""The verbs of the group-batcher: tasks and bundles of a target."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated, Literal, get_args

import typer

from fanin.cli.terminal.columns import number, time_ago
from fanin.cli.terminal.exits import Refused
from fanin.cli.terminal.listing import Every, Limit, print_list
from fanin.cli.terminal.output import Column
from fanin.cli.verbs import Invocation, Verbs

verb = Verbs()

TaskState = Literal["CREATED", "BUNDLED", "IN_PROGRESS", "SUCCEEDED", "FAILED", "DEAD"]
BundleState = Literal["OPEN", "READY", "CALLING", "APPLYING", "DONE", "FAILED"]
Target = Annotated[str, typer.Argument(metavar="TARGET", help="The name of a target.")]
InState = Annotated[
    TaskState, typer.Option("--state", metavar="STATE", help=f"One of {', '.join(get_args(TaskState))}.")
]
BundleInState = Annotated[
    BundleState | None,
    typer.Option(
        "--state", metavar="STATE", help=f"Only bundles in this state: {', '.join(get_args(BundleState))}."
    ),
]
TASKS = (
    Column("Task", "taskId"),
    Column("State", "state"),
    Column("Due", "dueAt", time_ago("dueAt")),
    Column("Bundle", "bundleId"),
    Column("Reason", "reason"),
)
BUNDLES = (
    Column("Bundle", "bundleId"),
    Column("State", "state"),
    Column("Tasks", "size", number("size"), right=True),
    Column("Calls", "attempt", number("attempt"), right=True),
    Column("Created", "createdAt", time_ago("createdAt")),
)


@verb("tasks")
def tasks(
    call: Invocation, target: Target, state: InState = "CREATED", limit: Limit = 50, every: Every = False
) -> None:
    """List the tasks of TARGET, by default those that wait."""
    _check(call, target)
    print_list(call, TASKS, "/v1/tasks", "tasks", None if every else limit, target=target, state=state)


@verb("bundles")
def bundles(
    call: Invocation, target: Target, state: BundleInState = None, limit: Limit = 50, every: Every = False
) -> None:
    """List the bundles of TARGET, newest first in each shard."""
    _check(call, target)
    print_list(call, BUNDLES, "/v1/bundles", "bundles", None if every else limit, target=target, state=state)


def _check(call: Invocation, target: str) -> None:
    """Raise Refused if *target* has no tasks in any state, as no target of that name would have."""
    for state in get_args(TaskState):
        if any(
            page.value
            for page in call.api.pages("/v1/tasks", itemgetter("tasks"), target=target, state=state)
        ):
            return
    raise Refused(f"target {target!r} does not exist, or never had tasks")
