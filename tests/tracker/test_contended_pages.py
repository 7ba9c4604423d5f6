"""A page, or a row of a batch, that others write at the same time: what is sent again, and the answer."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partialmethod
from itertools import count
from unittest.mock import patch

import pytest

from fanin.errors import StoreUnavailable
from fanin.tracker import State, Tracker
from fanin.tracker.batch_changes import climb
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey
from fanin.tracker.rules.page import Page, PageMasks, mask_of
from fanin.tracker.store import Written
from tests.tracker.calls import HOUR, ack, fail, opened, verdicts

SENT = 16
"""How often one write is sent."""


class Contended(MemoryStore):
    """Refuses the first writes, as a conflict of transactions does, and lets others write before one."""

    def __init__(self):
        super().__init__()
        self.refusals, self.meanwhile = Counter(), {}

    def _refuses(self, name):
        self.meanwhile.pop(name, lambda: None)()
        self.refusals[name] -= 1
        return self.refusals[name] >= 0

    def add_bits(self, key, masks, expires_at):
        if self._refuses("add_bits"):
            return Written(self.stored_pages.get(key, Page()), applied=False)
        return super().add_bits(key, masks, expires_at)

    def create_pages(self, *args):
        self._refuses("create_pages")
        return super().create_pages(*args)

    def heal_bits(self, key, mask):
        return not self._refuses("heal_bits") and super().heal_bits(key, mask)

    def transition(self, key, change):
        if self._refuses("transition"):  # others heal an item, and as many fail
            self.batches[key] = replace(self.batches[key], healed=self.batches[key].healed + 1)
        return super().transition(key, change)


@pytest.fixture
def tracker(clock):
    return Tracker(Contended(), page_bits=4, now=clock, pause=lambda _: None)


@pytest.mark.parametrize("items", [3, 4, 7])
def test_folded_acks_complete_a_batch_that_is_closed_between_their_read_and_their_write(tracker, items):
    batch_id, _ = opened(tracker, items)
    tracker.store.meanwhile["create_pages"] = lambda: tracker.close("t", batch_id, "closer")
    whole = mask_of(0, items - 1)
    pages = {number: PageMasks(whole >> 4 * number & 0b1111) for number in range(-(-items // 4))}

    with patch.object(climb, "GUARDED_DIGITS", 0):
        tracker.ack_pages("t", batch_id, pages, "bulk")

    batch = tracker.get("t", batch_id)
    assert (batch.state, batch.completed_by) == (State.COMPLETE, "bulk")


WRITES = [("add_bits", ack, 1), ("add_bits", fail, 1), ("heal_bits", ack, 0), ("transition", fail, 1)]
"""A write, and the ack that sends it, of an item of a batch that ends with its second failure."""


def one_failed(tracker):
    batch_id, group = opened(tracker, 3, max_failures=2)
    fail(tracker, batch_id, group, 0)
    return batch_id, group


@pytest.mark.parametrize(("name", "act", "item"), WRITES)
def test_a_write_that_others_refuse_for_a_while_is_stored(tracker, name, act, item):
    batch_id, group = one_failed(tracker)
    tracker.store.refusals[name] = 3

    assert verdicts(act(tracker, batch_id, group, item)) == ["accepted"]

    batch = tracker.get("t", batch_id)
    assert batch.failed == {"heal_bits": 0, "transition": 2}.get(name, 1 if act is ack else 2)
    assert batch.state is (State.FAILED if act is fail else State.OPEN)


@pytest.mark.parametrize(("name", "act", "item"), WRITES)
def test_after_sixteen_refusals_the_result_is_unknown(tracker, name, act, item):
    batch_id, group = one_failed(tracker)
    tracker.store.refusals[name] = SENT

    with pytest.raises(StoreUnavailable, match="repeat the request"):
        act(tracker, batch_id, group, item)

    assert tracker.get("t", batch_id).state is State.OPEN


@pytest.mark.parametrize(("act", "verdict"), [(ack, "accepted"), (fail, "cancelled")])
def test_a_refused_write_to_a_batch_that_is_cancelled_meanwhile_is_stored_only_for_successes(
    tracker, act, verdict
):
    batch_id, group = opened(tracker, 3)
    tracker.store.refusals["add_bits"] = 1
    tracker.store.meanwhile["add_bits"] = lambda: tracker.cancel("t", batch_id)

    assert verdicts(act(tracker, batch_id, group, 0)) == [verdict]


def test_a_failure_in_a_batch_whose_row_was_deleted_is_expired(clock):
    """The process has the batch in its cache, and a clock behind that of TTL."""
    tracker = Tracker(MemoryStore(), page_bits=4, fresh_for=HOUR, now=clock, pause=lambda _: None)
    batch_id, group = opened(tracker, 3, max_failures=1)
    ack(tracker, batch_id, group, 2)
    tracker.store.delete_expired(tracker.get("t", batch_id).row_expires_at)

    assert verdicts(fail(tracker, batch_id, group, 0)) == ["expired"]


def test_a_batch_whose_row_is_deleted_while_failures_end_it_is_not_ended(tracker):
    batch_id, group = opened(tracker, 3, max_failures=1)
    tracker.store.meanwhile["transition"] = tracker.store.batches.clear

    assert verdicts(fail(tracker, batch_id, group, 0)) == ["accepted"]
    assert tracker.store.get(BatchKey("t", batch_id)) is None


class Died(Exception):
    """The process ends here."""


class Dying(MemoryStore):
    """Dies before its write number *at*, or *after* it was applied."""

    at, after = 0, False

    def write(self, name, *args):
        self.at -= 1
        if not self.at and not self.after:
            raise Died
        written = getattr(MemoryStore, name)(self, *args)
        if not self.at:
            raise Died
        return written


WRITTEN = ("prepare", "create_pages", "add_bits", "replace_bits", "replace_pages", "heal_bits", "compact")
for name in (*WRITTEN, "transition"):
    setattr(Dying, name, partialmethod(Dying.write, name))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("guarded", [0, 20])
def test_a_bulk_write_that_dies_at_any_of_its_writes_is_completed_by_its_repetition(clock, after, guarded):
    """The climb comes after the write that compacts a page: its repetition finds the page compacted."""
    pages = dict.fromkeys(range(7), PageMasks(0b0111, 0b1000)) | {3: PageMasks(0b1111), 7: PageMasks(0b11)}
    with patch.object(climb, "GUARDED_DIGITS", guarded):
        for at in count(1):
            store = Dying()
            tracker = Tracker(store, page_bits=4, now=clock, pause=lambda _: None)
            batch_id, group = opened(tracker, 30)
            fail(tracker, batch_id, group, 0, 5)
            tracker.close("t", batch_id, "closer")
            store.at, store.after = at, after
            with suppress(Died):
                tracker.ack_pages("t", batch_id, pages, "bulk")
                break
            tracker.ack_pages("t", batch_id, pages, "bulk")
            batch = tracker.get("t", batch_id)
            assert (batch.state, batch.completed_by, batch.failed) == (State.COMPLETE, "bulk", 6), at
    assert at > 12
