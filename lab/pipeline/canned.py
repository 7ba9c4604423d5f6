"""DynamoDB's answers to the requests about pages of one batch, made before they are sent."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.awsrequest import AWSResponse

from fanin.aws.dynamodb.rows import number, text
from fanin.tracker import Batch, PageMasks
from fanin.tracker.dynamodb.items import batch_item
from fanin.tracker.rules.page import PAGE_BITS_MAX, digits, mask_of

Row = dict[str, Any]
FULL = mask_of(0, PAGE_BITS_MAX - 1)
PARENT = {"n": number(PAGE_BITS_MAX // 2)} | {f"d{digit}": number(v) for digit, v in digits(FULL >> 512)}
"""A page above the leaves, of which half of the children are full."""
UNIQUE = "canned answers"
HEADERS: Any = {"content-type": "application/x-amz-json-1.0"}


@dataclass(frozen=True)
class Case:
    """A kind of page: the bits that the logs have of each, its row as it is *stored* before, and *after*."""

    masks: PageMasks
    stored: Row | None
    after: Row


def page_row(bits: int, failed: int = 0, **more: Row) -> Row:
    found = {f"d{digit}": number(value) for digit, value in digits(bits)}
    found |= {f"x{digit}": number(value) for digit, value in digits(failed)}
    return found | {"n": number(bits.bit_count()), "ttl": number(1_800_000_000), **more}


NONE_STORED = Case(PageMasks(FULL), None, page_row(FULL))


class Answers:
    """DynamoDB's answers to the requests about the pages of one case, as bytes."""

    def __init__(self, case: Case, batch: Batch) -> None:
        self.case, self.batch = case, json.dumps({"Item": _encoded(batch_item(batch))}).encode()
        units: Row = {"ConsumedCapacity": {"TableName": "pages", "CapacityUnits": 1.0}}
        self.leaf, self.parent = (
            json.dumps(units | {"Attributes": row}).encode() for row in (case.after, PARENT)
        )
        self.units_alone = json.dumps(units).encode()
        self.stored = json.dumps(case.stored)[1:] if case.stored else ""
        self.written: set[str] = set()

    def attach(self, client: Any) -> None:
        """Answer the requests of *client*, in place of others that were attached before."""
        events, name = client.meta.events, "before-send.dynamodb"
        events.unregister(name, unique_id=UNIQUE)
        events.register_last(name, self.send, unique_id=UNIQUE)

    def send(self, request: Any, event_name: str, **_: Any) -> AWSResponse:
        """Return the answer to a request, which is not sent."""
        answer = {
            "GetItem": lambda _: self.batch,
            "UpdateItem": self._update,
            "TransactWriteItems": self._transaction,
            "BatchGetItem": self._read,
            "BatchExecuteStatement": self._inserted,
        }[event_name.rsplit(".", 1)[-1]]
        return AWSResponse(request.url, 200, HEADERS, _Raw(answer(bytes(request.body))))

    def _update(self, body: bytes) -> bytes:
        if b"ALL_NEW" not in body:
            return self.units_alone
        return self.parent if b"#1#" in body else self.leaf

    def _transaction(self, body: bytes) -> bytes:
        """Answer that a transaction was applied: two units for each row."""
        keys = [each["Update"]["Key"]["pk"]["S"] for each in json.loads(body)["TransactItems"]]
        self.written.update(keys)
        return json.dumps(
            {"ConsumedCapacity": [{"TableName": "pages", "CapacityUnits": 2.0 * len(keys)}]}
        ).encode()

    def _inserted(self, body: bytes) -> bytes:
        rows = body.count(b"INSERT")
        units = [{"TableName": "pages", "CapacityUnits": float(rows)}]
        return json.dumps({"Responses": [{"TableName": "pages"}] * rows, "ConsumedCapacity": units}).encode()

    def _read(self, body: bytes) -> bytes:
        keys = [key["pk"]["S"] for key in json.loads(body)["RequestItems"]["pages"]["Keys"]]
        rows = ", ".join(filter(None, map(self._stored, keys)))
        units = '"ConsumedCapacity": [{"TableName": "pages", "CapacityUnits": 50.0}]'
        return f'{{"Responses": {{"pages": [{rows}]}}, "UnprocessedKeys": {{}}, {units}}}'.encode()

    def _stored(self, key: str) -> str:
        row = json.dumps(PARENT)[1:] if "#1#" in key else self.stored
        row = json.dumps(self.case.after)[1:] if key in self.written else row
        return f'{{"pk": {json.dumps(text(key))}, {row}' if row else ""


class _Raw:
    """A body as urllib3 has it."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.body


def _encoded(item: Row) -> Row:
    return {
        name: {"B": base64.b64encode(value["B"]).decode()} if "B" in value else value
        for name, value in item.items()
    }
