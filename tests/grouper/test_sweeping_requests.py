"""What a sweep reads, which task of a lane it wakes, and what its messages say."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import BundleMessage, TaskMessage
from fanin.grouper.store import Page
from fanin.grouper.work.sweeping import Sweeper, Swept
from tests.grouper.conftest import SMALL
from tests.scripted import Scripted

OVERDUE = SMALL.max_delay + SMALL.overdue


@pytest.fixture
def store(bench):
    return Scripted(bench.store)


@pytest.fixture
def sweep(bench, store):
    """Lose all messages so far, sweep, and return what was swept with the messages that were sent."""

    def run():
        bench.queue.waiting.clear()
        bench.queue.sent.clear()
        swept = Sweeper(replace(bench.world, store=store)).sweep()
        return swept, [posting.message for posting in bench.queue.sent]

    return run


def bundled(bench):
    """A bundle whose message waits, and its key."""
    bench.register("a")
    bench.step()
    return next(iter(bench.store.bundles))


def test_the_message_of_a_task_says_that_the_sweeper_sent_it(bench, sweep):
    (task,) = bench.register("a")
    bench.clock.at += OVERDUE

    assert sweep() == (Swept(lanes=1, bundles=0), [TaskMessage(task.key, swept=True)])


def test_the_message_of_a_bundle_says_that_the_sweeper_sent_it(bench, sweep):
    key = bundled(bench)
    bench.clock.at += SMALL.overdue + timedelta(microseconds=1)

    assert sweep() == (Swept(lanes=0, bundles=1), [BundleMessage(key, swept=True)])


def test_of_tasks_that_are_as_old_the_first_one_is_woken(bench, sweep):
    bench.register("a")
    (first,) = bench.register("b", priority=9)
    bench.clock.at += OVERDUE

    assert sweep() == (Swept(1, 0), [TaskMessage(first.key, swept=True)])


def test_a_bundle_that_was_deleted_since_it_was_listed_is_not_counted(bench, store, sweep):
    key = bundled(bench)
    bench.store.bundles.clear()
    store.scripts["live"] = lambda *_: Page([key])

    assert sweep() == (Swept(0, 0), [])
