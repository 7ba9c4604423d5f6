"""Builds what the consumers of the stack's own queues share, without the tracker, which some do not need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from fanin.aws import clients
from fanin.aws.messaging.kept_messages import kept_message
from fanin.aws.messaging.move_to_queue import Isolation
from fanin.aws.messaging.visibility import Visibility
from fanin.errors import InvalidRequest
from fanin.settings.tracking import Settings


def keep(event: Mapping[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """Copy the messages that *response* deletes, if the stack keeps them; those not copied return.

    A message is copied before it is deleted, so a crash between leaves two copies, and never none.
    """
    url = settings().kept_messages_queue
    returned = response["batchItemFailures"]
    failed = {each["itemIdentifier"] for each in returned}
    deleted = [record for record in event["Records"] if record["messageId"] not in failed]
    if not url or not deleted:
        return response
    copied = set(_copying_to(url).isolate(deleted))
    not_copied = [record["messageId"] for record in deleted if record["messageId"] not in copied]
    return {"batchItemFailures": [*returned, *({"itemIdentifier": message_id} for message_id in not_copied)]}


def park(records: Sequence[Mapping[str, Any]]) -> Collection[str]:
    """Copy dead-letter messages that match no item to the queue for them, and return the ids of those copied.

    Left in their queue they would be hidden for hours, and so in flight.
    """
    url = settings().own_dead_letter_queue
    return _copying_to(url).isolate(records) if url else ()


def _copying_to(url: str) -> Isolation:
    """Return what sends messages to the queue at *url* with their attributes, their item and their queue."""
    from fanin.client.consuming.records import named_item  # noqa: PLC0415  # most consumers start without the tracker

    return Isolation(clients.sqs(), url, partial(kept_message, item_id_of=named_item))


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return the settings in the environment. Raises RuntimeError, because callers cannot correct them."""
    try:
        return Settings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


def isolate(records: Sequence[Mapping[str, Any]]) -> Collection[str]:
    """Send invalid messages to the dead-letter queue of their queue, and return the ids of those sent."""
    url = settings().own_dead_letter_queue
    return Isolation(clients.sqs(), url).isolate(records) if url else ()


def hide(queue_arn: str, pauses: Mapping[str, int]) -> None:
    """Hide messages that return to their queue; the SQS client is created at the first call."""
    _visibility().hide(queue_arn, pauses)


@lru_cache(maxsize=1)
def _visibility() -> Visibility:
    return Visibility(clients.sqs())
