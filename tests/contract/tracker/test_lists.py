"""What is due, listed, sampled, announced and remembered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from fanin.tracker import Group, Listing, Progress, State, memory
from fanin.tracker.dynamodb import lookups
from fanin.tracker.dynamodb import store as dynamodb
from fanin.tracker.rules.filters import Condition, Query
from fanin.tracker.rules.lifecycle import Transition, transition
from fanin.tracker.rules.model import Sample, shard_of
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.thresholds import Reached
from tests.contract.tracker.calls import KEY, LATER, NOW, receipt


def test_batches_are_due_in_order_and_by_shard(store, batch):
    first = replace(batch, next_check_at=NOW)
    second = replace(batch, batch_id=batch.batch_id[:-5] + "10001", next_check_at=NOW - timedelta(seconds=1))
    later = replace(batch, batch_id=batch.batch_id[:-5] + "20001", next_check_at=LATER)
    for each in (first, second, later):
        store.create(each)
    shard = shard_of(batch.batch_id)

    assert list(store.due(shard, True, NOW)) == [second.key, first.key]
    assert list(store.due((shard + 1) % 8, True, NOW)) == []
    assert list(store.due(shard, False, NOW)) == []


def test_due_and_live_batches_are_listed_to_the_end(store, batch, monkeypatch):
    """Page by page, if it must be."""
    monkeypatch.setattr(lookups, "ROWS_A_READ", 2)
    monkeypatch.setattr(lookups, "ROWS_A_LOOK", 2)
    ids = [f"{batch.batch_id[:-5]}{number}0001" for number in range(9)]
    for place, batch_id in enumerate(ids):
        at = NOW - place * timedelta(seconds=1)
        store.create(replace(batch, batch_id=batch_id, next_check_at=at, created_at=at))
    shard = shard_of(ids[0])

    assert [key.batch_id for key in store.due(shard, True, NOW)] == ids[::-1]
    assert [key.batch_id for key in store.live(shard)] == ids[::-1]
    assert list(store.live((shard + 1) % 8)) == []


@pytest.mark.parametrize("to", [State.COMPLETE, State.CANCELLED, State.TIMED_OUT, State.EXPIRED])
def test_a_batch_stands_among_the_live_until_it_ends_and_then_among_the_ended(store, batch, to):
    batch = replace(batch, next_check_at=NOW, deadline_at=NOW)
    store.create(batch)
    shard = shard_of(KEY.batch_id)
    closed = store.transition(KEY, transition(batch, State.CLOSED, NOW))
    assert on_lists(store, shard) == ([KEY], [], [KEY])
    store.extend(KEY, closed.expires_at + timedelta(days=1), LATER)
    store.postpone(store.get(KEY), LATER)
    assert on_lists(store, shard) == ([KEY], [], [KEY])
    ended = store.transition(KEY, transition(closed, to, LATER + timedelta(days=400), caller="c"))

    assert on_lists(store, shard) == ([], [KEY], [])
    store.postpone(ended, LATER)
    assert on_lists(store, shard) == ([], [KEY], [])
    store.postpone(store.get(KEY), None)
    assert on_lists(store, shard) == ([], [], [])


def on_lists(store, shard):
    """What is to be looked at, of the live and of those that ended, and the live ones."""
    ever = NOW + timedelta(days=4000)
    return (*(list(store.due(shard, alive, ever)) for alive in (True, False)), list(store.live(shard)))


def test_an_event_that_was_put_is_announced_only_by_the_bus_and_stays_so(store, batch):
    store.create(batch)
    assert not store.is_put(KEY)
    store.mark_put(KEY, LATER)
    assert (store.is_put(KEY), store.is_confirmed(KEY)) == (True, False)
    store.confirm(KEY, LATER)
    assert (store.is_put(KEY), store.is_confirmed(KEY)) == (True, True)
    store.mark_put(KEY, LATER)

    assert (store.is_put(KEY), store.is_confirmed(KEY)) == (True, True)


def test_groups_are_found_from_any_item_of_theirs(store, batch):
    store.create(batch)
    for start, count, key in ((0, 10, "a"), (10, 1, "b"), (11, 2**36, "c")):
        seen = store.get(KEY)
        store.reserve(seen, receipt(start, count, key), Group(key, count))
    found = [(0, Group("a", 10)), (10, Group("b", 1)), (11, Group("c", 2**36))]

    assert store.groups(KEY, 0, 2**36, 10) == found
    assert store.groups(KEY, 9, 11, 2) == found[:2]
    assert store.groups(KEY, 9, 11, 1) == found[:1]
    assert store.groups(KEY, 9, 9, 10) == found[:1]
    assert store.groups(KEY, 9, 10, 10) == found[:2]
    assert store.groups(KEY, 10, 2**36, 10) == found[1:]
    assert store.groups(KEY, 2**35, 2**36, 10) == found[2:]
    assert store.groups(KEY, 2**37, 2**38, 10) == []


def test_the_first_sample_keeps_its_slot(store):
    first, second = Sample("a", "böse", NOW), Sample("b", "worse", NOW)

    assert store.sample(KEY, 3, first, LATER) == first
    assert store.sample(KEY, 3, second, LATER) == first
    assert store.sample(KEY, 12, second, LATER) == second
    assert store.samples(KEY) == [first, second]


def listed(store, **query):
    defaults = {
        "tenant": KEY.tenant,
        "user_key": None,
        "shard": shard_of(KEY.batch_id),
        "state": None,
        "limit": 10,
    }
    return [found.batch_id[-5:] for found in store.listing(Query(**defaults | query)).batches]


def test_lists_are_newest_first_filtered_and_go_on(store, batch):
    for number, at in enumerate((NOW, LATER, LATER)):
        store.create(replace(batch, batch_id=f"{batch.batch_id[:-5]}{number}0001", created_at=at))
    store.create(replace(batch, tenant="other", batch_id=batch.batch_id[:-5] + "90001"))
    store.create(replace(batch, user_key="b", batch_id=batch.batch_id[:-5] + "80001"))

    assert listed(store) == ["20001", "10001", "80001", "00001"]
    assert listed(store, user_key=batch.user_key) == ["20001", "10001", "00001"]
    assert listed(store, limit=1) == ["20001"]
    assert listed(store, before=(LATER, batch.batch_id[:-5] + "20001")) == ["10001", "80001", "00001"]
    assert listed(store, state=State.CLOSED) == []
    assert listed(store, shard=(shard_of(KEY.batch_id) + 1) % 8) == []


def test_all_filters_of_a_list_hold_together(store, batch):
    store.create(replace(batch, user_key="orders-1", labels={"team": "a"}))
    store.create(replace(batch, batch_id=batch.batch_id[:-5] + "10001", user_key="orders-2"))
    filters = (
        {"user_key_prefix": "orders-1"},
        {"state": State.OPEN},
        {"label": "team:a"},
        {"opened_from": NOW, "opened_to": LATER},
        {"condition": Condition.LIVE},
    )
    for chosen in product((False, True), repeat=len(filters)):
        query = {
            name: each
            for taken, some in zip(chosen, filters, strict=True)
            if taken
            for name, each in some.items()
        }
        expected = ["00001"] if chosen[0] or chosen[2] else ["10001", "00001"]

        assert listed(store, **query) == expected
        if not chosen[0]:
            assert listed(store, user_key="orders-1", **query) == ["00001"]


def test_a_list_by_the_beginning_of_a_user_key_holds_the_batches_whose_keys_begin_so(store, batch):
    for number, user_key in enumerate(("orders-1", "orders-12", "order", "Orders-1", None, "käy-1")):
        store.create(replace(batch, batch_id=f"{batch.batch_id[:-5]}{number}0001", user_key=user_key))
    store.create(replace(batch, tenant="other", user_key="orders-1"))

    assert listed(store, user_key_prefix="orders-1") == ["10001", "00001"]
    assert listed(store, user_key_prefix="order") == ["20001", "10001", "00001"]
    assert listed(store, user_key_prefix="käy") == ["50001"]
    assert listed(store, user_key_prefix="orders-", state=State.CLOSED) == []
    assert listed(store, user_key_prefix="orders-", state=State.OPEN, label=None) == ["10001", "00001"]


MOMENT = timedelta(milliseconds=1)
AT = [NOW + number * MOMENT for number in range(4)]


@pytest.mark.parametrize("user_key", [None, "käy 🎈"])
def test_a_list_by_time_holds_the_batches_opened_from_one_moment_on_and_before_another(
    store, batch, user_key
):
    ids = [f"{batch.batch_id[:-5]}{number}0001" for number in range(4)]
    for batch_id, at in zip(ids, AT, strict=True):
        store.create(replace(batch, batch_id=batch_id, created_at=at))

    def opened(**query):
        return [int(found[0]) for found in listed(store, user_key=user_key, **query)]

    assert opened(opened_from=AT[1]) == [3, 2, 1]
    assert opened(opened_to=AT[2]) == [1, 0]
    assert opened(opened_from=AT[1], opened_to=AT[3]) == [2, 1]
    assert opened(opened_from=AT[1], opened_to=AT[1] + MOMENT / 2) == [1]
    assert opened(opened_from=AT[1] + MOMENT / 2, opened_to=AT[2] + MOMENT / 2) == [2]
    assert opened(opened_from=AT[0], before=(AT[2], ids[2])) == [1, 0]
    assert opened(opened_from=AT[1], before=(AT[1], ids[1])) == []
    assert opened(opened_from=AT[2], before=(AT[0], ids[0])) == []
    assert opened(opened_to=AT[2], before=(AT[3], ids[3])) == [1, 0]
    assert opened(opened_to=AT[3], before=(AT[1], ids[1])) == [0]
    assert opened(opened_from=AT[0] - 60 * 366 * 24 * timedelta(hours=1)) == [3, 2, 1, 0]


def test_a_list_goes_on_before_the_batch_with_the_smallest_id_of_a_moment(store, batch):
    """The key before a position is found by counting down, also from the id of zeros."""
    ids = ["00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000008"]
    for batch_id in ids:
        store.create(replace(batch, batch_id=batch_id))
    store.create(replace(batch, batch_id=ids[1][:-2] + "10", created_at=NOW - MOMENT))
    query = Query(tenant=KEY.tenant, shard=0, limit=10, before=(NOW, ids[1]))

    assert [each.batch_id for each in store.listing(query).batches] == [ids[0], ids[1][:-2] + "10"]
    query = replace(query, before=(NOW, ids[0]))
    assert [each.batch_id for each in store.listing(query).batches] == [ids[1][:-2] + "10"]
    query = replace(query, before=(NOW - MOMENT, ids[0]), opened_from=NOW)
    assert store.listing(query).batches == ()
    assert lookups.listing("Batches", query) is None  # DynamoDB refuses bounds the wrong way round


def test_a_list_by_label_holds_the_batches_that_have_it_with_that_value(store, batch):
    for number, labels in enumerate(
        ({"team": "a"}, {"team": "b", "a.b#c": ""}, {}, {"team": "a", "x": ":y: "})
    ):
        store.create(replace(batch, batch_id=f"{batch.batch_id[:-5]}{number}0001", labels=labels))
    store.create(replace(batch, tenant="other", labels={"team": "a"}))

    assert store.get(replace(KEY, batch_id=f"{batch.batch_id[:-5]}10001")).labels == {
        "team": "b",
        "a.b#c": "",
    }
    assert listed(store, label="team:a") == ["30001", "00001"]
    assert listed(store, label="a.b#c:") == ["10001"]
    assert listed(store, label="x::y: ") == ["30001"]
    assert listed(store, label="team:") == []
    assert listed(store, label="team:a", state=State.CLOSED) == []
    assert listed(store, label="team:b", user_key=batch.user_key) == ["10001"]


@pytest.mark.parametrize("state", [None, State.OPEN, State.CLOSED])
def test_a_list_that_stops_says_where_to_go_on(store, batch, state):
    """Nothing is left out, nothing comes twice, and the end is said."""
    for number in range(9):
        at = NOW + timedelta(seconds=number // 2)
        of = State.CLOSED if number % 4 == 0 else State.OPEN
        store.create(replace(batch, batch_id=f"{batch.batch_id[:-5]}{number}0001", created_at=at, state=of))
    whole = Query(tenant=KEY.tenant, shard=shard_of(KEY.batch_id), state=state, limit=100)
    parts = [store.listing(replace(whole, limit=2))]
    while parts[-1].resume is not None:
        parts.append(store.listing(replace(whole, limit=2, before=parts[-1].resume)))

    assert all(len(part.batches) <= 2 for part in parts)
    assert [one for part in parts for one in part.batches] == list(store.listing(whole).batches)
    assert store.listing(whole).resume is None
    assert len(store.listing(whole).batches) == {None: 9, State.OPEN: 6, State.CLOSED: 3}[state]


def test_a_state_that_is_rare_is_looked_for_in_so_many_rows_a_call(store, batch, monkeypatch):
    monkeypatch.setattr(lookups, "ROWS_A_READ", 2)
    monkeypatch.setattr(dynamodb, "READS_A_LISTING", 2)
    monkeypatch.setattr(memory, "ROWS_A_LISTING", 4)
    for number in range(10):
        at, of = NOW + timedelta(seconds=number), State.OPEN if number else State.CLOSED
        store.create(replace(batch, batch_id=f"{batch.batch_id[:-5]}{number}0001", created_at=at, state=of))
    query = Query(tenant=KEY.tenant, shard=shard_of(KEY.batch_id), state=State.CLOSED, limit=10)
    first = store.listing(query)
    second = store.listing(replace(query, before=first.resume))
    third = store.listing(replace(query, before=second.resume))

    assert first == Listing((), (NOW + timedelta(seconds=6), f"{batch.batch_id[:-5]}60001"))
    assert second == Listing((), (NOW + timedelta(seconds=2), f"{batch.batch_id[:-5]}20001"))
    assert ([one.created_at for one in third.batches], third.resume) == ([NOW], None)


def test_a_key_whose_time_is_over_takes_another_payload_though_its_row_is_still_there(store):
    """And a stray copy of its first request does not come back."""
    later = LATER + timedelta(hours=1)
    store.remember("t", "close", "k", "first", NOW, LATER)

    assert store.remember("t", "close", "k", "second", LATER - timedelta(seconds=1), later) == "first"
    assert store.remember("t", "close", "k", "second", LATER + timedelta(seconds=1), later) == "second"
    assert store.remember("t", "close", "k", "first", NOW, LATER) == "second"
    assert store.remember("t", "close", "k", "third", LATER + timedelta(seconds=1), later) == "second"


def test_a_key_stands_for_one_batch_until_another_takes_the_place_of_that_one(store, batch):
    first, second, third = (replace(batch, batch_id=f"{batch.batch_id[:-1]}{n}") for n in range(3))

    assert store.named(KEY.tenant, "k") is None
    assert store.create_under(first, "k", None) == store.named(KEY.tenant, "k") == first.batch_id
    assert store.create_under(second, "k", None) == first.batch_id
    assert store.get(second.key) is None
    assert store.create_under(second, "k", first.batch_id) == store.named(KEY.tenant, "k") == second.batch_id
    assert store.create_under(third, "k", first.batch_id) == second.batch_id
    assert [store.get(each.key) for each in (first, second, third)] == [first, second, None]
    assert store.named("another", "k") is store.named(KEY.tenant, "K") is None


@pytest.mark.parametrize("other", [("u", "close", "k"), ("t", "cancel", "k"), ("t", "close", "K")])
def test_the_key_of_another_tenant_or_route_is_another_key(store, other):
    store.remember("t", "close", "k", "first", NOW, LATER)

    assert store.remember(*other, "second", NOW, LATER) == "second"


def test_no_tenant_is_listed_under_the_name_of_another(store, batch):
    store.create(replace(batch, tenant="X#b", user_key="secret"))

    assert listed(store, tenant="X", user_key="b#secret") == []
    assert len(listed(store, tenant="X#b", user_key="secret")) == 1


STUCK = Reached(Threshold.STUCK, LATER, Progress(0, 0, 0, 10, exact=False), 10, stall=1)
CLOSED = Transition(State.CLOSED, NOW, LATER, LATER)
COMPLETE, ENOUGH = (Transition(State.COMPLETE, NOW, LATER, LATER, reached=each) for each in (None, 2))
CONDITIONS = {
    "open": ({}, (), ["live"]),
    "failing": ({"failed": 2}, (), ["live", "problems"]),
    "stalled": ({}, (STUCK,), ["live", "problems"]),
    "stalled since an ack": ({}, (NOW, STUCK), ["live", "problems"]),
    "acked since a stall": ({}, (STUCK, LATER), ["live"]),
    "cancelled": ({}, (Transition(State.CANCELLED, NOW, LATER, LATER),), ["endedBadly"]),
    "timed out": ({}, (Transition(State.TIMED_OUT, NOW, LATER, LATER),), ["endedBadly"]),
    "too many failures": ({"failed": 2}, (Transition(State.FAILED, NOW, LATER, LATER),), ["endedBadly"]),
    "with failures": ({"failed": 1}, (CLOSED, COMPLETE), ["endedBadly"]),
    "complete": ({}, (CLOSED, COMPLETE), []),
    "enough": ({"failed": 1}, (CLOSED, ENOUGH), []),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_batch_is_listed_by_its_condition(store, batch, name):
    """What happens to it: a transition, a reported stall, or an ack at a time."""
    facts, steps, expected = CONDITIONS[name]
    store.create(replace(batch, stuck_after=timedelta(hours=1), deadline_at=NOW, **facts))
    for step in steps:
        if isinstance(step, Transition):
            store.transition(KEY, step)
        elif isinstance(step, Reached):
            assert store.report(store.get(KEY), step)
        else:
            store.record_ack_time(KEY, step)

    assert [each for each in Condition if listed(store, condition=each)] == expected
