"""Messages of batches that a newer release wrote return to their queue, and no others do."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import timedelta

from fanin import Fanin, NewerSchema
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT, sqs_event


@dataclass
class UpgradedStore(MemoryStore):
    """A store in which a newer release wrote the batches *newer*."""

    newer: set = field(default_factory=set)

    def get(self, key):
        if key.batch_id in self.newer:
            raise NewerSchema(f"the batch {key} has schema version 2: upgrade fanin in this process")
        return super().get(key)


def test_only_the_messages_of_a_newer_batch_return_and_one_line_for_each_batch_says_why(caplog):
    store = UpgradedStore()
    fanin = Fanin(DirectTransport(Tracker(store, fresh_for=timedelta(0)), TENANT))
    old, first, second = (fanin.open() for _ in range(3))
    items = [*old.add(2), *first.add(2), *second.add(1), *old.add(1)]
    store.newer = {first.id, second.id}
    acked = []
    handler = fanin.acks(
        on_acked=lambda outcomes: acked.extend(record["messageId"] for record, _ in outcomes)
    )(lambda record: None)

    assert handler(sqs_event(*items), None) == {
        "batchItemFailures": [{"itemIdentifier": f"m{number}"} for number in (2, 3, 4)]
    }
    assert acked == ["m0", "m1", "m5"]
    lines = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [line.getMessage().partition(":")[0] for line in lines] == [
        "2 messages return to the queue, not started",
        "1 messages return to the queue, not started",
    ]
    assert all("upgrade fanin in this process" in line.getMessage() for line in lines)
