"""When is it done? The capability that tracks a batch of items to its one completion."""

from fanin.tracker.ids import COUNT_MAX, TOTAL_MAX, GroupId, ItemId, checked_batch_id
from fanin.tracker.model import (
    Ack,
    AckReport,
    Added,
    Batch,
    BatchKey,
    Closed,
    Completion,
    Group,
    OpenBatch,
    Progress,
    Result,
    Retention,
    State,
    Verdict,
)
from fanin.tracker.service import Tracker
from fanin.tracker.store import TrackerStore

__all__ = [
    "COUNT_MAX",
    "TOTAL_MAX",
    "Ack",
    "AckReport",
    "Added",
    "Batch",
    "BatchKey",
    "Closed",
    "Completion",
    "Group",
    "GroupId",
    "ItemId",
    "OpenBatch",
    "Progress",
    "Result",
    "Retention",
    "State",
    "Tracker",
    "TrackerStore",
    "Verdict",
    "checked_batch_id",
]
