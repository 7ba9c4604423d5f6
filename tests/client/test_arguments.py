"""Arguments of the wrong type are refused before anything is sent, and named as the caller wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from math import nan
from typing import Any
from uuid import UUID

import pytest

from fanin import Fanin, InvalidRequest, Items, NewJob, Options, Retention, Tables, send
from fanin.arguments import shown
from fanin.client.argument_checks.checking import options_given
from fanin.client.argument_checks.naming import ARGUMENTS
from fanin.client.argument_checks.opening import OpenOptions, spec_of
from fanin.client.queues.job_acks import ItemResults
from fanin.client.transports.environment import Connection
from fanin.queue.rules.taking import TakeRequest
from fanin.testing import FakeFanin
from fanin.testing.delivering import deliver
from fanin.tracker import TOTAL_MAX


class Sent(AssertionError):
    """A call reached its transport."""


class Nowhere:
    """A transport that fails each call."""

    def __getattr__(self, name):
        def send(*_):
            raise Sent(name)

        return send


@pytest.fixture
def nowhere():
    return Fanin(Nowhere())


TEXTS = [7, b"text", [], True, object()]
NUMBERS = ["1", 1.0, True, False, None, b"1", float("nan"), pytest.param(10**5000, id="huge")]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_a_text(nowhere, text):
    calls = [
        lambda: nowhere.task(text, {}),
        lambda: nowhere.task("t", {}, task_id=text),
        lambda: nowhere.task("t", {}, item_id=text),
        lambda: nowhere.task_status(text),
        lambda: nowhere.queue(text),
        lambda: Fanin.direct(Tables("b", "p"), text),
        lambda: Fanin("http://127.0.0.1:1", region=text),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest):
            call()


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_a_whole_one(nowhere, number):
    calls = [
        lambda: nowhere.task("t", {}, priority=number),
        lambda: Fanin.direct(Tables("b", "p"), "t", page_bits=number),
    ]
    if number is not None:
        calls.append(lambda: nowhere.acks(fail_after=number))
    for call in calls:
        with pytest.raises(InvalidRequest) as refused:
            call()
        assert len(str(refused.value)) < 250


@pytest.mark.parametrize("seconds", ["1", None, True, float("nan")])
def test_a_margin_is_seconds(nowhere, seconds):
    with pytest.raises(InvalidRequest, match="margin_seconds"):
        nowhere.acks(margin_seconds=seconds)


@pytest.mark.parametrize("other", [None, 7, "text"])
def test_functions_and_transports_are_what_they_are(nowhere, other):
    for call in (
        lambda: Fanin(None if other == "text" else other),
        lambda: Fanin.direct(other, "t"),
        lambda: nowhere.queue("q", at=other or 7),
        lambda: nowhere.queue("q", options=other or 7),
        lambda: nowhere.acks(other or 7),
        lambda: nowhere.acks(item_id=other or 7),
        lambda: nowhere.acks(on_acked=other or 7),
        lambda: nowhere.dead_letter_handler(other or 7),
    ):
        with pytest.raises(InvalidRequest):
            call()


@pytest.mark.parametrize("payload", [object(), b"x", {1, 2}, float("nan"), {("a",): 1}])
def test_a_payload_is_json(nowhere, payload):
    with pytest.raises(InvalidRequest, match="JSON"):
        nowhere.task("t", payload)


BAD = {
    "max_failures": 0,
    "max_failure_percent": 101,
    "failure_sample": 0,
    "min_succeeded": 0,
    "min_succeeded_percent": 101,
    "max_items": 0,
    "max_cost": float("nan"),
    "expected_items": -1,
    "deadline": timedelta(milliseconds=1),
    "parent": "x",
    "notify_at": ["60%"],
    "stuck_after": timedelta(seconds=1),
    "traceparent": f"00-{'a' * 32}-{'0' * 16}-01",
    "task_token": "a b",
    "durable_callback_id": "a-b",
    "on_failures": "pass",
    "mode": "rough",
    "labels": {"a:b": "c"},
    "callback": 5,
    "retention": 5,
    "results": "yes",
    "parent_fails_on": "x",
}


@pytest.mark.parametrize("option", BAD)
def test_an_option_out_of_form_is_named_as_it_was_written(fanin, option):
    with pytest.raises(InvalidRequest) as refusal:
        fanin.open(**{option: BAD[option]})

    assert refusal.value.field == option
    assert not any(name in str(refusal.value) for name in ARGUMENTS)


BATCH = "00000000-0000-4000-8000-000000000001"
NO_ITEM = f"{BATCH}:00000000-0000-8000-8000-000000000001:0"
CALLS = {
    "ack": (lambda fanin: fanin.ack(["x"]), "items"),
    "fail": (lambda fanin: fanin.fail(["x"]), "items"),
    "status": (lambda fanin: fanin.status(5), "batch"),
    "delete_ended": (lambda fanin: fanin.delete_ended(1), "before"),
    "outstanding_of": (lambda fanin: fanin.outstanding_of(fanin.open().add(10_001)), "items"),
    "a parent that is no item": (lambda fanin: fanin.open(parent=NO_ITEM), "parent"),
    "a parent that counts": (
        lambda fanin: fanin.open(parent=fanin.open(mode="estimated").add(1)[0]),
        "parent",
    ),
    "a map": (lambda fanin: fanin.map(BATCH, cells=1025), "cells"),
    "an empty window": (lambda fanin: fanin.map(BATCH, start=5, stop=5), "stop"),
    "a window beyond all items": (lambda fanin: fanin.map(BATCH, stop=TOTAL_MAX + 1), "stop"),
    "two filters": (lambda fanin: fanin.batches("a", user_key_prefix="a"), "user_key_prefix"),
    "a time without a zone": (lambda fanin: fanin.batches(opened_to=datetime(2026, 3, 1)), "opened_to"),
    "a range with gaps": (lambda fanin: fanin.ack_ranges([fanin.open().add(4)[::2]]), "ranges"),
    "a range that ends before it begins": (lambda fanin: Items.parse(f"{NO_ITEM[:-1]}9-3"), "items"),
    "no URL": (lambda _: Fanin("https://"), "url"),
    "no transport": (lambda _: Fanin(object()), "to"),
    "results of no batch": (lambda fanin: fanin.results(7), "batch"),
    "a result of no item": (lambda _: ItemResults(None).checked(None, {}), "result"),
    "bodies": (lambda _: deliver(print, "body"), "bodies"),
    "a short retention": (lambda _: Retention(open=timedelta(0)), "retention"),
    "items of no id": (lambda _: Items(1, "g", 3), "batch_id"),
    "items without a number": (lambda _: Items(BATCH, "g", "3"), "upto"),
    "a range from a text": (lambda _: Items.between(BATCH, "g", "a", 9), "first"),
    "a range of a group of no text": (lambda _: Items.between(BATCH, 2, 0, 9), "group_id"),
    "a range from its end": (lambda _: Items.between(BATCH, "g", 3, 2), "last"),
    "a range beyond its group": (lambda _: Items.between(*NO_ITEM.split(":")[:2], 0, 9), "last"),
    "rows that are fewer": (lambda fanin: fanin.open().add(2).message([1]), "rows"),
    "fields that are no JSON": (lambda fanin: fanin.open().add(1).message(at=object()), "fields"),
    "a table by number": (lambda _: Tables("batches", 2), "pages"),
    "a worker of no queue": (lambda fanin: fanin.work(3, print), "queue"),
    "a worker of no queue's name": (lambda fanin: fanin.work("a b", print), "queue"),
    "a worker's number": (lambda fanin: fanin.work("q", print, concurrency="3"), "concurrency"),
    "a worker's time": (lambda fanin: fanin.work("q", print, visibility=1), "visibility"),
    "a worker's end": (lambda fanin: fanin.work("q", print, grace_seconds="1"), "grace_seconds"),
    "a send to no queue": (lambda _: send(3, [NO_ITEM], [1]), "queue"),
    "a send to no queue's name": (lambda _: send("a b", [NO_ITEM], [1]), "queue"),
    "a send of no item": (lambda _: send("q", [3], [1]), "items"),
    "a send of no row": (lambda _: send("q", [NO_ITEM], [object()]), "rows"),
    "a send by no client": (lambda _: send("q", [NO_ITEM], [1], client="sqs"), "client"),
    "a send that sleeps by no function": (lambda _: send("q", [NO_ITEM], [1], sleep=1), "sleep"),
}


@pytest.mark.parametrize("rows", [7, "ab", {0: 1, 1: 2}, [nan, 1], [{1}, 1], ["\udcff", 1]], ids=str)
def test_the_rows_of_a_message_are_json_that_sqs_takes(fanin, rows):
    with pytest.raises(InvalidRequest, match="rows"):
        fanin.open().add(2).message(rows)


@pytest.fixture
def no_region(monkeypatch):
    """An environment in which no AWS client can be made."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")


@pytest.mark.usefixtures("no_region")
@pytest.mark.parametrize("name", CALLS)
def test_a_refused_argument_is_named_as_it_was_written(fanin, name):
    call, argument = CALLS[name]
    with pytest.raises(InvalidRequest) as refusal:
        call(fanin)

    assert refusal.value.field == argument
    assert not re.search(r"\b[a-z]+[A-Z]\w*", str(refusal.value))


def test_a_list_of_ranges_is_refused_with_the_call_that_takes_it(fanin):
    with pytest.raises(InvalidRequest, match="a list of ranges is for ack_ranges and fail_ranges"):
        fanin.ack([fanin.open().add(2)])


def test_a_name_of_a_batch_that_is_no_user_key_is_refused_by_the_argument(fanin):
    with pytest.raises(InvalidRequest, match="a user key has 1 to 256 characters") as refused:
        fanin.status("")
    assert refused.value.field == "batch"


def test_items_that_were_not_acked_are_logged_and_counted_in_the_report(fanin, caplog):
    batch = fanin.open()
    items = batch.add(2)
    foreign = FakeFanin().open().add(1)
    report = batch.ack([*items, *foreign, f"{items[0][:-1]}9"])

    assert report.not_acked == {"not_found": 1, "out_of_range": 1}
    assert [each.getMessage() for each in caplog.records] == [
        "2 items were not acked: 1 not_found, 1 out_of_range"
    ]
    assert batch.ack(items).not_acked == {}


def test_a_function_of_a_consumer_logs_them_too(fanin, caplog):
    (own,) = fanin.open().add(1)
    others = fanin.open()
    items = others.add(3)
    others.cancel()

    fanin.acks(lambda _: fanin.ack([*items[:2], *FakeFanin().open().add(1)]))(
        {"Records": [{"messageId": "m", "body": own}]}, None
    )

    not_found, cancelled = (each.getMessage() for each in caplog.records)
    assert "is in no batch of this tenant (not_found)" in not_found
    assert cancelled == "2 items were not acked: 2 cancelled"


def test_each_option_has_a_bad_value_here():
    assert OpenOptions.__annotations__.keys() == BAD.keys()


def test_what_options_must_not_be_together_is_named_so_too(fanin):
    with pytest.raises(InvalidRequest, match=r"deadline") as refusal:
        fanin.open(task_token="token")
    assert "deadlineSeconds" not in str(refusal.value)
    with pytest.raises(InvalidRequest) as refusal:
        fanin.reopen(BATCH, max_failures=0)
    assert refusal.value.field == "max_failures"


@pytest.mark.parametrize("labels", [{"\ud800": "a"}, {"a": "\udc00"}, {"a\x00": "a"}, {"a": "\n"}])
def test_a_label_that_http_refuses_is_refused_everywhere(fanin, labels):
    with pytest.raises(InvalidRequest) as refusal:
        fanin.open(labels=labels)
    assert refusal.value.field == "labels"
    ((key, value),) = labels.items()
    with pytest.raises(InvalidRequest):
        fanin.batches(label=f"{key}:{value}")


SPANS: dict[str, Callable[[Any], object]] = {
    "deadline": lambda span: spec_of(None, {"deadline": span}).deadline,
    "stuck_after": lambda span: spec_of(None, {"stuck_after": span}).stuck_after,
    "retention": lambda span: Retention(open=span).open,
    "timeout": lambda span: Connection(timeout=span).over_http("http://127.0.0.1:1")._call_seconds,
    "timeout of a wait": lambda span: FakeFanin()._pacing(str(UUID(int=0)), span)._timeout,
    "margin_seconds": lambda span: options_given(None, None, span, None),
    "expiry": lambda span: Options(expiry=span).expiry,
    "retry_delay": lambda span: Options(retry_delay=span).retry_delay,
    "delay": lambda span: NewJob("a", delay=span).delay,
    "wait": lambda span: TakeRequest(wait=span).wait,
}


@pytest.mark.parametrize("name", SPANS)
def test_a_time_is_given_in_seconds_or_as_a_timedelta(name):
    span = SPANS[name]
    assert span(90) == span(90.0) == span(timedelta(seconds=90))
    for bad in (True, "90", [90], object(), float("nan"), -1, timedelta(seconds=-1), 10**400, 10**5000):
        with pytest.raises(InvalidRequest) as refused:
            span(bad)
        assert name.partition(" ")[0].removesuffix("_after") in str(refused.value)
        assert shown(bad) in str(refused.value)
