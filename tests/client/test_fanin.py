"""What a user sees, over each transport: straight on the tracker, and through the deployed handlers."""

from __future__ import annotations

from enum import StrEnum

import pytest

from fanin import InvalidRequest, State


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
