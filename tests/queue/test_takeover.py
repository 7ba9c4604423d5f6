"""A worker crashes while it holds a job: the job runs elsewhere in time, though others crash meanwhile."""

from __future__ import annotations

import pytest

from fanin.queue import NewJob, Ring
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.members import owned, owners
from fanin.queue.upkeep.maintenance import SECOND_RING_SECONDS
from tests.queue.conftest import KEY, names

PARTS = 4
TAKEOVER_SECONDS = 7
KILLED, FROZEN, ALIVE = 0, 1, 2


@pytest.fixture
def workers(make, duties):
    """Three processes, each with a session, that have read each other's."""
    queues = [make(parts=PARTS) for _ in range(3)]
    for queue in queues:
        with queue.take(wait=0):
            pass
    duties.pass_seconds(1)
    return queues


def part_that_falls_to(worker, without) -> int:
    """Return a part that *worker* will own once *without* is gone."""
    members = [member for member in worker.context.store.members(KEY) if member.id != session_id(without)]
    return owned(PARTS, owners(members), session_id(worker))[0]


def session_id(queue) -> str:
    return queue._worker.session.id


def name_in(part: int) -> str:
    return next(str(i) for i in range(999) if job_key(KEY, PARTS, str(i)).part.number == part)


@pytest.mark.parametrize("later", [0, 1, 2, 3])
def test_a_killed_workers_job_runs_elsewhere_in_time_though_another_freezes(workers, duties, later):
    killed, frozen, alive = workers
    orphan = name_in(part_that_falls_to(frozen, without=killed))
    alive.add(orphan)
    killed.take(1, wait=0, parts=range(PARTS)).__enter__()
    duties.pass_seconds(later, without=(KILLED,))
    duties.pass_seconds(TAKEOVER_SECONDS - later, without=(KILLED, FROZEN))
    with alive.take(1, wait=0) as jobs:
        assert names(jobs) == [orphan]


def test_the_parts_of_an_ended_session_are_shared_anew_at_once(workers, duties):
    maintenance = workers[FROZEN]._worker.maintenance
    duties.pass_seconds(4, without=(KILLED,))
    before = list(maintenance.own_parts())
    duties.pass_seconds(1, without=(KILLED,))

    assert (before, list(maintenance.own_parts())) == ([1], [0, 1])


def test_a_freed_job_is_rung_for_twice_since_a_frozen_worker_can_receive_the_first(
    workers, duties, bell, monkeypatch
):
    rung = []
    monkeypatch.setattr(bell, "ring", lambda rings, delay=0.0: rung.append((list(rings), delay)))
    workers[ALIVE].add(name_in(3))
    workers[KILLED].take(1, wait=0, parts=range(PARTS)).__enter__()
    rung.clear()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED,))

    assert [ring for ring in rung if ring[0]] == [([Ring(3)], 0.0), ([Ring(3)], SECOND_RING_SECONDS)]


def test_freed_jobs_are_returned_once_in_order_and_within_the_bound_of_the_take(workers, duties):
    killed, _, alive = workers
    parts = [part for part in range(PARTS) if part not in alive._worker.maintenance.own_parts()]
    orphans = [name_in(part) for part in reversed(parts)]
    for orphan in orphans:
        alive.add(orphan)
        duties.pass_seconds(1)
        killed.take(1, wait=0, parts=parts).__enter__()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    maintenance = alive._worker.maintenance
    popped = [maintenance.pop_freed(1), maintenance.pop_freed(PARTS), maintenance.pop_freed(PARTS)]

    assert [[entry.key.sort for entry in some] for some in popped] == [
        [f"k#{orphans[0]}"],
        [f"k#{orphans[1]}"],
        [],
    ]


def test_freed_jobs_are_kept_though_the_wall_clock_is_set_forward(workers, duties, time, monkeypatch):
    workers[ALIVE].add(name_in(0))
    workers[KILLED].take(1, wait=0, parts=range(PARTS)).__enter__()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    shown = time.now() + 300_000_000
    monkeypatch.setattr(time, "now", lambda: shown)

    assert len(workers[ALIVE]._worker.maintenance.pop_freed(1)) == 1


def test_what_was_freed_runs_before_the_take_is_filled_up(workers, duties):
    killed, _, alive = workers
    mine, foreign = alive._worker.maintenance.own_parts()[0], 0
    alive.add_all([name_in(mine), name_in(foreign)])
    killed.take(1, wait=0, parts=[foreign]).__enter__()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    with alive.take(2, wait=0) as first, alive.take(2, wait=0) as second:
        assert (names(first), names(second)) == ([name_in(foreign)], [name_in(mine)])


def test_a_freed_job_runs_at_once_though_its_part_has_others_that_come_first(workers, duties, time):
    killed, _, alive = workers
    part = next(part for part in range(PARTS) if part not in alive._worker.maintenance.own_parts())
    orphan, *others = [str(i) for i in range(99) if job_key(KEY, PARTS, str(i)).part.number == part]
    alive.add(orphan)
    killed.take(1, wait=0, parts=[part]).__enter__()
    alive.add_all(NewJob(name, priority=9) for name in others)
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    time.sleep(1)
    with alive.take(10, wait=0) as jobs:
        assert names(jobs) == [orphan]
        assert jobs[0].queued_us + jobs[0].busy_us == time.now() - jobs[0].added_us
