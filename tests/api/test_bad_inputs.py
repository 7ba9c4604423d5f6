"""The table of bad inputs, at the handlers: each is refused as a problem, and nothing is written."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable

import pytest

from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from functions.wiring import s3_publications, tracking
from tests.api.bad_inputs import ALL, Bad
from tests.api.bad_inputs.table import BODIES, PUBLISH
from tests.api.gateway import Gateway


@pytest.fixture
def publishing(gateway: Gateway, environment: pytest.MonkeyPatch) -> None:
    """Allow what the body of the table publishes, so that it is refused for what is wrong in it."""
    allowed = [{"source": "s3://lake/in/", "queue": BODIES[PUBLISH]["queue"]}]
    environment.setenv("FANIN_SETTINGS", json.dumps({"publications": allowed}))
    environment.setattr(s3_publications, "_allowed", s3_publications._allowed.__wrapped__)


@pytest.fixture
def filled(gateway: Gateway) -> Callable[[str], str]:
    """Puts the names of stored things in for the marks of a bad input."""
    tracker: Tracker = tracking.tracker()
    tenant = tracking.settings().tenant
    batch, closed = (tracker.open(tenant, OpenBatch()).batch_id for _ in range(2))
    foreign = tracker.open("another", OpenBatch()).batch_id
    group = tracker.add(tenant, batch, 10).groups[0].id
    tracker.close(tenant, closed, "a test")
    names = {"<BATCH>": batch, "<CLOSED>": closed, "<FOREIGN>": foreign, "<GROUP>": group}
    names = {"<ITEM>": f"{batch}:{group}:0", **names}

    def fill(text: str) -> str:
        for mark, name in names.items():
            text = text.replace(mark, name)
        return text

    return fill


def _stored(store: MemoryStore) -> tuple[object, ...]:
    parts = (store.batches, store.receipts, store.stretches, store.stored_pages, store.kept, store.notices)
    return (*parts, store.payloads)


def _wrong(gateway: Gateway, filled: Callable[[str], str], bad: Bad, encoded: bool) -> str:
    """Return what is wrong with the answer to a bad input; empty where nothing is."""
    body = None if bad.body is None else filled(bad.body.decode("latin-1")).encode("latin-1")
    if body is not None and not encoded:
        body = body.decode("utf-8", "replace")  # as the gateway hands on what is declared to be text
    query = bad.query and {
        name: filled(value) if isinstance(value, str) else value for name, value in bad.query.items()
    }
    answer = gateway.send(bad.method, filled(bad.path), body, bad.headers, query)
    if answer.status not in bad.expect:
        return f"{answer.status}: {answer.text}"
    if not answer.headers:  # the gateway itself has no such route
        return ""
    is_problem = answer.headers["Content-Type"] == "application/problem+json"
    is_whole = {"type", "title", "status", "detail"} <= answer.body.keys()
    is_named = not bad.names or bad.names in {each["field"] for each in answer.body.get("errors", ())}
    is_right = is_problem and is_whole and is_named and answer.body["status"] == answer.status
    return "" if is_right else answer.text


@pytest.mark.parametrize("encoded", [False, True], ids=["text", "base64"])
def test_a_bad_input_is_refused_and_nothing_is_written(
    gateway: Gateway, memory: MemoryStore, publishing: None, filled: Callable[[str], str], encoded: bool
) -> None:
    before = copy.deepcopy(_stored(memory))
    for bad in (bad for bad in ALL if bad.body is not None or not encoded):
        wrong = _wrong(gateway, filled, bad, encoded)
        assert not wrong, f"{bad}: {wrong}"
        assert _stored(memory) == before, bad


def test_garbage_in_base64_is_refused(gateway: Gateway, memory: MemoryStore) -> None:
    event = gateway.event("POST", "/v1/batches", None, None) | {"body": "e30=!!!", "isBase64Encoded": True}

    from functions import open_batch

    assert open_batch.handler(event, None)["statusCode"] == 400
    assert not memory.batches


def test_a_refusal_repeats_little_of_what_was_sent(gateway: Gateway) -> None:
    answer = gateway.send("POST", "/v1/batches", {f"{n}{'x' * 200}": 1 for n in range(500)})

    assert answer.status == 400
    assert len(answer.text) < 4000


def test_a_refused_text_reaches_no_log(gateway: Gateway, log: io.StringIO) -> None:
    gateway.send("POST", "/v1/batches", {"userKey": '\r\n{"level":"ERROR"} hunter2'})

    (line,) = log.getvalue().splitlines()
    assert json.loads(line)["level"] == "INFO"
    assert "hunter2" not in line
