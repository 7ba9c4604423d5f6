"""A row of each kind, of schema version 1, by table and by name."""

from __future__ import annotations

import json
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

from fanin.aws.dynamodb.schema import VERSION
from fanin.grouper.dynamodb import DynamoStore as GrouperStore
from fanin.queue.dynamodb import DynamoStore as QueueStore
from fanin.settings.tracking import Tables
from fanin.tracker.dynamodb import DynamoStore as TrackerStore
from tests.contract import engines, grouper_tables, queue_table, tables

NEWER = 99
FOLDER = Path(__file__).parent / "rows"
Row = dict[str, Any]
TABLES = {
    "batches": tables.TABLES[0],
    "pages": tables.TABLES[1],
    "queue": queue_table.QUEUE_TABLE,
    "tasks": grouper_tables.TABLES.tasks,
    "bundles": grouper_tables.TABLES.bundles,
    "leases": grouper_tables.TABLES.leases,
}


def rows(name: str) -> dict[str, Row]:
    """Return the rows of a table by their names."""
    return json.loads(_text(name), object_hook=_decoded)


def keys_of(row: Row) -> Row:
    return {
        name: row[name]
        for name in ("pk", "sk", "lane")
        if name in row and ("pk" not in row or name != "lane")
    }


def newer(row: Row) -> Row:
    """Return *row* as a release that is far ahead would mark it."""
    return row | {VERSION: {"N": str(NEWER)}}


def trackers() -> TrackerStore:
    """Return a store over the tracker's tables with all their rows."""
    client = engines.client(tables.create_tables)
    _fill(client, "batches", "pages")
    return TrackerStore(client, Tables(*tables.TABLES), pause=lambda _: None)


def queues() -> QueueStore:
    client = engines.client(queue_table.create_queue_table)
    _fill(client, "queue")
    return QueueStore(client, queue_table.QUEUE_TABLE, pause=lambda _: None)


def groupers() -> GrouperStore:
    client = engines.client(grouper_tables.create_tables)
    _fill(client, "tasks", "bundles", "leases")
    return GrouperStore(client, grouper_tables.TABLES, pause=lambda _: None)


def put(store: Any, name: str, row: Row) -> Row:
    """Store *row* in the table *name*, and return it."""
    store.client.put_item(TableName=TABLES[name], Item=row)
    return row


def stored(store: Any, name: str) -> dict[str, Row]:
    """Return every row of the table *name* by its key."""
    found = store.client.scan(TableName=TABLES[name])["Items"]
    return {str(keys_of(row)): row for row in found}


def _fill(client: Any, *names: str) -> None:
    for name in names:
        for row in rows(name).values():
            client.put_item(TableName=TABLES[name], Item=row)


def _decoded(value: Row) -> Row:
    return {"B": b64decode(value["B"])} if set(value) == {"B"} else value


@cache
def _text(name: str) -> str:
    return (FOLDER / f"{name}.json").read_text()
