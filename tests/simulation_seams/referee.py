"""Judges each write and each start of work by what was stored and by what happened outside of the tracker."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from fanin.names import BATCH_FAILED
from fanin.tracker import Ack, Batch, BatchKey, ItemId, Outcome, State
from fanin.tracker.dynamodb.thresholds import notice_item
from fanin.tracker.events import CompletionEvent
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.thresholds import Reached
from tests.simulating.violation import require
from tests.simulation import referee
from tests.simulation.referee import is_cascaded
from tests.simulation_seams.outside import Item, Outside, Work
from tests.simulation_seams.scenario import FOR_GOOD, INSIDE
from tests.simulation_seams.thresholds import Thresholds

BY_OPERATOR = "enough"
"""The reason of an end that an operator forces."""

if TYPE_CHECKING:
    from tests.simulation_seams.bus import Bus


class Referee(referee.Referee):
    """The tracker's referee, which also knows the end of each item outside of the tracker.

    *deleted*: what was stored of batches that were deleted; *reopened*: batches of another one's items.
    """

    outside: Outside
    thresholds: Thresholds
    bus: Bus

    def __init__(
        self, memory: MemoryStore, now: Callable[[], datetime], fresh_for: timedelta, skew: timedelta
    ) -> None:
        super().__init__(memory, now, skew)
        self.fresh_for = 4 * fresh_for if skew else fresh_for  # a clock may be set back meanwhile
        self.deleted: dict[BatchKey, Batch] = {}
        self.reopened: set[BatchKey] = set()

    def is_set(self, item: Item, failed: bool = False) -> bool:
        """Whether an ack of the item, or of its failure, is stored."""
        bits = self.failed if failed else self.landed
        return bool(bits[item.batch] >> item.position & 1)

    def began(self, work: Work) -> None:
        """S: no work begins after its consumer could know that it is not wanted."""
        item, received = work.item, work.delivery.received_at
        batch = self.memory.batches[item.batch]
        over = not batch.is_alive and self.state_since[item.batch] + self.fresh_for < work.delivery.free_at
        require(not over, "skip", lambda: f"work on {item.id} began, its batch was {batch.state} for long")
        known = item.acked_at is not None and item.acked_at < received and not self.is_set(item, failed=True)
        again = known and work.receives > 1
        require(not again, "skip", lambda: f"work on {item.id} began again, its ack was answered before")

    def message_deleted(self, item: Item) -> None:
        """H: the message of an item is deleted once it is acked, has an owner, or its batch is over."""
        batch = self.memory.batches[item.batch]
        owned = bool(item.owners) or bool(self._children_of(item))
        held = self.is_set(item) or (owned and not (item.for_good and item.works == 1))
        over = not batch.is_alive or batch.expires_at <= self.now() + self.skew
        require(
            held or over, "lost", lambda: f"the message of {item.id} is deleted, and no owner has the item"
        )

    def _note_bits(self, name: str, key: PageKey, placed: int, failed: int) -> None:
        """H: an item is acked after its work, or after its owner, has ended so."""
        for position in _bits(placed):
            outcome = Outcome.FAILURE if failed >> position & 1 else Outcome.SUCCESS
            item = self.outside.at[key.batch].get(position)
            reason = item is not None and (item.ended(outcome) or self._children_ended(item, outcome))
            require(
                reason,
                "hand-over",
                lambda item=item, outcome=outcome: f"{item} is acked as {outcome}, and nothing ended so",
            )
            if outcome is Outcome.FAILURE and item is not None:
                self._check_for_good(item)
        self._note_results(key, placed & ~failed)
        super()._note_bits(name, key, placed, failed)
        self.thresholds.changed(key.batch)

    def _check_for_good(self, item: Item) -> None:
        """G: a failure for good is acked with the reason of its function, and ends the child of its block."""
        actor = self.bus.world.loop.actor
        if actor is None or actor.process is None or _is_dead_letter_message(actor.delivery):
            return
        acks = (ack for ack in actor.acking if (ack.caller, item.id) in actor.process.for_good)
        for ack in (each for each in acks if _is_of(each, item.id)):
            right = ack.reason == FOR_GOOD
            require(right, "for good", lambda ack=ack: f"{item} failed for another reason: {ack}")
        if item.for_good and item.works == 1 and item.plan.where == INSIDE:
            children = [self.memory.batches[key] for key in self._children_of(item)]
            ended = all(child.state is not State.OPEN for child in children)
            require(ended, "for good", lambda: f"{item} failed for good, and left {children}")

    def _note_results(self, key: PageKey, placed: int) -> None:
        """Note which items of a live batch are acked with a result."""
        actor = self.bus.world.loop.actor
        if actor is None or not self.memory.batches[key.batch].is_alive:
            return
        for ack in actor.acking:
            if ack.result is not None and ack.batch_id == key.batch.batch_id:
                item = self.outside.item(f"{ack.batch_id}:{ack.group_id}:{ack.first}")
                item.kept |= bool(placed >> item.position & 1)

    def _check_step(self, before: Batch, after: Batch) -> None:
        """E: an end is a completion only if all items are done."""
        if after.ended_by is None:  # no request of an operator
            super()._check_step(before, after)
        self.thresholds.changed(after.key)
        if after.parent_item_id is not None and after.state in (State.CLOSED, State.CANCELLED):
            self._check_child(after, self.outside.item(after.parent_item_id))
        elif after.state is State.CANCELLED:
            right = after.end_reason == BY_OPERATOR
            require(right, "publisher", lambda: f"{after} is cancelled, and its publisher comes again")
        if after.state is State.COMPLETE and after.reached is not None:
            self._check_heals(after)
        elif after.state is State.COMPLETE:
            landed = self.landed[after.key].bit_count()
            require(
                self.all_acked(after),
                "early end",
                lambda: f"{after.key} is COMPLETE with {landed} of {after.total} items done",
            )
            self._check_heals(after)

    def _check_cancelled(self, after: Batch) -> None:
        """A block that raises cancels its batch, too; see _check_child."""
        if is_cascaded(after):
            super()._check_cancelled(after)

    def _check_heals(self, after: Batch) -> None:
        """H: the request that completes a batch has healed before what it acks of it."""
        actor = self.bus.world.loop.actor
        for ack in actor.acking if actor is not None else ():
            if ack.batch_id == after.batch_id and ack.outcome is Outcome.SUCCESS:
                items = (f"{ack.batch_id}:{ack.group_id}:{n}" for n in range(ack.first, ack.last + 1))
                lost = [item for item in items if self.is_set(self.outside.item(item), failed=True)]
                require(not lost, "heals", lambda lost=lost: f"{after} is completed by an ack of {lost}")

    def _check_event(self, after: Batch) -> None:
        """E: an end that an operator forced is a failure, whatever has failed."""
        if after.ended_by is None:
            super()._check_event(after)
        else:
            event = CompletionEvent.of(after)
            right = (event.detail_type, event.result) == (BATCH_FAILED, "forced")
            require(right, "events", lambda: f"{after} was forced to end: {event}")

    def _check_child(self, child: Batch, item: Item) -> None:
        """H: attempts share one batch: each goes on with it, and only the last one cancels it."""
        plan, fail_after = item.plan, self.outside.scenario.fail_after
        if child.state is State.CLOSED:
            total = sum(plan.adds)
            require(
                child.total == total, "hand-over", lambda: f"{child} of {item} is closed with other items"
            )
        elif child.end_reason != BY_OPERATOR and not (plan.careless or plan.for_good or is_cascaded(child)):
            require(fail_after, "hand-over", lambda: f"{child} of {item} is cancelled, and it comes again")

    def _note_child(self, batch: Batch, *instead_of: str | None) -> None:
        """H: an item has as many live batches as its function opens, however often it is called.

        The key of a batch that has failed or expired stands for a new one.
        """
        super()._note_child(batch, *instead_of)
        if batch.parent_item_id is not None and batch.key not in self.reopened:
            item = self.outside.item(batch.parent_item_id)
            children = [self.memory.batches[key] for key in self._children_of(item) - self.reopened]
            standing = [each for each in children if each.is_alive or referee.is_good(each)]
            late = any(each.expires_at <= self.now() + self.skew for each in children)
            few = late or len(standing) <= item.plan.children
            require(few, "hand-over", lambda: f"{item} has the batches {standing}")

    def _children_of(self, item: Item) -> set[BatchKey]:
        return self.children[item.batch][item.position] if item.batch in self.children else set()

    def _children_ended(self, item: Item, outcome: Outcome) -> bool:
        return outcome in self.over_as[item.batch, item.position]

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry a request out, and judge it."""
        if name == "record_ack_time":
            self.thresholds.recorded(*args)
        own = {"report": self._report, "delete": self._delete, "create_reopened": self._reopen}.get(name)
        return own(*args) if own else super().apply(name, args)

    def resend(self, key: BatchKey) -> None:
        self.bus.resend(key)

    def _report(self, seen: Batch, reached: Reached) -> bool:
        """K: a threshold is reported once; its notice goes to the bus."""
        batch = self.memory.batches[seen.key]
        before = (batch.key, reached.mark) in self.memory.reports
        report = self.memory.report(seen, reached)
        if report:
            require(not before, "thresholds", lambda: f"{reached} of {batch.key} is reported again")
            self.thresholds.judge(batch, reached)
            item = notice_item(batch, reached)
            self.bus.notice({"dynamodb": {"Keys": {"pk": item["pk"], "sk": item["sk"]}, "NewImage": item}})
        return report

    def _delete(self, seen: Batch, at: datetime) -> Batch | None:
        """K: a batch is deleted after its end, its event, and the end of the task that waits for it."""
        before = self.memory.batches[seen.key]
        after = self.memory.delete(seen, at)
        if before.deleted_at is None and after is not None and after.deleted_at is not None:
            settled = not before.is_alive and before.key in self.memory.confirmed
            waits = before.resumes and before.key in self.memory.tokens
            require(settled and not waits, "deletion", lambda: f"{before} is deleted")
            self.deleted[before.key] = before
            self.to_bus.append(before.key)  # the stream has a record of that write, too
        return after

    def _reopen(self, batch: Batch, *args: Any) -> Any:
        """Note whose item a reopened batch stands for."""
        answer = self.memory.create_reopened(batch, *args)
        if batch.key in self.memory.batches:
            self.reopened.add(batch.key)
            self._note_child(batch, batch.origin_batch_id, args[-1])
        return answer


def _is_of(ack: Ack, item_id: str) -> bool:
    item = ItemId.parse(item_id)
    return (ack.batch_id, ack.group_id) == (item.batch_id, item.group_id) and (
        ack.first <= item.index <= ack.last
    )


def _is_dead_letter_message(delivery: Any) -> bool:
    """Whether a delivery is one of dead-letter messages; a worker settles messages of no delivery."""
    return delivery is not None and "DeadLetterQueueSourceArn" in delivery.records[0]["attributes"]


def _bits(mask: int) -> list[int]:
    return [position for position in range(mask.bit_length()) if mask >> position & 1]
