"""How a batch lives and ends: failures, cancel, deadline, expiry, parents, estimates, lists, the sweeper."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from fanin.errors import Conflict, InvalidRequest, NotFound
from fanin.tracker import (
    Ack,
    BatchKey,
    ItemRange,
    ListWish,
    Mode,
    OpenBatch,
    Outcome,
    Progress,
    Retention,
    Slice,
    State,
    Tracker,
    Verdict,
    requests,
)
from fanin.tracker.climb import GUARDED_DIGITS
from fanin.tracker.life import CHECK_AFTER, TELL_PARENT_AFTER, turned
from fanin.tracker.memory import MemoryStore
from fanin.tracker.model import LIFE_MAX, PageKey
from fanin.tracker.page import Page, digits

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class Clock:
    def __init__(self):
        self.at = START

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tracker(clock):
    return Tracker(MemoryStore(), page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


def opened(tracker, count=0, **wish):
    batch = tracker.open("t", OpenBatch(**wish))
    group = tracker.add("t", batch.batch_id, count).groups[0].id if count else ""
    return batch.batch_id, group


def ack(tracker, batch_id, group, *indexes, caller="me", outcome=Outcome.SUCCESS, reason=None):
    return tracker.ack("t", [Ack(batch_id, group, i, i, caller, outcome, reason) for i in indexes])


def fail(tracker, batch_id, group, *indexes, reason="boom", caller="me"):
    return ack(tracker, batch_id, group, *indexes, outcome=Outcome.FAILURE, reason=reason, caller=caller)


def verdicts(report):
    return [result.verdict.value for result in report.results]


# failures


def test_a_failed_item_is_done_and_the_batch_completes_with_failures(tracker):
    batch_id, group = opened(tracker, 10)
    tracker.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, *range(9))
    report = fail(tracker, batch_id, group, 9, caller="last")
    batch = tracker.get("t", batch_id)

    assert verdicts(report) == ["accepted"]
    assert [done.caller for done in report.completions] == ["last"]
    assert (batch.state, batch.result, batch.failed) == (State.COMPLETE, "completed_with_failures", 1)


def test_success_heals_a_failure_and_failure_never_overrides_success(tracker):
    batch_id, group = opened(tracker, 5)
    fail(tracker, batch_id, group, 0, 1)

    assert verdicts(ack(tracker, batch_id, group, 0)) == ["accepted"]
    assert verdicts(ack(tracker, batch_id, group, 0)) == ["duplicate"]
    assert verdicts(fail(tracker, batch_id, group, 0, 1)) == ["duplicate", "duplicate"]
    assert tracker.get("t", batch_id).failed == 1


def test_a_failure_is_healed_after_its_page_was_full_and_compacted(tracker):
    batch_id, group = opened(tracker, 9)
    fail(tracker, batch_id, group, 0)
    ack(tracker, batch_id, group, 1, 2, 3)

    assert verdicts(ack(tracker, batch_id, group, 0)) == ["accepted"]
    assert tracker.get("t", batch_id).failed == 0
    assert tracker.failures(tracker.get("t", batch_id)) == Slice((), None)


def test_of_two_words_on_one_item_in_a_request_success_is_kept(tracker):
    batch_id, group = opened(tracker, 2)
    acks = [Ack(batch_id, group, 0, 0, "a", Outcome.FAILURE), Ack(batch_id, group, 0, 0, "b")]

    assert verdicts(tracker.ack("t", acks)) == ["duplicate", "accepted"]
    assert tracker.get("t", batch_id).failed == 0


def test_enough_failures_end_the_batch_early_and_later_acks_are_late(tracker):
    batch_id, group = opened(tracker, 20, max_failures=3)
    ack(tracker, batch_id, group, 0)
    assert not fail(tracker, batch_id, group, 1, 2).completions
    report = fail(tracker, batch_id, group, 3, caller="third")
    batch = tracker.get("t", batch_id)

    assert [done.caller for done in report.completions] == ["third"]
    assert (batch.state, batch.result) == (State.COMPLETE, "completed_with_failures")
    assert verdicts(ack(tracker, batch_id, group, 0, 7)) == ["duplicate", "late"]
    assert verdicts(fail(tracker, batch_id, group, 8)) == ["late"]
    assert tracker.progress(batch) == Progress(4, 3, 4, exact=True)


def test_failures_are_listed_as_ranges_with_a_sample_of_reasons(tracker):
    batch_id, _ = opened(tracker)
    one, two = (tracker.add("t", batch_id, 10).groups[0].id for _ in range(2))
    fail(tracker, batch_id, one, 2, 3, 8, 9, reason="bad xml")
    fail(tracker, batch_id, two, 0, 5)
    ack(tracker, batch_id, one, *range(10))
    batch = tracker.get("t", batch_id)

    assert batch.failed == 2
    assert tracker.failures(batch).ranges == (ItemRange(two, 0, 0), ItemRange(two, 5, 5))
    assert {sample.item_id.split(":")[2]: sample.reason for sample in tracker.samples(batch)} == {
        "2": "bad xml", "3": "bad xml", "8": "bad xml", "9": "bad xml", "0": "boom", "5": "boom",
    }  # fmt: skip


def test_five_thousand_failures_are_counted_listed_and_sampled_alike():
    tracker = Tracker(MemoryStore(), pause=lambda _: None)
    batch_id, group = opened(tracker, 6000)
    tracker.ack("t", [Ack(batch_id, group, 500, 5499, "me", Outcome.FAILURE, "boom")])
    batch = tracker.get("t", batch_id)

    assert batch.failed == 5000
    assert tracker.failures(batch).ranges == (ItemRange(group, 500, 5499),)
    assert 1 <= len(tracker.samples(batch)) <= 128


# cancel


def test_a_cancelled_batch_takes_no_acks_and_completes_never(tracker):
    batch_id, group = opened(tracker, 3)
    ack(tracker, batch_id, group, 0)
    batch = tracker.cancel("t", batch_id, "no longer wanted")

    assert (batch.state, batch.result, batch.end_reason) == (State.CANCELLED, "cancelled", "no longer wanted")
    assert verdicts(ack(tracker, batch_id, group, 0, 1, 2)) == ["duplicate", "cancelled", "cancelled"]
    assert tracker.close("t", batch_id, "closer").batch == batch
    assert tracker.cancel("t", batch_id, "again") == batch
    with pytest.raises(Conflict):
        tracker.add("t", batch_id, 1)


def test_a_complete_batch_is_not_cancelled(tracker):
    batch_id, _ = opened(tracker)
    done = tracker.close("t", batch_id, "closer").batch

    assert tracker.cancel("t", batch_id) == done


def test_a_batch_with_fewer_items_than_expected_does_not_close(tracker):
    batch_id, _ = opened(tracker, 90, expected_items=100)

    with pytest.raises(Conflict, match="expects 100"):
        tracker.close("t", batch_id, "closer")
    assert tracker.get("t", batch_id).state is State.OPEN
    tracker.add("t", batch_id, 10)
    assert tracker.close("t", batch_id, "closer").batch.state is State.CLOSED


# time


def test_a_deadline_ends_the_batch_once_and_acks_after_it_are_late(tracker, clock):
    batch_id, group = opened(tracker, 6, deadline=HOUR)
    tracker.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, 0, 1, 4)
    clock.at += HOUR

    assert verdicts(ack(tracker, batch_id, group, 4, 5)) == ["duplicate", "late"]
    batch = tracker.get("t", batch_id)
    assert (batch.state, batch.result, batch.ended_at) == (State.TIMED_OUT, "timed_out", clock.at)
    assert tracker.outstanding(batch).ranges == (ItemRange(group, 2, 3), ItemRange(group, 5, 5))


def test_a_batch_that_completes_in_time_does_not_time_out(tracker, clock):
    batch_id, _ = opened(tracker, deadline=HOUR)
    tracker.close("t", batch_id, "closer")
    clock.at += 2 * HOUR
    tracker.sweep()

    assert tracker.get("t", batch_id).state is State.COMPLETE


def test_acks_and_adds_keep_a_batch_alive(tracker, clock):
    batch_id, group = opened(tracker, 100, retention=Retention(open=8 * HOUR))
    for index in range(20):
        clock.at += 4 * HOUR
        ack(tracker, batch_id, group, index)
        tracker.sweep()
    clock.at += 7 * HOUR
    tracker.add("t", batch_id, 1)
    clock.at += 7 * HOUR

    assert tracker.get("t", batch_id).state is State.OPEN
    clock.at += HOUR
    with pytest.raises(NotFound):
        tracker.get("t", batch_id)


def test_activity_is_written_down_a_few_times_a_retention(clock):
    class Counting(MemoryStore):
        extended = 0

        def extend(self, *args):
            self.extended += 1
            return super().extend(*args)

    tracker = Tracker(Counting(), now=clock)
    batch_id, group = opened(tracker, 1000, retention=Retention(open=8 * HOUR))
    for index in range(480):
        clock.at += timedelta(minutes=1)
        ack(tracker, batch_id, group, index)

    assert 7 <= tracker.store.extended <= 9


def test_no_batch_outlives_its_pages(tracker, clock):
    batch_id, group = opened(tracker, 1000)
    for index in range(500):
        clock.at += DAY
        if clock.at - START > LIFE_MAX:
            break
        ack(tracker, batch_id, group, index)

    with pytest.raises(NotFound):
        tracker.get("t", batch_id)


@pytest.mark.parametrize("count", [0, 5])
def test_an_abandoned_batch_expires_with_its_event_even_if_it_is_empty(tracker, clock, count):
    batch_id, _ = opened(tracker, count)
    clock.at += 8 * DAY

    assert tracker.sweep().expired == 1
    assert tracker.store.get(BatchKey("t", batch_id)).state is State.EXPIRED
    with pytest.raises(NotFound):
        tracker.get("t", batch_id)


def test_acks_into_an_expired_batch_say_so(tracker, clock):
    batch_id, group = opened(tracker, 5)
    clock.at += 8 * DAY

    assert verdicts(ack(tracker, batch_id, group, 1)) == ["expired"]


# the sweeper


def test_the_sweeper_completes_what_a_crash_left(tracker, clock):
    """All leaves are full, no parent knows of it, and close got no further than CLOSED."""
    batch_id, group = opened(tracker, 35)
    ack(tracker, batch_id, group, *range(35))
    store = tracker.store
    for key in list(store.stored_pages):
        if key.level:
            del store.stored_pages[key]
    store.turn(
        key.batch,
        turned(tracker.get("t", batch_id), State.CLOSED, clock.at),
    )
    clock.at += CHECK_AFTER

    assert tracker.sweep().completed == 1
    assert tracker.get("t", batch_id).state is State.COMPLETE
    assert tracker.sweep().looked == 0


def test_the_sweeper_repairs_a_full_leaf_whose_page_was_not_compacted(tracker, clock):
    batch_id, group = opened(tracker, 9)
    tracker.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, 0, 1, 2, 4, 5, 6, 7, 8)
    key = PageKey(tracker.get("t", batch_id).key, 0, 0)
    tracker.store.stored_pages[key] = Page(0b1111, 4)
    clock.at += CHECK_AFTER

    assert tracker.sweep().completed == 1


def test_the_sweeper_leaves_a_batch_in_order_alone_and_looks_rarer(tracker, clock):
    batch_id, _ = opened(tracker, 5)
    tracker.close("t", batch_id, "closer")
    looks = 0
    for _ in range(7 * 24 * 4):
        clock.at += timedelta(minutes=15)
        looks += tracker.sweep().looked

    assert tracker.get("t", batch_id).state is State.CLOSED
    assert looks < 40


def test_an_event_that_the_bus_has_not_confirmed_is_sent_again(tracker, clock):
    batch_id, _ = opened(tracker)
    batch = tracker.close("t", batch_id, "closer").batch
    clock.at += CHECK_AFTER

    assert tracker.sweep().announced_again == 1
    assert {key for key, _ in tracker.store.notices} == {batch.key}
    tracker.store.confirm(batch.key, batch.expires_at)
    clock.at += 6 * HOUR
    assert tracker.sweep().announced_again == 0
    clock.at += 6 * HOUR
    assert tracker.sweep().looked == 0


def test_notify_sends_the_event_of_an_ended_batch_alone(tracker):
    batch_id, _ = opened(tracker)

    with pytest.raises(Conflict):
        tracker.notify("t", batch_id)
    batch = tracker.close("t", batch_id, "closer").batch
    assert tracker.notify("t", batch_id) == batch
    assert tracker.store.notices


# nested batches


def nested(tracker, depth):
    """A chain of batches of two items, each the first item of the one above; top first."""
    chain = [opened(tracker, 2)]
    for _ in range(depth - 1):
        batch_id, group = chain[-1]
        chain.append(opened(tracker, 2, parent_item_id=f"{batch_id}:{group}:0"))
    return chain


def test_the_end_of_the_innermost_batch_ends_all_above_it(tracker):
    chain = nested(tracker, 4)
    for batch_id, group in chain:
        ack(tracker, batch_id, group, 1)
        tracker.close("t", batch_id, "closer")
    assert [tracker.get("t", batch_id).state for batch_id, _ in chain] == [State.CLOSED] * 4
    ack(tracker, *chain[-1], 0)

    assert [tracker.get("t", batch_id).result for batch_id, _ in chain] == ["succeeded"] * 4


def test_a_child_that_ends_badly_is_a_failed_item_of_its_parent(tracker, clock):
    parent, group = opened(tracker, 3)
    ends = [
        lambda child: tracker.cancel("t", child),
        lambda child: (
            fail(tracker, child, tracker.add("t", child, 1).groups[0].id, 0),
            tracker.close("t", child, "c"),
        ),
        lambda child: setattr(clock, "at", clock.at + 2 * HOUR) or tracker.sweep(),
    ]
    for index, end in enumerate(ends):
        child, _ = opened(tracker, parent_item_id=f"{parent}:{group}:{index}", deadline=HOUR)
        end(child)
    tracker.close("t", parent, "closer")
    batch = tracker.get("t", parent)

    assert (batch.state, batch.failed, batch.result) == (State.COMPLETE, 3, "completed_with_failures")
    assert all("batch" in sample.reason for sample in tracker.samples(batch))


def test_a_crash_between_the_child_and_its_parent_is_repaired_by_redelivery_and_by_the_sweeper(
    tracker, clock
):
    for repair in ("redelivery", "sweeper"):
        parent, group = opened(tracker, 1)
        tracker.close("t", parent, "closer")
        child, items = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0")
        tracker.close("t", child, "closer")
        crashed = replace(tracker, _known={})
        crashed._tell_parent = lambda _: None
        ack(crashed, child, items, 0)
        assert tracker.get("t", parent).state is State.CLOSED
        if repair == "redelivery":
            ack(tracker, child, items, 0)
        else:
            clock.at += CHECK_AFTER
            tracker.sweep()

        assert tracker.get("t", parent).state is State.COMPLETE


def test_a_parent_that_is_no_item_of_the_tenants_is_refused(tracker):
    parent, group = opened(tracker, 3)

    for item in (f"{parent}:{group}:3", f"{parent}:{parent}:0", "nonsense"):
        with pytest.raises(InvalidRequest):
            tracker.open("t", OpenBatch(parent_item_id=item))
    with pytest.raises(InvalidRequest):
        tracker.open("other", OpenBatch(parent_item_id=f"{parent}:{group}:0"))


def test_an_estimated_batch_is_no_parent(tracker):
    """Whoever finds a child ended tells its parent again, and there each word would count."""
    parent, group = opened(tracker, 3, mode=Mode.ESTIMATED)

    with pytest.raises(InvalidRequest, match="estimated"):
        tracker.open("t", OpenBatch(parent_item_id=f"{parent}:{group}:0"))


def test_a_deep_chain_ends_level_by_level_without_a_deep_stack(tracker, clock):
    chain = [opened(tracker, 1)]
    for _ in range(299):
        batch_id, group = chain[-1]
        chain.append(opened(tracker, 1, parent_item_id=f"{batch_id}:{group}:0"))
    for batch_id, _ in chain:
        tracker.close("t", batch_id, "closer")
    ack(tracker, *chain[-1], 0)
    for _ in range(30):
        clock.at += TELL_PARENT_AFTER
        tracker.sweep()

    assert {tracker.get("t", batch_id).result for batch_id, _ in chain} == {"succeeded"}


def test_a_batch_that_cannot_be_swept_does_not_keep_the_others_waiting(tracker, clock, monkeypatch):
    ids = [opened(tracker, 1, deadline=HOUR)[0] for _ in range(20)]
    clock.at += 2 * HOUR
    turn = tracker.store.turn

    def poisoned(key, step):
        if key.batch_id == ids[0]:
            raise ValueError("no such row")
        return turn(key, step)

    monkeypatch.setattr(tracker.store, "turn", poisoned)
    done = tracker.sweep()

    assert (done.failed, done.timed_out) == (1, 19)


def test_a_child_that_a_reader_ends_is_due_soon_for_its_parents_sake(tracker, clock):
    parent, group = opened(tracker, 1)
    tracker.close("t", parent, "closer")
    child, _ = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0", deadline=HOUR)
    clock.at += HOUR
    assert tracker.get("t", child).state is State.TIMED_OUT
    clock.at += TELL_PARENT_AFTER
    tracker.sweep()

    assert tracker.get("t", parent).state is State.COMPLETE


def test_no_batch_completes_after_its_deadline_on_old_knowledge(clock):
    tracker = Tracker(MemoryStore(), page_bits=4, fresh_for=DAY, now=clock)
    batch_id, group = opened(tracker, 2, deadline=HOUR)
    tracker.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, 0)
    clock.at += 2 * HOUR

    assert verdicts(ack(tracker, batch_id, group, 1)) == ["late"]
    assert tracker.get("t", batch_id).state is State.TIMED_OUT


# estimated batches


def test_an_estimated_batch_counts_and_completes(tracker):
    batch_id, group = opened(tracker, 2_500_000, mode=Mode.ESTIMATED)
    tracker.close("t", batch_id, "closer")
    reports = [
        tracker.ack("t", [Ack(batch_id, group, low, low + 499_999, f"caller {low}")])
        for low in range(0, 2_500_000, 500_000)
    ]
    batch = tracker.get("t", batch_id)

    assert [len(report.completions) for report in reports] == [0, 0, 0, 0, 1]
    assert (batch.state, tracker.progress(batch).acked) == (State.COMPLETE, 2_500_000)
    assert len(tracker.store.stored_pages) < 10


def test_every_ack_of_a_request_counts_in_an_estimated_batch_duplicates_too(tracker):
    batch_id, group = opened(tracker, 10, mode=Mode.ESTIMATED)

    assert verdicts(ack(tracker, batch_id, group, 1, 2, 2)) == ["accepted"] * 3
    assert tracker.progress(tracker.get("t", batch_id)) == Progress(3, 0, 3, exact=False)


def test_failures_of_an_estimated_batch_are_counted(tracker):
    batch_id, group = opened(tracker, 4, mode=Mode.ESTIMATED, max_failures=3)
    fail(tracker, batch_id, group, 0, 1)
    assert tracker.get("t", batch_id).failed == 2
    fail(tracker, batch_id, group, 2)

    assert tracker.get("t", batch_id).result == "completed_with_failures"
    assert verdicts(ack(tracker, batch_id, group, 3)) == ["late"]


def test_an_estimated_batch_does_not_know_what_is_missing(tracker):
    batch_id, _ = opened(tracker, 4, mode=Mode.ESTIMATED)

    with pytest.raises(Conflict):
        tracker.outstanding(tracker.get("t", batch_id))
    with pytest.raises(Conflict):
        tracker.failures(tracker.get("t", batch_id))


# outstanding


def test_three_missing_of_ten_million_are_one_page_from_few_rows():
    class Counting(MemoryStore):
        read = 0

        def pages(self, keys):
            self.read += len(keys)
            return super().pages(keys)

    tracker = Tracker(Counting(), pause=lambda _: None)
    batch_id, group = opened(tracker, 10_000_000)
    missing = (0, 5_123_456, 9_999_999)
    for low, high in ((1, 999_999), *((at, at + 999_999) for at in range(1_000_000, 10_000_000, 1_000_000))):
        parts = [low, *(m for m in missing if low <= m <= high), high + 1]
        spans = [(a if a == low else a + 1, b - 1) for a, b in pairwise(parts)]
        tracker.ack("t", [Ack(batch_id, group, a, b, "me") for a, b in spans if a <= b])
    tracker.store.read = 0
    found = tracker.outstanding(tracker.get("t", batch_id))

    assert found == Slice(tuple(ItemRange(group, at, at) for at in missing), None)
    assert tracker.store.read <= 100


def test_a_long_list_goes_on_where_it_stopped(tracker):
    batch_id, group = opened(tracker, 4000)
    ack(tracker, batch_id, group, *range(0, 4000, 3))
    batch, found, start = tracker.get("t", batch_id), [], 0
    while start is not None:
        part = tracker.outstanding(batch, start, limit=7)
        assert len(part.ranges) <= 7
        found += [index for r in part.ranges for index in range(r.first, r.last + 1)]
        start = part.resume

    assert found == [index for index in range(4000) if index % 3]


# keys and retentions


def test_a_key_whose_batch_is_over_stands_for_a_new_batch(tracker, clock):
    """The old batch's id is not given out again: its pages are still there."""
    first = tracker.open("t", OpenBatch(), key="weekly")
    group = tracker.add("t", first.batch_id, 6).groups[0].id
    ack(tracker, first.batch_id, group, *range(6))
    tracker.close("t", first.batch_id, "closer")
    clock.at += 8 * DAY
    second = tracker.open("t", OpenBatch(user_key="other"), key="weekly")

    assert second.batch_id != first.batch_id
    assert tracker.open("t", OpenBatch(user_key="other"), key="weekly") == second
    tracker.add("t", second.batch_id, 6)
    assert tracker.close("t", second.batch_id, "closer").batch.state is State.CLOSED


def test_a_key_is_given_no_new_batch_while_the_last_one_may_still_be_looked_at(tracker, clock):
    """Past its deadline and its time at once, with no sweeper about: it ends first, and is kept as ended."""
    wish = OpenBatch(deadline=HOUR, retention=Retention(open=2 * HOUR))
    first = tracker.open("t", wish, key="weekly")
    clock.at += 3 * HOUR

    assert tracker.open("t", wish, key="weekly") == tracker.get("t", first.batch_id)
    assert tracker.get("t", first.batch_id).state is State.TIMED_OUT


def test_a_key_s_last_batch_has_ended_for_good_when_the_key_stands_for_the_next(tracker, clock):
    """Nothing that is still under way brings it back."""
    wish = OpenBatch(retention=Retention(open=2 * HOUR))
    first = tracker.open("t", wish, key="weekly")
    clock.at += 3 * HOUR
    second = tracker.open("t", wish, key="weekly")
    tracker.store.extend(first.key, clock.at + HOUR, clock.at + HOUR)

    assert second.batch_id != first.batch_id
    assert tracker.open("t", wish, key="weekly") == second
    with pytest.raises(NotFound):
        tracker.get("t", first.batch_id)


def test_retentions_that_no_batch_can_live_through_are_refused():
    with pytest.raises(InvalidRequest, match="400 days"):
        Retention(366 * DAY, 20 * DAY, 20 * DAY)


# lists


def test_batches_are_listed_newest_first_page_by_page(tracker, clock):
    ids = []
    for number in range(25):
        clock.at += timedelta(seconds=1)
        ids.append(opened(tracker, user_key="odd" if number % 2 else None)[0])
    tracker.cancel("t", ids[3])
    tracker.open("other", OpenBatch())
    found, after = [], None
    while True:
        part = tracker.list("t", ListWish(limit=10, after=after))
        found += [batch.batch_id for batch in part.batches]
        after = part.resume
        if after is None:
            break

    assert found == ids[::-1]
    assert [b.batch_id for b in tracker.list("t", ListWish(user_key="odd")).batches] == ids[1::2][::-1]
    assert [b.batch_id for b in tracker.list("t", ListWish(state=State.CANCELLED)).batches] == [ids[3]]


def test_what_has_expired_is_on_no_list(tracker, clock):
    opened(tracker)
    clock.at += 8 * DAY

    assert tracker.list("t", ListWish()).batches == ()


def test_verdicts_are_those_of_the_contract():
    assert {verdict.value for verdict in Verdict} == {
        "accepted", "duplicate", "not_found", "out_of_range", "cancelled", "expired", "late",
    }  # fmt: skip


# races and crashes that the simulator found


def test_success_heals_what_is_left_when_another_heals_a_part_first(clock):
    class Raced(MemoryStore):
        raced = False

        def heal_bits(self, key, mask):
            if not self.raced:
                self.raced = True
                super().heal_bits(key, 1)
            return super().heal_bits(key, mask)

    tracker = Tracker(Raced(), page_bits=4, now=clock, pause=lambda _: None)
    batch_id, group = opened(tracker, 4)
    fail(tracker, batch_id, group, 0, 1)

    assert verdicts(ack(tracker, batch_id, group, 0, 1)) == ["duplicate", "accepted"]
    assert tracker.get("t", batch_id).failed == 0


def test_a_large_range_is_healed_in_parts_that_a_transaction_can_guard():
    class Noting(MemoryStore):
        widest = 0

        def heal_bits(self, key, mask):
            self.widest = max(self.widest, sum(1 for _ in digits(mask)))
            return super().heal_bits(key, mask)

    tracker = Tracker(Noting(), pause=lambda _: None)
    batch_id, group = opened(tracker, 1024)
    tracker.ack("t", [Ack(batch_id, group, 0, 1023, "me", Outcome.FAILURE)])
    tracker.ack("t", [Ack(batch_id, group, 0, 1023, "me")])

    assert tracker.get("t", batch_id).failed == 0
    assert 1 <= tracker.store.widest <= GUARDED_DIGITS


def test_the_sweeper_ends_a_batch_that_has_enough_failures_and_whose_consumer_died(tracker, clock):
    batch_id, group = opened(tracker, 5, max_failures=2)
    fail(tracker, batch_id, group, 0)
    key = BatchKey("t", batch_id)
    tracker.store.fail_bits(PageKey(key, 0, 0), 0b10, tracker.store.get(key).pages_expire_at)
    clock.at += CHECK_AFTER
    tracker.sweep()

    assert tracker.get("t", batch_id).result == "completed_with_failures"


def test_a_process_that_takes_a_closed_batch_for_open_does_not_put_the_sweeper_off(clock):
    store = MemoryStore()
    here, there = (Tracker(store, page_bits=4, now=clock, pause=lambda _: None) for _ in range(2))
    batch_id, group = opened(here, 2, retention=Retention(open=8 * HOUR, closed=HOUR))
    clock.at += 2 * HOUR
    here.get("t", batch_id)
    here._known_batch(BatchKey("t", batch_id))
    there.close("t", batch_id, "closer")
    ack(here, batch_id, group, 0)
    batch = here.get("t", batch_id)

    assert batch.expires_at == clock.at + 8 * HOUR
    assert batch.due_at == clock.at + CHECK_AFTER


def test_activity_does_not_put_the_sweeper_off(tracker, clock):
    """Close got no further than CLOSED, and the one ack comes again and again."""
    batch_id, group = opened(tracker, 1, retention=Retention(closed=HOUR))
    tracker.store.turn(BatchKey("t", batch_id), turned(tracker.get("t", batch_id), State.CLOSED, clock.at))
    ack(tracker, batch_id, group, 0)
    for _ in range(2):
        clock.at += CHECK_AFTER / 2
        ack(tracker, batch_id, group, 0)

    assert tracker.sweep().completed == 1


def test_a_kept_reason_names_an_item_that_failed(tracker):
    batch_id, group = opened(tracker, 7)
    ack(tracker, batch_id, group, 4)
    tracker.ack("t", [Ack(batch_id, group, 4, 6, "me", Outcome.FAILURE, "boom")])

    assert [s.item_id for s in tracker.samples(tracker.get("t", batch_id))] == [f"{batch_id}:{group}:5"]


def test_a_full_leaf_of_an_estimated_batch_is_compacted_by_an_expression_that_fits():
    request = requests.compact("pages", PageKey(BatchKey("t", "b"), 0, 0), 2**20)

    assert len(request["UpdateExpression"]) < 4096
