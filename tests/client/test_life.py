"""Failures, ends and lists as a user sees them, over each transport."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin import State
from fanin.aws.settings.settings_file import SettingsFile
from fanin.client.transports.transport import RANGED_A_REQUEST, ranged_requests_of
from fanin.tracker import Ack
from fanin.tracker.rules.options import OnFailures, TaskToken
from functions.wiring import deployed
from tests.client.received import received

UNKNOWN = "00000000-0000-4000-8000-00000000dead"


def test_a_task_token_is_stored_and_not_shown(fanin, tracker, monkeypatch):
    resumed = SettingsFile(resumed_state_machines=["arn:aws:states:eu-west-1:123456789012:stateMachine:s"])
    monkeypatch.setattr(deployed, "settings_file", lambda: resumed)
    batch = fanin.open(task_token="t0ken", on_failures="fail", deadline=timedelta(hours=1))

    (stored,) = tracker.store.tokens.values()
    assert stored == TaskToken("t0ken", OnFailures.FAIL)
    assert "t0ken" not in repr(batch.status())


def test_ranges_are_cut_and_packed_into_what_a_request_takes():
    def sizes(*spans):
        acks = [Ack(UNKNOWN, UNKNOWN, first, last, "c") for first, last in spans]
        return [[(part.first, part.last) for part in request] for request in ranged_requests_of(acks)]

    most = RANGED_A_REQUEST
    assert sizes((5, 4 + 2 * most + 1)) == [
        [(5, 4 + most)],
        [(5 + most, 4 + 2 * most)],
        [(5 + 2 * most, 5 + 2 * most)],
    ]
    assert sizes((0, most - 2), (7, 7), (9, 9)) == [[(0, most - 2), (7, 7)], [(9, 9)]]
    assert [len(request) for request in sizes(*[(0, 0)] * 1001)] == [1000, 1]
    assert sizes() == []


def broken(record):
    raise ValueError("line one\nline two")


@pytest.mark.parametrize(("times", "comes_back"), [(1, True), (2, True), (3, False), (4, False)])
def test_work_that_fails_for_the_last_time_fails_its_item(fanin, times, comes_back, caplog):
    with fanin.open() as batch:
        items = batch.add(1)
    handler = fanin.acks(fail_after=3)(broken)
    response = handler(received(items[0], times), None)

    assert bool(response["batchItemFailures"]) == comes_back
    assert (batch.status().state is State.COMPLETE) != comes_back
    assert caplog.records[0].getMessage().startswith(f"the work of item {items[0]} failed")
    assert batch.status().failed == (not comes_back)
    assert [sample.reason for sample in batch.samples()] == (
        [] if comes_back else ["ValueError: line one line two"]
    )


def test_a_message_that_fails_with_its_last_receive_after_an_unanswered_success_is_no_reused_key(
    over_http, service
):
    batch = over_http.open()
    items = batch.add(1)
    over_http.acks(lambda record: None)(received(items[0], 1), None)
    response = over_http.acks(fail_after=2)(broken)(received(items[0], 2), None)

    assert response == {"batchItemFailures": []}
    assert (batch.status().acked, batch.status().failed) == (1, 0)
