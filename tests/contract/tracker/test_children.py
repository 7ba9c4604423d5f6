"""The children of an item: added with their batch, ended once, alike in every store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker import Group, ItemId, State
from fanin.tracker.dynamodb import requests
from fanin.tracker.rules import children
from fanin.tracker.rules.children import Children
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import BatchKey, ItemKey, shard_of
from fanin.tracker.rules.options import TaskToken
from tests.contract.tracker.calls import KEY, NOW
from tests.tracker.calls import HOUR, new_batch

GROUP = str(GroupId.make(b"0123456789abcdef", KEY.batch_id, 7, 100))
ITEM = ItemKey(KEY, 10)
TOKEN = TaskToken("token")


def child(number, **facts):
    """A batch that stands for the eleventh item of its parent."""
    key = BatchKey(KEY.tenant, f"00000000-0000-4000-8000-{number:012d}")
    return replace(new_batch(key, NOW), parent_item_id=str(ItemId(KEY.batch_id, GROUP, 3)), **facts)


A, B, C = (child(number) for number in (11, 12, 13))


def ids(*children):
    return frozenset(each.batch_id for each in children)


WAYS = {
    "alone": lambda store, batch, before: store.create(batch) and batch.batch_id,
    "with a task token": lambda store, batch, before: store.create(batch, TOKEN) and batch.batch_id,
    "under a key": lambda store, batch, before: store.create_under(batch, f"of {batch.batch_id}", before),
    "reopened": lambda store, batch, before: store.create_reopened(batch, Group("g", 1), None, None, None),
    "reopened under a key": lambda store, batch, before: store.create_reopened(
        batch, Group("g", 1), None, f"of {batch.batch_id}", before
    ),
}


@pytest.fixture(params=WAYS)
def opens(request, store):
    return lambda batch, before=None: WAYS[request.param](store, batch, before)


def test_a_child_is_stored_with_its_id_at_its_item(store, opens):
    assert store.children(ITEM) is None
    assert opens(A) == A.batch_id
    assert opens(B) == B.batch_id
    assert (store.get(A.key), store.get(B.key)) == (A, B)
    assert store.children(ITEM) == Children(ids(A, B))
    assert store.children(replace(ITEM, position=11)) is None


def test_an_item_whose_children_have_ended_takes_no_other_one(store, opens):
    opens(A)
    store.end_child(ITEM, A.batch_id, failed=False)

    assert opens(B) is None
    assert store.get(B.key) is None
    assert store.children(ITEM) == Children(done=ids(A))


def test_an_item_with_a_live_child_takes_another_one_though_one_has_failed(store, opens):
    opens(A), opens(B)
    store.end_child(ITEM, A.batch_id, failed=True)

    assert opens(C) == C.batch_id
    assert store.children(ITEM) == Children(ids(B, C), ids(A))


@pytest.mark.parametrize("failed", [False, True])
def test_a_child_ends_once_however_often_its_end_is_noted(store, failed):
    store.create(A), store.create(B)
    after = Children(ids(B), ids(A) if failed else frozenset(), frozenset() if failed else ids(A))

    assert store.end_child(ITEM, A.batch_id, failed) == after
    assert store.end_child(ITEM, A.batch_id, not failed) == after
    assert store.end_child(ITEM, C.batch_id, failed) == after
    assert store.children(ITEM) == after
    assert store.end_child(ITEM, B.batch_id, failed=False) == replace(
        after, live=frozenset(), done=after.done | ids(B)
    )


def test_children_that_are_done_are_kept_up_to_a_number_and_the_others_end_as_well(store, monkeypatch):
    store.create(A), store.create(B)
    for module in (children, requests):
        monkeypatch.setattr(module, "CHILDREN_MAX", 1)

    assert store.end_child(ITEM, A.batch_id, failed=False) == Children(ids(B), done=ids(A))
    assert store.end_child(ITEM, B.batch_id, failed=False) == Children(done=ids(A))
    assert store.end_child(ITEM, B.batch_id, failed=False) == Children(done=ids(A))


def test_a_reopened_child_takes_the_place_of_its_origin_that_failed(store):
    store.create(A)
    store.end_child(ITEM, A.batch_id, failed=True)
    again = replace(B, origin_batch_id=A.batch_id)

    assert (
        store.create_reopened(replace(C, origin_batch_id=B.batch_id), Group("g", 1), None, None, None) is None
    )
    assert store.create_reopened(again, Group("g", 1), None, None, None) == B.batch_id
    assert store.children(ITEM) == Children(ids(B))


def test_a_child_under_a_key_takes_the_place_of_the_one_that_had_it_and_failed(store):
    store.create_under(A, "key", None)
    store.end_child(ITEM, A.batch_id, failed=True)

    assert store.create_under(B, "another", None) is None
    assert store.create_under(B, "key", A.batch_id) == B.batch_id
    assert store.children(ITEM) == Children(ids(B))


def test_a_key_whose_item_refuses_the_child_stays_as_it_is(store):
    store.create_under(A, "key", None)
    store.end_child(ITEM, A.batch_id, failed=False)

    assert store.create_under(B, "key", A.batch_id) == A.batch_id
    assert store.named(KEY.tenant, "key") == A.batch_id
    assert store.get(B.key) is None


def test_a_repeated_request_adds_its_child_once(store, opens):
    opens(A)
    store.end_child(ITEM, A.batch_id, failed=True)
    opens(A)

    assert store.children(ITEM) == Children(frozenset(), ids(A))


def test_an_item_takes_so_many_live_children_and_no_other_one_after_as_many_failed(store, monkeypatch):
    for module in (children, requests):
        monkeypatch.setattr(module, "CHILDREN_MAX", 3)
    many = [child(number) for number in range(100, 104)]
    assert all(store.create(each) for each in many[:-1])
    assert store.create(many[-1]) is None
    for each in many[:-1]:
        store.end_child(ITEM, each.batch_id, failed=True)

    assert (
        store.create_reopened(replace(A, origin_batch_id=many[0].batch_id), Group("g", 1), None, None, None)
        is None
    )


def test_the_children_of_the_items_of_a_batch_are_listed_from_an_item_on(store):
    items = [ItemKey(KEY, 7 + index) for index in (0, 3, 99)]
    ids = [str(ItemId(KEY.batch_id, GROUP, item.position - 7)) for item in items]
    batches = [replace(child(20 + number), parent_item_id=item) for number, item in enumerate(ids)]
    for batch in batches:
        store.create(batch)
    rows = [
        (item.position, Children(frozenset({batch.batch_id})))
        for item, batch in zip(items, batches, strict=True)
    ]

    assert list(store.children_from(KEY, 0, 10)) == rows
    assert list(store.children_from(KEY, 0, 2)) == rows[:2]
    assert list(store.children_from(KEY, items[1].position + 1, 10)) == rows[2:]
    assert list(store.children_from(A.key, 0, 10)) == []


def test_a_cancelled_batch_is_marked_once_to_be_cancelled_with_its_children(store):
    store.create(A), store.create(B), store.create(C)
    alone, both = (
        transition(A, State.CANCELLED, NOW, reason="no", children=children) for children in (False, True)
    )

    assert store.transition(A.key, both) == both.apply(A)
    assert store.transition(B.key, alone) == alone.apply(B)
    assert store.cancel_children(B.key, NOW) == replace(
        alone.apply(B), cancels_children=True, next_check_at=NOW
    )
    assert store.cancel_children(B.key, NOW + HOUR) == store.get(B.key)
    assert store.cancel_children(C.key, NOW) == C
    unexplained = transition(C, State.CANCELLED, NOW, children=True)
    assert store.transition(C.key, unexplained) == unexplained.apply(C)
    assert list(store.due(shard_of(B.batch_id), False, NOW)) == [B.key]
