"""The requests with which a raise of the parts begins, where others change the config at the same time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, NotFound
from fanin.queue.administration.raising import raise_parts
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY

OLD, NEW = 2, 4


@pytest.fixture
def bench():
    made = Bench(parts=OLD)
    made.forget()
    return made


def raised(bench, parts=NEW):
    return raise_parts(bench.store, bench.context.effects, KEY, parts)


def change(bench, **facts):
    """Store a config over the present one."""
    configs = bench.store.real.configs
    configs[KEY] = replace(configs[KEY], revision=configs[KEY].revision + 1, **facts)


@pytest.mark.parametrize("answer", ["none", "the change of another"])
def test_a_raise_whose_write_others_win_is_begun_again(bench, answer):
    def refused(queue, _):
        bench.store.scripts.clear()
        change(bench, paused=True)
        return None if answer == "none" else bench.store.real.config(queue)

    bench.store.scripts["reconfigure"] = refused
    found = raised(bench)

    assert (found.parts, found.paused, found) == (NEW, True, bench.store.real.config(KEY))
    assert (bench.store.names(), bench.pauses) == (["config", "reconfigure"] * 2, [0])


@pytest.mark.parametrize("parts", [OLD, NEW])
def test_the_parts_of_a_queue_that_is_being_removed_are_not_raised(bench, parts):
    change(bench, removing_us=1)
    with pytest.raises(Conflict, match=r"^queue 'orders' is being removed"):
        raised(bench, parts)

    assert bench.store.names() == ["config"]


def test_a_queue_that_is_removed_while_its_raise_begins_is_not_found(bench):
    bench.store.scripts["reconfigure"] = lambda *_: bench.store.real.configs.clear()
    with pytest.raises(NotFound, match=r"^there is no queue 'orders'$"):
        raised(bench)


def test_a_raise_wakes_the_queue(bench):
    change(bench, idle_us=1, asleep_us=2)
    found = raised(bench)

    assert (found.idle_us, found.asleep_us) == (None, None)
