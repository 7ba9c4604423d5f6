"""A queue is removed with all its rows: on request, by force, or when it was empty for 30 days."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, NotFound
from fanin.queue import LostClaim, NewJob
from fanin.queue.administration import removing
from fanin.queue.administration.pausing import pause
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import Member
from fanin.queue.upkeep.sleeping import SETTLE_SECONDS
from fanin.queue.upkeep.visiting import visit
from tests.item_ids import item_named
from tests.queue.conftest import KEY, expects, fail
from tests.queue.removals import rows_of, swept

DAY = 86_400


def worked_at(make):
    """A queue with a job in each state, marks, a dead job, and a session; with the reported items."""
    reported = []
    queue = make(max_failures=1, parts=2, report=reported.append)
    queue.add("dies")
    fail(queue)
    queue.add("done")
    with queue.take():
        pass
    queue.add_all(
        [
            NewJob("busy", priority=9, item_id=item_named(1)),
            NewJob("ready", item_id=item_named(2)),
            NewJob("z", delay=60),
        ]
    )
    scope = queue.take()
    return queue, scope, reported


@pytest.mark.parametrize("name", ["never used", "removed"])
def test_a_queue_that_does_not_exist_cannot_be_removed(queue, store, time, name):
    if name == "removed":
        queue.context.config()
        removing.begin(queue.context, force=False)
        swept(queue, time)
    with pytest.raises(NotFound):
        removing.begin(queue.context, force=True)


def test_a_queue_with_a_live_job_is_not_removed_and_stays_in_use(queue):
    queue.add(NewJob("a", delay=60))
    with pytest.raises(Conflict, match="force=true"):
        removing.begin(queue.context, force=False)

    assert queue.context.store.config(KEY).idle_us is None
    assert queue.add("b")


def test_an_add_that_ends_between_the_look_and_the_write_prevents_an_unforced_removal(queue, store, make):
    queue.context.config()
    other, added = make(), []

    def first(part, limit):
        found = type(store).first(store, part, limit)
        if not added:
            added.append(other.add("a"))
        return found

    store.first = first
    with pytest.raises(Conflict, match="force=true"):
        removing.begin(queue.context, force=False)

    assert added == [True]
    assert queue.depth().ready == 1


def test_a_repeated_request_to_remove_a_queue_returns_the_config_of_the_first(queue, store, time):
    queue.add("a")
    first = removing.begin(queue.context, force=True)
    time.sleep(1)

    assert first.removing_us == time.now() - 1_000_000
    assert removing.begin(queue.context, force=False) == first == store.config(KEY)


def test_a_pause_while_the_queue_is_marked_idle_is_kept_by_an_unforced_removal(queue, store, make):
    queue.context.config()
    real, others = type(store).reconfigure, []

    def reconfigure(key, config):
        if not others:
            others.append(key)
            pause(make().context)
        return real(store, key, config)

    store.reconfigure = reconfigure
    removing.begin(queue.context, force=False)

    assert store.config(KEY).paused
    assert store.config(KEY).removing_us is not None


def test_nothing_is_left_of_a_queue_that_is_removed_by_force(make, store, time):
    queue, scope, _ = worked_at(make)
    with scope:
        removing.begin(queue.context, force=True)
    swept(queue, time)

    assert rows_of(store) == 0
    assert store.config(KEY).removed_us is not None
    assert queue.context.read_config() is None


def test_the_items_of_removed_jobs_fail_once_with_a_reason(make, time):
    queue, scope, reported = worked_at(make)
    reported.clear()
    with expects(LostClaim), scope as jobs:
        removing.begin(queue.context, force=True)
        swept(queue, time)
        jobs.ack(jobs[0])

    assert sorted(entry.item_id for entry in reported) == [item_named(1), item_named(2)]
    assert {(entry.failed, entry.reason) for entry in reported} == {(True, removing.REASON)}


def test_adds_revivals_and_new_sessions_are_refused_while_a_queue_is_removed(make, store):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    (dead,) = queue.dead()
    queue.close()
    removing.begin(queue.context, force=False)

    for refused in (
        lambda: make().add("b"),
        lambda: make().take(wait=0).__enter__(),
        lambda: queue.revive(dead),
    ):
        with pytest.raises(Conflict, match="is being removed"):
            refused()
    assert store.sessions[KEY] == {}
    assert all(not job.is_live for job in store.stored.values())


def test_an_add_that_uses_the_config_from_before_the_removal_is_refused_after_its_write(
    queue, make, store, time
):
    queue.add("a")
    removing.begin(make().context, force=True)
    with pytest.raises(Conflict, match="is being removed"):
        queue.add("b")
    swept(make(), time)

    assert rows_of(store) == 0


def test_jobs_are_removed_once_no_request_from_before_can_be_late(make, store, time):
    queue = make()
    queue.add("a")
    job = next(iter(store.stored.values()))
    removing.begin(queue.context, force=True)
    visit(queue.context)
    time.sleep(SETTLE_SECONDS - 1)
    visit(queue.context)
    assert list(store.stored.values()) == [job]
    time.sleep(1)
    visit(queue.context)
    assert (rows_of(store), store.config(KEY).removed_us) == (0, None)
    visit(queue.context)

    assert store.config(KEY).removed_us is not None


def test_a_name_can_be_used_again(make, store, time):
    queue = make(parts=2)
    queue.add(NewJob("a", id="same"))
    removing.begin(queue.context, force=True)
    swept(queue, time)
    revision = store.config(KEY).revision
    again = make(parts=4)

    assert again.add(NewJob("a", id="same"))
    assert [job.name for job in again.queued()] == ["a"]
    assert (store.config(KEY).parts, store.config(KEY).revision) == (4, revision + 1)
    assert store.reconfigure(KEY, QueueConfig(8, revision=1)) != QueueConfig(8, revision=1)


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
    queue = make(max_failures=1)
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
