"""What lets a function put the event of a batch on the bus as it completes the batch."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

PUT_EVENTS = ("events:PutEvents",)
WRITE_PAGES = "dynamodb:UpdateItem"


def can_complete(pages: Sequence[str]) -> bool:
    """Return whether a function with the actions *pages* on the table of pages can complete a batch.

    A batch completes with the write of its last page: by an ack, a close, a sweep, or a child that ended.
    """
    return WRITE_PAGES in pages


def environment(bus: events.IEventBus) -> dict[str, str]:
    """Return the variable by which the tracker puts completions on *bus*."""
    return {"FANIN_COMPLETIONS_BUS": bus.event_bus_name}


def let_put(function: lambda_.Function, bus: events.IEventBus) -> None:
    """Let *function* put completions on *bus*, and on no other."""
    for name, value in environment(bus).items():
        function.add_environment(name, value)
    allow_put(function, bus)


def allow_put(function: lambda_.Function, bus: events.IEventBus) -> None:
    """Grant *function* to put events on *bus*, and on no other."""
    statement = iam.PolicyStatement(actions=list(PUT_EVENTS), resources=[bus.event_bus_arn])
    function.add_to_role_policy(statement)
