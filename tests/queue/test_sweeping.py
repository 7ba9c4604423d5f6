"""What a sweep promotes, frees, rings for and reports; a crashed worker's job runs elsewhere in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import NewJob, OutboxEntry, Ring
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.members import Watch, owned, owners
from fanin.queue.rules.model import Member
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


def abandoned(bench, *names):
    """Claim jobs in a session whose row is gone."""
    taken = bench.take(*names)
    bench.store.real.sessions[KEY].clear()
    return taken


def requests(bench):
    """Return the requests of jobs that a sweep finds, by name."""
    return [name for name in bench.store.names() if name in {"promote", "give_back", "some_members"}]


def test_a_due_job_that_another_sweep_promotes_is_not_rung_for(bench):
    bench.add("a", delay=5)
    bench.time.sleep(5)
    bench.store.scripts["promote"] = lambda *_: False
    sweep(bench)

    assert (requests(bench), bench.bell.rung) == (["promote"], [])


def test_the_sessions_of_the_busy_jobs_are_read_once_in_the_order_of_their_ids(bench):
    names = "abcdefghijkl"
    for job, session in zip(bench.take(*names), names[::-1], strict=True):
        bench.store.real.stored[job.key] = replace(job, session=session)
    sweep(bench)

    assert bench.store.of("some_members") == [(KEY, [*names])]


@pytest.mark.parametrize(("seconds", "passed_on"), [(9.999, 1), (10, 0)])
def test_freed_jobs_are_passed_on_for_less_than_two_expiries(bench, seconds, passed_on):
    abandoned(bench, "a")
    maintenance = sweep(bench)
    bench.time.sleep(seconds)

    assert len(maintenance.pop_freed(1)) == passed_on


@pytest.mark.parametrize(("more_us", "rung"), [(-1, []), (0, []), (1, [(0, False, 0.0)])])
def test_a_ready_job_is_rung_for_again_once_it_has_waited_for_more_than_two_sweeps(bench, more_us, rung):
    bench.add("a")
    bench.time.passed += 10_000_000 + more_us
    sweep(bench)

    assert bench.bell.rung == rung


def failing_at(bench, request, error):
    """Fail the first of such requests."""
    failures = [error]

    def answer(*asked):
        if failures:
            raise failures.pop()
        return getattr(bench.store.real, request)(*asked)

    bench.store.scripts[request] = answer


@pytest.mark.parametrize("request_", ["members", "first", "promote", "outbox"])
def test_a_sweep_ends_with_its_first_request_that_is_unavailable(bench, request_):
    bench.add("a", "b", delay=5)
    bench.time.sleep(6)
    failing_at(bench, request_, StoreUnavailable("out of reach"))
    with pytest.raises(StoreUnavailable):
        sweep(bench)

    assert bench.store.names()[-1] == request_
    assert bench.store.names().count(request_) == 1


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


EXPIRY = 100.0
"""Longer than a test: its sessions live though they do not beat."""


def maintained(bench):
    """Return the maintenance of the session of a bench, which knows all sessions, after its first round."""
    maintenance = Maintenance(bench.context, bench.session)
    maintenance.read_members()
    maintenance.tick()
    bench.forget()
    return maintenance


def parts_swept(bench):
    """Return the parts whose first jobs were read, in order."""
    return [part.number for part, _ in bench.store.of("first")]


@pytest.mark.parametrize(
    ("part", "doubtful", "seconds"), [(None, False, 20), (0, False, 5), (None, True, 5), (0, True, 5)]
)
def test_parts_are_swept_again_soon_while_they_have_jobs_or_a_request_is_in_doubt(part, doubtful, seconds):
    bench = Bench(parts=2, expiry=EXPIRY)
    if part is not None:
        bench.add(next(name for name in map(str, range(99)) if job_key(KEY, 2, name).part.number == part))
    if doubtful:
        bench.session.doubt("claim", job_key(KEY, 2, "a"))
    maintenance = maintained(bench)
    bench.time.sleep(seconds - 0.001)
    maintenance.tick()
    early = parts_swept(bench)
    bench.time.sleep(0.001)
    maintenance.tick()

    assert (early, parts_swept(bench)) == ([], [0, 1])


def test_a_dead_session_of_an_invocation_is_ended_again_after_nine_tenths_of_its_expiry():
    """The maintained that ended it may still be freeing its claims."""
    dead = Member(
        "a", beats=False, expires_us=0, expiry_us=5_000_000, host="h", pid=1, started_us=0, live=False
    )
    watch = Watch()
    watch.observe([dead], 0.0)

    assert [watch.suspects([dead], at, 10**15) for at in (0.0, 4.499, 4.5)] == [[], [], [dead]]


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


def test_freed_jobs_are_returned_once_in_order_and_within_the_bound_of_the_take(workers, duties):
    killed, _, alive = workers
    parts = [part for part in range(PARTS) if part not in alive.taker.worker.maintenance.own_parts()]
    orphans = [name_in(part) for part in reversed(parts)]
    for orphan in orphans:
        alive.add(orphan)
        duties.pass_seconds(1)
        killed.take(1, wait=0, parts=parts).__enter__()
    duties.pass_seconds(TAKEOVER_SECONDS, without=(KILLED, FROZEN))
    maintenance = alive.taker.worker.maintenance
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
