"""The ranges of a batch of ten million items, over each transport and for asyncio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from fanin import Fanin
from fanin.client.batch import Batch
from fanin.tracker import Tracker

QUARTER, DONE = 2_500_000, 100_000
STARTS = range(0, 4 * QUARTER, QUARTER)
LEFT = [(start + DONE, start + QUARTER - 1) for start in STARTS]
FAILED = [(start + 1, start + 3) for start in STARTS]


@pytest.fixture
def batch(fanin: Fanin, tracker: Tracker) -> Batch:
    """A batch that is done at four places, with some failures at each, and has pages of the usual size."""
    tracker.page_bits = 1024
    batch = fanin.open()
    items = batch.add(4 * QUARTER)
    fanin.fail_ranges([items[first : last + 1] for first, last in FAILED])
    fanin.ack_ranges(
        [part for start in STARTS for part in (items[start : start + 1], items[start + 4 : start + DONE])]
    )
    return batch


@pytest.fixture
def asked(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The requests for parts of lists."""
    asked: Counter[str] = Counter()

    def counted(name: str, ask: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            asked[name] += 1
            return ask(*arguments)

        return call

    for name in ("outstanding", "failures"):
        monkeypatch.setattr(tracker, name, counted(name, getattr(tracker, name)))
    return asked


def spans(ranges):
    return [(items.indexes[0], items.indexes[-1]) for items in ranges]


def test_each_range_is_listed_once_by_few_requests(batch, asked):
    assert spans(batch.outstanding()) == LEFT
    assert spans(batch.failures()) == FAILED
    assert 1 < asked["outstanding"] <= 10 + 2 * len(LEFT)
    assert asked["failures"] <= 10 + 2 * len(FAILED)


def test_a_request_is_sent_when_its_part_is_needed(batch, asked):
    next(batch.outstanding())

    assert asked["outstanding"] == 1
