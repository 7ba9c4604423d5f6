"""Two tenants of one queue, one with a hundred times the load of the other, as SQS documents fair queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from fanin.grouper import BundleKey, BundleMessage, Posting, TaskKey, TaskMessage
from fanin.grouper.sqs import SqsQueue
from fanin.publishing.packing import Message
from fanin.publishing.sending import send
from tests.simulating.fair_queue import Sent, dwell_times

NOISY, QUIET = "noisy", "quiet"
NOISY_SECONDS, QUIET_SECONDS = 30, 60
"""How long each sends: 100 messages a second, and one."""
CONCURRENCY, WORK_SECONDS = 2, 0.1
"""The consumers of a default stack, which work on 20 messages a second at most."""
SOON = 5.0
BATCHES = {NOISY: str(UUID(int=1)), QUIET: str(UUID(int=2))}


class Entries:
    """SQS, which keeps the groups of the messages that it was sent."""

    def __init__(self) -> None:
        self.groups: list[str | None] = []

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.groups += [each.get("MessageGroupId") for each in Entries]
        return {"Successful": Entries}


def of_target(message: Callable[[str], TaskMessage | BundleMessage]) -> Callable[[str], str | None]:
    def group(tenant: str) -> str | None:
        sqs = Entries()
        SqsQueue(sqs, "tasks", "bundles").send([Posting(message(tenant))])
        return sqs.groups[0]

    return group


def of_batch(tenant: str) -> str | None:
    sqs = Entries()
    send(sqs, "work", [Message(1, "{}", BATCHES[tenant])], [0.0], lambda _: None)
    return sqs.groups[0]


SENDERS = {
    "tasks of two targets": (of_target(lambda name: TaskMessage(TaskKey("t", "a"), target=name)), 10),
    "tasks of two tenants": (of_target(lambda name: TaskMessage(TaskKey(name, "a"), target="mail")), 10),
    "bundles of two targets": (of_target(lambda name: BundleMessage(BundleKey("t", "b"), target=name)), 1),
    "items of two batches": (of_batch, 10),
}


def load(group_of: Callable[[str], str | None]) -> list[Sent]:
    """The messages of both tenants."""
    groups = {name: group_of(name) for name in (NOISY, QUIET)}
    noisy = [Sent(number / 100, NOISY, groups[NOISY]) for number in range(100 * NOISY_SECONDS)]
    return noisy + [Sent(float(number), QUIET, groups[QUIET]) for number in range(QUIET_SECONDS)]


@pytest.mark.parametrize("sender", SENDERS)
def test_a_hundred_times_the_load_delays_no_other_tenant(sender: str) -> None:
    group_of, batch = SENDERS[sender]
    found = dwell_times(load(group_of), CONCURRENCY, batch, WORK_SECONDS)

    assert len(found[QUIET]) == QUIET_SECONDS
    assert max(found[QUIET]) < SOON
    assert max(found[NOISY]) > 100
