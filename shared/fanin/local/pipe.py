"""The template's EventBridge Pipe: the emulator creates the resource but delivers nothing to a bus.

Source, filter, enrichment, target, retries and dead-letter queue are read from the template. As on AWS,
delivery is at least once, in the order of the stream.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from fanin.local.errors import LocalRunError

if TYPE_CHECKING:
    from moto.events.models import EventPattern

Record = dict[str, Any]
PATH = "$."


class Undelivered(Exception):
    """The enrichment or the bus failed, or an event has no detail type; the records are retried."""


@dataclass(frozen=True, slots=True)
class Pipe:
    """A Pipe from a DynamoDB stream through a Lambda function to an event bus.

    ``table``: name of the source table; ``enrichment``: name of the function; ``bus``: name of the bus;
    ``detail_type``: the detail type of every event, or a JSON path (``$.a.b``) to it in an event's detail;
    ``dead_letter_queue``: URL of the queue, or None; ``retries``: attempts after the first.
    """

    table: str
    patterns: tuple[EventPattern, ...]
    batch_size: int
    retries: int
    enrichment: str
    bus: str
    source: str
    detail_type: str
    dead_letter_queue: str | None

    @classmethod
    def of(cls, template: Mapping[str, Any], physical_ids: Mapping[str, str]) -> Pipe:
        """Return the one Pipe of *template*, with the physical ids of its resources."""
        pipes = [each for each in template["Resources"].values() if each["Type"] == "AWS::Pipes::Pipe"]
        if len(pipes) != 1:
            raise LocalRunError(f"the template has {len(pipes)} Pipes; the local run carries out exactly one")
        properties = pipes[0]["Properties"]
        given = properties["SourceParameters"]
        stream = given["DynamoDBStreamParameters"]
        target = properties["TargetParameters"]["EventBridgeEventBusParameters"]
        dead_letter_queue = stream.get("DeadLetterConfig")
        return cls(
            table=physical_ids[referred(properties["Source"])],
            patterns=tuple(_pattern(each) for each in given.get("FilterCriteria", {}).get("Filters", [])),
            batch_size=stream.get("BatchSize", 100),
            retries=stream.get("MaximumRetryAttempts", 20),
            enrichment=physical_ids[referred(properties["Enrichment"])],
            bus=physical_ids[referred(properties["Target"])],
            source=target["Source"],
            detail_type=target["DetailType"],
            dead_letter_queue=physical_ids[referred(dead_letter_queue["Arn"])] if dead_letter_queue else None,
        )

    def wants(self, record: Record) -> bool:
        """Return whether *record* matches one of the filter's patterns, or there is no filter."""
        return not self.patterns or any(pattern.matches_event(cast(Any, record)) for pattern in self.patterns)

    def entries(self, details: Sequence[Any]) -> list[dict[str, str]]:
        """Return a PutEvents entry for each of *details*, the enrichment's result.

        Raises Undelivered for an element without a text at the path of the detail type.
        """
        common = {"Source": self.source, "EventBusName": self.bus}
        return [
            {**common, "DetailType": resolved(self.detail_type, detail), "Detail": json.dumps(detail)}
            for detail in details
        ]


def resolved(parameter: str, payload: Any) -> str:
    """Return a target's *parameter*, or the text at it in *payload* if it is a JSON path (``$.a.b``)."""
    if not parameter.startswith(PATH):
        return parameter
    found = payload
    for name in parameter.removeprefix(PATH).split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if not found or not isinstance(found, str):
        raise Undelivered(f"the result of the enrichment has no text at {parameter}")
    return found


def referred(value: Any) -> str:
    """Return the logical id in a ``Ref`` or an ``Fn::GetAtt``."""
    if isinstance(value, dict) and "Ref" in value:
        return str(value["Ref"])
    if isinstance(value, dict) and "Fn::GetAtt" in value:
        return str(value["Fn::GetAtt"][0])
    raise LocalRunError(f"the Pipe names {value!r}, not a resource of its own stack")


def as_delivered(record: Record, stream_arn: str) -> Record:
    """Return *record* of GetRecords as a Pipe passes it: plain JSON, with the ARN of its stream."""
    plain: Record = json.loads(json.dumps(record, default=_plain))
    return {**plain, "eventSourceARN": stream_arn}


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(f"a stream record holds {type(value).__name__}")


def _pattern(each: Mapping[str, str]) -> EventPattern:
    from moto.events.models import EventPattern  # noqa: PLC0415  # where it is missing, `require` says so

    return EventPattern.load(each["Pattern"])
