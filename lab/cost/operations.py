"""What one operation costs: requests and units of production's services over tables and queues of moto."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from math import ceil
from typing import Any

from fanin import Fanin
from fanin.aws import clients
from fanin.client.transports.direct import DirectTransport
from fanin.cost import Usage, UsageMeter
from fanin.dead_letter_queue_redrive.redrive import Redrive, RedriveRequest
from fanin.grouper import (
    Answer,
    BundleMessage,
    Grouper,
    OutcomeNotifier,
    Policies,
    Policy,
    Posting,
    TaskMessage,
    TaskState,
    World,
)
from fanin.grouper import NewTask as Task
from fanin.grouper.dynamodb import DynamoStore, GrouperTables
from fanin.item_results.service import Results
from fanin.pacing import each_in_turn
from fanin.publishing.items import send
from fanin.queue import Effects, Queue
from fanin.tracker import Ack
from functions.wiring import metered, queueing, tracking
from lab.cost.results import CountedObjects
from lab.cost.running import configure
from lab.cost.stack import ACCOUNT, Stack
from lab.cost.units import UnitMeter

ITEMS, TOGETHER, CHUNK = 1_000, 10, 64
TASKS = [f"task-{number}" for number in range(TOGETHER)]
NOW = 1_772_366_400_000_000
"""Microseconds of a clock that stands still, so that no session ends."""


@dataclass(frozen=True)
class Operation:
    """The units and *requests* of an operation, to DynamoDB, SQS and S3; its share, if made with others."""

    name: str
    requests: float
    usage: Usage


@dataclass
class Bench:
    """The stack's tables on moto, queues there, and objects in memory."""

    stack: Stack
    meter: UnitMeter
    messages: UsageMeter = field(default_factory=UsageMeter)
    objects: CountedObjects = field(default_factory=CountedObjects)

    def __post_init__(self) -> None:
        metered.dynamodb()
        self.sqs = clients.sqs()
        self.messages.attach(self.sqs)
        self.sqs.meta.events.register("provide-client-params.sqs.ReceiveMessage", _without_waiting)
        configure(self.stack, "api.write_batches")
        tracker = tracking.tracker()
        self.tracker = replace(
            tracker, fresh_for=timedelta(0), each=each_in_turn, results=Results(self.objects)
        )
        self.fanin = Fanin(DirectTransport(self.tracker, ACCOUNT))

    def count(self, name: str, call: Callable[[], object], several: int = 1) -> Operation:
        """Return what *call* takes, which does *several* operations."""
        before = self._totals()
        call()
        after = self._totals()
        units = {kind: (amount - before.get(kind, 0)) / several for kind, amount in after.items()}
        return Operation(name, units.pop("requests"), Usage(units))

    def _totals(self) -> dict[str, float]:
        sent = self.messages.usage.units.get("queue_request", 0)
        objects = self.objects.writes, self.objects.reads
        return {
            "requests": metered.meter.totals["requests"] + sent + sum(objects),
            "write_unit": self.meter.writes,
            "read_unit": self.meter.reads,
            "queue_request": sent,
            "object_write": objects[0],
            "object_read": objects[1],
        }


def operations(stack: Stack, meter: UnitMeter) -> Sequence[Operation]:
    """Return the operations, counted."""
    bench = Bench(stack, meter)
    return [
        *_of_a_batch(bench),
        *_of_results(bench),
        *_of_a_queue(bench),
        *_of_tasks(bench),
        *_redriven(bench),
    ]


def _of_a_batch(bench: Bench) -> Iterator[Operation]:
    opened: list[Any] = []
    yield bench.count("open a batch", lambda: opened.append(bench.fanin.open()))
    (batch,) = opened
    yield bench.count(f"add {ITEMS:,} items", lambda: opened.append(batch.add(ITEMS)))
    items = opened[1]
    url = bench.sqs.create_queue(QueueName="work")["QueueUrl"]
    few = items[:TOGETHER]
    rows: list[dict[str, str]] = [{}] * TOGETHER
    yield bench.count(
        "send an item's message, ten together", lambda: send(url, few, rows, client=bench.sqs), TOGETHER
    )
    yield bench.count("close a batch", batch.close)
    for name, number in (("alone", 1), ("ten together", TOGETHER), ("in a chunk of 64", CHUNK)):
        some = items[number : 2 * number]
        yield bench.count(f"ack an item, {name}", partial(_acked, bench, some), number)
    yield bench.count("fail an item, with a reason", lambda: bench.fanin.fail([items[0]], "no picture"))
    yield bench.count("read the status of a batch", batch.status)


def _acked(bench: Bench, items: Any) -> None:
    first, last = items.indexes[0], items.indexes[-1]
    bench.tracker.ack(ACCOUNT, [Ack(items.batch_id, items.group_id, first, last, "m")])


def _of_results(bench: Bench) -> Iterator[Operation]:
    batch = bench.fanin.open(results=True)
    items = batch.add(ITEMS)
    acks = [
        Ack(batch.id, items.group_id, one, one, "m", result=json.dumps("x" * 198)) for one in range(ITEMS)
    ]
    chunk = acks[:CHUNK]
    yield bench.count(
        "ack an item with a result, in a chunk of 64", lambda: bench.tracker.ack(ACCOUNT, chunk), CHUNK
    )
    for first in range(CHUNK, ITEMS, CHUNK):
        bench.tracker.ack(ACCOUNT, acks[first : first + CHUNK])
    batch.close()
    yield bench.count(f"read {ITEMS:,} results, the first time", lambda: list(batch.results()))
    yield bench.count("read them again", lambda: list(batch.results()))


def _of_a_queue(bench: Bench) -> Iterator[Operation]:
    configure(bench.stack, "api.write_queues")
    created = queueing.created(ACCOUNT, "jobs")
    effects = Effects(
        now=lambda: NOW, monotonic=lambda: 0.0, each=lambda call, values: [call(value) for value in values]
    )
    queue = Queue(replace(created.context, effects=effects), lambda _: lambda: None)
    queue.add("first")
    with queue.take(1, wait=0):  # its session begins
        pass
    keys = [f"job-{number}" for number in range(TOGETHER)]
    yield bench.count("add a job, ten together", lambda: queue.add_all(keys), TOGETHER)
    scope = queue.take(TOGETHER, wait=0)
    taken: list[Any] = []
    yield bench.count("take a job, ten together", lambda: taken.append(scope.__enter__()), TOGETHER)
    yield bench.count(
        "ack a job, each alone", lambda: [taken[0].ack(job) for job in list(taken[0])], TOGETHER
    )
    scope.__exit__(None, None, None)


def _of_tasks(bench: Bench) -> Iterator[Operation]:
    """Register ten tasks, bundle them, call the batch API and end them; their messages are taken in tens."""
    env = bench.stack.environment("lead_tasks")
    names = (env[f"FANIN_GROUP_{each}_TABLE"] for each in ("TASKS", "LEASES", "BUNDLES"))
    queue = Postings(bench)
    policies = Policies(default=Policy(max_size=TOGETHER))
    grouper = Grouper(
        World(DynamoStore(metered.dynamodb(), GrouperTables(*names)), queue, policies, pause=_skip)
    )
    yield bench.count(
        "register, bundle, call and end a task, ten together", lambda: _worked(grouper, queue), TOGETHER
    )
    states = {grouper.task(ACCOUNT, name).state for name in TASKS}
    assert states == {TaskState.SUCCEEDED}, states


def _worked(grouper: Grouper, queue: Postings) -> None:
    grouper.register_all(ACCOUNT, [Task({}, "orders", name) for name in TASKS])
    notifier = OutcomeNotifier(_skip, _skip)
    while received := queue.receive():
        for message in received:
            if isinstance(message, TaskMessage):
                grouper.lead(message)
            else:
                grouper.handle(message, queue, notifier)


@dataclass
class Postings:
    """The queues of the group-batcher, in memory, and a batch API that does all."""

    bench: Bench
    waiting: list[Any] = field(default_factory=list)

    def send(self, postings: Sequence[Posting]) -> None:
        self.waiting += [posting.message for posting in postings]
        self.bench.messages.add(Usage({"queue_request": ceil(len(postings) / TOGETHER)}))

    def receive(self) -> list[TaskMessage | BundleMessage]:
        """Return the next delivery: it is received and deleted."""
        received, self.waiting = self.waiting[:TOGETHER], self.waiting[TOGETHER:]
        self.bench.messages.add(Usage({"queue_request": 2 if received else 0}))
        return received

    def call(self, _: object) -> Answer:
        return Answer()


def _redriven(bench: Bench) -> Iterator[Operation]:
    dead, work = (bench.sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("dead", "redriven"))
    arn = bench.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
    bench.sqs.set_queue_attributes(QueueUrl=work, Attributes={"RedrivePolicy": policy})
    batch = bench.fanin.open()
    send(dead, batch.add(TOGETHER), [{}] * TOGETHER, client=bench.sqs)
    redrive = Redrive(bench.sqs, DirectTransport(bench.tracker, ACCOUNT), RedriveRequest(dead))
    yield bench.count("redrive a message, ten together", redrive.run, TOGETHER)
    assert redrive.result.moved == TOGETHER, redrive.result


def _skip(*_: object) -> None:
    """Do nothing: no pause, no event, no item."""


def _without_waiting(params: dict[str, Any], **_: object) -> None:
    """Receive without a long poll."""
    params["WaitTimeSeconds"] = 0
