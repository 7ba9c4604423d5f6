"""When is it done? Tracks a batch of items to its one completion.

The promise: completion is decided exactly once, never before every item is acked or enough have succeeded,
and never not at all, under duplicates, crashes, races, and requests that time out after they were applied.

States of a batch (``rules/lifecycle.py``), each arrow one conditional write::

    open -> OPEN --close--> CLOSED --root page full--> COMPLETE
              |               |
              +---------------+--> COMPLETE   enough items have succeeded
              +---------------+--> FAILED     too many failures, or a forced end
              +---------------+--> CANCELLED  cancel
              +---------------+--> TIMED_OUT  its deadline
              +---------------+--> EXPIRED    its retention; every reader gets 404

Items are bits in pages; in estimated mode, acks are counted instead. Pages form a tree: the request that
fills a page sets its bit in the page above, and the one that fills the root page completes the batch; a
close completes a batch of which every item is acked. A bit that says done is never cleared, so a repeated
ack repairs what a crash cut short. A success clears the mark of an earlier failure.

Read in this order:

- ``rules/model.py``, ``rules/page.py``, ``rules/tree.py``: a batch, a page, where an item lies.
  ``rules/lifecycle.py``: each transition. ``rules/options.py``: what is chosen at the open.
- ``rules/acking.py``, then ``batch_changes/recording.py`` and ``climb.py``: an ack, from its request to the
  completion.
- ``service.py``: the use cases, on ``Repairs`` (``batch_changes/repairing.py``: reopen, delete), which is on
  ``Reader``. ``batch_changes/opening.py``: the batch that an open stores.
- ``batch_changes/sweeping.py``: what is overdue, and what a crash left. ``cascading.py``: cancels below.
- ``announcing.py``, ``events.py``: a decided completion, and its event.
- ``reads/reading.py``: status, ranges and maps, whose cost does not grow with the batch.
- ``store.py``: the port; a call that writes applies one atomic request, except for two.
  ``dynamodb/`` and ``memory.py`` keep it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanin.item_ids import ItemId
    from fanin.tracker.batch_changes.sweeping import Sweep
    from fanin.tracker.reads.listing import ListQuery
    from fanin.tracker.reads.mapping import BatchMap
    from fanin.tracker.reads.window import Window
    from fanin.tracker.rules.acking import PageAcked
    from fanin.tracker.rules.filters import BatchFilter
    from fanin.tracker.rules.ids import COUNT_MAX, TOTAL_MAX, GroupId, checked_batch_id
    from fanin.tracker.rules.model import (
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
    from fanin.tracker.rules.options import BatchOptions, Mode, OpenBatch, Retention
    from fanin.tracker.rules.page import PageMasks
    from fanin.tracker.service import Tracker
    from fanin.tracker.store import Listing, TrackerStore

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

_MODULES = {
    "ItemId": "fanin.item_ids",
    "ListQuery": "fanin.tracker.reads.listing",
    "BatchMap": "fanin.tracker.reads.mapping",
    "Window": "fanin.tracker.reads.window",
    "PageAcked": "fanin.tracker.rules.acking",
    "BatchFilter": "fanin.tracker.rules.filters",
    "COUNT_MAX": "fanin.tracker.rules.ids",
    "GroupId": "fanin.tracker.rules.ids",
    "TOTAL_MAX": "fanin.tracker.rules.ids",
    "checked_batch_id": "fanin.tracker.rules.ids",
    "Ack": "fanin.tracker.rules.model",
    "AckReport": "fanin.tracker.rules.model",
    "Added": "fanin.tracker.rules.model",
    "Batch": "fanin.tracker.rules.model",
    "BatchKey": "fanin.tracker.rules.model",
    "Closed": "fanin.tracker.rules.model",
    "Completion": "fanin.tracker.rules.model",
    "Group": "fanin.tracker.rules.model",
    "ItemRange": "fanin.tracker.rules.model",
    "Outcome": "fanin.tracker.rules.model",
    "Progress": "fanin.tracker.rules.model",
    "Result": "fanin.tracker.rules.model",
    "Sample": "fanin.tracker.rules.model",
    "Slice": "fanin.tracker.rules.model",
    "State": "fanin.tracker.rules.model",
    "Verdict": "fanin.tracker.rules.model",
    "BatchOptions": "fanin.tracker.rules.options",
    "Mode": "fanin.tracker.rules.options",
    "OpenBatch": "fanin.tracker.rules.options",
    "Retention": "fanin.tracker.rules.options",
    "PageMasks": "fanin.tracker.rules.page",
    "Tracker": "fanin.tracker.service",
    "Listing": "fanin.tracker.store",
    "TrackerStore": "fanin.tracker.store",
    "Sweep": "fanin.tracker.batch_changes.sweeping",
}


def __getattr__(name: str) -> Any:
    # Loaded when first named: a client, and with it the command, needs few of them.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value
