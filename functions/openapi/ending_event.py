"""Generates the JSON schema of the ending event: ``python -m functions.openapi.ending_event``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from fanin.api.bus_events.progress_event import ProgressEvent
from fanin.api.requests.option_types import ANSWER_TYPES
from fanin.completion_events.ending_event import RANGES_IN_EVENT, EndingEvent
from fanin.names import BATCH_PROGRESS, camel
from fanin.tracker.events import EVENT_TYPES, is_optional
from fanin.tracker.rules.model import Manifest
from fanin.tracker.rules.options import IN_EVENT, Threshold

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ABOUT = {
    "event_id": "The same each time the event of this batch is sent: compare it to act once.",
    "detail_type": "The detail-type of the event.",
    "tenant": "The owner of the batch.",
    "batch_id": "The batch.",
    "user_key": "Your name for the batch.",
    "result": "How the batch ended: succeeded, completed_with_failures, enough, too_many_failures, ...",
    "reason": "Why it was ended: the reason of a cancel, deadline, inactivity, age.",
    "total": "The number of items that were added.",
    "failed": "How many of the acked items failed.",
    "opened_at": "When the batch was opened.",
    "closed_at": "When its total became final.",
    "completed_at": "When its last item was acked, or enough had succeeded; null for every other end.",
    "ended_at": "When it ended.",
    "labels": "The labels of the batch.",
    "acked": "At least so many items are acked.",
    "upper_bound": "At most so many items are acked.",
    "exact": "Whether acked is exact, and so upperBound the same.",
    "outstanding": "total less acked: at most so many items are outstanding.",
    "ranges": f"The first outstanding items, in at most {RANGES_IN_EVENT} ranges.",
    "more_ranges": "Whether more items are outstanding than those of ranges.",
    "ended_by": "The principal that forced the end; absent from other events.",
    "origin_batch_id": "The batch whose items this one reopens; absent if it reopens none.",
    "reached": "The succeeded items, at least, that were enough; absent unless they ended it.",
    "callback": "The callback that the batch names; absent if it names none.",
    "resumes": "True where a Step Functions task or a durable function waits for the end; absent otherwise.",
    "results": "The parts of the results that the batch keeps, fixed by its end; absent if it keeps none.",
}
ABOUT_PROGRESS = {
    **{name: ABOUT[name] for name in ("tenant", "batch_id", "user_key", "opened_at", "labels", "callback")},
    **{name: ABOUT[name] for name in ("failed", "acked", "upper_bound", "exact", "detail_type")},
    "event_id": "The same each time the event of this threshold is sent: compare it to act once.",
    "threshold": "What the batch had reached.",
    "stall": "Which stall of the batch it is, from 1; absent unless the threshold is stuck.",
    "reached_at": "When the sweep saw it.",
    "total": "The number of items of the batch at that time.",
    "estimate": "How many items are probably acked: a percentage is of this number.",
}
INSTANT: dict[str, Any] = {"type": "string", "format": "date-time"}
PRIMITIVES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": 0},
    bool: {"type": "boolean"},
}
RANGE = {
    "type": "object",
    "description": "The items from to to, both inclusive, of a group.",
    "properties": {"groupId": PRIMITIVES[str], "from": PRIMITIVES[int], "to": PRIMITIVES[int]},
    "required": ["groupId", "from", "to"],
}


MANIFEST = {
    "type": "object",
    "properties": {"manifest": PRIMITIVES[str], "parts": PRIMITIVES[int], "bytes": PRIMITIVES[int]},
    "required": ["manifest", "parts", "bytes"],
}


def document() -> dict[str, Any]:
    """Return the schema. A field that an event gets needs its line in ``ABOUT`` or ``ABOUT_PROGRESS``.

    The schema of the event of a threshold is its part ``#/$defs/BatchProgress``.
    """
    ending = {"detail_type": {"enum": list(EVENT_TYPES.values())}}
    live = {"detail_type": {"enum": [BATCH_PROGRESS]}, "threshold": {"enum": list(Threshold)}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The detail of an ending event of fanin",
        **_object(EndingEvent, ABOUT, ending, _given()),
        "$defs": {BATCH_PROGRESS: _object(ProgressEvent, ABOUT_PROGRESS, live, {})},
    }


def _given() -> dict[str, Any]:
    """Return the schemas of the options of a batch that its ending event has."""
    types = {each: PRIMITIVES[ANSWER_TYPES[type(each.kind)](each.kind)] for each in IN_EVENT}
    return {each.field: schema | {"description": each.in_event} for each, schema in types.items()}


def _object(
    model: type[DataclassInstance],
    about: Mapping[str, str],
    named: Mapping[str, Any],
    given: dict[str, Any],
) -> Any:
    """Return the schema of *model*; *named*: the schemas of fields whose values are listed.

    *given*: the properties of what its field ``options`` holds.
    """
    hints = get_type_hints(model)
    own = [fact for fact in fields(model) if fact.name != "options"]
    known = {fact.name: _schema(hints[fact.name], is_optional(fact)) for fact in own} | dict(named)
    return {
        "type": "object",
        "properties": {camel(name): known[name] | {"description": about[name]} for name in known} | given,
        "required": [camel(fact.name) for fact in own if not is_optional(fact)],
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
        return {"type": "object", "additionalProperties": PRIMITIVES[str]}
    return MANIFEST if hint is Manifest else PRIMITIVES[hint]


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
