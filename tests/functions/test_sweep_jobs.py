"""The schedule's handler of the work queues: each of them gets its look, whatever befalls another."""

from __future__ import annotations

import json
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
    return queue


@pytest.mark.parametrize("error", [StoreUnavailable, PermissionError])
def test_a_queue_that_cannot_be_swept_keeps_no_other_from_its_sweep(environment, capsys, error):
    def broken(*_):
        raise error("refused")

    first, bad, last = of("a"), of("b"), of("c")
    bad.context.store.members = broken
    environment.setattr(queueing, "every", lambda: iter([first, bad, last]))
    with pytest.raises(error):
        sweep_jobs.handler({}, SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000))

    assert [queue.depth().ready for queue in (first, last)] == [2, 2]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert sorted(line["tenant"] for line in lines if "tenant" in line) == ["a", "c"]


def test_queues_that_a_sweep_has_no_time_for_are_swept_by_others(environment, capsys):
    queues = [of(f"t{number}") for number in range(20)]
    environment.setattr(queueing, "every", lambda: iter(queues))
    swept = []
    for _ in range(200):
        sweep_jobs.handler({}, Draining(300_000, each_ms=60_000))
        swept.append(sum(queue.depth().ready == 2 for queue in queues))

    assert swept[0] == 4
    assert swept[-1] == 20
    assert '"_aws"' in capsys.readouterr().out
