"""Webhooks: signed, retried for a day, then given up on; over a real socket and a queue in memory."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from botocore.exceptions import ClientError

from fanin.aws.rotating_secret import Refreshed, SecretUnreadable
from fanin.callbacks.delivering import Deliverer
from fanin.callbacks.http import Webhook, signature
from fanin.callbacks.secrets import keys_of
from fanin.grouper.rules.downstream import Answer
from fanin.grouper.rules.model import Verdict
from fanin.grouper.rules.responses import refusal_of, retried

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
KEYS = ("a-key-of-16-chars-or-more", "the-key-that-was-before-it")
BODY = json.dumps({"callback": "shop", "eventId": "b:COMPLETE", "userKey": "käy"}).encode()


class Receiver(BaseHTTPRequestHandler):
    """Answers with ``statuses`` in turn, and remembers what it got."""

    statuses: ClassVar[list[int]] = []
    got: ClassVar[list[tuple[Mapping[str, str], bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((dict(self.headers), body))
        status = self.statuses.pop(0) if self.statuses else 204
        self.send_response(status)
        if status in (302, 429):
            self.send_header("Location" if status == 302 else "Retry-After", "/" if status == 302 else "77")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def forgotten() -> None:
    Receiver.statuses.clear()
    Receiver.got.clear()


def hook(url: str, keys: Any = lambda: KEYS) -> Webhook:
    return Webhook(url, 5.0, Refreshed(keys, 900.0), clock=lambda: 1_700_000_000.9)


def test_an_event_is_posted_as_it_is_with_its_id_and_a_signature_by_each_key(url: str) -> None:
    answer = hook(url).post("b:COMPLETE", BODY)
    ((headers, body),) = Receiver.got

    assert answer.whole.verdict is Verdict.OK
    assert body == BODY
    assert headers["Fanin-Event-Id"] == "b:COMPLETE"
    assert headers["Content-Type"] == "application/json"
    signed = b"1700000000." + BODY
    expected = [hmac.new(key.encode(), signed, hashlib.sha256).hexdigest() for key in KEYS]
    assert headers["Fanin-Signature"] == f"t=1700000000,v1={expected[0]},v1={expected[1]}"


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, "OK"),
        (202, "OK"),
        (302, "FAIL"),
        (400, "FAIL"),
        (404, "FAIL"),
        (410, "FAIL"),
        (401, "RETRY"),
        (403, "RETRY"),
        (408, "RETRY"),
        (425, "RETRY"),
        (429, "RETRY"),
        (500, "RETRY"),
        (501, "RETRY"),
        (599, "RETRY"),
    ],
)
def test_the_status_says_what_becomes_of_the_event_and_no_redirect_is_followed(
    url: str, status: int, verdict: str
) -> None:
    Receiver.statuses.append(status)
    answer = hook(url).post("e", BODY)

    assert answer.whole.verdict is Verdict[verdict]
    assert answer.retry_after == (timedelta(seconds=77) if status == 429 else None)
    assert len(Receiver.got) == 1


def test_no_response_and_an_unreadable_secret_are_retried() -> None:
    def unreadable() -> Any:
        raise SecretUnreadable("AccessDenied")

    assert hook("http://127.0.0.1:1/").post("e", BODY).whole.verdict is Verdict.RETRY
    assert hook("http://127.0.0.1:1/", unreadable).post("e", BODY).whole == retried("AccessDenied").whole


def test_a_refused_signature_makes_the_keys_be_read_again(url: str) -> None:
    read: list[int] = []

    def keys() -> tuple[str, ...]:
        read.append(1)
        return KEYS

    calls = hook(url, keys)
    Receiver.statuses += [200, 401, 200]
    for _ in range(3):
        calls.post("e", BODY)

    assert len(read) == 2


class Secrets:
    """Secrets Manager with versions by label."""

    def __init__(self, **versions: str) -> None:
        self.versions = versions

    def get_secret_value(self, SecretId: str, VersionStage: str) -> dict[str, str]:  # noqa: N803
        if VersionStage not in self.versions:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetSecretValue")
        return {"SecretString": self.versions[VersionStage]}


def test_the_key_before_a_rotation_signs_too() -> None:
    assert keys_of(Secrets(AWSCURRENT=KEYS[0]), "arn") == KEYS[:1]
    assert keys_of(Secrets(AWSCURRENT=KEYS[0], AWSPREVIOUS=KEYS[1]), "arn") == KEYS


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({}, "cannot be read: ResourceNotFoundException"),
        ({"AWSCURRENT": "short"}, "16 to 4096 printable"),
        ({"AWSCURRENT": "with a space in the middle"}, "16 to 4096 printable"),
    ],
)
def test_a_secret_that_cannot_sign_is_unreadable_and_its_value_is_not_shown(
    versions: dict[str, str], expected: str
) -> None:
    with pytest.raises(SecretUnreadable, match=expected) as refused:
        keys_of(Secrets(**versions), "arn")
    assert not any(value in str(refused.value) for value in versions.values())


def test_the_signature_depends_on_time_body_and_key() -> None:
    created = {signature(KEYS[:1], 1, b"a"), signature(KEYS[:1], 2, b"a"), signature(KEYS[:1], 1, b"b")}

    assert len(created | {signature(KEYS[1:], 1, b"a")}) == 4


class Posts:
    """A webhook that gives the same answer to each event."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.got = answer, list[tuple[str, bytes]]()

    def post(self, event_id: str, body: bytes) -> Answer:
        self.got.append((event_id, body))
        return self.answer


def record(number: int, age: timedelta = timedelta(), receives: int = 1, **changes: Any) -> dict[str, Any]:
    sent_at = int((NOW - age).timestamp() * 1000)
    detail = {"callback": "shop", "eventId": f"b:{number}"} | changes
    return {
        "messageId": f"m{number}",
        "receiptHandle": f"r{number}",
        "body": json.dumps(detail),
        "attributes": {"SentTimestamp": str(sent_at), "ApproximateReceiveCount": str(receives)},
        "eventSourceARN": "arn:queue",
    }


def deliverer(answer: Answer, moves: bool = True) -> tuple[Deliverer, dict[str, int], list[str]]:
    hidden: dict[str, int] = {}
    moved: list[str] = []

    def isolate(records: Sequence[Mapping[str, Any]]) -> list[str]:
        moved.extend(each["messageId"] for each in records) if moves else None
        return moved[:]

    def hide(_arn: str, pauses: Mapping[str, int]) -> None:
        hidden.update(pauses)

    webhooks = Deliverer({"shop": Posts(answer)}, isolate, hide, now=lambda: NOW, jitter=lambda: 0.0)
    return webhooks, hidden, moved


def test_delivered_events_leave_the_queue() -> None:
    webhooks, hidden, moved = deliverer(Answer())
    response = webhooks.deliver([record(1), record(2)])

    assert (response.delivered, response.response(), hidden, moved) == (
        ("m1", "m2"),
        {"batchItemFailures": []},
        {},
        [],
    )


def test_an_event_that_is_to_be_retried_is_hidden_longer_each_time() -> None:
    webhooks, hidden, moved = deliverer(retried("status 503"))
    response = webhooks.deliver([record(1), record(2, receives=4), record(3, receives=30)])

    assert response.returned == ("m1", "m2", "m3")
    assert hidden == {"r1": 30, "r2": 240, "r3": 3600}
    assert moved == []


def test_an_event_is_retried_for_a_day_and_then_given_up_on() -> None:
    webhooks, _, moved = deliverer(retried("status 503"))
    almost, over = timedelta(hours=23, minutes=59), timedelta(hours=24)
    response = webhooks.deliver([record(1, age=almost), record(2, age=over)])

    assert (response.returned, response.given_up, moved) == (("m1",), ("m2",), ["m2"])


@pytest.mark.parametrize("changes", [{"callback": None}, {"eventId": "a\nb"}, {"eventId": 5}])
def test_a_refused_event_and_a_message_that_is_none_are_given_up_on_at_once(changes: dict[str, Any]) -> None:
    webhooks, _, moved = deliverer(refusal_of(410))
    response = webhooks.deliver([record(1), record(2, **changes), {**record(3), "body": "[["}])

    assert (response.returned, response.given_up) == ((), ("m1", "m2", "m3"))
    assert moved == ["m1", "m2", "m3"]


def test_an_event_that_could_not_be_moved_returns() -> None:
    webhooks, hidden, _ = deliverer(refusal_of(400), moves=False)
    response = webhooks.deliver([record(1)])

    assert (response.returned, response.given_up) == (("m1",), ())
    assert hidden == {"r1": 30}


def test_an_event_for_a_webhook_that_is_not_set_is_retried_because_a_deployment_may_be_under_way() -> None:
    webhooks, _, moved = deliverer(Answer())
    response = webhooks.deliver([record(1, callback="new")])

    assert (response.returned, moved) == (("m1",), [])
