"""Acks the items of ended tasks with the tracker."""

from __future__ import annotations

from collections.abc import Sequence

from fanin.errors import InvalidRequest
from fanin.grouper import ItemAck
from fanin.tracker import Ack, Outcome, Tracker
from fanin.tracker.acking import BATCHES_MAX, PAGES_MAX

ITEMS_AT_ONCE = min(BATCHES_MAX, *PAGES_MAX.values())
"""Items that one ack request may always name, whatever batches and pages they are in."""


def ack_items(tracker: Tracker, entries: Sequence[ItemAck]) -> None:
    """Ack the items of ended tasks, failed ones with their reason.

    Skips entries whose item id is malformed.
    """
    by_tenant: dict[str, list[Ack]] = {}
    for entry in entries:
        ack = _ack(entry)
        if ack is not None:
            by_tenant.setdefault(entry.tenant, []).append(ack)
    for tenant, acks in by_tenant.items():
        for first in range(0, len(acks), ITEMS_AT_ONCE):
            tracker.ack(tenant, acks[first : first + ITEMS_AT_ONCE])


def _ack(entry: ItemAck) -> Ack | None:
    outcome = Outcome.FAILURE if entry.failed else Outcome.SUCCESS
    try:
        return Ack.of(entry.item_id, entry.caller, outcome, entry.reason or None)
    except InvalidRequest:
        return None
