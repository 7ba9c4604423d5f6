"""What travels over the queues, how SQS takes it, and that no two things share a row."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.grouper import (
    Answer,
    BundleKey,
    BundleMessage,
    Lane,
    Outcome,
    Posting,
    TaskKey,
    TaskMessage,
    Verdict,
)
from fanin.grouper.rules.ids import (
    BUNDLE_ID_FORM,
    TARGET_FORM,
    TASK_ID_FORM,
    bundle_id,
    checked_bundle_id,
    checked_target,
    checked_task_id,
)
from fanin.grouper.sqs import SqsQueue
from tests.contract import moto_clients

TASK = TaskMessage(TaskKey("t", "a"), waits=3, target="mail")
BUNDLE = BundleMessage(BundleKey("t", bundle_id("lane", 1)), swept=True)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "null",
        "{",
        "{}",
        "[" * 100_000,
        '{"tenant":"t"}',
        '{"tenant":"","taskId":"a"}',
        '{"tenant":1,"taskId":"a"}',
        '{"tenant":"t","taskId":"a#b"}',
        '{"tenant":"t","taskId":7}',
        '{"tenant":"t","taskId":"a","waits":"1"}',
        '{"tenant":"t","taskId":"a","waits":-1}',
        '{"tenant":"t","taskId":"a","waits":true}',
        '{"tenant":"t","taskId":"a","swept":1}',
    ],
)
def test_what_is_no_message_is_refused(body):
    with pytest.raises(InvalidRequest):
        TaskMessage.parse(body)


@pytest.fixture
def sqs():
    with mock_aws():
        client = moto_clients.client("sqs")
        yield (
            client,
            client.create_queue(QueueName="tasks")["QueueUrl"],
            client.create_queue(QueueName="b")["QueueUrl"],
        )


def received(client, url):
    bodies = []
    while found := client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        bodies += [message["Body"] for message in found]
    return bodies


def test_each_message_goes_to_its_queue_ten_a_request(sqs):
    client, tasks, bundles = sqs
    messages = [TaskMessage(TaskKey("t", f"a{number}")) for number in range(23)]
    SqsQueue(client, tasks, bundles).send([*map(Posting, messages), Posting(BUNDLE)])

    assert sorted(received(client, tasks)) == sorted(message.body() for message in messages)
    assert received(client, bundles) == [BUNDLE.body()]


def test_a_delay_travels_along(sqs):
    client, tasks, bundles = sqs
    SqsQueue(client, tasks, bundles).send([Posting(TASK, 900)])

    assert received(client, tasks) == []


class Partly:
    """A client that takes some of the messages each time."""

    def __init__(self, *failing):
        self.failing, self.requests = list(failing), []

    def send_message_batch(self, **request):
        self.requests.append([entry["Id"] for entry in request["Entries"]])
        failed = self.failing.pop(0) if self.failing else []
        return {"Failed": [{"Id": one} for one in failed]}


def test_what_was_not_taken_is_sent_again_and_nothing_else():
    client = Partly(["1", "2"], ["2"])
    SqsQueue(client, "t", "b", pause=lambda _: None).send([Posting(TASK)] * 3)

    assert client.requests == [["0", "1", "2"], ["1", "2"], ["2"]]


def test_what_is_never_taken_is_an_error():
    client = Partly(*[["0"]] * 9)

    with pytest.raises(StoreUnavailable):
        SqsQueue(client, "t", "b", pause=lambda _: None).send([Posting(TASK)])
    assert len(client.requests) == 5


def test_a_throttled_queue_is_out_of_reach_and_a_missing_one_is_a_bug():
    class Refusing:
        code = "ThrottlingException"

        def send_message_batch(self, **request):
            raise ClientError({"Error": {"Code": self.code}}, "SendMessageBatch")

    client = Refusing()
    with pytest.raises(StoreUnavailable):
        SqsQueue(client, "t", "b").send([Posting(TASK)])
    client.code = "AWS.SimpleQueueService.NonExistentQueue"
    with pytest.raises(ClientError):
        SqsQueue(client, "t", "b").send([Posting(TASK)])


def test_every_message_names_its_target_by_which_the_queue_is_shared(bench):
    bench.api.answers = [Answer(Outcome(Verdict.RETRY, "busy")), Answer(Outcome(Verdict.FAIL, "no"))]
    bench.register("a", "b")
    bench.drain()
    bench.register("c", "d")
    bench.queue.waiting.clear()
    bench.clock.advance(seconds=60)
    bench.grouper.sweep()
    bench.step()
    bench.queue.waiting.clear()
    bench.clock.advance(seconds=120)
    bench.grouper.sweep()

    assert {posting.message.target for posting in bench.queue.sent} == {"search"}
    kinds = {(type(each.message), each.message.swept) for each in bench.queue.sent}
    assert kinds == {(kind, swept) for kind in (TaskMessage, BundleMessage) for swept in (False, True)}


TENANTS = st.text("a#1:", min_size=1, max_size=8)


def of_form(form):
    return st.from_regex(form, fullmatch=True)


@given(TENANTS, of_form(TASK_ID_FORM), of_form(BUNDLE_ID_FORM), of_form(TARGET_FORM), st.integers(0, 99))
def test_a_key_is_read_from_its_end_so_that_it_names_one_tenant_and_thing(
    tenant, task, bundle, target, shard
):
    assert str(TaskKey(tenant, task)).rsplit("#", 1) == [tenant, task]
    assert str(BundleKey(tenant, bundle)).rsplit("#", 1) == [tenant, bundle]
    assert str(Lane(tenant, target, str(shard))).rsplit("#", 2) == [tenant, target, str(shard)]


@pytest.mark.parametrize("checked", [checked_task_id, checked_bundle_id, checked_target])
@pytest.mark.parametrize("name", ["b#c", "#", "b#0", "", "b\n"])
def test_a_name_that_could_be_a_part_of_another_key_is_refused(checked, name):
    with pytest.raises(InvalidRequest):
        checked(name)
