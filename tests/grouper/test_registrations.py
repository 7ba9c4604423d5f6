"""Messages whose tasks are over the quota of the tenant: they return later, and none is lost."""

from __future__ import annotations

from fanin.api.task_messages import new_task_of
from fanin.errors import QuotaExceeded
from fanin.grouper.work.registrations import LONGEST_PAUSE_SECONDS, register_messages
from fanin.isolating import TRIES
from tests.grouper.conftest import TENANT
from tests.grouper.test_registering_many import DeadLetters, message

ARN = "arn:aws:sqs:eu-west-1:111122223333:registrations"


def over(_tasks: int) -> None:
    raise QuotaExceeded("over", quota="tasks", limit=1, used=2, retry_after=3)


def delivered(message_id: str, receives: int, **said: object) -> dict[str, object]:
    attributes = {"ApproximateReceiveCount": str(receives)}
    more = {"receiptHandle": f"r-{message_id}", "eventSourceARN": ARN, "attributes": attributes}
    return message(message_id, **said) | more


def test_messages_over_the_quota_return_and_register_nothing(bench, caplog):
    records = [delivered("m1", 1), delivered("m2", 1)]
    consumed = register_messages(bench.grouper, TENANT, records, new_task_of, admit=over)

    assert (consumed.done, consumed.failed) == ((), ("m1", "m2"))
    assert bench.queue.sent == []
    assert [each.getMessage() for each in caplog.records] == ["2 messages return to the queue: over"]


def test_a_message_over_the_quota_is_hidden_for_a_pause_that_doubles_with_each_receipt(bench):
    hidden: dict[str, int] = {}
    records = [delivered(f"m{receives}", receives) for receives in (1, 2, 3, 100)]
    register_messages(
        bench.grouper, TENANT, records, new_task_of, admit=over, hide=lambda _, pauses: hidden.update(pauses)
    )

    for receives, most in ((1, 60), (2, 120), (3, 240), (100, LONGEST_PAUSE_SECONDS)):
        assert most // 2 <= hidden[f"r-m{receives}"] <= most


def test_a_message_over_the_quota_is_not_isolated_however_often_it_returns(bench):
    letters = DeadLetters()
    records = [delivered("m1", 3 * TRIES), delivered("bad", TRIES, nonsense=1)]
    consumed = register_messages(bench.grouper, TENANT, records, new_task_of, letters, over)

    assert letters.ids == ["bad"]
    assert consumed.failed == ("m1",)


def test_the_messages_of_a_delivery_are_charged_together_without_the_invalid_ones(bench):
    charged: list[int] = []
    records = [delivered("m1", 1), delivered("m2", 1), delivered("bad", 1, nonsense=1)]
    consumed = register_messages(bench.grouper, TENANT, records, new_task_of, admit=charged.append)

    assert charged == [2]
    assert [len(consumed.done), consumed.failed] == [2, ("bad",)]
