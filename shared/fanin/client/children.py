"""Opens batches; in a function of a consumer, the child of its item, which a repeated call goes on with."""

from __future__ import annotations

from fanin.client import handing
from fanin.client.checking import key_or_fresh
from fanin.client.handing import UnderWork
from fanin.client.transport import Transport
from fanin.errors import InvalidRequest, KeyReused, NotFound
from fanin.tracker import OpenBatch

CHILDREN_MAX = 20
"""Children of one item that may fail, one after the other."""


def opened(transport: Transport, spec: OpenBatch, given: str | None) -> tuple[str, str, UnderWork | None]:
    """Open a batch; return its id, its key, and the call for its parent item, if that is under work here."""
    calls = handing.calls_for(spec.parent_item_id)
    work = calls[0] if calls else None
    with handing.taken_over(spec.parent_item_id):
        if work is None or given is not None:
            key = key_or_fresh(given)
            batch_id = transport.open(spec, key)
        else:
            batch_id, key = _child(transport, spec, work)
    if work is not None:
        work.opened(batch_id, key)
    return batch_id, key, work


def _child(transport: Transport, spec: OpenBatch, work: UnderWork) -> tuple[str, str]:
    """Return the child of an item, opened now or by an earlier call; a new one after one that has failed."""
    if work.child is not None:
        raise InvalidRequest(
            f"item {work.item_id} has its child batch {work.child} already: add all items to that one, or"
            " pass a key to open another one",
            field="parent",
        )
    for number in range(CHILDREN_MAX):
        key = work.key("child", str(number))
        batch_id = _one(transport, spec, key, work)
        if not _has_failed(transport, batch_id):
            work.child = batch_id
            return batch_id, key
    raise InvalidRequest(
        f"{CHILDREN_MAX} child batches of item {work.item_id} have failed; pass a key to open another one",
        field="parent",
    )


def _one(transport: Transport, spec: OpenBatch, key: str, work: UnderWork) -> str:
    try:
        return transport.open(spec, key)
    except KeyReused as error:
        raise KeyReused(
            f"the child batch of item {work.item_id} was opened with other options at an earlier attempt:"
            " pass the same options at each attempt, or a key"
        ) from error


def _has_failed(transport: Transport, batch_id: str) -> bool:
    """Return whether a batch has ended in a way that failed the item of its parent."""
    try:
        return transport.get(batch_id).result not in (None, "succeeded")
    except NotFound:
        return True
