"""Workers watch two neighbours each in a large group, and all others in a small one; the cost is linear."""

from __future__ import annotations

import pytest

from benchmarks.watching import units_a_second
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.members import CROWD, change_seconds, look_seconds, neighbours
from tests.queue.conftest import KEY, session_of

LARGE = CROWD + 6


def entered(make, count):
    """Return so many queues of one process each, whose sessions have read each other's."""
    queues = [make(parts=8) for _ in range(count)]
    for queue in queues:
        with queue.take(wait=0):
            pass
    for queue in queues:
        queue._worker.maintenance.read_members()
    return queues


@pytest.mark.parametrize(
    ("sessions", "me", "watched"),
    [
        ("abcd", "a", "bc"),
        ("abcd", "c", "da"),
        ("abcd", "d", "ab"),
        ("ab", "a", "b"),
        ("a", "a", ""),
        ("abd", "c", "da"),
        ("", "c", ""),
    ],
)
def test_a_session_watches_the_two_that_follow_it_on_the_ring(sessions, me, watched):
    assert neighbours(list(sessions), me) == list(watched)


def test_each_session_is_watched_by_two_others():
    sessions = [f"{number:03}" for number in range(100)]
    watched = [each for me in sessions for each in neighbours(sessions, me)]

    assert sorted(watched) == sorted(sessions * 2)


def test_a_small_group_is_read_whole_and_a_large_one_the_more_rarely_the_larger_it_is():
    assert [look_seconds(CROWD), change_seconds(CROWD)] == [0.0, 0.0]
    assert look_seconds(1000) == 10 * look_seconds(100) > 0
    assert change_seconds(1000) == 10 * change_seconds(100) > 0


@pytest.mark.parametrize("end", ["leaves", "is ended"])
def test_a_session_that_goes_is_noticed_by_those_that_do_not_watch_it(make, store, time, end):
    queues = entered(make, LARGE)
    ring = sorted(queues, key=lambda queue: session_of(queue).id)
    watching = ring[0]._worker.maintenance.watching
    gone = ring[10]
    if end == "leaves":
        gone.close()
    else:
        maintenance = ring[9]._worker.maintenance
        maintenance._end(next(m for m in watching.members if m.id == session_of(gone).id))
    time.sleep(1)
    watching.look()

    assert len(watching.members) == LARGE - 1


def test_a_session_that_begins_is_noticed_by_all(make, time):
    queues = entered(make, LARGE)
    entered(make, 1)
    time.sleep(1)
    for queue in queues:
        queue._worker.maintenance.watching.look()

    assert {len(queue._worker.maintenance.watching.members) for queue in queues} == {LARGE + 1}


def test_a_changed_config_is_read_within_a_heartbeat(make, store, time):
    queue = entered(make, 2)[0]
    store.reconfigure(KEY, QueueConfig(16, revision=1))
    time.sleep(1)
    queue._worker.maintenance.tick()

    assert len(queue.context.parts()) == 16


def test_a_workers_read_units_do_not_grow_with_the_number_of_workers():
    each = {workers: units_a_second(workers, seconds=30)[0] / workers for workers in (10, CROWD + 1, 120)}

    assert max(each.values()) <= 3
    assert units_a_second(120, seconds=1)[1] / 120 > 8
