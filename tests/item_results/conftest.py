from __future__ import annotations

from itertools import count

import pytest

from fanin.item_results.memory import MemoryObjects
from fanin.item_results.service import Results
from fanin.tracker import Ack, OpenBatch, Outcome, Tracker
from fanin.tracker.memory import MemoryStore

TENANT = "t"


class Site:
    """A tracker whose batches keep results, and one batch with items to ack."""

    def __init__(self, items: int, objects=None, **options):
        numbers = count()
        self.objects = MemoryObjects() if objects is None else objects
        self.results = Results(self.objects, new_id=lambda: f"{next(numbers):06d}")
        self.tracker = Tracker(MemoryStore(), page_bits=8, results=self.results)
        self.batch_id = self.tracker.open(TENANT, OpenBatch(results=True, **options)).batch_id
        self.group = self.tracker.add(TENANT, self.batch_id, items).groups[0].id

    def ack_of(self, index: int, result: str | None = None, **more) -> Ack:
        return Ack(self.batch_id, self.group, index, index, "caller", result=result, **more)

    def ack(self, *results: tuple[int, str | None]):
        acks = [self.ack_of(*each) for each in results]
        return self.tracker.ack(TENANT, acks)

    def fail(self, index: int):
        return self.tracker.ack(TENANT, [self.ack_of(index, outcome=Outcome.FAILURE)])

    def close(self):
        self.tracker.close(TENANT, self.batch_id, "closer")

    @property
    def batch(self):
        return self.tracker.get(TENANT, self.batch_id)

    def gathered(self, results=None, **given):
        return (results or self.results).gathered(self.batch, self.tracker.store, **given)

    def read(self):
        """The results by the indexes of their items, in the order in which they are read."""
        found = self.results.read(self.gathered())
        return {int(item.rpartition(":")[2]): result for item, result in found}


@pytest.fixture
def site():
    return Site(20)
