"""The sweeper of tasks and bundles wakes what it can: neither a failure nor a long scan holds up the rest."""

from __future__ import annotations

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import BundleMessage, Grouper, TaskMessage
from fanin.grouper.store import Page
from tests.grouper.conftest import Bench

TARGETS = 25


@pytest.fixture
def lost():
    """Bundles and open tasks, each of another target, whose messages were all lost."""
    lost = Bench()
    for number in range(TARGETS):
        lost.register(f"bundled-{number}", target=f"target-{number}")
    for _ in range(TARGETS):
        lost.step()
    for number in range(TARGETS):
        lost.register(f"open-{number}", target=f"target-{number}")
    lost.queue.waiting.clear()
    lost.queue.sent.clear()
    lost.clock.advance(seconds=120)
    return lost


def woken(lost, kind):
    return len({posting.message for posting in lost.queue.sent if isinstance(posting.message, kind)})


def test_a_bundle_that_cannot_be_woken_holds_up_no_other_and_no_task(lost):
    sick = next(iter(lost.store.bundles))
    read = lost.store.bundle

    def bundle(key):
        if key == sick:
            raise KeyError("no such attribute")
        return read(key)

    lost.store.bundle = bundle
    with pytest.raises(KeyError):
        lost.grouper.sweep()

    assert (woken(lost, TaskMessage), woken(lost, BundleMessage)) == (TARGETS, TARGETS - 1)


def test_messages_that_are_not_taken_hold_up_no_others(lost):
    """Ten messages go in one request; the first of them is refused."""
    send, refused = lost.queue.send, iter([True])

    def sending(postings):
        if isinstance(postings[0].message, TaskMessage) and next(refused, False):
            raise StoreUnavailable("the queue did not take every message")
        send(postings)

    lost.queue.send = sending
    with pytest.raises(StoreUnavailable):
        lost.grouper.sweep()

    assert (woken(lost, TaskMessage), woken(lost, BundleMessage)) == (TARGETS - 10, TARGETS)


@pytest.mark.parametrize("listing", ["open_tasks", "live"])
def test_a_list_that_breaks_off_is_used_as_far_as_it_was_read(lost, listing):
    read = getattr(lost.store, listing)

    def broken(*args):
        if args[-1] is not None:
            raise StoreUnavailable("the store is busy")
        return Page(list(read(*args).rows)[:15], "more")

    setattr(lost.store, listing, broken)
    with pytest.raises(StoreUnavailable):
        lost.grouper.sweep()
    lanes, bundles = {"open_tasks": (15, TARGETS), "live": (TARGETS, 15)}[listing]

    assert (woken(lost, TaskMessage), woken(lost, BundleMessage)) == (lanes, bundles)


def test_a_scan_without_end_wakes_what_it_found_when_its_time_is_short(lost):
    rows = list(lost.store.open_tasks(None).rows)
    lost.store.open_tasks = lambda _: Page(rows, "more")
    looks = iter([True] * 5 * TARGETS)
    swept = Grouper(lost.world).sweep(lambda: next(looks, False))

    assert (swept.lanes, swept.bundles) == (TARGETS, TARGETS)
