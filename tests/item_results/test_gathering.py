"""Gathering in small steps, by several processes that crash anywhere, gives the results of one."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random

import pytest

from fanin.errors import StoreUnavailable
from fanin.item_results.gathering import Gatherer
from fanin.item_results.memory import MemoryObjects
from tests.item_results.conftest import Site

ITEMS = 200


class Crashing(MemoryObjects):
    """Objects of which a request fails at times, before or after it was applied."""

    chance: Random | None = None

    def _crash(self):
        if self.chance is not None and self.chance.random() < 0.01:
            raise StoreUnavailable("crash")

    def put(self, name, body):
        self._crash()
        super().put(name, body)
        self._crash()

    def put_first(self, name, body):
        self._crash()
        applied = super().put_first(name, body)
        self._crash()
        return applied

    def get(self, name):
        self._crash()
        return super().get(name)


@pytest.fixture
def full():
    site = Site(ITEMS, Crashing(page=7))
    chance = Random(1)
    order = list(range(ITEMS)) * 2
    chance.shuffle(order)
    for number, index in enumerate(order):
        site.ack((index, f'"{index} {number}"'))
    site.close()
    return site


def small(site, numbers):
    """A gatherer of small steps, whose files and runs have a few lines."""
    return Gatherer(
        site.objects,
        site.tracker.store,
        new_id=lambda: next(numbers),
        file_bytes=1_500,
        run_bytes=4_000,
        run_parts=40,
    )


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(each, marks=pytest.mark.proof) for each in range(4, 20))]
)
def test_processes_that_crash_and_take_turns_agree(full, seed):
    full.objects.chance = Random(seed)
    numbers = count()
    found = []
    for _ in range(2_000):
        try:
            index = small(full, numbers).gather(full.batch, lambda: full.objects.chance.random() < 0.5)
        except StoreUnavailable:
            continue
        if index is not None:
            found.append(index)
        if len(found) == 3:
            break
    full.objects.chance = None

    assert len(found) == 3
    assert len(set(found)) == 1
    assert [line for line in full.results.read(found[0])] == once(full)
    assert len(found[0].files) > 5


def once(site):
    """What one gathering in memory reads."""
    copy = MemoryObjects(
        stored={name: body for name, body in site.objects.stored.items() if "/parts/" in name}
    )
    alone = replace(site.results, objects=copy)
    return list(alone.read(alone.gathered(site.batch, site.tracker.store)))


def test_of_the_runs_of_an_item_the_first_part_counts(full):
    parts = sorted(name for name in full.objects.stored if "/parts/" in name)
    expected = {}
    for name in parts:
        item, _, result = full.objects.stored[name].decode().partition('","result":"')
        expected.setdefault(int(item.rpartition(":")[2]), result.rstrip('"}\n'))

    assert full.read() == expected


def test_a_batch_without_results_is_gathered_too():
    site = Site(3)
    site.ack((0, None), (1, None), (2, None))
    site.close()

    assert site.gathered().items == 0
    assert site.read() == {}
