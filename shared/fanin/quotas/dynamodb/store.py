"""Sends the requests of the quotas to DynamoDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fanin.aws.calls import send
from fanin.aws.dynamodb.rows import Item
from fanin.errors import StaleWrite, StoreUnavailable
from fanin.quotas.dynamodb import requests
from fanin.quotas.model import BucketKey, Permit, PermitKey, Spent

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class DynamoQuotas:
    """The rows of quotas in *table*, the table of batches."""

    client: DynamoDBClient
    table: str

    def start(self, key: BucketKey, at: int, full_at: int) -> Spent:
        return self._updated(requests.start(self.table, key, at, full_at))

    def spend(self, key: BucketKey, at: int, cost: int, before: int) -> Spent:
        return self._updated(requests.spend(self.table, key, at, cost, before))

    def correct(self, key: BucketKey, seen: int, full_at: int) -> Spent:
        return self._updated(requests.correct(self.table, key, seen, full_at))

    def permit(self, key: PermitKey) -> Permit | None:
        row = self._row(requests.permit_key(key))
        return requests.permit_of(row) if row else None

    def take(self, key: PermitKey, seen: str | None, permit: Permit) -> Permit:
        try:
            send(self.client.put_item, requests.take(self.table, key, seen, permit))
        except StaleWrite as stale:
            (row,) = stale.stored
            row = row or self._row(requests.permit_key(key))
            if row is None:
                raise StoreUnavailable("a permit of the quota was removed; repeat the request") from stale
            return requests.permit_of(row)
        return permit

    def _row(self, key: Item) -> Item | None:
        request = {"TableName": self.table, "Key": key, "ConsistentRead": True}
        return send(self.client.get_item, request).get("Item")

    def _updated(self, request: Item) -> Spent:
        """Send the update of a bucket; a failed condition returns the bucket as it is stored."""
        try:
            return requests.spent_of(send(self.client.update_item, request)["Attributes"], applied=True)
        except StaleWrite as stale:
            (row,) = stale.stored
            return requests.spent_of(row or self._row(request["Key"]), applied=False)
