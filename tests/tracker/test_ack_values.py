"""The verdicts on acks, and the pages of a request."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fanin.errors import InvalidRequest
from fanin.tracker import Ack, Completion, Outcome, State, Verdict
from fanin.tracker.rules import acking as acks
from fanin.tracker.rules.acking import covers, judge, payload_of, plan, verdicts
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.page import PageMasks
from tests.tracker.calls import DAY, START
from tests.tracker.stored import BATCH, ID, TICK

FAILURE = Outcome.FAILURE


def group_of(start=0, upto=10, batch=BATCH):
    return str(GroupId.make(batch.salt, batch.batch_id, start, upto))


def ack(first_item, last_item, outcome=Outcome.SUCCESS, group=None, caller="me", batch=ID):
    return Ack(batch, group or group_of(), first_item, last_item, caller, outcome)


@pytest.mark.parametrize(
    ("facts", "given", "start", "verdict"),
    [
        ({}, ack(0, 9), 0, None),
        ({}, ack(0, 1, group=group_of(4, 2)), 4, None),
        ({}, ack(0, 10), 0, Verdict.OUT_OF_RANGE),
        ({"salt": b"other"}, ack(0, 1), 0, Verdict.NOT_FOUND),
        ({}, ack(0, 1, group=ID), 0, Verdict.NOT_FOUND),
        ({"expires_at": START}, ack(0, 1), 0, Verdict.EXPIRED),
        ({"expires_at": START + TICK}, ack(0, 1), 0, None),
        ({"state": State.EXPIRED}, ack(0, 1), 0, Verdict.EXPIRED),
        ({"deleted_at": START + DAY}, ack(0, 1), 0, Verdict.EXPIRED),
        ({"state": State.COMPLETE}, ack(0, 1), 0, None),
    ],
)
def test_an_ack_is_judged_by_its_group_its_range_and_the_batch(facts, given, start, verdict):
    assert judge(replace(BATCH, **facts), given, START) == (start, verdict)
    assert judge(None, given, START) == (0, Verdict.NOT_FOUND)


def test_the_verdicts_of_a_mask():
    assert verdicts(0b111, 0b001, 0b010, Verdict.LATE) == {
        Verdict.ACCEPTED: 1,
        Verdict.DUPLICATE: 1,
        Verdict.LATE: 1,
    }
    assert verdicts(0b110, 0b111, 0b111, Verdict.LATE) == {Verdict.ACCEPTED: 2}
    assert verdicts(0b110, 0, 0b101, Verdict.LATE) == {Verdict.DUPLICATE: 1, Verdict.LATE: 1}
    late = dict.fromkeys((State.COMPLETE, State.FAILED, State.TIMED_OUT), Verdict.LATE)
    ended = {State.CANCELLED: Verdict.CANCELLED, State.EXPIRED: Verdict.EXPIRED}
    assert late | ended == acks.TOO_LATE
    acked = acks.PageAcked(1, {})
    assert (acked.written, acked.failed, acked.healed) == (0, 0, 0)
    assert PageMasks(0b11, 0b110).failed == 0b100


def test_a_request_is_cut_into_a_page_for_each_outcome():
    fails = Outcome.FAILURE
    given = [ack(2, 5, caller="a"), ack(0, 2, caller="b"), ack(9, 9, fails), ack(3, 4, fails), ack(0, 99)]
    planned = plan(given, lambda _: BATCH, START)
    pages = {(page.number, page.outcome.value): page for page in planned.pages.values()}

    assert list(pages) == [(0, "success"), (1, "success"), (2, "failure"), (0, "failure"), (1, "failure")]
    assert [page.outcome.value for page in planned.in_order()] == ["success"] * 2 + ["failure"] * 3
    first_page = pages[0, "success"]
    assert (first_page.mask, first_page.size, first_page.caller) == (0b1111, 5, "a")
    assert first_page.callers == {"a", "b"}
    for caller, is_completion in [("a", True), ("me", True), ("closer", False), (None, False)]:
        over = replace(BATCH, state=State.COMPLETE, completed_by=caller)
        assert planned.completions([over]) == ((Completion(over, caller),) if is_completion else ())
    assert planned.refused[4] == Counter({Verdict.OUT_OF_RANGE: 100})
    assert planned.batches() == [BATCH]
    planned.settle(first_page, 0b0111, 0b1000, Verdict.LATE)
    assert [dict(result.counts) for result in planned.results()] == [
        {Verdict.ACCEPTED: 1, Verdict.DUPLICATE: 1},
        {Verdict.ACCEPTED: 2, Verdict.DUPLICATE: 1},
        {},
        {},
        {Verdict.OUT_OF_RANGE: 100},
    ]


@pytest.mark.parametrize(
    ("pages", "covered"),
    [
        ({0: 0b1111, 2: 0b11}, True),
        ({2: 0b111}, False),
        ({3: 1}, False),
        ({-1: 1}, False),
        ({0: 0b10000}, False),
        ({0: 0b1, 3: 1}, False),
    ],
)
def test_folded_pages_are_covered_by_the_items_of_the_batch(pages, covered):
    assert covers(BATCH, {number: PageMasks(mask) for number, mask in pages.items()}) is covered


@pytest.mark.parametrize(("first_item", "last_item"), [(-1, 0), (2, 1)])
def test_an_ack_goes_from_a_smaller_index_to_a_larger_one(first_item, last_item):
    assert ack(0, 0).size == 1
    with pytest.raises(InvalidRequest):
        ack(first_item, last_item)


@pytest.mark.parametrize(
    "change",
    [{"batch_id": "b"}, {"group_id": "g"}, {"first": 1}, {"last": 5}, {"outcome": FAILURE}, {"reason": "no"}],
    ids=str,
)
def test_the_payload_of_a_key_has_each_fact_of_an_ack_and_neither_callers_nor_an_order(change):
    one, other = ack(0, 4), ack(6, 7)

    assert payload_of([one, other]) == payload_of([replace(other, caller="b"), one])
    assert payload_of([replace(one, **change), other]) != payload_of([one, other])


def test_the_payload_of_a_key_has_the_result_of_an_item():
    results = [replace(ack(0, 0), result=result) for result in (None, "1", "2")]

    assert len({payload_of([each]) for each in results}) == 3
