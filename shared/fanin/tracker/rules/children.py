"""The child batches of an item: the item waits for all of them, and takes no other one when they have ended.

The ids of an item's children are in one row, beside the rows of the parent. A child is added to it in the
transaction that stores the child, and leaves ``live`` by one conditional write when it ends. So the one that
leaves no other live is the last, however requests are repeated or delayed: it acks the item, and no child is
added from then on. One whose end fails the item, by its option ``parent_fails_on``, stays in ``failed``,
unless another one takes its place: a batch that reopens it, or one that is opened under its idempotency key.
Any other one, also if it was cancelled, is listed in ``done``, as far as there is room.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fanin.tracker.rules.model import ALL_DONE, ENOUGH, Ack, Batch, Outcome
from fanin.tracker.rules.options import ParentFailsOn, ShownOptions

CHILDREN_MAX = 100
"""Live children of an item, as many failed ones, and as many done ones: their ids are in one row."""


@dataclass(frozen=True, slots=True)
class Children:
    """The ids of an item's children that have not ended, and of those that failed and were not replaced.

    *done*: the first 100 of those whose ends did not fail the item, for lists alone.
    """

    live: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()

    def named_failure(self, last: str) -> str | None:
        """Return the failed child that the item's failure names: the *last* one to end, if it failed."""
        return last if last in self.failed else min(self.failed, default=None)

    @property
    def has_room(self) -> bool:
        return len(self.live) < CHILDREN_MAX and len(self.failed) < CHILDREN_MAX

    def admits(self, replaced: Collection[str]) -> bool:
        """Whether a child may be added, in the place of one of *replaced* if the children have ended."""
        return self.has_room and bool(self.live or self.failed.intersection(replaced))

    def with_child(self, child_id: str, replaced: Collection[str]) -> Children:
        """Return the children after a child was added in the place of those of *replaced* that failed."""
        return Children(self.live | {child_id}, self.failed.difference(replaced), self.done)

    def after_end(self, child_id: str, failed: bool) -> Children:
        """Return the children after a live one of them has ended."""
        live, more = self.live - {child_id}, frozenset({child_id})
        if failed:
            return Children(live, self.failed | more, self.done)
        return Children(live, self.failed, self.done if len(self.done) >= CHILDREN_MAX else self.done | more)


def replaced_by(batch: Batch, instead_of: str | None) -> list[str]:
    """Return the children in whose place *batch* may be: its origin, and the batch that had its key."""
    return [batch_id for batch_id in (batch.origin_batch_id, instead_of) if batch_id is not None]


def fails_item(child: ShownOptions, result: str) -> bool:
    """Whether a child that has ended with *result* fails the item of its parent."""
    if child.parent_fails_on is ParentFailsOn.ANY:
        return result not in ("succeeded", ENOUGH)
    return child.parent_fails_on is ParentFailsOn.FAILED and result not in (*ALL_DONE, ENOUGH)


def has_failed(child: Batch) -> bool:
    """Whether a child batch has ended in a way that fails the item of its parent."""
    return child.result is not None and fails_item(child, child.result)


def parent_ack(batch: Batch, children: Children, result: str | None) -> Ack:
    """Return the ack of the parent's item by *batch*, the last of its children to end.

    *result*: of the child that :meth:`Children.named_failure` names.
    """
    failed = children.named_failure(batch.batch_id)
    outcome = Outcome.SUCCESS if failed is None else Outcome.FAILURE
    reason = None if failed is None else f"batch {failed} {result or 'failed'}"
    return Ack.of(batch.parent_item_id or "", f"batch:{batch.batch_id}", outcome, reason)
