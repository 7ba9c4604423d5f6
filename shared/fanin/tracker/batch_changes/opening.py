"""Create the value of a new batch, and compare a repeated open with the first one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from fanin.errors import KeyReused, StoreUnavailable
from fanin.tracker.rules.lifecycle import first_check
from fanin.tracker.rules.model import Batch, BatchKey, State
from fanin.tracker.rules.options import OPTIONS, OpenBatch, options_of

DEFAULTS = OpenBatch()
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
        "too many concurrent requests open batches under this idempotency key; repeat the request"
    )


def is_of(stored: Batch, request: OpenBatch) -> bool:
    """Whether a batch was opened with the options of *request*."""
    return stored.fingerprint == _fingerprint(request)


def same_request(stored: Batch, request: OpenBatch, key: str | None) -> Batch:
    """Return the batch of an earlier open with the same options; raise KeyReused for other options."""
    if not is_of(stored, request):
        raise key_reused(stored, key, differences(stored, request))
    return stored


def key_reused(stored: Batch, key: str | None, names: Iterable[str]) -> KeyReused:
    """Return the error of an open whose *key* is that of *stored*, with the *names* of what differs."""
    return KeyReused(
        f"idempotency key {key!r} was used for batch {stored.batch_id} with other settings"
        f" ({', '.join(names)}): pass the same ones, or use a new key, and cancel that"
        " batch if it is not wanted any more"
    )


def key_of_ended(batch: Batch) -> str:
    """Return why the key of *batch*, which has ended, opens no other one, and what to do."""
    if batch.result == "succeeded":
        return "its idempotency key opens no other batch: its work is done, and a new key would send it again"
    return (
        "its idempotency key opens no other batch: reopen the items that are not done, or use a new key to"
        " send all of them again"
    )


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
        resumes=request.token is not None,
        **options_of(request),
    )
    return replace(batch, next_check_at=first_check(batch, State.OPEN, at, expires_at))


def differences(stored: Batch, request: OpenBatch) -> list[str]:
    """Return the names of the options of *request* that differ from those of *stored*."""
    if stored.origin_batch_id is not None:
        return [f"it reopens batch {stored.origin_batch_id}"]
    deadline = stored.deadline_at and stored.deadline_at - stored.created_at
    was = options_of(stored) | {"deadline": deadline}
    asked = options_of(request) | {"deadline": request.deadline}
    asked_anew = [name for name in was if was[name] != asked[name] and not OPTIONS[name].is_of_an_attempt]
    names = asked_anew or ["task_token or durable_callback_id"]
    return [name.replace("_", " ") for name in names]


def _fingerprint(request: OpenBatch) -> str:
    """Return a hash of the options that differ from their defaults.

    A later release can add an option, and the hash of a request that does not use it stays the same.
    """
    compared = [option.name for option in OPTIONS.values() if not option.is_of_an_attempt]
    given = {name: getattr(request, name) for name in compared}
    used = {name: value for name, value in given.items() if value != getattr(DEFAULTS, name)}
    listed = ", ".join(f"{name}={value!r}" for name, value in used.items())
    return hashlib.sha256(f"OpenBatch({listed})".encode()).hexdigest()
