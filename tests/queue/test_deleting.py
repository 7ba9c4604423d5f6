"""Requests to delete and to revive jobs beside workers, producers, moves and lost answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import NewJob
from fanin.queue.administration import removing
from fanin.queue.administration.deleting import Deletion, delete_dead, delete_jobs
from fanin.queue.administration.paging import dead
from fanin.queue.administration.reviving import Revival, revive_some
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.model import JobState
from fanin.queue.upkeep.sleeping import idle
from tests.item_ids import item_named
from tests.queue.conftest import KEY, fail, names


def records(queue):
    return [(row.number, row.key.sort) for row, _ in dead(queue.context, 100, None).jobs]


def first_answer_lost(monkeypatch, store, call):
    """The first request is applied, and its answer lost."""
    whole, calls = getattr(store, call), []

    def lost(*arguments):
        answer = whole(*arguments)
        calls.append(answer)
        if len(calls) == 1:
            raise StoreUnavailable("no answer")
        return answer

    monkeypatch.setattr(store, call, lost)
    return calls


def test_the_sweep_fails_the_item_of_a_deleted_job_once(make):
    reported = []
    queue = make(report=reported.append)
    queue.add(NewJob("a", item_id=item_named("i")))
    delete_jobs(queue.context, ["a"])
    for _ in range(2):
        queue.sweep()

    assert [(each.item_id, each.failed, each.reason) for each in reported] == [
        (item_named("i"), True, "the job was deleted")
    ]


def test_a_deletion_wakes_an_idle_queue_whose_sweep_is_to_report_it(queue, store):
    queue.add(NewJob("a", item_id=item_named("i")))
    store.reconfigure(KEY, idle(store.config(KEY), 1))
    delete_jobs(queue.context, ["a"])

    assert store.config(KEY).idle_us is None


def test_no_job_of_a_queue_that_is_being_removed_is_deleted(queue):
    queue.add("a")
    removing.begin(queue.context, force=True)
    with pytest.raises(Conflict, match="is being removed"):
        delete_jobs(queue.context, ["a"])

    assert names(queue.queued()) == ["a"]


def test_a_dead_job_that_was_revived_meanwhile_is_not_deleted(make, store, monkeypatch):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    (record,), (gone,) = records(queue), queue.dead()
    whole = store.remove_dead
    monkeypatch.setattr(store, "remove_dead", lambda seen: queue.revive(gone) and whole(seen))

    assert delete_dead(queue.context, [record, (7, "x")]) == {
        record: Deletion.NOT_FOUND,
        (7, "x"): Deletion.NOT_FOUND,
    }
    assert names(queue.queued()) == ["a"]


def test_a_revival_whose_answer_is_lost_counts_once(make, store, monkeypatch):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    first_answer_lost(monkeypatch, store, "revive")
    asked = records(queue) * 2

    assert revive_some(queue, asked).outcomes == {asked[0]: Revival.REVIVED}
    assert revive_some(queue, asked).outcomes == {asked[0]: Revival.NOT_FOUND}


def raised(queue, store, phase) -> None:
    """Have the parts of the queue be raised from 1 to 2."""
    config = store.config(KEY)
    store.reconfigure(
        KEY, replace(config, revision=config.revision + 1, parts=2, before=1, phase=phase, since_us=1)
    )
    queue.context.read_config()


def placed(queue, store, parts: int):
    """A job "e", whose part differs between 1 and 2 parts, where so many *parts* have it."""
    job = lifecycle.new_job(NewJob("e"), job_key(KEY, parts, "e"), "id", queue.context.effects.now(), None)
    store.add(job, None)
    return job


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.DRAINING, Phase.EXPIRING])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_job_is_deleted_in_either_part_while_they_are_raised(queue, store, phase, parts):
    queue.context.config()
    raised(queue, store, phase)
    job = placed(queue, store, parts)

    assert delete_jobs(queue.context, ["e"]) == {"e": Deletion.DELETED}
    assert store.get(job.key).state is JobState.DONE


def test_a_job_that_is_moved_before_the_write_is_deleted_in_its_new_part(queue, store, monkeypatch):
    queue.context.config()
    raised(queue, store, Phase.DRAINING)
    job, new, whole = placed(queue, store, 1), job_key(KEY, 2, "e"), store.delete

    def after_a_move(seen, *more):
        if seen.key == job.key:
            assert store.move(seen, lifecycle.moved(seen, new, None), None, queue.context.effects.now())
        return whole(seen, *more)

    monkeypatch.setattr(store, "delete", after_a_move)

    assert delete_jobs(queue.context, ["e"]) == {"e": Deletion.DELETED}
    assert store.get(new).state is JobState.DONE
