"""Acks of the items of ended tasks."""

from __future__ import annotations

from collections.abc import Sequence

from fanin.errors import InvalidRequest
from fanin.grouper import ItemAck
from fanin.tracker import Ack, Outcome, Tracker
from fanin.tracker.acking import BATCHES_MAX, PAGES_MAX

ITEMS_AT_ONCE = min(BATCHES_MAX, *PAGES_MAX.values())
"""Items of one ack request, even if each is in a batch and a page of its own."""


def ack_task_items(tracker: Tracker, item_acks: Sequence[ItemAck]) -> None:
    """Ack the items of ended tasks, the failed ones with their reason; malformed item ids are skipped."""
    by_tenant: dict[str, list[Ack]] = {}
    for item_ack in item_acks:
        ack = _ack(item_ack)
        if ack is not None:
            by_tenant.setdefault(item_ack.tenant, []).append(ack)
    for tenant, acks in by_tenant.items():
        for first in range(0, len(acks), ITEMS_AT_ONCE):
            tracker.ack(tenant, acks[first : first + ITEMS_AT_ONCE])


def _ack(item_ack: ItemAck) -> Ack | None:
    outcome = Outcome.FAILURE if item_ack.failed else Outcome.SUCCESS
    try:
        return Ack.of(item_ack.item_id, item_ack.caller, outcome, item_ack.reason or None)
    except InvalidRequest:
        return None
