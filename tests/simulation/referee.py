"""Carries requests out on the memory store and judges each at once, by its own account of what was acked.

Nothing here believes the tracker: what an ack may touch comes from the messages that the actors hold, what
was acked, failed and counted from the writes that landed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from fanin.names import BATCH_COMPLETED, BATCH_FAILED
from fanin.tracker import ItemId, Mode, Outcome
from fanin.tracker.events import CompletionEvent
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules import tree
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.model import Batch, BatchKey, ItemKey, PageKey, State
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.store import Written
from tests.simulating.violation import Violation, require
from tests.simulation.bindings import Bindings
from tests.simulation.ledger import Asked
from tests.simulation.scenario import ASKED

BITS, COUNTS, TURN, TAIL, READ = "bits", "counts", "transition", "tail", "read"
NOTICE, CHILD = "notice", "child"
KINDS = {
    "create_pages": BITS,
    "add_bits": BITS,
    "replace_bits": BITS,
    "replace_pages": BITS,
    "heal_bits": BITS,
    "add_count": COUNTS,
    "create": TURN,
    "create_under": TURN,
    "reserve": TURN,
    "transition": TURN,
    "cancel_children": TURN,
    "extend": TURN,
    "postpone": TURN,
    "mark_tail": TAIL,
    "compact": TAIL,
    "prepare": TAIL,
    "notice": NOTICE,
    "end_child": CHILD,
}
NOTHING = Asked()
COMPLETIONS = ("succeeded", "completed_with_failures")
GOOD = {"any": ("succeeded", "enough"), "failed": ("enough", *COMPLETIONS)}
"""The results with which a child acks its item as done; under any other option it does with each."""


def is_good(child: Batch) -> bool:
    """Whether a child that has ended acks its item as done."""
    return child.result in GOOD.get(child.parent_fails_on, (child.result,))


def is_cascaded(batch: Batch) -> bool:
    """Whether a batch was cancelled because its parent was."""
    parent = "" if batch.parent is None else batch.parent.batch.batch_id
    return batch.end_reason == f"batch {parent} was cancelled"


class Referee:
    """What really happened, for each batch, as bits of its index space.

    *landed*: items whose ack was applied; *failed*: those of them that are failed now, *has_failed*: or
    once were; *healed*: how often one was healed, *healed_by_children*: by a batch that stands for it;
    *counted*: acks by page, in an estimated batch, and *failures*: the failed ones of a batch; *repeats*:
    acks that the network may have doubled. *state_since*: when a batch came to its state; *enough_since*:
    since when as many have failed as end it, None while they do not.
    *sampled*: batches of whose acked items too many had failed, at a time since the last heal.
    *children*: by item of a batch, all that were ever opened to stand for it; *replaced*: those that failed
    and whose key stands for another one. *noted*: those whose end is noted at their item. *over_as*: by item,
    how its children had ended whenever all had.
    *to_bus*: ending events that the stream has just brought. *skew*: how far the clocks of processes are
    from the true time of *now*, at most.
    """

    def __init__(
        self, memory: MemoryStore, now: Callable[[], datetime], skew: timedelta = timedelta(0)
    ) -> None:
        self.memory, self.now, self.skew = memory, now, skew
        self.bindings = Bindings(memory, now, 2 * skew)
        self.landed: defaultdict[BatchKey, int] = defaultdict(int)
        self.failed: defaultdict[BatchKey, int] = defaultdict(int)
        self.has_failed: defaultdict[BatchKey, int] = defaultdict(int)
        self.healed: defaultdict[BatchKey, int] = defaultdict(int)
        self.healed_by_children: defaultdict[BatchKey, int] = defaultdict(int)
        self.counted: defaultdict[PageKey, int] = defaultdict(int)
        self.failures: defaultdict[BatchKey, int] = defaultdict(int)
        self.repeats: defaultdict[BatchKey, int] = defaultdict(int)
        self.state_since: dict[BatchKey, datetime] = {}
        self.enough_since: defaultdict[BatchKey, datetime | None] = defaultdict(lambda: None)
        self.sampled: set[BatchKey] = set()
        self.children: defaultdict[BatchKey, defaultdict[int, set[BatchKey]]]
        self.children = defaultdict(lambda: defaultdict(set))
        self.replaced: set[BatchKey] = set()
        self.noted: set[BatchKey] = set()
        self.over_as: defaultdict[tuple[BatchKey, int], set[Outcome]] = defaultdict(set)
        self.to_bus: list[BatchKey] = []
        self._refused: dict[int, Any] = {}
        self._judged: dict[str, Callable[..., Any]] = {
            BITS: self._bits,
            COUNTS: self._counts,
            TURN: self._turn,
            TAIL: self._tail,
            NOTICE: self._notice,
            CHILD: self._end_child,
        }

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry a request out; Violation where it does what must not be."""
        if name == "remember":
            return self.bindings.remember(*args)
        judged = self._judged.get(KINDS.get(name, READ))
        return judged(name, *args) if judged else getattr(self.memory, name)(*args)

    def observe(self, asked: Asked, name: str, args: tuple[Any, ...]) -> None:
        """I6: an actor writes no leaf bit but those of the items in its hands, or of a batch that ended."""
        kind = KINDS.get(name)
        if name == "transition" and args[1].to is State.COMPLETE:
            self._observe_completion(asked, args[0])
        if kind is COUNTS:
            self._observe_count(asked, *args)
        if kind is not BITS:
            return
        for key, masks in _writes(name, args):
            if not key.level:
                self._observe_bits(asked, name, key, masks)

    def _observe_bits(self, asked: Asked, name: str, key: PageKey, masks: PageMasks) -> None:
        for outcome, mask in ((Outcome.SUCCESS, masks.success), (Outcome.FAILURE, masks.failed)):
            placed = self._placed(key, mask)
            allowed = asked.masks.get((key.batch, outcome), 0)
            if placed & ~allowed and placed & ~(allowed | self._ended_children(key.batch, outcome)):
                raise Violation("I6", f"{name} of {key} sets bits that no valid id names: {placed:b}")

    def may_repeat(self, name: str, args: tuple[Any, ...]) -> None:
        """The network may carry a request out once more."""
        if KINDS.get(name) is COUNTS:
            self.repeats[args[0].batch] += args[1]

    def all_counted(self, batch: Batch) -> bool:
        """Whether each leaf of an estimated batch has as many acks as it has items."""
        leaves = range(-(-batch.total // batch.shape.leaf))
        return all(
            self.counted[PageKey(batch.key, 0, leaf)] >= tree.capacity(0, leaf, batch.total, batch.shape)
            for leaf in leaves
        )

    def all_acked(self, batch: Batch) -> bool:
        """Whether nothing of the batch is outstanding."""
        if batch.mode is Mode.ESTIMATED:
            return self.all_counted(batch)
        return self.landed[batch.key] == (1 << batch.total) - 1

    def enough_failed(self, batch: Batch) -> bool:
        """Whether the batch bears no more failures in its state."""
        borne = self.borne(batch)
        return borne is not None and self.failures[batch.key] >= borne

    def succeeded(self, batch: Batch) -> int:
        """The number of its items that have succeeded, or are counted and have not failed."""
        if batch.mode is Mode.EXACT:
            return (self.landed[batch.key] & ~self.failed[batch.key]).bit_count()
        leaves = range(-(-batch.total // batch.shape.leaf))
        sizes = {PageKey(batch.key, 0, at): tree.capacity(0, at, batch.total, batch.shape) for at in leaves}
        counted = sum(min(self.counted[key], size) for key, size in sizes.items())
        return counted - self.failures[batch.key]

    def enough_succeeded(self, batch: Batch) -> bool:
        """Whether enough of the batch has succeeded to end it in its state."""
        return self.suffice(batch, self.succeeded(batch))

    def has_enough_on_its_page(self, batch: Batch) -> bool:
        """Whether a live batch of one page, whose acks end it, has had enough."""
        small = batch.mode is Mode.EXACT and batch.total <= batch.page_bits
        return batch.is_alive and small and self.enough_succeeded(batch)

    def suffice(self, batch: Batch, succeeded: int) -> bool:
        """Whether so many successes end the batch in its state."""
        least, percent = batch.min_succeeded, batch.min_succeeded_percent
        final = batch.state is not State.OPEN and batch.total
        by_percent = final and percent is not None and succeeded * 100 >= batch.total * percent
        return bool(by_percent) or (least is not None and succeeded >= least)

    def _note_sample(self, batch: Batch, healed: bool) -> None:
        """Note that the failures were too large a part of the acked items, at a time since the last heal."""
        if healed:
            self.sampled.discard(batch.key)
        sample, percent = batch.failure_sample, batch.max_failure_percent
        acked, failed = self.landed[batch.key].bit_count(), self.failures[batch.key]
        if sample and percent and failed and acked >= sample and failed * 100 >= acked * percent:
            self.sampled.add(batch.key)

    def borne(self, batch: Batch) -> int | None:
        """The number of failures that ends the batch: of a percentage, once no item can be added."""
        enough = [n for n in range(1, batch.total + 1) if self._are_enough(batch, n)]
        return min(enough, default=batch.max_failures)

    def _are_enough(self, batch: Batch, failures: int) -> bool:
        most, percent = batch.max_failures, batch.max_failure_percent
        final = batch.state is not State.OPEN
        by_percent = final and percent is not None and failures * 100 >= batch.total * percent
        return by_percent or (most is not None and failures >= most)

    def _observe_count(self, asked: Asked, key: PageKey, count: int, outcome: Outcome, *_: Any) -> None:
        """Every ack in the request counts; where time passes, some may have come too late for that."""
        leaf = self.memory.batches[key.batch].shape.leaf
        wanted = asked.count((key.batch, outcome), key.number * leaf, (key.number + 1) * leaf - 1)
        moved = self.now() != self.memory.batches[key.batch].created_at
        right = count == wanted or (moved and count < wanted)
        require(right, "estimate", f"{count} acks counted on {key}, {wanted} were in the request")

    def _observe_completion(self, asked: Asked, key: BatchKey) -> None:
        """A request that heals an item completes no batch before that."""
        unhealed = asked.masks.get((key, Outcome.SUCCESS), 0) & self.failed[key]
        right = not unhealed or not self.memory.batches[key].is_alive
        require(right, "failures", f"{key} is completed by a request that has {unhealed:b} of it to heal")

    def _ended_children(self, parent: BatchKey, outcome: Outcome) -> int:
        """The items of *parent* whose children had all ended so."""
        return sum(1 << item for item in self.children[parent] if outcome in self.over_as[parent, item])

    def _placed(self, key: PageKey, mask: int) -> int:
        return mask << key.number * self.memory.batches[key.batch].page_bits

    def _bits(self, name: str, *args: Any) -> Any:
        writes = _writes(name, args)
        of = writes[0][0].batch
        pages = {key: self.memory.stored_pages.get(key) for key, _ in writes}
        batch = self.memory.batches[of]
        answer = getattr(self.memory, name)(*args)
        if not (answer.applied if isinstance(answer, Written) else answer):
            same = all(self.memory.stored_pages.get(key) is page for key, page in pages.items())
            same = same and self.memory.batches[of] is batch
            require(same, "I4", f"a refused write changed {[*pages]}")
            return answer
        for key, masks in writes:
            self._check_page(key)
            if key.level:
                self._check_children(key, masks.mask)
            else:
                self._note_bits(name, key, self._placed(key, masks.mask), self._placed(key, masks.failed))
        for key in pages:
            if not key.level:
                self._check_failures(key, batch)
        return answer

    def _note_bits(self, name: str, key: PageKey, placed: int, failed: int) -> None:
        batch = key.batch
        if name == "heal_bits":
            require(not placed & ~self.failed[batch], "failures", f"{key} is healed where nothing failed")
            self.failed[batch] &= ~placed
            self.healed[batch] += placed.bit_count()
            of_children = sum(1 << item for item in self.children[batch])
            self.healed_by_children[batch] += (placed & of_children).bit_count()
        else:
            require(not placed & self.landed[batch], "I4", f"an ack landed twice on {key}")
            self.landed[batch] |= placed
            self.failed[batch] |= failed
            self.has_failed[batch] |= failed
        self.failures[batch] = self.failed[batch].bit_count()
        self._note_sample(self.memory.batches[batch], name == "heal_bits")

    def _counts(self, name: str, key: PageKey, count: int, outcome: Outcome, *args: Any) -> Any:
        batch = self.memory.batches[key.batch]
        written = getattr(self.memory, name)(key, count, outcome, *args)
        if written.applied:
            self.counted[key] += count
            self.failures[key.batch] += count if outcome is Outcome.FAILURE else 0
        n = self.memory.stored_pages.get(key, Page()).n
        require(n == self.counted[key], "estimate", f"{key} counts {n}, {self.counted[key]} landed")
        self._check_failures(key, batch)
        return written

    def _check_failures(self, key: PageKey, before: Batch) -> None:
        """What is counted as failed is what failed, at any moment; after the end it stays as it was."""
        batch, failures = self.memory.batches[key.batch], self.failures[key.batch]
        self._note_enough(batch)
        right = batch.failed == failures
        require(right, "failures", f"{failures} of {key.batch} failed, {batch.failed} are counted")
        require(before.is_alive or batch == before, "end", f"{key.batch} has ended and changed")
        if batch.mode is Mode.EXACT:
            page = self.memory.stored_pages[key]
            width = batch.page_bits
            truth = self.failed[key.batch] >> key.number * width & (1 << width) - 1
            require(page.failed == truth, "failures", f"{key} has {page}, {truth:b} failed")

    def _note_enough(self, batch: Batch) -> None:
        """Note since when as many items of the batch have failed as end it."""
        since = self.enough_since[batch.key]
        self.enough_since[batch.key] = (since or self.now()) if self.enough_failed(batch) else None

    def _tail(self, name: str, key: PageKey, *args: Any) -> Any:
        answer = getattr(self.memory, name)(key, *args)
        if key in self.memory.stored_pages:
            self._check_page(key)
        return answer

    def _notice(self, name: str, batch: Batch, *args: Any) -> Any:
        require(not self.memory.batches[batch.key].is_alive, "events", f"{batch.key} has not ended")
        self.resend(batch.key)
        return getattr(self.memory, name)(batch, *args)

    def resend(self, key: BatchKey) -> None:
        """Take the record of a notice, by which an ending event is sent again."""
        self.to_bus.append(key)

    def _turn(self, name: str, subject: BatchKey | Batch, *args: Any) -> Any:
        key = subject.key if isinstance(subject, Batch) else subject
        before = self.memory.batches.get(key)
        answer = getattr(self.memory, name)(subject, *args)
        after = self.memory.batches.get(key)
        if after is before or after is None:
            if name == "transition" and before is not None and before.is_alive:
                self._refused[id(args[0])] = args[0]
            return answer
        if before is None:
            self._note_child(after, *args[1:2] if name == "create_under" else ())
            return answer
        if name == "postpone" and isinstance(subject, Batch):
            require(before.state is subject.state, "sweep", f"{key} moved, and the next look was put off")
        self._check_turn(before, after)
        require(id(args[0]) not in self._refused, "failed", f"{key} ended by a request that it had refused")
        if after.state is not before.state:
            self.state_since[key] = self.now()
            if after.is_alive:
                self._note_enough(after)
            if not after.is_alive:
                self._note_end_of_child(after)
                self._check_event(after)
                self.to_bus.append(key)
        return answer

    def _check_event(self, after: Batch) -> None:
        """The event says that a batch is completed only if every item of it is done."""
        event = CompletionEvent.of(after)
        facts = (event.detail_type, event.result in ("succeeded", "completed_with_failures"))
        enough = after.state is State.COMPLETE and after.reached is not None
        right = ((event.detail_type, event.result) == (BATCH_COMPLETED, "enough")) is enough
        require(
            right and event.reached == after.reached, "events", f"{after.key} had {after.reached}: {event}"
        )
        is_whole = after.state is State.COMPLETE and not enough and self.all_acked(after)
        require(
            (facts == (BATCH_COMPLETED, True)) is is_whole,
            "events",
            f"{after.key} was {after.state}: {facts}",
        )
        failed = after.state is State.FAILED
        right = (event.detail_type == BATCH_FAILED, event.result == "too_many_failures") == (failed, failed)
        require(right, "events", f"{after.key} was {after.state}: {event.detail_type}, {event.result}")

    def item_of(self, tenant: str, text: str) -> tuple[BatchKey, int]:
        """The batch of an item, and the item's place in it."""
        item = ItemId.parse(text)
        group = GroupId.decode(item.group_id)
        if group is None:
            raise Violation("I6", f"{text} is an item of no group")
        return BatchKey(tenant, item.batch_id), group.start + item.index

    def outcome_of(self, parent: BatchKey, item: int) -> Outcome | None:
        """How the children of an item have ended, but for the replaced ones; None while one is live."""
        standing = [self.memory.batches[key] for key in self.children[parent][item] - self.replaced]
        if not standing or any(child.is_alive for child in standing):
            return None
        succeeded = all(is_good(child) for child in standing)
        return Outcome.SUCCESS if succeeded else Outcome.FAILURE

    def is_over(self, parent: BatchKey, item: int) -> bool:
        """Whether an item takes no child: its children have ended, or it is done."""
        succeeded = self.landed[parent] & ~self.failed[parent]
        return self.outcome_of(parent, item) is not None or bool(succeeded >> item & 1)

    def _note_child(self, batch: Batch, *instead_of: str | None) -> None:
        """A child is opened while others are live, or in the place of one that failed."""
        if batch.parent_item_id is None:
            return
        parent, item = self.item_of(batch.tenant, batch.parent_item_id)
        known = self.children[parent][item] - self.replaced
        ended = {key for key in known if not self.memory.batches[key].is_alive}
        failed = {key for key in ended if not is_good(self.memory.batches[key])}
        before = failed & {BatchKey(batch.tenant, batch_id or "") for batch_id in instead_of}
        require(before <= self.noted, "children", f"{batch.key} takes the place of {before}, which are live")
        late = bool(known) and known <= self.noted and not before
        require(not late, "children", f"{batch.key} was opened for {item} of {parent}, which is over")
        self.replaced |= before
        self.children[parent][item].add(batch.key)

    def _end_child(self, name: str, item: ItemKey, child_id: str, failed: bool) -> Any:
        """The end of a child is noted as it was, and takes no other one out of the live ones."""
        child = self.memory.batches[BatchKey(item.batch.tenant, child_id)]
        right = child.result is not None and failed is not is_good(child)
        require(right, "children", f"{child.key} is {child.result}, and was noted as failed: {failed}")
        self.noted.add(child.key)
        return getattr(self.memory, name)(item, child_id, failed)

    def _note_end_of_child(self, batch: Batch) -> None:
        if batch.parent_item_id is not None:
            parent, item = self.item_of(batch.tenant, batch.parent_item_id)
            outcome = self.outcome_of(parent, item)
            self.over_as[parent, item] |= set() if outcome is None else {outcome}

    def _check_page(self, key: PageKey) -> None:
        """I4: the count of a page is that of its bits; I1: only a batch that is closed has last pages."""
        batch, page = self.memory.batches[key.batch], self.memory.stored_pages[key]
        if page.size is not None or page.root:
            require(batch.state is not State.OPEN, "I1", f"{key} got its size while more items may come")
        if key.level == 0 and batch.mode is Mode.ESTIMATED:
            return
        size = batch.page_bits if page.size is None else page.size
        if page.compacted:
            require(page.n == size and not page.bits, "I4", f"{key} was compacted at {page}")
        else:
            require(page.n == page.bits.bit_count(), "I4", f"{key} miscounts: {page}")
            require(not page.bits >> size, "I4", f"{key} is over its size: {page}")

    def _check_children(self, key: PageKey, mask: int) -> None:
        """I1: a bit above the leaves says of a page that it is full."""
        shape = self.memory.batches[key.batch].shape
        width = shape.leaf if key.level == 1 else shape.fanout
        for bit in range(mask.bit_length()):
            if mask >> bit & 1:
                child = PageKey(key.batch, key.level - 1, key.number * shape.fanout + bit)
                page = self.memory.stored_pages.get(child, Page())
                require(page.is_full(width), "I1", f"{child} is not full, but its parent says so: {page}")

    def _check_turn(self, before: Batch, after: Batch) -> None:
        """What a batch may become: see I1, I3, I5; it ends once, and then stays as it is."""
        key = after.key
        require(after.salt == before.salt, "I6", f"the secret of {key} changed")
        require(after.state is before.state or before.is_alive, "I1", f"{key} went back to {after.state}")
        back = before.state is State.CLOSED and after.state is State.OPEN
        require(not back, "I1", f"{key} went back to {after.state}")
        capped = after.max_items is not None and after.total > max(before.total, after.max_items)
        require(not capped, "cap", f"{key} takes {after.max_items} items and has {after.total}")
        if before.state is not State.OPEN:
            require(after.total == before.total, "I5", f"{key} grew from {before.total} to {after.total}")
        if not before.is_alive:
            require(after.completed_by == before.completed_by, "I3", f"{key} was completed twice")
            known = {"next_check_at": before.next_check_at}
            if before.state is State.CANCELLED and after.cancels_children:
                known["cancels_children"] = before.cancels_children
            require(replace(after, **known) == before, "end", f"{key} changed: {before}, {after}")
        elif after.state is not before.state:
            self._check_step(before, after)
        else:
            longer = after.expires_at >= before.expires_at
            require(longer, "expiry", f"{key} was to live until {before.expires_at}, now {after.expires_at}")

    def _check_step(self, before: Batch, after: Batch) -> None:
        """A step has a reason that holds now."""
        key, now = after.key, self.now() + self.skew
        if after.state is State.FAILED:
            self._check_failed(before, after)
        elif after.state is State.COMPLETE and after.reached is not None:
            self._check_enough(before, after)
        elif after.state is State.COMPLETE:
            require(before.state is State.CLOSED, "I1", f"{key} was completed while it was {before.state}")
            require(self.all_acked(after), "I1", f"{key} was completed at {self.landed[key]:b}")
        elif after.state is State.CLOSED:
            enough = after.total >= (after.expected_items or 0)
            require(enough, "expected", f"{key} was closed with {after.total} items")
        elif after.state is State.CANCELLED:
            self._check_cancelled(after)
        elif after.state is State.TIMED_OUT:
            late = before.deadline_at is not None and before.deadline_at <= now
            require(late, "deadline", f"{key} timed out at {now}, its deadline is {before.deadline_at}")
        elif after.state is State.EXPIRED:
            require(before.expires_at <= now, "expiry", f"{key} expired at {now}, before {before.expires_at}")

    def _check_enough(self, before: Batch, after: Batch) -> None:
        """A batch ends as enough where as many succeeded as it says, and as it asked for in its state."""
        key, reached = after.key, after.reached or 0
        succeeded = self.succeeded(after)
        require(reached <= succeeded, "enough", f"{key} ended at {reached} of {succeeded} successes")
        right = self.suffice(before, reached)
        require(right, "enough", f"{key}, which was {before.state}, ended at {reached} of {before.total}")

    def _check_cancelled(self, after: Batch) -> None:
        """A batch is cancelled only by who was asked to, or with its parent."""
        parent = None if after.parent is None else self.memory.batches[after.parent.batch]
        below = parent is not None and parent.cancels_children and is_cascaded(after)
        right = after.end_reason == ASKED or below
        require(right, "cascade", f"{after.key} was cancelled: {after.end_reason}, below {parent}")

    def _check_failed(self, before: Batch, after: Batch) -> None:
        """A batch fails where its failures suffice now, no earlier than they did; no caller completed it."""
        key, since = after.key, self.enough_since[after.key]
        if key in self.sampled and not self.enough_failed(before):
            return
        require(self.enough_failed(before), "failed", f"{key} failed at {self.failures[key]} failures")
        right = after.ended_at is not None and since is not None and after.ended_at >= since - self.skew
        require(right, "failed", f"{key} failed at {after.ended_at}, it had enough failures at {since}")
        completed = after.completed_at or after.completed_by
        require(not completed, "failed", f"{key} failed, and was completed by {after.completed_by}")


def _writes(name: str, args: tuple[Any, ...]) -> list[tuple[PageKey, PageMasks]]:
    """The pages of a write, each with the bits that it sets, or heals."""
    if name == "create_pages":
        ((key, page),) = args[0].items()  # see TwoRequests
        return [(key, PageMasks((1 << page.n) - 1 if page.compacted else page.bits))]
    if name == "replace_pages":
        return [(leaf.key, leaf.masks) for leaf in args[0]]
    if name == "heal_bits":
        return [(args[0], PageMasks(args[1]))]
    return [(args[0], args[2 if name == "replace_bits" else 1])]
