"""One rule of reasons: the bodies of the API, the messages of the acks queue and the bulk acks share it."""

from __future__ import annotations

import json

import pytest

from fanin.api.messages import ack_of
from fanin.api.requests.batch_requests import CancelBatchBody
from fanin.errors import InvalidRequest
from fanin.tracker.rules.model import REASON_MAX, is_reason

ITEM = "00000000-0000-4000-8000-000000000001:00000000-0000-4000-8000-000000000002:0"
EDGES = [0x0, 0x9, 0xA, 0x1F, 0x20, 0x7E, 0x7F, 0x85, 0x9F, 0xA0, 0x2028, 0x1F388]
TEXTS = ["", "x" * REASON_MAX, "x" * (REASON_MAX + 1), "x\n", *(f"a{chr(code)}b" for code in EDGES)]


def is_body(text: str) -> bool:
    try:
        return CancelBatchBody(reason=text).reason == text
    except ValueError:
        return False


def is_message(text: str) -> bool:
    body = json.dumps({"itemId": ITEM, "outcome": "failure", "reason": text})
    try:
        return ack_of({"body": body, "messageId": "m"}).reason == text
    except InvalidRequest:
        return False


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_bodies_and_messages_take_the_same_reasons(text: str) -> None:
    assert is_body(text) == is_message(text) == is_reason(text)


def test_control_characters_and_long_texts_are_no_reasons() -> None:
    assert [code for code in EDGES if is_reason(f"a{chr(code)}b")] == [0x20, 0x7E, 0xA0, 0x2028, 0x1F388]
    assert [is_reason(text) for text in TEXTS[:4]] == [False, True, False, False]
