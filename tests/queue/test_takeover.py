"""A worker dies holding a job: it runs elsewhere in time, whoever else falls silent meanwhile."""

from __future__ import annotations

import pytest

from fanin.queue import Ring
from fanin.queue.janitor import SECOND_RING_SECONDS
from fanin.queue.keys import job_key
from fanin.queue.members import owned, owners
from tests.queue.conftest import KEY, names

PARTS = 4
TAKEOVER_SECONDS = 7
KILLED, FROZEN, ALIVE = 0, 1, 2


@pytest.fixture
def workers(make, duties):
    """Three processes with a session each, which know of each other."""
    queues = [make(parts=PARTS) for _ in range(3)]
    for queue in queues:
        with queue.take(wait=0):
            pass
    duties.pass_seconds(1)
    return queues


def part_that_falls_to(worker, without) -> int:
    """A part that *worker* will own among those who are not *without*."""
    members = [member for member in worker.store.members(KEY) if member.id != session_id(without)]
    return owned(PARTS, owners(members), session_id(worker))[0]


def session_id(queue) -> str:
    return queue._worker.session.id


def name_in(part: int) -> str:
    return next(str(i) for i in range(999) if job_key(KEY, PARTS, str(i)).part.number == part)


@pytest.mark.parametrize("later", [0, 1, 2, 3])
def test_a_killed_workers_job_runs_elsewhere_in_time_though_another_falls_silent(workers, duties, later):
    killed, frozen, alive = workers
    orphan = name_in(part_that_falls_to(frozen, without=killed))
    alive.add(orphan)
    killed.take(1, wait=0, parts=range(PARTS)).__enter__()
    duties.pass_seconds(later, without=(KILLED,))
    duties.pass_seconds(TAKEOVER_SECONDS - later, without=(KILLED, FROZEN))
    with alive.take(1, wait=0) as jobs:
        assert names(jobs) == [orphan]


def test_the_parts_of_one_that_was_ended_are_shared_anew_at_once(workers, duties):
    janitor = workers[FROZEN]._worker.janitor
    duties.pass_seconds(4, without=(KILLED,))
    before = list(janitor.own_parts())
    duties.pass_seconds(1, without=(KILLED,))

    assert (before, list(janitor.own_parts())) == ([1], [0, 1])


def test_a_freed_job_is_rung_for_twice_since_one_that_froze_may_swallow_the_first(
    workers, duties, bell, monkeypatch
):
    rung = []
    monkeypatch.setattr(bell, "ring", lambda rings, delay=0.0: rung.append((list(rings), delay)))
    workers[ALIVE].add(name_in(3))
    workers[KILLED].take(1, wait=0, parts=range(PARTS)).__enter__()
    rung.clear()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED,))

    assert [ring for ring in rung if ring[0]] == [([Ring(3)], 0.0), ([Ring(3)], SECOND_RING_SECONDS)]


def test_what_was_freed_is_looked_for_once_and_in_the_bounds_of_the_take(workers, duties, store):
    killed, _, alive = workers
    parts = [part for part in range(PARTS) if part not in alive._worker.janitor.own_parts()]
    orphans = [name_in(part) for part in parts]
    alive.add_all(orphans)
    killed.take(len(orphans), wait=0, parts=parts).__enter__()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    janitor = alive._worker.janitor
    told = [janitor.take_notice(1), janitor.take_notice(PARTS), janitor.take_notice(PARTS)]

    assert [sum(some.values()) for some in told] == [1, len(orphans) - 1, 0]


def test_what_was_freed_runs_before_the_take_is_filled_up(workers, duties):
    killed, _, alive = workers
    mine, foreign = alive._worker.janitor.own_parts()[0], 0
    alive.add_all([name_in(mine), name_in(foreign)])
    killed.take(1, wait=0, parts=[foreign]).__enter__()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    with alive.take(2, wait=0) as first, alive.take(2, wait=0) as second:
        assert (names(first), names(second)) == ([name_in(foreign)], [name_in(mine)])


def test_of_a_part_no_more_is_taken_at_once_than_was_freed_there(workers, duties):
    killed, _, alive = workers
    parts = [part for part in range(PARTS) if part not in alive._worker.janitor.own_parts()]
    orphans = [name_in(part) for part in parts]
    alive.add_all(orphans)
    killed.take(2, wait=0, parts=parts).__enter__()
    alive.add_all(str(i) for i in range(99) if str(i) not in orphans)
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    with alive.take(10, wait=0) as jobs:
        assert sorted(names(jobs)) == sorted(orphans)
