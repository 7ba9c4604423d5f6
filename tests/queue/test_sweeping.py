"""What a sweep promotes, frees, rings for and reports; a crashed worker's job runs elsewhere in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import NewJob, OutboxEntry, Ring
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.members import owned, owners
from fanin.queue.upkeep.maintenance import Maintenance
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY, names


@pytest.fixture
def bench():
    return Bench()


def sweep(bench):
    """Run the scheduled sweep; return its maintenance."""
    maintenance = Maintenance(bench.context)
    bench.forget()
    maintenance.sweep_queue(1)
    return maintenance


@pytest.mark.parametrize(("more_us", "rung"), [(-1, []), (0, []), (1, [(0, False, 0.0)])])
def test_a_ready_job_is_rung_for_again_once_it_has_waited_for_more_than_two_sweeps(bench, more_us, rung):
    bench.add("a")
    bench.time.passed += 10_000_000 + more_us
    sweep(bench)

    assert bench.bell.rung == rung


@pytest.mark.parametrize(("error", "tried"), [(StoreUnavailable("out of reach"), 1), (Conflict("no"), 2)])
def test_a_report_that_is_unavailable_ends_the_sweep_and_one_that_is_refused_does_not(bench, error, tried):
    entries = {n: OutboxEntry(n, n, False, None, n, 0) for n in "ab"}
    bench.store.real.outboxes = {KEY: dict(entries)}
    asked = []

    def report(entry):
        asked.append(entry.item_id)
        raise error

    maintenance = Maintenance(replace(bench.context, report=report))
    if tried == 1:
        with pytest.raises(StoreUnavailable):
            maintenance.sweep_queue(1)
    else:
        assert maintenance.sweep_queue(1)[1]

    assert asked == [*"ab"][:tried]
    assert bench.store.real.outboxes == {KEY: entries}


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
    return queue.taker.worker.session.id


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
    maintenance = workers[FROZEN].taker.worker.maintenance
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

    assert [ring for ring in rung if ring[0]] == [([Ring(3)], 0.0), ([Ring(3)], 1.0)]


def test_freed_jobs_are_kept_though_the_wall_clock_is_set_forward(workers, duties, time, monkeypatch):
    workers[ALIVE].add(name_in(0))
    workers[KILLED].take(1, wait=0, parts=range(PARTS)).__enter__()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    shown = time.now() + 300_000_000
    monkeypatch.setattr(time, "now", lambda: shown)

    assert len(workers[ALIVE].taker.worker.maintenance.pop_freed(1)) == 1


def test_a_freed_job_runs_at_once_though_its_part_has_others_that_come_first(workers, duties, time):
    killed, _, alive = workers
    part = next(part for part in range(PARTS) if part not in alive.taker.worker.maintenance.own_parts())
    orphan, *others = [str(i) for i in range(99) if job_key(KEY, PARTS, str(i)).part.number == part]
    alive.add(orphan)
    killed.take(1, wait=0, parts=[part]).__enter__()
    alive.add_all(NewJob(name, priority=9) for name in others)
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    time.sleep(1)
    with alive.take(10, wait=0) as jobs:
        assert names(jobs) == [orphan]
        assert jobs[0].queued_us + jobs[0].busy_us == time.now() - jobs[0].added_us
