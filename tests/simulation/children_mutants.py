"""Rules of the children of an item, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import Outcome, State, Tracker
from fanin.tracker.batch_changes import cascading, repairing, sweeping
from fanin.tracker.batch_changes.cascading import Cascade
from fanin.tracker.batch_changes.sweeping import Sweeper
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules import children
from fanin.tracker.rules.children import Children, fails_item, has_failed
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import ALL_DONE, Ack
from fanin.tracker.rules.options import ParentFailsOn
from tests.simulating.mutants import Mutant

_create, _transition, _parent_ack = MemoryStore._create, MemoryStore.transition, Tracker._parent_ack
_fails_item = fails_item


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


def _any_failure(child, result):
    """A failed item fails the parent's, whatever the child bore."""
    return child.parent_fails_on is not ParentFailsOn.NEVER and result != "succeeded"


def _only_the_end(child, result):
    """A child that completed fails no item, whatever its policy."""
    return child.parent_fails_on is not ParentFailsOn.NEVER and result not in ALL_DONE


def _though_never(child, result):
    """A child that may not fail its item does so when it ended early."""
    never = child.parent_fails_on is ParentFailsOn.NEVER
    return _fails_item(replace(child, parent_fails_on=ParentFailsOn.FAILED) if never else child, result)


def _without_its_children(parent, child, at, store):
    """A child is cancelled, and what is below it goes on."""
    reason = f"batch {parent.batch_id} was cancelled"
    return store.transition(child.key, transition(child, State.CANCELLED, at, reason=reason))


def _cancelled_whatever_it_is(self, parent, key):
    """A child that has ended meanwhile is cancelled over its end."""
    child = self.store.get(key)
    change = transition(child, State.CANCELLED, self.now(), reason="again", children=True)
    return self.store.transition(key, change)


def _cancelled_over_the_end(self, key, change):
    stored = _transition(self, key, change)
    if change.children and stored is not None and stored.end_reason != change.reason:
        self.batches[key] = stored = change.apply(stored)
    return stored


def _confirmed_for_good(self, batch):
    self.store.confirm(batch.key, batch.expires_at)
    self._ack_parents([batch], self._parent_ack)
    if batch.next_check_at is not None:
        self.store.postpone(batch, None)


class _NoCascade:
    """Finds no child that is live."""

    def run(self, top):
        return True


CHILDREN_MUTANTS = (
    Mutant("an item waits for all of its children", (Tracker, "_parent_ack", _acked_by_each)),
    Mutant(
        "a failed child fails the item, whichever child ends last",
        (Tracker, "_parent_ack", _acked_as_the_last_one),
    ),
    Mutant("a child is stored with its id at its item", (MemoryStore, "_create", _forgotten_by_its_item)),
    Mutant("an item takes no child when all have ended", (Children, "admits", lambda self, replaced: True)),
    Mutant("a child ends once", (MemoryStore, "end_child", _ended_again)),
    Mutant("a child takes the place of the failed one", (Children, "with_child", _beside_the_failed)),
    Mutant("the end of a replaced child is noted first", (repairing, "note_ends", _unnoted)),
    Mutant("a child within its limits fails no item", (children, "fails_item", _any_failure)),
    Mutant("a failed item fails the parent's, if any does", (children, "fails_item", _only_the_end)),
    Mutant("a child that never fails its item acks it", (children, "fails_item", _though_never)),
    Mutant(
        "a cascade ends no child that has ended",
        (Cascade, "_ended_child", _cancelled_whatever_it_is),
        (MemoryStore, "transition", _cancelled_over_the_end),
    ),
)

CASCADE_MUTANTS = (
    Mutant(
        "a cascade goes down to the last level",
        (cascading, "cancelled_with", _without_its_children),
        (sweeping, "cancelled_with", _without_its_children),
    ),
    Mutant("the sweep finishes a cascade", (Sweeper, "_cascade", lambda self: _NoCascade())),
    Mutant("a confirmed batch is due while children are live", (Tracker, "confirm", _confirmed_for_good)),
)
