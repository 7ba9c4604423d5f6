"""The schedule's handler of the work queues: each of them gets its look, whatever befalls another."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.memory import MemoryStore
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


@pytest.fixture(autouse=True)
def no_doorbells(environment):
    """Doorbells that are not deleted."""
    environment.setattr(queueing, "doorbells", lambda: None)


@pytest.fixture(autouse=True)
def kept(environment):
    """The depths that the sweep keeps, by queue."""
    depths = {}
    environment.setattr(queueing, "registry", lambda: SimpleNamespace(record=depths.__setitem__))
    return depths


@pytest.mark.parametrize("error", [StoreUnavailable, PermissionError])
def test_a_queue_that_cannot_be_swept_keeps_no_other_from_its_sweep(environment, capsys, kept, error):
    def broken(*_):
        raise error("refused")

    first, bad, last = of("a"), of("b"), of("c")
    bad.context.store.members = broken
    environment.setattr(queueing, "every", lambda _: iter([first, bad, last]))
    with pytest.raises(error):
        sweep_jobs.handler({}, SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000))

    assert [queue.depth().ready for queue in (first, last)] == [2, 2]
    assert {queue.tenant: counted.depth.ready for queue, counted in kept.items()} == {"a": 1, "c": 1}
    assert sorted(line["tenant"] for line in emitted(capsys) if "tenant" in line) == ["a", "c"]


def test_a_queue_has_metrics_of_its_own_if_it_asks_for_them_and_counts_in_the_totals(environment, capsys):
    queues = [of("quiet"), of("loud")]
    environment.setattr(queueing, "every", lambda _: iter(queues))
    sweep_jobs.handler({}, SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000))
    lines = emitted(capsys)

    assert [line["tenant"] for line in lines if "tenant" in line] == ["loud"]
    assert [line["JobsQueued"] for line in lines if "tenant" not in line] == [[2.0]]


@pytest.mark.parametrize(
    ("event", "minute"), [({"time": "2026-03-01T10:02:00Z"}, 602), ({"time": "2026-03-01T23:59:00Z"}, 1439)]
)
def test_the_sleeping_queues_of_the_scheduled_minute_are_visited(environment, event, minute):
    asked = []
    environment.setattr(queueing, "every", lambda minute: iter(asked.append(minute) or ()))
    sweep_jobs.handler(event, SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000))

    assert asked == [minute]


def emitted(capsys) -> list[dict]:
    """The metrics that were written to the log."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]


def test_queues_that_a_sweep_has_no_time_for_are_swept_by_others(environment, capsys):
    queues = [of(f"t{number}") for number in range(20)]
    environment.setattr(queueing, "every", lambda _: iter(queues))
    swept = []
    for _ in range(200):
        sweep_jobs.handler({}, Draining(300_000, each_ms=60_000))
        swept.append(sum(queue.depth().ready == 2 for queue in queues))

    assert swept[0] == 4
    assert swept[-1] == 20
    assert '"_aws"' in capsys.readouterr().out
