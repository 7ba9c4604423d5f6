"""The revival of a dead job beside adds, ends and moves of its key, and the requests that it sends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue import NewJob, Queue
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.model import JobState
from fanin.queue.upkeep.sleeping import idle
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY, fail

MOVES = "e"
"""A key whose part differs between 1 and 2 parts."""


class Reviving:
    """A queue with one dead job of the key MOVES, and the requests that follow."""

    def __init__(self):
        self.bench = Bench(max_failures=1)
        self.store = self.bench.store
        self.queue = Queue(self.bench.context, background=lambda _: lambda: None)
        self.queue.add(MOVES)
        fail(self.queue)
        (self.dead,) = self.queue.dead()
        self.bench.forget()

    def raise_parts(self):
        """Have the parts be raised from 1 to 2: jobs of the key go to the new part."""
        config = self.store.real.config(KEY)
        raised = replace(config, revision=config.revision + 1, parts=2, before=1, phase=Phase.DRAINING)
        self.store.real.reconfigure(KEY, raised)
        self.queue.context.read_config()
        self.bench.forget()

    def put(self, parts, state=JobState.READY, **facts):
        """Store a job of the key where so many *parts* have it."""
        now, key = self.bench.time.now(), job_key(KEY, parts, MOVES)
        job = lifecycle.new_job(NewJob(MOVES), key, "other", now, None)
        self.store.real.stored[key] = replace(job, state=state, **facts)

    def before_the_write(self, change):
        """Have *change* happen between the reads and the first write of the revival."""

        def revive(*arguments):
            del self.store.scripts["revive"]
            change()
            return self.store.real.revive(*arguments)

        self.store.scripts["revive"] = revive

    def live(self):
        return [job.key for job in self.store.real.stored.values() if job.is_live]


@pytest.fixture
def reviving():
    return Reviving()


@pytest.mark.parametrize("parts", [1, 2])
def test_a_dead_job_whose_key_has_a_live_one_costs_reads_alone(reviving, parts):
    reviving.raise_parts()
    reviving.put(parts)

    assert reviving.queue.revive(reviving.dead) is False
    assert set(reviving.store.names()) == {"get"}
    assert reviving.live() == [job_key(KEY, parts, MOVES)]


def test_a_record_that_is_gone_is_not_revived_after_its_mark_is_gone_too(reviving):
    reviving.store.real.dead_jobs.clear()
    reviving.store.real.stored.clear()

    assert reviving.queue.revive(reviving.dead) is False
    assert reviving.live() == []


@pytest.mark.parametrize("parts", [1, 2])
def test_one_that_came_and_went_at_either_part_does_so_too(reviving, parts):
    reviving.raise_parts()
    reviving.before_the_write(lambda: reviving.put(parts, JobState.DONE, generation=9, done_us=1))

    assert reviving.queue.revive(reviving.dead) is True
    assert reviving.live() == [job_key(KEY, 2, MOVES)]


def test_a_revival_wakes_a_queue_that_was_marked_idle_since_its_config_was_read(reviving):
    store = reviving.store.real
    store.reconfigure(KEY, idle(store.config(KEY), 1))

    assert reviving.queue.revive(reviving.dead)
    assert store.config(KEY).idle_us is None
