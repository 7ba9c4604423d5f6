"""Deliveries of single messages, by how often each was received, and their outcomes."""

from __future__ import annotations

from tests.client.conftest import sqs_event

DELETED = {"batchItemFailures": []}
RETURNED = {"batchItemFailures": [{"itemIdentifier": "m0"}]}


def received(item, times=1, message="m0"):
    event = sqs_event(item, times=times)
    event["Records"][0]["messageId"] = message
    return event


def delivered(fanin, item, function, times=1, **options):
    return fanin.acks(**options)(function)(received(item, times), None)


def acked(batch):
    status = batch.status()
    return status.acked, status.failed


def some_seconds_later(fanin):
    """Have the transport over HTTP forget the states that it has read; on the tables it does so at once."""
    if states := getattr(fanin._transport, "_states", None):
        states.known.clear()
