"""What meets a removal, a pause, a raise or a fork: no process brings a removed queue back by itself."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import pytest

from fanin.errors import Conflict
from fanin.queue import NewJob, Ring
from fanin.queue.administration import removing
from fanin.queue.administration.pausing import pause
from fanin.queue.administration.raising import raise_parts
from fanin.queue.rules.config import Phase
from fanin.queue.rules.messages import body
from fanin.queue.upkeep import widening
from fanin.queue.upkeep.sleeping import SETTLE_SECONDS
from fanin.queue.upkeep.visiting import visit
from tests.forks import forked, status_of
from tests.queue.conftest import KEY, expects, session_of

CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: 3000)
EVENT = {"Records": [{"messageId": "r", "body": body(KEY, Ring(0)), "receiptHandle": "r"}]}


def remove(queue, time):
    """Remove the queue, and visit it until it is gone."""
    removing.begin(queue.context, force=True)
    for _ in range(4):
        visit(queue.context)
        time.sleep(SETTLE_SECONDS)


def is_removed(store) -> bool:
    return store.config(KEY).removed_us is not None


@pytest.mark.parametrize("gone", [False, True])
def test_an_invocation_by_a_ring_of_a_removed_queue_has_no_job_and_creates_no_queue(make, store, time, gone):
    function = make()
    function.add("a")
    removing.begin(make().context, force=True)
    if gone:
        remove(make(), time)
    with function.answer(EVENT, CONTEXT) as jobs:
        assert list(jobs) == []

    assert is_removed(store) == gone
    assert not store.sessions.get(KEY)


def test_a_worker_that_stood_still_while_its_queue_was_removed_does_not_create_it(make, store, time):
    queue = make()
    queue.add_all(["a", "b"])
    scope = queue.take()
    with scope:
        remove(make(), time)
        queue._worker.maintenance.tick()
        for job in list(scope):
            scope.release(job)
    queue.context.ring([Ring(0)])
    queue.context.delete([Ring(0)])

    assert is_removed(store)


def test_a_take_that_waited_while_its_queue_was_removed_does_not_create_it(make, store, time):
    queue = make()
    with queue.take(wait=0):
        pass
    remove(make(), time)
    session_of(queue).patience = inf  # a monotonic clock that stood still too
    with expects(Conflict), queue.take(wait=0):
        pass

    assert is_removed(store)


def test_a_removal_without_doorbells_is_left_to_the_sweep_that_deletes_the_doorbell(queue, store, time):
    queue.context.config()
    store.configs[KEY] = replace(store.config(KEY), doorbell="https://sqs/bell")
    remove(queue, time)
    assert not is_removed(store)
    deleted = []
    visit(queue.context, SimpleNamespace(delete=lambda queue, url: deleted.append(url)))

    assert deleted == ["https://sqs/bell"]
    assert is_removed(store)


def test_a_paused_queue_is_kept_for_its_next_add(queue, store, time):
    queue.context.config()
    pause(queue.context)
    for days in (0, 1, 40):
        time.sleep(days * 86_400)
        visit(queue.context)
    queue.add("a")

    assert store.config(KEY).paused


def test_a_row_that_cannot_be_moved_stops_the_raise_and_not_the_sweep(make, store, time, monkeypatch):
    queue = make(parts=1)
    queue.context.config()
    raise_parts(store, queue.context.effects, KEY, 2)
    while store.config(KEY).phase is not Phase.DRAINING or store.config(KEY).since_us is None:
        visit(queue.context)
        time.sleep(widening.SETTLE_SECONDS)
    queue.add(NewJob("a", delay=1))
    time.sleep(2)

    def unreadable(*_):
        raise ValueError("a row of another shape")

    monkeypatch.setattr(store, "page", unreadable, raising=False)
    with pytest.raises(ValueError, match="another shape"):
        visit(queue.context)

    assert [job.name for job in queue.queued()] == ["a"]


def test_a_child_uses_the_config_although_a_thread_of_its_parent_kept_one_at_the_fork(queue):
    queue.context.config()

    def work():
        assert queue.add("a")

    with queue.context.cache.lock():
        child = forked(work)

    assert status_of(child) == 0
