"""Dead-letter messages are moved if their items can still be done, and none is ever lost."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta

import pytest
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws
from moto.sqs.models import sqs_backends

from fanin import Fanin, InvalidRequest, StoreUnavailable
from fanin.client.transports.direct import DirectTransport
from fanin.dead_letter_queue_redrive import redrive
from fanin.dead_letter_queue_redrive.dead_letter_messages import LeaveReason
from fanin.dead_letter_queue_redrive.redrive import Redrive, RedriveRequest
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from tests.contract import moto_clients
from tests.publishing.interrupted import Killed, Network, Watched

BATCH = "00000000-0000-4000-8000-000000000001"
WRITES = {"send_message_batch", "delete_message_batch", "change_message_visibility_batch"}


@pytest.fixture(autouse=True)
def _no_long_polls(monkeypatch):
    monkeypatch.setattr(redrive, "WAIT_SECONDS", 0)


@pytest.fixture
def sqs():
    with mock_aws():
        yield moto_clients.client("sqs")


@pytest.fixture
def transport():
    return DirectTransport(Tracker(MemoryStore(), fresh_for=timedelta(0), pause=lambda _: None), "t")


@pytest.fixture
def fanin(transport):
    return Fanin(transport)


def queue(sqs, name, **attributes):
    given = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
    return sqs.create_queue(QueueName=name, Attributes=given | attributes)["QueueUrl"]


def queues(sqs, suffix=""):
    """A source queue and its dead-letter queue."""
    dead = queue(sqs, f"dead{suffix}")
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
    return queue(sqs, f"work{suffix}", RedrivePolicy=policy), dead


def send(sqs, url, *messages):
    for body in messages:
        sqs.send_message(QueueUrl=url, MessageBody=body)


def bodies(sqs, url):
    """The bodies that are visible in a queue, sorted; they are hidden by this."""
    found = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found += [each["Body"] for each in messages]
    return sorted(found)


def run(sqs, transport, url, **options):
    return Redrive(sqs, transport, RedriveRequest(url, **options)).run()


def test_only_what_is_outstanding_or_failed_in_a_live_batch_is_moved(sqs, transport, fanin):
    work, dead = queues(sqs)
    live, over, counted = fanin.open(), fanin.open(), fanin.open(mode="estimated", expected_items=10)
    items, ended = live.add(30), over.add(2)
    fanin.ack([items[0], *items[10:20]]), fanin.fail([items[1]])
    over.cancel()
    moved = [items[1], json.dumps({"itemId": items[2]}), items[8:14].message(), items[14:22].message([0] * 8)]
    unmoved = {
        items[0]: LeaveReason.DONE,
        items[10:20].message(): LeaveReason.DONE,
        ended[0]: LeaveReason.ENDED,
        json.dumps({"itemId": ended[1], "record": 1}): LeaveReason.ENDED,
        "no id": LeaveReason.NO_ITEM,
        '{"items": "x"}': LeaveReason.NO_ITEM,
        f"{BATCH}:{items.group_id}:0": LeaveReason.UNKNOWN,
        f"{live.id}:{ended.group_id}:0": LeaveReason.UNKNOWN,
        f"{live.id}:{items.group_id}:31": LeaveReason.NO_ITEM,
        counted.add(5)[0]: LeaveReason.ESTIMATED,
    }
    send(sqs, dead, *moved, *unmoved)
    found = run(sqs, transport, dead)

    assert found.moved == len(moved)
    assert dict(found.not_moved) == {
        reason: list(unmoved.values()).count(reason) for reason in set(unmoved.values())
    }
    assert bodies(sqs, work) == sorted(moved)
    assert bodies(sqs, dead) == sorted(unmoved)
    assert found.unseen == 0


def test_a_dry_run_moves_nothing_and_hides_nothing(sqs, transport, fanin):
    work, dead = queues(sqs)
    items = fanin.open().add(12)
    send(sqs, dead, *items)
    found = run(sqs, transport, dead, is_dry_run=True)

    assert (found.moved, bodies(sqs, work), bodies(sqs, dead)) == (12, [], sorted(items))


def test_attributes_travel_along_but_for_those_of_a_kept_message(sqs, transport, fanin):
    _, dead = queues(sqs)
    target, item = queue(sqs, "again"), fanin.open().add(1)[0]
    own = {"trace": {"DataType": "String", "StringValue": "x"}}
    kept = {"fanin.itemId": {"DataType": "String", "StringValue": item}}
    sqs.send_message(QueueUrl=dead, MessageBody="no id", MessageAttributes={**own, **kept})
    run(sqs, transport, dead, to=target)
    (message,) = sqs.receive_message(QueueUrl=target, MessageAttributeNames=["All"])["Messages"]

    assert message["Body"] == "no id"
    assert {name: each["StringValue"] for name, each in message["MessageAttributes"].items()} == {
        "trace": "x"
    }


def test_a_fifo_message_keeps_its_group_and_is_no_duplicate_of_its_first_sending(sqs, transport, fanin):
    work, dead = queues(sqs, ".fifo")
    items = fanin.open().add(2)
    for item in items:
        for url in (work, dead):
            sqs.send_message(QueueUrl=url, MessageBody=item, MessageGroupId="g", MessageDeduplicationId=item)
    sqs.purge_queue(QueueUrl=work)
    assert run(sqs, transport, dead).moved == 2
    messages = sqs.receive_message(QueueUrl=work, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]

    assert [each["Body"] for each in messages] == list(items)
    assert {each["Attributes"]["MessageGroupId"] for each in messages} == {"g"}
    # SQS takes a message with an id of the last five minutes and drops it, also where the first one is gone.
    ids = {each["Attributes"]["MessageDeduplicationId"] for each in messages}
    assert len(ids - set(items)) == 2


def test_a_message_keeps_its_group_or_gets_that_of_its_batch(sqs, transport, fanin):
    work, dead = queues(sqs)
    items = fanin.open().add(2)
    sqs.send_message(QueueUrl=dead, MessageBody=items[0])
    sqs.send_message(QueueUrl=dead, MessageBody=items[1], MessageGroupId="tenant-7")
    run(sqs, transport, dead)
    found = sqs.receive_message(QueueUrl=work, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]

    assert {each["Body"]: each["Attributes"]["MessageGroupId"] for each in found} == {
        items[0]: items.batch_id,
        items[1]: "tenant-7",
    }


def test_a_message_without_a_source_or_a_group_is_left_and_no_queue_is_its_own_target(sqs, transport, fanin):
    dead, fifo = queue(sqs, "alone"), queue(sqs, "work.fifo")
    send(sqs, dead, fanin.open().add(1)[0])

    assert dict(run(sqs, transport, dead).not_moved) == {LeaveReason.NO_SOURCE: 1}
    assert dict(run(sqs, transport, dead, to=fifo).not_moved) == {LeaveReason.NO_GROUP: 1}
    with pytest.raises(InvalidRequest, match="the dead-letter queue itself"):
        run(sqs, transport, dead, to=dead)


def test_each_message_returns_to_the_queue_that_it_came_from(sqs, transport, fanin):
    """As SQS marks it; a dead-letter queue may serve several queues."""
    dead, sources = queue(sqs, "dead"), [queue(sqs, "one"), queue(sqs, "two")]
    items = fanin.open().add(2)
    arn = "arn:aws:sqs:us-east-1:123456789012"
    arns = {items[0]: f"{arn}:one", items[1]: f"{arn}:two"}
    send(sqs, dead, *items)

    def receive_message(**asked):
        answer = sqs.receive_message(**asked)
        for each in answer.get("Messages", []):
            each["Attributes"]["DeadLetterQueueSourceArn"] = arns[each["Body"]]
        return answer

    run(Receiving(sqs, receive_message), transport, dead)

    assert [bodies(sqs, url) for url in sources] == [[items[0]], [items[1]]]


class Receiving:
    """SQS with another ``receive_message``."""

    def __init__(self, sqs, receive_message):
        self.sqs, self.receive_message = sqs, receive_message

    def __getattr__(self, name):
        return getattr(self.sqs, name)


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_write_nothing_is_lost_and_what_is_over_stays(sqs, transport, fanin, after):
    network = Network()
    while network.fatal is None or network.is_cut:
        network = Network((network.fatal or 0) + 1, after)
        work, dead = queues(sqs, str(network.fatal))
        live, over = fanin.open(), fanin.open()
        items, ended = live.add(13), over.add(3)
        over.cancel()
        send(sqs, dead, *items, *ended)
        with suppress(Killed):
            run(Watched(sqs, network, WRITES), transport, dead)
        make_visible(dead)
        run(sqs, transport, dead)

        assert set(bodies(sqs, work)) == set(items)
        assert set(bodies(sqs, dead)) == set(ended)


def make_visible(url):
    """Let the visibility timeout of all messages pass."""
    for message in sqs_backends["123456789012"]["us-east-1"].queues[url.rpartition("/")[2]]._messages:
        message.visible_at = 0


def test_what_is_not_answered_ends_the_run_and_all_that_is_left_is_visible(sqs, transport, fanin):
    work, dead = queues(sqs)
    items = fanin.open().add(3)
    send(sqs, dead, *items)
    lost = Network(1, after=True, error=EndpointConnectionError(endpoint_url="x"))
    with pytest.raises(StoreUnavailable):
        run(Watched(sqs, lost, WRITES), transport, dead)

    assert bodies(sqs, dead) == bodies(sqs, work) == sorted(items)


def test_an_entry_that_sqs_refuses_is_left(sqs, transport, fanin):
    work, dead = queues(sqs)
    items = fanin.open().add(3)
    send(sqs, dead, *items)

    class Refusing(Receiving):
        def send_message_batch(self, QueueUrl, Entries):  # noqa: N803 - the API's names
            answer = self.sqs.send_message_batch(QueueUrl=QueueUrl, Entries=Entries[1:])
            return {**answer, "Failed": [{"Id": Entries[0]["Id"], "SenderFault": True, "Code": "x"}]}

    found = run(Refusing(sqs, sqs.receive_message), transport, dead)

    assert (found.moved, dict(found.not_moved)) == (2, {LeaveReason.REFUSED: 1})
    assert sorted(bodies(sqs, dead) + bodies(sqs, work)) == sorted(items)


@pytest.mark.parametrize(("refusals", "copies"), [(2, 0), (99, 1)])
def test_a_copy_that_sqs_does_not_delete_is_asked_for_again_and_counted(
    sqs, transport, fanin, refusals, copies
):
    work, dead = queues(sqs)
    items = fanin.open().add(3)
    send(sqs, dead, *items)
    refused = iter([True] * refusals)

    class Keeping(Receiving):
        def delete_message_batch(self, QueueUrl, Entries):  # noqa: N803 - the API's names
            kept = Entries[:1] if next(refused, False) else []
            if deleted := Entries[len(kept) :]:
                self.sqs.delete_message_batch(QueueUrl=QueueUrl, Entries=deleted)
            return {"Failed": [{"Id": each["Id"], "SenderFault": False, "Code": "x"} for each in kept]}

    found = run(Keeping(sqs, sqs.receive_message), transport, dead)
    make_visible(dead)

    assert (found.moved, found.copies) == (3, copies)
    assert (len(bodies(sqs, dead)), bodies(sqs, work)) == (copies, sorted(items))


def test_what_dies_again_meanwhile_is_left(sqs, transport, fanin):
    """A consumer that fails at once would make a run endless."""
    work, dead = queues(sqs)
    item, ids = fanin.open().add(1)[0], []
    send(sqs, dead, item)

    def receive_message(**asked):
        messages = sqs.receive_message(**asked).get("Messages", [])
        back = sqs.receive_message(QueueUrl=work).get("Messages", [])
        ids.extend(each["MessageId"] for each in back)
        return {"Messages": messages + back}

    found = run(Receiving(sqs, receive_message), transport, dead)

    assert (found.moved, dict(found.not_moved), len(ids)) == (1, {LeaveReason.AGAIN: 1}, 1)
