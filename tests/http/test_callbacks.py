"""Callbacks on the local run: an event and a threshold reach a queue, a topic and a signed webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from fanin.settings.settings_file import VARIABLE, SettingsFile
from fanin.tracker import Tracker
from lab.local.races import Api
from tests.http.callbacks import CALLBACKS, QUEUE, TOPIC
from tests.http.test_lifecycle import later, opened
from tests.polling import eventually

KEY = "k" * 32


class Receiver(BaseHTTPRequestHandler):
    """A webhook that refuses the first request of each event, and remembers all of them."""

    got: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event_id = self.headers["Fanin-Event-Id"]
        seen = [each for each in self.got if each[0] == event_id]
        self.got.append((event_id, self.headers["Fanin-Signature"], body))
        self.send_response(204 if seen else 503)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module", autouse=True)
def configured(run: LocalRun) -> Iterator[None]:
    """A server for the webhook, whose port no synthesis knows, and a secret."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    secret = run.client("secretsmanager").create_secret(Name="webhook", SecretString=KEY)["ARN"]
    url = f"http://127.0.0.1:{server.server_port}/"
    rows = [each | ({"url": url, "secret": secret} if "url" in each else {}) for each in CALLBACKS]
    file = SettingsFile(callbacks=rows)
    functions.configure(run.client("lambda"), ["call_webhook"], {VARIABLE: file.to_json()})
    yield
    server.shutdown()
    server.server_close()


def received(run: LocalRun, url: str) -> list[Any]:
    messages = run.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
    return [json.loads(message["Body"]) for message in messages.get("Messages", [])]


def test_a_queue_gets_the_threshold_and_the_end_of_the_batch_that_names_it(
    run: LocalRun, api: Api, tracker: Tracker
) -> None:
    url = run.client("sqs").create_queue(QueueName=QUEUE.rpartition(":")[2])["QueueUrl"]
    batch, items = opened(api, 4, callback="orders", notifyAt=["50%"], labels={"a": "b"})
    other, _ = opened(api)
    api.close(batch)
    api.close(other)
    api.ack(*items[:2])
    later(tracker, timedelta(minutes=2)).sweep()
    api.ack(*items[2:])
    got: dict[str, Any] = {}
    eventually(lambda: got.update({each["eventId"]: each for each in received(run, url)}) or len(got) == 2)

    half, end = got[f"{batch}:50"], got[f"{batch}:COMPLETE"]
    assert (half["detailType"], half["threshold"], half["acked"], half["total"]) == (
        "BatchProgress",
        "50%",
        2,
        4,
    )
    assert (end["detailType"], end["result"], end["labels"], end["callback"]) == (
        "BatchCompleted",
        "succeeded",
        {"a": "b"},
        "orders",
    )


def test_a_topic_gets_the_end(run: LocalRun, api: Api) -> None:
    sns, sqs = run.client("sns"), run.client("sqs")
    topic = sns.create_topic(Name=TOPIC.rpartition(":")[2])["TopicArn"]
    url = sqs.create_queue(QueueName="subscribed")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    batch, _ = opened(api, callback="people")
    api.close(batch)
    events = eventually(lambda: received(run, url))

    # Delivery is at least once: the event may come twice.
    assert {(each["eventId"], each["callback"]) for each in events} == {(f"{batch}:COMPLETE", "people")}


def test_a_webhook_gets_the_end_signed_and_it_is_kept_after_a_503(run: LocalRun, api: Api) -> None:
    batch, _ = opened(api, callback="hook")
    api.close(batch)
    (_, signed, body), *_ = eventually(lambda: [each for each in Receiver.got if each[0].startswith(batch)])
    sent_at, digest = signed.removeprefix("t=").split(",v1=")

    assert json.loads(body)["eventId"] == f"{batch}:COMPLETE"
    assert digest == hmac.new(KEY.encode(), sent_at.encode() + b"." + body, hashlib.sha256).hexdigest()
    queue = run.client("sqs").get_queue_url(QueueName=_webhooks(run))["QueueUrl"]
    counts = ["ApproximateNumberOfMessagesNotVisible"]
    hidden = run.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=counts)["Attributes"]
    assert hidden == {counts[0]: "1"}, "it is hidden until its next attempt"


def _webhooks(run: LocalRun) -> str:
    """The name of the queue of the webhook."""
    urls = run.client("sqs").list_queues()["QueueUrls"]
    (name,) = {each.rpartition("/")[2] for each in urls if "Webhookshook" in each}
    return name
