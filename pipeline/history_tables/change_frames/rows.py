"""Turns changes of batches, tasks, bundles and jobs into rows of their frames. Pure.

Rows are parsed by the code that wrote them. The archive has neither salts nor payloads, which are not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from fanin.errors import FaninError, NewerSchema
from fanin.grouper.dynamodb import items as grouping
from fanin.queue.dynamodb import items as queueing
from fanin.queue.rules.keys import PartKey, QueueKey
from fanin.queue.rules.lifecycle import worked
from fanin.queue.rules.model import SECOND_US, Job, JobState
from fanin.tracker.dynamodb import items as tracking
from fanin.tracker.dynamodb.thresholds import NOTICE
from pipeline.history_tables.change_frames.schemas import BATCH_IMAGES
from pipeline.table_changes.records import Change, Image, MalformedLine
from pipeline.table_frames.rows import Facts, facts_of

WITHHELD: Image = {"salt": {"B": b""}, "payload": {"S": ""}}
DEAD = "dead"

_Reader = Callable[[Change], Iterator[Facts]]


def read(change: Change, kind: str) -> list[Facts]:
    """Yield the rows of a *change* of a table of *kind*. Raises MalformedLine and NewerSchema."""
    try:
        return list(READERS[kind](change)) if change.new else []
    except KeyError as error:
        raise MalformedLine(f"its image lacks {error}") from error
    except NewerSchema:
        raise
    except (ValueError, TypeError, AttributeError, OverflowError, FaninError) as error:
        raise MalformedLine(str(error)) from error


def _batch_rows(change: Change) -> Iterator[Facts]:
    """Yield BATCH_ROWS."""
    key, what, image = tracking.key_of(change.keys["pk"]["S"]), change.keys["sk"]["S"], _image(change)
    row: Facts = {"tenant": key.tenant, "batch_id": key.batch_id, "at": change.at}
    if what == tracking.BATCH_ROW:
        facts = facts_of(tracking.batch_of(image)) | {"place": change.place, "at": change.at}
        yield row | {"what": "batch", "batch": {name: facts[name] for name in BATCH_IMAGES.names}}
    elif what.startswith("group#"):
        start, group = tracking.group_of(image)
        yield row | {"what": "group", "group": {"group_id": group.id, "start": start, "upto": group.upto}}
    elif what.startswith("sample#"):
        sample = tracking.sample_of(image)
        if sample is None:
            return
        failure = {"item_id": sample.item_id, "reason": sample.reason, "failed_at": sample.at}
        yield row | {"what": "sample", "sample": failure}
    elif _is_confirmation(what, image) or (what.startswith("notice#") and not what.startswith(NOTICE)):
        yield row | {"what": what.partition("#")[0]}


def _is_confirmation(what: str, image: Facts) -> bool:
    """Whether the bus has confirmed an event, of which a process can have said before that it put it."""
    return what == tracking.EVENT_ROW and tracking.PUT not in image


def _task_rows(change: Change) -> Iterator[Facts]:
    """Yield TASK_IMAGES."""
    task = grouping.task_of(_image(change))
    yield {
        "tenant": task.tenant,
        "task_id": task.task_id,
        "place": change.place,
        "at": change.at,
        "target": task.target,
        "state": str(task.state),
        "attempts": task.attempts,
        "created_at": task.created_at,
        "bundle_id": task.bundle_id,
        "item_id": task.item_id,
        "detail": task.detail,
    }


def _bundle_rows(change: Change) -> Iterator[Facts]:
    """Yield BUNDLE_IMAGES."""
    bundle = grouping.bundle_of(_image(change))
    yield {
        "tenant": bundle.tenant,
        "bundle_id": bundle.bundle_id,
        "place": change.place,
        "at": change.at,
        "target": bundle.lane.target,
        "state": str(bundle.state),
        "size": len(bundle.members),
        "attempt": bundle.attempt,
        "created_at": bundle.created_at,
    }


def _job_rows(change: Change) -> Iterator[Facts]:
    """Yield JOB_IMAGES: the job now, and the end of the run before it, if that had been in progress."""
    pk = change.keys["pk"]["S"]
    if pk.startswith("D#"):
        yield _dead_row(change, pk)
    elif pk.startswith("J#"):
        part = _part(pk)
        job = queueing.job_of(_image(change), part)
        yield _job_row(change, job)
        before = queueing.job_of({**WITHHELD, **change.old}, part) if change.old else None
        if before and before.id != job.id and before.state is JobState.BUSY:
            yield _job_row(change, before) | _ended(before, job.ready_us)


def _dead_row(change: Change, pk: str) -> Facts:
    dead = queueing.dead_of(_image(change), queueing.part_beside(pk))
    row = _job_row(change, dead.job)
    return row | {"state": DEAD, "ended_at": _instant(dead.died_us), "error": dead.error}


def _ended(job: Job, at: int) -> Facts:
    """Return the end of a run whose next run replaced it at *at*."""
    busy = job.busy_us + worked(job.claimed_us, at)
    return {"state": JobState.DONE.shown, "ended_at": _instant(at), "worked": busy / SECOND_US}


def _job_row(change: Change, job: Job) -> Facts:
    return {
        "tenant": job.key.part.queue.tenant,
        "queue": job.key.part.queue.name,
        "job_id": job.id,
        "place": change.place,
        "at": change.at,
        "name": job.name,
        "state": job.state.shown,
        "added_at": _instant(job.added_us),
        "ended_at": _instant(job.done_us),
        "waited": job.queued_us / SECOND_US,
        "worked": job.busy_us / SECOND_US,
        "deliveries": job.deliveries,
        "failures": job.failures,
        "collisions": job.collisions,
        "error": None,
    }


def _part(pk: str) -> PartKey:
    queue, number = pk.removeprefix("J#").rsplit("#", 1)
    tenant, _, name = queue.rpartition("#")
    return PartKey(QueueKey(tenant, name), int(number, 16))


def _image(change: Change) -> dict[str, Any]:
    return {**WITHHELD, **change.new}


def _instant(at: int | None) -> datetime | None:
    return None if at is None else tracking.EPOCH + at * grouping.MICROSECOND


READERS: dict[str, _Reader] = {
    "batches": _batch_rows,
    "tasks": _task_rows,
    "bundles": _bundle_rows,
    "jobs": _job_rows,
}
