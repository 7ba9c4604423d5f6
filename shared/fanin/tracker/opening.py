"""Create the value of a new batch, and compare a repeated open with the first one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime

from fanin.errors import KeyReused, StoreUnavailable
from fanin.tracker.lifecycle import first_check
from fanin.tracker.model import Batch, BatchKey, State
from fanin.tracker.options import OpenBatch, options_of

FIRST_OPTIONS = (
    "user_key",
    "mode",
    "retention",
    "expected_items",
    "deadline",
    "max_failures",
    "parent_item_id",
)
"""The options of version 0.1, in the order in which a fingerprint names them."""


OPEN_ATTEMPTS = 10


def under_key(
    held: str | None,
    standing: Callable[[str], Batch | None],
    create: Callable[[str | None], tuple[Batch, str | None]],
) -> tuple[Batch, bool]:
    """Return the batch that an idempotency key stands for, and whether it is new.

    *held*: the id under the key, or None. *standing*: returns the batch of an id, or None if it is over.
    *create*: stores a new batch in place of the one that is over; returns it, and the id under the key now.
    """
    for _ in range(OPEN_ATTEMPTS):
        stored = held and standing(held)
        if stored:
            return stored, False
        batch, held = create(held)
        if held == batch.batch_id:
            return batch, True
    raise StoreUnavailable(
        "too many concurrent requests open batches under this Idempotency-Key; repeat the request"
    )


def same_request(stored: Batch, request: OpenBatch) -> Batch:
    """Return the batch of an earlier open with the same options; raise KeyReused for other options."""
    if stored.fingerprint != _fingerprint(request):
        raise KeyReused("this Idempotency-Key was used for a batch with other settings")
    return stored


def new_batch(key: BatchKey, request: OpenBatch, page_bits: int, salt: bytes, at: datetime) -> Batch:
    """Return the batch that *request* describes, opened at *at*."""
    expires_at = at + request.retention.open
    batch = Batch(
        tenant=key.tenant,
        batch_id=key.batch_id,
        state=State.OPEN,
        total=0,
        failed=0,
        page_bits=page_bits,
        salt=salt,
        fingerprint=_fingerprint(request),
        created_at=at,
        expires_at=expires_at,
        deadline_at=at + request.deadline if request.deadline is not None else None,
        resumes=request.task_token is not None,
        **options_of(request),
    )
    return replace(batch, next_check_at=first_check(batch, State.OPEN, at, expires_at))


def _fingerprint(request: OpenBatch) -> str:
    """Return a hash of the options.

    An option that is not one of the first counts only where it is set, so that the hash of a request that
    does not use it is the same as before the option existed.
    """
    usual = OpenBatch()
    names = [option.name for option in fields(request) if option.name not in FIRST_OPTIONS]
    used = [name for name in names if getattr(request, name) != getattr(usual, name)]
    said = ", ".join(f"{name}={getattr(request, name)!r}" for name in (*FIRST_OPTIONS, *used))
    return hashlib.sha256(f"OpenBatch({said})".encode()).hexdigest()
