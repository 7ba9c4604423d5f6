"""What an add does to a queue that is idle, asleep, being removed or removed, and what keeps one in use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue.administration import removing
from fanin.queue.upkeep.sleeping import SETTLE_SECONDS
from fanin.queue.upkeep.visiting import visit
from tests.queue.conftest import KEY, names
from tests.queue.removals import swept


@pytest.fixture
def asleep(make, time):
    """A queue of two parts that fell asleep."""
    queue = make(parts=2)
    queue.context.config()
    for _ in range(3):
        visit(queue.context)
        time.sleep(SETTLE_SECONDS)
    return queue


def test_an_add_to_a_sleeping_queue_that_others_always_change_asks_for_a_retry(asleep, store, monkeypatch):
    pauses: list[int] = []
    asleep.context = replace(asleep.context, effects=replace(asleep.context.effects, pause=pauses.append))
    monkeypatch.setattr(store, "reconfigure", lambda key, _: store.config(key))
    with pytest.raises(StoreUnavailable, match="changes too often at the moment; retry"):
        asleep.add("a")

    assert pauses == [*range(8)]
    assert store.stored == {}


def test_an_add_to_a_queue_that_is_removed_at_the_same_time_asks_for_a_retry(queue, store, monkeypatch):
    queue.context.config()
    whole = store.add

    def add(*args):
        stored = whole(*args)
        store.configs[KEY] = replace(store.configs[KEY], removing_us=1, removed_us=2)
        return stored

    monkeypatch.setattr(store, "add", add)
    with pytest.raises(StoreUnavailable, match="was removed at the same time; retry"):
        queue.add("a")


def test_an_add_creates_the_queue_that_its_process_knows_as_being_removed(queue, make, store, time):
    other = make()
    queue.context.config()
    removing.begin(queue.context, force=False)
    other.context.config()
    with pytest.raises(Conflict, match="is being removed"):
        other.add("a")
    store.configs[KEY] = replace(store.configs[KEY], revision=9, removed_us=time.now())

    assert other.add("a")
    assert names(make().queued()) == ["a"]


def test_a_visit_leaves_the_config_of_a_sleeping_queue_as_it_is(asleep, store, time):
    before = store.config(KEY)
    time.sleep(86_400)
    visit(asleep.context)

    assert before.asleep_us is not None
    assert store.config(KEY) == before


def test_a_queue_is_in_use_as_long_as_one_of_its_parts_has_a_job(make, store, time):
    queue = make(parts=2)
    queue.add("a")
    for _ in range(3):
        depth = visit(queue.context)
        time.sleep(SETTLE_SECONDS)

    assert store.config(KEY).idle_us is None
    assert (depth.ready, depth.busy, depth.delayed, depth.dead) == (1, 0, 0, 0)


def test_a_visit_shows_no_depth_of_a_queue_that_is_gone(queue, store, time):
    queue.context.config()
    removing.begin(queue.context, force=False)
    swept(queue, time)

    assert visit(queue.context) is None
    assert store.config(KEY).removed_us is not None
