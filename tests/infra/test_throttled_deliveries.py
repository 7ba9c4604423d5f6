"""How long a message of a consumed queue survives deliveries that no invocation processes."""

from __future__ import annotations

from typing import Any

import pytest

from fanin.client.consuming.adapter import Adapter
from fanin.client.consuming.records import dead_letter_message_ack
from fanin.client.transports.direct import DirectTransport
from fanin.isolating import TRIES
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from tests.functions.deliveries import delivery
from tests.infra.synthesis import Assembly, Resource

HOUR = 3600
SEVERAL_HOURS = 6 * HOUR
DAY = 24 * HOUR
CONSUMED = (
    "AcksQueue",
    "GrouperTaskMessagesQueue",
    "GrouperBundleMessagesQueue",
    "GrouperRegistrationsQueue",
    "CallbacksWebhooksshopQueue",
)
TRIED_FOR_A_DAY = "ResumingEventsQueue"
UNKNOWN = "00000000-0000-4000-8000-00000000dead:00000000-0000-4000-8000-00000000dead:0"


def processed_at(
    throttled_until: float, visibility: float, max_receives: int, retried_for: float
) -> float | None:
    """When a message that is sent at 0 is processed; None if SQS moves it to the dead-letter queue.

    A receive hides it for *visibility*. Lambda retries the invocation for *retried_for* of that time: all of
    it by its documentation (Handling errors for an SQS event source), none in the worst case.
    """
    at = 0.0
    for _ in range(max_receives):
        if throttled_until <= at + retried_for:
            return max(at, throttled_until)
        at += visibility
    return None


def queue_of(assembly: Assembly, name: str) -> tuple[int, int, int]:
    """The visibility timeout, the receives and the retention of a queue."""
    found: Resource = assembly.named("AWS::SQS::Queue", name)["Properties"]
    retention = int(found.get("MessageRetentionPeriod", 4 * DAY))
    return int(found["VisibilityTimeout"]), int(found["RedrivePolicy"]["maxReceiveCount"]), retention


@pytest.mark.parametrize("name", [*CONSUMED, TRIED_FOR_A_DAY])
@pytest.mark.parametrize("is_retried", [True, False], ids=["retried", "given up at once"])
def test_hours_of_throttles_or_of_a_store_that_is_down_lose_no_message(
    full: Assembly, name: str, is_retried: bool
) -> None:
    visibility, receives, retention = queue_of(full, name)
    retried_for = visibility if is_retried else 0

    for throttled_until in range(0, SEVERAL_HOURS + 1, 60):
        processed = processed_at(throttled_until, visibility, receives, retried_for)
        assert processed is not None
        assert processed - throttled_until <= visibility
    assert receives <= 1000
    # A message that waits for a receive, without one, is kept for the rest of its retention.
    assert retention - SEVERAL_HOURS > 13 * DAY


@pytest.mark.parametrize("name", CONSUMED)
def test_a_message_whose_receives_all_crash_the_function_is_isolated_within_a_working_day(
    full: Assembly, name: str
) -> None:
    visibility, receives, _ = queue_of(full, name)

    assert processed_at(DAY * 365, visibility, receives, retried_for=0) is None
    assert visibility * receives <= 7 * HOUR


class Queue:
    """A queue of one message with a clock, and its dead-letter queue."""

    def __init__(self) -> None:
        self.now = 0.0
        self.dead: list[str] = []

    def hide(self, _queue: str, pauses: Any) -> None:
        (pause,) = pauses.values()
        self.now += pause

    def isolate(self, records: Any) -> list[str]:
        self.dead += [record["body"] for record in records]
        return [record["messageId"] for record in records]


@pytest.mark.parametrize("body", [UNKNOWN, "?"])
@pytest.mark.parametrize("throttles", [0, 100])
def test_an_invalid_ack_is_isolated_in_a_quarter_of_an_hour_and_is_not_received_a_hundred_times(
    default: Assembly, body: str, throttles: int
) -> None:
    _, receives, _ = queue_of(default, "AcksQueue")
    queue, transport = Queue(), DirectTransport(Tracker(MemoryStore(), page_bits=8), "t")
    adapter = Adapter(
        transport, ack_of=dead_letter_message_ack, hide=queue.hide, isolate=queue.isolate, chance=lambda: 0.0
    )

    seen = 0
    for number in range(1 + throttles, receives + 1):
        seen += 1
        if not adapter.settle(delivery(body, receives=number)).failed:
            break

    assert queue.dead == [body]
    assert seen <= 5
    assert queue.now <= 15 * 60


def test_a_registration_without_a_task_is_isolated_in_a_quarter_of_an_hour(full: Assembly) -> None:
    visibility, _, _ = queue_of(full, "GrouperRegistrationsQueue")

    # Nothing hides it for longer: each receive but the last hides it for the visibility timeout.
    assert (TRIES - 1) * visibility <= 15 * 60
