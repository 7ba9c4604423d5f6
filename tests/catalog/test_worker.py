"""The worker: its rules, its chaos, and what it leaves in the index and the tracker."""

from __future__ import annotations

import bz2
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from examples.catalog.functions.bundling import Bundling
from examples.catalog.functions.chaos import Chaos, Fault
from examples.catalog.functions.delivery import Worker
from examples.catalog.functions.index import Entry, Index
from examples.catalog.functions.package import Package, checked
from examples.catalog.functions.queueing import Queueing
from fanin import Fanin
from fanin.aws.dynamodb.meter import Meter
from fanin.client.transports.direct import DirectTransport
from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.queue import NewJob
from fanin.tracker import OpenBatch, State, Tracker
from fanin.tracker.memory import MemoryStore
from tests.contract import moto_clients
from tests.functions.deliveries import delivery, failed

CATALOG = Path(__file__).parents[2] / "data" / "catalog.jsonl.bz2"
TENANT = "111122223333"
GAMES = frozenset({"games"})
RECORD = {
    "name": "libfoo1",
    "version": "1:2.0~rc1+dfsg-3",
    "section": "libs",
    "maintainer": "A Team",
    "size": 880,
    "depends": "libc6 (>= 2.14), bar | baz:any (<< 2~), qux [amd64 !arm64], libc6 (<= 3)",
}


def catalog(count: int) -> list[dict[str, Any]]:
    with bz2.open(CATALOG, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in itertools.islice(lines, count)]


def test_a_record_becomes_a_package_with_the_names_it_depends_on() -> None:
    assert checked(RECORD) == Package(
        "libfoo1", "1:2.0~rc1+dfsg-3", "libs", "A Team", 880, ("libc6", "bar", "baz", "qux")
    )


BROKEN = {
    "name": ("Foo", "x", None, "foo\n"),
    "version": ("", "1_2", "x:1"),
    "size": (0, -1, "1", True, 1.0),
    "depends": (None, "foo (>> )", "foo,,bar", "foo (= 1"),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in BROKEN.items() for value in values]
)
def test_a_record_that_breaks_a_rule_is_refused_by_field(field: str, value: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        checked({**RECORD, field: value})

    assert refused.value.field == field


def faults(percent: int, seed: str = "seed", items: int = 1000, receives: int = 1) -> list[Fault]:
    return [Chaos(seed, percent).fault(f"item-{n}", receives) for n in range(items)]


def test_chaos_fails_its_share_before_the_work_and_before_the_ack_the_same_for_each_seed() -> None:
    counts = Counter(faults(10, items=10_000))

    assert 400 < counts[Fault.BEFORE_WORK] < 600
    assert 400 < counts[Fault.BEFORE_ACK] < 600
    assert faults(10) == faults(10) != faults(10, seed="another")


@dataclass
class Registrations:
    """A registrations queue that keeps the tasks of its messages, or refuses all of them."""

    tasks: list[dict[str, Any]]
    refuses: bool = False

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        if self.refuses:
            return {"Failed": [{"Id": each["Id"]} for each in Entries]}
        self.tasks += [json.loads(each["MessageBody"]) for each in Entries]
        return {}


@dataclass
class Stage:
    """A worker with an index of its own, and a batch of records."""

    worker: Worker
    tracker: Tracker
    batch_id: str
    bodies: list[str]
    client: Any
    tasks: list[dict[str, Any]]
    jobs: list[NewJob]
    soon: list[str]

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.client.scan(TableName="Index")["Items"]
        return [row for row in rows if not row["pk"]["S"].startswith("run#")]

    def counted(self) -> dict[str, float]:
        key = {"pk": {"S": f"run#{self.batch_id}"}}
        row = self.client.get_item(TableName="Index", Key=key)["Item"]
        return {name: float(value["N"]) for name, value in row.items() if name != "pk"}

    def bundling(self, **changes: Any) -> Worker:
        """The worker, configured to bundle games."""
        return replace(self.worker, bundling=replace(self.worker.bundling, sections=GAMES), **changes)

    def queueing(self) -> Worker:
        """The worker, configured to queue games."""
        return replace(self.worker, queueing=replace(self.worker.queueing, sections=GAMES))

    def games(self) -> dict[str, str]:
        """The items of games, by the id of their messages."""
        found = ((f"message-{at}", json.loads(body)) for at, body in enumerate(self.bodies))
        return {name: body["itemId"] for name, body in found if body["record"]["section"] == "games"}

    def state(self) -> State:
        return self.tracker.get(TENANT, self.batch_id).state


@pytest.fixture
def stage(environment: pytest.MonkeyPatch, memory: MemoryStore) -> Iterator[Stage]:
    with mock_aws():
        client = moto_clients.client("dynamodb")
        client.create_table(
            TableName="Index",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        tracker = Tracker(memory, page_bits=8)
        batch_id = tracker.open(TENANT, OpenBatch()).batch_id
        group = tracker.add(TENANT, batch_id, 60).groups[0].id
        tracker.close(TENANT, batch_id, "a test")
        bodies = [
            json.dumps({"itemId": f"{batch_id}:{group}:{index}", "record": record, "sentAt": 1000})
            for index, record in enumerate(catalog(60))
        ]
        meter = Meter().attach(client)
        index = Index(client, "Index", sleep=lambda _: None)
        fanin = Fanin(DirectTransport(tracker, TENANT))
        tasks: list[dict[str, Any]] = []
        jobs: list[NewJob] = []
        soon: list[str] = []
        worker = Worker(
            fanin.ack,
            index,
            Bundling(Registrations(tasks), "url", frozenset()),
            Queueing(jobs.extend, frozenset()),
            lambda: meter.take("write_units"),
            Chaos("", 0),
            now=lambda: 1500,
            retry_soon=lambda records: soon.extend(record["messageId"] for record in records),
        )
        yield Stage(worker, tracker, batch_id, bodies, client, tasks, jobs, soon)


def test_failing_on_purpose_changes_nothing_but_the_count_of_deliveries(stage: Stage) -> None:
    worker = replace(stage.worker, chaos=Chaos("seed", 30))
    back = failed(worker.work(delivery(*stage.bodies)))
    assert 5 < len(back) < 40
    assert stage.soon == back
    assert stage.state() is State.CLOSED

    again = [stage.bodies[int(message_id.split("-")[1])] for message_id in back]
    assert failed(worker.work(delivery(*again, receives=2))) == []
    assert stage.state() is State.COMPLETE
    assert len(stage.rows()) == 60
    assert stage.counted()["faults"] == len(back)
    assert stage.counted()["deliveries"] == 60 + len(back)
    assert stage.counted()["repeats"] == 0


def test_a_tracker_out_of_reach_sends_all_back(stage: Stage) -> None:
    def refuse(*_: Any) -> None:
        raise StoreUnavailable("the store is busy; ask again")

    stage.tracker.ack = refuse  # type: ignore[assignment,method-assign]

    assert len(failed(stage.worker.work(delivery(*stage.bodies)))) == 60


@pytest.mark.parametrize(
    "change",
    [{"record": None}, {"record": {}}, {"itemId": "x"}, {"itemId": None}, {"sentAt": "1"}, {"sentAt": True}],
    ids=str,
)
def test_a_message_that_breaks_a_rule_goes_back_alone(stage: Stage, change: dict[str, Any]) -> None:
    bad = json.dumps(json.loads(stage.bodies[1]) | change)

    assert failed(stage.worker.work(delivery(stage.bodies[0], bad, "{"))) == ["message-1", "message-2"]
    assert len(stage.rows()) == 1


def test_rows_that_the_store_puts_off_are_written_again(environment: pytest.MonkeyPatch) -> None:
    class Busy:
        """Takes one row a request."""

        taken: list[str]

        def batch_write_item(self, RequestItems: dict[str, list[Any]]) -> dict[str, Any]:  # noqa: N803
            first, *others = RequestItems["Index"]
            self.taken.append(first["PutRequest"]["Item"]["pk"]["S"])
            return {"UnprocessedItems": {"Index": others} if others else {}}

    client = Busy()
    client.taken = []
    entries = [Entry(f"item-{n}", replace(checked(RECORD), name=f"p{n}"), 0, 0) for n in range(4)]
    Index(client, "Index", sleep=lambda _: None).write(entries)  # type: ignore[arg-type]

    assert client.taken == [entry.key for entry in entries]


def test_an_item_has_one_task_and_one_job_however_often_its_message_comes(stage: Stage) -> None:
    for worker in (stage.bundling(), stage.queueing()):
        worker.work(delivery(*stage.bodies))
        worker.work(delivery(*stage.bodies))

    half = len(stage.games())
    assert stage.tasks[:half] == stage.tasks[half:]
    assert stage.jobs[:half] == stage.jobs[half:]
    assert len({task["taskId"] for task in stage.tasks}) == len({job.id for job in stage.jobs}) == half > 0
    assert stage.counted()["registrations"] == stage.counted()["jobs"] == 2 * half


def test_a_task_or_a_job_that_may_not_be_there_sends_its_message_back_alone(stage: Stage) -> None:
    def refuse(_jobs: object) -> None:
        raise StoreUnavailable("the store is busy; ask again")

    bundling = Bundling(Registrations([], refuses=True), "url", GAMES)
    for change in ({"bundling": bundling}, {"queueing": Queueing(refuse, GAMES)}):
        back = failed(replace(stage.worker, **change).work(delivery(*stage.bodies)))

        assert back == list(stage.games())
    assert stage.counted()["registrations"] == 0
