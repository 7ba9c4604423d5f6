"""Cancel the live batches below a batch that was cancelled with its children.

The row of a cancelled batch says whether its children are to be cancelled, and stays in the list of checks
until none of them is live. A child is cancelled by one conditional transition, which marks its row in turn:
it ends once, and what is below it is cancelled after a crash, too. A child that is added while its parent is
cancelled is found by its own first check.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fanin.errors import NewerSchema
from fanin.pacing import Each
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import Batch, BatchKey, State
from fanin.tracker.store import TrackerStore
from fanin.user_functions import log_failure

logger = logging.getLogger("fanin")
CANCELS_A_REQUEST = 100
"""Live batches below a batch that one request cancels; the sweep cancels the others."""
CANCELS_A_CHECK = 2_000
ITEMS_A_READ = 5_000
"""Items whose children are read at once; a read counts as a batch, if it finds none that is live."""


def cancelled_with(parent: Batch, child: Batch, at: datetime, store: TrackerStore) -> Batch | None:
    """Cancel a live *child* of a cancelled batch, together with its own children; return the stored batch."""
    reason = f"batch {parent.batch_id} was cancelled"
    change = transition(child, State.CANCELLED, at, reason=reason, children=True)
    return store.transition(child.key, change)


@dataclass(slots=True)
class Cascade:
    """Ends at most *budget* batches, and calls *ended* with each.

    *budget*: negative if more are live. *unread*: children that a newer release wrote; they may be live.
    """

    store: TrackerStore
    now: Callable[[], datetime]
    ended: Callable[[Batch], None]
    each: Each
    budget: int
    unread: list[BatchKey] = field(default_factory=list)

    def run(self, top: Batch) -> bool:
        """Cancel the live batches below *top*, level by level; return whether all of them were reached."""
        parents: Sequence[Batch] = [top]
        while parents:
            found = [child for parent in parents for child in self._cancel_children(parent)]
            parents = found if self.budget >= 0 else ()
        return self.budget >= 0 and not self.unread

    def _cancel_children(self, parent: Batch) -> Iterator[Batch]:
        """Cancel the live children of *parent* while the budget lasts; yield those to go on below.

        One whose end is not noted yet counts as live: the process that ended it may have crashed.
        """
        start: int | None = 0
        while start is not None and self.budget >= 0:
            ids, start = self._live(parent, start)
            keys = [BatchKey(parent.tenant, batch_id) for batch_id in ids[: self.budget]]
            self.budget -= max(len(ids), 1)
            found = self.each(lambda key: self._ended_child(parent, key), keys)
            ended = [child for child in found if child is not None]
            self.each(self.ended, ended)
            yield from (child for child in ended if child.cancels_children)

    def _ended_child(self, parent: Batch, key: BatchKey) -> Batch | None:
        """Return the batch of *key*, cancelled unless it had ended; None if none can be read."""
        try:
            child = self.store.get(key)
        except NewerSchema as error:
            log_failure(logger, "child %s is not cancelled yet", key.batch_id, error=error)
            self.unread.append(key)
            return None
        if child is None or not child.is_alive:
            return child
        return cancelled_with(parent, child, self.now(), self.store)

    def _live(self, parent: Batch, start: int) -> tuple[Sequence[str], int | None]:
        """Return the live children of the items from *start* on, and the item to continue from."""
        rows = self.store.children_from(parent.key, start, ITEMS_A_READ)
        ids = sorted(batch_id for _, children in rows for batch_id in children.live)
        return ids, rows[-1][0] + 1 if len(rows) == ITEMS_A_READ else None
