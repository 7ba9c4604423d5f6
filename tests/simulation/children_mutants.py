"""Rules of the children of an item, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import Outcome, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.children import Children, has_failed
from fanin.tracker.rules.model import Ack
from fanin.tracker.writing import repairing
from tests.simulating.mutants import Mutant

_create, _parent_ack = MemoryStore._create, Tracker._parent_ack


def _acked_by_each(self, batch):
    """The end of each child acks the item."""
    if batch.is_alive or batch.parent is None:
        return None
    self.store.end_child(batch.parent, batch.batch_id, has_failed(batch))
    outcome = Outcome.FAILURE if has_failed(batch) else Outcome.SUCCESS
    return Ack.of(batch.parent_item_id, f"batch:{batch.batch_id}", outcome)


def _acked_as_the_last_one(self, batch):
    ack = _parent_ack(self, batch)
    return ack and replace(ack, outcome=Outcome.FAILURE if has_failed(batch) else Outcome.SUCCESS)


def _forgotten_by_its_item(self, batch, token, instead_of=None):
    """A child is stored, and its item knows of the first one only."""
    known = self.children_of.get(batch.parent)
    stored = _create(self, batch, token, instead_of)
    if stored and known is not None:
        self.children_of[batch.parent] = known
    return stored


def _ended_again(self, item, child_id, failed):
    """A repeated end is noted again, whether the child was replaced since or not."""
    children = self.children_of.get(item)
    if children is not None:
        self.children_of[item] = children.after_end(child_id, failed)
    return self.children_of.get(item)


def _beside_the_failed(self, child_id, replaced):
    return Children(self.live | {child_id}, self.failed)


def _unnoted(store, item, batch_ids):
    """That the child whose place is taken has ended is left to the one who ended it."""


CHILDREN_MUTANTS = (
    Mutant("an item waits for all of its children", (Tracker, "_parent_ack", _acked_by_each)),
    Mutant(
        "a failed child fails the item, whoever ends last", (Tracker, "_parent_ack", _acked_as_the_last_one)
    ),
    Mutant("a child is stored with its id at its item", (MemoryStore, "_create", _forgotten_by_its_item)),
    Mutant("an item takes no child when all have ended", (Children, "admits", lambda self, replaced: True)),
    Mutant("a child ends once", (MemoryStore, "end_child", _ended_again)),
    Mutant("a child takes the place of the failed one", (Children, "with_child", _beside_the_failed)),
    Mutant("the end of a replaced child is noted first", (repairing, "note_ends", _unnoted)),
)
