"""The doorbells: on SQS as moto implements it and by the requests, and in memory."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from fanin.errors import InvalidRequest
from fanin.queue import Effects, MemoryDoorbell, QueueContext, Ring
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.errors import DoorbellMissing
from fanin.queue.rules.messages import ring_of
from fanin.queue.sqs import SqsDoorbell, SqsDoorbells
from tests.contract import moto_clients
from tests.queue.conftest import KEY


@pytest.fixture
def bell():
    with mock_aws():
        client = moto_clients.client("sqs", config=Config(read_timeout=5))
        url = client.create_queue(QueueName="doorbell")["QueueUrl"]
        yield SqsDoorbell(client, url, KEY)


def messages(bell) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    names.append("ApproximateNumberOfMessagesDelayed")
    found = bell.client.get_queue_attributes(QueueUrl=bell.url, AttributeNames=names)["Attributes"]
    return sum(int(value) for value in found.values())


def test_a_ring_is_received_and_deleted(bell):
    bell.ring([Ring(3), Ring(4, due=True)])
    received = bell.wait(5, 10)

    assert sorted(received, key=lambda ring: ring.part) == [Ring(3), Ring(4, due=True)]
    assert messages(bell) == 2
    bell.delete(received)

    assert messages(bell) == 0


def test_refused_entries_are_sent_once_more(bell, monkeypatch):
    sent = []

    def partly(**request):
        sent.append([entry["Id"] for entry in request["Entries"]])
        return {"Failed": [{"Id": "1"}]} if len(sent) == 1 else {}

    monkeypatch.setattr(bell.client, "send_message_batch", partly)
    bell.ring([Ring(0), Ring(1), Ring(2)])

    assert sent == [["0", "1", "2"], ["1"]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "[]",
        "{}",
        '{"tenant": "t", "queue": "q", "part": "x", "due": 0}',
        '{"tenant": "t", "queue": "q", "part": 1e400, "due": 0}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:60],
)
def test_a_message_that_is_no_ring_is_refused_and_left_where_it_is(bell, text):
    with pytest.raises(InvalidRequest):
        ring_of(KEY, text, "r")
    bell.client.send_message(QueueUrl=bell.url, MessageBody=text or " ")

    assert bell.wait(0, 10) == []
    assert messages(bell) == 1


ARNS = "arn:aws:sqs:eu-west-1:123456789012:fanin-dev_bell"


REQUESTS_MAX = 50
"""After so many requests a test fails, instead of polling forever."""


class Sqs:
    """A client of SQS that notes its requests; *clock*: seconds, in which a poll without a message lasts."""

    def __init__(self, read_timeout=60, refuse=None):
        self.meta = SimpleNamespace(config=SimpleNamespace(read_timeout=read_timeout))
        self.clock, self.refuse, self.requests = 1000.0, refuse or {}, []
        self.messages: list[dict[str, str]] = []

    def __getattr__(self, operation):
        def request(**facts):
            assert len(self.requests) < REQUESTS_MAX
            self.requests.append((operation, facts))
            if operation in self.refuse:
                raise ClientError({"Error": {"Code": self.refuse[operation]}}, operation)
            return self.answer(operation, facts)

        return request

    def answer(self, operation, facts):
        if operation == "receive_message":
            if not self.messages:
                self.clock += facts.get("WaitTimeSeconds", 0)
            return {"Messages": self.messages}
        return {"QueueUrl": f"https://sqs/123456789012/{facts.get('QueueName')}"}

    def of(self, operation):
        return [facts for name, facts in self.requests if name == operation]

    def polls(self):
        return [facts["WaitTimeSeconds"] for facts in self.of("receive_message")]


def bell_on(monkeypatch, sqs) -> SqsDoorbell:
    """A doorbell whose clock is that of *sqs*."""
    monkeypatch.setattr("fanin.queue.sqs.time", SimpleNamespace(monotonic=lambda: sqs.clock))
    return SqsDoorbell(sqs, "https://sqs/123456789012/bell", KEY)


@pytest.mark.parametrize(
    ("read_timeout", "seconds", "polls"),
    [
        (60, 0, [0]),
        (60, 20, [20]),
        (60, 50, [20, 20, 10]),
        (60, 0.5, [1]),
        (60, 20.5, [20, 1]),
        (5, 6, [4, 2]),
        (1, 3, [1, 1, 1]),
    ],
)
def test_a_wait_is_made_of_polls_that_end_before_the_client_times_out(
    monkeypatch, read_timeout, seconds, polls
):
    sqs = Sqs(read_timeout)

    assert bell_on(monkeypatch, sqs).wait(seconds, 1) == []
    assert sqs.polls() == polls
    assert all(facts["VisibilityTimeout"] < 20 for facts in sqs.of("receive_message")), "hidden for long"


def test_a_batch_has_ten_rings(monkeypatch):
    sqs = Sqs()
    bell = bell_on(monkeypatch, sqs)
    bell.ring([Ring(part) for part in range(21)])
    bell.delete([Ring(part, receipt=str(part)) for part in range(21)])

    for operation in ("send_message_batch", "delete_message_batch"):
        assert [len(facts["Entries"]) for facts in sqs.of(operation)] == [10, 10, 1]


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [({}, 0), ({"delay": 0.2}, 1), ({"delay": 900.0}, 900), ({"delay": 900.5}, 900)],
    ids=str,
)
def test_a_ring_is_delayed_by_whole_seconds_up_to_a_quarter_of_an_hour(monkeypatch, delay, seconds):
    sqs = Sqs()
    bell_on(monkeypatch, sqs).ring([Ring(1)], **delay)
    ((entry,),) = [facts["Entries"] for facts in sqs.of("send_message_batch")]

    assert entry["DelaySeconds"] == seconds


def created(code=None):
    """Create a doorbell where the stack made none; SQS refuses with *code*, if any."""
    sqs = Sqs()
    find = sqs.answer

    def answer(operation, facts):
        if operation == "get_queue_url" and not sqs.of("create_queue"):
            raise ClientError({"Error": {"Code": "QueueDoesNotExist"}}, operation)
        return find(operation, facts)

    sqs.answer = answer
    sqs.refuse = {"create_queue": code} if code else {}
    return sqs, SqsDoorbells(sqs, ARNS).create(KEY)


@pytest.mark.parametrize("code", ["QueueAlreadyExists", "QueueNameExists"])
def test_a_doorbell_that_has_other_attributes_is_kept(code):
    sqs, url = created(code)

    assert url == f"https://sqs/123456789012/{sqs.of('create_queue')[0]['QueueName']}"
    assert sqs.requests[-1][0] == "get_queue_url"


def existing():
    """A store with the queue, whose doorbell its config has."""
    store = MemoryStore()
    store.create(KEY, QueueConfig(1, doorbell="https://orders"))
    return store


class Refusing:
    """A creator that may create nothing; *doorbell*: the one that every request finds to be missing."""

    def __init__(self):
        self.requested = []

    def create(self, queue, config):
        raise InvalidRequest("this key may not create queues")

    def at(self, url):
        self.requested.append(url)
        return self

    def ring(self, rings, delay=0.0):
        raise DoorbellMissing("gone")

    wait = ring


def test_a_doorbell_that_this_process_may_not_create_stays_missing():
    refusing = Refusing()
    context = QueueContext(existing(), refusing, KEY, creator=refusing)
    with pytest.raises(DoorbellMissing, match="this key may not create queues"):
        context.at_doorbell(lambda bell: bell.ring([Ring(0)]))

    assert refusing.requested == ["https://orders"]
    assert replace(context, effects=Effects(pause=lambda _: None)).wait(9, 1) == ()


def test_a_ring_at_a_queue_that_was_removed_creates_none():
    refusing, store = Refusing(), existing()
    context = QueueContext(store, refusing, KEY)
    gone = replace(context.config(), revision=1, removing_us=1, removed_us=2)
    store.reconfigure(KEY, gone)
    context.ring([Ring(0)])

    assert refusing.requested == ["https://orders"]
    assert store.config(KEY) == gone


async def reports(_):
    """Do no work when it is called."""


def test_a_report_that_does_no_work_when_it_is_called_is_refused():
    with pytest.raises(InvalidRequest, match="report is a coroutine function") as caught:
        QueueContext(MemoryStore(), Refusing(), KEY, report=reports)
    assert caught.value.field == "report"


def test_a_ring_in_memory_is_received_when_it_is_due_and_once(monkeypatch):
    clock = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr("fanin.queue.doorbell.time", SimpleNamespace(monotonic=lambda: clock.seconds))
    memory_bell = MemoryDoorbell()
    memory_bell.ring([Ring(0)])
    memory_bell.ring([Ring(1)], delay=5.0)
    received = [list(memory_bell.wait(0, 9)), list(memory_bell.wait(0, 9))]
    clock.seconds = 5.0
    received += [list(memory_bell.wait(0, 9)), list(memory_bell.wait(0, 9))]

    assert received == [[Ring(0)], [], [Ring(1)], []]


def test_a_waiting_take_receives_a_delayed_ring_once_it_is_due():
    memory_bell = MemoryDoorbell()
    memory_bell.ring([Ring(0)], delay=0.01)

    assert list(memory_bell.wait(60, 1)) == [Ring(0)]


def test_a_pause_lasts_its_seconds_and_the_wall_clock_is_in_microseconds(monkeypatch):
    slept = []
    for module, bell in (("doorbell", MemoryDoorbell()), ("sqs", SqsDoorbell(Sqs(), "https://bell", KEY))):
        monkeypatch.setattr(f"fanin.queue.{module}.time", SimpleNamespace(sleep=slept.append))
        bell.pause(1.5)
    monkeypatch.setattr("fanin.queue.effects.time", SimpleNamespace(time_ns=lambda: 5_000_999))

    assert (slept, Effects().now()) == ([1.5, 1.5], 5_000)


def test_a_ring_wakes_all_that_wait():
    waiting, received = threading.Semaphore(0), []

    class Noted(threading.Condition):
        def wait(self, timeout=None):
            waiting.release()
            return super().wait(timeout)

    memory_bell = MemoryDoorbell(rung=Noted())
    threads = [
        threading.Thread(target=lambda: received.extend(memory_bell.wait(20, 1)), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
        assert waiting.acquire(timeout=5)
    memory_bell.ring([Ring(1), Ring(2)])
    for thread in threads:
        thread.join(5)

    assert sorted(ring.part for ring in received) == [1, 2]


def test_any_other_refusal_to_create_a_doorbell_is_raised():
    with pytest.raises(ClientError, match="AccessDenied"):
        created("AccessDenied")
