"""What a user sees, over each transport: straight on the tracker, and through the deployed handlers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import pytest

from fanin import Completion, InvalidRequest, KeyReused, NotFound, State, Verdict

UNKNOWN = "00000000-0000-4000-8000-00000000dead"


def verdicts(report):
    return [one.verdict for one in report.results]


def test_leaving_the_block_closes_the_batch_and_the_last_ack_completes_it(fanin):
    with fanin.open(user_key="catalog-7") as batch:
        items = list(batch.add(10))
        assert batch.closed is None
    first, last = fanin.ack(items[:9]), fanin.ack(items[9:])

    assert (batch.closed.state, batch.closed.total, batch.closed.is_complete) == (State.CLOSED, 10, False)
    assert verdicts(first) == [Verdict.ACCEPTED] * 9
    assert [one.item_id for one in first.results] == items[:9]
    assert first.completions == ()
    assert last.completions == (Completion(batch.id, "catalog-7", "succeeded"),)


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


def test_a_block_that_raises_after_close_leaves_the_batch_to_its_consumers(fanin):
    batch = fanin.open()
    batch.add(1)
    batch.close()
    with pytest.raises(ZeroDivisionError), batch:
        _ = 1 / 0

    assert batch.status().state is State.CLOSED


def test_the_status_has_the_lifecycle_of_a_batch(fanin):
    before = datetime.now(UTC) - timedelta(seconds=1)
    batch = fanin.open("k")
    items = batch.add(6)
    fanin.ack(items[:2])
    at_work = batch.status()
    fanin.ack(items)
    batch.close()
    done = fanin.get(batch.id)

    assert (at_work.batch_id, at_work.user_key, at_work.mode) == (batch.id, "k", "exact")
    assert (at_work.state, at_work.total, at_work.acked, at_work.failed) == (State.OPEN, 6, 2, 0)
    assert (at_work.upper_bound, at_work.exact, at_work.result) == (2, True, None)
    assert (at_work.is_closed, at_work.is_complete) == (False, False)
    assert (at_work.closed_at, at_work.completed_at) == (None, None)
    assert (done.state, done.acked, done.result) == (State.COMPLETE, 6, "succeeded")
    assert (done.is_closed, done.is_complete) == (True, True)
    assert before < done.created_at <= done.closed_at <= done.completed_at < done.expires_at


def test_a_key_makes_open_and_add_one_call(fanin):
    first, again = fanin.open("a", key="run-1"), fanin.open("a", key="run-1")
    items = first.add(3, key="run-1")

    assert first.id == again.id
    assert again.add(3, key="run-1") == items
    assert fanin.get(first.id).total == 3
    with pytest.raises(KeyReused):
        fanin.open("b", key="run-1")
    with pytest.raises(KeyReused):
        first.add(4, key="run-1")


@pytest.mark.parametrize("call", ["get", "close", "add"])
def test_an_unknown_batch_is_not_found_and_a_malformed_id_is_refused(fanin, call):
    def ask(batch_id):
        return getattr(fanin, call)(batch_id, *([1] if call == "add" else []))

    with pytest.raises(NotFound):
        ask(UNKNOWN)
    for malformed in ("../acks", UNKNOWN.upper().replace("0", "A"), f"{UNKNOWN}/", f"{UNKNOWN}?", ""):
        with pytest.raises(InvalidRequest):
            ask(malformed)


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


@pytest.mark.parametrize("last", ["acks", "close"])
def test_one_key_on_close_and_on_acks_names_two_callers_and_each_retry_reports_its_own(fanin, last):
    batch = fanin.open()
    items = batch.add(1)
    calls = {
        "acks": lambda: bool(fanin.ack(items, key="k").completions),
        "close": lambda: fanin.close(batch.id, key="k").completed_by_you,
    }
    order = sorted(calls, key=lambda route: route == last)

    assert [calls[route]() for route in (*order, *order)] == [False, True, False, True]


class Catalog(StrEnum):
    SUMMER = "summer"


def test_a_member_of_an_enumeration_is_the_text_that_it_is_sent_as(fanin):
    batch = fanin.open(Catalog.SUMMER, key="k", labels={Catalog.SUMMER: Catalog.SUMMER})

    assert fanin.open("summer", key="k", labels={"summer": "summer"}).id == batch.id
    assert type(batch.status().user_key) is str


@pytest.mark.parametrize("call", ["cancel", "close", "notify"])
def test_a_key_serves_one_batch(fanin, call):
    one, other = fanin.open(), fanin.open()
    if call == "notify":
        one.cancel()
        other.cancel()
    getattr(fanin, call)(one.id, key="k")
    getattr(fanin, call)(one.id, key="k")

    with pytest.raises(KeyReused):
        getattr(fanin, call)(other.id, key="k")


@pytest.mark.parametrize("call", ["ack", "fail"])
def test_a_key_of_acks_serves_one_payload_in_any_order(fanin, call):
    items = fanin.open().add(3)
    first = getattr(fanin, call)(list(items[:2]), key="k")
    again = getattr(fanin, call)(reversed(items[:2]), key="k")

    assert [one.verdict for one in first.results] == [Verdict.ACCEPTED] * 2
    assert [one.verdict for one in again.results] == [Verdict.DUPLICATE] * 2
    with pytest.raises(KeyReused):
        getattr(fanin, call)(items, key="k")
    assert list(fanin.left(items)) == [items[2:]]
