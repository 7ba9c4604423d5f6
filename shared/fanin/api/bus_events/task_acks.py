"""Acks the items of ended tasks with the tracker."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fanin.errors import NewerSchema, StoreUnavailable
from fanin.grouper import ItemAck
from fanin.tracker import Ack, Outcome, Tracker
from fanin.tracker.rules.acking import BATCHES_MAX, PAGES_MAX
from fanin.user_functions import log_failure

logger = logging.getLogger("fanin")
ITEMS_AT_ONCE = min(BATCHES_MAX, *PAGES_MAX.values())
"""Items that one ack request may always name, whatever batches and pages they are in."""


def ack_items(tracker: Tracker, entries: Sequence[ItemAck]) -> None:
    """Ack the items of ended tasks, failed ones with their reason.

    Raises NewerSchema after all other acks if a newer release wrote the batch of one of them.
    """
    newer: NewerSchema | None = None
    for tenant, acks in _by_tenant(entries).items():
        for first in range(0, len(acks), ITEMS_AT_ONCE):
            newer = _ack_all(tracker, tenant, acks[first : first + ITEMS_AT_ONCE]) or newer
    if newer is not None:
        raise newer


def keep_results(tracker: Tracker, entries: Sequence[ItemAck]) -> None:
    """Keep the results in *entries* whose items' batches keep them.

    A result that is refused, by a bucket that is gone for instance, is logged and not kept: the call that
    returned it would be repeated until its attempts are used up. Raises StoreUnavailable.
    """
    for tenant, acks in _by_tenant(entries).items():
        for first in range(0, len(acks), ITEMS_AT_ONCE):
            _keep_all(tracker, tenant, acks[first : first + ITEMS_AT_ONCE])


def _keep_all(tracker: Tracker, tenant: str, acks: Sequence[Ack]) -> None:
    """Keep the results of one request; of several batches each one alone, if one of them is refused."""
    try:
        tracker.keep_results(tenant, acks)
    except StoreUnavailable:
        raise
    except Exception as error:
        parts = _by_batch(acks)
        if len(parts) == 1:
            line = "%d results of batch %s are not kept, their tasks succeed without"
            log_failure(logger, line, len(acks), acks[0].batch_id, error=error)
            return
        for part in parts:
            _keep_all(tracker, tenant, part)


def _by_tenant(entries: Sequence[ItemAck]) -> dict[str, list[Ack]]:
    by_tenant: dict[str, list[Ack]] = {}
    for entry in entries:
        outcome = Outcome.FAILURE if entry.failed else Outcome.SUCCESS
        ack = Ack.of(entry.item_id, entry.caller, outcome, entry.reason or None, entry.result)
        by_tenant.setdefault(entry.tenant, []).append(ack)
    return by_tenant


def _ack_all(tracker: Tracker, tenant: str, acks: Sequence[Ack]) -> NewerSchema | None:
    """Ack the items of one request; return the error for a batch that a newer release wrote."""
    try:
        tracker.ack(tenant, acks)
    except NewerSchema as error:
        parts = _by_batch(acks)
        if len(parts) == 1:
            return error
        return next(filter(None, [_ack_all(tracker, tenant, part) for part in parts]), None)
    return None


def _by_batch(acks: Sequence[Ack]) -> list[list[Ack]]:
    """Return the acks of each batch."""
    batches = dict.fromkeys(ack.batch_id for ack in acks)
    return [[ack for ack in acks if ack.batch_id == batch] for batch in batches]
