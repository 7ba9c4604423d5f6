"""The child of an item: a repeated call of the function goes on with it, and never makes a loop."""

from __future__ import annotations

import pytest

from fanin import KeyReused, StoreUnavailable
from tests.client.conftest import lost_after, sqs_event
from tests.client.received import DELETED, RETURNED, acked, delivered


def test_a_block_that_raises_leaves_the_child_open_until_the_last_attempt(fanin, parent, caplog):
    children = []

    def grow(record):
        with fanin.open(parent=record["body"]) as child:
            children.append(child)
            raise ValueError("no")

    assert delivered(fanin, parent.items[0], grow, 1, fail_after=2) == RETURNED
    assert children[0].status().state == "OPEN"
    assert delivered(fanin, parent.items[0], grow, 2, fail_after=2) == DELETED
    assert (children[0].id, children[1].status().state) == (children[1].id, "CANCELLED")
    assert acked(parent) == (1, 1)


def test_a_second_child_in_one_call_needs_a_key_of_its_own(fanin, parent, caplog):
    def grow(record):
        fanin.open(parent=record["body"])
        fanin.open(parent=record["body"], key="another")
        fanin.open(parent=record["body"])

    assert delivered(fanin, parent.items[0], grow) == RETURNED
    assert "has its child batch" in caplog.text


def test_other_options_at_the_next_attempt_are_refused_with_a_sentence(fanin, parent):
    names, refusals = ["first", "second"], []

    def grow(record):
        try:
            fanin.open(names.pop(0), parent=record["body"])
        except KeyReused as error:
            refusals.append(str(error))
        raise ValueError("again")

    delivered(fanin, parent.items[0], grow)
    delivered(fanin, parent.items[0], grow, 2)

    assert len(refusals) == 1
    assert "opened with other options at an earlier attempt" in refusals[0]


def test_a_lost_answer_of_open_returns_the_message_if_its_function_returns(over_http, service):
    batch = over_http.open()
    item = batch.add(1)[0]

    def grow(record):
        service.faults += [lost_after] * 5
        try:
            over_http.open(parent=record["body"])
        except StoreUnavailable:
            return

    assert delivered(over_http, item, grow) == RETURNED
    assert acked(batch) == (0, 0)


def test_an_ancestor_cannot_become_the_child_of_an_item_of_its_descendant(fanin):
    with fanin.open("ancestor", key="A") as ancestor:
        (first,) = ancestor.add(1, key="one")
    with fanin.open("child", parent=first, key="B") as child:
        (second,) = child.add(1, key="one")
    refusals = []

    @fanin.acks
    def close_the_loop(record):
        for key in ("A", "B"):
            with pytest.raises(KeyReused, match="with other settings") as refusal:
                fanin.open("ancestor", parent=record["body"], key=key)
            refusals.append(refusal)
        raise ValueError("refused")

    assert close_the_loop(sqs_event(second), None) == RETURNED
    assert len(refusals) == 2
    fanin.ack([second])
    assert ancestor.status().result == "succeeded"
