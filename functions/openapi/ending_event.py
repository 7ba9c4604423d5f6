"""Generates the JSON schema of the ending event: ``python -m functions.openapi.ending_event``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from fanin.api.ending_event import RANGES_IN_EVENT, EndingEvent
from fanin.names import camel
from fanin.tracker.events import EVENT_TYPES, is_optional

ABOUT = {
    "event_id": "The same each time the event of this batch is sent: compare it to act once.",
    "detail_type": "The detail-type of the event.",
    "tenant": "The owner of the batch.",
    "batch_id": "The batch.",
    "user_key": "Your name for the batch.",
    "result": "How the batch ended: succeeded, completed_with_failures, too_many_failures, cancelled, ...",
    "reason": "Why it was ended: the reason of a cancel, deadline, inactivity.",
    "total": "The number of items that were added.",
    "failed": "How many of the acked items failed.",
    "opened_at": "When the batch was opened.",
    "closed_at": "When its total became final.",
    "completed_at": "When its last item was acked; null unless every item is.",
    "ended_at": "When it ended.",
    "labels": "The labels of the batch.",
    "acked": "At least so many items are acked.",
    "upper_bound": "At most so many items are acked.",
    "exact": "Whether acked is exact, and so upperBound the same.",
    "outstanding": "total less acked: at most so many items are outstanding.",
    "ranges": f"The first outstanding items, in at most {RANGES_IN_EVENT} ranges.",
    "more_ranges": "Whether more items are outstanding than those of ranges.",
    "callback": "The callback that gets the event; absent if the batch has none.",
    "ended_by": "Who forced the end; absent otherwise.",
    "origin_batch_id": "The batch whose items it repeats; absent if it is no reopened one.",
    "resumes": "True where a Step Functions task waits for the end; absent otherwise.",
}
INSTANT: dict[str, Any] = {"type": "string", "format": "date-time"}
PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": 0},
    bool: {"type": "boolean"},
}
RANGE = {
    "type": "object",
    "description": "The items from to to, both inclusive, of a group.",
    "properties": {"groupId": PLAIN[str], "from": PLAIN[int], "to": PLAIN[int]},
    "required": ["groupId", "from", "to"],
}


def document() -> dict[str, Any]:
    """Return the schema. A field that EndingEvent gets needs its line in ``ABOUT``."""
    hints = get_type_hints(EndingEvent)
    shown = {fact.name: _schema(hints[fact.name], is_optional(fact)) for fact in fields(EndingEvent)}
    shown["detail_type"] = {"enum": list(EVENT_TYPES.values())}
    about = {name: schema | {"description": ABOUT[name]} for name, schema in shown.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The detail of an ending event of fanin",
        "type": "object",
        "properties": {camel(name): schema for name, schema in about.items()},
        "required": [camel(fact.name) for fact in fields(EndingEvent) if not is_optional(fact)],
    }


def _schema(hint: Any, optional: bool) -> dict[str, Any]:
    """Return the schema of a field; one that is absent where it has no value is never null."""
    if isinstance(hint, UnionType):
        (kind,) = (each for each in get_args(hint) if each is not NoneType)
        known = _schema(kind, optional)
        return known if optional else {"anyOf": [known, {"type": "null"}]}
    if hint is datetime:
        return INSTANT
    if get_origin(hint) is tuple:
        return {"type": "array", "maxItems": RANGES_IN_EVENT, "items": RANGE}
    if get_origin(hint) is Mapping:
        return {"type": "object", "additionalProperties": PLAIN[str]}
    return PLAIN[hint]


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
