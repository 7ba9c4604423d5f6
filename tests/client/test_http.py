"""Lost answers, errors and time-outs between the client and the API."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from fanin import (
    AccessDenied,
    AsyncFanin,
    Conflict,
    Fanin,
    FaninError,
    InvalidRequest,
    KeyReused,
    NewerSchema,
    NotFound,
    StoreUnavailable,
)
from fanin.client.transports.http import ATTEMPTS, HttpTransport
from fanin.tracker import Ack, OpenBatch, Outcome
from tests.client.conftest import answers, lost_after, lost_before

PROBLEM = (
    b'{"type": "urn:fanin:problem:x", "title": "T", "status": 400, "detail": "the detail",'
    b' "errors": [{"field": "count", "detail": "too small"}, {"field": "other", "detail": "?"}]}'
)
FAULTS = [lost_before, lost_after, answers(429), answers(500), answers(502), answers(503), answers(504)]


class OnLoop:
    """A transport whose calls are made by a coroutine, and whose requests are those of its event loop."""

    def __init__(self, fanin, runner):
        self.client, self.runner = AsyncFanin(fanin), runner

    def __getattr__(self, name):
        call = getattr(self.client.sync._transport, name)
        return lambda *args: self.runner.run(self.client.call(call, *args))


@pytest.fixture(params=["thread", "loop"])
def over_http(request, over_http):
    """The client, by a thread and by coroutines."""
    if request.param == "thread":
        yield over_http
        return
    with asyncio.Runner() as runner:
        yield Fanin(OnLoop(over_http, runner))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", ["open", "add", "close", "ack"])
def test_whatever_happened_a_call_is_repeated_under_its_key_and_done_once(over_http, service, fault, call):
    batch = over_http.open()
    items = batch.add(1)
    calls = {
        "open": over_http.open,
        "add": lambda: batch.add(2),
        "close": batch.close,
        "ack": lambda: over_http.ack(items),
    }
    service.seen.clear()
    service.faults.extend([fault, fault])
    calls[call]()
    status = batch.status()

    assert len(service.seen) == 4
    assert len(set(service.keys[:3])) == 1
    assert len({request.body for request in service.seen[:3]}) == 1
    assert status.total == (3 if call == "add" else 1)
    assert status.acked == (1 if call == "ack" else 0)


@pytest.mark.parametrize("fault", [lost_before, answers(503, PROBLEM)])
def test_attempts_are_bounded(over_http, service, pauses, fault):
    service.faults.extend([fault] * 20)

    with pytest.raises(StoreUnavailable, match=r"no answer|the detail"):
        over_http.open()
    assert len(service.seen) == ATTEMPTS
    assert len(pauses) == ATTEMPTS - 1
    assert all(0 <= pause <= 0.1 * 2**attempt for attempt, pause in enumerate(pauses))


def test_an_answer_that_takes_too_long_is_no_answer(service, pauses):
    go_on = threading.Event()

    def stalled(serve):
        go_on.wait(30)

    service.faults.append(stalled)
    hasty = Fanin(HttpTransport(service.url, pause=pauses.append, attempts=1, read_seconds=0.05))

    with pytest.raises(StoreUnavailable, match=r"gave no answer \(ReadTimeoutError"):
        hasty.open()
    go_on.set()


def test_who_asks_for_more_patience_than_there_is_is_not_asked_again(over_http, service, pauses):
    service.faults.append(answers(503, PROBLEM, Retry_After="3600"))

    with pytest.raises(StoreUnavailable, match="the detail"):
        over_http.open()
    assert pauses == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, InvalidRequest),
        (401, AccessDenied),
        (403, AccessDenied),
        (404, NotFound),
        (409, Conflict),
        (413, InvalidRequest),
        (422, KeyReused),
        (501, StoreUnavailable),
        (302, FaninError),
    ],
)
def test_problems_become_our_errors_at_once_and_keep_their_detail(over_http, service, pauses, status, error):
    service.faults.append(answers(status, PROBLEM, Location="/v1/acks"))
    with pytest.raises(FaninError) as raised:
        over_http.open()

    assert type(raised.value) is error
    assert "the detail" in str(raised.value)
    assert getattr(raised.value, "field", "count") == "count"
    assert (pauses, len(service.seen)) == ([], 1)


def test_a_service_that_is_older_than_a_row_is_not_asked_again(over_http, service, pauses):
    problem = b'{"type": "urn:fanin:problem:newer-schema", "detail": "upgrade fanin in this process"}'
    service.faults.append(answers(503, problem, Retry_After="60"))
    with pytest.raises(NewerSchema, match="upgrade fanin in this process"):
        over_http.open()

    assert (pauses, len(service.seen)) == ([], 1)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"message":"Forbidden"}', "Forbidden"),
        (b"<html>", "the API answered with status 400"),
        (b"", "the API answered with status 400"),
        (b"[1]", "the API answered with status 400"),
        (b"[" * 100_000, "the API answered with status 400"),
        (b"\xff\xfe", "the API answered with status 400"),
        (b'{"detail": "d", "errors": [1]}', "d"),
        (b'{"detail": "d", "errors": {}}', "d"),
    ],
)
def test_refusals_in_another_form_have_the_detail_that_can_be_read(over_http, service, body, detail):
    service.faults.append(answers(400, body))
    with pytest.raises(InvalidRequest) as raised:
        over_http.open()

    assert str(raised.value) == detail
    assert raised.value.field is None


@pytest.mark.parametrize(("status", "kind"), [(302, FaninError), (404, NotFound), (405, FaninError)])
def test_what_is_no_api_says_that_the_url_is_wrong(over_http, service, status, kind):
    service.faults.append(answers(status, b"<html>", Location="/login"))
    with pytest.raises(FaninError, match="no route of fanin's API; check the URL and its stage") as raised:
        over_http.open()

    assert type(raised.value) is kind


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", b"[]", b"null", b'"x"', b'{"batchId"', b"\xff", b"[" * 100_000]
)
def test_a_good_status_with_a_foreign_body_is_an_error_that_says_so(over_http, service, body):
    service.faults.append(answers(200, body))

    with pytest.raises(FaninError, match="check the URL"):
        over_http.open()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://host",
        "https://",
        "https://user:secret@host",
        "https://host?x=1",
        "https://host#x",
        "http://[::1",
        "http://a..example",
        "https://host:port",
    ],
)
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(InvalidRequest):
        Fanin(url)


def test_acks_of_several_callers_have_one_key_that_does_not_hang_on_their_order(service):
    transport = HttpTransport(service.url)
    batch_id = transport.open(OpenBatch(), "k")
    items = transport.add(batch_id, 3, "k")
    service.seen.clear()
    acks = [Ack.of(item, f"m{number}") for number, item in enumerate(items)]
    transport.ack(acks)
    transport.ack(acks[::-1])
    transport.ack([*acks[:2], replace(acks[2], caller="m4")])
    transport.ack([*acks[:2], replace(acks[2], outcome=Outcome.FAILURE)])
    transport.ack(acks, "mine")
    first, again, others, failing, given = service.keys

    assert first == again
    assert len({first, others, failing}) == 3
    assert given == "mine"
    assert all(1 <= len(key) <= 128 for key in service.keys)
