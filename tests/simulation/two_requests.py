"""Calls of the store port that are two requests on DynamoDB: a transaction brings no row along.

Other processes may come between the two, and the second one may fail. So they may between pages of one call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from fanin.errors import StoreUnavailable
from fanin.tracker.rules.model import Batch, Group, Outcome, PageKey, Receipt
from fanin.tracker.rules.options import TaskToken
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.store import Written


class TwoRequests:
    """Reads what is stored after a transaction, as the tables' store does. *_send*: sends one request."""

    _send: Callable[..., Any]

    def create(self, batch: Batch, token: TaskToken | None = None) -> Batch | None:
        stored = self._send("create", batch, token)
        is_put = token is None and batch.parent_item_id is None
        return stored if is_put or stored is batch else self._send("get", batch.key)

    def create_under(
        self, batch: Batch, key: str, instead_of: str | None, token: TaskToken | None = None
    ) -> str | None:
        named = self._send("create_under", batch, key, instead_of, token)
        return named if named == batch.batch_id else self._send("named", batch.tenant, key)

    def create_reopened(
        self,
        batch: Batch,
        group: Group,
        ranges: Sequence[tuple[int, int]] | None,
        key: str | None,
        instead_of: str | None,
    ) -> str | None:
        named = self._send("create_reopened", batch, group, ranges, key, instead_of)
        return named if named == batch.batch_id or key is None else self._send("named", batch.tenant, key)

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        reserved = self._send("reserve", seen, receipt, group)
        return reserved if reserved is receipt else self._send("receipt", seen.key, receipt.key)

    def create_pages(self, pages: Mapping[PageKey, Page], expires_at: datetime) -> Collection[PageKey]:
        """Each page meets its own fault; the others are stored, and one that is unanswered fails the call."""
        created: list[PageKey] = []
        unanswered: list[StoreUnavailable] = []
        for key, page in pages.items():
            try:
                created += self._send("create_pages", {key: page}, expires_at)
            except StoreUnavailable as error:
                unanswered.append(error)
        if unanswered:
            raise unanswered[0]
        return created

    def add_bits(self, key: PageKey, masks: PageMasks, expires_at: datetime) -> Written:
        written = self._send("add_bits", key, masks, expires_at)
        return self._read(key, written) if masks.failed and key.is_leaf else written

    def replace_bits(
        self,
        key: PageKey,
        seen: Page,
        masks: PageMasks,
        expires_at: datetime,
        fills: bool = False,
        inner: bool = False,
    ) -> Written:
        written = self._send("replace_bits", key, seen, masks, expires_at, fills, inner)
        is_known = inner and written.applied
        return self._read(key, written) if masks.failed and key.is_leaf and not is_known else written

    def add_count(self, key: PageKey, count: int, outcome: Outcome, expires_at: datetime) -> Written:
        written = self._send("add_count", key, count, outcome, expires_at)
        return self._read(key, written) if outcome is Outcome.FAILURE else written

    def _read(self, key: PageKey, written: Written) -> Written:
        return Written(self._send("pages", [key]).get(key, Page()), written.applied)
