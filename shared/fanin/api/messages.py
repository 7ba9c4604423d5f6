"""SQS messages that are acks: as strict as the HTTP edge, without what it costs to import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin.api import strict_json
from fanin.errors import InvalidRequest

BODY_MAX = 1024
"""Characters of a message: an item id has less than 100."""


def acked_item(record: Mapping[str, Any]) -> str:
    """The item that *record* says is done: its body is the id, or ``{"itemId": <id>}`` and nothing else.

    Raises InvalidRequest for any other message: one that says more may say something that this version
    would get wrong, such as a failure.
    """
    body: str = record["body"].strip()
    if len(body) > BODY_MAX:
        raise InvalidRequest("an ack is a short message")
    if not body.startswith("{"):
        return body
    document = strict_json.parse(body)
    if document.keys() != {"itemId"} or not isinstance(document["itemId"], str):
        raise InvalidRequest("an ack is an item id, or an object with an itemId and nothing else")
    return document["itemId"]
