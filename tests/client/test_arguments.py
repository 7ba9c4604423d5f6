"""Calls that are about no batch refuse arguments of the wrong type before anything is sent."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin import Fanin, InvalidRequest, Tables

BATCH = "00000000-0000-4000-8000-000000000000"


class Sent(AssertionError):
    """A call reached its transport."""


class Nowhere:
    """A transport that fails each call."""

    def __getattr__(self, name):
        def send(*_):
            raise Sent(name)

        return send


@pytest.fixture
def fanin():
    return Fanin(Nowhere())


TEXTS = [7, b"text", [], True, object()]
NUMBERS = ["1", 1.0, True, False, None, b"1", float("nan")]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_a_text(fanin, text):
    calls = [
        lambda: fanin.task(text, {}),
        lambda: fanin.task("t", {}, task_id=text),
        lambda: fanin.task("t", {}, item_id=text),
        lambda: fanin.task_status(text),
        lambda: fanin.queue(text),
        lambda: Fanin.direct(Tables("b", "p"), text),
        lambda: Fanin("http://127.0.0.1:1", region=text),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest):
            call()


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_a_whole_one(fanin, number):
    calls = [
        lambda: fanin.task("t", {}, priority=number),
        lambda: Fanin.direct(Tables("b", "p"), "t", page_bits=number),
    ]
    if number is not None:
        calls.append(lambda: fanin.acks(fail_after=number))
    for call in calls:
        with pytest.raises(InvalidRequest):
            call()


@pytest.mark.parametrize("seconds", ["1", None, True, float("nan"), timedelta(1)])
def test_a_margin_is_seconds(fanin, seconds):
    with pytest.raises(InvalidRequest, match="margin_seconds"):
        fanin.acks(margin_seconds=seconds)


@pytest.mark.parametrize("other", [None, 7, "text"])
def test_functions_and_transports_are_what_they_are(fanin, other):
    for call in (
        lambda: Fanin(None if other == "text" else other),
        lambda: Fanin.direct(other, "t"),
        lambda: fanin.queue("q", at=other or 7),
        lambda: fanin.queue("q", options=other or 7),
        lambda: fanin.acks(other or 7),
        lambda: fanin.acks(item_id=other or 7),
        lambda: fanin.acks(on_acked=other or 7),
        lambda: fanin.dead_letter_handler(other or 7),
    ):
        with pytest.raises(InvalidRequest):
            call()


@pytest.mark.parametrize("payload", [object(), b"x", {1, 2}, float("nan"), {("a",): 1}])
def test_a_payload_is_json(fanin, payload):
    with pytest.raises(InvalidRequest, match="JSON"):
        fanin.task("t", payload)
