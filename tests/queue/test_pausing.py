"""A paused queue takes adds and acks, and no job of it is claimed; a lost session is said once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fanin.errors import NotFound
from fanin.queue import Queue, QueueContext, QueueKey, Ring, SessionLost
from fanin.queue.administration.pausing import pause, resume
from fanin.queue.rules.messages import body
from tests.queue.conftest import KEY, names, session_of, unavailable


def taken(queue, most=1):
    with queue.take(most, wait=0) as jobs:
        return names(jobs)


def test_no_job_of_a_paused_queue_is_taken_and_each_is_once_it_is_resumed(queue, make, time):
    queue.add_all(["a", "b"])
    time.sleep(1)
    config = pause(queue.context)
    queue.add("c")

    assert config.paused
    assert (taken(queue), taken(make())) == ([], [])
    assert not resume(queue.context).paused
    assert taken(queue, 3) == ["a", "b", "c"]


def test_another_worker_knows_of_the_pause_within_a_heartbeat(queue, make, duties):
    other = make()
    taken(other)
    queue.add("a")
    pause(queue.context)
    duties.pass_seconds(1)

    assert other.context.cache.config.paused
    assert taken(other) == []


def test_a_function_reads_the_config_when_it_is_invoked(queue, make):
    function = make()
    function.add("a")
    pause(queue.context)
    event = {"Records": [{"messageId": "r", "body": body(KEY, Ring(0)), "receiptHandle": "r"}]}
    with function.answer(event, SimpleNamespace(get_remaining_time_in_millis=lambda: 3000)) as jobs:
        assert names(jobs) == []


def test_a_paused_take_receives_no_ring(queue, bell, monkeypatch):
    queue.add("a")
    pause(queue.context)
    rested = []
    monkeypatch.setattr(bell, "wait", unavailable)
    monkeypatch.setattr(bell, "pause", lambda seconds: rested.append(seconds) or resume(queue.context))
    with queue.take(wait=30) as jobs:
        assert names(jobs) == ["a"]

    assert rested == [1.0]


def test_a_resumed_queue_rings_for_its_ready_jobs(queue, bell):
    queue.add_all(["a", "b"])
    pause(queue.context)
    bell.rings.clear()
    resume(queue.context)

    assert [ring for _, ring in bell.rings] == [Ring(0), Ring(0)]


@pytest.mark.parametrize("change", [pause, resume])
def test_a_queue_that_does_not_exist_is_not_created_by_a_pause(store, bell, change):
    with pytest.raises(NotFound, match="nowhere"):
        change(QueueContext(store, bell, QueueKey("t", "nowhere")))
    assert store.config(QueueKey("t", "nowhere")) is None


def lost(queue: Queue) -> str:
    """Have the session of a queue end; its id."""
    taken(queue)
    session_of(queue).lost = True
    return session_of(queue).id


def test_the_take_after_a_lost_session_says_so_once(queue):
    queue.add("a")
    first = lost(queue)
    queue.add("b")
    with pytest.raises(SessionLost, match="renew=True"):
        taken(queue)

    assert taken(queue) == ["b"]
    assert session_of(queue).id != first
