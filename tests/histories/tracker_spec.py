"""What a batch is, one request at a time: items by bits, a state, and who completed it.

A request is several operations. Each acked item is marked; after that, ``settle`` ends the batch if nothing
is outstanding or enough have failed, and says whether a caller of the request completed it. A list is a read
of each item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fanin.tracker import Outcome, State, Verdict
from tests.histories.history import UNKNOWN, Operation

SWEEPER = frozenset({None})
"""The callers of a sweep: it completes a batch for none."""
LATE = {State.COMPLETE: Verdict.LATE, State.FAILED: Verdict.LATE, State.CANCELLED: Verdict.CANCELLED}
REFUSED = "refused"
READS = frozenset({"get", "outstanding", "failed"})


@dataclass(frozen=True, slots=True)
class Batch:
    """*acked* and *failed*: bits of the items; *groups*: the answers to adds by key; *most*: failures."""

    most: int | None = None
    state: State = State.OPEN
    total: int = 0
    acked: int = 0
    failed: int = 0
    completed_by: str | None = None
    groups: tuple[tuple[str, int, int], ...] = ()

    @property
    def is_alive(self) -> bool:
        return self.state in (State.OPEN, State.CLOSED)

    @property
    def has_enough_failures(self) -> bool:
        return self.most is not None and self.failed.bit_count() >= self.most


def step(batch: Batch, operation: Operation) -> Iterator[Batch]:
    """Yield the batch after an operation; see ``Step``."""
    yield from STEPS[operation.name](batch, operation.answer, *operation.args)


def _add(batch: Batch, answer: object, key: str, count: int) -> Iterator[Batch]:
    """The same key reserves the same items, at any time; another one reserves the next while it is open."""
    known = next((group for group in batch.groups if group[0] == key), None)
    group = known or (key, batch.total, count)
    if known or batch.state is State.OPEN:
        if answer in (group[1:], UNKNOWN):
            groups = batch.groups if known else (*batch.groups, group)
            yield replace(batch, total=max(batch.total, group[1] + count), groups=groups)
    elif answer in (REFUSED, UNKNOWN):
        yield batch


def _mark(batch: Batch, answer: object, item: int, outcome: Outcome) -> Iterator[Batch]:
    """An item is acked once; one that failed may succeed later, while the batch is alive."""
    bit = 1 << item
    heals = bool(batch.failed & bit) and outcome is Outcome.SUCCESS
    fresh = not batch.acked & bit
    failed = batch.failed & ~bit if outcome is Outcome.SUCCESS else batch.failed | bit
    marked = replace(batch, acked=batch.acked | bit, failed=failed)
    counts = batch.is_alive or (outcome is Outcome.SUCCESS and fresh)
    if (fresh or heals) and counts and answer in (Verdict.ACCEPTED, UNKNOWN):
        yield marked
    if answer is Verdict.DUPLICATE and not fresh and not (heals and batch.is_alive):
        yield batch
    if fresh and answer is LATE.get(batch.state):
        yield batch


def _settle(
    batch: Batch, answer: object, callers: frozenset[str | None], looks: bool = True
) -> Iterator[Batch]:
    """End the batch if it has reason to end; *answer*: the caller that is reported to have completed it.

    *looks*: whether the request looks at the failures, as one does that closes or reports a failure.
    """
    for after in _settled(batch, callers, looks):
        told = after.completed_by if after.completed_by in callers else None
        if answer is UNKNOWN or answer == told:
            yield after


def _settled(batch: Batch, callers: frozenset[str | None], looks: bool) -> Iterator[Batch]:
    """With the last item, enough may fail, too: then the batch is completed, or another request fails it."""
    whole = batch.state is State.CLOSED and batch.acked == (1 << batch.total) - 1
    enough = batch.is_alive and batch.has_enough_failures
    if whole:
        for caller in sorted(callers, key=str):
            yield replace(batch, state=State.COMPLETE, completed_by=caller)
    if enough:
        yield replace(batch, state=State.FAILED)
    if not whole and not (enough and looks):
        yield batch


def _close(batch: Batch, answer: object) -> Iterator[Batch]:
    yield replace(batch, state=State.CLOSED) if batch.state is State.OPEN else batch


def _cancel(batch: Batch, answer: object) -> Iterator[Batch]:
    after = replace(batch, state=State.CANCELLED) if batch.is_alive else batch
    if answer in (after.state, UNKNOWN):
        yield after


def _get(batch: Batch, answer: object) -> Iterator[Batch]:
    if answer == (batch.state, batch.total, batch.completed_by):
        yield batch


def _is_outstanding(batch: Batch, answer: object, item: int) -> Iterator[Batch]:
    if answer == (not batch.acked >> item & 1):
        yield batch


def _has_failed(batch: Batch, answer: object, item: int) -> Iterator[Batch]:
    if answer == bool(batch.failed >> item & 1):
        yield batch


STEPS = {
    "add": _add,
    "mark": _mark,
    "settle": _settle,
    "close": _close,
    "cancel": _cancel,
    "get": _get,
    "outstanding": _is_outstanding,
    "failed": _has_failed,
}
