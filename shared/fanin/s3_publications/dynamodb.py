"""The positions of publications, each a row beside that of its batch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from fanin.aws.calls import send
from fanin.aws.dynamodb.rows import Item, number, put_new, text
from fanin.errors import StaleWrite
from fanin.s3_publications.model import Position
from fanin.tracker.dynamodb.items import SCHEMA, seconds
from fanin.tracker.rules.model import Batch

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ROW = "publication"
WRITER = "writer"
"""The call of ``advance`` that stored the row."""
COUNTS = ("size", "read", "rows", "parts", "line")


@dataclass(frozen=True, slots=True)
class DynamoPositions:
    """Keeps positions in the table of batches."""

    client: DynamoDBClient
    table: str

    def create(self, batch: Batch, position: Position) -> None:
        """Store the first position, unless there is one."""
        try:
            send(self.client.put_item, put_new(self.table, _row(batch, position)))
        except StaleWrite:
            return

    def get(self, batch: Batch) -> Position | None:
        """Return the position; None if the batch is of no publication."""
        request = {"TableName": self.table, "Key": _key(batch), "ConsistentRead": True}
        row = send(self.client.get_item, request).get("Item")
        return _position(row) if row else None

    def advance(self, batch: Batch, seen: Position, position: Position) -> None:
        """Store *position* if *seen* is stored. Raises StaleWrite if another call has stored a later one.

        A write whose answer is lost is sent again, and refused by its own effect: it is in the row.
        """
        writer = text(str(uuid4()))
        request = {
            "TableName": self.table,
            "Item": {**_row(batch, position), WRITER: writer},
            "ConditionExpression": "parts = :parts",
            "ExpressionAttributeValues": {":parts": number(seen.parts)},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        try:
            send(self.client.put_item, SCHEMA.guarded(request))
        except StaleWrite as error:
            if not any(stored and stored.get(WRITER) == writer for stored in error.stored):
                raise


def _key(batch: Batch) -> Item:
    return {"pk": text(str(batch.key)), "sk": text(ROW)}


def _row(batch: Batch, position: Position) -> Item:
    facts = asdict(position)
    counts = {name: number(facts[name]) for name in COUNTS}
    return {
        **_key(batch),
        **counts,
        "etag": text(position.etag),
        "ttl": number(seconds(batch.row_expires_at)),
    }


def _position(row: Item) -> Position:
    return Position(**{name: int(row[name]["N"]) for name in COUNTS}, etag=row["etag"]["S"])
