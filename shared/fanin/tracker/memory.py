"""A store in memory, for tests and the simulator; it implements the contract in the simplest way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from fanin.index_order import tied
from fanin.tracker.batch_changes.deleting import is_settled, without_user_data
from fanin.tracker.rules import thresholds
from fanin.tracker.rules.children import Children, replaced_by
from fanin.tracker.rules.filters import Query
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import (
    Batch,
    BatchKey,
    Group,
    ItemKey,
    Outcome,
    PageKey,
    Receipt,
    Sample,
    State,
    shard_of,
)
from fanin.tracker.rules.options import TaskToken
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.rules.thresholds import Reached
from fanin.tracker.store import ROWS_A_LISTING, Listing, Replacement, Written

Row = tuple[str, Any]
"""A row for TTL: the field of the store that holds it, and its key there."""


@dataclass
class MemoryStore:
    """Keeps the tracker's rows in this process; one lock makes each request atomic.

    *expiring*: when each row may be deleted. ``delete_expired`` stands for DynamoDB's TTL: a test calls it
    at that time, later or never.
    """

    batches: dict[BatchKey, Batch] = field(default_factory=dict)
    tokens: dict[BatchKey, TaskToken] = field(default_factory=dict)
    children_of: dict[ItemKey, Children] = field(default_factory=dict)
    receipts: dict[tuple[BatchKey, str], Receipt] = field(default_factory=dict)
    stretches: dict[tuple[BatchKey, int], Group] = field(default_factory=dict)
    stored_pages: dict[PageKey, Page] = field(default_factory=dict)
    kept: dict[tuple[BatchKey, int], Sample] = field(default_factory=dict)
    blocked: set[tuple[BatchKey, int]] = field(default_factory=set)
    origins: dict[BatchKey, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    confirmed: set[BatchKey] = field(default_factory=set)
    put: set[BatchKey] = field(default_factory=set)
    notices: set[tuple[BatchKey, datetime]] = field(default_factory=set)
    reports: dict[tuple[BatchKey, str], Reached] = field(default_factory=dict)
    payloads: dict[tuple[str, str, str], str] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    expiring: dict[Row, datetime] = field(default_factory=dict, repr=False)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    def delete_expired(self, at: datetime, deletes: Callable[[Row], bool] = lambda _: True) -> None:
        """Delete the rows that have expired by *at* and that *deletes* selects."""
        with self.lock:
            for row in [row for row, expires_at in self.expiring.items() if expires_at <= at]:
                if deletes(row):
                    name, key = row
                    getattr(self, name).pop(key, None)
                    del self.expiring[row]

    def create(self, batch: Batch, token: TaskToken | None = None) -> Batch | None:
        with self.lock:
            if batch.key not in self.batches:
                self._create(batch, token)
            return self.batches.get(batch.key)

    def named(self, tenant: str, key: str) -> str | None:
        with self.lock:
            return self.names.get((tenant, key))

    def create_under(
        self, batch: Batch, key: str, instead_of: str | None, token: TaskToken | None = None
    ) -> str | None:
        with self.lock:
            named = (batch.tenant, key)
            is_free = self.names.get(named) in (None, instead_of) and batch.key not in self.batches
            if is_free and self._create(batch, token, instead_of):
                self.names[named] = batch.batch_id
                self.expiring["names", named] = batch.row_expires_at
            return self.names.get(named)

    def create_reopened(
        self,
        batch: Batch,
        group: Group,
        ranges: Sequence[tuple[int, int]] | None,
        key: str | None,
        instead_of: str | None,
    ) -> str | None:
        with self.lock:
            if key is None:
                named = batch.batch_id if self.create(batch) else None
            else:
                named = self.create_under(batch, key, instead_of)
            if named == batch.batch_id:
                rows: dict[Row, object] = {("stretches", (batch.key, 0)): group}
                rows |= {} if ranges is None else {("origins", batch.key): tuple(ranges)}
                for (name, at), row in rows.items():
                    getattr(self, name)[at] = row
                    self.expiring[name, at] = batch.pages_expire_at
            return named

    def children(self, item: ItemKey) -> Children | None:
        with self.lock:
            return self.children_of.get(item)

    def children_from(self, key: BatchKey, start: int, limit: int) -> Sequence[tuple[int, Children]]:
        with self.lock:
            own = {
                item.position: children for item, children in self.children_of.items() if item.batch == key
            }
        return [(position, own[position]) for position in sorted(own) if position >= start][:limit]

    def end_child(self, item: ItemKey, child_id: str, failed: bool) -> Children | None:
        with self.lock:
            children = self.children_of.get(item)
            if children is not None and child_id in children.live:
                self.children_of[item] = children.after_end(child_id, failed)
            return self.children_of.get(item)

    def origin_ranges(self, key: BatchKey) -> Sequence[tuple[int, int]] | None:
        with self.lock:
            return self.origins.get(key)

    def get(self, key: BatchKey) -> Batch | None:
        with self.lock:
            return self.batches.get(key)

    def task_token(self, key: BatchKey) -> TaskToken | None:
        with self.lock:
            return self.tokens.get(key)

    def drop_token(self, key: BatchKey) -> None:
        with self.lock:
            self.tokens.pop(key, None)

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        with self.lock:
            earlier = self.receipts.get((seen.key, receipt.key))
            if earlier is not None:
                return earlier
            batch = self.batches.get(seen.key)
            if batch is None or batch.state is not State.OPEN or batch.total != seen.total:
                return None
            self.receipts[seen.key, receipt.key] = receipt
            self.stretches[seen.key, receipt.start] = group
            for row in (("receipts", (seen.key, receipt.key)), ("stretches", (seen.key, receipt.start))):
                self.expiring[row] = batch.pages_expire_at
            self.batches[seen.key] = replace(batch, total=batch.total + receipt.count)
            return receipt

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        with self.lock:
            return self.receipts.get((key, receipt_key))

    def groups(self, key: BatchKey, start: int, last: int, limit: int) -> Sequence[tuple[int, Group]]:
        with self.lock:
            own = {first: group for (of, first), group in self.stretches.items() if of == key}
            held = [first for first in sorted(own) if first <= last and first + own[first].upto > start]
            return [(first, own[first]) for first in held[:limit]]

    def transition(self, key: BatchKey, change: Transition) -> Batch | None:
        return self._change(key, change.admits, change.apply)

    def cancel_children(self, key: BatchKey, next_check_at: datetime) -> Batch | None:
        return self._change(
            key,
            lambda batch: batch.may_cancel_children,
            lambda batch: replace(batch, cancels_children=True, next_check_at=next_check_at),
        )

    def extend(self, key: BatchKey, expires_at: datetime, next_check_at: datetime) -> Batch | None:
        return self._change(
            key,
            lambda batch: batch.is_alive and batch.expires_at < expires_at,
            lambda batch: replace(batch, expires_at=expires_at, next_check_at=next_check_at),
        )

    def postpone(self, seen: Batch, next_check_at: datetime | None) -> None:
        self._change(
            seen.key,
            lambda batch: (batch.state, batch.next_check_at) == (seen.state, seen.next_check_at),
            lambda batch: replace(batch, next_check_at=next_check_at),
        )

    def notice(self, batch: Batch, at: datetime) -> None:
        with self.lock:
            self.notices.add((batch.key, at))

    def report(self, seen: Batch, reached: Reached) -> bool:
        with self.lock:
            batch = self.batches.get(seen.key)
            if batch is None or not thresholds.admits(batch, seen, reached):
                return False
            self.batches[seen.key] = thresholds.reported(batch, reached)
            self.reports[seen.key, reached.mark] = reached
            return True

    def record_ack_time(self, key: BatchKey, at: datetime) -> Batch | None:
        return self._change(
            key,
            lambda batch: batch.is_alive and (batch.acked_at is None or batch.acked_at < at),
            lambda batch: replace(batch, acked_at=at),
        )

    def is_confirmed(self, key: BatchKey) -> bool:
        with self.lock:
            return key in self.confirmed

    def confirm(self, key: BatchKey, expires_at: datetime) -> None:
        with self.lock:
            self.confirmed.add(key)

    def is_put(self, key: BatchKey) -> bool:
        with self.lock:
            return key in self.confirmed or key in self.put

    def mark_put(self, key: BatchKey, expires_at: datetime) -> None:
        with self.lock:
            self.put.add(key)

    def prepare(self, key: PageKey, failing: bool, expires_at: datetime) -> None:
        with self.lock:
            self._put(key, self._page(key).prepared(failing), expires_at)

    def create_pages(self, pages: Mapping[PageKey, Page], expires_at: datetime) -> Collection[PageKey]:
        with self.lock:
            new = {key: page for key, page in pages.items() if key not in self.stored_pages}
            for key, page in new.items():
                self._put(key, page, expires_at)
        return set(new)

    def add_bits(self, key: PageKey, masks: PageMasks, expires_at: datetime) -> Written:
        with self.lock:
            page = self._page(key)
            if not page.admits(masks.mask) or not self._count_failures(key, masks.failed.bit_count()):
                return _refused(page)
            return self._put(key, page.with_bits(masks), expires_at)

    def replace_bits(
        self,
        key: PageKey,
        seen: Page,
        masks: PageMasks,
        expires_at: datetime,
        fills: bool = False,
        inner: bool = False,
    ) -> Written:
        with self.lock:
            page = self._page(key)
            unchanged = page.n == seen.n and not page.compacted
            if not unchanged or not self._count_failures(key, masks.failed.bit_count()):
                return _refused(page)
            written = self._put(key, page.replaced(masks, fills), expires_at)
            return Written(seen.replaced(masks, fills), applied=True) if inner else written

    def replace_pages(self, leaves: Sequence[Replacement], expires_at: datetime) -> bool:
        with self.lock:
            pages = [self._page(leaf.key) for leaf in leaves]
            seen = zip(pages, leaves, strict=True)
            unchanged = all(page.n == leaf.seen.n and not page.compacted for page, leaf in seen)
            failures = sum(leaf.masks.failed.bit_count() for leaf in leaves)
            if not unchanged or not self._count_failures(leaves[0].key, failures):
                return False
            for page, leaf in zip(pages, leaves, strict=True):
                self._put(leaf.key, page.replaced(leaf.masks, leaf.fills), expires_at)
            return True

    def heal_bits(self, key: PageKey, mask: int) -> bool:
        with self.lock:
            page, batch = self._page(key), self.batches.get(key.batch)
            if batch is None or not batch.is_alive or page.failed & mask != mask:
                return False
            count = mask.bit_count()
            self.batches[key.batch] = replace(batch, failed=batch.failed - count, healed=batch.healed + count)
            return self._put(key, page.healed(mask)).applied

    def add_count(self, key: PageKey, count: int, outcome: Outcome, expires_at: datetime) -> Written:
        failures = count if outcome is Outcome.FAILURE else 0
        with self.lock:
            page = self._page(key)
            if page.compacted or not self._count_failures(key, failures):
                return _refused(page)
            return self._put(key, page.with_count(count), expires_at)

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        with self.lock:
            page = self._page(key)
            if page.size not in {None, size}:
                return page
            return self._put(key, replace(page, size=size, root=root), expires_at).page

    def compact(self, key: PageKey, count: int) -> None:
        with self.lock:
            page = self._page(key)
            if page.may_compact(count):
                self._put(key, page.compact())

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        with self.lock:
            pages = {key: self.stored_pages[key] for key in keys if key in self.stored_pages}
        return pages if bits else {key: replace(page, bits=0) for key, page in pages.items()}

    def glance(self, keys: Collection[PageKey], bits: bool) -> Mapping[PageKey, Page]:
        return self.pages(keys, bits)

    def sample(self, key: BatchKey, slot: int, sample: Sample, expires_at: datetime) -> Sample | None:
        with self.lock:
            if (key, slot) in self.blocked:
                return None
            self.expiring.setdefault(("kept", (key, slot)), expires_at)
            return self.kept.setdefault((key, slot), sample)

    def samples(self, key: BatchKey) -> Sequence[Sample]:
        with self.lock:
            return [self.kept[slot] for slot in sorted(self.kept, key=lambda slot: slot[1]) if slot[0] == key]

    def free_sample(self, key: BatchKey, slot: int, item_id: str) -> bool:
        with self.lock:
            held = self.kept.get((key, slot))
            if held is None or held.item_id != item_id:
                return False
            del self.kept[key, slot]
            return True

    def block_samples(self, key: BatchKey, slots: Sequence[int], expires_at: datetime) -> None:
        with self.lock:
            for slot in slots:
                self.blocked.add((key, slot))
                self.kept.pop((key, slot), None)

    def delete(self, seen: Batch, at: datetime) -> Batch | None:
        return self._change(
            seen.key,
            is_settled,
            lambda batch: without_user_data(batch, at),
        )

    def remember(
        self, tenant: str, route: str, key: str, fingerprint: str, at: datetime, expires_at: datetime
    ) -> str:
        row = ("payloads", (tenant, route, key))
        with self.lock:
            if self.expiring.get(row, at) <= at:
                self.payloads[tenant, route, key], self.expiring[row] = fingerprint, expires_at
            return self.payloads[tenant, route, key]

    def due(self, shard: int, alive: bool, at: datetime) -> Iterable[BatchKey]:
        with self.lock:
            found = [
                (batch.next_check_at, tied(key), key)
                for key, batch in self.batches.items()
                if batch.next_check_at is not None and batch.next_check_at <= at and batch.is_alive is alive
            ]
        return [key for *_, key in sorted(found, key=lambda row: row[:2]) if shard_of(key.batch_id) == shard]

    def live(self, shard: int) -> Iterable[BatchKey]:
        with self.lock:
            found = [(batch.position, key) for key, batch in self.batches.items() if batch.is_alive]
        return [key for _, key in sorted(found, key=lambda row: row[0]) if shard_of(key.batch_id) == shard]

    def listing(self, query: Query) -> Listing:
        with self.lock:
            listed = [batch for batch in self.batches.values() if batch.deleted_at is None]
            rows = [batch for batch in listed if query.covers(batch)]
        rows.sort(key=lambda batch: batch.position, reverse=True)
        looked = rows[:ROWS_A_LISTING]
        found = [batch for batch in looked if query.matches(batch)][: query.limit]
        last = found[-1] if len(found) == query.limit else looked[-1] if looked else None
        return Listing(tuple(found), last.position if last and last is not rows[-1] else None)

    def _create(self, batch: Batch, token: TaskToken | None, instead_of: str | None = None) -> bool:
        """Store a new batch; False if it is a child that its item refuses."""
        if batch.parent is not None:
            replaced = replaced_by(batch, instead_of)
            children = self.children_of.get(batch.parent)
            if children is not None and not children.admits(replaced):
                return False
            self.children_of[batch.parent] = (children or Children()).with_child(batch.batch_id, replaced)
            self.expiring["children_of", batch.parent] = batch.row_expires_at
        self.batches[batch.key], self.expiring["batches", batch.key] = batch, batch.row_expires_at
        if token is not None:
            self.tokens[batch.key], self.expiring["tokens", batch.key] = token, batch.row_expires_at
        return True

    def _change(
        self, key: BatchKey, admits: Callable[[Batch], bool], change: Callable[[Batch], Batch]
    ) -> Batch | None:
        with self.lock:
            batch = self.batches.get(key)
            if batch and admits(batch):
                batch = self.batches[key] = change(batch)
            return batch

    def _count_failures(self, key: PageKey, failures: int) -> bool:
        """Count *failures* of a leaf in the live batch; False where it has ended, or there is none."""
        if not failures or not key.is_leaf:
            return True
        batch = self.batches.get(key.batch)
        if batch is None or not batch.is_alive:
            return False
        self.batches[key.batch] = replace(batch, failed=batch.failed + failures)
        return True

    def _page(self, key: PageKey) -> Page:
        return self.stored_pages.get(key, Page())

    def _put(self, key: PageKey, page: Page, expires_at: datetime | None = None) -> Written:
        self.stored_pages[key] = page
        if expires_at is not None:
            self.expiring["stored_pages", key] = expires_at
        return Written(page, applied=True)


def _refused(page: Page) -> Written:
    return Written(page, applied=False)
