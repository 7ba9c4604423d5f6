"""Makes the emulator read as DynamoDB does: units of what was read, 16 MB a batch, fetches of a local index.

The emulator reports half a unit or a whole one for any query, and nothing for a batch. Units are computed
from the rows by ``fanin.cost.rules``, and answered where the request asks for them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from ministack.services import dynamodb

from fanin.cost.rules import TRANSACTION, keyed_read_units, read_units
from fanin.cost.sizes import Row, size_of

BATCH_BYTES = 16 * 1024 * 1024
"""DynamoDB API Reference, BatchGetItem: what is beyond is in UnprocessedKeys."""
ASKING = frozenset({"TOTAL", "INDEXES"})
Answer = tuple[Any, ...]
Handle = Callable[[str, str, Mapping[str, str], bytes, Any], Awaitable[Answer]]
Json = dict[str, Any]
ProjectIndex = Callable[[Row, Json, str | None], Row]
Project = Callable[[Row, Any, Any], Row]
Paginate = Callable[..., tuple[list[Row], bool]]


def apply() -> None:
    """Patch the emulator of this process."""
    project = dynamodb._apply_index_projection
    reads = Reads(project)
    dynamodb._apply_index_projection = reads.projected
    dynamodb._paginate_evaluated_items = reads.noting(dynamodb._paginate_evaluated_items)
    dynamodb.handle_request = reads.reporting(dynamodb.handle_request)
    dynamodb._project_item = by_name(dynamodb._project_item)


@dataclass(slots=True)
class Reads:
    """What the request in progress reads; the emulator serves one request of DynamoDB at a time."""

    project: ProjectIndex
    asked: Json = field(default_factory=dict)
    page: Sequence[Row] = ()
    entries: Sequence[Row] = ()

    def reporting(self, handle: Handle) -> Handle:
        """Return *handle* with the units of reads in its answers, and with the limit of a batch."""

        async def handle_reporting(
            method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any
        ) -> Answer:
            operation = headers.get("x-amz-target", "").rpartition(".")[2]
            if operation not in REPORTS:
                return await handle(method, path, headers, body, query)
            self.asked, unprocessed = _within_batch(operation, _parsed(body))
            sent = json.dumps(self.asked).encode() if unprocessed else body
            status, found, answer = await handle(method, path, headers, sent, query)
            if status != 200 or not (unprocessed or self.asked.get("ReturnConsumedCapacity") in ASKING):
                return status, found, answer
            reported = self._reported(operation, answer, unprocessed)
            # A client compares the checksum, and sends the request again where it is that of other bytes.
            return status, {**found, "x-amz-crc32": str(zlib.crc32(reported))}, reported

        return handle_reporting

    def noting(self, paginate: Paginate) -> Paginate:
        """Return *paginate*, of which the rows and their entries in an index are noted."""

        def paginate_noted(items: Any, limit: Any, table: Json, index_name: str | None = None) -> Any:
            page, has_more = paginate(items, limit, table, index_name)
            self.page = page
            self.entries = [self.project(row, table, index_name) for row in page] if index_name else page
            return page, has_more

        return paginate_noted

    def projected(self, row: Row, table: Json, index_name: str | None) -> Row:
        """Return what a read of an index has of *row*: all of it where a local index fetches it."""
        return row if self._fetches(table, index_name) else self.project(row, table, index_name)

    def _fetches(self, table: Json, index_name: str | None) -> bool:
        """Return whether the request asks a local index for attributes that it does not have."""
        local = {each["IndexName"]: each for each in table.get("LocalSecondaryIndexes") or ()}
        if index_name not in local or local[index_name]["Projection"]["ProjectionType"] == "ALL":
            return False
        if self.asked.get("Select") == "ALL_ATTRIBUTES":
            return True
        index, names = local[index_name], self.asked.get("ExpressionAttributeNames") or {}
        kept = {each["AttributeName"] for each in (*index["KeySchema"], *table["KeySchema"])}
        kept |= set(index["Projection"].get("NonKeyAttributes") or ())
        return not _asked_names(self.asked.get("ProjectionExpression") or "", names) <= kept

    def _reported(self, operation: str, body: bytes, unprocessed: Json) -> bytes:
        answer = json.loads(body)
        if unprocessed:
            answer["UnprocessedKeys"] = {**answer.get("UnprocessedKeys", {}), **unprocessed}
        if self.asked.get("ReturnConsumedCapacity") in ASKING:
            answer["ConsumedCapacity"] = REPORTS[operation](self)
        return json.dumps(answer, ensure_ascii=False).encode()

    def of_query(self) -> Json:
        """Return the report of a query or a scan, with the rows that its filter left out."""
        name, index = self.asked["TableName"], self.asked.get("IndexName")
        consistent = bool(self.asked.get("ConsistentRead"))
        units = read_units(self.entries, consistent)
        fetched = keyed_read_units(self.page, consistent) if self._fetches(_table(name), index) else 0
        return _report(self.asked, name, *((fetched, units, index) if index else (units, 0, "")))

    def of_get(self) -> Json:
        """Return the report of one read by a key."""
        name = self.asked["TableName"]
        units = keyed_read_units([stored(name, self.asked["Key"])], bool(self.asked.get("ConsistentRead")))
        return _report(self.asked, name, units)

    def of_batch(self) -> list[Json]:
        """Return the reports of a batch, by table."""
        return [
            _report(self.asked, name, keyed_read_units(_rows(name, each), bool(each.get("ConsistentRead"))))
            for name, each in self.asked["RequestItems"].items()
        ]

    def of_transaction(self) -> list[Json]:
        """Return the reports of a transaction of reads, by table."""
        rows: dict[str, list[Row]] = {}
        for each in (action["Get"] for action in self.asked["TransactItems"]):
            rows.setdefault(each["TableName"], []).append(stored(each["TableName"], each["Key"]))
        units = {name: TRANSACTION * keyed_read_units(some, consistent=True) for name, some in rows.items()}
        return [
            {**_report(self.asked, name, each), "ReadCapacityUnits": each} for name, each in units.items()
        ]


def by_name(project: Project) -> Project:
    """Return *project* with a projection of whole attributes checked once, not anew for each item.

    The emulator compares each path with all others: 12 ms for a page of a batch, which has 175 of them.
    """

    @lru_cache(maxsize=1000)
    def whole(expression: str, names: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
        resolve = dict(names)
        project({}, expression, resolve)
        found = tuple(resolve.get(path, path) for path in map(str.strip, expression.split(",")) if path)
        return () if any(mark in name for name in (expression, *found) for mark in ".[") else found

    def projected(item: Row, expression: Any, names: Any) -> Row:
        found = whole(expression, tuple((names or {}).items())) if expression else ()
        return {name: item[name] for name in found if name in item} or project(item, expression, names)

    return projected


REPORTS: Mapping[str, Callable[[Reads], object]] = {
    "GetItem": Reads.of_get,
    "Query": Reads.of_query,
    "Scan": Reads.of_query,
    "BatchGetItem": Reads.of_batch,
    "TransactGetItems": Reads.of_transaction,
}


def stored(name: str, key: Row) -> Row:
    """Return the row of *key* in the table *name*, empty if there is none."""
    table = _table(name)
    return dynamodb._get_item_by_key(table, key) or {} if table else {}


def fitting(keys: Iterable[Row], size: Callable[[Row], int], room: int) -> tuple[list[Row], list[Row], int]:
    """Return those of *keys* whose rows fit into *room* bytes, the others, and the room that remains."""
    taken: list[Row] = []
    unprocessed: list[Row] = []
    for key in keys:
        room -= 0 if unprocessed else size(key)
        (taken if room >= 0 and not unprocessed else unprocessed).append(key)
    return taken, unprocessed, room


def _within_batch(operation: str, asked: Json) -> tuple[Json, Json]:
    """Return the request with the keys whose rows have 16 MB together, and the others as UnprocessedKeys."""
    if operation != "BatchGetItem":
        return asked, {}
    room = BATCH_BYTES
    items: Json = {}
    others: Json = {}
    try:
        for name, each in asked["RequestItems"].items():
            taken, unprocessed, room = fitting(each["Keys"], partial(_stored_bytes, name), room)
            items |= {name: {**each, "Keys": taken}} if taken else {}
            others |= {name: {**each, "Keys": unprocessed}} if unprocessed else {}
    except (KeyError, TypeError, AttributeError):
        return asked, {}  # the emulator answers a malformed request
    return {**asked, "RequestItems": items}, others


def _stored_bytes(name: str, key: Row) -> int:
    return size_of(stored(name, key))


def _rows(name: str, asked: Json) -> list[Row]:
    return [stored(name, key) for key in asked["Keys"]]


def _table(name: str) -> Json:
    found: Json | None = dynamodb._tables.get(dynamodb._normalize_table_name(name))
    return found or {}


def _report(asked: Json, name: str, units: float, of_index: float = 0, index: str = "") -> Json:
    """Return the report of *units* of a table and *of_index* units of its *index*."""
    report: Json = {"TableName": _table(name).get("TableName", name), "CapacityUnits": units + of_index}
    if asked.get("ReturnConsumedCapacity") == "INDEXES":
        report["Table"] = {"CapacityUnits": units}
        local = {each["IndexName"] for each in _table(name).get("LocalSecondaryIndexes") or ()}
        kind = "LocalSecondaryIndexes" if index in local else "GlobalSecondaryIndexes"
        report |= {kind: {index: {"CapacityUnits": of_index}}} if index else {}
    return report


def _asked_names(projection: str, names: Mapping[str, str]) -> set[str]:
    """Return the top-level attributes of a projection expression."""
    paths = (each.strip().split(".")[0].split("[")[0] for each in projection.split(",") if each.strip())
    return {names.get(each, each) for each in paths}


def _parsed(body: bytes) -> Json:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
