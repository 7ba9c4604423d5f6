"""What the progress of a batch reads of it, and how far off an estimate is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from uuid import UUID

import pytest

from fanin.tracker import Progress, State
from fanin.tracker.batch_changes.sweeping import reached_by
from fanin.tracker.reads.progress import progress
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.page import Page
from tests.tracker.calls import START
from tests.tracker.laid_out import LaidOut, Spans
from tests.tracker.page_store import PageStore, filled, masked
from tests.tracker.stored import BATCH


def look(bits, total, stored=None):
    """How far a batch is whose pages are *stored*, and the store that was read."""
    store = PageStore(stored or {})
    return progress(store, replace(BATCH, page_bits=bits, total=total)), store


@pytest.mark.parametrize(
    ("parent", "acked", "read"),
    [
        (masked(0b0110), 8, [4, 7]),
        (masked(0b0001), 4, [5, 6, 7]),
        (replace(filled(4), compacted=True, bits=0), 16, []),
    ],
)
def test_leaves_that_their_parent_says_are_full_are_counted_and_not_read(parent, acked, read):
    """A climb that has reached the parent, and not the root."""
    found, store = look(4, 64, {(2, 0): masked(0b1101), (1, 1): parent})

    assert (found.acked, found.exact) == (48 + acked, True)
    assert store.numbers(0) == read


def test_a_complete_batch_is_not_read():
    store = PageStore()
    found = progress(store, replace(BATCH, total=10, failed=2, state=State.COMPLETE))

    assert found == Progress(10, 2, 10, 10, exact=True)
    assert not store.read


LEAF = 1024
PERIODS = (2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 32, 33, 63, 64)
BY_TURNS = {
    "one worker is ahead": lambda period, _: [990, *[0] * (period - 1)],
    "one worker has not begun": lambda period, _: [0, *[990] * (period - 1)],
    "half of the groups are nearly done": lambda period, _: (
        [990] * (period // 2) + [0] * (period - period // 2)
    ),
    "each group has its pace": lambda period, random: [random.randrange(LEAF) for _ in range(period)],
}


@dataclass
class Turns:
    """A store in which page *n* of a batch has as many acked items as the turn ``n % len(turns)`` has."""

    turns: list[int]
    read: int = 0

    def pages(self, keys, bits=True):
        self.read += len(keys)
        counts = {key: 0 if key.level else self.turns[key.number % len(self.turns)] for key in keys}
        return {key: Page((1 << n) - 1 if bits else 0, n) for key, n in counts.items() if n or key.level}


def worked(pages: int, turns: list[int], seed: int) -> tuple[Turns, object, float]:
    """A batch of so many pages, worked by turns; its store, and the part of its items that is acked."""
    whole, remainder = divmod(pages, len(turns))
    acked = whole * sum(turns) + sum(turns[:remainder])
    batch_id = str(UUID(int=Random(seed).getrandbits(128)))
    batch = replace(BATCH, page_bits=LEAF, total=pages * LEAF, state=State.CLOSED, batch_id=batch_id)
    return Turns(turns), batch, acked / batch.total


@pytest.mark.parametrize("name", BY_TURNS)
@pytest.mark.parametrize("pages", [500, 20_000])
def test_the_estimate_is_within_two_points_at_each_period(pages, name):
    off = {}
    for period in PERIODS:
        turns = BY_TURNS[name](period, Random(period))
        store, batch, truth = worked(pages, turns, period)
        off[period] = abs(progress(store, batch).estimate / batch.total - truth)

    assert {period: points for period, points in off.items() if points > 0.02} == {}


@pytest.mark.parametrize("pages", [4096, 40_000])
@pytest.mark.parametrize(
    ("turns", "reported"), [((990, 0, 0, 0), []), ((990, 990, 400, 0), [Threshold.HALF])]
)
def test_a_percentage_is_reported_once_so_many_items_are_surely_acked(pages, turns, reported):
    """Up to 20,000 pages are counted, where a sample shows that it is reached."""
    store, batch, truth = worked(pages, list(turns), 1)
    found = reached_by(store, replace(batch, notify_at=(Threshold.HALF, Threshold.MOST)), START)

    assert [each.threshold for each in found] == (reported if pages <= 20_000 else [])
    assert all(each.progress.acked / batch.total == truth for each in found)


@pytest.mark.parametrize("at", [[0], [0, 250_000_000, 500_000_000, 750_000_000]])
def test_400_000_items_of_a_billion_are_shown_as_what_they_are(at):
    """What lies below pages that are not begun is known: the others alone are estimated."""
    each = 400_000 // len(at)
    gaps = zip([first + each for first in at], [*at[1:], 10**9], strict=True)
    batch = replace(BATCH, page_bits=LEAF, total=10**9)
    store = LaidOut(laid=batch, outstanding=Spans([(low, high - 1) for low, high in gaps]))
    found = progress(store, batch)

    assert 397_000 <= found.acked <= found.estimate <= 404_000
    assert found.upper_bound <= 6_000_000
    assert found.exact is (len(at) == 1)
