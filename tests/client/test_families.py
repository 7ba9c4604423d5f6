"""The batches below a batch: which are listed, and that a cancel can end them all."""

from __future__ import annotations

import asyncio

import pytest

from fanin import AsyncFanin, InvalidRequest
from fanin.testing import FakeFanin
from fanin.tracker import ItemId


@pytest.fixture
def top(fanin):
    """A closed batch of three items: two children of the first, one of the second; the third has none."""
    with fanin.open("top") as batch:
        batch.items = batch.add(3)
    batch.below = [fanin.open(f"child {n}", parent=batch.items[n // 2]) for n in range(3)]
    return batch


def listed(found):
    return sorted((child.user_key, child.parent_item_id, child.state) for child in found)


def test_the_children_of_a_batch_and_of_an_item_are_listed_with_their_items(fanin, top):
    names = [(f"child {n}", top.items[n // 2], "OPEN") for n in range(3)]

    assert listed(top.children()) == names
    assert listed(fanin.children(top.items[0])) == names[:2]
    assert listed(fanin.children(ItemId.parse(top.items[1]))) == names[2:]
    assert listed(fanin.children(top.items[2])) == []


def test_a_child_that_acked_its_item_is_not_listed_and_one_that_failed_it_is(fanin, top):
    first, second, third = top.below
    second.close()
    first.cancel()
    third.close()

    assert [(child.user_key, child.result) for child in top.children()] == [("child 0", "cancelled")]


@pytest.mark.parametrize("is_fake", [False, True])
def test_the_children_that_did_not_fail_their_item_are_listed_when_they_are_asked_for(fanin, is_fake):
    used = FakeFanin() if is_fake else fanin
    with used.open() as top:
        first, second = top.add(2)
    used.open("live", parent=first)
    used.open("done", parent=first).close()
    used.open("ignored", parent=first, parent_fails_on="never").cancel()
    used.open("other", parent=second).close()

    async def awaited():
        return [child async for child in AsyncFanin(used).children(top.id, done=True)]

    every = ["done", "ignored", "live", "other"]
    assert keys(top.children()) == ["live"]
    assert keys(top.children(done=True)) == keys(asyncio.run(awaited())) == every
    assert keys(used.children(first, done=True)) == every[:3]


def keys(found):
    return sorted(child.user_key for child in found)


def test_a_cancel_with_the_children_ends_them(fanin, top):
    (item,) = top.below[0].add(1)
    grandchild = fanin.open("grandchild", parent=item)
    answer = top.cancel("no more", children=True)

    assert (answer.state, answer.reason, answer.cancels_children) == ("CANCELLED", "no more", True)
    assert {batch.status().state for batch in (*top.below, grandchild)} == {"CANCELLED"}
    assert top.status().cancels_children
    assert top.below[0].status().reason == f"batch {top.id} was cancelled"


def test_a_cancel_without_them_leaves_them(fanin, top):
    assert not top.cancel().cancels_children
    assert {batch.status().state for batch in top.below} == {"OPEN"}


@pytest.mark.parametrize(("policy", "failed"), [("any", 1), ("failed", 0), ("never", 0)])
def test_a_child_states_which_of_its_ends_fails_the_item(fanin, policy, failed):
    with fanin.open() as top:
        (item,) = top.add(1)
    with fanin.open(parent=item, parent_fails_on=policy) as child:
        fanin.fail(child.add(1))

    assert child.status().parent_fails_on == policy
    assert (top.status().acked, top.status().failed) == (1, failed)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [({"parent_fails_on": "any"}, "parent"), ({"parent_fails_on": "sometimes"}, "parent_fails_on")],
)
def test_a_policy_that_fits_no_batch_is_refused(fanin, arguments, refused):
    with pytest.raises(InvalidRequest, match=refused):
        fanin.open(**arguments)


@pytest.mark.parametrize("of", ["no id", 7, None])
def test_what_is_neither_a_batch_nor_an_item_has_no_children(fanin, of):
    with pytest.raises(InvalidRequest):
        list(fanin.children(of))


def test_a_cancel_takes_true_or_false(top):
    with pytest.raises(InvalidRequest, match="children is a bool"):
        top.cancel(children="yes")
