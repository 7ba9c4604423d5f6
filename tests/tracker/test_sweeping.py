"""Which batches a sweep looks at, what it does with each, and which pages it reads to repair one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from threading import Event

import pytest

from fanin.pacing import each_in_threads
from fanin.tracker import Ack, BatchKey, Mode, State, Tracker
from fanin.tracker.rules.lifecycle import CHECK_AFTER, transition
from fanin.tracker.rules.model import ESTIMATED_LEAF, SHARDS, PageKey, shard_of
from fanin.tracker.rules.page import Page
from tests.tracker.calls import DAY, HOUR, START, ack, fail, opened, verdicts
from tests.tracker.metered import Metered
from tests.tracker.stored import MINUTE, TICK

WAIT_SECONDS = 30


def in_every_shard(tracker, **options):
    """A batch of each shard, by shard."""
    found = {}
    while len(found) < SHARDS:
        batch_id, _ = opened(tracker, 1, **options)
        found.setdefault(shard_of(batch_id), batch_id)
    return found


def test_what_a_sweep_has_no_time_for_is_for_the_next(tracker, clock):
    for _ in range(40):
        opened(tracker, 1, deadline=HOUR)
    clock.at += HOUR
    first = iter([True] * 30)
    swept = tracker.sweep(lambda: next(first, False))
    second = tracker.sweep()

    assert 0 < swept.timed_out < 40
    assert swept.timed_out + second.timed_out == 40


def test_one_slow_batch_keeps_no_other_waiting(tracker, clock, monkeypatch):
    """It is looked at for as long as any other has not ended, also one of its own shard."""
    ids = in_every_shard(tracker, deadline=HOUR)
    same = next(iter(ids))
    clock.at += timedelta(seconds=1)
    while shard_of(behind := opened(tracker, 1, deadline=HOUR)[0]) != same:
        pass
    clock.at += HOUR
    others, all_others = set(tracker.store.batches) - {BatchKey("t", ids[same])}, Event()
    assert BatchKey("t", behind) in others
    original = tracker.store.transition

    def slow(key, step):
        if key.batch_id == ids[same]:
            assert all_others.wait(WAIT_SECONDS)
        stored = original(key, step)
        others.discard(key)
        if not others:
            all_others.set()
        return stored

    monkeypatch.setattr(tracker.store, "transition", slow)
    swept = replace(tracker, each=each_in_threads).sweep()

    assert (swept.failed, swept.timed_out) == (0, len(tracker.store.batches))


@pytest.mark.parametrize("broken", ["get", "transition"])
def test_a_batch_that_cannot_be_swept_or_put_off_keeps_no_other_waiting(tracker, clock, monkeypatch, broken):
    ids = [opened(tracker, 1, deadline=HOUR)[0] for _ in range(20)]
    clock.at += 2 * HOUR
    for name in (broken, "postpone"):
        monkeypatch.setattr(tracker.store, name, refusing(ids[0], getattr(tracker.store, name)))
    swept = tracker.sweep()
    monkeypatch.undo()

    assert (swept.failed, swept.timed_out) == (1, 19)
    assert tracker.sweep().timed_out == 1


def refusing(batch_id, request):
    """*request*, which fails for one batch."""

    def refused(subject, *args):
        if subject.batch_id == batch_id:
            raise KeyError("no such attribute")
        return request(subject, *args)

    return refused


def test_what_lags_in_the_index_is_not_the_oldest(tracker, clock, monkeypatch):
    """The index still shows a batch that has ended, and one whose row is gone."""
    first, second = opened(tracker, 1)[0], opened(tracker, 1)[0]
    clock.at += HOUR
    oldest = opened(tracker, 1)[0]
    lagging = [BatchKey("t", first), BatchKey("t", second), BatchKey("t", oldest)]
    tracker.cancel("t", first)
    del tracker.store.batches[BatchKey("t", second)]
    clock.at += HOUR
    monkeypatch.setattr(tracker.store, "live", lambda shard: iter(lagging))

    assert tracker.longest_open() == HOUR


def test_a_list_of_due_batches_that_cannot_be_read_is_an_error_and_the_others_are_swept(
    tracker, clock, monkeypatch
):
    in_every_shard(tracker, deadline=HOUR)
    clock.at += HOUR
    due = tracker.store.due

    def broken(shard, *more, **named):
        if shard == 3:
            raise RuntimeError("this list cannot be read")
        return due(shard, *more, **named)

    monkeypatch.setattr(tracker.store, "due", broken)
    failed = tracker.sweep().failed

    assert failed >= 1
    assert {shard_of(key.batch_id) for key, batch in tracker.store.batches.items() if batch.is_alive} == {3}


def key_of(batch_id):
    return BatchKey("t", batch_id)


def listed(tracker, monkeypatch, *ids):
    """Let the list of due batches show *ids*, whatever became of them since."""
    keys = [key_of(batch_id) for batch_id in ids]
    monkeypatch.setattr(
        tracker.store, "due", lambda shard, alive, _: keys if (shard, alive) == (0, True) else []
    )


def gone(tracker, batch_id):
    del tracker.store.batches[key_of(batch_id)]


def confirmed(tracker, batch_id):
    tracker.confirm(tracker.cancel("t", batch_id))


def put_off(tracker, batch_id):
    tracker.store.postpone(tracker.get("t", batch_id), tracker.now() + TICK)


@pytest.mark.parametrize("since", [gone, confirmed, put_off])
def test_what_is_not_due_any_more_is_not_checked(tracker, monkeypatch, since):
    batch_id, _ = opened(tracker, 1, deadline=HOUR)
    since(tracker, batch_id)
    listed(tracker, monkeypatch, batch_id)
    swept = tracker.sweep()

    assert (swept.looked, swept.failed) == (0, 0)


def test_the_check_of_a_batch_that_fails_is_put_off(tracker, clock, monkeypatch):
    """It does not take the time of the other batches in each sweep."""
    batch_id, _ = opened(tracker, 1)
    tracker.close("t", batch_id, "closer")

    def broken(*_):
        raise ValueError("no such page")

    monkeypatch.setattr(tracker.store, "mark_tail", broken)
    clock.at += CHECK_AFTER
    first, second = tracker.sweep(), tracker.sweep()

    assert (first.looked, first.failed) == (1, 1)
    assert (second.looked, second.failed) == (0, 0)
    monkeypatch.undo()
    clock.at += CHECK_AFTER
    swept = tracker.sweep()
    assert (swept.looked, swept.failed) == (1, 0)


def test_a_batch_without_activity_expires_before_a_later_deadline(tracker, clock):
    batch_id, _ = opened(tracker, 1, deadline=30 * DAY)
    clock.at += 7 * DAY
    swept = tracker.sweep()

    assert (swept.looked, swept.timed_out, swept.expired) == (1, 0, 1)
    assert tracker.store.get(key_of(batch_id)).end_reason == "inactivity"


def test_a_batch_with_activity_expires_at_its_greatest_age_and_says_so(tracker, clock):
    batch_id, group = opened(tracker, 500)
    for day in range(400):
        clock.at = START + day * DAY
        ack(tracker, batch_id, group, day)
    tracker.sweep()

    ended = tracker.store.get(key_of(batch_id))
    assert (ended.state, ended.end_reason, ended.ended_at - START) == (State.EXPIRED, "age", 393 * DAY)


@pytest.mark.parametrize(("after", "resent"), [(MINUTE, 0), (CHECK_AFTER - TICK, 0), (CHECK_AFTER, 1)])
def test_an_ending_event_is_resent_once_the_bus_had_its_time_to_confirm_it(tracker, clock, after, resent):
    """The end of a child is checked sooner: its parent's item is to be acked."""
    parent, group = opened(tracker, 1)
    child, _ = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0")
    tracker.cancel("t", child)
    clock.at += after
    swept = tracker.sweep()

    assert (swept.looked, swept.announced_again, swept.failed) == (1, resent, 0)
    assert len(tracker.store.notices) == resent


MINUTE = timedelta(minutes=1)


def tracker_of(clock, page_bits):
    return Tracker(Metered(), page_bits=page_bits, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


def swept(tracker, clock):
    """The pages that the next sweep reads, after a check that found no error."""
    clock.at += CHECK_AFTER
    tracker.store.reset()
    assert tracker.sweep().failed == 0
    return tracker.store.read


def test_a_repair_reads_5000_pages_at_most(clock):
    """A tree of pages of two: the level of 4,096 pages exceeds the limit, and no leaf is read."""
    tracker = tracker_of(clock, 2)
    batch_id, _ = opened(tracker, 2**14)
    batch = tracker.get("t", batch_id).key
    above = (PageKey(batch, level, number) for level in range(1, 14) for number in range(2 ** (13 - level)))
    tracker.store.stored_pages |= dict.fromkeys(above, Page())
    tracker.close("t", batch_id, "closer")
    read = swept(tracker, clock)

    assert len(read) == 5_000
    assert [key.number for key in read if key.level == 1] == list(range(905))
    assert tracker.get("t", batch_id).state is State.CLOSED


def test_a_repair_reads_what_lies_below_pages_that_are_not_known_to_be_full(tracker, clock):
    """Of nine leaves eight are full, as their parents say, which a crash kept from the root."""
    batch_id, group = opened(tracker, 35)
    ack(tracker, batch_id, group, *range(34))
    tracker.close("t", batch_id, "closer")
    tracker.store.stored_pages[PageKey(BatchKey("t", batch_id), 2, 0)] = Page()
    read = [(key.level, key.number) for key in swept(tracker, clock)]

    assert list(dict.fromkeys(read)) == [(2, 0), (1, 0), (1, 1), (1, 2), (0, 8)]
    assert tracker.sweep().looked == 0


def test_a_full_page_above_the_leaves_of_an_estimated_batch_is_repaired(tracker, clock):
    """A crash left the root without the bit of the page, and the batch CLOSED."""
    batch_id, group = opened(tracker, 5 * ESTIMATED_LEAF, mode=Mode.ESTIMATED)
    for half in range(10):
        first = half * ESTIMATED_LEAF // 2
        tracker.ack("t", [Ack(batch_id, group, first, first + ESTIMATED_LEAF // 2 - 1, "me")])
    del tracker.store.stored_pages[PageKey(BatchKey("t", batch_id), 2, 0)]
    seen = tracker.get("t", batch_id)
    tracker.store.transition(seen.key, transition(seen, State.CLOSED, clock.at))
    clock.at += CHECK_AFTER

    assert tracker.sweep().completed == 1
    assert tracker.get("t", batch_id).completed_by == "sweeper"


def test_an_open_batch_of_which_every_item_is_acked_takes_more_items(tracker, clock):
    """Only a closed batch is repaired: which page of an open one is the last is not known."""
    batch_id, group = opened(tracker, 3, notify_at=("firstFailure",))
    fail(tracker, batch_id, group, 0)
    ack(tracker, batch_id, group, 1, 2)
    clock.at += MINUTE
    assert tracker.sweep().reached == 1
    more = tracker.add("t", batch_id, 5).groups[0].id
    tracker.close("t", batch_id, "closer")

    assert verdicts(ack(tracker, batch_id, more, *range(5))) == ["accepted"] * 5
    assert tracker.get("t", batch_id).result == "completed_with_failures"


def test_the_sweeper_completes_what_a_crash_left(tracker, clock):
    """All leaves are full, no parent knows of it, and close got no further than CLOSED."""
    batch_id, group = opened(tracker, 35)
    ack(tracker, batch_id, group, *range(35))
    store = tracker.store
    for key in list(store.stored_pages):
        if key.level:
            store.stored_pages[key] = Page()
    store.transition(key.batch, transition(tracker.get("t", batch_id), State.CLOSED, clock.at))
    clock.at += CHECK_AFTER

    assert tracker.sweep().completed == 1
    assert tracker.get("t", batch_id).state is State.COMPLETE
    assert tracker.sweep().looked == 0


def test_a_repair_reads_no_page_that_the_page_above_shows_as_full(tracker, clock):
    """Of five leaves the first and the third are full."""
    batch_id, group = opened(tracker, 20)
    ack(tracker, batch_id, group, *range(4), *range(8, 12), 13)
    tracker.close("t", batch_id, "closer")

    assert {key.number for key in swept(tracker, clock) if key.is_leaf} == {1, 3, 4}
