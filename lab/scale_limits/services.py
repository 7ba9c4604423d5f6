"""The limits of the services around the tables, and the items a second at which each is reached."""

from __future__ import annotations

from dataclasses import dataclass

from lab.cost.month import milliseconds
from lab.scale_limits.partitions import IN_FLIGHT

DELIVERY = 100
"""Messages of a delivery of the acks queue."""


@dataclass(frozen=True)
class Service:
    """A limit, by the page of the AWS documentation that has it, and what a unit of it carries.

    *items*: that one carries at most; *moved*: what raises it.
    """

    name: str
    limit: float
    source: str
    what: str
    items: float
    moved: str

    @property
    def rate(self) -> float:
        """Items a second at which the limit is reached."""
        return self.limit * self.items


SECONDS = milliseconds(2.1) / 1000
"""Assumed of a delivery in order: a read of the batch now and then, and 1.1 writes."""
ACCOUNT = "Amazon API Gateway quotas, account-level; 2,500 in newer Regions"
TARGETS = 2
"""Invocations of targets for each event: its confirmation, and one rule of a user."""
SERVICES = (
    Service(
        "API Gateway, requests a second to all APIs",
        10_000,
        ACCOUNT,
        "acks, singly",
        1,
        "a quota; up to 1,000 items in each request",
    ),
    Service("the same", 10_000, ACCOUNT, "acks, hundreds", 100, "a quota"),
    Service(
        "Lambda, executions at once, of a new account",
        2,
        "Lambda quotas; `lambda_concurrency` 10",
        "acks through the queue",
        DELIVERY / SECONDS,
        "`lambda_concurrency`",
    ),
    Service(
        "the same, of others",
        1_000,
        "Lambda quotas",
        "acks through the queue",
        DELIVERY / SECONDS,
        "a quota; acks by consumers at the tables need none",
    ),
    Service(
        "SQS, messages in flight of a queue",
        IN_FLIGHT,
        "Amazon SQS standard queue quotas",
        "acks through the queue, each in flight for the window of 1 s at most",
        1 / (1 + SECONDS),
        "a quota; deliveries that are full wait for no window",
    ),
    Service(
        "EventBridge, PutEvents a second in us-east-1",
        10_000,
        "Amazon EventBridge quotas",
        "batches, one event each at once",
        1,
        "a quota; a refused event is sent by the stream",
    ),
    Service(
        "EventBridge, invocations of targets a second in us-east-1",
        18_750,
        "Amazon EventBridge quotas",
        "batches, each confirmed and sent to one target of yours",
        1 / TARGETS,
        "a quota; an invocation above it is delayed",
    ),
)
