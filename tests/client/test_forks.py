"""A process that forks with connections open: parent and children each get their own answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from fanin import State
from fanin.aws import clients
from fanin.client.transports.http import HttpTransport
from fanin.client.transports.signing import Signer
from fanin.grouper import Call, Member
from fanin.grouper.batch_api_calls.http import HttpDownstream
from tests.client.conftest import Reply, Seen, Service
from tests.forks import forked, status_of

CHILDREN = 4
ASKED = 60
PREFIX = "00000000-0000-4000-8000-"
BATCH = {
    "userKey": None,
    "mode": "exact",
    "state": "OPEN",
    "total": 0,
    "createdAt": "2026-01-01T00:00:00Z",
    "expiresAt": "2026-01-01T00:00:00Z",
    "progress": {"acked": 0, "failed": 0, "estimate": 0, "upperBound": 0, "exact": True},
}
Ask = Callable[[str], str]
"""A call that names a UUID; what the answer names."""


def _answer(path: str, target: str, body: bytes) -> bytes:
    """Return an answer that names what the request named."""
    if path == "/bulk":
        named = json.loads(body)["bundleId"]
        return json.dumps({"results": [{"taskId": "t", "outcome": "fail", "detail": named}]}).encode()
    if target:
        return json.dumps({"Item": json.loads(body)["Key"]}).encode()
    return json.dumps({"batchId": path.rsplit("/", 1)[-1], **BATCH}).encode()


@pytest.fixture
def served(service: Service, monkeypatch: pytest.MonkeyPatch) -> dict[object, set[str]]:
    """Return which processes each connection of the service served; it answers with what a request names."""
    found: dict[object, set[str]] = {}

    def reply(request: Seen) -> Reply:
        for process in re.findall(rf"{PREFIX}(\d{{6}})", f"{request.path} {request.body.decode()}"):
            found.setdefault(request.peer, set()).add(process)
        return Reply(200, _answer(request.path, request.headers.get("x-amz-target", ""), request.body))

    monkeypatch.setattr(service, "reply", reply)
    return found


@pytest.fixture
def url(service: Service) -> str:
    return service.url


@pytest.fixture(autouse=True)
def aws(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clients of AWS that call the server."""
    facts = {"ACCESS_KEY_ID": "none", "SECRET_ACCESS_KEY": "none", "DEFAULT_REGION": "us-east-1"}
    for name, value in {**facts, "ENDPOINT_URL": url}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    clients.dynamodb.cache_clear()
    yield
    clients.dynamodb.cache_clear()


def over_http(url: str) -> Ask:
    transport = HttpTransport(url)
    return lambda name: transport.get(name).batch_id


def signed(url: str) -> Ask:
    transport = HttpTransport(url, sign=Signer("127.0.0.1", "us-east-1"))
    return lambda name: transport.get(name).batch_id


def dynamodb(url: str) -> Ask:
    client = clients.dynamodb()
    return lambda name: client.get_item(TableName="t", Key={"pk": {"S": name}})["Item"]["pk"]["S"]


def downstream(url: str) -> Ask:
    api = HttpDownstream(f"{url}/bulk")
    calls = partial(Call, "tenant", "target", attempt=1, members=(Member("t", None),))
    return lambda name: api.call(calls(bundle_id=name)).members["t"].detail


KINDS = [downstream, over_http, signed, dynamodb]


def _names(process: int) -> list[str]:
    return [f"{PREFIX}{process:06d}{number:06d}" for number in range(ASKED)]


@pytest.mark.parametrize("kind", KINDS)
def test_parent_and_children_each_get_their_own_answers(served, url, kind):
    ask = kind(url)
    ask(_names(0)[0])  # there is a connection to inherit

    def work(process: int) -> None:
        names = _names(process)
        assert [ask(name) for name in names] == names

    children = [forked(lambda process=process: work(process)) for process in range(1, CHILDREN + 1)]
    try:
        work(0)
    finally:
        statuses = [status_of(child) for child in children]

    assert statuses == [0] * CHILDREN
    assert all(len(processes) == 1 for processes in served.values())
    assert set.union(*served.values()) == {f"{process:06d}" for process in range(CHILDREN + 1)}


@pytest.mark.parametrize("error", [None, SystemExit(1)])
def test_a_child_that_leaves_its_parents_block_neither_closes_nor_cancels_the_batch(over_http, error):
    with over_http.open() as batch:
        child = forked(lambda: batch.__exit__(type(error), error, None))

        assert status_of(child) == 0
        assert batch.status().state is State.OPEN

    assert batch.closed is not None


def test_a_child_closes_the_batch_whose_block_it_entered(over_http):
    batch = over_http.open()

    def work() -> None:
        with batch:
            batch.add(1)

    assert status_of(forked(work)) == 0
    assert batch.status().state is State.CLOSED
