"""The word on the items of tasks, as the tracker takes it."""

from __future__ import annotations

from collections.abc import Sequence

from fanin.errors import InvalidRequest
from fanin.grouper import ItemAck
from fanin.tracker import Ack, Outcome, Tracker
from fanin.tracker.acking import BATCHES_MAX, PAGES_MAX

ITEMS_AT_ONCE = min(BATCHES_MAX, *PAGES_MAX.values())
"""Items that are never too many, wherever they lie."""


def tell(tracker: Tracker, words: Sequence[ItemAck]) -> None:
    """Ack the items of ended tasks, the failed ones with their reason; a word on no item is passed over."""
    by_tenant: dict[str, list[Ack]] = {}
    for word in words:
        ack = _ack(word)
        if ack is not None:
            by_tenant.setdefault(word.tenant, []).append(ack)
    for tenant, acks in by_tenant.items():
        for first in range(0, len(acks), ITEMS_AT_ONCE):
            tracker.ack(tenant, acks[first : first + ITEMS_AT_ONCE])


def _ack(word: ItemAck) -> Ack | None:
    outcome = Outcome.FAILURE if word.failed else Outcome.SUCCESS
    try:
        return Ack.of(word.item_id, word.caller, outcome, word.reason or None)
    except InvalidRequest:
        return None
