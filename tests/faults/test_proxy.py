"""The proxy does to a request what its plan says, and the plan is the same for the same seed."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from tests.faults import answers, proxy
from tests.faults.kinds import ANYWHERE, BATCHES, Kind, Planned, kinds_of, planned
from tests.faults.proxy import FaultProxy

ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=1)
KEY = {"pk": {"S": "a"}}


class Backend(BaseHTTPRequestHandler):
    """Answers every request with ``answer``, and keeps their bodies."""

    protocol_version = "HTTP/1.1"
    got: list[dict[str, Any]] = []  # noqa: RUF012  # of the one server
    answer: dict[str, Any] = {}  # noqa: RUF012

    def do_POST(self) -> None:
        self.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = json.dumps(self.answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def backend() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def faulty(backend: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    monkeypatch.setattr(proxy, "LATE_SECONDS", 0.05)
    monkeypatch.setattr(proxy, "STALL_SECONDS", 1.2)
    monkeypatch.setattr(Backend, "answer", {})
    Backend.got.clear()
    with FaultProxy(backend, seed=1) as made:
        yield made


def client(faulty: FaultProxy, service: str, kind: Kind | None) -> Any:
    """A client whose every request meets *kind*."""
    faulty._drawn = lambda _sent: kind
    return boto3.client(
        service,
        "us-east-1",
        endpoint_url=faulty.url,
        aws_access_key_id="a",
        aws_secret_access_key="s",
        config=ONCE,
    )


@pytest.mark.parametrize(
    ("kind", "error", "reached"),
    [
        (Kind.DROP_BEFORE, ConnectionClosedError, 0),
        (Kind.DROP_AFTER, ConnectionClosedError, 1),
        (Kind.STALL, ReadTimeoutError, 1),
    ],
)
def test_a_lost_request_has_no_answer(
    faulty: FaultProxy, kind: Kind, error: type[Exception], reached: int
) -> None:
    with pytest.raises(error):
        client(faulty, "dynamodb", kind).get_item(TableName="T", Key=KEY)

    assert len(Backend.got) == reached


@pytest.mark.parametrize(
    ("kind", "code", "reached"),
    [
        (Kind.ERROR_AFTER, "InternalServerError", 1),
        (Kind.THROTTLE, "ProvisionedThroughputExceededException", 0),
        (Kind.CONFLICT, "TransactionConflictException", 0),
    ],
)
def test_a_refused_request_has_the_code_of_dynamodb(
    faulty: FaultProxy, kind: Kind, code: str, reached: int
) -> None:
    with pytest.raises(ClientError) as raised:
        client(faulty, "dynamodb", kind).put_item(TableName="T", Item=KEY)

    assert (raised.value.response["Error"]["Code"], len(Backend.got)) == (code, reached)


@pytest.mark.parametrize(("kind", "answered"), [(Kind.LATE, False), (Kind.AGAIN, True)])
def test_a_copy_is_applied_later(faulty: FaultProxy, kind: Kind, answered: bool) -> None:
    made = client(faulty, "dynamodb", kind)
    if answered:
        made.get_item(TableName="T", Key=KEY)
    else:
        with pytest.raises(ConnectionClosedError):
            made.get_item(TableName="T", Key=KEY)
    for timer in faulty._timers:
        timer.join()

    assert len(Backend.got) == 1 + answered


def test_half_of_a_batch_is_unprocessed(faulty: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backend, "answer", {"Responses": {"T": []}})
    keys = [{"pk": {"S": str(n)}} for n in range(5)]
    answer = client(faulty, "dynamodb", Kind.PARTIAL).batch_get_item(RequestItems={"T": {"Keys": keys}})

    assert Backend.got[0]["RequestItems"]["T"]["Keys"] == keys[:2]
    assert answer["UnprocessedKeys"]["T"]["Keys"] == keys[2:]


def test_decisions_follow_from_the_seed() -> None:
    one, same, other = (list(itertools.islice(planned(seed), 500)) for seed in (1, 1, 2))

    assert one == same != other


def test_every_kind_meets_some_operation() -> None:
    found = {kind for operation in ("Query", "PutItem", *BATCHES, "") for kind in kinds_of(operation)}

    assert found == set(Kind) - {Kind.STALL}
    assert Planned(is_hit=True, chance=0.5, is_stall=True).kind("Query") is Kind.STALL
    assert Planned(is_hit=False, chance=0.5, is_stall=True).kind("Query") is None
    assert kinds_of("") == ANYWHERE


@pytest.mark.parametrize("operation", BATCHES)
def test_the_halves_of_a_batch_are_the_whole(operation: str) -> None:
    whole = {"RequestItems": {"T": [1, 2, 3]}} if operation.startswith("Batch") else {"Entries": [1, 2, 3]}
    first, rest = answers.halved(operation, whole)

    assert str(first)[:-1].count(",") + str(rest)[:-1].count(",") == 1
    assert answers.is_empty(operation, answers.halved(operation, first)[0])
