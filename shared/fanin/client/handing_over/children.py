"""Opens batches; in a function of a consumer, the child of its item, which a repeated call goes on with."""

from __future__ import annotations

from fanin.client.argument_checks.checking import key_or_fresh
from fanin.client.handing_over.handing import new_owner
from fanin.client.handing_over.under_work import UnderWork, calls_for
from fanin.client.transports.transport import Transport
from fanin.errors import BatchEnded, InvalidRequest, KeyReused
from fanin.tracker import OpenBatch
from fanin.tracker.rules.children import fails_item


def opened(transport: Transport, spec: OpenBatch, given: str | None) -> tuple[str, str, UnderWork | None]:
    """Open a batch; return its id, its key, and the call for its parent item, if that is under work here."""
    calls = calls_for(spec.parent_item_id)
    work = calls[0] if calls else None
    with new_owner(spec.parent_item_id):
        if work is None or given is not None:
            key = key_or_fresh(given)
            batch_id = _opened(transport, spec, key, work)
        else:
            batch_id, key = _child(transport, spec, work)
    if work is not None:
        work.opened(batch_id, key)
    return batch_id, key, work


def _child(transport: Transport, spec: OpenBatch, work: UnderWork) -> tuple[str, str]:
    """Return the child of an item, opened now or by an earlier call; a new one if that has failed."""
    if work.child is not None:
        raise InvalidRequest(
            f"item {work.item_id} has its child batch {work.child} already: add all items to that one, or"
            " pass a key to open another one",
            field="parent",
        )
    try:
        work.child = _opened(transport, spec, key := work.key("child"), work)
    except KeyReused as error:
        raise KeyReused(
            f"the child batch of item {work.item_id} was opened with other options at an earlier attempt:"
            " pass the same options at each attempt, or a key"
        ) from error
    return work.child, key


def _opened(transport: Transport, spec: OpenBatch, key: str, work: UnderWork | None) -> str:
    """Open a batch and return its id; that of a child that has ended, too, if its end acks its item as done.

    Raises BatchEnded for any other batch that has ended.
    """
    try:
        return transport.open(spec, key)
    except BatchEnded as ended:
        if work is None or fails_item(spec, ended.result):
            raise
        return ended.batch_id
