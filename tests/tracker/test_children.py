"""Which items take a child, and a child's end is an item of its parent."""

from __future__ import annotations

import pytest

from fanin.errors import Conflict, InvalidRequest
from fanin.tracker import Mode, OpenBatch, State
from fanin.tracker.batch_changes.reopening import ReopenBatch
from tests.tracker.calls import HOUR, ack, fail, opened


@pytest.fixture
def parent(tracker):
    """A closed batch of one item, and the item's id."""
    batch_id, group = opened(tracker, 1)
    tracker.close("t", batch_id, "closer")
    return batch_id, f"{batch_id}:{group}:0"


def child(tracker, item, **options):
    """Open a child of an item that has one item itself, and close it; return its id and its group."""
    batch_id, group = opened(tracker, 1, parent_item_id=item, **options)
    tracker.close("t", batch_id, "closer")
    return batch_id, group


def result(tracker, batch_id):
    return tracker.get("t", batch_id).result


def opens_none(tracker, item, sentence):
    with pytest.raises(Conflict, match=sentence):
        tracker.open("t", OpenBatch(parent_item_id=item))


@pytest.mark.parametrize("end", [State.CANCELLED, State.COMPLETE, State.FAILED, State.TIMED_OUT])
def test_an_item_of_an_ended_batch_takes_no_child(tracker, clock, end):
    batch_id, group = opened(tracker, 1, deadline=HOUR)
    if end is State.CANCELLED:
        tracker.cancel("t", batch_id)
    elif end is State.FAILED:
        tracker.end("t", batch_id, "enough", "me")
    elif end is State.TIMED_OUT:
        clock.at += HOUR
    else:
        ack(tracker, batch_id, group, 0)
        tracker.close("t", batch_id, "closer")

    opens_none(tracker, f"{batch_id}:{group}:0", f"batch {batch_id} is {end}, so its items take no child")


def test_a_child_is_reopened_without_its_parent_when_that_has_ended_or_the_item_is_done(tracker, parent):
    only = child(tracker, parent[1], parent_fails_on="any")
    fail(tracker, *only, 0)
    assert result(tracker, parent[0]) == "completed_with_failures"

    assert tracker.reopen("t", ReopenBatch(origin_batch_id=only[0]), "me").parent_item_id is None


def test_an_item_that_is_done_takes_no_child_and_a_failed_one_does(tracker):
    batch_id, group = opened(tracker, 3)
    ack(tracker, batch_id, group, 1)
    fail(tracker, batch_id, group, 2)

    opens_none(tracker, f"{batch_id}:{group}:1", "is done and takes no child")
    assert tracker.open("t", OpenBatch(parent_item_id=f"{batch_id}:{group}:2"))


def test_a_parent_that_is_no_item_of_the_tenants_is_refused(tracker):
    parent, group = opened(tracker, 3)

    for item in (f"{parent}:{group}:3", f"{parent}:{parent}:0", "nonsense"):
        with pytest.raises(InvalidRequest):
            tracker.open("t", OpenBatch(parent_item_id=item))
    with pytest.raises(InvalidRequest):
        tracker.open("other", OpenBatch(parent_item_id=f"{parent}:{group}:0"))


def test_an_estimated_batch_is_no_parent(tracker):
    """The end of a child may ack its item of the parent more than once, and each ack would count."""
    parent, group = opened(tracker, 3, mode=Mode.ESTIMATED)

    with pytest.raises(InvalidRequest, match="estimated"):
        tracker.open("t", OpenBatch(parent_item_id=f"{parent}:{group}:0"))


def test_one_request_ends_sixteen_batches_above_the_one_that_it_acks(tracker):
    chain = [opened(tracker, 1)]
    for _ in range(16 + 1):
        batch_id, group = chain[-1]
        chain.append(opened(tracker, 1, parent_item_id=f"{batch_id}:{group}:0"))
    for batch_id, _ in chain:
        tracker.close("t", batch_id, "closer")
    ack(tracker, *chain[-1], 0)
    states = [tracker.get("t", batch_id).state for batch_id, _ in chain]

    assert states == [State.CLOSED] + [State.COMPLETE] * (16 + 1)


ENDS = {
    "succeeded": ack,
    "completed_with_failures": fail,
    "cancelled": lambda tracker, batch_id, *_: tracker.cancel("t", batch_id),
    "forced": lambda tracker, batch_id, *_: tracker.end("t", batch_id, "enough", "me"),
}
FAILING_ENDS = {
    "any": {"completed_with_failures", "cancelled", "forced"},
    "failed": {"cancelled", "forced"},
    "never": set(),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("policy", FAILING_ENDS)
def test_the_option_of_a_child_says_which_of_its_ends_fails_the_item(tracker, parent, policy, end):
    only = child(tracker, parent[1], parent_fails_on=policy)
    ENDS[end](tracker, *only, 0)

    fails = end in FAILING_ENDS[policy]
    assert result(tracker, only[0]) == end
    assert result(tracker, parent[0]) == ("completed_with_failures" if fails else "succeeded")


def test_a_child_within_its_own_limits_acks_its_item_and_one_beyond_them_fails_it(tracker):
    batch_id, group = opened(tracker, 2)
    within, beyond = (
        opened(tracker, 10, parent_item_id=f"{batch_id}:{group}:{number}", max_failures=2)
        for number in (0, 1)
    )
    for each, failures in ((within, 1), (beyond, 2)):
        tracker.close("t", each[0], "closer")
        fail(tracker, *each, *range(failures))
        ack(tracker, *each, *range(failures, 10))

    assert result(tracker, within[0]) == "completed_with_failures"
    assert result(tracker, beyond[0]) == "too_many_failures"
    assert tracker.get("t", batch_id).failed == 1


def test_parent_fails_on_without_a_parent_is_refused():
    with pytest.raises(InvalidRequest, match="parentFailsOn is for a batch with a parentItemId"):
        OpenBatch(parent_fails_on="any")


REQUESTS = {
    "close": (lambda tracker, child: tracker.close("t", child, "closer"), "succeeded"),
    "cancel": (lambda tracker, child: tracker.cancel("t", child), "completed_with_failures"),
    "end": (lambda tracker, child: tracker.end("t", child, "stuck", "a person"), "completed_with_failures"),
}


@pytest.mark.parametrize("end", REQUESTS)
def test_the_request_that_ends_a_child_acks_the_item_of_its_parent(tracker, end):
    act, result = REQUESTS[end]
    parent, items = opened(tracker, 1)
    tracker.close("t", parent, "closer")
    child, group = opened(tracker, 1, parent_item_id=f"{parent}:{items}:0")
    ack(tracker, child, group, 0)
    act(tracker, child)

    assert tracker.get("t", parent).result == result


def test_the_live_children_of_an_item_come_first_then_the_failed_and_the_done_on_request(tracker, parent):
    succeeded, failed, live = (child(tracker, parent[1]) for _ in range(3))
    ack(tracker, *succeeded, 0)
    fail(tracker, *failed, 0)
    batch = tracker.get("t", parent[0])
    found = [
        [each.batch_id for each in tracker.children(batch, done=succeeded).batches]
        for succeeded in (False, True)
    ]

    assert found[1][:1] == found[0][:1] == [live[0]]
    assert (succeeded[0] in found[0], succeeded[0] in found[1]) == (False, True)
