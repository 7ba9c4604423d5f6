"""A page, or a row of a batch, that others write at the same time: what is sent again, when, how often."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fanin.errors import StoreUnavailable
from fanin.tracker import State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey
from fanin.tracker.rules.page import Page
from fanin.tracker.store import Written
from tests.tracker.calls import HOUR, ack, fail, opened, verdicts

SENT = 16
"""How often one write is sent."""


class Contended(MemoryStore):
    """Refuses the first writes, as a conflict of transactions does, and lets others write before one."""

    def __init__(self):
        super().__init__()
        self.refusals, self.sent, self.meanwhile = Counter(), Counter(), {}

    def _refuses(self, name):
        self.sent[name] += 1
        self.meanwhile.pop(name, lambda: None)()
        self.refusals[name] -= 1
        return self.refusals[name] >= 0

    def add_bits(self, key, masks, expires_at):
        if self._refuses("add_bits"):
            return Written(self.stored_pages.get(key, Page()), applied=False)
        return super().add_bits(key, masks, expires_at)

    def heal_bits(self, key, mask):
        return not self._refuses("heal_bits") and super().heal_bits(key, mask)

    def transition(self, key, change):
        if self._refuses("transition"):  # others heal an item, and as many fail
            self.batches[key] = replace(self.batches[key], healed=self.batches[key].healed + 1)
        return super().transition(key, change)


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def tracker(clock, pauses):
    return Tracker(Contended(), page_bits=4, now=clock, pause=pauses.append)


@pytest.mark.parametrize("act", [ack, fail])
def test_a_write_is_sent_up_to_sixteen_times_with_pauses_from_the_second_refusal_on(tracker, pauses, act):
    """A first refusal shows the page, and a refusal that changes nothing in it is followed by a pause."""
    batch_id, group = opened(tracker, 3)
    tracker.store.refusals["add_bits"] = SENT - 1

    assert verdicts(act(tracker, batch_id, group, 0)) == ["accepted"]
    assert pauses == list(range(SENT - 1))


def test_a_heal_is_sent_up_to_sixteen_times_with_a_pause_after_each_refusal(tracker, pauses):
    batch_id, group = opened(tracker, 3)
    fail(tracker, batch_id, group, 0)
    tracker.store.refusals["heal_bits"] = SENT - 1

    assert verdicts(ack(tracker, batch_id, group, 0)) == ["accepted"]
    assert tracker.get("t", batch_id).failed == 0
    assert pauses == list(range(SENT - 1))


def test_an_end_by_failures_that_is_refused_is_sent_again_after_a_pause(tracker, pauses):
    batch_id, group = opened(tracker, 3, max_failures=1)
    tracker.store.refusals["transition"] = SENT - 2
    fail(tracker, batch_id, group, 0)

    assert tracker.get("t", batch_id).state is State.FAILED
    assert pauses == list(range(SENT - 2))


@pytest.mark.parametrize(
    ("name", "act", "text"),
    [
        ("add_bits", ack, "too many concurrent writes to a page; repeat the request"),
        ("add_bits", fail, "too many concurrent writes to a page; repeat the request"),
        ("heal_bits", ack, "too many concurrent writes to a page; repeat the request"),
        ("transition", fail, "too many concurrent requests heal failures of the batch; repeat the request"),
    ],
)
def test_after_sixteen_refusals_the_result_is_unknown(tracker, name, act, text):
    batch_id, group = opened(tracker, 3, max_failures=2)
    fail(tracker, batch_id, group, 0)
    tracker.store.refusals[name] = SENT
    tracker.store.sent.clear()
    item = 0 if name == "heal_bits" else 1

    with pytest.raises(StoreUnavailable) as caught:
        act(tracker, batch_id, group, item)
    assert str(caught.value) == text
    assert tracker.store.sent[name] == SENT
    assert tracker.get("t", batch_id).state is State.OPEN


def test_an_end_by_failures_that_is_stored_at_once_has_no_pause(tracker, pauses):
    batch_id, group = opened(tracker, 3, max_failures=1)
    fail(tracker, batch_id, group, 0)

    assert tracker.get("t", batch_id).state is State.FAILED
    assert pauses == []


def test_where_others_acked_a_part_the_rest_is_sent_without_a_pause(tracker, pauses):
    batch_id, group = opened(tracker, 3)
    tracker.store.meanwhile["add_bits"] = lambda: ack(tracker, batch_id, group, 0)

    assert verdicts(ack(tracker, batch_id, group, 0, 1)) == ["duplicate", "accepted"]
    assert pauses == []


@pytest.mark.parametrize(("act", "verdict", "sent"), [(ack, "accepted", 2), (fail, "cancelled", 1)])
def test_a_refused_write_to_a_batch_that_is_cancelled_meanwhile_is_sent_again_only_for_successes(
    tracker, act, verdict, sent
):
    batch_id, group = opened(tracker, 3)
    tracker.store.refusals["add_bits"] = 1
    tracker.store.meanwhile["add_bits"] = lambda: tracker.cancel("t", batch_id)

    assert verdicts(act(tracker, batch_id, group, 0)) == [verdict]
    assert tracker.store.sent["add_bits"] == sent


def test_a_failure_is_not_healed_in_a_batch_that_is_cancelled_meanwhile(tracker):
    batch_id, group = opened(tracker, 3)
    fail(tracker, batch_id, group, 0)
    tracker.store.meanwhile["heal_bits"] = lambda: tracker.cancel("t", batch_id)

    assert verdicts(ack(tracker, batch_id, group, 0)) == ["duplicate"]
    assert tracker.get("t", batch_id).failed == 1


def test_an_item_that_others_heal_meanwhile_is_a_duplicate(tracker, pauses):
    batch_id, group = opened(tracker, 3)
    fail(tracker, batch_id, group, 0, 1)
    tracker.store.meanwhile["heal_bits"] = lambda: ack(tracker, batch_id, group, 0, 1)

    assert verdicts(ack(tracker, batch_id, group, 0, 1)) == ["duplicate"] * 2
    assert (tracker.get("t", batch_id).failed, pauses) == (0, [])


def test_a_failure_in_a_batch_whose_row_was_deleted_is_expired(clock):
    """The process has the batch in its cache, and a clock behind that of TTL."""
    tracker = Tracker(MemoryStore(), page_bits=4, fresh_for=HOUR, now=clock, pause=lambda _: None)
    batch_id, group = opened(tracker, 3, max_failures=1)
    ack(tracker, batch_id, group, 2)
    tracker.store.delete_expired(tracker.get("t", batch_id).row_expires_at)

    assert verdicts(fail(tracker, batch_id, group, 0)) == ["expired"]


def test_a_batch_whose_row_is_deleted_while_failures_end_it_is_not_ended(tracker, pauses):
    batch_id, group = opened(tracker, 3, max_failures=1)
    tracker.store.meanwhile["transition"] = tracker.store.batches.clear

    assert verdicts(fail(tracker, batch_id, group, 0)) == ["accepted"]
    assert tracker.store.get(BatchKey("t", batch_id)) is None
    assert pauses == []
