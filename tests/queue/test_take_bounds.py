"""The bounds of waiting takes and of a pause: how often each request is repeated, and what ends it."""

from __future__ import annotations

import threading

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import NewJob
from fanin.queue.administration.pausing import pause, resume
from fanin.queue.rules.config import QueueConfig
from tests.item_ids import item_named
from tests.queue.claiming import Bench
from tests.queue.conftest import names, unavailable


def test_a_waiting_take_gives_up_after_eight_failed_requests_in_a_row(queue, store):
    queue.add("a")
    with queue.take(wait=0) as jobs:
        assert names(jobs) == ["a"]
    reads = []
    store.ready = lambda *_: reads.append(1) or unavailable()
    with pytest.raises(StoreUnavailable), queue.take():
        pass

    assert len(reads) == 8


def test_a_take_that_gets_no_turn_has_no_jobs(queue):
    queue.add("a")
    held, done = threading.Event(), threading.Event()

    def hold():
        with queue._take_lock.acquired(None):
            held.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(60)
    with queue.take(wait=0) as jobs:
        assert names(jobs) == []
    done.set()
    other.join()


def test_a_resumed_queue_rings_once_for_each_of_its_first_thousand_ready_jobs():
    bench = Bench()
    bench.add("a", "b")
    pause(bench.context)
    bench.forget()
    resume(bench.context)

    assert bench.bell.rung == [(0, False, 0.0)] * 2
    assert [most for _, most in bench.store.of("ready")] == [1000]


@pytest.mark.parametrize(("change", "paused"), [(pause, False), (resume, True)])
def test_a_switch_that_others_always_win_is_tried_eight_times(change, paused):
    bench = Bench()
    config = bench.context.config()
    bench.store.scripts["config"] = lambda *_: QueueConfig(config.parts, paused=paused)
    bench.store.scripts["reconfigure"] = lambda *_: None
    bench.forget()
    with pytest.raises(StoreUnavailable):
        change(bench.context)

    assert (bench.store.names().count("reconfigure"), bench.pauses) == (8, [*range(8)])


def test_a_switch_that_is_made_already_writes_nothing():
    bench = Bench()
    bench.forget()

    assert not resume(bench.context).paused
    assert "reconfigure" not in bench.store.names()


def test_a_session_that_ended_is_lost_at_once():
    bench = Bench()
    bench.session.end()

    assert bench.session.lost


def test_the_end_of_a_job_with_an_item_is_left_to_others_where_nothing_reports_it(queue, caplog):
    queue.add(NewJob("a", item_id=item_named("item")))
    with queue.take(wait=0) as jobs:
        jobs.ack(jobs[0])

    assert caplog.messages == []
