"""The schedule's handler of the work queues: each of them gets its look, whatever befalls another."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.administration.describing import CountedDepth
from fanin.queue.maintenance.rounds import Listed
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.keys import DAY_MINUTES
from functions import sweep_jobs
from functions.wiring import queueing


class Draining:
    """A context whose time goes by: a queue takes *each_ms*."""

    def __init__(self, left_ms: int, each_ms: int) -> None:
        self.left_ms, self.each_ms = left_ms + each_ms, each_ms

    def get_remaining_time_in_millis(self) -> int:
        self.left_ms -= self.each_ms
        return self.left_ms


def of(tenant: str) -> Queue:
    key = QueueKey(tenant, "q")
    queue = Queue(
        QueueContext(MemoryStore(), MemoryDoorbell(), key, Options(parts=1)),
        background=lambda _: lambda: None,
    )
    queue.add_all([NewJob("due", delay=1e-6), "waits"])
    config = queue.context.config()
    queue.context.write_config(replace(config, revision=config.revision + 1, metrics=tenant != "quiet"))
    return queue


class Listing:
    """The queues that a sweep may visit, with what the last sweep found of each."""

    def __init__(self, *queues: Queue) -> None:
        self.listed = {queue.key: queue for queue in queues}
        self.kept: dict[QueueKey, CountedDepth] = {}
        self.asked: list[int] = []

    def queues(self):
        return iter(self.listed)

    def sleeping(self, minute: int):
        self.asked.append(minute)
        return iter(())

    def last_visits(self, keys):
        return [Listed(key, self.listed[key].context.read_config(), self.kept.get(key)) for key in keys]

    def record(self, key: QueueKey, counted: CountedDepth) -> None:
        self.kept[key] = counted


@pytest.fixture
def listing(environment):
    def list_these(*queues: Queue) -> Listing:
        listing_ = Listing(*queues)
        environment.setattr(queueing, "registry", lambda: listing_)
        environment.setattr(queueing, "swept", listing_.listed.__getitem__)
        environment.setattr(queueing, "doorbells", lambda: None)
        return listing_

    return list_these


ENOUGH = SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000)


@pytest.mark.parametrize("error", [StoreUnavailable, PermissionError])
def test_a_queue_that_cannot_be_swept_keeps_no_other_from_its_sweep(listing, capsys, error):
    def broken(*_):
        raise error("refused")

    first, bad, last = of("a"), of("b"), of("c")
    bad.context.store.members = broken
    kept = listing(first, bad, last).kept
    with pytest.raises(error):
        sweep_jobs.handler({}, ENOUGH)

    assert [queue.depth().ready for queue in (first, last)] == [2, 2]
    assert {queue.tenant: counted.depth.ready for queue, counted in kept.items()} == {"a": 1, "c": 1}
    assert sorted(line["tenant"] for line in emitted(capsys) if "tenant" in line) == ["a", "c"]


def test_a_queue_has_metrics_of_its_own_if_it_asks_for_them_and_counts_in_the_totals(listing, capsys):
    listing(of("quiet"), of("loud"))
    sweep_jobs.handler({}, ENOUGH)
    lines = emitted(capsys)

    assert [line["tenant"] for line in lines if "tenant" in line] == ["loud"]
    assert [line["JobsQueued"] for line in lines if "tenant" not in line] == [[2.0]]


def test_what_the_last_visit_counted_stands_for_a_queue_that_is_not_visited(listing, capsys):
    found = listing(of("a"), of("b"))
    sweep_jobs.handler({}, ENOUGH)
    capsys.readouterr()
    before = dict(found.kept)
    sweep_jobs.handler({}, ENOUGH)

    assert found.kept == before
    assert [line["JobsQueued"] for line in emitted(capsys) if "tenant" not in line] == [[2.0]]


@pytest.mark.parametrize(
    ("event", "minute"), [({"time": "2026-03-01T10:02:00Z"}, 602), ({"time": "2026-03-01T23:59:00Z"}, 1439)]
)
def test_the_sleeping_queues_of_the_scheduled_minute_are_visited(listing, event, minute):
    found = listing()
    sweep_jobs.handler(event, ENOUGH)

    assert found.asked == [minute]


class Updated:
    """The doorbells that were brought up to date."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def update(self, _queue: QueueKey, url: str) -> None:
        self.urls.append(url)


def test_each_doorbell_is_brought_up_to_date_in_its_minute_of_the_day(listing, environment):
    queues = [of("a"), of("b")]
    for queue in queues:
        config = queue.context.config()
        url = f"https://sqs/{queue.key.tenant}"
        queue.context.write_config(replace(config, revision=config.revision + 1, doorbell=url))
    found, updated = listing(*queues), Updated()
    environment.setattr(queueing, "doorbells", lambda: updated)
    for minute in range(0, DAY_MINUTES, 5):  # as an idle queue is visited
        found.kept.clear()
        sweep_jobs.handler({"time": f"2026-03-01T{minute // 60:02d}:{minute % 60:02d}:00Z"}, ENOUGH)
    of_the_day = sorted(updated.urls)
    found.kept.clear()
    sweep_jobs.handler({}, ENOUGH)  # by hand

    assert of_the_day == ["https://sqs/a", "https://sqs/b"]
    assert len(updated.urls) == 2


def emitted(capsys) -> list[dict]:
    """The metrics that were written to the log."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]


def test_queues_that_a_sweep_has_no_time_for_are_swept_by_the_next_ones(listing, capsys):
    queues = [of(f"t{number}") for number in range(20)]
    listing(*queues)
    swept = []
    for _ in range(5):
        sweep_jobs.handler({}, Draining(300_000, each_ms=60_000))
        swept.append(sum(queue.depth().ready == 2 for queue in queues))

    assert swept == [4, 8, 12, 16, 20]
    assert '"_aws"' in capsys.readouterr().out
