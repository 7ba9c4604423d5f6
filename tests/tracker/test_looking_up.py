"""What a list of ranges costs the store, wherever the items lie, and what it holds, against a plain count."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanin.tracker import Ack, Outcome, Tracker
from fanin.tracker.reads import walking
from tests.tracker.calls import ack, opened
from tests.tracker.metered import Metered


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


SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    SIZES,
    st.integers(2, 9),
    st.integers(1, 60),
    st.integers(1, 12),
    st.sets(st.integers(0, 479)),
    st.sets(st.integers(0, 479)),
    st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 3), st.booleans()),
)
def test_the_lists_hold_what_a_plain_count_holds(sizes, page_bits, pages, limit, done, failed, bounds):
    tracker, _ = metered(page_bits)
    batch_id, _ = opened(tracker)
    groups = [tracker.add("t", batch_id, size).groups[0].id for size in sizes]
    places = [(group, at) for group, size in zip(groups, sizes, strict=True) for at in range(size)]
    done, failed = ({at for at in some if at < len(places)} for some in (done, failed))
    for outcome, some in ((Outcome.SUCCESS, done - failed), (Outcome.FAILURE, failed)):
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

    assert outstanding == sorted(set(range(len(places))) - done - failed)
    assert broken == sorted(failed)
