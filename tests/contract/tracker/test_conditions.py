"""Every write compares with what was seen, up to the bound itself: on either side of it nothing changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import Outcome, State
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.page import Page, PageMasks
from tests.contract.tracker.calls import ENDINGS, KEY, LATER, LEAF, NOW, close, complete, receipt, reserve

TICK = timedelta(milliseconds=1)
FAR = LATER + timedelta(days=1)
FIRST = PageMasks(0b111)


def stored(store, key=LEAF) -> Page:
    return store.pages([key]).get(key, Page())


def failed_three(store, batch):
    """A batch in which three items of the page have failed and one of them was healed."""
    store.create(batch)
    store.add_bits(LEAF, PageMasks.of(0b1111, Outcome.FAILURE), LATER)
    assert store.heal_bits(LEAF, 0b1)
    return store.get(KEY)


def test_a_reservation_follows_the_total_that_was_seen(store, batch):
    store.create(batch)
    reserve(store, batch, receipt(0, 10))

    assert reserve(store, replace(batch, total=9), receipt(9, 5, "second")) is None
    assert reserve(store, replace(batch, total=11), receipt(11, 5, "second")) is None
    assert store.get(KEY).total == 10


@pytest.mark.parametrize("state", [State.CLOSED, State.COMPLETE, *(step.to for step in ENDINGS)])
def test_only_an_open_batch_grows(store, batch, state):
    batch = replace(batch, deadline_at=NOW, expires_at=NOW)
    store.create(batch)
    store.transition(KEY, Transition(State.CLOSED, NOW, NOW, LATER))
    if state is not State.CLOSED:
        store.transition(KEY, Transition(state, NOW, LATER, LATER, caller="me"))

    assert reserve(store, batch, receipt(0, 10)) is None
    assert (store.get(KEY).state, store.get(KEY).total) == (state, 0)


def test_a_page_is_replaced_over_the_count_that_was_seen(store):
    store.add_bits(LEAF, FIRST, LATER)

    for seen in [Page(bits=0b111, n=n) for n in (0, 1, 2, 4, 5)]:
        assert not store.replace_bits(LEAF, seen, PageMasks(0b1000), LATER).applied
    assert stored(store) == Page(bits=0b111, n=3)


def test_a_page_is_compacted_at_its_count_alone(store):
    store.add_bits(LEAF, FIRST, LATER)
    store.compact(LEAF, 2)
    store.compact(LEAF, 4)

    assert stored(store) == Page(bits=0b111, n=3)


def test_the_size_of_a_last_page_is_marked_once(store):
    marked = store.mark_tail(LEAF, 3, True, LATER)

    for size, root in ((2, False), (4, False), (3, True)):
        assert store.mark_tail(LEAF, size, root, LATER) == marked == Page(size=3, root=True)
    assert stored(store) == marked


def test_a_heal_takes_marks_that_are_all_set(store, batch):
    before = failed_three(store, batch)
    page = stored(store)

    assert not any(store.heal_bits(LEAF, mask) for mask in (0b1, 0b11, 0b10010, 0b10 | 1 << 7))
    assert (store.get(KEY), stored(store)) == (before, page)


@pytest.mark.parametrize(
    ("failures", "healed", "ends"), [(3, 1, True), (4, 1, False), (3, 0, False), (3, 2, False)]
)
def test_failures_end_a_batch_at_their_number_and_with_the_heals_that_were_seen(
    store, batch, failures, healed, ends
):
    failed_three(store, batch)
    step = Transition(State.FAILED, NOW, LATER, LATER, failures=failures, healed=healed)

    assert (store.transition(KEY, step).state is State.FAILED) is ends


@pytest.mark.parametrize("step", ENDINGS[2:], ids=lambda step: step.to)
@pytest.mark.parametrize(("later", "ends"), [(-TICK, False), (0 * TICK, True), (TICK, True)], ids=str)
def test_a_batch_ends_by_its_own_time_from_that_moment_on(store, batch, step, later, ends):
    times = {"deadline_at": FAR, "expires_at": FAR}
    times["deadline_at" if step.to is State.TIMED_OUT else "expires_at"] = LATER
    store.create(replace(batch, **times))

    assert (store.transition(KEY, replace(step, at=LATER + later)).state is step.to) is ends


@pytest.mark.parametrize(("later", "written"), [(-TICK, False), (0 * TICK, False), (TICK, True)], ids=str)
def test_an_expiry_is_extended_to_a_later_one(store, batch, later, written):
    store.create(batch)
    store.extend(KEY, batch.expires_at + later, LATER)

    assert store.get(KEY) == (
        replace(batch, expires_at=batch.expires_at + later, next_check_at=LATER) if written else batch
    )


def test_a_check_is_postponed_from_the_time_and_the_state_that_were_seen(store, batch):
    batch = replace(batch, next_check_at=LATER)
    store.create(batch)
    for seen in (LATER - TICK, LATER + TICK, None):
        store.postpone(replace(batch, next_check_at=seen), NOW)
    for state in (State.CLOSED, State.CANCELLED, State.TIMED_OUT):
        store.postpone(replace(batch, state=state), NOW)

    assert store.get(KEY) == batch


def test_a_batch_without_a_check_gets_one_unless_it_got_one_meanwhile(store, batch):
    batch = replace(batch, next_check_at=None)
    store.create(batch)
    store.postpone(batch, NOW)
    store.postpone(batch, LATER)

    assert store.get(KEY) == replace(batch, next_check_at=NOW)


def test_a_batch_that_is_stored_gets_no_other_key(store, batch):
    store.create_under(batch, "key", None)

    assert store.create_under(batch, "another", None) is None
    assert store.named(batch.tenant, "another") is None


def test_nothing_is_written_to_a_batch_that_is_not_there(store, batch):
    marks = PageMasks.of(0b1, Outcome.FAILURE)

    assert reserve(store, batch, receipt(0, 10)) is None
    assert not store.add_bits(LEAF, marks, LATER).applied
    assert not store.replace_bits(LEAF, Page(), marks, LATER).applied
    assert not store.add_count(LEAF, 1, Outcome.FAILURE, LATER).applied
    assert not store.heal_bits(LEAF, 0b1)
    assert store.get(KEY) is None


def test_a_batch_that_ended_is_not_closed_or_completed(store, batch):
    store.create(batch)
    ended = store.transition(KEY, ENDINGS[0])

    assert close(store) == complete(store, "me") == ended


def test_the_check_that_was_seen_is_removed(store, batch):
    batch = replace(batch, next_check_at=LATER)
    store.create(batch)
    store.postpone(batch, None)

    assert store.get(KEY) == replace(batch, next_check_at=None)
