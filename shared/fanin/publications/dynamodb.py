"""The places of publications, each a row beside that of its batch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from fanin.aws.calls import send
from fanin.aws.dynamodb.rows import Item, number, put_new, text
from fanin.errors import StaleWrite
from fanin.publications.model import Place
from fanin.tracker.dynamodb.items import SCHEMA, seconds
from fanin.tracker.rules.model import Batch

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ROW = "publication"
COUNTS = ("size", "read", "rows", "parts", "line")


@dataclass(frozen=True, slots=True)
class DynamoPlaces:
    """Keeps places in the table of batches."""

    client: DynamoDBClient
    table: str

    def create(self, batch: Batch, place: Place) -> None:
        """Store the first place, unless there is one."""
        try:
            send(self.client.put_item, put_new(self.table, _row(batch, place)))
        except StaleWrite:
            return

    def get(self, batch: Batch) -> Place | None:
        """Return the place; None if the batch is of no publication."""
        request = {"TableName": self.table, "Key": _key(batch), "ConsistentRead": True}
        row = send(self.client.get_item, request).get("Item")
        return _place(row) if row else None

    def advance(self, batch: Batch, seen: Place, place: Place) -> None:
        """Store *place* if *seen* is stored. Raises StaleWrite."""
        request = {
            "TableName": self.table,
            "Item": _row(batch, place),
            "ConditionExpression": "parts = :parts",
            "ExpressionAttributeValues": {":parts": number(seen.parts)},
        }
        send(self.client.put_item, SCHEMA.guarded(request))


def _key(batch: Batch) -> Item:
    return {"pk": text(str(batch.key)), "sk": text(ROW)}


def _row(batch: Batch, place: Place) -> Item:
    facts = asdict(place)
    counts = {name: number(facts[name]) for name in COUNTS}
    return {
        **_key(batch),
        **counts,
        "etag": text(place.etag),
        "ttl": number(seconds(batch.row_expires_at)),
    }


def _place(row: Item) -> Place:
    return Place(**{name: int(row[name]["N"]) for name in COUNTS}, etag=row["etag"]["S"])
