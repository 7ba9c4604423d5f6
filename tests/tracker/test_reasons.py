"""Reasons of failures: their form, which are kept, and that of a healed item is removed."""

from __future__ import annotations

import json

import pytest

from fanin.api.messages import ack_of
from fanin.api.requests.batch_requests import CancelBatchBody
from fanin.errors import InvalidRequest
from fanin.tracker import Ack, Outcome, Tracker
from fanin.tracker.batch_changes import recording
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.failure_reasons import SAMPLES, slots_of
from fanin.tracker.rules.model import BatchKey, is_reason
from tests.tracker.calls import DAY, START, ack, fail, opened, verdicts

ITEM = "00000000-0000-4000-8000-000000000001:00000000-0000-4000-8000-000000000002:0"
EDGES = [0x0, 0x9, 0xA, 0x1F, 0x20, 0x7E, 0x7F, 0x85, 0x9F, 0xA0, 0x2028, 0x1F388]
TEXTS = ["", "x" * 512, "x" * 513, "x\n", *(f"a{chr(code)}b" for code in EDGES)]


def is_body(text: str) -> bool:
    try:
        return CancelBatchBody(reason=text).reason == text
    except ValueError:
        return False


def is_message(text: str) -> bool:
    body = json.dumps({"itemId": ITEM, "outcome": "failure", "reason": text})
    try:
        return ack_of({"body": body, "messageId": "m"}).reason == text
    except InvalidRequest:
        return False


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_bodies_and_messages_take_the_same_reasons(text: str) -> None:
    assert is_body(text) == is_message(text) == is_reason(text)


def test_control_characters_and_long_texts_are_no_reasons() -> None:
    assert [code for code in EDGES if is_reason(f"a{chr(code)}b")] == [0x20, 0x7E, 0xA0, 0x2028, 0x1F388]
    assert [is_reason(text) for text in TEXTS[:4]] == [False, True, False, False]


def kept(tracker, batch_id):
    """The indexes of the items whose reasons are stored."""
    samples = tracker.store.samples(BatchKey("t", batch_id))
    return sorted(int(sample.item_id.rsplit(":")[-1]) for sample in samples)


def test_the_slots_of_healed_items_are_free_for_other_failures():
    tracker = Tracker(MemoryStore(), pause=lambda _: None)
    batch_id, group = opened(tracker, 10_000)
    for first in range(0, 5_000, 50):
        fail(tracker, batch_id, group, *range(first, first + 50))
    full = kept(tracker, batch_id)
    assert len(full) == SAMPLES
    for first in range(0, 5_000, 50):
        ack(tracker, batch_id, group, *range(first, first + 50))
    assert kept(tracker, batch_id) == []
    for first in range(5_000, 10_000, 50):
        fail(tracker, batch_id, group, *range(first, first + 50))

    assert len(kept(tracker, batch_id)) == SAMPLES


def test_a_request_looks_for_a_bounded_number_of_reasons(monkeypatch):
    monkeypatch.setattr(recording, "OFFERS_A_REQUEST", 3)
    tracker = Tracker(MemoryStore(), pause=lambda _: None)
    batch_id, group = opened(tracker, 100)
    for index in range(8):
        fail(tracker, batch_id, group, index)
    tracker.ack("t", [Ack(batch_id, group, 0, 99, "me")])

    assert kept(tracker, batch_id) == [3, 4, 5, 6, 7]
    assert tracker.samples(tracker.get("t", batch_id)) == []


@pytest.mark.parametrize(("outcome", "reason"), [(Outcome.FAILURE, None), (Outcome.SUCCESS, "by hand")])
def test_an_ack_without_a_reason_or_a_failure_keeps_none(tracker, outcome, reason):
    batch_id, group = opened(tracker, 4)
    ack(tracker, batch_id, group, 0, 1, outcome=outcome, reason=reason)

    assert kept(tracker, batch_id) == []


def test_a_reason_is_not_kept_once_its_slots_are_blocked(tracker):
    """The batch is being deleted: the failure counts all the same."""
    batch_id, group = opened(tracker, 4)
    tracker.store.block_samples(BatchKey("t", batch_id), slots_of(f"{batch_id}:{group}:2"), START + DAY)

    assert verdicts(fail(tracker, batch_id, group, 2)) == ["accepted"]
    assert kept(tracker, batch_id) == []


@pytest.mark.parametrize(
    ("item", "slots"),
    [("item", [77, 78, 79, 80]), ("another", [72, 73, 74, 75]), ("item-666", [126, 127, 0, 1])],
)
def test_the_slots_of_an_item_are_those_of_the_rows_that_are_stored(item, slots):
    assert slots_of(item) == slots
