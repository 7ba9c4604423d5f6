"""A request to delete a job whose row is moved, is gone or changes while it is read and written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue import NewJob
from fanin.queue.administration.deleting import Deletion, delete_jobs
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.model import JobState
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY


@pytest.fixture
def bench():
    return Bench()


def raised(bench, phase):
    """Have the parts of the queue be raised from 1 to 2, in a phase that its process knows."""
    store = bench.store.real
    config = replace(store.config(KEY), revision=1, parts=2, before=1, phase=phase)
    store.reconfigure(KEY, config)
    bench.context.read_config()


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.DRAINING])
def test_a_job_that_is_moved_between_the_reads_of_its_rows_is_deleted(bench, phase):
    """A process may know the phase before the one in which its queue is."""
    raised(bench, phase)
    store, now = bench.store.real, bench.time.now()
    old, new = job_key(KEY, 1, "e"), job_key(KEY, 2, "e")
    job = lifecycle.new_job(NewJob("e"), old, "id", now, None)
    store.add(job, None)

    def read(key):
        found = store.get(key)
        store.move(job, lifecycle.moved(job, new, None), None, now)
        return found

    bench.store.scripts["get"] = read

    assert delete_jobs(bench.context, ["e"]) == {"e": Deletion.DELETED}
    assert store.get(new).state is JobState.DONE


def test_a_job_whose_row_is_gone_at_the_write_is_not_found(bench):
    bench.add("a")

    def delete(*arguments):
        bench.store.real.stored.clear()
        return bench.store.real.delete(*arguments)

    bench.store.scripts["delete"] = delete

    assert delete_jobs(bench.context, ["a"]) == {"a": Deletion.NOT_FOUND}
