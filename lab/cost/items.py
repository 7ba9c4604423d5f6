"""What it costs to ack a full page of items, by each of the ways to ack, counted on the handlers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any

from fanin.cost import Usage
from fanin.cost.sizes import size_of
from fanin.tracker import Ack, OpenBatch
from functions.wiring import tracking
from lab.cost.month import GB
from lab.cost.running import Counted, invoke
from lab.cost.stack import ACCOUNT, Stack
from lab.cost.units import UnitMeter

PAGE = 1024
# DynamoDB adds this to the size of a stored item.
ROW_OVERHEAD = 100
SAMPLES = 3
PER_REQUEST = 10
"""Messages that SQS sends, receives or deletes in one request."""
Event = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """The units of acking a page, *together* items at a time: of the tables, and of the function that acks.

    *row*: bytes of the page when it is full. *metrics*: those that the function emits and a sweeper does not.
    """

    together: int
    tables: Usage
    function: Usage
    row: int
    metrics: frozenset[tuple[str, ...]]

    def acks(self, items: float) -> Usage:
        """Return the units of the tables for *items* items, with their pages for a month."""
        gigabytes = items / PAGE * (self.row + ROW_OVERHEAD) / GB
        kept = Usage({"table_gb_month": gigabytes, "recovery_gb_month": gigabytes})
        return self.tables.times(items / PAGE) + kept

    def by_function(self, items: float) -> Usage:
        """Return the units of acks by the function: its invocations, logs and metrics too, without traces."""
        own = self.function.times(items / PAGE)
        return self.acks(items) + own + Usage({"custom_metric": len(self.metrics)})

    def by_queue(self, items: float) -> Usage:
        """Return the units of acks by messages: each is also sent, received and deleted."""
        messages = Usage({"queue_request": 3 * ceil(self.together / PER_REQUEST) * items / self.together})
        return self.by_function(items) + messages

    def by_api(self, items: float) -> Usage:
        """Return the units of acks by requests to the API."""
        return self.by_function(items) + Usage({"api_request": items / self.together})


def ack_page(stack: Stack, meter: UnitMeter, handler: str, together: int) -> Page:
    """Count how *handler* acks a page of a new batch, *together* neighbours in each event.

    The last events are counted, when the page's row is largest: one that fills the page, and some before.
    """
    # Consumers cache a batch for seconds. Counted is the most: a read for each event.
    tracking.transport().tracker.fresh_for = timedelta(0)
    group = _open()
    events = ceil(PAGE / together)
    before = max(0, events - SAMPLES - 1)
    if before:
        tracking.tracker().ack(ACCOUNT, [Ack(*group, 0, before * together - 1, "before")])
    usages, counted = [], Counted()
    for number in range(before, events):
        counted = Counted()
        _check(invoke(stack, meter, handler, EVENTS[handler](_items(group, number, together)), counted))
        usages.append(counted.usage(stack.gigabytes(handler)))
    return _page(together, _whole(usages, events), _row(stack, meter, group), counted.metrics)


def _open() -> tuple[str, str]:
    """Open a batch of two pages and return the ids of the batch and of its group."""
    batch = tracking.tracker().open(ACCOUNT, OpenBatch()).batch_id
    return batch, tracking.tracker().add(ACCOUNT, batch, 2 * PAGE).groups[0].id


def _items(group: tuple[str, str], number: int, together: int) -> list[str]:
    first = number * together
    return [f"{group[0]}:{group[1]}:{index}" for index in range(first, min(first + together, PAGE))]


def _whole(usages: list[Usage], events: int) -> Usage:
    """Return the units of a page of *events* events: the last fills the page, the others are alike."""
    *alike, last = usages
    return sum(alike, Usage()).times((events - 1) / len(alike)) + last


def _page(together: int, whole: Usage, row: int, metrics: set[tuple[str, ...]]) -> Page:
    tables = {name: amount for name, amount in whole.units.items() if name.endswith("_unit")}
    function = {name: amount for name, amount in whole.units.items() if name not in tables}
    return Page(together, Usage(tables), Usage(function), row, frozenset(metrics))


def _row(stack: Stack, meter: UnitMeter, group: tuple[str, str]) -> int:
    """Return the bytes of the largest row of a page of the batch."""
    table = stack.environment("consume_acks")["FANIN_PAGES_TABLE"]
    rows = meter.uncounted.scan(TableName=table)["Items"]
    return max(size_of(row) for row in rows if group[0] in json.dumps(row))


def _check(answer: Mapping[str, Any]) -> None:
    failed = answer.get("batchItemFailures") or answer.get("statusCode", 200) != 200
    if failed:
        raise RuntimeError(f"an ack failed: {answer}")


def _delivery(items: list[str]) -> Event:
    return {
        "Records": [
            {
                "messageId": str(number),
                "receiptHandle": "r",
                "body": json.dumps({"itemId": item}),
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:us-east-1:{ACCOUNT}:acks",
            }
            for number, item in enumerate(items)
        ]
    }


def _request(items: list[str]) -> Event:
    http = {"method": "POST", "path": "/v1/acks", "sourceIp": "192.0.2.1"}
    identity = {"iam": {"accountId": ACCOUNT, "userArn": f"arn:aws:iam::{ACCOUNT}:role/worker"}}
    return {
        "version": "2.0",
        "routeKey": "POST /v1/acks",
        "rawPath": "/v1/acks",
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": http, "authorizer": identity, "stage": "$default", "requestId": "id"},
        "body": json.dumps({"items": items}),
        "isBase64Encoded": False,
    }


EVENTS: Mapping[str, Callable[[list[str]], Event]] = {
    "consume_acks": _delivery,
    "api.write_batches": _request,
}
