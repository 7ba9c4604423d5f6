"""A batch with a task token: what open accepts, stores and shows."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest, KeyReused
from fanin.tracker import OpenBatch
from fanin.tracker.rules.options import TOKEN_MAX, OnFailures, TaskToken

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
    ("options", "field"),
    [
        ({"task_token": TOKEN}, "deadlineSeconds"),
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
    for other in (OpenBatch(task_token="other", deadline=HOUR), OpenBatch(deadline=HOUR)):
        with pytest.raises(KeyReused):
            tracker.open("t", other, key="k")
