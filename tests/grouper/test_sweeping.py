"""The sweeper of tasks and bundles wakes what it can: neither a failure nor a long scan holds up the rest."""

from __future__ import annotations

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import BundleMessage, Grouper, TaskMessage
from fanin.grouper.store import Page
from tests.grouper.conftest import Bench

TARGETS = 25


@pytest.fixture
def bench():
    """Bundles and open tasks, each of another target, whose messages were all lost."""
    bench = Bench()
    for number in range(TARGETS):
        bench.register(f"bundled-{number}", target=f"target-{number}")
    for _ in range(TARGETS):
        bench.step()
    for number in range(TARGETS):
        bench.register(f"open-{number}", target=f"target-{number}")
    bench.queue.waiting.clear()
    bench.queue.sent.clear()
    bench.clock.advance(seconds=120)
    return bench


def woken(bench, kind):
    return len({posting.message for posting in bench.queue.sent if isinstance(posting.message, kind)})


def test_a_bundle_that_cannot_be_woken_holds_up_no_other_and_no_task(bench):
    sick = next(iter(bench.store.bundles))
    read = bench.store.bundle

    def bundle(key):
        if key == sick:
            raise KeyError("no such attribute")
        return read(key)

    bench.store.bundle = bundle
    with pytest.raises(KeyError):
        bench.grouper.sweep()

    assert (woken(bench, TaskMessage), woken(bench, BundleMessage)) == (TARGETS, TARGETS - 1)


def test_messages_that_are_not_taken_hold_up_no_others(bench):
    """Ten messages go in one request; the first of them is refused."""
    send, refused = bench.queue.send, iter([True])

    def sending(postings):
        if isinstance(postings[0].message, TaskMessage) and next(refused, False):
            raise StoreUnavailable("the queue did not take every message")
        send(postings)

    bench.queue.send = sending
    with pytest.raises(StoreUnavailable):
        bench.grouper.sweep()

    assert (woken(bench, TaskMessage), woken(bench, BundleMessage)) == (TARGETS - 10, TARGETS)


@pytest.mark.parametrize("listing", ["open_tasks", "live"])
def test_a_list_that_breaks_off_is_used_as_far_as_it_was_read(bench, listing):
    read = getattr(bench.store, listing)

    def broken(*args):
        if args[-1] is not None:
            raise StoreUnavailable("the store is busy")
        return Page(list(read(*args).rows)[:15], "more")

    setattr(bench.store, listing, broken)
    with pytest.raises(StoreUnavailable):
        bench.grouper.sweep()
    lanes, bundles = {"open_tasks": (15, TARGETS), "live": (TARGETS, 15)}[listing]

    assert (woken(bench, TaskMessage), woken(bench, BundleMessage)) == (lanes, bundles)


def test_a_scan_without_end_wakes_what_it_found_when_its_time_is_short(bench):
    rows = list(bench.store.open_tasks(None).rows)
    bench.store.open_tasks = lambda _: Page(rows, "more")
    looks = iter([True] * 5 * TARGETS)
    swept = Grouper(bench.world).sweep(lambda: next(looks, False))

    assert (swept.lanes, swept.bundles) == (TARGETS, TARGETS)
