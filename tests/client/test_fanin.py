"""What a user sees, over each transport: straight on the tracker, and through the deployed handlers."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

import pytest

from fanin import InvalidRequest, State
from fanin.client.transports.transport import RANGED_A_REQUEST, ranged_requests_of
from fanin.settings.settings_file import SettingsFile
from fanin.tracker import Ack
from fanin.tracker.rules.options import OnFailures, TaskToken
from functions.wiring import deployed
from tests.client.received import received


def test_a_block_that_raises_cancels_the_batch_and_lets_the_exception_go_on(fanin, caplog):
    batch = fanin.open()
    with pytest.raises(ZeroDivisionError) as caught, batch:
        _ = 1 / 0
    status = batch.status()

    assert batch.closed is None
    assert (status.state, status.result) == (State.CANCELLED, "cancelled")
    assert status.reason == "ZeroDivisionError: division by zero"
    assert caught.value.__notes__ == [f"batch {batch.id} is CANCELLED: its block raised"]
    assert batch.id in caplog.text


def test_a_malformed_id_refuses_all_before_anything_is_acked(fanin):
    batch = fanin.open()
    items = batch.add(1200)

    with pytest.raises(InvalidRequest):
        fanin.ack([*items, "malformed"])
    assert batch.status().acked == 0


def test_many_acks_go_out_a_thousand_at_a_time_each_part_under_its_own_key(over_http, service):
    with over_http.open() as batch:
        items = list(batch.add(2001))
    service.seen.clear()
    first = over_http.ack(items, key="k" * 128)
    again = over_http.ack(items, key="k" * 128)
    keys = service.keys

    assert [body.count(b":") // 2 for body in (one.body for one in service.seen)] == [1000, 1000, 1] * 2
    assert len(set(keys)) == 3
    assert keys[0] == "k" * 128
    assert keys[:3] == keys[3:]
    assert len(first.results) == 2001
    assert len(first.completions) == 1
    assert again.completions == first.completions


@pytest.mark.parametrize("key", ["", "k" * 129, "a\nb", "a\r\nHost: x", "é", " a", "a ", "\x7f"])
def test_keys_are_checked_before_anything_is_sent(fanin, key):
    for call in (fanin.open, lambda key: fanin.ack([], key=key)):
        with pytest.raises(InvalidRequest, match="idempotency key"):
            call(key=key)


class Catalog(StrEnum):
    SUMMER = "summer"


def test_a_member_of_an_enumeration_is_the_text_that_it_is_sent_as(fanin):
    batch = fanin.open(Catalog.SUMMER, key="k", labels={Catalog.SUMMER: Catalog.SUMMER})

    assert fanin.open("summer", key="k", labels={"summer": "summer"}).id == batch.id
    assert type(batch.status().user_key) is str


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


def test_a_message_that_fails_with_its_last_receive_after_an_unanswered_success_is_no_reused_key(
    over_http, service
):
    batch = over_http.open()
    items = batch.add(1)
    over_http.acks(lambda record: None)(received(items[0], 1), None)
    response = over_http.acks(fail_after=2)(broken)(received(items[0], 2), None)

    assert response == {"batchItemFailures": []}
    assert (batch.status().acked, batch.status().failed) == (1, 0)
