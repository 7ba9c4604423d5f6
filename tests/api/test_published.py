"""The check of answers against the published description, checked itself."""

from __future__ import annotations

import json

import pytest

from tests.api.published import Unpublished, checked

JSON = {"Content-Type": "application/json"}
PROBLEM = {"Content-Type": "application/problem+json"}
ACKED = {"results": [{"itemId": "x", "verdict": "accepted"}], "completions": []}
REFUSED = {"type": "t", "title": "t", "status": 400, "detail": "d"}


def test_an_answer_that_is_described_passes() -> None:
    checked("POST", "/v1/acks", 200, JSON, json.dumps(ACKED))
    checked("POST", "/v1/acks", 400, PROBLEM, json.dumps(REFUSED))
    checked("GET", "/v1/nothing", 404, {}, "{}")


@pytest.mark.parametrize(
    ("status", "headers", "body", "why"),
    [
        (201, JSON, ACKED, "201 is not in the description"),
        (200, PROBLEM, ACKED, "media type"),
        (400, JSON, REFUSED, "media type"),
        (503, PROBLEM, REFUSED | {"status": 503}, "no header Retry-After"),
        (200, JSON, ACKED | {"more": 1}, "Additional properties"),
        (200, JSON, {"results": []}, "completions"),
        (200, JSON, ACKED | {"results": [{"itemId": "x", "verdict": "ok"}]}, "results.0"),
    ],
)
def test_an_answer_that_is_not_described_is_named(
    status: int, headers: dict[str, str], body: object, why: str
) -> None:
    with pytest.raises(Unpublished, match=why):
        checked("POST", "/v1/acks", status, headers, json.dumps(body))
