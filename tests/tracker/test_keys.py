"""What an open has: its idempotency key and its task token, and what they stand for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest

from fanin.errors import InvalidRequest, KeyReused, StoreUnavailable
from fanin.tracker import OpenBatch, Retention
from fanin.tracker.batch_changes.opening import under_key
from fanin.tracker.rules.options import CALLBACK_ID_MAX, TOKEN_MAX, OnFailures, TaskToken, TokenKind
from tests.tracker.calls import DAY, HOUR, opened
from tests.tracker.stored import BATCH, ID


def test_a_repeated_open_is_answered_when_its_parent_is_gone(tracker, clock):
    """Only a new batch needs a parent that is there."""
    parent, group = opened(tracker, 1, retention=Retention(open=HOUR))
    spec = OpenBatch(parent_item_id=f"{parent}:{group}:0", deadline=DAY)
    child = tracker.open("t", spec, key="retried")
    clock.at += 2 * HOUR

    assert tracker.open("t", spec, key="retried") == child
    with pytest.raises(KeyReused, match=r"\(user key\)"):
        tracker.open("t", replace(spec, user_key="other"), key="retried")
    with pytest.raises(InvalidRequest, match="is of a batch that has expired"):
        tracker.open("t", spec, key="another")


@pytest.mark.parametrize(
    ("options", "fingerprinted"),
    [
        ({}, ""),
        (
            {"max_failures": 3, "user_key": "a", "deadline": HOUR, "expected_items": 0},
            "user_key='a', expected_items=0, max_failures=3, deadline=datetime.timedelta(seconds=3600)",
        ),
    ],
)
def test_a_fingerprint_is_of_the_options_that_are_given(tracker, options, fingerprinted):
    """So it stays the same in a release that has another option."""
    digest = sha256(f"OpenBatch({fingerprinted})".encode()).hexdigest()

    assert tracker.open("t", OpenBatch(**options)).fingerprint == digest


class Raced:
    """Creates a batch whose key others take first, *lost* times, with batches that are over by then."""

    def __init__(self, lost):
        self.lost, self.over = lost, []

    def create(self, over):
        self.over.append(over)
        return BATCH, f"theirs {len(self.over)}" if len(self.over) <= self.lost else ID


@pytest.mark.parametrize("lost", [0, 1, 9])
def test_an_open_has_ten_attempts_to_take_its_key(lost):
    race = Raced(lost)

    assert under_key(None, lambda _: None, race.create) == (BATCH, True)
    assert race.over == [None, *(f"theirs {number}" for number in range(1, lost + 1))]


def test_after_ten_attempts_the_caller_is_asked_to_repeat_the_request():
    race = Raced(10)
    with pytest.raises(StoreUnavailable, match="repeat the request"):
        under_key(None, lambda _: None, race.create)

    assert len(race.over) == 10


def test_a_key_is_found_in_few_requests_however_many_of_its_batches_are_over(tracker, clock):
    for _ in range(40):
        tracker.open("t", OpenBatch(retention=Retention(open=HOUR)), key="hourly")
        clock.at += HOUR
    tracker.store.reset()
    tracker.open("t", OpenBatch(), key="hourly")

    assert tracker.store.calls.total() <= 4


HOUR = timedelta(hours=1)
TOKEN = "AQCEAAAAKgAAAAMAAAAA/+="


@pytest.mark.parametrize("token", ["", "x" * (TOKEN_MAX + 1), "a b", "a\n", "ä", 7])
def test_a_token_out_of_bounds_is_refused_without_repeating_it(token):
    with pytest.raises(InvalidRequest) as refused:
        OpenBatch(task_token=token, deadline=HOUR)

    assert refused.value.field == "taskToken"
    for accepted in ("x", "x" * TOKEN_MAX):
        assert OpenBatch(task_token=accepted, deadline=HOUR).token == TaskToken(accepted)
    assert not token or str(token) not in str(refused.value).replace("2048", "")


@pytest.mark.parametrize(
    "callback_id", ["", "x" * (CALLBACK_ID_MAX + 1), "a b", "a\n", "a===", "=", "a-b", 7]
)
def test_a_callback_id_is_what_lambda_takes(callback_id):
    with pytest.raises(InvalidRequest) as refused:
        OpenBatch(durable_callback_id=callback_id, deadline=HOUR)

    assert refused.value.field == "durableCallbackId"
    for accepted in ("x", "x" * (CALLBACK_ID_MAX - 2) + "=="):
        token = OpenBatch(durable_callback_id=accepted, deadline=HOUR, on_failures="fail").token
        assert token == TaskToken(accepted, OnFailures.FAIL, TokenKind.CALLBACK)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"task_token": TOKEN}, "deadlineSeconds"),
        ({"durable_callback_id": TOKEN}, "deadlineSeconds"),
        ({"durable_callback_id": TOKEN, "task_token": TOKEN, "deadline": HOUR}, "durableCallbackId"),
        ({"on_failures": OnFailures.FAIL, "deadline": HOUR}, "onFailures"),
    ],
)
def test_a_token_needs_a_deadline_and_only_with_one_is_it_said_how_failures_count(options, field):
    with pytest.raises(InvalidRequest) as refused:
        OpenBatch(**options)

    assert refused.value.field == field


def test_no_text_of_a_request_or_of_a_batch_has_the_token(tracker):
    request = OpenBatch(task_token=TOKEN, deadline=HOUR)
    batch = tracker.open("t", request, key="k")

    assert TOKEN not in repr(request) + repr(request.token) + repr(batch)


def test_a_second_open_of_a_key_is_the_same_request_only_with_the_same_token(tracker):
    first = tracker.open("t", OpenBatch(task_token=TOKEN, deadline=HOUR), key="k")

    assert tracker.open("t", OpenBatch(task_token=TOKEN, deadline=HOUR), key="k") == first
    callback = OpenBatch(durable_callback_id=TOKEN, deadline=HOUR)
    for other in (OpenBatch(task_token="other", deadline=HOUR), OpenBatch(deadline=HOUR), callback):
        with pytest.raises(KeyReused):
            tracker.open("t", other, key="k")
