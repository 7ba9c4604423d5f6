"""What the tests of removed queues share: doorbells, the rows that are left, and the sweep's visits."""

from __future__ import annotations

from fanin.queue.upkeep.sleeping import SETTLE_SECONDS
from fanin.queue.upkeep.visiting import visit


class Recorded:
    """The doorbells that were deleted."""

    def __init__(self):
        self.urls = []

    def delete(self, queue, url):
        self.urls.append((queue, url))


def rows_of(store) -> int:
    """The number of rows of the queue besides its config."""
    records = (store.dead_jobs, store.outboxes, store.sessions)
    return len(store.stored) + sum(len(rows) for kind in records for rows in kind.values())


def swept(queue, time, doorbells=None):
    """Visit the queue until it has settled, and then as often as a removal takes."""
    for _ in range(2):
        visit(queue.context, doorbells)
        time.sleep(SETTLE_SECONDS)
    for _ in range(3):
        visit(queue.context, doorbells)
