"""What the ends of jobs report to the tracker."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fanin import Fanin, Outcome
from fanin.client.queues.job_acks import DIED, acking
from fanin.client.transports.direct import DirectTransport
from fanin.errors import InvalidRequest, KeyReused, NotFound
from fanin.queue import MemoryDoorbell, NewJob, Options, OutboxEntry, Queue, QueueContext, QueueKey
from fanin.queue.memory import MemoryStore as QueueStoreInMemory
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore


@pytest.fixture
def transport():
    return DirectTransport(Tracker(MemoryStore()), "t")


def failed_item_of(error, transport):
    """The sample of an item whose job died of *error*: from the worker through the outbox to the tracker."""
    fanin = Fanin(transport)
    with fanin.open() as batch:
        (item,) = batch.add(1)
    key = QueueKey("t", "q")
    options, report = Options(parts=1, max_failures=1), acking(transport)
    context = QueueContext(QueueStoreInMemory(), MemoryDoorbell(), key, options, report=report)
    queue = Queue(context, background=lambda _: lambda: None)
    queue.add(NewJob("a", item_id=str(item)))
    with queue.take(1, wait=0) as jobs:
        jobs.release(jobs[0], failed=True, error=error)
    queue.sweep()
    assert queue.context.store.outbox(queue.context.part(0)) == []
    (sample,) = batch.samples()
    return sample


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("ValueError('no such image')", "ValueError('no such image')"),
        ("first\nsecond\x00\x1b[31m", "first second [31m"),
        ("\n\t ", DIED),
    ],
)
def test_the_item_of_a_dead_job_fails_with_the_jobs_last_error(transport, error, reason):
    assert failed_item_of(error, transport).reason == reason


def test_another_death_of_a_job_is_another_ack_with_its_own_reason():
    listening = Listening()
    item = "00000000-0000-4000-8000-000000000000:00000000-0000-4000-8000-000000000001:0"
    for ending, reason in (("c1", "first"), ("c1", "first"), ("c2", "second"), ("c2", "third")):
        acking(listening)(OutboxEntry("1", item, True, reason, ending, 0))

    first, repeated, second, third = [caller for caller, _ in listening.reported]
    assert first == repeated
    assert len({first, second, third}) == 3


@dataclass
class Listening:
    """A way to the tracker that only listens."""

    reported: list[tuple[str, Outcome]] = field(default_factory=list)

    def ack(self, acks):
        self.reported.append((acks[0].caller, acks[0].outcome))


@pytest.mark.parametrize("refusal", [InvalidRequest("403"), NotFound("404"), KeyReused("422")], ids=str)
def test_an_end_that_the_api_refuses_stays_in_the_outbox(refusal):
    item = "00000000-0000-4000-8000-000000000000:00000000-0000-4000-8000-000000000001:0"

    @dataclass
    class Refusing:
        def ack(self, _acks):
            raise refusal

    store, key = QueueStoreInMemory(), QueueKey("t", "q")
    context = QueueContext(store, MemoryDoorbell(), key, Options(parts=1), report=acking(Refusing()))
    queue = Queue(context, background=lambda _: lambda: None)
    queue.add_all([NewJob("a", item_id=item), "b"])
    with queue.take(2, wait=0):
        pass
    queue.sweep()

    assert [entry.item_id for entry in store.outbox(queue.context.part(0))] == [item]
    assert (queue.depth().ready, queue.depth().busy) == (0, 0)
