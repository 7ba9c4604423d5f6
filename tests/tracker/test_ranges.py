"""Lists: of a tenant's batches, and of ranges of items against a plain count, with what they cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.tracker import Ack, Group, ItemRange, ListQuery, Outcome, State, Tracker, memory
from fanin.tracker.batch_changes.reopening import ReopenBatch
from fanin.tracker.reads import walking
from fanin.tracker.reads.reading import Reader
from fanin.tracker.reads.walking import PAGES_A_WALK, adjacent, joined
from fanin.tracker.rules.model import SHARDS
from tests.tracker.calls import ack, opened
from tests.tracker.laid_out import LaidOut, Ranges, Spans
from tests.tracker.metered import Metered
from tests.tracker.stored import BATCH


def metered(page_bits=1024):
    tracker = Tracker(Metered(), page_bits=page_bits, pause=lambda _: None)
    return tracker, tracker.store


def listed(tracker, batch_id, ask, limit):
    """All that *ask* lists, as places in the batch, and how many requests that took."""
    starts = {group.id: first for (_, first), group in tracker.store.stretches.items()}
    batch, found, start, requests = tracker.get("t", batch_id), [], 0, 0
    while start is not None:
        part = ask(batch, start, limit)
        assert len(part.ranges) <= limit
        assert part.resume is None or part.resume > start
        found += [starts[r.group_id] + at for r in part.ranges for at in range(r.first, r.last + 1)]
        start, requests = part.resume, requests + 1
    return found, requests


def test_of_very_many_groups_a_request_reads_so_many_and_goes_on(monkeypatch):
    monkeypatch.setattr(walking, "GROUPS_A_LOOK", 5)
    tracker, store = metered(64)
    batch_id, _ = opened(tracker)
    for _ in range(200):
        group = tracker.add("t", batch_id, 1).groups[0].id
        if len(store.stretches) % 3:
            ack(tracker, batch_id, group, 0)
    store.reset()
    found, requests = listed(tracker, batch_id, tracker.outstanding, 1000)

    assert found == list(range(2, 200, 3))
    assert store.calls["groups"] <= 4 * requests
    assert store.groups_read <= 4 * 5 * requests
    assert requests >= 200 // (4 * 7)


GROUP_SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=12)


@given(
    GROUP_SIZES,
    st.integers(2, 9),
    st.integers(1, 60),
    st.integers(1, 12),
    st.sets(st.integers(0, 479)),
    st.sets(st.integers(0, 479)),
    st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 3), st.booleans()),
)
def test_the_lists_hold_what_a_plain_count_holds(sizes, page_bits, pages, limit, succeeded, failed, bounds):
    tracker, _ = metered(page_bits)
    batch_id, _ = opened(tracker)
    groups = [tracker.add("t", batch_id, size).groups[0].id for size in sizes]
    places = [(group, at) for group, size in zip(groups, sizes, strict=True) for at in range(size)]
    succeeded, failed = ({at for at in some if at < len(places)} for some in (succeeded, failed))
    for outcome, some in ((Outcome.SUCCESS, succeeded - failed), (Outcome.FAILURE, failed)):
        tracker.ack(
            "t", [Ack(batch_id, *places[at][:1], places[at][1], places[at][1], "me", outcome) for at in some]
        )
    if bounds[3]:
        tracker.close("t", batch_id, "closer")
    with pytest.MonkeyPatch.context() as tuned:
        tuned.setattr(walking, "PAGES_A_WALK", pages)
        for name, value in zip(("GROUPS_A_LOOK", "LOOKS_A_WALK", "PAGES_A_READ"), bounds, strict=False):
            tuned.setattr(walking, name, value)
        outstanding, _ = listed(tracker, batch_id, tracker.outstanding, limit)
        broken, _ = listed(tracker, batch_id, tracker.failures, limit)

    assert outstanding == sorted(set(range(len(places))) - succeeded - failed)
    assert broken == sorted(failed)


SIZES = (10**7, 10**9, 2**40)
MILLION = 1 << 20
"""Items under a page above the leaves."""


def laid_out(total: int, outstanding: Ranges, failed: Ranges = ()) -> tuple[Reader, LaidOut]:
    """A reader of a batch of *total* items, of which only the *outstanding* are not acked; and its store."""
    count = sum(last - first + 1 for first, last in failed)
    batch = replace(BATCH, page_bits=1024, total=total, failed=count)
    store = LaidOut(laid=batch, outstanding=Spans(outstanding), broken=Spans(failed))
    store.stretches[batch.key, 0] = Group("group", total)
    return Reader(store), store


def parts_of(ask, batch, limit=1000) -> tuple[list[tuple[int, int]], int]:
    """The ranges that *ask* lists, joined where a part ended within one, and the number of parts."""
    found: list[tuple[int, int]] = []
    start, parts = 0, 0
    while start is not None:
        part = ask(batch, start, limit)
        assert part.resume is None or part.resume > start
        found += [(each.first, each.last) for each in part.ranges]
        start, parts = part.resume, parts + 1
    return list(joined(found, adjacent)), parts


def shapes_of(total: int) -> dict[str, Ranges]:
    half, end = total // 2, total - 1
    return {
        "all of it": [(0, end)],
        "the second half": [(half, end)],
        "all but 400,000 items at two places": [(400_000, half), (half + 400_000, end)],
        "all but the first and the last item": [(1, end - 1)],
        "three items": [(0, 0), (half, half), (end, end)],
        "two long ranges": [(1000, total // 3), (half, half + total // 4)],
        "ten items of each of the first two millions": [(0, 9), (MILLION, MILLION + 9)],
        "a range in each tenth": [(at, at + total // 50) for at in range(7, total * 9 // 10, total // 10)],
        "nothing": [],
    }


@pytest.mark.parametrize("name", shapes_of(10**7))
@pytest.mark.parametrize("total", SIZES)
def test_what_is_outstanding_takes_10_parts_and_2_for_each_range(total, name):
    outstanding = shapes_of(total)[name]
    reader, store = laid_out(total, outstanding)
    found, parts = parts_of(reader.outstanding, store.laid)

    assert found == outstanding
    assert parts <= 10 + 2 * len(outstanding)
    assert sum(store.reads) <= parts * PAGES_A_WALK
    assert max(store.reads) <= 100


def failing_shapes_of(total: int) -> dict[str, tuple[Ranges, Ranges]]:
    """What is outstanding, and what failed."""
    third, end = total // 3, total - 1
    here_and_there = [(at + 1, at + total // 90) for at in range(0, total - total // 30, total // 30)]
    acked = here_and_there[5][1] + 1
    return {
        "two items, all acked": ([], [(third, third), (end, end)]),
        "two items of a batch that is acked here and there": (here_and_there, [(0, 0), (acked, acked)]),
        "a long range": ([(0, 99), (2 * third, end)], [(third, third + 10**7 // 4)]),
        "50 items": ([(end - 5, end)], [(at, at) for at in range(3, total - 9, total // 50)]),
        "none": ([(5, end)], []),
    }


@pytest.mark.parametrize("name", failing_shapes_of(10**7))
@pytest.mark.parametrize("total", SIZES[:2])
def test_what_failed_takes_one_part_more_for_each_million_of_it(total, name):
    outstanding, failed = failing_shapes_of(total)[name]
    reader, store = laid_out(total, outstanding, failed)
    found, parts = parts_of(reader.failures, store.laid)

    assert found == failed
    assert parts <= 10 + 2 * len(failed) + store.laid.failed // 10**6
    assert sum(store.reads) <= parts * PAGES_A_WALK


@pytest.mark.parametrize("batch", [{"failed": 0}, {"state": State.COMPLETE}], ids=["no failure", "all acked"])
def test_a_list_that_must_be_empty_reads_nothing(batch):
    reader, store = laid_out(10**9, [])
    ask = reader.outstanding if "state" in batch else reader.failures
    found = ask(replace(store.laid, **batch))

    assert (found.ranges, found.resume, store.reads) == ((), None, [])


def test_a_range_that_begins_with_a_group_has_no_item_of_the_group_before_it(tracker):
    batch_id, first = opened(tracker, 4)
    second = tracker.add("t", batch_id, 4).groups[0].id
    ack(tracker, batch_id, first, 1, 2, 3)
    found = tracker.outstanding(tracker.get("t", batch_id))

    assert found.ranges == (ItemRange(first, 0, 0), ItemRange(second, 0, 3))


@pytest.mark.parametrize("state", [None, State.OPEN, State.CANCELLED])
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_a_list_whose_parts_stop_early_leaves_nothing_out_and_keeps_its_order(
    tracker, clock, monkeypatch, state, limit
):
    """A rare state lies further back than one look goes: pages are short, or empty, and go on."""
    monkeypatch.setattr(memory, "ROWS_A_LISTING", 2)
    ids = []
    for number in range(60):
        clock.at += timedelta(seconds=1)
        ids.append(opened(tracker)[0])
        if number in (0, 41):
            tracker.cancel("t", ids[-1])
    found, pages, after = [], 0, None
    while pages == 0 or after is not None:
        part = tracker.list("t", ListQuery(state=state, limit=limit, after=after))
        assert len(part.batches) <= limit
        found, pages, after = found + list(part.batches), pages + 1, part.resume

    cancelled = {ids[0], ids[41]}
    wanted = {
        None: ids,
        State.OPEN: [i for i in ids if i not in cancelled],
        State.CANCELLED: [ids[0], ids[41]],
    }
    assert [batch.batch_id for batch in found] == wanted[state][::-1]
    assert pages >= 60 / (2 * SHARDS)


@pytest.mark.parametrize("limit", [1, 3])
def test_a_page_that_ends_with_the_last_batch_is_the_last_page(tracker, limit):
    for _ in range(limit):
        opened(tracker)

    page = tracker.list("t", ListQuery(limit=limit))

    assert (len(page.batches), page.resume) == (limit, None)


def test_a_list_has_a_thousand_ranges_unless_another_number_is_asked_for():
    tracker, _ = metered()
    batch_id, group = opened(tracker, 2002)
    tracker.ack("t", [Ack(batch_id, group, at, at, "me", Outcome.FAILURE) for at in range(0, 2002, 2)])
    tracker.cancel("t", batch_id)
    batch = tracker.get("t", batch_id)
    again = tracker.reopen("t", ReopenBatch(origin_batch_id=batch_id), "me")
    lists = tracker.outstanding(batch), tracker.failures(batch), tracker.origin(again)

    assert [len(each.ranges) for each in lists] == [1000] * 3
    assert [lists[0].resume, lists[1].resume, lists[2].resume, lists[2].rank] == [2001, 2000, (2000, 1000), 0]


@pytest.mark.parametrize(("digits", "reads"), [(20, 0), (21, 1)])
def test_an_ack_of_up_to_20_digits_of_a_page_reads_nothing_of_it(digits, reads):
    tracker, store = metered()
    batch_id, group = opened(tracker, 1024)
    store.reset()
    tracker.ack("t", [Ack(batch_id, group, 0, 6 * digits - 1, "me")])

    assert len(store.read) == reads
    assert tracker.progress(tracker.get("t", batch_id)).acked == 6 * digits
