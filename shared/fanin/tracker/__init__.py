"""When is it done? The capability that tracks a batch of items to its one completion."""

from fanin.tracker.acking import PageAcked
from fanin.tracker.ids import COUNT_MAX, TOTAL_MAX, GroupId, ItemId, checked_batch_id
from fanin.tracker.listing import ListQuery
from fanin.tracker.mapping import BatchMap
from fanin.tracker.model import (
    Ack,
    AckReport,
    Added,
    Batch,
    BatchKey,
    Closed,
    Completion,
    Group,
    ItemRange,
    Outcome,
    Progress,
    Result,
    Sample,
    Slice,
    State,
    Verdict,
)
from fanin.tracker.options import BatchFilter, BatchOptions, Mode, OpenBatch, Retention
from fanin.tracker.page import PageMasks
from fanin.tracker.service import Tracker
from fanin.tracker.store import Listing, TrackerStore
from fanin.tracker.sweeping import Sweep
from fanin.tracker.window import Window

__all__ = [
    "COUNT_MAX",
    "TOTAL_MAX",
    "Ack",
    "AckReport",
    "Added",
    "Batch",
    "BatchFilter",
    "BatchKey",
    "BatchMap",
    "BatchOptions",
    "Closed",
    "Completion",
    "Group",
    "GroupId",
    "ItemId",
    "ItemRange",
    "ListQuery",
    "Listing",
    "Mode",
    "OpenBatch",
    "Outcome",
    "PageAcked",
    "PageMasks",
    "Progress",
    "Result",
    "Retention",
    "Sample",
    "Slice",
    "State",
    "Sweep",
    "Tracker",
    "TrackerStore",
    "Verdict",
    "Window",
    "checked_batch_id",
]
