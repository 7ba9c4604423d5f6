"""What a new batch is."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime

from fanin.errors import KeyReused
from fanin.tracker.lifecycle import due
from fanin.tracker.model import Batch, BatchKey, Mode, OpenBatch, State


def same_wish(stored: Batch, wish: OpenBatch) -> Batch:
    """The batch of an earlier open, if that asked for the same; else KeyReused."""
    if stored.fingerprint != _fingerprint(wish):
        raise KeyReused("this Idempotency-Key was used for a batch with other settings")
    return stored


def new_batch(key: BatchKey, wish: OpenBatch, page_bits: int, salt: bytes, at: datetime) -> Batch:
    """The batch that *wish* describes, opened at *at*."""
    expires_at = at + wish.retention.open
    batch = Batch(
        tenant=key.tenant,
        batch_id=key.batch_id,
        state=State.OPEN,
        mode=Mode(wish.mode),
        user_key=wish.user_key,
        total=0,
        failed=0,
        page_bits=page_bits,
        salt=salt,
        fingerprint=_fingerprint(wish),
        retention=wish.retention,
        created_at=at,
        expires_at=expires_at,
        expected_items=wish.expected_items,
        deadline_at=at + wish.deadline if wish.deadline is not None else None,
        max_failures=wish.max_failures,
        parent_item_id=wish.parent_item_id,
    )
    return replace(batch, due_at=due(batch, State.OPEN, at, expires_at))


def _fingerprint(wish: OpenBatch) -> str:
    return hashlib.sha256(repr(wish).encode()).hexdigest()
