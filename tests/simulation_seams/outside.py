"""What really happened to each item outside of the tracker: work, owners, dead-letter messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from fanin.tracker import Ack, BatchKey, GroupId, ItemId, Outcome
from fanin.tracker.memory import MemoryStore
from tests.simulating.violation import require
from tests.simulation_seams.scenario import POISON, TENANT, WORK, Plan, Scenario, plan_of


@dataclass(eq=False, slots=True)
class Owner:
    """A task or a job with an item of its own. *outcome*: how it ended, None before; *reported*: acked."""

    kind: str
    name: str
    item: Item
    ends_at: datetime
    outcome: Outcome | None = None
    reported: bool = False


@dataclass(eq=False, slots=True)
class Work:
    """One run of the user's code on an item, in the delivery *delivery*.

    *last*: an exception fails the item. *handing*: it has begun to hand the item over; *handed*: it has.
    """

    item: Item
    delivery: Any
    began_at: datetime
    receives: int
    last: bool
    handing: bool = False
    handed: bool = False


@dataclass(eq=False, slots=True)
class Item:
    """An item at *position* of its batch. *is_done* and *failed*: its work returned, or raised the last time.

    *dead*: its message was received too often. *acked_at*: when an ack of its success was first answered.
    *messages*: how many were sent of it. *for_good*: its function has failed it for good. *returned*: what
    its runs returned; *kept*: an ack of it had a result, before the end of its batch.
    """

    id: str
    batch: BatchKey
    position: int
    plan: Plan
    works: int = 0
    raised: int = 0
    is_done: bool = False
    failed: bool = False
    dead: bool = False
    owners: list[Owner] = field(default_factory=list)
    acked_at: datetime | None = None
    messages: int = 0
    for_good: bool = False
    returned: list[str] = field(default_factory=list)
    kept: bool = False

    def ended(self, outcome: Outcome) -> bool:
        """Whether its work, or a task or job that owns it, ended so."""
        own = self.is_done if outcome is Outcome.SUCCESS else self.failed or self.dead
        return own or any(owner.outcome is outcome for owner in self.owners)


@dataclass(eq=False)
class Outside:
    """The items by their ids, and the tasks and jobs that own some of them."""

    scenario: Scenario
    random: Random
    memory: MemoryStore
    now: Callable[[], datetime]
    items: dict[str, Item] = field(default_factory=dict)
    at: dict[BatchKey, dict[int, Item]] = field(default_factory=lambda: defaultdict(dict))
    owners: dict[tuple[str, str], Owner] = field(default_factory=dict)
    poisons: int = 0

    def item(self, item_id: str) -> Item:
        """Return the item of an id, whose plan is drawn when it is first asked for."""
        if item_id not in self.items:
            parsed = ItemId.parse(item_id)
            group = GroupId.decode(parsed.group_id)
            assert group is not None
            batch = BatchKey(TENANT, parsed.batch_id)
            plan = self._plan(self._depth(batch))
            item = Item(item_id, batch, group.start + parsed.index, plan)
            self.items[item_id] = self.at[batch][item.position] = item
        return self.items[item_id]

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry out a request of a process."""
        return getattr(self, name)(*args)

    def register(self, kind: str, name: str, item_id: str) -> Owner:
        """Store a task or a job with an item, unless one of that name is stored; return the stored one."""
        if (kind, name) not in self.owners:
            item = self.item(item_id)
            ends_at = self.now() + timedelta(seconds=self.random.choice((0.1, 2, 30, 400)))
            owner = Owner(kind, name, item, ends_at)
            self.owners[kind, name] = owner
            item.owners.append(owner)
            few = len(item.owners) <= item.messages
            require(few, "hand-over", lambda: f"{item} has more owners than messages: {item.owners}")
        return self.owners[kind, name]

    def answered(self, ack: Ack) -> None:
        """Note that an ack of success was answered, so that it is stored."""
        for index in range(ack.first, ack.last + 1):
            item = self.item(f"{ack.batch_id}:{ack.group_id}:{index}")
            item.acked_at = item.acked_at or self.now()

    def ending(self) -> Iterator[Owner]:
        """End each owner whose time has come, and yield it."""
        for owner in self.owners.values():
            if owner.outcome is None and owner.ends_at <= self.now():
                owner.outcome = self.random.choice((Outcome.SUCCESS, Outcome.SUCCESS, Outcome.FAILURE))
                yield owner

    def _plan(self, depth: int) -> Plan:
        """Draw a plan; a run has a bounded number of poisoned items."""
        plan = plan_of(self.random, self.scenario, depth)
        if plan.kind == POISON:
            self.poisons += 1
            if self.poisons > self.scenario.poisons:
                return replace(plan, kind=WORK)
        return plan

    def _depth(self, batch: BatchKey) -> int:
        depth = 0
        while (parent := self.memory.batches[batch].parent_item_id) is not None:
            batch, depth = BatchKey(TENANT, ItemId.parse(parent).batch_id), depth + 1
        return depth
