"""The calls of the contract of the queue's stores."""

from __future__ import annotations

from fanin.queue.dynamodb import items
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import JobKey, PartKey, QueueKey, job_key
from fanin.queue.rules.model import (
    Dead,
    Job,
    NewJob,
)

NOW = 1_772_366_400_123_456
LATER = NOW + 5_000_000
QUEUE = QueueKey("tenant", "orders")
OTHER = QueueKey("tenant", "others")
PART = PartKey(QUEUE, 0)


def new(name: str = "käy 🎈", at: int = NOW, over: Job | None = None, **more) -> Job:
    request = NewJob(name, **{"payload": "{}", **more})
    return lifecycle.new_job(request, job_key(QUEUE, 1, name), f"id-{name[:20]}-{at}", at, over)


def added(store, name: str = "a", at: int = NOW, **more) -> Job:
    job = new(name, at, **more)

    assert store.add(job, None) == job
    return job


def head(store, at: int = 0):
    return store.ready(PART, 100)[at]


def taken(store, claim: str = "c1", session: str = "s1", at: int = LATER, **more) -> Job:
    added(store, **more)
    return store.claim(head(store), session, claim, at)


def done_job(store, **more) -> Job:
    return store.end(taken(store, **more), LATER)


def death_of(store, job: Job, at: int = LATER) -> tuple[Dead, Job]:
    """How *job* died, and the mark that it left at its key."""
    dead = Dead(job, "boom", at)
    return dead, store.end(job, at, dead=dead)


def taken_again(store) -> tuple[Dead, Job]:
    """A job's death, and the job as it is claimed once more after it was revived."""
    dead, mark = death_of(store, taken(store))
    store.revive(dead, lifecycle.revived(dead, LATER, mark), mark)
    return dead, store.claim(head(store), "s", "c9", LATER)


def drop_mark(store, key: JobKey) -> None:
    """Delete a done job's mark, as the table's time to live does."""
    if isinstance(store, MemoryStore):
        del store.stored[key]
    else:
        store.client.delete_item(TableName=store.table, Key=items.job_row(key))
