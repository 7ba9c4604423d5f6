"""The tracker's store in memory, with the stream of its table, of which the ending events are made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fanin.aws.dynamodb.rows import Item, text
from fanin.tracker import Batch, BatchKey
from fanin.tracker.dynamodb.items import BATCH_ROW, EVENT_ROW
from fanin.tracker.dynamodb.thresholds import notice_item
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.thresholds import Reached

StreamRecord = dict[str, Any]


@dataclass
class StreamedStore(MemoryStore):
    """Has a stream of its records, as DynamoDB Streams has: of each end of a batch and of each notice.

    *stream*: called with each record before the write returns; with those of its own writes after that.
    """

    stream: Callable[[StreamRecord], None] = field(default=lambda _: None, repr=False, compare=False)
    _records: deque[StreamRecord] = field(default_factory=deque, repr=False, compare=False)

    def next_check_at(self) -> datetime | None:
        """Return the time at which the sweeper checks the next batch; None if it checks none."""
        with self.lock:
            times = [batch.next_check_at for batch in self.batches.values()]
        return min((at for at in times if at is not None), default=None)

    def notice(self, batch: Batch, at: datetime) -> None:
        with self.lock:
            super().notice(batch, at)
            self._record(batch.key, EVENT_ROW)

    def report(self, seen: Batch, reached: Reached) -> bool:
        with self.lock:
            reported = super().report(seen, reached)
            if reported:
                row = notice_item(seen, reached)
                self._record(seen.key, row["sk"]["S"], row)
            return reported

    def _change(
        self, key: BatchKey, admits: Callable[[Batch], bool], change: Callable[[Batch], Batch]
    ) -> Batch | None:
        with self.lock:
            before = self.batches.get(key)
            after = super()._change(key, admits, change)
            if before is not None and after is not None and before.is_alive and not after.is_alive:
                self._record(key, BATCH_ROW)
            return after

    def _record(self, key: BatchKey, sort_key: str, row: Item | None = None) -> None:
        keys = {"pk": text(str(key)), "sk": text(sort_key)}
        self._records.append({"dynamodb": {"Keys": keys, "NewImage": row or keys}})
        if len(self._records) > 1:
            return  # a write of the stream's reader
        while self._records:
            self.stream(self._records[0])
            self._records.popleft()
