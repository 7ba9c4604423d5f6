"""What is kept of a dead-letter message: its body, its attributes and its item, in another message.

The body and the attributes are those of the message, so they fit into a message. What is added only says what
the message contains already, or where it came from, and is left out where it does not fit.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

ATTRIBUTES_MAX = 10
"""Attributes of a message: Amazon SQS message quotas."""
BYTES_MAX = 262_144
"""A message to which nothing is added above this size, which every queue accepts unless configured lower."""
Attribute = dict[str, Any]


def kept_message(record: Mapping[str, Any], item_id_of: Callable[[Any], str]) -> dict[str, Any]:
    """Return the body and the attributes of the message that keeps *record*, as Lambda passes it."""
    own = record.get("messageAttributes") or {}
    attributes = {name: _attribute(value) for name, value in own.items()}
    size = len(record["body"].encode()) + sum(size_of(*named) for named in attributes.items())
    for name, text in _facts(record, item_id_of).items():
        added = {"DataType": "String", "StringValue": text}
        size += size_of(name, added)
        if name in attributes or len(attributes) == ATTRIBUTES_MAX or size > BYTES_MAX:
            break
        attributes[name] = added
    return {"MessageBody": record["body"], "MessageAttributes": attributes}


def _facts(record: Mapping[str, Any], item_id_of: Callable[[Any], str]) -> dict[str, str]:
    """Return what is added, the most useful first."""
    facts = {
        "fanin.itemId": item_id_of(record),
        "fanin.queueArn": record.get("eventSourceARN"),
        "fanin.messageGroupId": (record.get("attributes") or {}).get("MessageGroupId"),
        "fanin.messageId": record["messageId"],
    }
    return {name: str(fact) for name, fact in facts.items() if fact}


def _attribute(given: Mapping[str, Any]) -> Attribute:
    """Return a message attribute in the form of a request; Lambda passes bytes in base64."""
    kind = {"DataType": given["dataType"]}
    if given.get("binaryValue") is not None:
        return kind | {"BinaryValue": base64.b64decode(given["binaryValue"])}
    return kind | {"StringValue": given["stringValue"]}


def size_of(name: str, attribute: Attribute) -> int:
    """Return the bytes of an attribute of a message, which count as those of the body do."""
    value = attribute.get("BinaryValue") or str(attribute.get("StringValue", "")).encode()
    return len(name.encode()) + len(attribute["DataType"].encode()) + len(value)
