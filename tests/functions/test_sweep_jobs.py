"""The schedule's handler of the work queues: each of them gets its look, whatever befalls another."""

from __future__ import annotations

import json

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueKey
from fanin.queue.memory import MemoryStore
from functions import queueing, sweep_jobs


def of(tenant: str) -> Queue:
    key = QueueKey(tenant, "q")
    queue = Queue(MemoryStore(), MemoryDoorbell(), key, Options(parts=1), background=lambda _: lambda: None)
    queue.add_all([NewJob("due", delay=1e-6), "waits"])
    return queue


@pytest.mark.parametrize("error", [StoreUnavailable, PermissionError])
def test_a_queue_that_cannot_be_swept_keeps_no_other_from_its_sweep(environment, capsys, error):
    def broken(*_):
        raise error("refused")

    first, bad, last = of("a"), of("b"), of("c")
    bad.store.members = broken
    environment.setattr(queueing, "every", lambda: iter([first, bad, last]))
    with pytest.raises(error):
        sweep_jobs.handler({}, None)

    assert [queue.depth().ready for queue in (first, last)] == [2, 2]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert [line["tenant"] for line in lines if "tenant" in line] == ["a", "c"]
