"""Requests to delete and to revive jobs beside workers, producers and lost answers."""

from __future__ import annotations

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import NewJob, removing
from fanin.queue.deleting import Deletion, delete_dead, delete_jobs
from fanin.queue.paging import dead
from fanin.queue.reviving import Revival, revive_some
from fanin.queue.sleeping import idle
from tests.queue.conftest import KEY, fail, names, unavailable


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


def test_a_deletion_whose_answer_is_lost_is_recognised_by_its_repeat(queue, store, monkeypatch):
    queue.add(NewJob("a", item_id="i"))
    calls = first_answer_lost(monkeypatch, store, "delete")

    assert delete_jobs(queue.context, ["a"]) == {"a": Deletion.DELETED}
    assert len(calls) == 2
    assert [entry.item_id for entry in store.outbox(KEY)] == ["i"]


def test_the_sweep_fails_the_item_of_a_deleted_job_once(make):
    reported = []
    queue = make(report=reported.append)
    queue.add(NewJob("a", item_id="i"))
    delete_jobs(queue.context, ["a"])
    for _ in range(2):
        queue.sweep()

    assert [(each.item_id, each.failed, each.reason) for each in reported] == [
        ("i", True, "the job was deleted")
    ]


def test_a_repeated_add_of_a_deleted_job_does_not_bring_it_back(queue):
    queue.add(NewJob("a", id="mine"))
    delete_jobs(queue.context, ["a"])

    assert queue.add(NewJob("a", id="mine"))
    assert queue.queued() == []
    assert queue.add("a")
    assert names(queue.queued()) == ["a"]


def test_a_job_that_is_claimed_before_the_write_is_in_progress(queue, make, store, monkeypatch):
    queue.add("a")
    whole, worker = store.delete, make()

    def after_a_claim(*arguments):
        worker.take(1, wait=0).__enter__()
        return whole(*arguments)

    monkeypatch.setattr(store, "delete", after_a_claim)

    assert delete_jobs(queue.context, ["a"]) == {"a": Deletion.IN_PROGRESS}
    assert names(queue.in_progress()) == ["a"]


def test_a_job_that_ran_before_the_write_is_not_found(queue, make, store, monkeypatch):
    queue.add("a")
    whole, worker = store.delete, make()

    def after_a_run(*arguments):
        with worker.take(1, wait=0):
            pass
        return whole(*arguments)

    monkeypatch.setattr(store, "delete", after_a_run)

    assert delete_jobs(queue.context, ["a"]) == {"a": Deletion.NOT_FOUND}


def test_a_job_that_changes_at_each_attempt_is_a_retry(queue, store, monkeypatch):
    queue.add("a")
    monkeypatch.setattr(store, "delete", lambda seen, *_: seen)
    with pytest.raises(StoreUnavailable, match="changes too often"):
        delete_jobs(queue.context, ["a"])


def test_a_deletion_wakes_an_idle_queue_whose_sweep_is_to_report_it(queue, store):
    queue.add(NewJob("a", item_id="i"))
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


def test_a_request_to_a_store_that_is_out_of_reach_says_so(queue, store, monkeypatch):
    queue.add("a")
    monkeypatch.setattr(store, "delete", unavailable)
    with pytest.raises(StoreUnavailable):
        delete_jobs(queue.context, ["a"])
