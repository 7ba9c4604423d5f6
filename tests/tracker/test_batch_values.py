"""Facts, options and filters of batches, at their bounds and on both sides of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest
from fanin.tracker import OpenBatch, Outcome, State
from fanin.tracker.rules.children import Children, has_failed, parent_ack
from fanin.tracker.rules.filters import BatchFilter
from fanin.tracker.rules.options import ParentFailsOn, Retention, Threshold
from fanin.tracker.rules.thresholds import is_enough, may_be_enough
from tests.tracker.calls import DAY, START
from tests.tracker.stored import BATCH, ID, MINUTE, SECOND, TICK


@pytest.mark.parametrize(
    ("facts", "limit"),
    [
        ({}, None),
        ({"max_failures": 3}, 3),
        ({"max_failure_percent": 25}, 3),
        ({"max_failure_percent": 20}, 2),
        ({"max_failure_percent": 0}, 1),
        ({"max_failure_percent": 10, "total": 10_000}, 1000),
        ({"max_failure_percent": 25, "total": 0}, 1),
        ({"max_failure_percent": 25, "state": State.OPEN}, None),
        ({"max_failure_percent": 25, "max_failures": 2}, 2),
        ({"max_failure_percent": 10, "max_failures": 2}, 1),
        ({"max_failure_percent": 10, "max_failures": 2, "state": State.OPEN}, 2),
    ],
)
def test_the_failures_that_end_a_batch(facts, limit):
    batch = replace(BATCH, **facts)

    assert batch.failure_limit == limit
    assert batch.may_fail is bool({"max_failures", "max_failure_percent"} & facts.keys())


@pytest.mark.parametrize(
    ("facts", "limit"),
    [
        ({}, None),
        ({"min_succeeded": 3}, 3),
        ({"min_succeeded_percent": 25}, 3),
        ({"min_succeeded_percent": 20}, 2),
        ({"min_succeeded_percent": 1, "total": 0}, 1),
        ({"min_succeeded_percent": 25, "state": State.OPEN}, None),
        ({"min_succeeded_percent": 25, "min_succeeded": 2}, 2),
        ({"min_succeeded_percent": 10, "min_succeeded": 2}, 1),
        ({"min_succeeded_percent": 10, "min_succeeded": 2, "state": State.OPEN}, 2),
    ],
)
def test_the_successes_that_end_a_batch(facts, limit):
    batch = replace(BATCH, **facts)

    assert batch.success_limit == limit
    assert [is_enough(batch, count) for count in (limit or 10, (limit or 10) - 1)] == [
        limit is not None,
        False,
    ]


@pytest.mark.parametrize(
    ("facts", "result"),
    [
        ({}, None),
        ({"state": State.OPEN, "failed": 1}, None),
        ({"state": State.COMPLETE}, "succeeded"),
        ({"state": State.COMPLETE, "failed": 1}, "completed_with_failures"),
        ({"state": State.FAILED}, "too_many_failures"),
        ({"state": State.FAILED, "ended_by": "who"}, "forced"),
        ({"state": State.CANCELLED, "failed": 1}, "cancelled"),
        ({"state": State.TIMED_OUT}, "timed_out"),
    ],
)
def test_the_result_of_a_batch_and_the_ack_of_its_parent(facts, result):
    batch = replace(BATCH, parent_item_id=f"{ID}:{ID}:7", parent_fails_on=ParentFailsOn.ANY, **facts)
    children = Children(frozenset({ID})).after_end(ID, has_failed(batch))
    ack = parent_ack(batch, children, batch.result)

    assert (batch.result, batch.is_alive) == (result, result is None)
    assert has_failed(batch) is (result not in (None, "succeeded"))
    assert (ack.first, ack.last, ack.caller) == (7, 7, f"batch:{ID}")
    assert ack.outcome is (Outcome.FAILURE if has_failed(batch) else Outcome.SUCCESS)
    assert ack.reason == (f"batch {ID} {result}" if has_failed(batch) else None)


@pytest.mark.parametrize(
    ("live", "failed", "replaced", "admitted"),
    [
        (1, 0, "", True),
        (99, 99, "", True),
        (100, 0, "", False),
        (1, 100, "", False),
        (0, 1, "f0", True),
        (0, 1, "other", False),
        (0, 0, "", False),
    ],
)
def test_an_item_takes_a_child_beside_a_live_one_or_in_the_place_of_a_failed_one(
    live, failed, replaced, admitted
):
    children = Children(frozenset(f"l{n}" for n in range(live)), frozenset(f"f{n}" for n in range(failed)))

    assert children.admits([replaced]) is admitted
    assert children.with_child("new", ["f0"]).failed == children.failed - {"f0"}
    assert children.named_failure("l0") == ("f0" if failed else None)
    assert children.named_failure(f"f{failed - 1}") == (f"f{failed - 1}" if failed else None)


@pytest.mark.parametrize(
    ("given", "reads"),
    [
        ({}, False),
        ({"user_key": "a", "opened_from": START}, False),
        ({"state": State.OPEN}, True),
        ({"label": "a:b"}, True),
        ({"user_key_prefix": "a"}, True),
    ],
)
def test_only_some_filters_read_the_rows(given, reads):
    assert BatchFilter(**given).reads_rows is reads


@pytest.mark.parametrize(
    "given",
    [
        {"user_key": "a", "user_key_prefix": "a"},
        {"opened_from": START, "opened_to": START},
        {"opened_from": START + TICK, "opened_to": START},
        {"user_key": "x" * 257},
        {"user_key_prefix": "\n"},
        {"label": "a"},
        {"label": "x" * 65 + ":a"},
    ],
)
def test_a_filter_that_no_batch_can_pass_is_refused(given):
    with pytest.raises(InvalidRequest):
        BatchFilter(**given)


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ({"labels": {str(n): "" for n in range(10)}}, {"labels": {str(n): "" for n in range(11)}}),
        ({"labels": {}}, {"labels": {1: ""}}),
        ({"labels": {}}, {"labels": {"a": 1}}),
        ({"labels": {"k" * 64: "v" * 256}}, {"labels": {"k" * 65: ""}}),
        ({"labels": {}}, {"labels": {"k": "v" * 257}}),
        ({"labels": {"b": "1", "a": "2"}}, {"labels": [("a", "b")]}),
        ({"user_key": "x" * 256}, {"user_key": "x" * 257}),
        ({"user_key": "x"}, {"user_key": ""}),
        ({"stuck_after": MINUTE}, {"stuck_after": MINUTE - SECOND}),
        ({"stuck_after": 366 * DAY}, {"stuck_after": 366 * DAY + SECOND}),
        ({"stuck_after": 61 * SECOND}, {"stuck_after": MINUTE + TICK}),
        ({"callback": "x" * 64}, {"callback": "x" * 65}),
        ({}, {"callback": 5}),
        ({}, {"notify_at": 5}),
        ({}, {"stuck_after": 90.5}),
        ({"retention": None}, {"retention": DAY}),
        ({"notify_at": ("90%", "50%", "90%")}, {"notify_at": ("stuck",)}),
        ({"notify_at": ()}, {"notify_at": "50%"}),
    ],
)
def test_the_options_of_a_batch_are_accepted_up_to_their_bounds(accepted, refused):
    spec = OpenBatch(**accepted)
    with pytest.raises(InvalidRequest):
        OpenBatch(**refused)

    assert list(spec.labels) == sorted(spec.labels)
    assert spec.notify_at in ((), (Threshold.HALF, Threshold.MOST))


@pytest.mark.parametrize(
    "kept", [timedelta(seconds=59), timedelta(days=366, seconds=1), timedelta(minutes=1, microseconds=1)]
)
@pytest.mark.parametrize("stage", ["open", "closed", "complete"])
def test_a_retention_is_whole_seconds_from_a_minute_to_366_days(stage, kept):
    assert Retention(**{stage: timedelta(minutes=1)})
    with pytest.raises(InvalidRequest):
        Retention(**{stage: kept})


def test_retentions_add_up_to_400_days():
    assert Retention() == Retention(7 * DAY, 14 * DAY, 7 * DAY)
    assert Retention(100 * DAY, 200 * DAY, 100 * DAY)
    for more in ((101, 200, 100), (100, 201, 100), (100, 200, 101)):
        with pytest.raises(InvalidRequest):
            Retention(*(days * DAY for days in more))
    with pytest.raises(InvalidRequest):
        Retention(1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "succeeded", "may_be"),
    [
        ({}, 10, False),
        ({"min_succeeded": 3}, 2, False),
        ({"min_succeeded": 3}, 3, True),
        ({"min_succeeded_percent": 10}, 0, False),
        ({"min_succeeded_percent": 10}, 1, True),
        ({"min_succeeded_percent": 25}, 2, False),
        ({"min_succeeded_percent": 20}, 2, True),
        ({"min_succeeded_percent": 20, "state": State.OPEN}, 2, True),
        ({"min_succeeded_percent": 20, "total": 0}, 0, False),
    ],
)
def test_successes_may_be_enough_for_a_batch_that_may_have_been_closed_since(facts, succeeded, may_be):
    assert may_be_enough(replace(BATCH, **facts), succeeded) is may_be


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (MINUTE + TICK, "stuckAfterSeconds takes whole seconds, not"),
        (TICK, "stuckAfterSeconds goes from a minute"),
        ("soon", "stuckAfterSeconds goes from a minute"),
    ],
)
def test_a_refused_duration_is_answered_with_what_is_wrong_about_it(given, text):
    with pytest.raises(InvalidRequest, match=text):
        OpenBatch(stuck_after=given)
