"""The tracker's store on two DynamoDB tables: batches (with receipts and groups) and pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.aws.settings import Tables
from fanin.errors import StaleWrite, StoreUnavailable
from fanin.tracker import items, requests
from fanin.tracker.climb import pause
from fanin.tracker.model import Batch, BatchKey, Group, PageKey, Receipt
from fanin.tracker.page import Page
from fanin.tracker.store import Written

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS_A_READ = 100
READ_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class DynamoStore:
    """Keeps the tracker's items in DynamoDB through a low-level client."""

    client: DynamoDBClient
    tables: Tables
    pause: Callable[[int], None] = pause

    def create(self, batch: Batch) -> Batch:
        try:
            send(self.client.put_item, requests.create(self.tables.batches, batch))
        except StaleWrite as stale:
            return self._stored_batch(batch.key, stale) or batch
        return batch

    def get(self, key: BatchKey) -> Batch | None:
        item = self._row(requests.batch_key(key))
        return items.batch_of(item) if item else None

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        try:
            request = requests.reserve(self.tables.batches, seen, receipt, group)
            send(self.client.transact_write_items, request)
        except StaleWrite:
            return self.receipt(seen.key, receipt.key)
        return receipt

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        item = self._row({"pk": items.text(str(key)), "sk": items.text(items.receipt_row(receipt_key))})
        return items.receipt_of(receipt_key, item) if item else None

    def close(self, key: BatchKey, at: datetime, expires_at: datetime) -> Batch | None:
        return self._turn(key, requests.close(self.tables.batches, key, at, expires_at))

    def complete(self, key: BatchKey, caller: str, at: datetime, expires_at: datetime) -> Batch | None:
        return self._turn(key, requests.complete(self.tables.batches, key, caller, at, expires_at))

    def add_bits(self, key: PageKey, mask: int, expires_at: datetime) -> Written:
        return self._write(key, requests.add_bits(self.tables.pages, key, mask, expires_at))

    def replace_bits(self, key: PageKey, seen: Page, mask: int, expires_at: datetime) -> Written:
        return self._write(key, requests.replace_bits(self.tables.pages, key, seen, mask, expires_at))

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        return self._write(key, requests.mark_tail(self.tables.pages, key, size, root, expires_at)).page

    def compact(self, key: PageKey, count: int) -> None:
        try:
            send(self.client.update_item, requests.compact(self.tables.pages, key, count))
        except StaleWrite:
            return  # compacted before, by another who saw it full

    def pages(self, keys: Collection[PageKey]) -> Mapping[PageKey, Page]:
        wanted = list(keys)
        found: dict[PageKey, Page] = {}
        for first in range(0, len(wanted), KEYS_A_READ):
            found |= self._some_pages(wanted[first : first + KEYS_A_READ])
        return found

    def _some_pages(self, keys: list[PageKey]) -> dict[PageKey, Page]:
        """At most 100 pages; what an answer leaves unprocessed is asked for again."""
        names = {str(key): key for key in keys}
        wanted = [items.page_key(key) for key in keys]
        asked: Any = {self.tables.pages: {"Keys": wanted, "ConsistentRead": True}}
        found: dict[PageKey, Page] = {}
        for attempt in range(READ_ATTEMPTS):
            answer = send(self.client.batch_get_item, {"RequestItems": asked})
            rows = answer["Responses"].get(self.tables.pages, [])
            found |= {names[row["pk"]["S"]]: items.page_of(row) for row in rows}
            asked = answer.get("UnprocessedKeys")
            if not asked:
                return found
            self.pause(attempt)
        raise StoreUnavailable("the store is busy; ask again")

    def _row(self, key: items.Item) -> items.Item | None:
        request = {"TableName": self.tables.batches, "Key": key, "ConsistentRead": True}
        return send(self.client.get_item, request).get("Item")

    def _turn(self, key: BatchKey, request: items.Item) -> Batch | None:
        try:
            return items.batch_of(send(self.client.update_item, request)["Attributes"])
        except StaleWrite as stale:
            return self._stored_batch(key, stale)

    def _stored_batch(self, key: BatchKey, stale: StaleWrite) -> Batch | None:
        """The batch that a refused write came upon, read where the refusal did not bring it along."""
        (item,) = stale.stored
        return items.batch_of(item) if item else self.get(key)

    def _write(self, key: PageKey, request: items.Item) -> Written:
        try:
            answer = send(self.client.update_item, request)
        except StaleWrite as stale:
            return Written(self._stored_page(key, stale), applied=False)
        return Written(items.page_of(answer["Attributes"]), applied=True)

    def _stored_page(self, key: PageKey, stale: StaleWrite) -> Page:
        (item,) = stale.stored
        return items.page_of(item) if item else self.pages([key]).get(key, Page())
