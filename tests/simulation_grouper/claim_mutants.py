"""The grouper with a broken claim."""

from __future__ import annotations

from collections.abc import Callable

from fanin.errors import StoreUnavailable
from fanin.grouper import BundleState, Claim, TaskKey, TaskState
from fanin.grouper.memory import MemoryStore
from fanin.grouper.use_cases.filling import Filler
from tests.simulating.mutants import Mutant
from tests.simulation_grouper.referee import Referee

_claim_some = Filler._claim


def _claim(task_condition: bool = True, bundle_condition: bool = True) -> Callable[..., Claim]:
    """The claim with some of its conditions."""

    def claim(self, bundle, joining):
        stored = self.bundles.get(bundle.key)
        free = [n for n in joining if self._may_join(bundle, n)]
        if task_condition and len(free) < len(joining):
            return Claim(stored, frozenset(joining) - set(free))
        fits = (stored is None) == (bundle.version == 1)
        fits = fits and (stored is None or stored.version == bundle.version - 1)
        if bundle_condition and (not fits or (stored and stored.state is not BundleState.OPEN)):
            return Claim(stored)
        self.write_bundle(bundle)
        for name in joining:
            self._bundle_task(TaskKey(bundle.tenant, name), bundle)
        return Claim(bundle)

    return claim


def _claim_in_two_steps(self, bundle, joining):
    """The tasks first, each by itself, and the member list afterwards."""
    won = tuple(name for name in joining if self.world.store.mark(bundle, name))
    if won:
        bundle = self.world.store.list_members(bundle.joined(won))
    return bundle, True


def _mark(self, bundle, name):
    if not self._may_join(bundle, name):
        return False
    self._bundle_task(TaskKey(bundle.tenant, name), bundle)
    return True


def _list_members(self, bundle):
    self.write_bundle(bundle)
    return bundle


def _fill_from_index(self, bundle, joining):
    """The index decides which tasks are open; the tasks themselves are not asked."""
    stored = self.world.store.put_bundle(bundle.joined(joining), joining)
    return stored, True


def due_or_not(self, bundle, size, known):
    found = self.world.store.candidates(bundle.lane, size + len(known))
    return [each for each in found if each.task_id not in known]


def _joins_due_or_not(self, bundle, name):
    """The claim does not compare the stored due time."""
    task = self.stored_tasks.get(TaskKey(bundle.tenant, name))
    return task is not None and task.state is TaskState.CREATED and task.lane == bundle.lane


def _fail_where_the_index_lags(self, bundle, joining):
    """A leader whose index shows what is not open any more gives his message back."""
    claim = self.world.store.claim(bundle.joined(joining), joining)
    if claim.refused:
        raise StoreUnavailable("the index lags")
    return _claim_some(self, bundle, joining)


def _put_bundle(self, bundle, joining):
    self.write_bundle(bundle)
    for name in joining:
        self._bundle_task(TaskKey(bundle.tenant, name), bundle)
    return bundle


CLAIM_MUTANTS = (
    Mutant("no per-task condition in the claim", (MemoryStore, "claim", _claim(task_condition=False))),
    Mutant("no condition on the bundle in the claim", (MemoryStore, "claim", _claim(bundle_condition=False))),
    Mutant(
        "no transaction: tasks first, then the member list",
        (Filler, "_claim", _claim_in_two_steps),
        (Referee, "mark", _mark),
        (Referee, "list_members", _list_members),
    ),
    Mutant(
        "the index is trusted", (Filler, "_claim", _fill_from_index), (Referee, "put_bundle", _put_bundle)
    ),
    Mutant(
        "a task is bundled before it is due",
        (Filler, "_due", due_or_not),
        (MemoryStore, "_may_join", _joins_due_or_not),
    ),
    Mutant(
        "a claim takes a task that was due before its last retry",
        (MemoryStore, "_may_join", _joins_due_or_not),
        since=2600,
    ),
    Mutant("a lagging index fails its reader", (Filler, "_claim", _fail_where_the_index_lags)),
)
