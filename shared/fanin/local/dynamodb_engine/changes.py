"""Stream records of the writes that are forwarded, for an engine that has no streams.

Writes to a table with a stream are sent one after the other; its rows are read before and after each.
PartiQL statements that write have no record.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from fanin.local.dynamodb_engine.engine import TABLES, Answer, Engine
from fanin.local.dynamodb_engine.streams import Records

Json = dict[str, Any]
Row = tuple[str, Json]
"""A table and the key of an item."""
KINDS = {"PutRequest": "Item", "DeleteRequest": "Key"}


class Changes:
    """Sends requests to *engine* and records the changes of the tables in ``streams``, by their names."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.streams: dict[str, tuple[tuple[str, ...], Records]] = {}
        self._lock = threading.Lock()

    def add(self, keys: tuple[str, ...], records: Records) -> None:
        """Record the changes of a table, whose items have the *keys*."""
        self.streams[records.table] = (keys, records)

    def send(self, target: str, body: bytes) -> Answer:
        """Send a request and append the records of what it changed. Raises EngineLost."""
        return self._recorded(target, body, expired=False)

    def expire(self, request: Mapping[str, Any]) -> None:
        """Send *request*, a ``DeleteItem`` of an item whose time to live is over."""
        self._recorded(f"{TABLES}.DeleteItem", json.dumps(request).encode(), expired=True)

    def _recorded(self, target: str, body: bytes, expired: bool) -> Answer:
        rows = self._rows(target.rpartition(".")[2], body) if self.streams else []
        if not rows:
            return self.engine.send(target, body)
        with self._lock:
            before = [self._read(row) for row in rows]
            try:
                return self.engine.send(target, body)
            finally:  # an answer that was lost may have been applied
                for row, old in zip(rows, before, strict=True):
                    self._append(row, old, self._read(row), expired)

    def _rows(self, operation: str, body: bytes) -> list[Row]:
        try:
            named = list(written(operation, json.loads(body)))
            rows = [(table, item) for table, item in named if table in self.streams]
            return [(table, {key: item[key] for key in self.streams[table][0]}) for table, item in rows]
        except (ValueError, KeyError, TypeError, AttributeError):
            return []  # the engine refuses it

    def _read(self, row: Row) -> Json | None:
        request = {"TableName": row[0], "Key": row[1], "ConsistentRead": True}
        return self.engine.ask("GetItem", request).get("Item")

    def _append(self, row: Row, old: Json | None, new: Json | None, expired: bool) -> None:
        if old != new:
            records = self.streams[row[0]][1]
            records.append(records.change(old, new), expired)


def written(operation: str, request: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the table, and the item or key, of each item that *request* may write."""
    if operation in ("PutItem", "UpdateItem", "DeleteItem"):
        yield _row(request)
    elif operation == "BatchWriteItem":
        writes = [(table, write) for table, some in request["RequestItems"].items() for write in some]
        yield from ((table, each[KINDS[kind]]) for table, write in writes for kind, each in write.items())
    elif operation == "TransactWriteItems":
        actions = [action for some in request["TransactItems"] for action in some.items()]
        yield from (_row(each) for kind, each in actions if kind != "ConditionCheck")


def _row(write: Mapping[str, Any]) -> Row:
    return write["TableName"], write.get("Item") or write["Key"]
