"""The tracker's store on two DynamoDB tables: batches (with all that belongs to one) and pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.aws.dynamodb.reading import insert_many, put_many, read_many
from fanin.aws.dynamodb.rows import Item, text
from fanin.errors import StaleWrite
from fanin.pacing import pause
from fanin.settings.tracking import Tables
from fanin.tracker.dynamodb import items, lookups, repairs, requests, thresholds
from fanin.tracker.rules.children import Children
from fanin.tracker.rules.filters import Query
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import Batch, BatchKey, Group, ItemKey, Outcome, PageKey, Receipt, Sample
from fanin.tracker.rules.options import TaskToken
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.rules.thresholds import Reached
from fanin.tracker.store import READS_A_LISTING, Listing, Replacement, Written

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class DynamoStore:
    """Keeps the tracker's rows in DynamoDB through a low-level client."""

    client: DynamoDBClient
    tables: Tables
    pause: Callable[[int], None] = pause

    def create(self, batch: Batch, token: TaskToken | None = None) -> Batch | None:
        if token is not None or batch.parent is not None:
            request = requests.create_with(self.tables.batches, batch, token)
            new = self._written(self.client.transact_write_items, request)
            return batch if new else self.get(batch.key)
        try:
            send(self.client.put_item, requests.create(self.tables.batches, batch))
        except StaleWrite as stale:
            return self._stored_batch(batch.key, stale)
        return batch

    def named(self, tenant: str, key: str) -> str | None:
        item = self._row(items.open_key(tenant, key))
        return items.batch_id_of(item) if item else None

    def create_under(
        self, batch: Batch, key: str, instead_of: str | None, token: TaskToken | None = None
    ) -> str | None:
        request = requests.create_under(self.tables.batches, batch, key, instead_of, token)
        if self._written(self.client.transact_write_items, request):
            return batch.batch_id
        return self.named(batch.tenant, key)

    def create_reopened(
        self,
        batch: Batch,
        group: Group,
        ranges: Sequence[tuple[int, int]] | None,
        key: str | None,
        instead_of: str | None,
    ) -> str | None:
        table = self.tables.batches
        request = repairs.create_reopened(table, batch, group, ranges, key, instead_of)
        if self._written(self.client.transact_write_items, request):
            return batch.batch_id
        if key is None:
            return batch.batch_id if self.get(batch.key) else None
        return self.named(batch.tenant, key)

    def children(self, item: ItemKey) -> Children | None:
        row = self._row(items.children_key(item))
        return items.children_of(row) if row else None

    def children_from(self, key: BatchKey, start: int, limit: int) -> Sequence[tuple[int, Children]]:
        rows = self._query(lookups.children(self.tables.batches, key, start), limit)
        return [(items.position_of_children(row), items.children_of(row)) for row in rows]

    def end_child(self, item: ItemKey, child_id: str, failed: bool) -> Children | None:
        children = self._end_child(item, child_id, failed, listed=True)
        if children is None or child_id not in children.live:
            return children
        return self._end_child(item, child_id, failed, listed=False)

    def _end_child(self, item: ItemKey, child_id: str, failed: bool, listed: bool) -> Children | None:
        try:
            request = requests.end_child(self.tables.batches, item, child_id, failed, listed)
            return items.children_of(send(self.client.update_item, request)["Attributes"])
        except StaleWrite as stale:
            (row,) = stale.stored
            return items.children_of(row) if row else self.children(item)

    def origin_ranges(self, key: BatchKey) -> Sequence[tuple[int, int]] | None:
        item = self._row({"pk": text(str(key)), "sk": text(items.ORIGIN_ROW)})
        return items.origin_of(item) if item else None

    def get(self, key: BatchKey) -> Batch | None:
        item = self._row(requests.batch_key(key))
        return items.batch_of(item) if item else None

    def task_token(self, key: BatchKey) -> TaskToken | None:
        item = self._row(items.token_key(key))
        return items.token_of(item) if item else None

    def drop_token(self, key: BatchKey) -> None:
        self._written(self.client.delete_item, requests.drop_token(self.tables.batches, key))

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        if self._written(
            self.client.transact_write_items, requests.reserve(self.tables.batches, seen, receipt, group)
        ):
            return receipt
        return self.receipt(seen.key, receipt.key)

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        item = self._row({"pk": text(str(key)), "sk": text(items.receipt_row(receipt_key))})
        return items.receipt_of(receipt_key, item) if item else None

    def groups(self, key: BatchKey, start: int, last: int, limit: int) -> Sequence[tuple[int, Group]]:
        table = self.tables.batches
        before = next(self._query(lookups.group_before(table, key, start), 1), None)
        found = [items.group_of(before)] if before else []
        found = [(at, group) for at, group in found if at + group.upto > start]
        remaining = limit - len(found)
        if last > start and remaining:
            rows = self._query(lookups.groups(table, key, start + 1, last), remaining)
            found += [items.group_of(row) for row in rows]
        return found

    def transition(self, key: BatchKey, change: Transition) -> Batch | None:
        return self._change(key, requests.transition(self.tables.batches, key, change))

    def cancel_children(self, key: BatchKey, next_check_at: datetime) -> Batch | None:
        return self._change(key, requests.cancel_children(self.tables.batches, key, next_check_at))

    def extend(self, key: BatchKey, expires_at: datetime, next_check_at: datetime) -> Batch | None:
        return self._change(key, requests.extend(self.tables.batches, key, expires_at, next_check_at))

    def postpone(self, seen: Batch, next_check_at: datetime | None) -> None:
        self._written(self.client.update_item, requests.postpone(self.tables.batches, seen, next_check_at))

    def notice(self, batch: Batch, at: datetime) -> None:
        self._written(self.client.put_item, requests.notice(self.tables.batches, batch, at))

    def report(self, seen: Batch, reached: Reached) -> bool:
        request = thresholds.report(self.tables.batches, seen, reached)
        return self._written(self.client.transact_write_items, request)

    def record_ack_time(self, key: BatchKey, at: datetime) -> Batch | None:
        return self._change(key, thresholds.record_ack_time(self.tables.batches, key, at))

    def is_confirmed(self, key: BatchKey) -> bool:
        row = self._row(items.event_key(key))
        return row is not None and items.PUT not in row

    def confirm(self, key: BatchKey, expires_at: datetime) -> None:
        self._written(self.client.put_item, requests.confirm(self.tables.batches, key, expires_at))

    def is_put(self, key: BatchKey) -> bool:
        return self._row(items.event_key(key)) is not None

    def mark_put(self, key: BatchKey, expires_at: datetime) -> None:
        self._written(self.client.put_item, requests.mark_put(self.tables.batches, key, expires_at))

    def prepare(self, key: PageKey, failing: bool, expires_at: datetime) -> None:
        request = requests.prepare(self.tables.pages, key, failing, expires_at)
        self._written(self.client.update_item, request)

    def create_pages(self, pages: Mapping[PageKey, Page], expires_at: datetime) -> Collection[PageKey]:
        table = self.tables.pages
        statements = [requests.create_page(table, key, page, expires_at) for key, page in pages.items()]
        return set(compress(pages, insert_many(self.client, statements, self.pause)))

    def add_bits(self, key: PageKey, masks: PageMasks, expires_at: datetime) -> Written:
        request = requests.add_bits(self.tables.pages, key, masks, expires_at)
        return self._write(key, request, masks.failed.bit_count())

    def replace_bits(
        self,
        key: PageKey,
        seen: Page,
        masks: PageMasks,
        expires_at: datetime,
        fills: bool = False,
        inner: bool = False,
    ) -> Written:
        request = requests.replace_bits(self.tables.pages, key, seen, masks, expires_at, fills, inner)
        after = seen.replaced(masks, fills) if inner else None
        return self._write(key, request, masks.failed.bit_count(), after)

    def replace_pages(self, leaves: Sequence[Replacement], expires_at: datetime) -> bool:
        pages = [
            requests.replace_bits(self.tables.pages, leaf.key, leaf.seen, leaf.masks, expires_at, leaf.fills)
            for leaf in leaves
        ]
        failures = sum(leaf.masks.failed.bit_count() for leaf in leaves)
        counted = requests.with_failures(self.tables.batches, leaves[0].key.batch, pages, failures)
        return self._written(self.client.transact_write_items, counted)

    def heal_bits(self, key: PageKey, mask: int) -> bool:
        tables = self.tables.batches, self.tables.pages
        return self._written(self.client.transact_write_items, requests.heal_bits(tables, key, mask))

    def add_count(self, key: PageKey, count: int, outcome: Outcome, expires_at: datetime) -> Written:
        request = requests.add_count(self.tables.pages, key, count, expires_at)
        return self._write(key, request, count if outcome is Outcome.FAILURE else 0)

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        return self._write(key, requests.mark_tail(self.tables.pages, key, size, root, expires_at)).page

    def compact(self, key: PageKey, count: int) -> None:
        self._written(self.client.update_item, requests.compact(self.tables.pages, key, count))

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        return self._pages(keys, bits, consistent=True)

    def glance(self, keys: Collection[PageKey], bits: bool) -> Mapping[PageKey, Page]:
        return self._pages(keys, bits, consistent=False)

    def sample(self, key: BatchKey, slot: int, sample: Sample, expires_at: datetime) -> Sample | None:
        try:
            send(self.client.put_item, requests.sample(self.tables.batches, key, slot, sample, expires_at))
        except StaleWrite as stale:
            (item,) = stale.stored
            return items.sample_of(item) if item else sample
        return sample

    def samples(self, key: BatchKey) -> Sequence[Sample]:
        rows = self._query(lookups.samples(self.tables.batches, key))
        return [kept for kept in map(items.sample_of, rows) if kept is not None]

    def free_sample(self, key: BatchKey, slot: int, item_id: str) -> bool:
        request = repairs.free_sample(self.tables.batches, key, slot, item_id)
        return self._written(self.client.update_item, request)

    def block_samples(self, key: BatchKey, slots: Sequence[int], expires_at: datetime) -> None:
        rows = [items.blocked_sample_item(key, slot, expires_at) for slot in slots]
        put_many(self.client, self.tables.batches, rows, self.pause)

    def delete(self, seen: Batch, at: datetime) -> Batch | None:
        return self._change(seen.key, repairs.delete(self.tables.batches, seen, at))

    def remember(
        self, tenant: str, route: str, key: str, fingerprint: str, at: datetime, expires_at: datetime
    ) -> str:
        row = items.key_item(tenant, route, key, fingerprint, expires_at)
        try:
            send(self.client.put_item, requests.remember(self.tables.batches, row, at))
        except StaleWrite as stale:
            (stored,) = stale.stored
            stored = stored or self._row({"pk": row["pk"], "sk": row["sk"]})
            return items.fingerprint_of(stored) if stored else fingerprint
        return fingerprint

    def due(self, shard: int, alive: bool, at: datetime) -> Iterable[BatchKey]:
        rows = self._query(lookups.due(self.tables.batches, shard, alive, at))
        return (items.key_of(row["pk"]["S"]) for row in rows)

    def live(self, shard: int) -> Iterable[BatchKey]:
        rows = self._query(lookups.live(self.tables.batches, shard))
        return (items.key_of(row["pk"]["S"]) for row in rows)

    def listing(self, query: Query) -> Listing:
        request = lookups.listing(self.tables.batches, query)
        found: list[Batch] = []
        if request is None:
            return Listing((), None)
        for _ in range(READS_A_LISTING):
            answer = send(self.client.query, request)
            found += [items.batch_of(row) for row in answer["Items"]]
            last = answer.get("LastEvaluatedKey")
            if len(found) >= query.limit or not last:
                break
            request |= {"ExclusiveStartKey": last}
        if len(found) > query.limit:
            return Listing(tuple(found[: query.limit]), found[query.limit - 1].position)
        return Listing(tuple(found), items.position_of(last["createdKey"]["S"]) if last else None)

    def _query(self, request: Item, limit: int | None = None) -> Iterator[Item]:
        """Yield the rows of a query, page by page; with a *limit*, no more rows are read."""
        if limit is not None:
            request = {**request, "Limit": limit}
        while True:
            answer = send(self.client.query, request)
            for row in answer["Items"]:
                if limit == 0:
                    return
                limit = limit and limit - 1
                yield row
            if "LastEvaluatedKey" not in answer or limit == 0:
                return
            request = {**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _pages(self, keys: Collection[PageKey], bits: bool, consistent: bool) -> Mapping[PageKey, Page]:
        names = {str(key): key for key in keys}
        asked = [items.page_key(key) for key in names.values()]
        only = "" if bits else items.WITHOUT_BITS
        rows = read_many(self.client, self.tables.pages, asked, self.pause, consistent=consistent, only=only)
        return {names[row["pk"]["S"]]: items.page_of(row) for row in rows}

    def _row(self, key: Item) -> Item | None:
        request = {"TableName": self.tables.batches, "Key": key, "ConsistentRead": True}
        return send(self.client.get_item, request).get("Item")

    def _written(self, operation: Callable[..., Any], request: Item) -> bool:
        """Send a write; return whether its condition held."""
        try:
            send(operation, request)
        except StaleWrite:
            return False
        return True

    def _change(self, key: BatchKey, request: Item) -> Batch | None:
        try:
            return items.batch_of(send(self.client.update_item, request)["Attributes"])
        except StaleWrite as stale:
            return self._stored_batch(key, stale)

    def _stored_batch(self, key: BatchKey, stale: StaleWrite) -> Batch | None:
        """Return the stored batch after a refused write, from the refusal or by a read."""
        (item,) = stale.stored
        return items.batch_of(item) if item else self.get(key)

    def _write(self, key: PageKey, request: Item, failures: int = 0, after: Page | None = None) -> Written:
        """Write a page, in one transaction with the number of *failures* if it is a leaf that has any.

        *after*: the page after the write, where it is known. A transaction does not return the page, so
        another one is read after it.
        """
        if failures and key.is_leaf:
            counted = requests.with_failures(self.tables.batches, key.batch, [request], failures)
            applied = self._written(self.client.transact_write_items, counted)
            known = after if applied else None
            return Written(known or self.pages([key]).get(key, Page()), applied)
        try:
            answer = send(self.client.update_item, request)
        except StaleWrite as stale:
            return Written(self._stored_page(key, stale), applied=False)
        return Written(after or items.page_of(answer["Attributes"]), applied=True)

    def _stored_page(self, key: PageKey, stale: StaleWrite) -> Page:
        (item,) = stale.stored
        return items.page_of(item) if item else self.pages([key]).get(key, Page())
