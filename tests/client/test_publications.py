"""An object that the stack publishes, as a user starts and watches it."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from types import SimpleNamespace

import pytest

from fanin import (
    AsyncFanin,
    BatchEnded,
    Fanin,
    InvalidRequest,
    KeyReused,
    PublicationOptions,
    Retention,
    State,
)
from fanin.api.requests.publication_requests import StartPublicationBody
from fanin.client.argument_checks.opening import spec_of
from fanin.client.argument_checks.publishing import OF_MESSAGES, publication_of
from fanin.client.transports.direct import DirectTransport
from fanin.s3_publications.service import Publications
from fanin.testing import FakeFanin
from functions.wiring import s3_publications

SOURCE = "s3://lake/in/rows.jsonl"
BATCH = "0b1c2d3e-0000-4000-8000-000000000000"
QUEUE = "arn:aws:sqs:us-east-1:123456789012:work"
GIVEN = PublicationOptions(
    user_key="rows",
    chunk=50,
    rate=2.5,
    message_group="g",
    deadline=timedelta(hours=1),
    callback="hook",
    task_token="AQCE",
    on_failures="fail",
    mode="exact",
    parent=f"{BATCH}:{BATCH}:0",
    parent_fails_on="any",
    max_failures=5,
    max_failure_percent=50,
    failure_sample=10,
    min_succeeded=7,
    min_succeeded_percent=90,
    max_items=9,
    max_cost=0.5,
    retention=Retention(open=3600),
    notify_at=["50%"],
    stuck_after=600,
    results=True,
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


@pytest.fixture
def sent(tracker, monkeypatch):
    """The messages to the function that publishes; there is one object, which it has not read."""
    kept, sent = {}, []
    positions = SimpleNamespace(
        create=lambda batch, first: kept.setdefault(batch.batch_id, first),
        get=lambda batch: kept.get(batch.batch_id),
    )
    bucket = SimpleNamespace(list_objects_v2=lambda **_: {"Contents": [{"Key": "in/rows.jsonl"}]})
    publications = Publications(
        tracker, positions, bucket, None, lambda body, _: sent.append(json.loads(body))
    )
    monkeypatch.setattr(s3_publications, "check", lambda _order: None)
    monkeypatch.setattr(s3_publications, "publications", lambda *_: publications)
    return sent


def test_the_stack_gets_the_options_and_closes_the_batch_itself(over_http, sent):
    of_order = {name: GIVEN[name] for name in ("user_key", "chunk", "rate", "message_group", "deadline")}
    with over_http.publish_object(SOURCE, QUEUE, **of_order) as batch:
        found = over_http.publication(batch.id)
    (message,) = sent
    order = message["publication"]
    status = batch.status()

    assert (order["source"], order["queue"], order["chunk"], order["rate"], order["group"]) == (
        *(SOURCE, QUEUE, 50, 2.5, "g"),
    )
    assert (status.user_key, status.state) == ("rows", State.OPEN)
    assert status.deadline_at == status.created_at + timedelta(hours=1)
    assert (found.batch_id, found.source, found.user_key) == (batch.id, SOURCE, "rows")
    assert (found.rows, found.read_bytes, found.size_bytes, found.is_published) == (0, 0, None, False)
    assert batch.cancel("withdrawn").state is State.CANCELLED
    assert over_http.publication(batch.id).reason == "withdrawn"


def test_a_call_under_a_key_is_repeated_without_an_effect_and_refused_once_its_batch_has_ended(
    service, over_http, sent
):
    async def published(**options):
        client = AsyncFanin(service.url)
        batch = await client.publish_object(SOURCE, QUEUE, **options)
        return (await client.publication(batch.id)).batch_id

    first = over_http.publish_object(SOURCE, QUEUE, key="k")
    assert asyncio.run(published(key="k")) == first.id
    assert asyncio.run(published()) != first.id
    with pytest.raises(KeyReused):
        over_http.publish_object(SOURCE, QUEUE, key="k", chunk=2)
    first.cancel()
    with pytest.raises(BatchEnded):
        over_http.publish_object(SOURCE, QUEUE, key="k")


def test_each_field_of_the_request_is_an_option():
    of_callback = {"durable_callback_id": "QUJD", "deadline": 3600, "mode": "estimated"}
    bodies = [publication_of(SOURCE, QUEUE, options) for options in (GIVEN, of_callback)]
    names = {field.alias or name for name, field in StartPublicationBody.model_fields.items()}

    assert {name for body in bodies for name in body} == names
    assert PublicationOptions.__annotations__.keys() == GIVEN.keys() | of_callback.keys()
    spec = StartPublicationBody(**json.loads(json.dumps(bodies[0]))).spec()
    options = {name: value for name, value in GIVEN.items() if name not in OF_MESSAGES}
    assert spec == spec_of(options.pop("user_key"), options)
    assert StartPublicationBody(**bodies[1]).spec().token.text == "QUJD"


BAD = {
    "source": {"source": 7},
    "queue": {"queue": None},
    "user_key": {"user_key": ""},
    "chunk": {"chunk": 10_001},
    "rate": {"rate": "7"},
    "message_group": {"message_group": 7},
    "max_failures": {"max_failures": 0},
    "deadline": {"deadline": -1},
    "task_token": {"task_token": "a b"},
    "key": {"key": "ä"},
}


@pytest.mark.parametrize("name", BAD)
def test_an_argument_out_of_form_is_named_and_nothing_is_sent(service, over_http, name):
    with pytest.raises(InvalidRequest) as refused:
        over_http.publish_object(**{"source": SOURCE, "queue": QUEUE} | BAD[name])

    assert (refused.value.field, service.seen) == (name, [])


def test_what_the_service_refuses_is_named_as_the_argument_and_a_typing_error_is_one(over_http, sent):
    with pytest.raises(InvalidRequest, match="message_group") as refused:
        over_http.publish_object(SOURCE, QUEUE, message_group="a b")
    assert refused.value.field == "message_group"
    with pytest.raises(TypeError, match="labels"):
        over_http.publish_object(SOURCE, QUEUE, labels={"a": "b"})


def test_without_a_stack_no_object_is_published(tracker):
    for client in (Fanin(DirectTransport(tracker, "t")), FakeFanin()):
        for call in (
            lambda client: client.publish_object(SOURCE, QUEUE),
            lambda client: client.publication(client.open().id),
        ):
            with pytest.raises(InvalidRequest, match="publish over HTTP"):
                call(client)
