"""Progress tokens over the API: one route creates them for a caller, and a public one takes them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from fanin.tracker.memory import MemoryStore
from tests.api.gateway import Answer, Gateway
from tests.api.test_lifecycle_routes import acked, opened, ranged

OWNER = {"iam": {"accountId": "111122223333", "userArn": "arn:aws:iam::111122223333:user/owner"}}


@pytest.fixture
def owner(gateway: Gateway, environment: pytest.MonkeyPatch) -> Gateway:
    """The API for a caller that IAM knows; it knows no anonymous one, as on AWS."""
    environment.delenv("FANIN_ALLOW_ANONYMOUS")
    return Gateway(OWNER)


def created(owner: Gateway, batch_id: str) -> str:
    token: str = owner.send("POST", f"/v1/batches/{batch_id}/token", {"expiresSeconds": 60}).body["token"]
    return token


def test_a_page_of_any_origin_sees_the_progress_to_the_end_and_no_text_of_the_user(owner: Gateway) -> None:
    batch_id, group = opened(owner, 4, userKey="a customer", labels={"of": "a customer"})
    token = created(owner, batch_id)
    acked(owner, ranged(batch_id, group, 0, 0, outcome="failure", reason="of a customer"))
    seen = Gateway().send("GET", "/v1/progress", query={"token": token})
    body = seen.body

    assert seen.headers["Access-Control-Allow-Origin"] == "*"
    assert body.pop("retryAfterSeconds") >= 1
    assert body == {
        "batchId": batch_id,
        "state": "OPEN",
        "isClosed": False,
        "isComplete": False,
        "total": 4,
        "progress": {"acked": 1, "failed": 1, "estimate": 1, "upperBound": 1, "exact": True},
    }


def test_an_ended_batch_says_so_and_asks_for_no_other_request(owner: Gateway) -> None:
    batch_id, group = opened(owner, 1)
    acked(owner, ranged(batch_id, group, 0, 0))
    owner.send("POST", f"/v1/batches/{batch_id}/close")
    body = Gateway().send("GET", "/v1/progress", query={"token": created(owner, batch_id)}).body

    assert (body["state"], body["result"], body["isComplete"]) == ("COMPLETE", "succeeded", True)
    assert "endedAt" in body
    assert "retryAfterSeconds" not in body


def asked(token: str, accept: str = "text/event-stream", last: str = "") -> Answer:
    headers = {"Accept": accept, "Last-Event-ID": last}
    return Gateway().send("GET", "/v1/progress", None, headers, {"token": token})


def fields(event: str) -> dict[str, Any]:
    found = dict(line.split(": ", 1) for line in event.splitlines() if line)
    return found | {"data": json.loads(found["data"])}


def test_a_reader_of_events_gets_one_for_each_request_with_its_pause(owner: Gateway) -> None:
    token = created(owner, opened(owner, 1)[0])
    event = fields(asked(token, last="ended").text)

    assert event.keys() == {"retry", "event", "data"}
    assert event["event"] == "progress"
    assert int(event["retry"]) == round(1000 * event["data"]["retryAfterSeconds"])


def test_a_reader_of_events_is_stopped_once_it_has_the_end(owner: Gateway) -> None:
    batch_id, _ = opened(owner, 1)
    owner.send("POST", f"/v1/batches/{batch_id}/cancel")
    token = created(owner, batch_id)
    event = fields(asked(token, last="progress").text)
    stopped = asked(token, last=event["id"])

    assert (event["event"], event["data"]) == ("ended", asked(token, "*/*", last=event["id"]).body)
    assert "retry" not in event
    assert (stopped.status, stopped.text) == (204, "")
    assert stopped.headers["Access-Control-Allow-Origin"] == "*"


EVENTS = (
    *("text/event-stream", "TEXT/Event-Stream;charset=utf-8", "text/event-stream, */*"),
    "application/json;q=0.5 , text/event-stream ; q=0.501",
)
JSON = (
    *("", "*/*", "text/*", "text/html,*/*;q=0.8", "text/event-streams", ",;,q=1"),
    *(f"text/event-stream;q={weight}" for weight in ("0", "0.000", "2", "1.001", "-1", "\u00b2", "")),
    *("application/json, text/event-stream", "application/json, text/event-stream;q=0.9"),
)


@pytest.mark.parametrize("accept", [*EVENTS, *JSON])
def test_events_are_for_readers_that_prefer_them_by_name(owner: Gateway, accept: str) -> None:
    answer = asked(created(owner, opened(owner)[0]), accept)

    assert answer.status == 200
    assert (answer.headers["Content-Type"] == "text/event-stream") == (accept in EVENTS)


def test_a_token_opens_no_other_route_and_is_in_no_log(owner: Gateway, log: io.StringIO) -> None:
    batch_id, _ = opened(owner, 4)
    token = created(owner, batch_id)
    forged = token[:-43] + "A" * 43
    bearer = {"authorization": f"Bearer {token}"}
    answers = {
        "another route": Gateway().send("GET", f"/v1/batches/{batch_id}", headers=bearer),
        "another token": Gateway().send("POST", f"/v1/batches/{batch_id}/token", {}, headers=None),
        "no token": Gateway().send("GET", "/v1/progress"),
        "half a token": Gateway().send("GET", "/v1/progress", query={"token": token[:-1]}),
        "of another signature": Gateway().send("GET", "/v1/progress", query={"token": forged}),
        "of another signature, for events": asked(forged, last="ended"),
        "another parameter": Gateway().send("GET", "/v1/progress", query={"token": token, "since": "9"}),
        "a stranger's": Gateway({"iam": OWNER["iam"] | {"accountId": "222233334444"}}).send(
            "POST", f"/v1/batches/{batch_id}/token"
        ),
    }

    assert {name: answer.status for name, answer in answers.items()} == {
        "another route": 403,
        "another token": 403,
        "no token": 400,
        "half a token": 400,
        "of another signature": 404,
        "of another signature, for events": 404,
        "another parameter": 400,
        "a stranger's": 404,
    }
    refused = [answer for name, answer in answers.items() if "signature" in name or "half" in name]
    assert {answer.headers["Access-Control-Allow-Origin"] for answer in refused} == {"*"}
    assert token[-43:-1] not in log.getvalue() + "".join(answer.text for answer in refused)


def test_the_lifetime_is_an_hour_or_as_asked(owner: Gateway, memory: MemoryStore) -> None:
    batch_id, _ = opened(owner)
    path = f"/v1/batches/{batch_id}/token"
    rows = len(memory.batches)

    assert [owner.send("POST", path, {"expiresSeconds": wrong}).status for wrong in (0, 604_801, "9")] == [
        400,
        400,
        400,
    ]
    assert owner.send("POST", path).status == 200
    assert len(memory.batches) == rows
