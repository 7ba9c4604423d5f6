"""What the actors were answered about one batch, held against what they may be answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fanin.tracker import Ack, Added, Batch, BatchKey, Closed, Outcome, State
from tests.simulating.violation import require
from tests.simulation.scenario import AddScript, BatchScript


@dataclass(frozen=True, slots=True)
class Message:
    """An ack that waits to be delivered: a range of a group that begins at *start* of the batch.

    One that is *folded* first is acked in the name of the caller that folds, and its own is not notified.
    """

    batch: BatchKey
    group_id: str
    start: int
    first: int
    last: int
    caller: str
    outcome: Outcome = Outcome.SUCCESS
    folded: bool = False

    @property
    def ack(self) -> Ack:
        reason = "boom" if self.outcome is Outcome.FAILURE else None
        place = (self.batch.batch_id, self.group_id, self.first, self.last)
        return Ack(*place, self.caller, self.outcome, reason)

    @property
    def mask(self) -> int:
        """Its items, as bits of the batch's index space."""
        return (1 << self.last - self.first + 1) - 1 << self.start + self.first


@dataclass(slots=True)
class Asked:
    """The items in the hands of one actor, by batch and outcome: as bits, and each as often as it came."""

    masks: dict[tuple[BatchKey, Outcome], int] = field(default_factory=dict)
    stretches: dict[tuple[BatchKey, Outcome], list[tuple[int, int]]] = field(default_factory=dict)

    def take(self, message: Message) -> None:
        key = (message.batch, message.outcome)
        self.masks[key] = self.masks.get(key, 0) | message.mask
        ends = message.start + message.first, message.start + message.last
        self.stretches.setdefault(key, []).append(ends)

    def count(self, key: tuple[BatchKey, Outcome], first: int, last: int) -> int:
        """How many acks of the items *first* to *last* there are, repeated ones too."""
        stretches = self.stretches.get(key, ())
        return sum(max(0, min(high, last) - max(low, first) + 1) for low, high in stretches)


@dataclass(slots=True)
class Ledger:
    """The answers about one batch. *unsettled* adds have neither an answer nor been given up.

    *parent_item*: the item that the batch stands for; *attempted*: items of all acks that were sent.
    *opened_as*: the batches that its key has stood for, of which all but the first are left to themselves.
    """

    script: BatchScript
    parent_item: str | None = None
    unsettled: int = 0
    opened_as: list[Batch] = field(default_factory=list)
    added: dict[AddScript, Added] = field(default_factory=dict)
    refused: set[AddScript] = field(default_factory=set)
    given_up: set[AddScript] = field(default_factory=set)
    handed: int = 0
    accepted: int = 0
    notified: set[str] = field(default_factory=set)
    messages: list[Message] = field(default_factory=list)
    attempted: int = 0

    def __post_init__(self) -> None:
        self.unsettled = sum(add.callers for add in self.script.adds)

    @property
    def key(self) -> BatchKey:
        if not self.opened_as:
            raise LookupError("no caller knows the batch's id yet")
        return self.opened_as[0].key

    def opened(self, batch: Batch) -> Batch | None:
        """Note the answer to open; the batch that this one has taken the key from, if any."""
        last = self.opened_as[-1] if self.opened_as else None
        if last is not None and last.key == batch.key:
            same = (batch.salt, batch.page_bits) == (last.salt, last.page_bits)
            require(same, "I8", f"open was answered {batch}, before that {last}")
            return None
        back = batch.key in {one.key for one in self.opened_as}
        require(not back, "I8", f"open was answered {batch} again, after {last}")
        self.opened_as.append(batch)
        return last

    def grown(self, add: AddScript, added: Added) -> bool:
        """Note the answer to an add; whether it is the first, which hands the items out."""
        self.unsettled -= 1
        earlier = self.added.setdefault(add, added)
        require(earlier == added, "I8", f"{add.name} was answered {added}, before that {earlier}")
        require(add not in self.refused, "I8", f"{add.name} was refused and then answered")
        if earlier is not added:
            return False
        (group,) = added.groups
        items = (1 << add.count) - 1 << added.total - add.count
        require(group.upto == add.count, "I8", f"{add.name} asked for {add.count}, got {group}")
        require(not items & self.handed, "I8", f"{add.name} was handed items of another add: {added}")
        self.handed |= items
        return True

    def fenced(self, add: AddScript, batch: Batch) -> None:
        """Note that an add was refused for the state of the *batch*, or because it would pass its cap."""
        self.unsettled -= 1
        self.refused.add(add)
        capped = batch.max_items is not None and batch.total + add.count > batch.max_items
        right = capped or batch.state is not State.OPEN
        require(right, "I8", f"{add.name} was refused by an open batch of {batch.total} items")
        require(add not in self.added, "I8", f"{add.name} was answered and then refused")

    def too_late(self, add: AddScript, batch: Batch) -> None:
        """Note that an add was refused because the *batch* has ended.

        It is unknown whether it had reserved items, unless all items of the batch are done.
        """
        if batch.state is State.COMPLETE and batch.reached is None:
            self.fenced(add, batch)
        else:
            self.abandoned(add)

    def abandoned(self, add: AddScript) -> None:
        self.unsettled -= 1
        self.given_up.add(add)

    def closed(self, caller: str, closed: Closed) -> None:
        """Note the answer to close."""
        require(closed.batch.state is not State.OPEN, "I5", f"close left the batch {closed.batch.state}")
        self.named({caller}, caller if closed.completed_by_caller else None, closed.batch)

    def named(self, callers: set[str], notified: str | None, batch: Batch) -> None:
        """Note that *callers* asked as one, and whom of them the answer names as the completer."""
        if notified is None:
            return
        self.notified.add(notified)
        require(notified in callers, "I3", f"{notified} was notified in a request of {sorted(callers)}")
        require(
            batch.state is State.COMPLETE, "I1", f"{notified} was notified of a batch that is {batch.state}"
        )
        require(len(self.notified) == 1, "I3", f"several were notified: {sorted(self.notified)}")

    def phantoms(self) -> Iterator[int]:
        """How many items the adds that were given up may have reserved, in every combination."""
        sums = {0}
        for add in self.given_up - self.added.keys():
            sums |= {known + add.count for known in sums}
        return iter(sorted(sums))
