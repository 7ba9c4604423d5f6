"""The rules of deleted jobs and of a removal by force, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.queue.administration import changing, removing
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import lifecycle
from fanin.queue.rules.model import JobState
from tests.simulating.mutants import Mutant

_delete, _proceed = MemoryStore.delete, removing.proceed


def _delete_and_forget(self, seen, entries, at, deletion):
    mark = _delete(self, seen, entries, at, deletion)
    if mark is not None and mark.done_by == deletion:
        self.stored.pop(seen.key, None)
    return mark


def _delete_without_the_outbox(self, seen, entries, at, deletion):
    return _delete(self, seen, (), at, deletion)


def _delete_whatever_waits(stored, seen):
    """The job is deleted that the key has by now."""
    return stored.state in {JobState.READY, JobState.DELAYED}


def _delete_in_any_state(self, seen, entries, at, deletion):
    stored = self.stored.get(seen.key)
    same = stored is not None and (stored.id, stored.generation) == (seen.id, seen.generation)
    return _delete(self, stored if same and stored.is_live else seen, entries, at, deletion)


def _in_any_state(stored, seen):
    return stored is not None and stored.is_live and lifecycle.is_unchanged(stored, seen)


def _marked_by_any(context, seen):
    """A job that is over is taken for deleted by this request."""
    entries = lifecycle.removal_entries(seen, changing.REASON)
    at, deletion = context.effects.now(), context.effects.new_id()
    stored = context.effects.answer_of(lambda: context.store.delete(seen, entries, at, deletion))
    return stored is None or not stored.is_live


def _without_a_recheck(context, name):
    """A job that changed since it was seen is called not found."""
    seen = changing._live(context, name)
    gone = seen is None or seen.state is JobState.BUSY or not changing._mark(context, seen)
    return changing.Deletion.NOT_FOUND if gone else changing.Deletion.DELETED


def _remove_without_the_rerun(job, reason):
    return _removal_entries(replace(job, rerun=None), reason)


_removal_entries = lifecycle.removal_entries


def _always_under_way(context, config):
    return True


DELETION_MUTANTS = (
    Mutant("a deleted job leaves a mark", (MemoryStore, "delete", _delete_and_forget)),
    Mutant("the items of a deleted job fail", (MemoryStore, "delete", _delete_without_the_outbox)),
    Mutant("a deletion compares the job", (lifecycle, "may_be_deleted", _delete_whatever_waits)),
    Mutant(
        "a job in progress is not deleted",
        (MemoryStore, "delete", _delete_in_any_state),
        (lifecycle, "may_be_deleted", _in_any_state),
    ),
    Mutant("a deletion is known by its own mark", (changing, "_mark", _marked_by_any)),
    Mutant("a job that changed is looked at again", (changing, "_delete", _without_a_recheck)),
    Mutant("the items of a rerun fail, too", (lifecycle, "removal_entries", _remove_without_the_rerun)),
    Mutant("a sweep that stood still deletes no later row", (removing, "_is_under_way", _always_under_way)),
)
