"""The requests that production sends: the write units of each key, by production's own functions of keys.

``lab/tests/test_scale_limits.py`` compares them with what production sends over tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from fanin.cost.rules import TRANSACTION
from fanin.grouper.dynamodb.items import live_shard
from fanin.grouper.rules.model import BundleKey, Lane, TaskKey
from fanin.queue.rules.keys import PartKey, QueueKey, part_of
from fanin.tracker.dynamodb.items import due_list, live_list
from fanin.tracker.reads.failure_reasons import SAMPLE_PROBES
from fanin.tracker.rules.model import BatchKey, PageKey, shard_of
from fanin.tracker.rules.tree import Shape, tails
from lab.scale_limits.keys import Key

Units = Mapping[Key, float]
FAILED_PAGE = 2
"""Write units of a page whose bits of failures are a large part: its row is longer than 1 KB."""
REASON_TRIES = SAMPLE_PROBES
"""Slots that the reason of a failure is offered to, each a write, once all are taken."""


def row(batch: BatchKey) -> Key:
    """Return the key of the rows of a batch."""
    return Key("batches", str(batch))


def page(batch: BatchKey, level: int, number: int) -> Key:
    """Return the key of a page."""
    return Key("pages", str(PageKey(batch, level, number)))


def listed(batch: BatchKey, alive: bool) -> Key:
    """Return the key of a batch in the index of next checks."""
    return Key("batches/due", due_list(shard_of(batch.batch_id), alive))


def live(batch: BatchKey) -> Key:
    """Return the key of a batch in the index of live batches."""
    return Key("batches/live", live_list(shard_of(batch.batch_id)))


def of_tenant(batch: BatchKey) -> Key:
    """Return the key of a batch in the index of its tenant's batches."""
    return Key("batches/byTenant", f"{batch.tenant}#{shard_of(batch.batch_id)}")


def opened(batch: BatchKey) -> Units:
    """Return the write of a new batch."""
    return {row(batch): 1, listed(batch, True): 1, live(batch): 1, of_tenant(batch): 1}


def added(batch: BatchKey) -> Units:
    """Return the transaction of an add: receipt, group and total."""
    return {row(batch): 3 * TRANSACTION, of_tenant(batch): 1}


def acked(batch: BatchKey, number: int) -> Units:
    """Return the write of a leaf, whatever the number of its acks."""
    return {page(batch, 0, number): 1}


def failed(batch: BatchKey, number: int, page_units: int = 1) -> Units:
    """Return the transaction of a leaf with failures, and of their number on the batch's row."""
    writes = {page(batch, 0, number): TRANSACTION * page_units, row(batch): TRANSACTION}
    return {**writes, of_tenant(batch): 1}


def reason(batch: BatchKey, tries: int = 1) -> Units:
    """Return the writes that offer a reason, to so many slots."""
    return {row(batch): tries}


def climbed(batch: BatchKey, number: int, shape: Shape, last: int, level: int = 0) -> Iterator[Units]:
    """Yield the writes of a page that is full, and of its parents; not of the last parents, up to *last*."""
    parent = number // shape.fanout
    yield {page(batch, level + 1, parent): 1}
    if (number + 1) % shape.fanout == 0 and parent < last:
        yield from climbed(batch, parent, shape, last // shape.fanout, level + 1)
    yield {page(batch, level, number): 1}


def closed(batch: BatchKey, items: int, shape: Shape) -> Iterator[Units]:
    """Yield the writes of a close: of the batch, and of the last page of each level."""
    yield {row(batch): 1, listed(batch, True): 2, of_tenant(batch): 1}
    for tail in tails(items, shape):
        yield {page(batch, tail.level, tail.number): 1}


def completed(batch: BatchKey) -> Units:
    """Return the write that completes a batch."""
    writes = {row(batch): 1, listed(batch, True): 1, listed(batch, False): 1}
    return {**writes, live(batch): 1, of_tenant(batch): 1}


def confirmed(batch: BatchKey) -> Iterator[Units]:
    """Yield the writes that confirm the event of a batch."""
    yield {row(batch): 1}
    yield {row(batch): 1, listed(batch, False): 1, of_tenant(batch): 1}


def lifecycle(batch: BatchKey, items: int, shape: Shape, together: int = 1) -> Iterator[Units]:
    """Yield the writes of a batch of one page, of which so many neighbours are acked *together*."""
    yield opened(batch)
    yield added(batch)
    yield from closed(batch, items, shape)
    for _ in range(0, items, together):
        yield acked(batch, 0)
    yield completed(batch)
    yield {page(batch, 0, 0): 1}
    yield from confirmed(batch)


def lane(target: Lane) -> Key:
    """Return the key of a lane in the index of open tasks."""
    return Key("tasks/open", str(target))


def registered(task: TaskKey, target: Lane) -> Units:
    """Return the write of a new task."""
    return {Key("tasks", str(task)): 1, lane(target): 1}


def bundled(tasks: list[TaskKey], target: Lane, bundle: BundleKey) -> Iterator[Units]:
    """Yield the writes of a leader who fills one bundle, when the lane has its lease's row."""
    lease = Key("leases", str(target))
    yield {lease: 1}
    own = Key("bundles", str(bundle))
    claim = Counter({own: TRANSACTION, lane(target): len(tasks)})
    claim |= Counter({Key("bundles/live", live_shard(bundle)): 1, Key("bundles/lane", str(target)): 1})
    yield claim | Counter({Key("tasks", str(task)): TRANSACTION for task in tasks})
    yield {own: 1}
    yield {lease: 1}


def called(tasks: list[TaskKey], bundle: BundleKey) -> Iterator[Units]:
    """Yield the writes of a bundle's call, and of its outcome on each task."""
    own = Key("bundles", str(bundle))
    yield {own: 1}
    yield {own: 1}
    for task in tasks:
        yield {Key("tasks", str(task)): 1}
    yield {own: 1, Key("bundles/live", live_shard(bundle)): 1}


def job(queue: QueueKey, name: str, parts: int) -> Iterator[Units]:
    """Yield the writes of a job: its add, its claim, its end."""
    part = Key("jobs", f"J#{PartKey(queue, part_of(name.encode(), parts))}")
    for units in (2, 3, 2):
        yield {part: units}
