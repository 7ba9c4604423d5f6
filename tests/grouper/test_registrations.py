"""Many tasks at once, over HTTP or from a queue: each registered by itself, or returned over the quota."""

from __future__ import annotations

import json

import pytest

from fanin.api.task_messages import new_task_of
from fanin.errors import InvalidRequest, KeyReused, QuotaExceeded, StoreUnavailable
from fanin.grouper import NewTask, Task
from fanin.grouper.use_cases.registrations import LONGEST_PAUSE_SECONDS, register_messages
from fanin.isolating import TRIES
from tests.grouper.conftest import TENANT

ITEM = "00000000-0000-4000-8000-000000000000:00000000-0000-4000-8000-000000000001:7"


def message(message_id, **fields):
    return {"messageId": message_id, "body": json.dumps({"target": "search", "payload": message_id} | fields)}


def register(bench, *records, isolate=None):
    return register_messages(bench.grouper, TENANT, records, new_task_of, isolate)


def received(record, times):
    return record | {"attributes": {"ApproximateReceiveCount": str(times)}}


class DeadLetterQueue:
    """A dead-letter queue that accepts so many messages, and their ids."""

    def __init__(self, accepts=10):
        self.accepts = accepts
        self.ids = []

    def __call__(self, records):
        self.ids += [record["messageId"] for record in records[: self.accepts]]
        return self.ids


def test_each_task_has_its_result_and_all_messages_are_sent_at_once(bench):
    bench.register("a")
    sends = []
    bench.queue.send = lambda postings: sends.append([each.message.key.task_id for each in postings])
    results = bench.grouper.register_all(
        TENANT,
        [
            NewTask("b", "search", "b"),
            NewTask("other", "search", "a"),
            NewTask(1, "#"),
            NewTask("a", "search", "a"),
        ],
    )

    assert [type(each) for each in results] == [Task, KeyReused, InvalidRequest, Task]
    assert sends == [["b", "a"]]


def test_a_message_that_may_not_be_sent_is_an_outcome_of_its_task_alone(bench):
    bench.register("a")
    bench.drain()

    def fail(_postings):
        raise StoreUnavailable("throttled")

    bench.queue.send = fail
    ended, waiting, refused = bench.grouper.register_all(
        TENANT, [NewTask("a", "search", "a"), NewTask("b", "search", "b"), NewTask(1, "#")]
    )

    assert (type(ended), type(waiting), type(refused)) == (Task, StoreUnavailable, InvalidRequest)


def test_a_delivery_registers_its_tasks_and_returns_what_is_malformed(bench):
    consumed = register(
        bench,
        message("m-1", taskId="a", priority=3, itemId=ITEM),
        {"messageId": "m-2", "body": "{"},
        message("m-3", colour="red"),
        message("m-4"),
    )

    assert consumed.failed == ("m-2", "m-3")
    assert [each.payload for each in consumed.answers] == ['"m-1"', '"m-4"']
    assert (bench.task("a").item_id, bench.task("a").priority) == (ITEM, 3)


@pytest.mark.parametrize(
    "fields",
    [
        {"target": 5},
        {"taskId": ["a"]},
        {"priority": "1"},
        {"priority": True},
        {"priority": 1.0},
        {"itemId": "x"},
        {"payload": "x" * 40_000},
        {"target": "a b"},
        {"tasks": []},
    ],
    ids=str,
)
def test_a_message_is_read_as_strictly_as_a_request(bench, fields):
    assert register(bench, message("m-1", **fields)).failed == ("m-1",)


def test_a_message_needs_a_payload_which_may_be_null(bench):
    body = json.dumps({"target": "search"})

    assert register(bench, {"messageId": "m-1", "body": body}).failed == ("m-1",)
    assert register(bench, message("m-1", payload=None)).answers


MALFORMED = {"messageId": "m-1", "body": "{"}


WITHOUT_TARGET = message("m-1", target=None)


OF_ANOTHER_TASK = message("m-1", taskId="a", target="elsewhere")


@pytest.mark.parametrize(
    "record", [MALFORMED, WITHOUT_TARGET, OF_ANOTHER_TASK], ids=["malformed", "no target", "another task"]
)
@pytest.mark.parametrize(("times", "isolated"), [(1, False), (TRIES - 1, False), (TRIES, True), (121, True)])
def test_a_message_that_registers_no_task_is_isolated_at_its_fifth_receive(bench, record, times, isolated):
    bench.register("a")
    dead = DeadLetterQueue()
    good = received(message("m-2"), times)
    consumed = register(bench, received(record, times), good, isolate=dead)

    assert dead.ids == (["m-1"] if isolated else [])
    assert consumed.failed == (() if isolated else ("m-1",))
    assert [each.payload for each in consumed.answers] == ['"m-2"']


def test_a_message_that_the_dead_letter_queue_did_not_accept_returns(bench):
    second = {"messageId": "m-2", "body": "["}
    dead = DeadLetterQueue(accepts=1)
    consumed = register(bench, received(MALFORMED, TRIES), received(second, TRIES), isolate=dead)

    assert (dead.ids, consumed.failed) == (["m-1"], ("m-2",))


@pytest.mark.parametrize("down", ["store", "queue"])
def test_a_message_is_never_isolated_because_a_service_is_unavailable(bench, monkeypatch, down):
    def fail(*_):
        raise StoreUnavailable("throttled")

    monkeypatch.setattr(*((bench.store, "create", fail) if down == "store" else (bench.queue, "send", fail)))
    dead = DeadLetterQueue()

    assert register(bench, received(message("m-1"), 121), isolate=dead).failed == ("m-1",)
    assert dead.ids == []


ARN = "arn:aws:sqs:eu-west-1:111122223333:registrations"


def over(_tasks: int) -> None:
    raise QuotaExceeded("over", quota="tasks", limit=1, used=2, retry_after=3)


def delivered(message_id: str, receives: int, **fields: object) -> dict[str, object]:
    attributes = {"ApproximateReceiveCount": str(receives)}
    more = {"receiptHandle": f"r-{message_id}", "eventSourceARN": ARN, "attributes": attributes}
    return message(message_id, **fields) | more


def test_messages_over_the_quota_return_and_register_nothing(bench, caplog):
    records = [delivered("m1", 1), delivered("m2", 1)]
    consumed = register_messages(bench.grouper, TENANT, records, new_task_of, admit=over)

    assert (consumed.answers, consumed.failed) == ((), ("m1", "m2"))
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
    dead = DeadLetterQueue()
    records = [delivered("m1", 3 * TRIES), delivered("bad", TRIES, nonsense=1)]
    consumed = register_messages(bench.grouper, TENANT, records, new_task_of, dead, over)

    assert dead.ids == ["bad"]
    assert consumed.failed == ("m1",)


def test_the_messages_of_a_delivery_are_charged_together_without_the_invalid_ones(bench):
    charged: list[int] = []
    records = [delivered("m1", 1), delivered("m2", 1), delivered("bad", 1, nonsense=1)]
    consumed = register_messages(bench.grouper, TENANT, records, new_task_of, admit=charged.append)

    assert charged == [2]
    assert [len(consumed.answers), consumed.failed] == [2, ("bad",)]


def test_what_is_malformed_is_not_counted_as_over_the_quota(bench, caplog):
    register_messages(bench.grouper, TENANT, [MALFORMED, delivered("m2", 1)], new_task_of, admit=over)

    assert caplog.records[0].getMessage().startswith("message m-1 registers no task: ")
    assert [each.getMessage() for each in caplog.records[1:]] == ["1 messages return to the queue: over"]
