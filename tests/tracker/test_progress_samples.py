"""Which pages a look at a batch reads, and what it takes from those above the leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker import Progress, State
from fanin.tracker.reads.progress import progress
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
