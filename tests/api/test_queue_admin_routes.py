"""The routes that administer work queues: lists, revival, deletion, pause."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from moto import mock_aws

from fanin.pacing import each_in_turn
from fanin.queue import Effects, MemoryDoorbell, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.rules.model import PAYLOAD_BYTES_MAX, Member
from functions.wiring import queueing
from tests.api.gateway import Gateway
from tests.api.test_lifecycle_routes import pages
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.item_ids import item_named

TENANT = "111122223333"
PATH = "/v1/queues/thumbs"
LAMBDA_ANSWER_BYTES = 6_291_556
OPTIONS = Options(parts=2, max_failures=1)


class Boom(Exception):
    """The work fails."""


@pytest.fixture
def store(gateway, environment):
    """The table, with the wiring of the handlers on it."""
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        store = DynamoStore(client, QUEUE_TABLE, pause=lambda _: None)
        bells = {}

        def create(key: QueueKey, _creator=None) -> Queue:
            bell = bells.setdefault(key, MemoryDoorbell())
            # The store's stand-in copies its tables in a transaction, which other threads must not change.
            in_turn = Effects(each=each_in_turn)
            return Queue(QueueContext(store, bell, key, effects=in_turn), background=lambda _: lambda: None)

        environment.setattr(queueing, "_queue", create)
        environment.setattr(queueing, "creator", lambda: None)
        environment.setattr(queueing, "registry", lambda: Registry(client, QUEUE_TABLE))
        yield store


@pytest.fixture
def queue(store):
    return new_queue(store)


def new_queue(store, name="thumbs", tenant=TENANT, **more) -> Queue:
    effects = Effects(each=each_in_turn, **more)
    context = QueueContext(store, MemoryDoorbell(), QueueKey(tenant, name), OPTIONS, effects)
    context.config()
    return Queue(context, background=lambda _: lambda: None)


def die(queue: Queue, *names: str) -> None:
    queue.add_all(names)
    for _ in names:
        with suppress(Boom), queue.take(1, wait=0):
            raise Boom


def get(gateway: Gateway, path: str = PATH, **query):
    answer = gateway.send("GET", path, query={name: str(value) for name, value in query.items()} or None)
    assert answer.status == 200, answer.text
    return answer.body


def post(gateway: Gateway, action: str, body=None, status: int = 200):
    answer = gateway.send("POST", f"{PATH}/{action}", body)
    assert answer.status == status, answer.text
    return answer.body


def names_of(page) -> list[str]:
    return [job["key"] for job in page]


def test_queues_are_listed_page_by_page_in_the_order_of_their_names(gateway, store):
    for name in ("c", "a", "b.2", "b"):
        new_queue(store, name)
    found = pages(gateway, "/v1/queues", limit="2")

    assert [[queue["queue"] for queue in page["queues"]] for page in found] == [["a", "b"], ["b.2", "c"]]


def test_a_queue_is_listed_with_its_config_and_its_depth(gateway, store, queue):
    die(queue, "dies")
    queue.add_all(["a", "b", NewJob("late", delay=60)])
    queue.take(1, wait=0).__enter__()
    (found,) = get(gateway, "/v1/queues")["queues"]

    assert found == get(gateway) | {name: found[name] for name in ("oldestSeconds", "countedAt")}
    assert found.pop("oldestSeconds") >= 0
    assert datetime.now(UTC) - datetime.fromisoformat(found.pop("countedAt")) < timedelta(minutes=1)
    assert found == {
        "queue": "thumbs",
        "parts": 2,
        "paused": False,
        "metrics": False,
        "phase": "steady",
        "activity": "inUse",
        "depth": {"queued": 1, "inProgress": 1, "delayed": 1, "dead": 1, "accuracy": "exact"},
    }


@pytest.mark.parametrize(
    ("method", "action", "body"),
    [
        ("GET", "", None),
        ("GET", "/sessions", None),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("POST", "/dead/revive", {"all": True}),
        ("POST", "/jobs/delete", {"keys": ["a"]}),
    ],
)
def test_a_queue_that_does_not_exist_is_a_404_and_is_not_created(gateway, store, method, action, body):
    answer = gateway.send(method, PATH + action, body)

    assert (answer.status, "thumbs" in answer.body["detail"]) == (404, True)
    assert store.config(QueueKey(TENANT, "thumbs")) is None


def test_sessions_are_listed_page_by_page(gateway, store, queue):
    for number, beats in enumerate([True, False, True]):
        store.enter(queue.key, Member(f"s{number}", beats, 10**18, 5, "host", 7, 1_772_366_400_000_000))
    store.end_session(queue.key, "s2", None)
    found = pages(gateway, f"{PATH}/sessions", limit="2")
    (first, second), (third,) = (page["sessions"] for page in found)

    assert first == {
        "id": "s0",
        "kind": "worker",
        "live": True,
        "host": "host",
        "pid": 7,
        "startedAt": "2026-03-01T12:00:00.000Z",
        "heartbeats": 0,
    }
    assert [(each["id"], each["kind"], each["live"]) for each in (second, third)] == [
        ("s1", "function", True),
        ("s2", "worker", False),
    ]


def test_jobs_of_each_state_are_listed_page_by_page(gateway, queue):
    die(queue, *(f"dead {i}" for i in range(5)))
    queue.add_all([NewJob(f"late {i}", delay=60) for i in range(5)] + [f"job {i}" for i in range(10)])
    queue.take(5, wait=0).__enter__()
    for state in ("queued", "inProgress", "delayed", "dead"):
        found = [page["jobs"] for page in pages(gateway, f"{PATH}/jobs", state=state, limit="2")]

        assert [len(page) for page in found] == [2, 2, 1]
        assert len({job["key"] for page in found for job in page}) == 5
        assert {job["state"] for page in found for job in page} == {state}


@pytest.mark.proof
def test_pages_of_large_jobs_stay_below_an_answer_of_lambda_and_miss_none(gateway, queue):
    queue.add_all([NewJob(f"job {i}", "\x00" * (PAYLOAD_BYTES_MAX // 6 - 2)) for i in range(90)])
    query, found = {}, []
    while True:
        answer = gateway.send("GET", f"{PATH}/jobs", query={"limit": "100"} | query)
        assert len(json.dumps(answer.text)) <= LAMBDA_ANSWER_BYTES
        found.append(names_of(answer.body["jobs"]))
        if "cursor" not in answer.body:
            break
        query = {"cursor": answer.body["cursor"]}

    assert len(found) > 1
    assert sorted(name for page in found for name in page) == sorted(f"job {i}" for i in range(90))


def cursor_of(gateway, queue) -> str:
    die(queue, "a", "b")
    return get(gateway, f"{PATH}/jobs", state="dead", limit=1)["cursor"]


def test_a_cursor_of_another_list_is_refused(gateway, queue):
    cursor = cursor_of(gateway, queue)
    for path, query in [
        ("/jobs", {"state": "queued"}),
        ("/jobs", {"state": "delayed"}),
        ("/sessions", {"cursor": "_w"}),
        ("/jobs", {"cursor": "AAAA"}),
        ("/jobs", {"cursor": "AAAAAA"}),
        ("/jobs", {"cursor": cursor[:-1], "state": "dead"}),
        ("/jobs", {"cursor": cursor + "=", "state": "dead"}),
    ]:
        refused = gateway.send("GET", PATH + path, query={"cursor": cursor} | query)
        assert (refused.status, refused.body["errors"][0]["field"]) == (400, "cursor"), (path, query)
    assert gateway.send("GET", "/v1/queues", query={"cursor": cursor}).status == 400


def test_jobs_are_deleted_by_key_and_dead_ones_by_id(gateway, queue):
    die(queue, "dead")
    (dead,) = get(gateway, f"{PATH}/jobs", state="dead")["jobs"]
    queue.add_all(["busy"])
    queue.take(1, wait=0).__enter__()
    queue.add_all([NewJob("a", item_id=item_named("i")), NewJob("late", delay=60)])
    body = {"keys": ["a", "late", "busy", "none", "a"], "deadIds": [dead["deadId"]]}
    first, again = (post(gateway, "jobs/delete", body) for _ in range(2))

    assert {job["key"]: job["outcome"] for job in first["jobs"]} == {
        "a": "deleted",
        "late": "deleted",
        "busy": "inProgress",
        "none": "notFound",
    }
    assert first["dead"] == [{"deadId": dead["deadId"], "outcome": "deleted"}]
    assert {each["outcome"] for each in (*again["jobs"], *again["dead"])} == {"inProgress", "notFound"}
    parts = queue.context.parts()
    (entry,) = (entry for part in parts for entry in queue.context.store.outbox(part))
    assert (entry.item_id, entry.failed, entry.reason) == (item_named("i"), True, "the job was deleted")
    assert get(gateway)["depth"] | {"accuracy": ""} == {
        "queued": 0,
        "inProgress": 1,
        "delayed": 0,
        "dead": 0,
        "accuracy": "",
    }


MALFORMED = [
    ("dead/revive", {}),
    ("dead/revive", {"all": False}),
    ("dead/revive", {"all": True, "deadIds": ["AAAA"]}),
    ("dead/revive", {"deadIds": []}),
    ("dead/revive", {"deadIds": ["AAAA"] * 101}),
    ("dead/revive", {"deadIds": ["AAAA"], "cursor": "AAAA"}),
    ("dead/revive", {"deadIds": ["AA"]}),
    ("dead/revive", {"deadIds": ["a b"]}),
    ("dead/revive", {"all": True, "cursor": "AAAA"}),
    ("jobs/delete", {}),
    ("jobs/delete", {"keys": []}),
    ("jobs/delete", {"keys": ["a"] * 101}),
    ("jobs/delete", {"keys": [""]}),
    ("jobs/delete", {"keys": [7]}),
    ("jobs/delete", {"deadIds": ["!"]}),
]


@pytest.mark.parametrize(("action", "body"), MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_body_is_refused(gateway, queue, action, body):
    refused = post(gateway, action, body, status=400)

    assert refused["type"] == "urn:fanin:problem:invalid-request"
