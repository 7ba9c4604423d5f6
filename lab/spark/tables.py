"""The tracker's tables in memory, for the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanin.tracker import Batch
from fanin.tracker.memory import MemoryStore
from pipeline.table_frames.tables import Tables


@dataclass(frozen=True)
class MemoryTables(Tables):
    """Tables of each process for itself, with one batch that has no acks."""

    batch: Batch | None = None

    @property
    def store(self) -> Any:
        """Return a new store in memory."""
        assert self.batch is not None
        return MemoryStore(batches={self.batch.key: self.batch})
