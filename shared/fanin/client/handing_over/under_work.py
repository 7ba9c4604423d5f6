"""The calls of functions for items in this process: which one runs here, and what came of each.

A call is known by the context that it runs in, which its coroutines and ``asyncio.to_thread`` copy. Code that
it left behind keeps that context, and is refused once the function has returned: it has no later call's item.
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
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID, uuid5

from fanin.aws.forking import PerProcess
from fanin.errors import InvalidRequest, NotFound
from fanin.tracker import Ack, ItemId, Outcome, Verdict

if TYPE_CHECKING:
    from fanin.client.transports.reports import AckReport

logger = logging.getLogger("fanin")
UNMATCHED = {Verdict.NOT_FOUND, Verdict.OUT_OF_RANGE}
OF_ITEMS = UUID("5f0c6d0e-4c1e-5b43-9d58-53d1c0a3a7f2")
T = TypeVar("T")

_NO_CALL = (
    "no item is under work here: call it in a function of @fanin.acks, or pass the item; threads of a pool"
    " and other processes do not know the function that started them"
)
_OVER = (
    "the function that started this code has returned: wait in a function for the threads and tasks that it"
    " starts"
)
_IN_PARENT = (
    "this process was forked by a function that works on an item, and whose return {}: return or raise the"
    " outcome there, or hand the item over before the fork"
)
_RETURNED_TWICE = "a process that a function forked returned from that function: end it by os._exit(0)"
_ACKS_ITSELF = (
    "item {} is under work in this process, and is acked when its {}: an ack before would stand although the"
    " work may still fail; raise Failed to fail it, or hand it over if another owner acks it"
)
_ASTRAY = (
    "it is unknown which item this code works for, because it does not run in the context of the function:"
    " run a coroutine by runner.run(..., context=contextvars.copy_context()), or pass {}"
)


@dataclass(eq=False, slots=True)
class UnderWork:
    """One call of a function for one item.

    *last*: an exception of this call fails the item. *message_id*, *queue*: of the message, so that another
    message of the item makes tasks and jobs of its own. *handed*: the item has a new owner. *doubtful*: it
    may have one. *creating*: how many owners are being created now. *child*: the batch that was opened under
    a derived key. *unclosed*: batches whose blocks raised, each with what cancels it. *report*: the last ack
    of the item that the function sent itself. *has_returned*: there is no next attempt, unless an owner is in
    doubt. *is_over*: the function has returned, or raised.
    """

    item_id: str
    last: bool = False
    message_id: str = ""
    queue: str = ""
    handed: bool = False
    doubtful: bool = False
    creating: int = 0
    child: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    adds: Counter[str] = field(default_factory=Counter)
    unclosed: dict[str, Callable[[], bool]] = field(default_factory=dict)
    report: Ack | None = None
    has_returned: bool = False
    is_over: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def key(self, *names: str) -> str:
        """Return the key of what this item makes under *names*, the same in each call for the item."""
        return str(uuid5(OF_ITEMS, json.dumps([self.item_id, *names])))

    def opened(self, batch_id: str, key: str) -> None:
        """Note that the batch of *key* is the new owner; its adds begin from the first one."""
        self.keys[batch_id] = key
        self.unclosed.pop(batch_id, None)
        self.adds.pop(batch_id, None)

    def block_raised(self, batch_id: str, cancel: Callable[[], bool]) -> None:
        """Note that the block of a child raised, which leaves the child to the next attempt, if there is one.

        *cancel*: cancels the child, where there is none, and returns whether it has ended; if it has not, the
        end of the function tries again.
        """
        with self.lock:
            is_final = self.last or (self.has_returned and not self.is_open)
            is_derived = batch_id in self.keys
            if is_derived and not is_final:
                self.unclosed[batch_id] = cancel
                self.child = None if self.child == batch_id else self.child
                return
        if not cancel() and is_derived:
            self.unclosed[batch_id] = cancel

    def cancel_unclosed(self) -> None:
        """End what the function gave up although it returned: there is no next attempt."""
        with self.lock:
            self.has_returned = True
        for cancel in list(self.unclosed.values()):
            if not cancel():
                self.doubtful, self.handed = True, False

    def fail_for_good(self, ack: Ack) -> None:
        """Note that no attempt will succeed: *ack* fails the item, whether or not it has a new owner."""
        self.change(report=ack, handed=False, doubtful=False)

    def settled(self, ack: Ack) -> Ack:
        """Return *ack* of the item with the outcome that the function reported, a success by default.

        Sent again, the report also makes up for a first request without an answer.
        """
        report = self.report
        if report is None:
            return ack
        result = ack.result if report.outcome is Outcome.SUCCESS else None
        return replace(ack, outcome=report.outcome, reason=report.reason, result=result)

    def change(self, **changes: object) -> None:
        """Set fields of a call that runs. Raises InvalidRequest once the function has returned."""
        with self.lock:
            if self.is_over:
                raise InvalidRequest(f"item {self.item_id} cannot be changed: {_OVER}", field="itemId")
            for name, value in changes.items():
                setattr(self, name, value)

    def start_owner(self) -> None:
        """Note that an owner of the item is being created. Raises InvalidRequest after the return."""
        with self.lock:
            if self.is_over:
                raise InvalidRequest(f"item {self.item_id} gets no new owner: {_OVER}", field="itemId")
            self.creating += 1

    def end(self) -> bool:
        """Note that the function has returned, and return whether the consumer acks the item."""
        with self.lock:
            self.is_over, self.doubtful = True, self.doubtful or self.creating > 0
            return not (self.handed or self.is_open)

    def learn(self, inner: UnderWork) -> None:
        """Take over what came of *inner*, the call of a handler that this function calls for its own item."""
        self.handed, self.doubtful = self.handed or inner.handed, self.doubtful or inner.doubtful
        self.report = inner.report or self.report

    @property
    def is_open(self) -> bool:
        """Whether it is unknown if the item has a new owner, so that the message has to return."""
        return self.doubtful and not self.handed


class _Thread(threading.local):
    """The call that a thread runs now, in whatever context, and the calls of its delivery that returned."""

    call: UnderWork | None = None


@dataclass(eq=False, slots=True)
class Delivery:
    """The calls of a delivery, or of one of its messages, that have returned and whose acks are not sent.

    *number*: deliveries have increasing ones.
    """

    number: int = field(default_factory=count().__next__)
    returned: list[UnderWork] = field(default_factory=list)

    def __post_init__(self) -> None:
        _deliveries()[self.number] = self

    @contextmanager
    def here(self) -> Iterator[None]:
        """Note the calls that return in the block."""
        token = _delivery.set(self)
        try:
            yield
        finally:
            _delivery.reset(token)

    def end(self) -> None:
        """Note that the acks are sent; forget items with owners that no delivery in progress can have."""
        for work in self.returned:
            _forget(work)
        running, owned = _deliveries(), _owned()
        running.pop(self.number, None)
        oldest = next(iter(running), None)
        for item_id, number in list(owned.items()):
            if oldest is not None and number >= oldest:
                break
            owned.pop(item_id, None)


_thread = _Thread()
_delivery: ContextVar[Delivery | None] = ContextVar("fanin_delivery", default=None)
_given: ContextVar[UnderWork] = ContextVar("fanin_under_work")
_all = PerProcess[dict[int, UnderWork]](dict)
"""The calls of this process that run: what a forked child noted here would not reach its parent."""
_returned = PerProcess[dict[str, UnderWork]](dict)
"""By item id: the calls whose functions have returned, and whose acks the consumer has not sent."""
_deliveries = PerProcess[dict[int, Delivery]](dict)
"""The deliveries in progress, by number, the oldest first."""
_owned = PerProcess[dict[str, int]](dict)
"""Items without a call that got an owner while deliveries ran: a message of them may come in one of these.

Each with the number of the newest delivery at that time, in their order.
"""
_jobs = PerProcess[dict[int, UnderWork]](dict)
"""The items of the jobs that workers of this process hold, whose reports are noted, too."""


@contextmanager
def delivery() -> Iterator[None]:
    """Know the calls of a delivery that have returned until the block, which sends their acks, ends."""
    own = Delivery()
    try:
        with own.here():
            yield
    finally:
        own.end()


@contextmanager
def under_work(work: UnderWork, in_task: bool = False) -> Iterator[UnderWork]:
    """Run the block as the call for an item. *in_task*: in a task of asyncio, whose thread has others."""
    before, outer = _thread.call, _thread.call or _here()
    _thread.call = before if in_task else work
    token = _given.set(work)
    calls = _all()
    calls[id(work)] = work
    work.handed = work.item_id in _owned()
    try:
        yield work
        _end_if_forked(calls)
        _keep(work)
    except BaseException:
        work.doubtful = True
        raise
    finally:
        work.end()
        calls.pop(id(work), None)
        _given.reset(token)
        _thread.call = _thread.call if in_task else before
        if outer is not None and outer.item_id == work.item_id:
            outer.learn(work)


def _end_if_forked(calls: object) -> None:
    """Raise SystemExit in a process that the function forked: its parent acks the item."""
    if _all() is not calls:
        raise SystemExit(_RETURNED_TWICE)


def _keep(work: UnderWork) -> None:
    """End the call whose function has returned; it is known until its ack is sent."""
    delivery_here = _delivery.get()
    if delivery_here is None:
        return
    _returned()[work.item_id] = work
    delivery_here.returned.append(work)
    if not work.end():
        _forget(work)


def _forget(work: UnderWork) -> None:
    """Note that the ack of *work* is sent; another call for its item, of a copy of the message, stays."""
    returned = _returned()
    if returned.get(work.item_id) is work:
        returned.pop(work.item_id, None)


def _here() -> UnderWork | None:
    """Return the call whose context this code runs in, unless its function has returned.

    None also where the thread runs another call: an event loop that is kept has the context of its first one.
    """
    given, of_thread = _given.get(None), _of_thread()
    return given if id(given) in _all() and of_thread in {None, given} else None


def _of_thread() -> UnderWork | None:
    """Return the call that this thread runs."""
    return _thread.call if id(_thread.call) in _all() else None


def _is_left_behind() -> bool:
    """Return whether the function that started this code has returned, and its thread runs no other one."""
    given = _given.get(None)
    return given is not None and id(given) not in _all() and _of_thread() is None and not any(_all.inherited)


def current() -> UnderWork:
    """Return the call that runs here. Raises InvalidRequest."""
    here = _here()
    if here is not None:
        return here
    if _of_thread() is not None:
        raise InvalidRequest(_ASTRAY.format("the item"))
    if any(_all.inherited):
        raise InvalidRequest(_IN_PARENT.format("would not see it"))
    raise InvalidRequest(_OVER if _is_left_behind() else _NO_CALL)


def refuse_astray() -> None:
    """Raise InvalidRequest in code of a function that does not run in its context, or after its return."""
    if _here() is not None:
        return
    if _of_thread() is not None:
        raise InvalidRequest(_ASTRAY.format("a key"), field="key")
    if _is_left_behind():
        raise InvalidRequest(f"{_OVER}, or pass a key", field="key")


def of_this_thread(call: Callable[[], T]) -> Callable[[], T]:
    """Return *call* as code of the function that this thread runs, for a call in another thread."""
    work = _thread.call

    def run() -> T:
        before, _thread.call = _thread.call, work
        try:
            return call()
        finally:
            _thread.call = before

    return run


def calls_for(*item_ids: str | None) -> list[UnderWork]:
    """Return the calls of this process that work on one of *item_ids*, the one that runs here first."""
    here = _here()
    calls = [work for work in list(_all().values()) if work.item_id in item_ids]
    return sorted(calls, key=lambda work: work is not here)


def hand_over(item_id: str | None) -> None:
    """Leave an item, by default the one under work, to its new owner. Raises InvalidRequest."""
    here = current() if item_id is None else _here() or _of_thread()
    item_id = item_id or here.item_id if here else item_id
    calls = calls_for(item_id)
    if not calls or _is_left_behind() or (here is not None and here.item_id != item_id):
        raise InvalidRequest(
            f"item {item_id} is not under work here: an item is handed over by the function of @fanin.acks"
            " that is called for it, before it returns, and in its process",
            field="itemId",
        )
    for work in calls:  # of several copies of the message, none acks the item
        work.change(handed=True)


def refuse_late_owner(*item_ids: str | None) -> None:
    """Raise InvalidRequest for an item that a consumer is about to ack, here or in an ancestor."""
    here, handed = _here(), {work.item_id for work in _at_forks() if work.handed}
    wanted = [item_id for item_id in item_ids if item_id is not None]
    if any(_all.inherited) and not calls_for(*wanted) and not handed.issuperset(wanted):
        raise InvalidRequest(_IN_PARENT.format("would not see its new owner"), field="itemId")
    for item_id in wanted:
        if item_id in _returned() and (here is None or here.item_id != item_id):
            raise InvalidRequest(f"item {item_id} gets no new owner: {_OVER}", field="itemId")


def note_reports(acks: Sequence[Ack]) -> None:
    """Note the acks of items under work that their functions send; of the same item, the one that runs here.

    A copy of the message, which is worked on at the same time, has an outcome of its own. Raises
    InvalidRequest for a success of an item that is under work, unless it is handed over, and for a failure
    that the ack of a returned function would heal.
    """
    here = _here()
    running = [
        work
        for work in [*_all().values(), *_jobs().values()]
        if here is None or here is work or here.item_id != work.item_id
    ]
    reports = [(work, own[-1]) for work in running if (own := _of(work, acks))]
    _refuse_successes(acks, [work for work, _ in reports])
    if failures := [ack for ack in acks if ack.outcome is Outcome.FAILURE]:
        if _is_left_behind() and any(_of(work, failures) for work in list(_all().values())):
            raise InvalidRequest(f"the item is under work in another call: {_OVER}")
        _refuse_returned(failures, [work for work, _ in reports])
        _refuse_forked(failures)
    for work, report in reports:
        work.change(report=report)


def _refuse_successes(acks: Sequence[Ack], running: Sequence[UnderWork]) -> None:
    """Raise InvalidRequest for the success of an item whose function or job has not ended.

    That of the parent of a forked process has not, as far as this one knows.
    """
    successes = [ack for ack in acks if ack.outcome is Outcome.SUCCESS]
    for work in (*running, *_at_forks()) if successes else ():
        if not work.handed and _of(work, successes):
            end = "job ends" if work in _jobs().values() else "function returns"
            raise InvalidRequest(_ACKS_ITSELF.format(work.item_id, end), field="items")


def _refuse_returned(failures: Sequence[Ack], running: Sequence[UnderWork]) -> None:
    """Raise InvalidRequest for failures of items whose functions have returned, but for those *running*.

    One that has returned since they were listed refuses the report itself.
    """
    here = _here()
    for item_id in _returned_of(failures):
        is_own = here is not None and here.item_id == item_id
        if not is_own and _returned().get(item_id) not in running:
            raise InvalidRequest(f"the ack of item {item_id} would heal its failure: {_OVER}")


def _refuse_forked(failures: Sequence[Ack]) -> None:
    """Raise InvalidRequest in a child that a function forked: it may outlive the call, and the next one."""
    at_forks = list(_at_forks())
    jobs = [work for works in _jobs.inherited for work in works.values()]
    if not at_forks and not any(_of(work, failures) for work in jobs):
        return
    known = [*_all().values(), *_jobs().values(), *(work for work in at_forks if work.handed)]
    if any(not any(_of(work, [ack]) for work in known) for ack in failures):
        raise InvalidRequest(_IN_PARENT.format("would heal the failure"))


def _at_forks() -> Iterator[UnderWork]:
    """Yield the calls that ran in the ancestors of this process when they forked."""
    return (work for works in _all.inherited for work in works.values())


def _returned_of(acks: Sequence[Ack]) -> Iterator[str]:
    """Yield the items of *acks* whose functions have returned; the time is that of the shorter list."""
    returned = _returned()
    if sum(ack.last - ack.first + 1 for ack in acks) > len(returned):
        yield from (item_id for item_id, work in list(returned.items()) if _of(work, acks))
        return
    for ack in acks:
        ids = (str(ItemId(ack.batch_id, ack.group_id, at)) for at in range(ack.first, ack.last + 1))
        yield from (item_id for item_id in ids if item_id in returned)


def note_owner(item_id: str) -> None:
    """Note that an item has a new owner; its function, if it is called later in a delivery, acks nothing."""
    calls = calls_for(item_id)
    for work in calls:
        work.handed = True
    running, owned = _deliveries(), _owned()
    newest = next(reversed(running), None)
    if not calls and newest is not None:
        owned.pop(item_id, None)
        owned[item_id] = newest


def refuse_owner_beside_job(*item_ids: str | None) -> None:
    """Raise InvalidRequest for the item of a job that this process holds: the job acks it when it ends."""
    for work in list(_jobs().values()):
        if work.item_id in item_ids and not calls_for(work.item_id):
            raise InvalidRequest(
                f"item {work.item_id} is acked by the job that this process works on: it gets no other owner",
                field="itemId",
            )


def refuse_unmatched(report: AckReport, *, failed: bool) -> None:
    """Log the items of a *report* that were not acked; in a function, those that no batch has by their ids.

    Raises NotFound if they are *failed*: the function's own item would be acked as done in their place.
    """
    counts = report.not_acked
    if _here() is not None:
        counts = {verdict: count for verdict, count in counts.items() if verdict not in UNMATCHED}
        for item, verdict in _unmatched(report):
            line = f"item {item} is in no batch of this tenant ({verdict}): it was not acked"
            if failed:
                raise NotFound(line)
            logger.warning(line)
    if counts:
        found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        logger.warning("%d items were not acked: %s", sum(counts.values()), found)


def _unmatched(report: AckReport) -> Iterator[tuple[str, Verdict]]:
    """Yield the items and the ranges of *report* that no batch has."""
    found = [(each.item_id, each.verdict) for each in report.results]
    for each in report.ranges:
        part = f"{each.batch_id}:{each.group_id}:{each.first}-{each.last}"
        found += [(part, verdict) for verdict in each.counts]
    return ((item, verdict) for item, verdict in found if verdict in UNMATCHED)


def held(item_id: str) -> UnderWork:
    """Return the call that stands for a job with an item, until it is passed to ``let_go``."""
    work = UnderWork(item_id)
    _jobs()[id(work)] = work
    return work


def let_go(work: UnderWork) -> None:
    """Note that the job of *work* has ended, or returned to its queue."""
    _jobs().pop(id(work), None)


def adding_call(batch_id: str) -> UnderWork | None:
    """Return the call that adds to a batch: the one that runs here, else the one whose child it is.

    None outside of a function of a consumer. Raises InvalidRequest where it is unknown.
    """
    here = _here()
    if here is not None:
        return here
    work = next((each for each in list(_all().values()) if batch_id in each.keys), None)
    if work is None:
        refuse_astray()
    return work


def _of(work: UnderWork, acks: Sequence[Ack]) -> list[Ack]:
    """Return those of *acks* that are of the item of *work*."""
    item = ItemId.parse(work.item_id)
    place = (item.batch_id, item.group_id)
    named = (ack for ack in acks if (ack.batch_id, ack.group_id) == place)
    return [ack for ack in named if ack.first <= item.index <= ack.last]
