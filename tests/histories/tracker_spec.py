"""What a batch is, one request at a time: items by bits, a state, and who completed it.

A request is several operations. Each acked item is marked, or ``refused`` with another verdict than accepted,
which changes nothing. After that, ``settle`` ends the batch if nothing is outstanding or enough have failed,
and says whether a caller of the request completed it. A request that writes several pages may complete the
batch with an earlier one: that is ``climb``. A list is a read of each item.

A request without an answer may have set bits and not climbed, or have closed the batch and not sealed it. The
batch then stays CLOSED with nothing outstanding until a repeated request or a sweep completes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fanin.tracker import Outcome, State, Verdict
from tests.histories.history import UNKNOWN, Operation

SWEEPER = frozenset({None})
"""The callers of a sweep: it completes a batch for none."""
LATE = {State.COMPLETE: Verdict.LATE, State.FAILED: Verdict.LATE, State.CANCELLED: Verdict.CANCELLED}
REFUSED = "refused"
READS = frozenset({"get", "outstanding", "failed", "refused"})


@dataclass(frozen=True, slots=True)
class Batch:
    """*acked* and *failed*: bits of the items; *groups*: the answers to adds by key; *most*: failures.

    *climbed*: bits of the items of the requests that climbed; *sealed*: whether a close has sealed the batch.
    """

    most: int | None = None
    state: State = State.OPEN
    total: int = 0
    acked: int = 0
    failed: int = 0
    climbed: int = 0
    sealed: bool = False
    completed_by: str | None = None
    groups: tuple[tuple[str, int, int], ...] = ()

    @property
    def is_alive(self) -> bool:
        return self.state in (State.OPEN, State.CLOSED)

    @property
    def is_whole(self) -> bool:
        """Whether the batch is closed and nothing is outstanding: a request may complete it."""
        return self.state is State.CLOSED and self.acked == (1 << self.total) - 1

    @property
    def is_due(self) -> bool:
        """Whether the next request has to complete the batch, since all requests before it got an answer."""
        return self.is_whole and self.sealed and self.climbed == self.acked

    @property
    def has_enough_failures(self) -> bool:
        return self.most is not None and self.failed.bit_count() >= self.most


def step(batch: Batch, operation: Operation) -> Iterator[Batch]:
    """Yield the batch after an operation; see ``Step``."""
    yield from STEPS[operation.name](batch, operation.answer, *operation.args)


def _add(batch: Batch, answer: object, key: str, count: int) -> Iterator[Batch]:
    """A key reserves the same items each time, while they can be done or are; a new one while it is open."""
    known = next((group for group in batch.groups if group[0] == key), None)
    group = known or (key, batch.total, count)
    if batch.state is State.OPEN or (known and batch.state in (State.CLOSED, State.COMPLETE)):
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


def _climb(batch: Batch, answer: object, caller: str) -> Iterator[Batch]:
    """Complete the batch with a page before the last one of a request, if nothing is outstanding."""
    yield from _completed(batch, frozenset({caller}))
    yield batch


def _settle(
    batch: Batch,
    answer: object,
    callers: frozenset[str | None],
    items: int = 0,
    looks: bool = True,
    seals: bool = False,
) -> Iterator[Batch]:
    """End the batch if it has reason to end; *answer*: the caller that is reported to have completed it.

    *items*: bits of the items that the request names. *looks*: whether it looks at the failures, as one does
    that closes or reports a failure. *seals*: whether it seals the batch.
    """
    if answer is not UNKNOWN:  # a request without an answer may have stopped before it climbed
        batch = replace(batch, climbed=batch.climbed | items & batch.acked, sealed=batch.sealed or seals)
    for after in _settled(batch, callers, looks):
        notified = after.completed_by if after.completed_by in callers else None
        if answer is UNKNOWN or answer == notified:
            yield after


def _settled(batch: Batch, callers: frozenset[str | None], looks: bool) -> Iterator[Batch]:
    """With the last item, enough may fail, too: then the batch is completed, or another request fails it."""
    enough = batch.is_alive and batch.has_enough_failures
    yield from _completed(batch, callers)
    if enough:
        yield replace(batch, state=State.FAILED)
    if not batch.is_due and not (enough and looks):
        yield batch


def _completed(batch: Batch, callers: frozenset[str | None]) -> Iterator[Batch]:
    if batch.is_whole:
        for caller in sorted(callers, key=str):
            yield replace(batch, state=State.COMPLETE, completed_by=caller)


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


STEPS: dict[str, Callable[..., Iterator[Batch]]] = {
    "add": _add,
    "mark": _mark,
    "refused": _mark,
    "climb": _climb,
    "settle": _settle,
    "close": _close,
    "cancel": _cancel,
    "get": _get,
    "outstanding": _is_outstanding,
    "failed": _has_failed,
}
