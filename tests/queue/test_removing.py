"""A queue is removed with all its rows: on request, by force, or when it was empty for 30 days."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import pytest

from fanin.errors import Conflict, NotFound
from fanin.queue import NewJob, Ring
from fanin.queue.administration import removing
from fanin.queue.administration.changing import pause
from fanin.queue.administration.raising import raise_parts
from fanin.queue.maintenance import raise_phases
from fanin.queue.maintenance.sleeping import SETTLE_SECONDS
from fanin.queue.maintenance.visiting import visit
from fanin.queue.rules.config import Phase
from fanin.queue.rules.messages import body
from fanin.queue.rules.model import Member
from tests.forks import forked, status_of
from tests.queue.conftest import KEY, Recorded, expects, fail, session_of, swept

DAY = 86_400


@pytest.mark.parametrize("name", ["never used", "removed"])
def test_a_queue_that_does_not_exist_cannot_be_removed(queue, store, time, name):
    if name == "removed":
        queue.context.config()
        removing.begin(queue.context, force=False)
        swept(queue, time)
    with pytest.raises(NotFound):
        removing.begin(queue.context, force=True)


def test_a_queue_with_a_live_job_is_not_removed_and_stays_in_use(make):
    queue = make(parts=2)
    queue.add(NewJob("a", delay=60))
    with pytest.raises(Conflict, match="force=true"):
        removing.begin(queue.context, force=False)

    assert queue.context.store.config(KEY).idle_us is None
    assert queue.add("b")


def test_a_repeated_request_to_remove_a_queue_returns_the_config_of_the_first(queue, store, time):
    queue.add("a")
    first = removing.begin(queue.context, force=True)
    time.sleep(1)

    assert first.removing_us == time.now() - 1_000_000
    assert removing.begin(queue.context, force=False) == first == store.config(KEY)


def test_adds_revivals_and_new_sessions_are_refused_while_a_queue_is_removed(make, store):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    (dead,) = queue.dead()
    queue.close()
    known = make()
    known.context.config()
    removing.begin(queue.context, force=False)

    for refused in (
        lambda: make().add("b"),
        lambda: known.take(wait=0).__enter__(),
        lambda: queue.revive(dead),
    ):
        with pytest.raises(Conflict, match="is being removed"):
            refused()
    assert store.sessions[KEY] == {}
    assert all(not job.is_live for job in store.stored.values())


@pytest.mark.parametrize("late", [-1, 0])
def test_an_idle_queue_is_removed_after_30_days_to_the_second(queue, store, time, late):
    queue.context.config()
    store.configs[KEY] = replace(store.config(KEY), idle_us=time.now())
    time.sleep(30 * DAY + late)
    removing.begin_if_forgotten(queue.context)

    assert (store.config(KEY).removing_us is None) == (late < 0)


def test_an_idle_queue_in_which_an_add_stored_a_job_before_it_crashed_is_kept(queue, make, store, time):
    queue.add("a")
    store.configs[KEY] = replace(store.config(KEY), idle_us=time.now())
    time.sleep(31 * DAY)
    removing.begin_if_forgotten(make().context)

    assert store.config(KEY).removing_us is None


@pytest.mark.parametrize("kept_by", ["a dead job", "a session"])
def test_a_queue_with_a_dead_job_or_a_session_is_kept(make, store, time, kept_by):
    queue = make(parts=2, max_failures=1)
    queue.add("a")
    fail(queue)
    queue.close()
    if kept_by == "a session":
        store.dead_jobs.clear()
        expires = time.now() + 50 * DAY * 1_000_000
        store.enter(KEY, Member("s", True, expires, 5_000_000, "host", 1, time.now()))
    swept(queue, time)
    time.sleep(40 * DAY)
    visit(queue.context)

    assert store.config(KEY).removing_us is None


@pytest.mark.parametrize("kind", ["queued", "dead"])
@pytest.mark.parametrize("placed", [(3, 3), (4, 2)])
def test_a_run_deletes_a_bounded_number_of_rows_over_all_parts(make, store, time, monkeypatch, placed, kind):
    monkeypatch.setattr(removing, "ROWS_A_RUN", 4)
    queue = make(parts=2, max_failures=1)
    names = {part: [n for n in map(str, range(50)) if part_of(queue, n) == part] for part in (0, 1)}
    for part, many in enumerate(placed):
        queue.add_all(names[part][:many])
    if kind == "dead":
        fail(queue, most=6)
        store.stored.clear()
    queue.close()
    removing.begin(queue.context, force=True)
    time.sleep(SETTLE_SECONDS - 1)
    removing.proceed(queue.context, None)
    assert rows_of(store) == 6
    time.sleep(1)
    limits = limits_of(store, monkeypatch, "page" if kind == "queued" else "dead")
    remaining = []
    while store.config(KEY).removed_us is None:
        removing.proceed(queue.context, None)
        remaining.append(rows_of(store))

    assert remaining == [2, 0, 0]
    assert min(limits) >= 1, "DynamoDB refuses a limit of 0"


def rows_of(store) -> int:
    """The number of rows of the queue besides its config."""
    records = (store.dead_jobs, store.outboxes, store.sessions)
    return len(store.stored) + sum(len(rows) for kind in records for rows in kind.values())


def part_of(queue, name: str) -> int:
    return queue.context.rows(name).at.part.number


def limits_of(store, monkeypatch, read: str) -> list[int]:
    """The limits of the reads that follow."""
    limits, real = [], getattr(type(store), read)

    def noted(*arguments):
        limits.append(arguments[-1])
        return real(store, *arguments)

    monkeypatch.setattr(store, read, noted, raising=False)
    return limits


def test_the_doorbell_is_deleted_once_nothing_is_left_and_not_before(queue, store, time):
    doorbells = Recorded()
    queue.context.config()
    removing.begin(queue.context, force=False)
    store.configs[KEY] = replace(store.config(KEY), doorbell="https://sqs/bell")
    visit(queue.context, doorbells)
    assert doorbells.urls == []
    time.sleep(SETTLE_SECONDS)
    visit(queue.context, doorbells)

    assert doorbells.urls == [(KEY, "https://sqs/bell")]


INVOCATION = SimpleNamespace(get_remaining_time_in_millis=lambda: 3000)


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
    with function.answer(EVENT, INVOCATION) as jobs:
        assert list(jobs) == []

    assert is_removed(store) == gone
    assert not store.sessions.get(KEY)


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
        time.sleep(raise_phases.SETTLE_SECONDS)
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


@pytest.mark.parametrize("read", ["members", "page", "outbox"])
def test_a_sweep_that_stood_still_leaves_the_jobs_the_session_and_the_doorbell_of_the_next_queue(
    make, store, time, monkeypatch, read
):
    queue, doorbells = make(), Recorded()
    queue.context.config()
    store.configs[KEY] = replace(store.config(KEY), doorbell="https://sqs/bell")
    removing.begin(queue.context, force=True)
    time.sleep(SETTLE_SECONDS)
    found = getattr(store, read)

    def late(*asked):
        monkeypatch.undo()
        swept(queue, time, Recorded())
        following = make()
        with following.take(wait=0):
            following.add("a")
        return found(*asked)

    monkeypatch.setattr(store, read, late, raising=False)

    assert removing.proceed(queue.context, doorbells) is False
    assert doorbells.urls == []
    assert [member.live for member in store.members(KEY)] == [True]
    assert [job.is_live for job in store.stored.values()] == [True]


def test_a_removal_waits_for_the_outbox_of_each_part_and_for_a_sweep_that_can_delete_the_doorbell(
    make, store, time, monkeypatch
):
    queue = make(parts=2)
    queue.context.config()
    store.configs[KEY] = replace(store.config(KEY), doorbell="https://sqs/bell")
    assert removing.proceed(queue.context, Recorded()) is False, "no removal was requested"
    removing.begin(queue.context, force=True)
    time.sleep(SETTLE_SECONDS)
    monkeypatch.setattr(store, "has_outbox", lambda part: part.number == 1)
    assert removing.proceed(queue.context, Recorded()) is False
    monkeypatch.undo()

    assert removing.proceed(queue.context, None) is False
    assert removing.proceed(queue.context, Recorded()) is True
    assert removing.proceed(queue.context, Recorded()) is True


def test_an_add_creates_the_queue_that_its_process_knows_as_being_removed(queue, make, store, time):
    other = make()
    queue.context.config()
    removing.begin(queue.context, force=False)
    other.context.config()
    with pytest.raises(Conflict, match="is being removed"):
        other.add("a")
    store.configs[KEY] = replace(store.configs[KEY], revision=9, removed_us=time.now())

    assert other.add("a")
    assert [job.name for job in make().queued()] == ["a"]


def test_a_take_that_waited_while_its_queue_was_removed_does_not_create_it(make, store, time):
    queue = make()
    with queue.take(wait=0):
        pass
    remove(make(), time)
    session_of(queue).patience = inf  # a monotonic clock that stood still too
    for _ in range(2):
        queue.taker.worker.maintenance.tick()
        time.sleep(1)
    with expects(Conflict), queue.take(wait=0):
        pass

    assert is_removed(store)
