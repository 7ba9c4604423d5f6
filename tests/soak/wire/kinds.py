"""The kinds of faults, and which of them the n-th request of a run meets: the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What happens to a request.

    ``LATE``: it is lost, and applied seconds later, after its retry. ``AGAIN``: applied now, and once more
    later. ``PARTIAL``: half of a batch is applied, and the answer names the rest. ``ONE_ITEM``: a page of a
    list has one row. ``STALL``: the answer comes after the client has stopped waiting.
    """

    DROP_BEFORE = "drop before"
    DROP_AFTER = "drop after"
    ERROR_AFTER = "error after"
    LATE = "late copy"
    AGAIN = "second copy"
    THROTTLE = "throttle"
    CONFLICT = "transaction conflict"
    PARTIAL = "partial result"
    ONE_ITEM = "one-item page"
    SLOW = "slow bytes"
    STALL = "stall"


LISTS = frozenset({"Query", "Scan"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})
BATCHES = {
    "BatchGetItem": "dynamodb",
    "BatchWriteItem": "dynamodb",
    "BatchExecuteStatement": "dynamodb",
    "SendMessageBatch": "sqs",
    "ChangeMessageVisibilityBatch": "sqs",
    "DeleteMessageBatch": "sqs",
    "PutEvents": "events",
}
ANYWHERE = (
    Kind.DROP_BEFORE,
    Kind.DROP_AFTER,
    Kind.ERROR_AFTER,
    Kind.LATE,
    Kind.AGAIN,
    Kind.THROTTLE,
    Kind.SLOW,
)
EPOCH = 60
"""Requests after which the share of faults is drawn anew: calm, rough and stormy times follow each other."""
SHARES = (0.03, 0.15, 0.6)
OF_STALLS = 0.01
"""A stall takes as long as a read timeout, so few faults are one."""


@dataclass(frozen=True)
class Planned:
    """What the n-th request meets: *chance* chooses among the kinds that fit its operation."""

    is_hit: bool
    chance: float
    is_stall: bool

    def kind(self, operation: str) -> Kind | None:
        """Return the fault of a request of *operation*, or None."""
        if not self.is_hit:
            return None
        if self.is_stall:
            return Kind.STALL
        fitting = kinds_of(operation)
        return fitting[int(self.chance * len(fitting))]


def kinds_of(operation: str) -> tuple[Kind, ...]:
    """Return the kinds that a request of *operation* can meet; its own kinds weigh three times."""
    own: tuple[Kind, ...] = ()
    if operation in LISTS:
        own = (Kind.ONE_ITEM,)
    elif operation in BATCHES:
        own = (Kind.PARTIAL,)
    elif operation in WRITES:
        own = (Kind.CONFLICT,)
    return ANYWHERE + 3 * own


def planned(seed: int, shares: Sequence[float] = SHARES) -> Iterator[Planned]:
    """Yield what the first request meets, the second one, and so on; *shares*: of faults, one an epoch."""
    chance = random.Random(seed)
    while True:
        share = chance.choice(shares)
        for _ in range(EPOCH):
            yield Planned(chance.random() < share, chance.random(), chance.random() < OF_STALLS)
