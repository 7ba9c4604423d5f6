"""deliver calls a handler as SQS and Lambda do, and raises what a consumer only logs."""

from __future__ import annotations

import json

import pytest

from fanin import InvalidRequest
from fanin.testing import FakeFanin, deliver


class Handler:
    """Answers each delivery by *answer*, and keeps it."""

    def __init__(self, answer=lambda records: None):
        self.answer, self.deliveries = answer, []

    def __call__(self, event, context):
        self.deliveries.append(event["Records"])
        assert context.get_remaining_time_in_millis() > 1000
        return self.answer(event["Records"])

    def seen(self):
        return [
            [(record["body"], record["attributes"]["ApproximateReceiveCount"]) for record in each]
            for each in self.deliveries
        ]


def returning(*bodies):
    def answer(records):
        failed = [record["messageId"] for record in records if record["body"] in bodies]
        return {"batchItemFailures": [{"itemIdentifier": each} for each in failed]}

    return Handler(answer)


def test_what_the_answer_names_comes_again_with_its_receive_count_and_dies():
    handler = returning("b")

    delivered = deliver(handler, ["a", "b", "c"], max_receives=2)

    assert handler.seen() == [[("a", "1"), ("b", "1"), ("c", "1")], [("b", "2")]]
    assert (delivered.acked, delivered.dead) == (("a", "c"), ("b",))


def test_a_delivery_has_ten_messages_of_their_own_ids():
    handler = Handler()
    deliver(handler, map(str, range(25)))
    records = [record for each in handler.deliveries for record in each]

    assert [len(each) for each in handler.deliveries] == [10, 10, 5]
    assert len({record["messageId"] for record in records}) == 25
    assert {record["eventSource"] for record in records} == {"aws:sqs"}


def test_a_body_that_is_no_text_is_sent_as_json():
    handler = Handler()

    assert deliver(handler, [{"itemId": "x"}]).acked == ('{"itemId": "x"}',)
    assert json.loads(handler.deliveries[0][0]["body"]) == {"itemId": "x"}


def test_an_invocation_that_raises_returns_its_whole_delivery():
    def once(records):
        if records[0]["attributes"]["ApproximateReceiveCount"] == "1":
            raise OSError("out of reach")

    handler = Handler(once)

    assert deliver(handler, ["a", "b"], raises=False).acked == ("a", "b")
    assert len(handler.deliveries) == 2
    with pytest.raises(OSError, match="out of reach"):
        deliver(handler, ["a", "b"])


@pytest.mark.parametrize(
    "answer",
    [
        {"batchItemFailures": ["m"]},
        {"batchItemFailures": [{"messageId": "m"}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": "unknown"}]},
        {"batchItemFailures": [{"itemIdentifier": []}]},
        {"batchItemFailures": 1},
        "text",
    ],
)
def test_a_malformed_answer_returns_the_whole_delivery_and_is_raised(answer):
    handler = Handler(lambda _: answer)

    assert deliver(handler, ["a", "b"], raises=False).dead == ("a", "b")
    with pytest.raises(InvalidRequest, match="the handler's answer"):
        deliver(handler, ["a", "b"])


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": None}, {"batchItemFailures": []}])
def test_an_empty_answer_uses_up_the_whole_delivery(answer):
    assert deliver(Handler(lambda _: answer), ["a", "b"]).acked == ("a", "b")


@pytest.fixture
def fake():
    return FakeFanin()


@pytest.fixture
def items(fake):
    with fake.open() as batch:
        return batch.add(3)


def test_the_first_exception_of_the_work_is_raised_after_the_last_delivery(fake, items):
    tried = []

    @fake.acks(fail_after=3)
    def handler(record):
        tried.append(record["body"])
        if not record["body"].endswith(":0"):
            raise KeyError(len(tried))

    with pytest.raises(KeyError) as first:
        deliver(handler, items)

    assert first.value.args == (2,)
    assert len(tried) == 7
    assert fake.status(items[0][:36]).result == "completed_with_failures"


def test_a_retry_that_succeeds_is_allowed_where_nothing_is_raised(fake, items):
    @fake.acks
    def handler(record):
        if record["attributes"]["ApproximateReceiveCount"] == "1":
            raise KeyError

    assert len(deliver(handler, items, raises=False).acked) == 3
    assert fake.status(items[0][:36]).result == "succeeded"


def test_errors_of_another_delivery_are_not_raised_in_this_one(fake, items):
    @fake.acks
    def handler(record):
        raise KeyError

    deliver(handler, items, raises=False)

    assert deliver(Handler(), items).acked == tuple(items)


def test_a_delivery_inside_of_another_notes_its_own_errors_alone(fake, items):
    @fake.acks
    def inner(record):
        raise KeyError

    @fake.acks
    def handler(record):
        deliver(inner, items[:1], raises=False)
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011  # it has no text
        deliver(handler, items[1:2])


@pytest.mark.parametrize("wrong", [{"max_receives": 0}, {"batch_size": 0}, {"max_receives": True}])
def test_numbers_are_checked(wrong):
    with pytest.raises(InvalidRequest):
        deliver(Handler(), [], **wrong)


@pytest.mark.parametrize("bodies", ["text", b"bytes", {"itemId": "x"}])
def test_a_single_body_is_no_list(bodies):
    with pytest.raises(InvalidRequest, match="list of bodies"):
        deliver(Handler(), bodies)


def test_a_coroutine_function_is_no_handler():
    async def handler(event, context): ...

    with pytest.raises(InvalidRequest, match="coroutine"):
        deliver(handler, [])
