"""The rules for requests of EventBridge, Lambda and Step Functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fanin.local.request_rules.refusal import Refused

PUT_EVENTS = "EventBridge API Reference, PutEvents"
SIZES = "EventBridge User Guide, Calculating PutEvents event entry size"
LAMBDA = "Lambda API Reference, Invoke"
STATES = "Step Functions API Reference, SendTaskSuccess and SendTaskFailure"
ENTRIES_MAX = 10
# The smallest of the limits that AWS documents for a request: 1 MB in some Regions, 256 KB in all.
BYTES_MAX = 256 * 1024
TIME_BYTES = 14
SYNCHRONOUS_BYTES, ASYNCHRONOUS_BYTES = 6 * 1024 * 1024, 1024 * 1024
OUTPUT_BYTES, ERROR_MAX, CAUSE_MAX = 262_144, 256, 32_768

Request = Mapping[str, Any]


def check_put_events(request: Request) -> None:
    """Check the events of one request."""
    entries = request["Entries"]
    if not 1 <= len(entries) <= ENTRIES_MAX:
        raise Refused("ValidationException", f"{len(entries)} entries, and 1 to 10 are allowed", PUT_EVENTS)
    found = sum(map(_size, entries))
    if found >= BYTES_MAX:
        detail = f"Bytes of the entries: {found:,}, and less than {BYTES_MAX:,} are allowed"
        raise Refused("ValidationException", detail, SIZES)


def _size(entry: Request) -> int:
    for name in ("Source", "DetailType", "Detail"):
        if not entry.get(name):
            raise Refused("InvalidArgument", f"Parameter {name} is not valid: it is needed", PUT_EVENTS)
    try:
        detail = json.loads(entry["Detail"])
    except ValueError:
        detail = None
    if not isinstance(detail, dict):
        raise Refused("MalformedDetail", "Detail is malformed: it is no JSON object", PUT_EVENTS)
    texts = [entry["Source"], entry["DetailType"], entry["Detail"], *entry.get("Resources", ())]
    return (TIME_BYTES if entry.get("Time") else 0) + sum(len(each.encode()) for each in texts)


def check_invoke(request: Request) -> None:
    """Check the payload of an invocation."""
    payload = request.get("Payload") or b""
    size = len(payload.encode() if isinstance(payload, str) else payload)
    is_event = request.get("InvocationType") == "Event"
    most = ASYNCHRONOUS_BYTES if is_event else SYNCHRONOUS_BYTES
    if size > most:
        raise Refused("RequestEntityTooLargeException", f"{size:,} bytes, and {most:,} are allowed", LAMBDA)


def check_task(request: Request) -> None:
    """Check the end of a Step Functions task: its output by bytes, its error and cause by characters."""
    _check_text("bytes of the output", len((request.get("output") or "").encode()), OUTPUT_BYTES)
    _check_text("characters of the error", len(request.get("error") or ""), ERROR_MAX)
    _check_text("characters of the cause", len(request.get("cause") or ""), CAUSE_MAX)


def _check_text(field: str, found: int, most: int) -> None:
    if found > most:
        raise Refused("ValidationException", f"{field}: {found:,}, and at most {most:,} are allowed", STATES)


OPERATIONS: dict[str, Callable[[Request], None]] = {
    "PutEvents": check_put_events,
    "Invoke": check_invoke,
    "SendTaskSuccess": check_task,
    "SendTaskFailure": check_task,
}
