"""Pages of a queue's jobs while rows disappear, and the bounded revival of dead jobs."""

from __future__ import annotations

import pytest

from fanin.queue.administration import paging
from fanin.queue.administration.reviving import Revival, revive_all, revive_some
from tests.queue.conftest import fail, names


def dying(make, *jobs: str):
    """A queue of one part in which *jobs* died, one after the other."""
    queue = make(max_failures=1)
    for job in jobs:
        queue.add(job)
        fail(queue)
    return queue


def records(queue) -> list[paging.Record]:
    return [(row.number, row.key.sort) for row, _ in paging.dead(queue.context, 200, None).jobs]


def test_a_dead_job_that_is_gone_when_its_page_is_read_is_left_out(make, store, monkeypatch):
    queue = dying(make, "a", "b")
    whole = store.dead_at

    def one_less(rows):
        store.remove_dead(queue.dead()[0])
        return whole(rows)

    monkeypatch.setattr(store, "dead_at", one_less)
    page = paging.dead(queue.context, 10, None)

    assert [dead.job.name for _, dead in page.jobs] == ["b"]


@pytest.mark.parametrize("number", [1, 2])
def test_a_record_of_a_part_that_the_queue_does_not_have_is_not_found(make, number):
    queue = dying(make, "a")
    ((known, sort),) = records(queue)

    assert known == 0
    assert list(paging.dead_at(queue.context, [(number, sort), (0, sort)])) == [(0, sort)]
    assert revive_some(queue, [(number, sort)]).outcomes == {(number, sort): Revival.NOT_FOUND}


def test_a_dead_job_that_another_request_revives_meanwhile_is_not_found(make, store, monkeypatch):
    queue, other = dying(make, "a"), make()
    (record,), (dead,) = records(queue), queue.dead()
    whole = store.dead_at

    def revived_after_the_read(rows):
        found = whole(rows)
        other.revive(dead)
        return found

    monkeypatch.setattr(store, "dead_at", revived_after_the_read)

    assert revive_some(queue, [record]).outcomes == {record: Revival.NOT_FOUND}
    assert names(queue.queued()) == ["a"]


def test_a_request_revives_a_hundred_dead_jobs_and_names_the_row_after_which_there_are_more(make):
    jobs = [f"{number:03}" for number in range(101)]
    queue = dying(make, *jobs)
    known = records(queue)
    first = revive_all(queue)
    rest = revive_all(queue, first.last)

    assert first.outcomes == dict.fromkeys(known[:100], Revival.REVIVED)
    assert (rest.outcomes, rest.last) == ({known[100]: Revival.REVIVED}, None)
    assert sorted(job.name for job in queue.queued(200)) == jobs
