"""The items that functions of this process work on, and which of them were handed over to a new owner.

The new owner of an item, a child batch, a task, a job or another process, acks it when it ends; the consumer
then acks nothing. A repeated call of the function finds the owner that an earlier call made, because the keys
of what it makes are derived from its item.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from fanin.aws.forking import PerProcess
from fanin.client.checks.checking import key_or_fresh
from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound
from fanin.tracker import Ack, ItemId, Verdict

if TYPE_CHECKING:
    from fanin.client.model import NewTask
    from fanin.client.transports.reports import AckReport

logger = logging.getLogger("fanin")
OF_ITEMS = UUID("5f0c6d0e-4c1e-5b43-9d58-53d1c0a3a7f2")
REFUSED = (InvalidRequest, Conflict, NotFound)
"""Errors after which nothing was made; after any other one the outcome is unknown."""


@dataclass(eq=False, slots=True)
class UnderWork:
    """One call of a function for one item.

    *last*: an exception of this call fails the item. *message_id*, *queue*: of the message, so that another
    message of the item makes tasks and jobs of its own. *handed*: the item has a new owner. *doubtful*: it
    may have one. *child*: the batch that was opened under a derived key. *unclosed*: batches whose blocks
    raised, each with what cancels it. *report*: the last ack of the item that the function sent itself.
    """

    item_id: str
    last: bool = False
    message_id: str = ""
    queue: str = ""
    handed: bool = False
    doubtful: bool = False
    child: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    adds: Counter[str] = field(default_factory=Counter)
    unclosed: dict[str, Callable[[], bool]] = field(default_factory=dict)
    report: Ack | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def key(self, *names: str) -> str:
        """Return the key of what this item makes under *names*, the same in each call for the item."""
        return str(uuid5(OF_ITEMS, json.dumps([self.item_id, *names])))

    def opened(self, batch_id: str, key: str) -> None:
        """Note that the batch of *key* is the new owner; its adds begin from the first one."""
        self.keys[batch_id] = key
        self.unclosed.pop(batch_id, None)
        self.adds.pop(batch_id, None)

    def left(self, batch_id: str, cancel: Callable[[], bool]) -> bool:
        """Note that the block of a child raised; return whether it stays open for the next attempt.

        *cancel*: cancels the child, where there is none, and returns whether it has ended.
        """
        if self.last or batch_id not in self.keys:
            return False
        self.unclosed[batch_id] = cancel
        self.child = None if self.child == batch_id else self.child
        return True

    def returned(self) -> None:
        """End what the function gave up although it returned: there is no next attempt."""
        for cancel in self.unclosed.values():
            if not cancel():
                self.doubtful, self.handed = True, False

    def settled(self, ack: Ack) -> Ack:
        """Return *ack* of the item with the outcome that the function reported, a success by default.

        Sent again, the report also makes up for a first request without an answer.
        """
        report = self.report
        return ack if report is None else replace(ack, outcome=report.outcome, reason=report.reason)

    @property
    def is_open(self) -> bool:
        """Whether it is unknown if the item has a new owner, so that the message has to return."""
        return self.doubtful and not self.handed


@dataclass(eq=False, slots=True)
class _Place:
    """The call that one thread runs now; a copy of the thread's context refers to it from other threads."""

    current: UnderWork | None = None


class _Thread(threading.local):
    """The place of each thread. Threads that run functions may share the context that they were given."""

    def __init__(self) -> None:
        self.place = _Place()


_thread = _Thread()
_given: ContextVar[_Place] = ContextVar("fanin_under_work")
_all = PerProcess[dict[int, UnderWork]](dict)
"""The calls of this process: what a forked child noted here would not reach its parent."""
_jobs = PerProcess[dict[int, UnderWork]](dict)
"""The items of the jobs that workers of this process hold, whose reports are noted, too."""


@contextmanager
def under_work(work: UnderWork) -> Iterator[UnderWork]:
    """Run the block as the call for an item."""
    place = _thread.place
    before, place.current = place.current, work
    token = _given.set(place)
    calls = _all()
    calls[id(work)] = work
    try:
        yield work
    finally:
        _given.reset(token)
        place.current = before
        calls.pop(id(work), None)


def _here() -> UnderWork | None:
    """Return the call of this thread, else the one of the thread whose context was copied to this one.

    An event loop that outlives a call keeps the context of that call, which refers to the later calls too.
    """
    given = _given.get(None)
    found = _thread.place.current or (given.current if given else None)
    return found if id(found) in _all() else None


def current() -> UnderWork:
    """Return the call that runs here. Raises InvalidRequest."""
    found = _here()
    if found is None:
        raise InvalidRequest(
            "no item is under work here: call it in a function of @fanin.acks, or pass the item; threads of"
            " a pool and other processes do not know the function that started them"
        )
    return found


def calls_for(*item_ids: str | None) -> list[UnderWork]:
    """Return the calls of this process that work on one of *item_ids*, the one that runs here first."""
    here = _here()
    found = [work for work in list(_all().values()) if work.item_id in item_ids]
    return sorted(found, key=lambda work: work is not here)


def hand_over(item_id: str | None) -> None:
    """Leave an item, by default the one under work, to its new owner. Raises InvalidRequest."""
    calls = [current()] if item_id is None else calls_for(item_id)
    if not calls:
        raise InvalidRequest(
            f"item {item_id} is not under work here: an item is handed over by the function of @fanin.acks"
            " that is called for it, in the process of that function",
            field="itemId",
        )
    for work in calls:
        work.handed = True


def note_reports(acks: Sequence[Ack]) -> None:
    """Note the acks of items under work that their functions send; of the same item, the one that runs here.

    A copy of the message, which is worked on at the same time, has an outcome of its own.
    """
    here = _here()
    for work in [*_all().values(), *_jobs().values()]:
        item = ItemId.parse(work.item_id)
        own = [ack for ack in acks if _names(ack, item)]
        if own and (here is None or here is work or here.item_id != work.item_id):
            work.report = own[-1]


def warn_of_unmatched(report: AckReport) -> None:
    """Log the items of a *report* to a function that no batch has: its own item is acked all the same."""
    if _here() is None:
        return
    for each in report.results:
        if each.verdict in {Verdict.NOT_FOUND, Verdict.OUT_OF_RANGE}:
            line = "item %s is in no batch of this tenant (%s): it was not acked"
            logger.warning(line, each.item_id, each.verdict.value)


def held(item_id: str) -> UnderWork:
    """Return the call that stands for a job with an item, until it is passed to ``let_go``."""
    work = UnderWork(item_id)
    _jobs()[id(work)] = work
    return work


def let_go(work: UnderWork) -> None:
    """Note that the job of *work* has ended, or returned to its queue."""
    _jobs().pop(id(work), None)


@contextmanager
def taken_over(*item_ids: str | None) -> Iterator[None]:
    """Hand those of *item_ids* over that are under work, if the block succeeds; it makes their new owner."""
    with making(*item_ids):
        yield
    made(*item_ids)


@contextmanager
def making(*item_ids: str | None) -> Iterator[None]:
    """Run the block, which makes owners of items; after an unknown outcome each may have one."""
    try:
        yield
    except BaseException as error:
        made(*item_ids, error=error)
        raise


def made(*item_ids: str | None, error: BaseException | None = None) -> None:
    """Note that those of *item_ids* that are under work have a new owner; with an *error*, that they may."""
    for work in calls_for(*item_ids):
        if error is None:
            work.handed = True
        elif not isinstance(error, REFUSED):
            work.doubtful = True


@contextmanager
def add_key(batch_id: str, given: str | None) -> Iterator[str]:
    """Yield the key of an add: *given*, else in a function one derived from the item and the adds before."""
    work = adding_call(batch_id) if given is None else None
    if work is None:
        yield key_or_fresh(given)
        return
    with work.lock:
        number = work.adds[batch_id]
        work.adds[batch_id] += 1
    try:
        yield work.key("add", work.keys.get(batch_id) or f"{work.queue} {batch_id}", str(number))
    except BaseException as error:
        with work.lock:
            work.adds[batch_id] -= work.adds[batch_id] == number + 1
        if isinstance(error, KeyReused):
            raise KeyReused(_other_count(batch_id, number)) from error
        raise


def tasks_key(tasks: Sequence[NewTask], given: str | None) -> str:
    """Return the key under which tasks are registered: derived, if one is of an item under work."""
    items = [task.item_id for task in tasks]
    calls = calls_for(*items) if given is None else []
    if not calls:
        return key_or_fresh(given)
    said = [[task.target, task.payload, task.task_id, task.priority, task.item_id] for task in tasks]
    return calls[0].key("tasks", calls[0].message_id, json.dumps(said, sort_keys=True))


def job_id(item_id: str, key: str) -> str | None:
    """Return the id of the job that an item under work adds under *key*; None for any other item."""
    calls = calls_for(item_id)
    return calls[0].key("job", calls[0].message_id, key) if calls else None


def adding_call(batch_id: str) -> UnderWork | None:
    """Return the call that adds to a batch: the one that runs here, else the one whose child it is.

    None outside of a function of a consumer.
    """
    here = _here()
    if here is not None:
        return here
    return next((work for work in list(_all().values()) if batch_id in work.keys), None)


def _names(ack: Ack, item: ItemId) -> bool:
    same = (ack.batch_id, ack.group_id) == (item.batch_id, item.group_id)
    return same and ack.first <= item.index <= ack.last


def _other_count(batch_id: str, number: int) -> str:
    return (
        f"add number {number + 1} of this item to batch {batch_id} had another count at an earlier attempt:"
        " add the same counts in the same order at each attempt, or pass a key"
    )
